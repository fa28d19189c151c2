/**
 * Call paths: the calling-context tree, from the roots down or from the leaves up.
 */
#ifndef SN_PROFILE_TREE_H
#define SN_PROFILE_TREE_H

#include "profile/profile.h"

enum sn_tree_kind {
	/* top-down: roots are outermost functions; nodes are functions and loops */
	SN_TREE_CALLEES,
	SN_TREE_CALLERS, /* bottom-up: roots are leaf functions, children their callers; no loops */
};

/** A node of the tree; node 0 is the root of all and has no step. */
struct sn_tree_node {
	uint32_t parent;		    /* SN_NONE for node 0 */
	uint32_t first_child, next_sibling; /* SN_NONE: none; largest inclusive time first */
	uint32_t depth;			    /* 0 for node 0 */
	uint32_t kind, index;		    /* enum sn_step_kind, function or loop */
	uint32_t call_line; /* line in the caller, if calls are kept apart; else SN_NONE */
	/* top-down: of the path alone, and with all below it. Bottom-up: both count the leaf's
	 * exclusive time that comes through this path; `exclusive` is what ends here (no more
	 * callers). */
	struct sn_weight exclusive, inclusive;
};

struct sn_tree {
	SN_VEC(struct sn_tree_node) nodes;
	enum sn_tree_kind kind;
};

struct sn_tree_options {
	enum sn_tree_kind kind;
	bool without_loops;	/* functions only */
	bool by_call_line;	/* calls from different lines are different nodes */
	enum sn_time_kind time; /* orders the children; nodes have both times */
};

struct sn_tree *sn_tree_new(const struct sn_profile *profile,
			    const struct sn_tree_options *options);
void sn_tree_free(struct sn_tree *tree);

#endif
