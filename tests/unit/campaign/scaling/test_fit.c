#include "campaign/scaling/fit.h"

#include <math.h>
#include <string.h>

#include "base/stats.h"
#include "harness/tap.h"

static double gaussian(struct sn_random *random)
{
	double sum = 0;

	for (int i = 0; i < 12; i++)
		sum += sn_random_unit(random);
	return sum - 6;
}

/* T of n workers under a law; kind 0: Amdahl, 1: USL, 2: a/n + b ln n. */
static double law(int kind, double n)
{
	return kind == 0   ? 0.1 + 0.9 / n
	       : kind == 1 ? (1 + 0.05 * (n - 1) + 0.01 * n * (n - 1)) / n
			   : 1 / n + 0.03 * log(n);
}

static struct sn_fit fit(int kind, double noise, const double *workers, int points, int repeats,
			 struct sn_random *random)
{
	struct sn_fit_point all[64];
	struct sn_fit out;
	size_t count = 0;

	for (int p = 0; p < points; p++)
		for (int r = 0; r < repeats; r++)
			all[count++] = (struct sn_fit_point){
				workers[p], law(kind, workers[p]) *
						    (1 + (random ? noise * gaussian(random) : 0))
			};
	sn_fit_scaling(all, count, false, workers[0], &out);
	return out;
}

static const double doubling[] = { 1, 2, 4, 8, 16 };

TEST(an_exact_law_is_found_and_foretells)
{
	static const char *const names[] = { "amdahl", "usl", "logarithm" };

	for (int kind = 0; kind < 3; kind++) {
		struct sn_fit f = fit(kind, 0, doubling, 5, 3, NULL);

		REQUIRE(f.model != NULL);
		CHECK_STRING(f.model, names[kind]);
		CHECK_REAL(f.predicted[0].workers, 32, 0);
		CHECK_REAL(f.predicted[0].time_s, law(kind, 32), 1e-6);
		CHECK_REAL(f.predicted[1].time_s, law(kind, 64), 1e-6);
	}
}

TEST(efficiency_ends_where_amdahl_says)
{
	struct sn_fit f = fit(0, 0, doubling, 5, 3, NULL);

	/* 1/(0.1 n + 0.9) = 0.8 at n = 3.5, 0.5 at n = 11 */
	CHECK_REAL(f.workers_80, 4, 0);
	CHECK_REAL(f.workers_50, 12, 1);
}

/* One worker has three times the work of each other: efficiency (n + 2) / (3 n), which no law has. */
TEST(efficiency_ends_where_it_was_measured_to)
{
	struct sn_fit_point all[15];
	struct sn_fit f;

	for (int p = 0; p < 15; p++)
		all[p] = (struct sn_fit_point){ doubling[p / 3],
						p < 3 ? 1.2 : 3.6 / (doubling[p / 3] + 2) };
	sn_fit_scaling(all, 15, false, 1, &f);
	REQUIRE(f.model != NULL);
	CHECK_REAL(f.workers_80, 2, 0);
	CHECK_REAL(f.workers_50, 4, 1);
	/* from two workers on, 4/3 n/(n + 2) is lost less of: 0.8 at 8, and 0.5 never */
	sn_fit_scaling(all, 15, false, 2, &f);
	CHECK_REAL(f.workers_80, 4, 0);
}

/* What was measured does not end: the law goes on from there, never below the last that was seen. */
TEST(beyond_what_was_measured_the_law_goes_on)
{
	static const double workers[] = { 1, 2, 3, 4 };
	struct sn_fit f = fit(0, 0, workers, 3, 3, NULL);

	CHECK(f.model == NULL);
	f = fit(0, 0, workers, 4, 3, NULL);
	REQUIRE(f.model != NULL);
	CHECK_REAL(f.workers_80, 4, 0);
	CHECK_REAL(f.workers_50, 12, 1);
}

/* A loop that scales, of whose shortest times samples tell less: they take what was foretold, within what
 * they themselves differ by. */
TEST(short_times_that_vary_follow_the_law)
{
	struct sn_fit_point all[15];
	struct sn_fit f;

	for (int p = 0; p < 15; p++) {
		double n = doubling[p / 3], part = n < 16 ? 0.003 : 0.05;

		all[p] = (struct sn_fit_point){ n, (1 - part / 2 + part * (p % 3 - 1)) / n };
	}
	sn_fit_scaling(all, 15, false, 1, &f);
	REQUIRE(f.model != NULL);
	CHECK(isnan(f.workers_80));
	CHECK(f.predicted[0].high_s > 1.04 / 32); /* as those with 16 vary */
}

TEST(three_numbers_of_workers_are_too_few)
{
	struct sn_fit f = fit(0, 0, doubling, 3, 5, NULL);

	CHECK(f.model == NULL);
	CHECK_STRING(f.reason, "too few points: 3 numbers of workers, a law needs 4");
	f = fit(0, 0, doubling, 1, 5, NULL);
	CHECK_STRING(f.reason, "too few points: 1 number of workers, a law needs 4");
}

TEST(what_follows_no_law_is_not_foretold)
{
	struct sn_fit_point cliff[] = { { 1, 1 },    { 1, 1.01 },  { 2, 0.5 }, { 2, 0.51 },
					{ 4, 0.25 }, { 4, 0.251 }, { 8, 2 },   { 8, 2.01 } };
	struct sn_fit f;

	sn_fit_scaling(cliff, 8, false, 1, &f);
	CHECK(f.model == NULL);
	CHECK(strstr(f.reason, "no law holds") != NULL);
}

/* 300 fits of noisy laws, 5 runs each at 5 numbers of workers. The time at twice the workers is to lie in
 * the interval in 90 %; 4 sigma of a binomial of 300 are 7 %. */
TEST(intervals_hold_the_truth)
{
	struct sn_random random;
	int held = 0, made = 0;

	sn_random_seed(&random, 11);
	for (int i = 0; i < 300; i++) {
		struct sn_fit f = fit(i % 3, 0.03, doubling, 5, 5, &random);
		double truth = law(i % 3, 32);

		if (!f.model)
			continue;
		made++;
		held += truth >= f.predicted[0].low_s && truth <= f.predicted[0].high_s;
	}
	CHECK(made > 200);
	CHECK(held >= made * 83 / 100);
}

TEST(no_input_breaks_it)
{
	struct sn_fit_point odd[] = {
		{ 1, 0 }, { 1e9, 1e-300 }, { 2, 1e300 }, { 3, 1 }, { 4, NAN }
	};
	struct sn_fit f;

	sn_fit_scaling(odd, 0, false, 1, &f);
	CHECK(f.model == NULL);
	for (size_t n = 1; n <= 5; n++)
		sn_fit_scaling(odd, n, n % 2, 1, &f);
	CHECK(f.reason[0] || f.model);
}
