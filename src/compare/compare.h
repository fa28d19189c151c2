/**
 * What changed between two sets of runs, beyond noise.
 *
 * Functions and source loops of both sides are aligned by names and lines. Their exclusive CPU
 * times are compared by Welch's t-test over the runs. The many tests are corrected by Holm's
 * method: of comparisons of two sets that do not differ, at most the stated part reports any
 * difference at all.
 *
 * One run a side cannot tell noise from change, and is never given a verdict. docs/method/diff.md
 * says more.
 */
#ifndef SN_COMPARE_COMPARE_H
#define SN_COMPARE_COMPARE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/stats.h"
#include "base/vec.h"
#include "compare/holm.h"
#include "profile/profile.h"

enum { SN_COMPARE_RUNS_MIN = 3 }; /* a side, for a verdict */

enum sn_compare_kind { SN_COMPARE_TOTAL, SN_COMPARE_FUNCTION, SN_COMPARE_LOOP };

/** A function's or source loop's time in one run. */
struct sn_compare_entry {
	enum sn_compare_kind kind;
	const char *module;   /* base name; "" for the program itself, whose name may change */
	const char *function; /* linkage name without what compilers add to copies (.isra.0, .cold,
				 ._omp_fn.1 ...); totals: "elapsed", "cpu" */
	const char *name;     /* for people */
	const char *function_name;	       /* the function's, likewise; NULL: `function` */
	const char *file;		       /* base name, or NULL */
	uint32_t line_first, line_last, depth; /* loops */
	double cpu_s, share;
	double deviation_s; /* standard deviation that sampling alone gives */
};

struct sn_compare_run {
	struct sn_arena arena;
	/* of the experiment; any but the first may be NULL */
	const char *path, *name, *label, *program, *arguments, *host, *cpu_model, *kernel, *version;
	int64_t started_realtime_ns;
	const char *boot;	      /* NULL or "": unknown */
	int64_t started_monotonic_ns; /* since that boot; 0: unknown */
	/* of the campaign that it is a run of; NULL: none */
	const char *campaign, *configuration;
	uint32_t block, position; /* in the block */
	bool is_in_blocks;
	uint64_t identity; /* equal for runs of which all that is recorded is: build ids, arguments,
			      environment, host, kernel; 0: unknown */
	double waited_s; /* elapsed time lost to waiting for a CPU that others had; NaN: unknown */
	double others_share; /* part of the machine's CPU time that others had; NaN: unknown */
	uint64_t samples;
	SN_VEC(struct sn_compare_entry) entries;
};

/** Takes from a profile what is compared. Texts are copied, so the profile may be freed. */
void sn_compare_run_fill(struct sn_compare_run *run, const struct sn_profile *profile);
void sn_compare_run_free(struct sn_compare_run *run);

enum sn_verdict {
	SN_VERDICT_SAME,   /* no difference beyond noise */
	SN_VERDICT_SLOWER, /* B takes more */
	SN_VERDICT_FASTER,
	SN_VERDICT_SMALL,  /* below the share that is tested */
	SN_VERDICT_REPEAT, /* too few runs to say */
	SN_VERDICT_DRIFT,  /* differs, but no more than the machine did meanwhile (drift.h) */
};
/** "same", "slower", "faster", "small", "repeat", "drift". */
const char *sn_verdict_name(enum sn_verdict verdict);

struct sn_compare_row {
	struct sn_compare_entry entry; /* names as on side A, of B where A has none */
	bool is_moved;		       /* lines differ: aligned by order within the function */
	bool is_only_loop;	       /* all but all of its function: no hypothesis of its own */
	uint32_t a_runs, b_runs;       /* in which it was met */
	double a_cpu_s, b_cpu_s;       /* means over the runs; absent counts 0 */
	double a_share, b_share;
	double difference_s; /* B less A */
	double base_s; /* A's time that the difference is one to: of the same runs, trimmed alike */
	struct sn_interval difference_interval;	   /* 95 %; NaN with too few runs */
	struct sn_interval a_interval, b_interval; /* of the means; NaN with too few runs */
	double error_s,
		df; /* standard error of the difference, its degrees of freedom; NaN: unknown */
	double p;   /* before correction; NaN: not tested */
	enum sn_verdict verdict;
};

struct sn_comparison {
	struct sn_arena arena;
	size_t a_count, b_count;
	bool is_paired; /* run by run of one campaign's blocks: nothing can have drifted between */
	double false_alarm_rate;	  /* NaN: cannot be stated */
	double smallest_share;		  /* that is tested */
	size_t tested, findings, drifted; /* hypotheses: a function and its only loop are one */
	struct sn_hypothesis_counts tested_of;
	SN_VEC(const char *) warnings;	    /* sentences: what makes the sets hard to compare */
	SN_VEC(struct sn_compare_row) rows; /* totals first, then by size of the difference */
};

struct sn_ranges; /* ranges.h */

struct sn_compare_options {
	const char *a_name, *b_name;	/* of the sets, in warnings; NULL: "A", "B" */
	const struct sn_ranges *ranges; /* which loops are one; NULL: as the runs of both say */
	double false_alarm_rate;	/* of the whole comparison; 0: 0.05 */
	double smallest_share;		/* rows below it on both sides are not tested; 0: 0.005 */
};

/** The verdict on the whole: "different" (findings), else "drift", "same" or "repeat". */
const char *sn_comparison_verdict(const struct sn_comparison *comparison);

/** Compares two sets of runs. The runs are borrowed and must outlive the result. `options` may be
 * NULL. */
struct sn_comparison *sn_compare(const struct sn_compare_run *a, size_t a_count,
				 const struct sn_compare_run *b, size_t b_count,
				 const struct sn_compare_options *options);
void sn_comparison_free(struct sn_comparison *comparison);

#endif
