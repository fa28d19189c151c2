#include "base/stats.h"

#include <math.h>

#include "harness/tap.h"

TEST(order_statistics)
{
	double values[] = { 9, 1, 5, 3, 7 };

	CHECK_REAL(sn_median(values, 5), 5, 0);
	CHECK_REAL(sn_quantile(values, 5, 0.25), 3, 0);
	CHECK_REAL(sn_quantile(values, 4, 0.5), 4, 0);
	CHECK_REAL(sn_mean(values, 5), 5, 0);
	CHECK_REAL(sn_deviation(values, 5), sqrt(10), 1e-15);
	CHECK(isnan(sn_median(values, 0)));
}

TEST(what_is_unknown_is_no_number)
{
	CHECK_REAL(sn_seconds(1500000000), 1.5, 0);
	CHECK(isnan(sn_seconds(-1)));
	CHECK_REAL(sn_share(1, 4), 0.25, 0);
	CHECK(isnan(sn_share(0, 0)));
}

TEST(overhead_is_by_the_time_without_it)
{
	CHECK_REAL(sn_overhead_share(1, 5), 0.25, 0);
	CHECK_REAL(sn_overhead_share(0, 5), 0, 0);
	CHECK_REAL(sn_overhead_share(5, 5), 1e6, 0);
	CHECK_REAL(sn_overhead_share(6, 5), 1e6, 0);
	CHECK(isnan(sn_overhead_share(1, 0)));
}

TEST(wilson_interval_matches_the_published_formula)
{
	/* 15 of 50: centre and half width computed by hand from Wilson 1927 */
	struct sn_interval interval = sn_wilson_interval(15, 50);

	CHECK_REAL(interval.low, 0.19104, 5e-6);
	CHECK_REAL(interval.high, 0.43750, 5e-5);
	CHECK_REAL(sn_wilson_interval(0, 10).low, 0, 1e-12);
}

TEST(random_numbers_are_those_of_the_reference)
{
	/* splitmix64(0) gives e220a8397b1dcdaf first (Vigna's reference program) */
	struct sn_random random;

	sn_random_seed(&random, 0);
	CHECK_INT(random.state[0], (int64_t)0xe220a8397b1dcdafu);
	for (int i = 0; i < 1000; i++)
		REQUIRE(sn_random_below(&random, 7) < 7);
}

/* Values of the common tables of the t distribution. */
TEST(student)
{
	CHECK_REAL(sn_student_p(2.776445, 4), 0.05, 1e-6);
	CHECK_REAL(sn_student_p(-2.776445, 4), 0.05, 1e-6);
	CHECK_REAL(sn_student_p(12.7062, 1), 0.05, 1e-6);
	CHECK_REAL(sn_student_p(0, 7), 1, 1e-12);
	CHECK_REAL(sn_student_p(1.959964, 1e7), 0.05, 1e-6);
	CHECK_REAL(sn_student_t(0.01, 10), 3.169273, 1e-5);
	CHECK_REAL(sn_student_p(sn_student_t(0.003, 2.5), 2.5), 0.003, 1e-9);
}
