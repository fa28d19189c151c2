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
	bool is_put;
};

/* The variant of a loop that is being laid out. */
struct rw_variant_copy {
	const struct rw_body *body;
	struct rw_variant how;
	int32_t *block_label; /* by the block's position */
	int32_t exit;	      /* where edges that leave lead to; -1: where the loop's lead to */
	/* of ORIG and PF: the register that tells its iterations until it calls; NULL: it counts arrivals, or need not */
	const struct rw_induction *induction;
	SN_VEC(struct rw_edge_stub) left; /* where it is noted on the edges that leave */
	struct rw_recorder *recorder;	  /* of the copy that records; NULL: it is none */
};

struct rw_copy {
	struct rw_nest *nest;
	struct rw_pieces *pieces;
	const struct rw_thunks *thunks;
	int32_t *block_label;		  /* by the block's position */
	int32_t *counted_label;		  /* likewise: behind the counts that it begins with */
	struct rw_induction **inductions; /* by the loop's index, NULL: arrivals are counted */
	struct rw_counter **counters;	  /* likewise, NULL: in the record */
	uint16_t counting;		  /* registers of them */
	SN_VEC(struct rw_edge_stub) stubs;
	struct rw_sites sites;
	uint32_t variants;
	struct sn_plan_loop *plan_loops;
	struct sn_text *tables;
	struct rw_variant_copy *variant; /* NULL: it is the nest */
	const char *why;
};

/** What an edge does to loops at most. */
enum { RW_COPY_OPS_MAX = 2 * SN_LOOP_DEPTH_MAX + 2 };

/* ---- nest.c ---- */

/** The loops that are counted and entered on the way from one loop to another, from without; their number. */
size_t rw_copy_entered_ops(const struct rw_copy *copy, int32_t from_loop, int32_t to_loop,
			   struct rw_op *ops);

/** A block, as the variant in hand has it, or the nest. */
void rw_copy_put_block(struct rw_copy *copy, const struct rw_block *block);
/** Sets the copy's `inductions`. */
void rw_copy_find_inductions(struct rw_copy *copy);

/** The label of a block of the nest or of the stub that leads to an address; -1: just outside. */
int32_t rw_copy_edge_label(struct rw_copy *copy, const struct rw_block *from, uint64_t to);

/* ---- nest_variants.c ---- */

/** Of code on an edge that leaves a copy with an induction of its own. */
int32_t rw_copy_left_label(struct rw_copy *copy, const struct rw_block *from, uint64_t to);

/** Those of the loops that are counted. Before their stubs, which lead to them. */
void rw_copy_put_variants(struct rw_copy *copy);
/** The end of the variant's block, which calls: from this instruction on the variant has nothing of it. */
void rw_copy_put_call_of_variant(struct rw_copy *copy, const struct rw_block *block,
				 const struct rw_insn *insn);
/** Is a loop within this one counted, too? */
bool rw_nest_holds_others(const struct rw_nest *nest, uint32_t loop);

#endif
