/**
 * The static model's figures for an experiment, as the report has them: what loops would bring the
 * program, every figure of each loop, and the model's view of hot loops' instructions.
 */
#ifndef SN_REPORT_MODEL_WHATIF_H
#define SN_REPORT_MODEL_WHATIF_H

#include "base/table.h"
#include "base/vec.h"
#include "whatif/whatif.h"

/** One loop's step of the program's cumulative speed-up by a variant. */
struct sn_report_step {
	uint8_t variant;
	uint32_t loop; /* of the report */
	double saved_share, cumulative_speedup;
	bool is_reliable;
};

/** A path through a hot loop; bounds and levels in cycles a pass. */
struct sn_report_path {
	uint32_t loop, path;
	double weight, cycles, bounds[5], levels[3];
	const char *bottleneck, *units;
	const char *busiest, *front_end; /* what the first and the fourth bound are about */
	uint32_t chain_passes;		 /* after which the longest dependence comes round */
};

struct sn_report_modelled {
	uint32_t loop, path;
	uint64_t link_addr;
	double latency;
	double parts[5]; /* what it adds to each bound, cycles a pass */
	bool is_on_chain;
	uint8_t flags; /* 1 estimated, 2 eliminated, 4 fused into the one before */
	const char *units;
};

/** Owned by the report, with its texts in the report's arena. */
struct sn_report_whatif {
	struct sn_whatif *answer;
	struct sn_table
		experts; /* a row for every loop, hottest first: what JSON has of it, or all */
	/* only with details */
	SN_VEC(uint32_t) expert_loops; /* the report's loop of each row of `experts` */
	SN_VEC(struct sn_report_step) steps;
	SN_VEC(struct sn_report_path) paths;
	SN_VEC(struct sn_report_modelled) instructions;
};

void sn_report_whatif_free(struct sn_report_whatif *whatif);

#endif
