/**
 * The verdict on each hot loop, what it rests on and what to do, as `sonde show loop` has them.
 */
#ifndef SN_REPORT_MODEL_EVIDENCE_H
#define SN_REPORT_MODEL_EVIDENCE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/stats.h"
#include "base/vec.h"

struct sn_report_verdict {
	uint32_t loop; /* of the report, as in all rows here */
	const char *sentence, *confidence;
	const char *disagreement; /* NULL: none */
};

/** One kind of evidence on a loop, or why it is missing and the command that gives it. */
struct sn_report_kind {
	uint32_t loop;
	bool is_missing;
	const char *name, *words;
	const char *command; /* NULL: none */
};

/** Of one loop those first that bring the program most for sure. Speed-ups are NaN where not known. */
struct sn_report_advice {
	uint32_t loop;
	const char *grade, *subject, *sentence;
	const char *for_it, *against; /* NULL: nothing */
	struct sn_interval range, program_range;
};

/** A loop at one number of workers in the campaign that the run is of. */
struct sn_report_loop_scaling {
	uint32_t loop;
	const char *configuration, *reason; /* why it loses efficiency; "" */
	double workers, speedup, ideal_speedup, efficiency;
	struct sn_interval interval; /* of the efficiency, 95 %; NaN: one run */
};

/** Texts are in the report's arena. */
struct sn_report_evidence {
	SN_VEC(struct sn_report_verdict) verdicts;
	SN_VEC(struct sn_report_kind) kinds;
	SN_VEC(struct sn_report_advice) advice;
	SN_VEC(struct sn_report_loop_scaling) scaling; /* by loop and workers */
};

void sn_report_evidence_free(struct sn_report_evidence *evidence);

#endif
