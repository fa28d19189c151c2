/**
 * What was counted of a phase, for --explain (explain.c) and its remarks (remarks.c).
 */
#ifndef SN_PANDORE_COMPILER_PREDICTOR_H
#define SN_PANDORE_COMPILER_PREDICTOR_H

#include "pandore/compiler/emit.h"
#include "pandore/compiler/nest.h"
#include "pandore/runtime/pandore.h"

/* What one node sends another for a place; places of one line, array and target are one. */
struct sn_predicted_pair {
	int site, from, to;
	int64_t messages, bytes;
};

struct sn_predictor {
	struct sn_pnd_emitter *em; /* that wrote the counting build */
	int nodes;		   /* 0: not known */
	const char *doubt;	   /* why nothing can be predicted */
	int doubt_line;		   /* 0: none */
	SN_VEC(struct sn_predicted_pair) pairs;
	int64_t *needed; /* bytes by site that nodes need; -1: not counted */
};

/** A distributed array as the library describes it. */
struct pd_array sn_predict_layout(const struct sn_pnd_var *v);
/** The plan of a loop, with `refusal` set if the nest stays naive; NULL under the naive scheme. */
const struct sn_nest *sn_predict_nest_of(const struct sn_predictor *p,
					 const struct sn_pnd_stmt *loop);
/** Bytes that moved for a reference, and those among them that some node needed of it: each element once
 * a node and place of the message, as if every condition held. False if nothing moved as sections.
 * `*needed` is -1 where it was not counted. */
bool sn_predict_need_of(const struct sn_predictor *p, const struct sn_nest *nest,
			const struct sn_nest_ref *ref, int64_t *sent, int64_t *needed);
/** Says how each statement of a phase is translated. explain.c. */
void sn_pnd_explain_phase(struct sn_predictor *p, const struct sn_pnd_phase *ph,
			  struct sn_text *out);

#endif
