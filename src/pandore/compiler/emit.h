/**
 * Writing C: what emit.c (the program), emit_naive.c (statements, refresh/exec/free) and
 * emit_nest.c (optimised loop nests) share.
 */
#ifndef SN_PANDORE_COMPILER_EMIT_H
#define SN_PANDORE_COMPILER_EMIT_H

#include "base/map.h"
#include "pandore/compiler/ast.h"
#include "pandore/compiler/compile.h"

struct sn_pnd_site {
	int line, phase, zone;
	bool is_broadcast;
	const char *source, *target;
};

struct sn_pnd_point {
	int line, phase, zone;
	bool is_observed;
	const char *label;
};

/** A subscript that the checking build checks, by number. */
struct sn_pnd_subscript {
	struct sn_pnd_pos pos;
	const char *array;
};

struct sn_pnd_emitter {
	struct sn_pnd_program *program;
	const struct sn_pnd_options *options;
	struct sn_arena *arena;
	struct sn_text *out;
	struct sn_text *tables; /* descriptors of optimised nests, before the phases' functions */
	int indent;
	int temp_count, nest_count, local_count;
	unsigned nest_mark;
	struct sn_nest *nest; /* scratch: the one written now */
	bool is_counting;    /* writes the counting build (runtime/pandore.h), for --explain: ... */
	struct sn_map nests; /* ... plans by the loop's statement; kept then */
	bool is_checking;    /* a counting build that only checks subscripts (outside.h) */
	SN_VEC(struct sn_pnd_subscript) subscripts; /* of it */
	const struct sn_pnd_phase *phase;
	SN_VEC(int) zones;	/* around the statement written now */
	size_t loop_zones;	/* of them, around the innermost loop */
	const char *loop_label; /* where a continue of it goes; NULL: C's own will do */
	bool has_label_use;
	SN_VEC(struct sn_pnd_site) sites;
	SN_VEC(struct sn_pnd_point) points; /* by statement id */
};

__attribute__((format(printf, 2, 3))) void sn_pnd_line(struct sn_pnd_emitter *em,
						       const char *format, ...);
/** #line, so that what follows belongs to the user's line. */
void sn_pnd_mark_line(struct sn_pnd_emitter *em, struct sn_pnd_pos pos);
/** An expression as C text in the arena. */
const char *sn_pnd_text_of(struct sn_pnd_emitter *em, const struct sn_pnd_expr *expr);
/** A primary expression that prints as this text. */
struct sn_pnd_expr *sn_pnd_raw(struct sn_pnd_emitter *em, enum sn_pnd_type type, const char *text);
/** A copy whose operands may be replaced. */
struct sn_pnd_expr *sn_pnd_copy_expr(struct sn_pnd_emitter *em, const struct sn_pnd_expr *e);
int sn_pnd_add_site(struct sn_pnd_emitter *em, struct sn_pnd_pos pos, int zone, bool is_broadcast,
		    const char *source, const char *target);
void sn_pnd_add_point(struct sn_pnd_emitter *em, const struct sn_pnd_stmt *s, const char *label,
		      bool is_observed);
/** An assignment's. It is observed if its target is distributed, so that it is one node's, unless the program says
 * what is observed. */
void sn_pnd_add_assignment(struct sn_pnd_emitter *em, const struct sn_pnd_stmt *s);
/** "pd_own_PHASE_ARRAY(i, j)" for an element. */
const char *sn_pnd_owner_text(struct sn_pnd_emitter *em, const struct sn_pnd_expr *element);
/** The extent of a dimension. */
const char *sn_pnd_extent_text(struct sn_pnd_emitter *em, const struct sn_pnd_var *var, int d);
/** PD_DOUBT for the counting build, if an expression depends on data: `what` does, of this place. With a
 * `guard`, only where that holds. */
void sn_pnd_doubt(struct sn_pnd_emitter *em, struct sn_pnd_pos pos, const struct sn_pnd_expr *e,
		  const char *what, const char *guard);
/** PD_DOUBT if the owner of an element depends on data. */
void sn_pnd_doubt_owner(struct sn_pnd_emitter *em, const struct sn_pnd_expr *element,
			const char *guard);
/** "PD_COMPUTE " before an assignment that the counting build leaves out, else "". */
const char *sn_pnd_compute_text(const struct sn_pnd_stmt *assign);
/** "A[i] = x" without the semicolon. */
const char *sn_pnd_assign_text(struct sn_pnd_emitter *em, const struct sn_pnd_stmt *s,
			       const struct sn_pnd_expr *lhs, const struct sn_pnd_expr *rhs);

/** A statement of a phase. */
void sn_pnd_emit_stmt(struct sn_pnd_emitter *em, const struct sn_pnd_stmt *s);
/** A statement of a function: nothing is distributed there. */
void sn_pnd_emit_plain(struct sn_pnd_emitter *em, const struct sn_pnd_stmt *s);
void sn_pnd_emit_locals(struct sn_pnd_emitter *em, const struct sn_pnd_var *locals, bool in_phase);

/** Tries the optimised scheme on a for loop; false if it must stay naive. */
bool sn_pnd_emit_nest(struct sn_pnd_emitter *em, const struct sn_pnd_stmt *loop);

/** The whole program. */
void sn_pnd_emit_program(struct sn_pnd_emitter *em);

#endif
