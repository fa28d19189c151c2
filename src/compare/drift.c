/* Conditions of two sets of runs: trend, waiting for a CPU, the load of others. */
#include "compare/drift.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/text.h"

static const double SIGNIFICANT = 0.05;
/* Of the machine: what little work there always is, and the resolution of ticks in short runs. */
static const double LEAST_LOAD = 0.02;
/* What machines drift by, load or not: 5.5 % in ten seconds of a virtual machine whose host was
 * busy. */
static const double UNSEEN_DRIFT = 0.1;

/* ---- the test ---- */

struct sn_moments sn_moments_of(const double *times, const double *variances, size_t count)
{
	double deviation = sn_deviation(times, count);
	double sampling = variances ? sn_mean(variances, count) : 0;
	struct sn_moments m = { .mean = sn_mean(times, count), .df = (double)count - 1 };

	m.variance = fmax(deviation * deviation, sampling) / (double)count;
	return m;
}

static int by_value(const void *left, const void *right)
{
	const double *x = left, *y = right;

	return (*x > *y) - (*x < *y);
}

struct sn_moments sn_moments_trimmed(const double *times, const double *variances, size_t count)
{
	size_t off = count / SN_TRIM_MIN, left = count - 2 * off;
	double *sorted, deviation;
	struct sn_moments m;

	if (!off)
		return sn_moments_of(times, variances, count);
	sorted = sn_alloc_zeroed(count, sizeof(*sorted));
	memcpy(sorted, times, count * sizeof(*sorted));
	qsort(sorted, count, sizeof(*sorted), by_value);
	m.mean = sn_mean(sorted + off, left);
	for (size_t i = 0; i < off; i++) {
		sorted[i] = sorted[off];
		sorted[count - 1 - i] = sorted[count - 1 - off];
	}
	deviation = sn_deviation(sorted, count);
	m.df = (double)left - 1;
	m.variance = fmax(deviation * deviation * (double)(count - 1) / m.df,
			  variances ? sn_mean(variances, count) : 0) /
		     (double)left;
	free(sorted);
	return m;
}

double sn_welch_p(struct sn_moments a, struct sn_moments b, struct sn_interval *interval)
{
	double variance = a.variance + b.variance, difference = b.mean - a.mean, df, half = 0, p;

	if (variance > 0) {
		df = variance * variance /
		     (a.variance * a.variance / a.df + b.variance * b.variance / b.df);
		p = sn_student_p(difference / sqrt(variance), df);
		half = interval ? sn_student_t(0.05, df) * sqrt(variance) : 0;
	} else {
		p = difference == 0 ? 1 : 0;
	}
	if (interval)
		*interval = (struct sn_interval){ difference - half, difference + half };
	return p;
}

/* ---- trend ---- */

struct trend {
	double slope_p;	     /* that times change within the sets as they do */
	double difference_p; /* that the sets differ once the trend is taken out */
};

/* Fits times by a mean of each set and one slope over x for both (Frisch and Waugh 1933: what a
 * set's mean explains is taken out of both). */
static struct trend trend_of(const struct sn_conditions *c, const double *times,
			     const double *variances)
{
	size_t count = c->a_count + c->b_count;
	double mean_a = sn_mean(times, c->a_count),
	       mean_b = sn_mean(times + c->a_count, c->b_count);
	double x_a = sn_mean(c->start_s, c->a_count),
	       x_b = sn_mean(c->start_s + c->a_count, c->b_count);
	double xx = 0, xy = 0, rest = 0, slope, noise, gap = x_b - x_a, df = (double)count - 3,
	       width;
	struct trend none = { 1, 0 };

	for (size_t i = 0; i < count; i++) {
		double x = c->start_s[i] - (i < c->a_count ? x_a : x_b);

		xx += x * x;
		xy += x * (times[i] - (i < c->a_count ? mean_a : mean_b));
	}
	if (!(xx > 0) || df < 1)
		return none;
	slope = xy / xx;
	for (size_t i = 0; i < count; i++) {
		double x = c->start_s[i] - (i < c->a_count ? x_a : x_b);
		double off = times[i] - (i < c->a_count ? mean_a : mean_b) - slope * x;

		rest += off * off;
	}
	noise = fmax(rest / df, variances ? sn_mean(variances, count) : 0);
	width = noise * (1 / (double)c->a_count + 1 / (double)c->b_count + gap * gap / xx);
	if (!(noise > 0))
		return none;
	return (struct trend){ sn_student_p(slope / sqrt(noise / xx), df),
			       sn_student_p((mean_b - mean_a - slope * gap) / sqrt(width), df) };
}

/* ---- conditions ---- */

static double total_of(const struct sn_compare_run *run, const char *name)
{
	for (size_t i = 0; i < run->entries.count; i++)
		if (run->entries.items[i].kind == SN_COMPARE_TOTAL &&
		    !strcmp(run->entries.items[i].function, name))
			return run->entries.items[i].cpu_s;
	return NAN;
}

/* NULL if one of them is unknown. */
static const double *all_known(const double *values, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (isnan(values[i]))
			return NULL;
	return values;
}

static bool totals_have_trend(const struct sn_conditions *c,
			      const struct sn_compare_run *const *runs, double *times)
{
	static const char *const names[] = { "elapsed", "cpu" };
	size_t count = c->a_count + c->b_count;
	bool has_trend = false;

	for (int n = 0; c->start_s && n < 2; n++) {
		for (size_t i = 0; i < count; i++)
			times[i] = total_of(runs[i], names[n]) -
				   (n == 0 && c->waited_s ? c->waited_s[i] : 0);
		has_trend |= all_known(times, count) &&
			     trend_of(c, times, NULL).slope_p < SIGNIFICANT / 2;
	}
	return has_trend;
}

/* All runs of one set before all of the other? */
static bool is_one_after_other(const struct sn_conditions *c)
{
	double first[2] = { INFINITY, INFINITY }, last[2] = { -INFINITY, -INFINITY };

	for (size_t i = 0; c->start_s && i < c->a_count + c->b_count; i++) {
		first[i >= c->a_count] = fmin(first[i >= c->a_count], c->start_s[i]);
		last[i >= c->a_count] = fmax(last[i >= c->a_count], c->start_s[i]);
	}
	return last[0] < first[1] || last[1] < first[0];
}

static bool have_one_identity(const struct sn_compare_run *const *runs, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (!runs[i]->identity || runs[i]->identity != runs[0]->identity)
			return false;
	return true;
}

/* When a run began, on the clock of its machine since boot: a clock that was set back is none of it. */
static double since_boot(const struct sn_compare_run *run, const struct sn_compare_run *first)
{
	if (!run->boot || !*run->boot || !first->boot || strcmp(run->boot, first->boot) != 0 ||
	    run->started_monotonic_ns <= 0)
		return NAN;
	return (double)(run->started_monotonic_ns - first->started_monotonic_ns) / 1e9;
}

/* Its place in the order of a campaign's blocks. Blocks have less than a thousand runs, else the order is nearly so. */
static double in_campaign(const struct sn_compare_run *run, const struct sn_compare_run *first)
{
	if (!run->campaign || !first->campaign || strcmp(run->campaign, first->campaign) != 0 ||
	    !run->is_in_blocks)
		return NAN;
	return run->block + run->position / 1000.0;
}

/* By the time of day, from which doubles hold seconds exactly enough. */
static double by_day(const struct sn_compare_run *run, const struct sn_compare_run *first)
{
	return run->started_realtime_ns > 0
		       ? (double)(run->started_realtime_ns - first->started_realtime_ns) / 1e9
		       : NAN;
}

/* The first of these that all runs know. */
static const double *starts_of(const struct sn_compare_run *const *runs, size_t count,
			       struct sn_arena *arena)
{
	static double (*const clocks[])(const struct sn_compare_run *,
					const struct sn_compare_run *) = { since_boot, in_campaign,
									   by_day };
	double *start = sn_arena_array(arena, double, count);

	for (size_t c = 0; c < sizeof(clocks) / sizeof(*clocks); c++) {
		for (size_t i = 0; i < count; i++)
			start[i] = clocks[c](runs[i], runs[0]);
		if (all_known(start, count))
			return start;
	}
	return NULL;
}

struct sn_conditions sn_conditions_of(const struct sn_compare_run *a, size_t a_count,
				      const struct sn_compare_run *b, size_t b_count,
				      struct sn_arena *arena)
{
	struct sn_conditions c = { .a_count = a_count, .b_count = b_count };
	size_t count = a_count + b_count;
	double *waited = sn_arena_array(arena, double, count);
	double *others = sn_arena_array(arena, double, count),
	       *times = sn_arena_array(arena, double, count);
	const struct sn_compare_run **runs =
		sn_arena_array(arena, const struct sn_compare_run *, count);

	for (size_t i = 0; i < count; i++) {
		runs[i] = i < a_count ? &a[i] : &b[i - a_count];
		waited[i] = runs[i]->waited_s;
		others[i] = runs[i]->others_share;
	}
	c.start_s = starts_of(runs, count, arena);
	c.waited_s = all_known(waited, count);
	c.others_a = c.others_b = NAN;
	if (all_known(others, count)) {
		struct sn_moments of_a = sn_moments_of(others, NULL, a_count);
		struct sn_moments of_b = sn_moments_of(others + a_count, NULL, b_count);

		c.others_a = of_a.mean;
		c.others_b = of_b.mean;
		c.is_load_different = fabs(c.others_b - c.others_a) >= LEAST_LOAD &&
				      sn_welch_p(of_a, of_b, NULL) < SIGNIFICANT;
	}
	c.is_one_after_other = is_one_after_other(&c);
	c.is_one_program = have_one_identity(runs, count);
	c.has_trend = totals_have_trend(&c, runs, times);
	return c;
}

/* A neighbour on the same core takes up to half of its speed, and the chance to have one is the
 * part of the machine that is busy. Clocks and hosts react to load, too, and to either side. What a
 * neighbour takes depends on what it does, between nothing and that half. That may change without
 * any sign of it. */
static bool is_explained(const struct sn_conditions *c, double mean_a, double mean_b)
{
	double change = fabs(mean_b - mean_a) / fmin(mean_a, mean_b);

	double load = isnan(c->others_a) ? 0 : fmax(c->others_a, c->others_b);
	double unseen = load / 2 + (c->is_one_program ? UNSEEN_DRIFT : 0);

	if (!(fmin(mean_a, mean_b) > 0))
		return false;
	return (c->is_load_different && change <= 2 * fabs(c->others_b - c->others_a)) ||
	       (c->is_one_after_other && change <= unseen);
}

bool sn_is_drift(const struct sn_conditions *c, bool is_elapsed, double rate, const double *times,
		 const double *variances, struct sn_arena *arena)
{
	size_t count = c->a_count + c->b_count;
	double *less = sn_arena_array(arena, double, count);
	bool has_waited = is_elapsed && c->waited_s;
	struct sn_moments a, b;
	struct trend trend;

	for (size_t i = 0; i < count; i++)
		less[i] = times[i] - (has_waited ? c->waited_s[i] : 0);
	a = sn_moments_of(less, variances, c->a_count);
	b = sn_moments_of(less + c->a_count, variances ? variances + c->a_count : NULL, c->b_count);
	if (has_waited && sn_welch_p(a, b, NULL) > rate)
		return true;
	if (is_explained(c, a.mean, b.mean))
		return true;
	if (!c->start_s)
		return false;
	trend = trend_of(c, less, variances);
	return (c->has_trend || trend.slope_p < SIGNIFICANT) && trend.difference_p > rate;
}

const char *sn_conditions_sentence(const struct sn_conditions *c, struct sn_arena *arena)
{
	double waited_a = c->waited_s ? sn_mean(c->waited_s, c->a_count) : 0;
	double waited_b = c->waited_s ? sn_mean(c->waited_s + c->a_count, c->b_count) : 0;
	struct sn_text text = { 0 };
	const char *kept;

	sn_text_add(&text, "what differs may be the machine's doing");
	if (c->is_one_after_other)
		sn_text_add(&text, "; one set came after the other");
	if (c->is_one_program)
		sn_text_add(&text,
			    "; nothing recorded of the program, its arguments and environment "
			    "differs");
	if (!isnan(c->others_a))
		sn_text_addf(&text, "; others had %.0f %% of the machine in A, %.0f %% in B",
			     100 * c->others_a, 100 * c->others_b);
	if (waited_a > 0 || waited_b > 0)
		sn_text_addf(&text, "; a run waited %.3g s for a CPU in A, %.3g s in B", waited_a,
			     waited_b);
	if (c->has_trend)
		sn_text_add(&text, "; times changed from run to run within the sets");
	sn_text_add(&text, ". Record in turns: A B A B A B");
	kept = sn_arena_strdup(arena, text.chars);
	sn_text_free(&text);
	return kept;
}
