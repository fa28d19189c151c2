/*
 * Each experiment is compared with the baselines before and after it, so that what the machine does
 * meanwhile is taken out. A block has each speed-up of each candidate once; blocks are what intervals
 * are made of, since experiments within one share baselines.
 */
#include "causal/estimate.h"

#include <math.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/stats.h"

const char *const sn_causal_verdict_names[SN_CAUSAL_VERDICTS] = { "unknown", "helps", "nothing",
								  "contended" };

/* Below this slope code is not said to help, nor at most this one to bring nothing: half a hundredth of
 * a step by a tenth less time in it. */
#define SLOPE_LEAST   0.02
#define SLOPE_NOTHING 0.05
/* To be contended it takes as much the other way: threads off the chosen code were seen to lose one or
 * two hundredths of a step that nothing takes off the clock (bench/RESULTS.md). */
#define SLOPE_CONTENDED (-0.05)
/* The chance that one of all candidates is said to help, or to be contended, where none is. */
#define CHANCE_OF_ALL 0.01
/* A few blocks may agree by chance: no candidate's deviation counts for less than this of the median
 * of all. */
#define DEVIATION_LEAST 0.5

enum { BLOCKS_LEAST = 3, SPLITS = 200 };

/* An experiment's effect, of its block. */
struct effect {
	int32_t candidate;
	uint32_t block;
	double speedup, value;
};

struct effects {
	SN_VEC(struct effect) all;
	SN_VEC(struct effect) baselines; /* each against its neighbours */
};

static bool is_baseline(const struct sn_causal_trial *trial)
{
	return trial->candidate == SN_CAUSAL_BASELINE || trial->speedup <= 0;
}

/* The nearest baseline of the same run before (-1) or after (1); 0: none. Whole runs are neighbours of
 * each other. */
static double baseline_near(const struct sn_causal_log *log, size_t at, int step, bool are_runs)
{
	const struct sn_causal_trial *trials = log->trials.items;

	for (size_t i = at + (size_t)step; i < log->trials.count; i += (size_t)step) {
		if (!are_runs && trials[i].run != trials[at].run)
			return 0;
		if (is_baseline(&trials[i]))
			return trials[i].step_ns;
	}
	return 0;
}

static void find_effects(const struct sn_causal_log *log, struct effects *out)
{
	bool are_runs = log->kind[0] == 'e';

	*out = (struct effects){ 0 };
	for (size_t i = 0; i < log->trials.count; i++) {
		const struct sn_causal_trial *trial = &log->trials.items[i];
		double before = baseline_near(log, i, -1, are_runs);
		double after = baseline_near(log, i, 1, are_runs);
		double baseline = before > 0 && after > 0 ? (before + after) / 2 : before + after;
		struct effect effect = { trial->candidate, trial->block, trial->speedup, 0 };

		if (!(baseline > 0))
			continue;
		effect.value = 1 - trial->step_ns / baseline;
		if (is_baseline(trial))
			sn_vec_push(&out->baselines, effect);
		else
			sn_vec_push(&out->all, effect);
	}
}

static void free_effects(struct effects *effects)
{
	sn_vec_free(&effects->all);
	sn_vec_free(&effects->baselines);
}

/* ---- by block ---- */

struct estimate {
	double mean, deviation; /* of blocks */
	size_t blocks;
};

static struct estimate estimate_of(const double *values, size_t count)
{
	return (struct estimate){ sn_mean(values, count), sn_deviation(values, count), count };
}

/* The 95 % quantile is found by bisection; the same few are asked for again and again. */
static double quantile_95(size_t freedom)
{
	static _Thread_local double known[64];

	if (freedom >= sizeof(known) / sizeof(*known))
		return sn_student_t(0.05, (double)(freedom < 500 ? freedom : 500));
	if (!(known[freedom] > 0))
		known[freedom] = sn_student_t(0.05, (double)freedom);
	return known[freedom];
}

static double half_width(const struct estimate *e)
{
	return e->blocks < 2 ? INFINITY
			     : quantile_95(e->blocks - 1) * e->deviation / sqrt((double)e->blocks);
}

/* The slope through the origin of one block's effects; false: it has none. */
static bool slope_of_block(const struct effects *effects, int32_t candidate, uint32_t block,
			   double *slope)
{
	double products = 0, squares = 0;

	for (size_t i = 0; i < effects->all.count; i++) {
		const struct effect *e = &effects->all.items[i];

		if (e->candidate != candidate || e->block != block)
			continue;
		products += e->speedup * e->value;
		squares += e->speedup * e->speedup;
	}
	*slope = products / squares;
	return squares > 0;
}

static uint32_t last_block(const struct sn_causal_log *log)
{
	uint32_t last = 0;

	for (size_t i = 0; i < log->trials.count; i++)
		if (log->trials.items[i].block > last)
			last = log->trials.items[i].block;
	return last;
}

static struct estimate slope_estimate(const struct sn_causal_log *log,
				      const struct effects *effects, int32_t candidate)
{
	uint32_t last = last_block(log);
	double *slopes, slope;
	struct estimate estimate;
	size_t count = 0;

	/* blocks are numbered without gaps but by damage, and no more than there are trials */
	if (last > log->trials.count)
		last = (uint32_t)log->trials.count;
	slopes = sn_alloc_zeroed((size_t)last + 1, sizeof(*slopes));
	for (uint32_t block = 0; block <= last; block++)
		if (slope_of_block(effects, candidate, block, &slope))
			slopes[count++] = slope;
	estimate = estimate_of(slopes, count);
	free(slopes);
	return estimate;
}

double sn_causal_slope_width(const struct sn_causal_log *log, int32_t candidate, uint32_t *blocks)
{
	struct effects effects;
	struct estimate slope;

	find_effects(log, &effects);
	slope = slope_estimate(log, &effects, candidate);
	free_effects(&effects);
	*blocks = (uint32_t)slope.blocks;
	return half_width(&slope);
}

/* ---- an answer ---- */

static int compare_points(const void *a, const void *b)
{
	double x = ((const struct sn_causal_point *)a)->speedup;
	double y = ((const struct sn_causal_point *)b)->speedup;

	return (x > y) - (x < y);
}

static struct sn_causal_point point_of(const struct effect *effects, size_t count,
				       int32_t candidate, double speedup)
{
	double *values = sn_alloc_zeroed(count + 1, sizeof(*values));
	struct sn_causal_point point = { .speedup = speedup, .low = NAN, .high = NAN };
	struct estimate estimate;
	size_t found = 0;

	for (size_t i = 0; i < count; i++)
		if (effects[i].candidate == candidate && effects[i].speedup == speedup)
			values[found++] = effects[i].value;
	estimate = estimate_of(values, found);
	point.effect = estimate.mean;
	point.experiments = (uint32_t)found;
	if (found >= 2) {
		point.low = estimate.mean - half_width(&estimate);
		point.high = estimate.mean + half_width(&estimate);
	}
	free(values);
	return point;
}

static void find_points(const struct effects *effects, struct sn_causal_answer *answer)
{
	int32_t candidate = (int32_t)answer->candidate;

	for (size_t i = 0; i < effects->all.count; i++) {
		const struct effect *e = &effects->all.items[i];
		bool is_new = e->candidate == candidate;

		for (size_t p = 0; is_new && p < answer->point_count; p++)
			is_new = answer->points[p].speedup != e->speedup;
		if (is_new && answer->point_count < SN_CAUSAL_SPEEDUPS_MAX)
			answer->points[answer->point_count++] = point_of(
				effects->all.items, effects->all.count, candidate, e->speedup);
	}
	qsort(answer->points, answer->point_count, sizeof(*answer->points), compare_points);
}

const struct sn_causal_point *sn_causal_best_point(const struct sn_causal_answer *answer)
{
	const struct sn_causal_point *best = NULL;

	for (size_t i = 0; i < answer->point_count; i++)
		if (!best || answer->points[i].effect > best->effect)
			best = &answer->points[i];
	return best;
}

/* The first speed-up whose effect is nearly the best one's. */
static double find_up_to(const struct sn_causal_answer *answer)
{
	const struct sn_causal_point *best = sn_causal_best_point(answer);

	for (size_t i = 0; best && i < answer->point_count; i++)
		if (answer->points[i].effect >= 0.95 * best->effect)
			return answer->points[i].speedup;
	return NAN;
}

static void judge(struct sn_causal_answer *answer, struct estimate slope, double typical,
		  size_t candidates)
{
	double deviation = fmax(slope.deviation, DEVIATION_LEAST * typical), t, chance;

	answer->verdict = SN_CAUSAL_UNKNOWN;
	answer->up_to = NAN;
	if (slope.blocks < BLOCKS_LEAST)
		return;
	if (!(deviation > 0))
		deviation = 1e-9; /* the same in each block: as sure as can be */
	t = slope.mean / (deviation / sqrt((double)slope.blocks));
	chance = sn_student_p(t, (double)slope.blocks - 1);
	if (slope.mean >= SLOPE_LEAST && chance < CHANCE_OF_ALL / (double)candidates)
		answer->verdict = SN_CAUSAL_HELPS;
	else if (slope.mean <= SLOPE_CONTENDED && chance < CHANCE_OF_ALL / (double)candidates)
		answer->verdict = SN_CAUSAL_CONTENDED;
	else if (answer->slope_high < SLOPE_NOTHING)
		answer->verdict = SN_CAUSAL_NOTHING;
	if (answer->verdict == SN_CAUSAL_HELPS)
		answer->up_to = find_up_to(answer);
}

/* ---- all of it ---- */

/* Baselines of each block in two halves by chance, one as if it were an experiment. */
static double false_alarms(const struct effects *effects)
{
	size_t count = effects->baselines.count, alarms = 0, tried = 0;
	double *values = sn_alloc_zeroed(count + 1, sizeof(*values));
	struct sn_random random;

	sn_random_seed(&random, 1);
	for (int split = 0; split < SPLITS && count >= 4; split++) {
		size_t chosen = 0;
		struct estimate estimate;

		for (size_t i = 0; i < count; i++)
			if (sn_random_below(&random, 2))
				values[chosen++] = effects->baselines.items[i].value;
		estimate = estimate_of(values, chosen);
		if (chosen < 2)
			continue;
		tried++;
		alarms += fabs(estimate.mean) > half_width(&estimate);
	}
	free(values);
	return tried ? (double)alarms / (double)tried : NAN;
}

static double rate_of(const struct sn_causal_log *log)
{
	uint64_t visits = 0;
	int64_t time_ns = 0;

	for (size_t i = 0; i < log->trials.count; i++) {
		if (!is_baseline(&log->trials.items[i]))
			continue;
		visits += log->trials.items[i].visits;
		time_ns += log->trials.items[i].time_ns;
	}
	return time_ns > 0 ? (double)visits / ((double)time_ns * 1e-9) : NAN;
}

static double delay_error(const struct sn_causal_log *log)
{
	double asked = 0, slept = 0;

	for (size_t i = 0; i < log->runs.count; i++) {
		asked += (double)log->runs.items[i].asked_ns;
		slept += (double)log->runs.items[i].slept_ns;
	}
	return asked > 0 ? fabs(slept - asked) / asked : NAN;
}

static int compare_answers(const void *a, const void *b)
{
	const struct sn_causal_answer *x = a, *y = b;
	double p = isnan(x->slope) ? -INFINITY : x->slope,
	       q = isnan(y->slope) ? -INFINITY : y->slope;

	if (p != q)
		return p < q ? 1 : -1;
	return (x->candidate > y->candidate) - (x->candidate < y->candidate);
}

void sn_causal_answers_find(const struct sn_causal_log *log, struct sn_causal_answers *out)
{
	size_t count = log->candidates.count, known = 0;
	struct estimate *slopes = sn_alloc_zeroed(count + 1, sizeof(*slopes));
	double *deviations = sn_alloc_zeroed(count + 1, sizeof(*deviations)), typical;
	struct effects effects;

	*out = (struct sn_causal_answers){ .rate_per_s = rate_of(log),
					   .delay_error_share = delay_error(log) };
	find_effects(log, &effects);
	for (size_t c = 0; c < count; c++) {
		slopes[c] = slope_estimate(log, &effects, (int32_t)c);
		if (slopes[c].blocks >= BLOCKS_LEAST)
			deviations[known++] = slopes[c].deviation;
	}
	typical = known ? sn_median(deviations, known) : 0;
	for (size_t c = 0; c < count; c++) {
		struct sn_causal_answer answer = { .candidate = (uint32_t)c,
						   .slope = slopes[c].mean,
						   .slope_low = NAN,
						   .slope_high = NAN };

		if (slopes[c].blocks >= 2) {
			answer.slope_low = slopes[c].mean - half_width(&slopes[c]);
			answer.slope_high = slopes[c].mean + half_width(&slopes[c]);
		}
		find_points(&effects, &answer);
		judge(&answer, slopes[c], typical, count);
		sn_vec_push(&out->rows, answer);
	}
	out->false_alarm_rate = false_alarms(&effects);
	if (count)
		qsort(out->rows.items, count, sizeof(*out->rows.items), compare_answers);
	free_effects(&effects);
	free(slopes);
	free(deviations);
}

void sn_causal_answers_free(struct sn_causal_answers *answers)
{
	sn_vec_free(&answers->rows);
}
