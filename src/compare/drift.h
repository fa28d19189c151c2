/**
 * Did the machine change between two sets of runs, rather than the program?
 *
 * Runs of A and then runs of B differ by all that changed meanwhile. Three things show such a
 * change: a trend within the sets, waiting for a CPU that others had, and the part of the machine
 * that others used. A row that differs by no more than these explain has drifted
 * (docs/method/diff.md).
 */
#ifndef SN_COMPARE_DRIFT_H
#define SN_COMPARE_DRIFT_H

#include "compare/compare.h"

/** The conditions of all runs, as far as they are known; those of A come first. */
struct sn_conditions {
	size_t a_count, b_count;
	const double *start_s;	   /* when runs began, or in which order; NULL: unknown */
	const double *waited_s;	   /* elapsed time lost to waiting for a CPU that others had; NULL:
				      unknown */
	double others_a, others_b; /* means of the part of the machine that others had, or NaN */
	bool is_load_different;	   /* between the sets, beyond its spread */
	bool is_one_after_other;   /* all runs of one set before all of the other */
	bool is_one_program;	   /* nothing that is recorded differs but times */
	bool has_trend;		   /* of the totals, within the sets */
};

/** Mean and variance of the mean, and its degrees of freedom. */
struct sn_moments {
	double mean, variance, df;
};
enum { SN_TRIM_MIN = 7 };

/** Mean and variance of the mean of several runs. The variance is that between the runs. It is not
 * less than the sampling error (`variances`, may be NULL), since few runs may agree by luck. */
struct sn_moments sn_moments_of(const double *times, const double *variances, size_t count);
/** The same of the trimmed mean: from SN_TRIM_MIN values on, a seventh of them at each end is left out of the mean, and stands
 * for the nearest that is not in its variance (Yuen, "The two-sample trimmed t for unequal population variances", 1974). One
 * run that the machine disturbed then hides no change. */
struct sn_moments sn_moments_trimmed(const double *times, const double *variances, size_t count);
/** Welch's test (1947) with Satterthwaite's degrees of freedom. Returns the chance of such a
 * difference of the means. `interval`, unless NULL, gets the 95 % interval of B less A. */
double sn_welch_p(struct sn_moments a, struct sn_moments b, struct sn_interval *interval);

/** The conditions of all runs, as far as the runs know them. Arrays live in the arena. */
struct sn_conditions sn_conditions_of(const struct sn_compare_run *a, size_t a_count,
				      const struct sn_compare_run *b, size_t b_count,
				      struct sn_arena *arena);
/** Whether the times of two sets, whose means differ beyond noise, differ by no more than the
 * conditions explain. `rate` is that of false alarms of this one row, once the conditions are taken
 * out. `variances` is as above. The arena is for scratch. */
bool sn_is_drift(const struct sn_conditions *conditions, bool is_elapsed, double rate,
		 const double *times, const double *variances, struct sn_arena *arena);
/** A sentence on what changed on the machine. */
const char *sn_conditions_sentence(const struct sn_conditions *conditions, struct sn_arena *arena);

#endif
