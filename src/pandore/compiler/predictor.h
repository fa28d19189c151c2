/**
 * What the files of the prediction share: predict.c follows the control flow, predict_naive.c
 * counts what statements fetch one by one, predict_nest.c the sections of optimised nests.
 */
#ifndef SN_PANDORE_COMPILER_PREDICTOR_H
#define SN_PANDORE_COMPILER_PREDICTOR_H

#include "pandore/compiler/emit.h"
#include "pandore/compiler/nest.h"
#include "pandore/compiler/values.h"
#include "pandore/runtime/pandore.h"

enum { SN_PREDICT_EVERYBODY = -1 };

struct sn_predicted_pair {
	int line;
	bool is_broadcast;
	const char *source, *target;
	int from, to;
	int64_t messages, bytes;
};

/* Bytes that moved for a reference, and those among them that some node needed of it: each element
 * once a node and place of the message, as if every condition held. */
struct sn_predicted_need {
	const struct sn_nest_ref *ref;
	int64_t sent, needed;
	bool is_known; /* not all was counted: it would take too long */
};

struct sn_predict_fetched {
	const struct sn_pnd_expr *ref;
	int guard;
	bool is_broadcast;
};

struct sn_predictor {
	struct sn_pnd_emitter *em;
	struct sn_pnd_values values;
	int nodes;
	long steps, steps_max;
	const char *doubt; /* why nothing can be predicted */
	int doubt_line;
	enum sn_pnd_stmt_kind jump; /* a break, continue or return on its way; else 0 */
	bool is_silent;		    /* only follow the values: the messages are counted already */
	SN_VEC(struct sn_predicted_pair) pairs;
	struct sn_map pair_index;
	SN_VEC(struct sn_predict_fetched) fetched; /* by the statement that is run now */
	int guard, guard_count;
	struct sn_map nest_index;
	SN_VEC(struct sn_predicted_need) needs;
	struct sn_map need_index;
	long need_steps; /* iterations run to know what is needed */
};

/** Records that nothing can be predicted, and why. The first reason is kept. */
void sn_predict_doubt(struct sn_predictor *p, struct sn_pnd_pos pos, const char *why);
/** Messages, and bytes in these or in one that is counted elsewhere. */
void sn_predict_count(struct sn_predictor *p, int line, bool is_broadcast, const char *source,
		      const char *target, int from, int to, int messages, int64_t bytes);

/** The owner of an element; a doubt, and node 0, if a subscript is unknown. */
int sn_predict_owner(struct sn_predictor *p, const struct sn_pnd_expr *e);
/** Counts what a naive statement or condition fetches for its owner, or for every node. */
void sn_predict_operands(struct sn_predictor *p, const struct sn_pnd_stmt *s,
			 const struct sn_pnd_expr *e, int owner, const char *target);
void sn_predict_assign(struct sn_predictor *p, const struct sn_pnd_stmt *s);

/** A distributed array as the library describes it. */
struct pd_array sn_predict_layout(const struct sn_pnd_var *v);
/** The plan of a loop, with `refusal` set if the nest stays naive; NULL under the naive scheme. */
const struct sn_nest *sn_predict_nest_of(struct sn_predictor *p, const struct sn_pnd_stmt *loop);
/** What moved for a reference; NULL: nothing. */
const struct sn_predicted_need *sn_predict_need_of(struct sn_predictor *p,
						   const struct sn_nest_ref *ref);
/** Says how each statement of a phase is translated. explain.c. */
void sn_pnd_explain_phase(struct sn_predictor *p, const struct sn_pnd_phase *ph,
			  struct sn_text *out);

/** The messages of a statement within a planned nest. */
void sn_predict_nest(struct sn_predictor *p, const struct sn_nest *nest,
		     const struct sn_pnd_stmt *s);
/** Counts the messages that add up the nodes' parts of sums (--reassoc). */
void sn_predict_partial_sums(struct sn_predictor *p, const struct sn_nest *nest);
/** Gives the counters the values that they have after the loop. */
void sn_predict_leave_counters(struct sn_predictor *p, const struct sn_nest *nest, int loop);

#endif
