/**
 * Which instructions are responsible for each bound: what each adds to it, in cycles a pass.
 *
 * The parts of a bound sum to the bound, but for two things that no instruction alone causes: the
 * window's wait for places in the schedulers, and operations that meet at one unit.
 * sn_cqa_parts.sums and the estimate's bounds differ by just that.
 */
#ifndef SN_CQA_PARTS_H
#define SN_CQA_PARTS_H

#include "cqa/loop/loop.h"

struct sn_cqa_parts {
	size_t count; /* instructions of the path */
	/* [bound][instruction] cycles a pass; 0: no part in it. Ports: what only the busiest units
	 * can execute. Front end: the cycles that delivery takes more because of the instruction.
	 */
	double *cycles[SN_BOUND_COUNT];
	double sums[SN_BOUND_COUNT];
	/* the longest dependence comes round after so many passes (0: there is none); in these, not
	 * in one, each instruction adds so much to it */
	unsigned chain_passes;
	double *chain_cycles;
	bool *is_on_chain;
};

/** The parts of a path, which must have its instructions. All memory is the arena's. */
struct sn_cqa_parts sn_cqa_parts_of(const struct sn_machine *machine,
				    const struct sn_cqa_path *path, struct sn_arena *arena);

/** Where the path's front-end bound comes from: "op cache", "decoders", ... */
const char *sn_front_end_name(enum sn_front_end part);

#endif
