#include "record/outside_clock.h"

#include "harness/tap.h"

enum { MS = 1000000 };

/* A process of one thread for `elapsed_ms` of counts. Of each period of 20 ms `taken` was not CPU
 * time from `from_ms` on. Its clock is behind by up to a tick. The share of the truth that is told.
 */
static double told_share(unsigned elapsed_ms, unsigned from_ms, double taken, unsigned tick_ms)
{
	struct sn_outside_clock clock;
	double used = 0;

	sn_outside_clock_begin(&clock);
	for (unsigned ms = 1; ms <= elapsed_ms; ms++) {
		used += ms > from_ms ? (1 - taken) * MS : MS;
		if (ms % 20 == 0 || ms == elapsed_ms) {
			double behind =
				ms == elapsed_ms ? 0 : (double)(ms * 7 % (tick_ms + 1)) * MS;
			uint64_t known = (uint64_t)(used > behind ? used - behind : 0);
			if (ms == elapsed_ms)
				sn_outside_clock_end(&clock, (uint64_t)ms * MS, known);
			else
				sn_outside_clock_look(&clock, (uint64_t)ms * MS, known, 10 * MS);
			while (clock.told_count_ns < (uint64_t)ms * MS)
				sn_outside_clock_tell(&clock, MS);
		}
	}
	return (double)clock.told_ns / used;
}

TEST(counts_that_are_cpu_time_are_told_as_they_are)
{
	for (unsigned tick_ms = 0; tick_ms <= 10; tick_ms += 2)
		CHECK_REAL(told_share(995, 0, 0, tick_ms), 1, 1e-9);
}

TEST(what_others_took_is_left_out)
{
	for (unsigned percent = 1; percent <= 60; percent += 3) {
		for (unsigned ms = 300; ms < 3000; ms += 333) {
			double share = told_share(ms, 0, percent / 100.0, 4);
			CHECK(share > 0.99 && share < 1.01);
		}
	}
}

TEST(also_if_they_come_late)
{
	double share = told_share(2000, 1000, 0.3, 4);

	CHECK(share > 0.99 && share < 1.01);
}

TEST(what_no_event_counted_raises_nothing)
{
	struct sn_outside_clock clock;

	sn_outside_clock_begin(&clock);
	sn_outside_clock_look(&clock, 100 * MS, 400 * MS, 10 * MS);
	CHECK_INT(sn_outside_clock_tell(&clock, 100 * MS), 100 * MS);
	sn_outside_clock_end(&clock, 110 * MS, 500 * MS);
	CHECK_INT(sn_outside_clock_tell(&clock, 10 * MS), 10 * MS);
}

TEST(what_switching_took_is_told_where_it_may_be)
{
	struct sn_outside_clock clock;
	uint64_t told = 0;

	sn_outside_clock_begin(&clock);
	clock.part_most = 3;
	for (uint64_t ms = 10; ms <= 1000; ms += 10) {
		sn_outside_clock_look(&clock, ms * 7 * MS / 10, ms * MS, 10 * MS);
		told += sn_outside_clock_tell(&clock, 7 * MS);
	}
	sn_outside_clock_end(&clock, 710 * MS, 1000 * MS);
	told += sn_outside_clock_tell(&clock, 10 * MS);
	CHECK(told > 990 * MS && told < 1010 * MS);
}
