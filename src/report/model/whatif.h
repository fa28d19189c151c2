/**
 * The static model's word on an experiment, as the report has it: what loops would bring the
 * program, every figure of each loop, advice, and the model's view of hot loops' instructions.
 */
#ifndef SN_REPORT_MODEL_WHATIF_H
#define SN_REPORT_MODEL_WHATIF_H

#include "base/json.h"
#include "base/table.h"
#include "report/model/model.h"
#include "views/whatif.h"

struct sn_page;
struct sn_profile;
struct sn_structures;

/** One loop's step of the program's cumulative speed-up by a variant. */
struct sn_report_step {
	uint8_t variant;
	uint32_t loop; /* of the report */
	double saved_share, cumulative_speedup;
	bool is_reliable;
};

struct sn_report_advice {
	uint32_t loop;
	uint8_t confidence; /* 0 gain .. 3 expert */
	const char *subject, *sentence, *evidence;
	double speedup, sure_speedup; /* of the loop, data in L1 and in RAM; NaN: unknown */
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
	struct sn_whatif_totals totals;
	struct sn_table experts; /* a row for every loop, hottest first */
	SN_VEC(uint32_t) expert_loops;
	SN_VEC(struct sn_report_step) steps;
	SN_VEC(struct sn_report_advice) advice;
	SN_VEC(struct sn_report_path) paths;
	SN_VEC(struct sn_report_modelled) instructions;
	const char *sentence, *hint; /* what the whole brings; the hottest loop's advice; or NULL */
	const char *hint_loop;	     /* its id */
};

/** Takes over what the model of a machine says. */
void sn_report_add_whatif(struct sn_report *report, struct sn_whatif *whatif,
			  struct sn_structures *structures);
void sn_report_whatif_free(struct sn_report_whatif *whatif);

/** The member "whatif" of the table of contents. */
void sn_report_write_whatif(const struct sn_report *report, struct sn_json *json);
/** The chunks whatif, experts, advice, paths and model (docs/format/report-page.md). */
sn_status sn_report_write_quality(const struct sn_report *report, struct sn_page *page,
				  struct sn_error *err);

#endif
