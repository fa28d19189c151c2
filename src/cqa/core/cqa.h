/**
 * The static quality of code: how many core cycles a pass over a block costs when its data are in
 * L1, and what limits it. See docs/method/cqa.md.
 */
#ifndef SN_CQA_CQA_H
#define SN_CQA_CQA_H

#include "cqa/core/bounds.h"

struct sn_cqa_estimate {
	double cycles;		  /* the largest bound */
	enum sn_bound bottleneck; /* ties: the first in the order of enum sn_bound */
	double bounds[SN_BOUND_COUNT];
	enum sn_front_end front_end;
	enum sn_ports_part ports_part;
	uint32_t busiest_units; /* the union of units behind the ports bound */
	double chain_cycles;	/* the latency bound before the window raised it */
	double window_cycles;	/* with what schedulers hold; 0: not known of this machine */
	size_t instructions, estimated_instructions;
};

/** The estimate for a decoded block. With `is_unrolled` the block is repeated end to end without a
 * branch; else it is a loop body that ends in its branch back. `arena` is for scratch. */
void sn_cqa_estimate(const struct sn_machine *machine, const struct sn_cqa_block *block,
		     bool is_unrolled, struct sn_arena *arena, struct sn_cqa_estimate *out);

/** The same for instructions that do not lie where they run, or run only in some passes. The front
 * end is judged by its width and by how many jumps are taken in a pass. */
void sn_cqa_estimate_apart(const struct sn_machine *machine, const struct sn_cqa_block *block,
			   double taken_jumps, struct sn_arena *arena, struct sn_cqa_estimate *out);

/** The block as its ports bound counts it: accesses in two lines count twice, and integer
 * operations that wait for others have their extra cost. In the arena. */
struct sn_cqa_block sn_cqa_charged(const struct sn_machine *machine,
				   const struct sn_cqa_block *block, struct sn_arena *arena);

/** The share of passes in which an access lies in two lines, if it begins `start_bytes` behind the
 *  beginning of one and moves by `stride_bytes`. */
float sn_cqa_split_share(int64_t start_bytes, int64_t stride_bytes, unsigned bytes);
/** Memory operations of an instruction, `times` over. */
void sn_cqa_charge_memory(const struct sn_machine *machine, struct sn_insn *insn, float times);

/** Cycles of a variant: a block that stands for what a loop would be, with one jump taken.
 * `chain_cycles`, unless NULL, takes the place of its longest dependence. Results above
 * `enough_cycles` are not computed in full: `enough_cycles` is returned then. */
double sn_cqa_variant_cycles(const struct sn_machine *machine, const struct sn_cqa_block *block,
			     const double *chain_cycles, double enough_cycles,
			     struct sn_arena *arena);

/** Decodes and estimates bytes. SN_ERR_FORMAT if they do not decode or there are none. */
sn_status sn_cqa_bytes(const struct sn_machine *machine, const uint8_t *bytes, size_t length,
		       bool is_unrolled, struct sn_cqa_estimate *out, struct sn_error *err);

#endif
