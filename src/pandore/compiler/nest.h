/**
 * Loop nests of a phase: what they read and write, which values must move, and how far out of the
 * loops the messages can be hoisted.
 *
 * Why it is right (docs/method/pandore.md has the argument in full): every node keeps remote
 * elements where the sequential program has them. A message carries values that are current at its
 * place in the program. So it may be moved outwards as long as no write between its new place and
 * the read can change what is read. Sending more than is needed is always right.
 */
#ifndef SN_PANDORE_COMPILER_NEST_H
#define SN_PANDORE_COMPILER_NEST_H

#include "pandore/compiler/ast.h"

enum {
	SN_NEST_LOOPS_MAX = 24,
	SN_NEST_DEPTH_MAX = 8,
	SN_NEST_ASSIGNS_MAX = 64,
	SN_NEST_REFS_MAX = 256,
	SN_NEST_SYMBOLS_MAX = 4,
	SN_NEST_IFS_MAX = 32,
	SN_NEST_OWNERS_MAX = 4,
};

/** constant + sum coef[l] * counter of loop l + sum of scalars that the nest does not write. */
struct sn_affine {
	bool ok;
	int64_t constant, coef[SN_NEST_LOOPS_MAX];
	struct {
		const struct sn_pnd_var *var;
		int64_t coef;
	} symbols[SN_NEST_SYMBOLS_MAX];
	int symbol_count;
};

enum sn_loop_mode {
	SN_LOOP_PLAIN, /* every node runs every iteration */
	SN_LOOP_OWN,   /* spans that this node owns */
	SN_LOOP_GUARD, /* all of it on one node, which the loops around it decide */
	/* every node walks all spans: messages at a span's start, its owner computes */
	SN_LOOP_SPANS,
	SN_LOOP_PIPE, /* this loop and the one in it: strips of one, spans of the other */
	/* a sum in its order: scalars go from owner to owner of spans, and from the last one to all */
	SN_LOOP_CHAIN,
};

struct sn_nest_loop {
	const struct sn_pnd_stmt *stmt;
	struct sn_pnd_var *var;
	int parent, depth; /* depth of the outermost is 1 */
	int64_t step;
	const struct sn_pnd_expr *start, *end;
	int64_t end_adjust;	    /* the last value is end + end_adjust, or before it */
	struct sn_affine low, high; /* bounds of the counter's values */
	int bounds_depth;	    /* loops whose counters the bounds name, deepest; 0: none */
	bool is_conditional;	    /* stands in an if within its parent */
	bool is_dead;		    /* nothing after that if reads the counter's last value */
	int in_if;		    /* the innermost if around it, or -1 */
	enum sn_loop_mode mode;
	bool is_uniform, is_complete; /* one owner for all it assigns; known from here on */
	int governed;		      /* dimension of the key that this counter decides, or -1 */
	int key;		      /* an assignment whose target is the key, or -1 */
	bool is_chain;		      /* assigns scalars only; the targets are set. chains.h */
	int pipe_spans, pipe_strips;  /* loops, of SN_LOOP_PIPE */
	int swapped; /* of SN_LOOP_OWN: the loop in it, to be run outside of it; else -1 */
};

/**
 * An assignment. The owner of `target` executes it. The target is the assigned element, or, for a
 * reduction that may be reassociated, the first element added; `added` is what is added then. Of a
 * scalar in a chain it is an element that is read there. A private scalar lives for one iteration of a loop, and its target is that of the assignments which
 * use it.
 */
struct sn_nest_assign {
	const struct sn_pnd_stmt *stmt;
	const struct sn_pnd_expr *target, *added;
	int loop, order;
	struct sn_affine *subs; /* of a distributed target, one a dimension */
	bool is_private;
};

/**
 * An if whose condition needs distributed data. It is owned if only the owners of what its branches
 * assign decide it: `owners` are assignments, one an owner. With none, every node decides it.
 */
struct sn_nest_if {
	const struct sn_pnd_stmt *stmt;
	int loop, parent; /* the innermost loop and if around it, or -1 */
	int order;
	int first_assign, end_assign; /* assignments in its branches */
	int owners[SN_NEST_OWNERS_MAX], owner_count;
	bool is_refused; /* it must not be owned: messages stand in it */
};

struct sn_nest_ref {
	const struct sn_pnd_expr *expr;
	const struct sn_pnd_stmt *stmt; /* the assignment, or the if whose condition it is in */
	int loop, order, in_if;
	int assign; /* who needs it: the owner of this assignment's target; -1: every node */
	struct sn_affine *subs; /* one a dimension */
	int level;		/* messages stand inside the loops of depth 1..level */
	int span_loop;		/* ... and at the start of this loop's spans; -1: not */
	bool is_local;		/* always where it is needed */
	bool is_inspected;	/* the iterations are run to find the elements */
	bool is_subscript;	/* read in a subscript: every node needs it, to know what moves */
	int site;
};

struct sn_nest {
	const struct sn_pnd_program *program;
	unsigned mark;
	bool may_reassociate;
	struct sn_nest_loop loops[SN_NEST_LOOPS_MAX];
	int loop_count;
	struct sn_nest_assign assigns[SN_NEST_ASSIGNS_MAX];
	int assign_count;
	struct sn_nest_ref refs[SN_NEST_REFS_MAX];
	int ref_count;
	struct sn_nest_if ifs[SN_NEST_IFS_MAX];
	int if_count;
	const struct sn_pnd_stmt *refused_ifs[SN_NEST_IFS_MAX]; /* by plans before this one */
	int refused_if_count;
	const struct sn_pnd_stmt *phase_body; /* of the phase around; NULL: not known */
	const char *refusal;		      /* why the nest cannot be optimised */
	struct sn_pnd_pos refusal_pos;
	bool is_open; /* every node runs the outermost loop, and what is in it has plans of its own */
};

/** Reads and plans the nest, whatever was in it before. False if it must stay naive (`refusal` says why), or is
 * better planned in parts (`is_open`). */
bool sn_nest_plan(struct sn_nest *nest, const struct sn_pnd_program *program,
		  const struct sn_pnd_stmt *root, unsigned mark, bool may_reassociate);

/** Whether any node may evaluate the subscripts ahead. They then name counters and what the nest
 * does not write, divide by constants only, and call nothing. */
bool sn_nest_can_inspect(const struct sn_nest *nest, const struct sn_pnd_expr *element, int loop);

/** The first distributed element that an expression reads whatever the data; NULL if there is none, or its
 * own subscripts read such elements. */
const struct sn_pnd_expr *sn_nest_first_element(const struct sn_pnd_expr *e);
/** The subscripts of an element as affine forms. */
struct sn_affine *sn_nest_read_subs(const struct sn_nest *nest, const struct sn_pnd_expr *element,
				    int loop);

/** The loop at `depth` around (or equal to) `loop`. */
int sn_nest_ancestor(const struct sn_nest *nest, int loop, int depth);
/** Whether a loop is `outer` or stands in it; -1 does not. */
bool sn_nest_is_inside(const struct sn_nest *nest, int loop, int outer);
bool sn_nest_is_innermost(const struct sn_nest *nest, int loop);
const struct sn_nest_assign *sn_nest_assign_of(const struct sn_nest *nest,
					       const struct sn_pnd_stmt *stmt);
int sn_nest_loop_of(const struct sn_nest *nest, const struct sn_pnd_stmt *stmt);
/** Whether this loop or one around it is run by each node for what it owns, or by one node. */
bool sn_nest_is_divided(const struct sn_nest *nest, int loop);
const struct sn_nest_if *sn_nest_if_of(const struct sn_nest *nest, const struct sn_pnd_stmt *stmt);
/** The statement before which a reference's messages stand, if not at a span's start. */
const struct sn_pnd_stmt *sn_nest_anchor(const struct sn_nest *nest, const struct sn_nest_ref *ref);
/** Whether a body is made of assignments alone. */
bool sn_nest_has_only_assigns(const struct sn_pnd_stmt *s);
/** Whether an earlier reference fetches the same for the same reason. */
bool sn_nest_is_repeated(const struct sn_nest *nest, int index);
/** Whether a reference's messages stand before a statement (`span_loop` is -1), or at the starts of
 * this loop's spans (`before` is NULL). */
bool sn_nest_stands_at(const struct sn_nest *nest, int index, const struct sn_pnd_stmt *before,
		       int span_loop);
/** Of an inspected reference: whether its subscripts, or those of who needs it, read what moves at the same
 * place. */
bool sn_nest_needs_moved(const struct sn_nest *nest, const struct sn_nest_ref *ref);
/** Of an inspected reference: whether a loop's counter matters to which elements move. */
bool sn_nest_is_listed_by(const struct sn_nest *nest, const struct sn_nest_ref *ref, int loop);

#endif
