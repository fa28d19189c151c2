#include "heartbeat/history.h"

#include <math.h>
#include <stdio.h>

#include "base/stats.h"
#include "harness/tap.h"

static double normal(struct sn_random *random)
{
	double u = 1 - sn_random_unit(random), v = sn_random_unit(random);

	return sqrt(-2 * log(u)) * cos(2 * M_PI * v);
}

/* Student's t with 3 degrees of freedom: runs that are far off now and then. */
static double heavy(struct sn_random *random)
{
	double a = normal(random), b = normal(random), c = normal(random);

	return normal(random) / sqrt((a * a + b * b + c * c) / 3);
}

/* Log-normal noise with an outlier of ten deviations in one run of twenty. */
static double spoiled(struct sn_random *random)
{
	return normal(random) + (sn_random_unit(random) < 0.05 ? 10 : 0);
}

/* How often a run like the others has a score beyond the limit for this rate. */
static double alarm_rate(double (*draw)(struct sn_random *), size_t count, double rate, int trials,
			 double shift, bool knows_slow_runs)
{
	double limit = sn_judge_limit(count, rate), history[SN_JUDGE_RUNS_MAX];
	struct sn_random random;
	int alarms = 0;

	sn_random_seed(&random, 1234 + count);
	for (int i = 0; i < trials; i++) {
		double mine;
		size_t as_slow = 0;

		for (size_t k = 0; k < count; k++)
			history[k] = 0.05 * draw(&random);
		mine = 0.05 * (draw(&random) + shift);
		for (size_t k = 0; k < count; k++)
			as_slow += history[k] >= mine;
		alarms += sn_judge_score(mine, history, count) > limit &&
			  !(knows_slow_runs && sn_judge_is_known(as_slow, count));
	}
	return alarms / (double)trials;
}

TEST(false_alarms_of_log_normal_noise_are_as_rare_as_stated)
{
	static const size_t counts[] = { 8, 9, 20, 64 };

	for (size_t i = 0; i < 4; i++)
		for (double rate = 0.05; rate > 4e-4; rate /= 10) {
			int trials = tap_trials(40000);
			double got = alarm_rate(normal, counts[i], rate, trials, 0, false);
			double sigma = sqrt(rate * (1 - rate) / trials);

			printf("# %zu runs, stated %g: measured %.5f\n", counts[i], rate, got);
			/* 4 sigma of the coin, and a twentieth for the simulated histories that the
			 * limit rests on */
			CHECK_OF_TRIALS(fabs(got - rate) <= 4 * sigma + 0.05 * rate);
		}
}

TEST(false_alarms_of_other_noise_are_told)
{
	static const size_t counts[] = { 8, 20, 64 };

	for (size_t i = 0; i < 3; i++) {
		double tails = alarm_rate(heavy, counts[i], 0.01, tap_trials(20000), 0, true);
		double outliers = alarm_rate(spoiled, counts[i], 0.01, tap_trials(20000), 0, true);

		printf("# %zu runs, stated 0.01: t(3) %.4f, outliers in 5 %% of the runs %.4f\n",
		       counts[i], tails, outliers);
		/* an outlier is a finding, and should be; beyond that nothing grows */
		CHECK_OF_TRIALS(tails < 0.06);
		CHECK_OF_TRIALS(outliers > 0.03 && outliers < 0.07);
	}
}

/* Whole histories of `count` runs and one more, which is like them, in deviations of the noise. */
typedef void (*history_draw)(struct sn_random *, double *values, size_t count);

/* Ratio of two normal numbers: neither mean nor deviation exist. */
static void cauchy_fill(struct sn_random *random, double *values, size_t count)
{
	for (size_t i = 0; i <= count; i++)
		values[i] = normal(random) / normal(random);
}

static void modes_fill(struct sn_random *random, double *values, size_t count, double share)
{
	for (size_t i = 0; i <= count; i++)
		values[i] = normal(random) + (sn_random_unit(random) < share ? 10 : 0);
}

static void modes_half_fill(struct sn_random *random, double *values, size_t count)
{
	modes_fill(random, values, count, 0.5);
}

static void modes_fifth_fill(struct sn_random *random, double *values, size_t count)
{
	modes_fill(random, values, count, 0.2);
}

/* Slower by a tenth of a deviation, or by a whole one, from run to run. */
static void creep_fill(struct sn_random *random, double *values, size_t count)
{
	for (size_t i = 0; i <= count; i++)
		values[i] = normal(random) + 0.1 * (double)i;
}

static void slide_fill(struct sn_random *random, double *values, size_t count)
{
	for (size_t i = 0; i <= count; i++)
		values[i] = normal(random) + (double)i;
}

/* Each run near the one before, as on a machine whose state goes on. */
static void walk_fill(struct sn_random *random, double *values, size_t count)
{
	double at = 0;

	for (size_t i = 0; i <= count; i++) {
		at += 0.5 * normal(random);
		values[i] = at + normal(random);
	}
}

static double history_alarm_rate(history_draw draw, size_t count, int trials)
{
	double limit = sn_judge_limit(count, 0.01), values[SN_JUDGE_RUNS_MAX + 1];
	struct sn_random random;
	int alarms = 0;

	sn_random_seed(&random, 99 + count);
	for (int i = 0; i < trials; i++) {
		draw(&random, values, count);
		for (size_t k = 0; k <= count; k++)
			values[k] *= 0.05;
		for (size_t k = 0, as_slow = 0; k <= count; k++) {
			as_slow += k < count && values[k] >= values[count];
			if (k == count && !sn_judge_is_known(as_slow, count))
				alarms += sn_judge_score(values[count], values, count) > limit;
		}
	}
	return alarms / (double)trials;
}

/* What holds where noise is not log-normal (docs/method/heartbeats.md has these numbers). Bounds
 * are what was measured, and 4 sigma of 10,000 trials. */
TEST(alarms_of_heavy_bimodal_and_drifting_histories_are_told)
{
	static const struct {
		const char *name;
		history_draw draw;
		double most[3]; /* for 8, 20 and 64 runs */
	} rows[] = {
		{ "Cauchy", cauchy_fill, { 0.065, 0.084, 0.094 } },
		{ "two modes, half of the runs in each", modes_half_fill, { 0.083, 0.057, 0.036 } },
		{ "a slow mode of a fifth of the runs", modes_fifth_fill, { 0.155, 0.146, 0.12 } },
		{ "slower by 0.1 deviations a run", creep_fill, { 0.026, 0.05, 0.017 } },
		{ "slower by 1 deviation a run", slide_fill, { 0.01, 0.002, 0.001 } },
		{ "random walk of 0.5 deviations a run", walk_fill, { 0.018, 0.024, 0.037 } },
	};
	static const size_t counts[] = { 8, 20, 64 };

	for (size_t r = 0; r < sizeof(rows) / sizeof(*rows); r++)
		for (size_t i = 0; i < 3; i++) {
			double got = history_alarm_rate(rows[r].draw, counts[i], tap_trials(10000));

			printf("# %zu runs, stated 0.01, %s: %.4f\n", counts[i], rows[r].name, got);
			CHECK_OF_TRIALS(got <= rows[r].most[i]);
		}
}

TEST(slower_runs_are_found_though_the_history_has_outliers)
{
	double clean = alarm_rate(normal, 20, 0.01, tap_trials(10000), 6, true);
	double dirty = alarm_rate(spoiled, 20, 0.01, tap_trials(10000), 6, true);

	printf("# 6 deviations slower, 20 runs: found in %.3f; with outliers in the history %.3f\n",
	       clean, dirty);
	CHECK_OF_TRIALS(clean > 0.9);
	CHECK_OF_TRIALS(dirty > 0.85);
}

TEST(limits_grow_with_rarity_and_shrink_with_history)
{
	CHECK(sn_judge_limit(20, 0.001) > sn_judge_limit(20, 0.01));
	CHECK(sn_judge_limit(20, 1e-6) > sn_judge_limit(20, 1e-5));
	CHECK(sn_judge_limit(8, 0.01) > sn_judge_limit(64, 0.01));
	CHECK(isfinite(sn_judge_limit(8, 1e-7)));
	CHECK_REAL(sn_judge_limit(64, 0.01), 2.326, 0.3); /* near the normal quantile */
}

TEST(a_score_ignores_differences_of_a_part_in_a_thousand)
{
	double history[] = { 1, 1, 1, 1, 1, 1, 1, 1 };

	CHECK_REAL(sn_judge_score(1.002, history, 8), 2, 1e-9);
	CHECK_REAL(sn_judge_score(1, history, 8), 0, 0);
}

TEST(groups_are_parsed)
{
	struct sn_error err;
	unsigned group;

	CHECK_INT(sn_run_group_parse(NULL, &group, &err), SN_OK);
	CHECK_INT(group, SN_GROUP_DEFAULT);
	CHECK_INT(sn_run_group_parse("program", &group, &err), SN_OK);
	CHECK_INT(group, 0);
	CHECK_INT(sn_run_group_parse("threads,ranks", &group, &err), SN_OK);
	CHECK_INT(group, SN_GROUP_THREADS | SN_GROUP_RANKS);
	CHECK_INT(sn_run_group_parse("host", &group, &err), SN_ERR_USAGE);
	CHECK_STRING(err.sentence, "heartbeat: runs are grouped by program, arguments, ranks and "
				   "threads, not by 'host'");
}
