#include "campaign/scaling/run.h"

#include <math.h>
#include <string.h>

#include "base/stats.h"
#include "harness/tap.h"
#include "profile/workers.h"
#include "profile/fixture.h"

static const struct sn_scaling_part *part(const struct sn_scaling_run *run,
					  enum sn_scaling_kind kind, const char *name)
{
	for (size_t i = 0; i < run->parts.count; i++)
		if (run->parts.items[i].kind == kind &&
		    !strcmp(run->parts.items[i].entry.name, name))
			return &run->parts.items[i];
	return NULL;
}

TEST(time_is_that_of_the_busiest_worker)
{
	struct sn_scaling_run run;
	struct fixture f;
	uint32_t stack, other;

	fixture_begin(&f);
	fixture_add_thread(&f, 0, 101, "other");
	f.experiment->threads.items[0].end_ns = f.experiment->threads.items[1].end_ns = 10000000000;
	stack = fixture_stack(&f, 0, 1, APP, FIB);
	other = fixture_stack(&f, 0, 1, LIBM, SIN);
	fixture_samples(&f, 0, stack, 3000, 1000);
	fixture_samples(&f, 1, stack, 1000, 1000);
	fixture_samples(&f, 1, other, 1000, 1000);
	fixture_profile(&f, NULL);
	sn_scaling_run_fill(&run, f.profile, NULL, 1, 2);
	REQUIRE(part(&run, SN_SCALING_FUNCTION, "fib") != NULL);
	CHECK_REAL(part(&run, SN_SCALING_FUNCTION, "fib")->cpu_s, 4, 1e-9);
	CHECK_REAL(part(&run, SN_SCALING_FUNCTION, "fib")->busiest_s, 3, 0.01);
	REQUIRE(part(&run, SN_SCALING_CATEGORY, "maths") != NULL);
	CHECK_REAL(part(&run, SN_SCALING_CATEGORY, "maths")->busiest_s, 1, 0.01);
	CHECK_REAL(run.cpu_s, 5, 1e-9);
	CHECK_REAL(run.useful_s, 5, 1e-9);
	CHECK_REAL(run.useful_busiest_s, 3, 1e-9);
	sn_scaling_run_free(&run);
	fixture_end(&f);
}

TEST(threads_one_after_the_other_are_one_worker)
{
	struct sn_scaling_run run;
	struct fixture f;
	uint32_t stack;

	fixture_begin(&f);
	fixture_add_thread(&f, 0, 101, "later");
	stack = fixture_stack(&f, 0, 1, APP, FIB);
	fixture_samples(&f, 0, stack, 1000, 1000);
	fixture_samples(&f, 1, stack, 1000, 1000);
	f.experiment->threads.items[0].start_ns = 0;
	f.experiment->threads.items[0].end_ns = 1000000000;
	f.experiment->threads.items[1].start_ns = 1000000000;
	f.experiment->threads.items[1].end_ns = 2000000000;
	fixture_profile(&f, NULL);
	sn_scaling_run_fill(&run, f.profile, NULL, 1, 2);
	CHECK_REAL(part(&run, SN_SCALING_FUNCTION, "fib")->busiest_s, 2, 0.01);
	sn_scaling_run_free(&run);
	fixture_end(&f);
}

/* A first thread does 3 s of its own, then it waits while its pool works for 2 s, of `others` threads. */
static double busiest_with_pool(uint32_t others, struct sn_scaling_run *run)
{
	struct fixture f;
	uint32_t stack;
	double busiest;

	fixture_begin(&f);
	for (uint32_t t = 1; t <= others; t++)
		fixture_add_thread(&f, 0, 100 + (int32_t)t, "pool");
	stack = fixture_stack(&f, 0, 1, APP, FIB);
	f.experiment->elapsed_ns = 5000000000;
	f.experiment->threads.items[0].end_ns = 5000000000;
	fixture_samples(&f, 0, stack, 3000, 1000);
	for (uint32_t t = 1; t <= others; t++) {
		f.experiment->threads.items[t].start_ns = 3000000000;
		f.experiment->threads.items[t].end_ns = 5000000000;
		for (int s = 0; s < 2000; s++)
			sn_vec_push(&f.experiment->samples,
				    ((struct sn_sample){ .time_ns = 3000000000 + s * 1000000,
							 .cpu_ns = 1000000,
							 .thread = t,
							 .stack = stack }));
	}
	fixture_profile(&f, NULL);
	sn_scaling_run_fill(run, f.profile, NULL, 1, others);
	REQUIRE(part(run, SN_SCALING_FUNCTION, "fib") != NULL);
	busiest = part(run, SN_SCALING_FUNCTION, "fib")->busiest_s;
	fixture_end(&f);
	return busiest;
}

/* The function takes 5 s at one worker and at two of twice the work: no speed-up of 7/3. */
TEST(a_first_thread_takes_turns_with_its_pool)
{
	for (uint32_t others = 1; others <= 3; others++) {
		struct sn_scaling_run run;

		CHECK_REAL(busiest_with_pool(others, &run), 5, 0.05);
		CHECK_REAL(run.useful_busiest_s, 5, 0.01);
		CHECK_REAL(run.idle_workers, 0, 0);
		sn_scaling_run_free(&run);
	}
}

/* Eight equal workers of 30 samples each: what sampling alone makes of them must not look uneven. The
 * largest seen is 1.26 of the mean on the average; 400 trials have a deviation of 0.007 at most. */
TEST(the_largest_of_equal_workers_is_not_overstated)
{
	struct sn_random random;
	double plain = 0, ours = 0, uneven = 0;

	sn_random_seed(&random, 3);
	for (int trial = 0; trial < 400; trial++) {
		double seen[8] = { 0 }, largest = 0;

		for (int s = 0; s < 8 * 300; s++) /* each of 300 draws hits with a tenth */
			seen[s % 8] += sn_random_below(&random, 10) == 0;
		for (int i = 0; i < 8; i++)
			largest = fmax(largest, seen[i]);
		plain += largest / 30 / 400;
		ours += sn_largest_of(seen, 8, 30) / 30 / 400;
		seen[0] += 300;
		uneven += sn_largest_of(seen, 8, 30) / 330 / 400;
	}
	CHECK(plain > 1.15);
	CHECK_REAL(ours, 1, 0.1);
	CHECK_REAL(uneven, 1, 0.03);
}

/* Of a sum of chances, each a tenth: what a worker with so many expected samples was seen in. */
static double seen_of(struct sn_random *random, int expected)
{
	double seen = 0;

	for (int s = 0; s < 10 * expected; s++)
		seen += sn_random_below(random, 10) == 0;
	return seen;
}

/* One of 16 workers has three times the work of each other, and they are seen in so few samples that equal
 * ones would look as uneven at times. 400 trials: the mean is known to 0.02. */
TEST(one_worker_that_stands_out_is_not_drawn_to_the_others)
{
	static const int unit[] = { 5, 10, 30 };
	struct sn_random random;

	sn_random_seed(&random, 5);
	for (int u = 0; u < 3; u++) {
		double ours = 0;

		for (int trial = 0; trial < 400; trial++) {
			double seen[16];

			for (int i = 0; i < 16; i++)
				seen[i] = seen_of(&random, i == 9 ? 3 * unit[u] : unit[u]);
			ours += sn_largest_of(seen, 16, unit[u] * 18 / 16.0) / (3 * unit[u]) / 400;
		}
		CHECK_REAL(ours, 1, 0.08);
	}
}

/* A thread's clock tells how much it ran: what ran nothing else has no error of sampling, however few
 * samples it is. */
TEST(threads_that_do_one_thing_are_as_their_clocks_say)
{
	struct sn_scaling_run run;
	struct fixture f;
	uint32_t stack;

	fixture_begin(&f);
	for (int32_t t = 1; t < 16; t++)
		fixture_add_thread(&f, 0, 100 + t, "pool");
	stack = fixture_stack(&f, 0, 1, APP, FIB);
	for (uint32_t t = 0; t < 16; t++) {
		f.experiment->threads.items[t].end_ns = 10000000000;
		fixture_samples(&f, t, stack, t ? 4 : 12, 1000);
	}
	fixture_profile(&f, NULL);
	sn_scaling_run_fill(&run, f.profile, NULL, 1, 16);
	REQUIRE(part(&run, SN_SCALING_FUNCTION, "fib") != NULL);
	CHECK_REAL(part(&run, SN_SCALING_FUNCTION, "fib")->busiest_s, 0.012, 1e-9);
	sn_scaling_run_free(&run);
	fixture_end(&f);
}
