/*
 * Each experiment is compared with the baselines before and after it, so that what the machine does
 * meanwhile is taken out. A block has each speed-up of each candidate once; blocks are what intervals
 * are made of, since experiments within one share baselines.
 */
#include "causal/estimate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/stats.h"
#include "causal/carry.h"

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

/* What the method itself may miss of an effect, beside noise, at 95 %: a constant, and shares of the
 * effect (pauses have a price; samples jitter), of the delays that were off, and of waits for CPUs. By
 * the programs of bench/causal (bench/RESULTS.md). */
#define MODEL_LEAST    0.005
#define MODEL_SHARE    0.03
#define MODEL_CPU_WAIT 0.4

enum { SPLITS = 200, EACH_ENOUGH = 6 /* experiments of each speed-up */ };
#define WIDTH_ENOUGH 0.02

/* An experiment's effect, of its block. */
struct effect {
	int32_t candidate;
	uint32_t block;
	double speedup, value;
};

/* The log with those experiments alone of which it is known how long threads waited for CPUs: effects rest on them.
 * Borrows the log; of it only the trials are its own. */
static struct sn_causal_log told_part(const struct sn_causal_log *log)
{
	struct sn_causal_log told = *log;

	memset(&told.trials, 0, sizeof(told.trials));
	for (size_t i = 0; i < log->trials.count; i++)
		if (!sn_causal_trial_is_cut(log, &log->trials.items[i]))
			sn_vec_push(&told.trials, log->trials.items[i]);
	return told;
}

struct effects {
	SN_VEC(struct effect) all;
	SN_VEC(struct effect) baselines; /* each against its neighbours */
};

static bool is_baseline(const struct sn_causal_trial *trial)
{
	return trial->candidate == SN_CAUSAL_BASELINE || trial->speedup <= 0;
}

/* Whether its run has no other experiment: the run itself, or one that is over before another one is made. */
static bool is_alone(const struct sn_causal_log *log, size_t at)
{
	const struct sn_causal_trial *trials = log->trials.items;

	return (at == 0 || trials[at - 1].run != trials[at].run) &&
	       (at + 1 >= log->trials.count || trials[at + 1].run != trials[at].run);
}

/* The nearest baseline of the same run before (-1) or after (1) that counts; 0: none. Runs with one experiment are
 * neighbours of each other, as it lies at the same place in each. */
static double baseline_near(const struct sn_causal_log *log, size_t at, int step, int64_t settle_ns)
{
	const struct sn_causal_trial *trials = log->trials.items;
	bool are_runs = is_alone(log, at);

	for (size_t i = at + (size_t)step; i < log->trials.count; i += (size_t)step) {
		if (trials[i].run != trials[at].run && !(are_runs && is_alone(log, i)))
			return 0;
		if (is_baseline(&trials[i]) && trials[i].settle_ns >= settle_ns)
			return trials[i].step_ns;
	}
	return 0;
}

static void find_effects(const struct sn_causal_log *log, struct effects *out)
{
	double carried;
	int64_t settle_ns = sn_causal_settled_ns(log, &carried);

	*out = (struct effects){ 0 };
	for (size_t i = 0; i < log->trials.count; i++) {
		const struct sn_causal_trial *trial = &log->trials.items[i];
		double before = baseline_near(log, i, -1, settle_ns);
		double after = baseline_near(log, i, 1, settle_ns);
		double baseline = before > 0 && after > 0 ? (before + after) / 2 : before + after;
		struct effect effect = { trial->candidate, trial->block, trial->speedup, 0 };

		if (!(baseline > 0) || trial->settle_ns < settle_ns)
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
	double lever; /* of a slope: what it is off by, if all effects are off by 1 */
};

static struct estimate estimate_of(const double *values, size_t count)
{
	return (struct estimate){ sn_mean(values, count), sn_deviation(values, count), count, 1 };
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

/* What a candidate's slope is made of, by block: effects times speed-ups, speed-ups squared, and
 * speed-ups. */
struct block_sums {
	double products, squares, speedups;
};

/* The slope through the origin of all effects, and its deviation by the jackknife over blocks (J. Tukey,
 * Annals of Mathematical Statistics 29, 1958, p. 614): a block's experiments share baselines, blocks have
 * other speed-ups, and a curve that bends leaves residuals of its own. Where all blocks have the same
 * speed-ups it is Student's of the blocks' slopes. */
static struct estimate slope_of_blocks(const struct block_sums *blocks, size_t count)
{
	struct estimate estimate = { 0 };
	double products = 0, squares = 0, speedups_sum = 0, changes = 0;

	for (size_t i = 0; i < count; i++) {
		products += blocks[i].products;
		squares += blocks[i].squares;
		speedups_sum += blocks[i].speedups;
		estimate.blocks += blocks[i].squares > 0;
	}
	if (!estimate.blocks)
		return estimate;
	estimate.mean = products / squares;
	estimate.lever = speedups_sum / squares;
	for (size_t i = 0; i < count && estimate.blocks >= 2; i++) {
		/* what the slope changes by without this block */
		double change = (blocks[i].products - estimate.mean * blocks[i].squares) /
				(squares - blocks[i].squares);

		changes += change * change;
	}
	estimate.deviation = sqrt((double)(estimate.blocks - 1) * changes);
	return estimate;
}

static uint32_t last_block(const struct sn_causal_log *log)
{
	uint32_t last = 0;

	for (size_t i = 0; i < log->trials.count; i++)
		if (log->trials.items[i].block > last)
			last = log->trials.items[i].block;
	/* blocks are numbered without gaps but by damage, and no more than there are trials */
	return last <= log->trials.count ? last : (uint32_t)log->trials.count;
}

static struct estimate slope_estimate(const struct sn_causal_log *log,
				      const struct effects *effects, int32_t candidate)
{
	uint32_t last = last_block(log);
	struct block_sums *blocks = sn_alloc_zeroed((size_t)last + 1, sizeof(*blocks));
	struct estimate estimate;

	for (size_t i = 0; i < effects->all.count; i++) {
		const struct effect *e = &effects->all.items[i];

		if (e->candidate != candidate || e->block > last)
			continue;
		blocks[e->block].products += e->speedup * e->value;
		blocks[e->block].squares += e->speedup * e->speedup;
		blocks[e->block].speedups += e->speedup;
	}
	estimate = slope_of_blocks(blocks, (size_t)last + 1);
	free(blocks);
	return estimate;
}

double sn_causal_slope_width(const struct sn_causal_log *log, int32_t candidate, uint32_t *blocks)
{
	struct sn_causal_log told = told_part(log);
	struct effects effects;
	struct estimate slope;

	find_effects(&told, &effects);
	slope = slope_estimate(&told, &effects, candidate);
	free_effects(&effects);
	sn_vec_free(&told.trials);
	*blocks = (uint32_t)slope.blocks;
	return half_width(&slope);
}

bool sn_causal_is_narrow(double slope_width, size_t blocks, size_t speedups)
{
	return blocks >= EACH_ENOUGH * speedups && slope_width < WIDTH_ENOUGH;
}

/* ---- an answer ---- */

static int compare_points(const void *a, const void *b)
{
	double x = ((const struct sn_causal_point *)a)->speedup;
	double y = ((const struct sn_causal_point *)b)->speedup;

	return (x > y) - (x < y);
}

/* What an effect may be off by, in the method's own account. */
struct model_error {
	double least, share;
	double carried; /* from one experiment to the next */
};

static double with_model(double half_width, double value, struct model_error model)
{
	return hypot(half_width, model.least + model.share * fabs(value)) + model.carried;
}

/* Finds the point of the answer, or makes it; NULL: no room. */
static struct sn_causal_point *point_at(struct sn_causal_answer *answer, double speedup)
{
	for (size_t p = 0; p < answer->point_count; p++)
		if (answer->points[p].speedup == speedup)
			return &answer->points[p];
	if (answer->point_count >= SN_CAUSAL_SPEEDUPS_MAX)
		return NULL;
	answer->points[answer->point_count] =
		(struct sn_causal_point){ .speedup = speedup, .low = NAN, .high = NAN };
	return &answer->points[answer->point_count++];
}

/* Experiments of one speed-up are few: their deviation is that of all of the candidate's, each from the
 * mean of its own speed-up. */
static void find_points(const struct effects *effects, struct sn_causal_answer *answer,
			struct model_error model)
{
	struct sn_causal_point *point;
	double squares = 0;
	size_t count = 0;

	for (size_t i = 0; i < effects->all.count; i++) {
		const struct effect *e = &effects->all.items[i];

		if (e->candidate != (int32_t)answer->candidate ||
		    !(point = point_at(answer, e->speedup)))
			continue;
		point->experiments++;
		count++;
		/* mean and squares as they come (B. Welford, Technometrics 4, 1962) */
		double before = e->value - point->effect;
		point->effect += before / point->experiments;
		squares += before * (e->value - point->effect);
	}
	for (size_t p = 0; p < answer->point_count && count > answer->point_count; p++) {
		size_t freedom = count - answer->point_count;
		double width = quantile_95(freedom) * sqrt(squares / (double)freedom) /
			       sqrt((double)answer->points[p].experiments);

		width = with_model(width, answer->points[p].effect, model);
		answer->points[p].low = answer->points[p].effect - width;
		answer->points[p].high = answer->points[p].effect + width;
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

struct sn_causal_point sn_causal_told_point(const struct sn_causal_answer *answer)
{
	const struct sn_causal_point *best = sn_causal_best_point(answer);
	struct sn_causal_point line = { .low = NAN, .high = NAN };

	if (!best)
		return line;
	line = *best;
	line.effect = answer->slope * best->speedup;
	line.low = answer->slope_low * best->speedup;
	line.high = answer->slope_high * best->speedup;
	if (!isnan(line.low) && !(answer->up_to < best->speedup) &&
	    (isnan(best->low) || (line.low >= best->low && line.high <= best->high)))
		return line;
	return *best;
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
		  double carried, size_t candidates)
{
	double deviation = fmax(slope.deviation, DEVIATION_LEAST * typical), t, chance;
	bool is_effect;

	answer->verdict = SN_CAUSAL_UNKNOWN;
	answer->up_to = NAN;
	if (slope.blocks < SN_CAUSAL_BLOCKS_LEAST)
		return;
	if (!(deviation > 0))
		deviation = 1e-9; /* the same in each block: as sure as can be */
	t = slope.mean / (deviation / sqrt((double)slope.blocks));
	chance = sn_student_p(t, (double)slope.blocks - 1);
	is_effect = chance < CHANCE_OF_ALL / (double)candidates;
	/* nor is it one where the interval, with what the method may be wrong by, holds none */
	if (slope.mean >= SLOPE_LEAST && answer->slope_low > 0 && is_effect)
		answer->verdict = SN_CAUSAL_HELPS;
	else if (slope.mean <= SLOPE_CONTENDED && answer->slope_high < 0 && is_effect)
		answer->verdict = SN_CAUSAL_CONTENDED;
	else if (slope.mean + half_width(&slope) + carried < SLOPE_NOTHING)
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

static double rate_of(const struct sn_causal_log *log, int64_t settle_ns)
{
	uint64_t visits = 0;
	int64_t time_ns = 0;

	for (size_t i = 0; i < log->trials.count; i++) {
		if (!is_baseline(&log->trials.items[i]) ||
		    log->trials.items[i].settle_ns < settle_ns)
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

static struct model_error model_error_of(const struct sn_causal_log *log,
					 const struct sn_causal_answers *answers)
{
	double queued = sn_causal_queued_share(log);

	return (struct model_error){
		.least = MODEL_LEAST + (isnan(queued) ? 0 : MODEL_CPU_WAIT * queued),
		.share = MODEL_SHARE +
			 (isnan(answers->delay_error_share) ? 0 : answers->delay_error_share),
		.carried = answers->carried_share,
	};
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

static enum sn_causal_refusal find_refusal(const struct sn_causal_log *log,
					   double delay_error_share)
{
	if (sn_causal_queued_share(log) > SN_CAUSAL_QUEUED_REFUSED)
		return SN_CAUSAL_REFUSED_QUEUES;
	for (size_t i = 0; i < log->runs.count; i++)
		if (log->runs.items[i].sealed)
			return SN_CAUSAL_REFUSED_SEALED;
	return delay_error_share > SN_CAUSAL_DELAYS_REFUSED ? SN_CAUSAL_REFUSED_DELAYS
							    : SN_CAUSAL_NOT_REFUSED;
}

/* Whether some of the code's experiments do not count, as their run was cut off. */
static bool has_cut_trials(const struct sn_causal_log *log, uint32_t candidate)
{
	for (size_t i = 0; i < log->trials.count; i++)
		if (log->trials.items[i].candidate == (int32_t)candidate &&
		    sn_causal_trial_is_cut(log, &log->trials.items[i]))
			return true;
	return false;
}

/* By whom there is nothing to wait for first, by what more experiments mend last. */
static const char *reason_of(const struct sn_causal_log *log, enum sn_causal_refusal refusal,
			     double carried, const struct sn_causal_answer *answer,
			     const struct estimate *slope)
{
	bool is_tried = slope->blocks || answer->point_count;

	if (answer->verdict != SN_CAUSAL_UNKNOWN)
		return NULL;
	if (refusal && log->trials.count)
		return refusal == SN_CAUSAL_REFUSED_QUEUES   ? "cpu-waits"
		       : refusal == SN_CAUSAL_REFUSED_SEALED ? "sealed"
							     : "late-pauses";
	if (!is_tried && has_cut_trials(log, answer->candidate))
		return "cut-off";
	if (!is_tried)
		return *log->refused && !log->trials.count ? log->refused : "no-experiments";
	return slope->blocks < SN_CAUSAL_BLOCKS_LEAST ? "few-experiments"
	       : carried > 0			      ? "carried-over"
	       : sn_causal_is_narrow(half_width(slope), slope->blocks, answer->point_count)
		       ? "method"
		       : "noise";
}

/* A number that is wrong is worse than none. */
static void refuse(struct sn_causal_answer *answer)
{
	*answer = (struct sn_causal_answer){ .candidate = answer->candidate,
					     .reason = answer->reason,
					     .verdict = SN_CAUSAL_UNKNOWN,
					     .slope = NAN,
					     .slope_low = NAN,
					     .slope_high = NAN,
					     .up_to = NAN };
}

void sn_causal_answers_find(const struct sn_causal_log *log, struct sn_causal_answers *out)
{
	size_t count = log->candidates.count, known = 0;
	struct estimate *slopes = sn_alloc_zeroed(count + 1, sizeof(*slopes));
	double *deviations = sn_alloc_zeroed(count + 1, sizeof(*deviations)), typical;
	struct sn_causal_log told = told_part(log);
	struct effects effects;

	*out = (struct sn_causal_answers){ .delay_error_share = delay_error(log),
					   .cut_trials = log->trials.count - told.trials.count };
	out->settle_ns = sn_causal_settled_ns(&told, &out->carried_share);
	out->rate_per_s = rate_of(&told, out->settle_ns);

	struct model_error model = model_error_of(log, out);

	out->refusal = find_refusal(log, out->delay_error_share);
	find_effects(&told, &effects);
	for (size_t c = 0; c < count; c++) {
		slopes[c] = slope_estimate(&told, &effects, (int32_t)c);
		if (slopes[c].blocks >= SN_CAUSAL_BLOCKS_LEAST)
			deviations[known++] = slopes[c].deviation;
	}
	typical = known ? sn_median(deviations, known) : 0;
	for (size_t c = 0; c < count; c++) {
		struct sn_causal_answer answer = {
			.candidate = (uint32_t)c, .slope = NAN, .slope_low = NAN, .slope_high = NAN
		};

		double lever = slopes[c].lever;
		struct model_error of_slope = { lever * model.least, model.share,
						lever * model.carried };

		if (slopes[c].blocks >= 2) {
			double width = with_model(half_width(&slopes[c]), slopes[c].mean, of_slope);

			answer.slope = slopes[c].mean;
			answer.slope_low = slopes[c].mean - width;
			answer.slope_high = slopes[c].mean + width;
		}
		find_points(&effects, &answer, model);
		judge(&answer, slopes[c], typical, of_slope.carried, count);
		if (out->refusal)
			answer.verdict = SN_CAUSAL_UNKNOWN;
		answer.reason =
			reason_of(log, out->refusal, out->carried_share, &answer, &slopes[c]);
		if (out->refusal)
			refuse(&answer);
		sn_vec_push(&out->rows, answer);
	}
	out->false_alarm_rate = false_alarms(&effects);
	if (count)
		qsort(out->rows.items, count, sizeof(*out->rows.items), compare_answers);
	free_effects(&effects);
	sn_vec_free(&told.trials);
	free(slopes);
	free(deviations);
}

void sn_causal_answers_free(struct sn_causal_answers *answers)
{
	sn_vec_free(&answers->rows);
}
