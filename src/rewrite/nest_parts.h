/**
 * What the files about the copy of a nest share: the copy that is being laid out, and that of a variant in it.
 */
#ifndef SN_REWRITE_NEST_PARTS_H
#define SN_REWRITE_NEST_PARTS_H

#include "rewrite/recorder_parts.h"

struct rw_edge_stub {
	uint32_t from; /* block, UINT32_MAX: the entry of the nest */
	uint64_t to;
	int32_t label;
};

/* The variant of a loop that is being laid out. */
struct rw_variant_copy {
	const struct rw_body *body;
	struct rw_variant how;
	int32_t *block_label; /* by the block's position */
	int32_t exit;	      /* where edges that leave lead to; -1: where the loop's lead to */
	struct rw_recorder *recorder; /* of the copy that records; NULL: it is none */
};

struct rw_copy {
	struct rw_nest *nest;
	struct rw_pieces *pieces;
	const struct rw_thunks *thunks;
	int32_t *block_label;		  /* by the block's position */
	struct rw_induction **inductions; /* by the loop's index, NULL: arrivals are counted */
	SN_VEC(struct rw_edge_stub) stubs;
	struct rw_sites sites;
	uint32_t variants;
	struct sn_plan_loop *plan_loops;
	struct sn_text *tables;
	struct rw_variant_copy *variant; /* NULL: it is the nest */
	const char *why;
};

/* ---- nest.c ---- */

/** A block, as the variant in hand has it, or the nest. */
void rw_copy_put_block(struct rw_copy *copy, const struct rw_block *block);
/** Sets the copy's `inductions`. */
void rw_copy_find_inductions(struct rw_copy *copy);

/* ---- nest_variants.c ---- */

/** Those of the loops that are counted. Before their stubs, which lead to them. */
void rw_copy_put_variants(struct rw_copy *copy);
/** Is a loop within this one counted, too? */
bool rw_nest_holds_others(const struct rw_nest *nest, uint32_t loop);

#endif
