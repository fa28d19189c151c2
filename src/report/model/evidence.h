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

/** What one kind of evidence says of an iteration, in cycles of the time-stamp counter: "static" (from data in L1 to data in
 * RAM), "sampled", or a variant ("orig" ...). NaN: not known. */
struct sn_report_figure {
	uint32_t loop;
	const char *bucket; /* iterations of the instances: "512-1023"; "all" */
	const char *name;
	double cycles, low, high;
	uint64_t samples;
	const char *state; /* "measured", or why it is doubtful or not there; NULL: of no variant */
	double speedup;
	struct sn_interval range; /* of the speed-up */
};

/** Instances of a loop by one call path. */
struct sn_report_entry {
	uint32_t loop;
	const char *bucket;    /* cycles an iteration, as in `show instances`; "": none was timed */
	const char *call_path; /* nearest caller first; "": not known */
	uint64_t instances;
	double share, cycles; /* share of the loop's time; an iteration; NaN: not known */
};

/** What the program would gain if all loops were as a variant; its steps have its number. */
struct sn_report_curve {
	const char *variant;
	double measured_share, speedup;
	struct sn_interval range;
	size_t loops, loops_for_80_percent;
};

struct sn_report_curve_step {
	uint8_t curve;
	uint32_t loop;
	double saved_share, cumulative_speedup;
	struct sn_interval range;
};

/** Texts are in the report's arena. */
struct sn_report_evidence {
	SN_VEC(struct sn_report_verdict) verdicts;
	SN_VEC(struct sn_report_kind) kinds;
	SN_VEC(struct sn_report_advice) advice;
	SN_VEC(struct sn_report_loop_scaling) scaling; /* by loop and workers */
	SN_VEC(struct sn_report_figure) figures;       /* the loop first, then its buckets */
	SN_VEC(struct sn_report_entry) entries;	       /* by loop, most instances first */
	SN_VEC(struct sn_report_curve) curves;
	SN_VEC(struct sn_report_curve_step) steps; /* by curve, most saved first */
};

void sn_report_evidence_free(struct sn_report_evidence *evidence);

#endif
