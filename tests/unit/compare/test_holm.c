/* Many tests at one rate: Holm's order, the half that the whole program has, false alarms. */
#include "compare/holm.h"

#include <math.h>
#include <stdio.h>

#include "base/stats.h"
#include "harness/tap.h"

static int rejected_of(struct sn_hypothesis *tests, size_t totals, size_t others)
{
	struct sn_hypothesis_counts counts = { totals, others };

	return (int)sn_holm_reject(tests, counts, 0.05);
}

TEST(of_one_kind_it_is_holms_method)
{
	struct sn_hypothesis tests[] = {
		{ .p = 0.01 }, { .p = 0.04 }, { .p = 0.03 }, { .p = 0.005 }
	};

	CHECK_INT(rejected_of(tests, 0, 4),
		  2); /* 0.005 to 0.0125, 0.01 to 0.0167, 0.03 not to 0.025 */
	CHECK(tests[0].p == 0.005 && tests[1].p == 0.01);
	tests[2].p = 0.02;
	CHECK_INT(rejected_of(tests, 0, 4), 4); /* then 0.04 to 0.05 */
	CHECK_INT(rejected_of(tests, 0, 0), 0);
}

TEST(the_whole_program_has_half_of_the_rate)
{
	struct sn_hypothesis tests[102];

	for (int i = 0; i < 102; i++)
		tests[i] = (struct sn_hypothesis){ .p = 0.5, .is_total = i < 2 };
	tests[0].p = 0.012;
	CHECK_INT(rejected_of(tests, 2, 100), 1); /* 0.05 * 0.25 = 0.0125 */
	CHECK(tests[0].is_total);
	for (int i = 0; i < 102; i++)
		if (!tests[i].is_total) {
			tests[i].p = 0.0002;
			break;
		}
	CHECK_INT(rejected_of(tests, 2, 100), 2); /* 0.05 * 0.005 = 0.00025 */
	for (int i = 0; i < 102; i++)
		if (tests[i].p < 0.001)
			tests[i].p = 0.0004;
	CHECK_INT(rejected_of(tests, 2, 100), 1); /* 0.00025 / 0.75 = 0.00033 */
}

TEST(elapsed_and_cpu_time_that_move_together_need_half_as_much)
{
	struct sn_hypothesis tests[12];

	for (int i = 0; i < 12; i++)
		tests[i] = (struct sn_hypothesis){ .p = i < 2 ? 0.024 : 0.5, .is_total = i < 2 };
	CHECK_INT(rejected_of(tests, 2, 10), 2); /* both below 0.05 * 0.5 */
	CHECK(tests[0].is_total && tests[1].is_total);
	tests[0].together = 1; /* of another comparison: a quarter for each */
	CHECK_INT(rejected_of(tests, 2, 10), 0);
	tests[0].together = tests[1].together;
	tests[0].p = 0.026;
	CHECK_INT(rejected_of(tests, 2, 10), 0);
	tests[0].p = 0.026; /* one of them alone needs half of the rate */
	tests[1].p = 0.0124;
	CHECK_INT(rejected_of(tests, 2, 10), 1);
	CHECK_REAL(tests[0].p, 0.0124, 0);
}

/* Elapsed time is CPU time and a little of its own, as that of most programs. */
TEST(hochberg_holds_the_rate_of_times_that_move_together)
{
	struct sn_hypothesis tests[2];
	struct sn_random random;
	int alarms = 0;

	sn_random_seed(&random, 5);
	for (int i = 0; i < 20000; i++) {
		double z[2] = { 0, 0 }, own = 0;

		for (int k = 0; k < 12; k++) {
			z[0] += sn_random_unit(&random);
			own += sn_random_unit(&random);
		}
		z[0] -= 6;
		z[1] = 0.9 * z[0] + 0.436 * (own - 6);
		for (int k = 0; k < 2; k++)
			tests[k] = (struct sn_hypothesis){ .p = erfc(fabs(z[k]) / sqrt(2)),
							   .is_total = true };
		alarms += rejected_of(tests, 2, 0) > 0;
	}
	printf("# %d false alarms in 20000\n", alarms);
	CHECK(alarms > 500 && alarms <= 1124); /* 5 %, and four deviations of 31 */
}

TEST(of_true_hypotheses_any_is_rejected_in_one_of_twenty)
{
	struct sn_hypothesis tests[22];
	struct sn_random random;
	int alarms = 0;

	sn_random_seed(&random, 3);
	for (int i = 0; i < 20000; i++) {
		for (int k = 0; k < 22; k++)
			tests[k] = (struct sn_hypothesis){ .p = sn_random_unit(&random),
							   .is_total = k < 2 };
		alarms += rejected_of(tests, 2, 20) > 0;
	}
	printf("# %d false alarms in 20000\n", alarms);
	CHECK(alarms > 800 &&
	      alarms < 1150); /* 5 % less what ties Bonferroni: 976 expected, deviation 31 */
}
