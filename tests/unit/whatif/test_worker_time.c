/* Workers in slices, and what elapsed time loses with their CPU time. */
#include "whatif/worker_time.h"

#include <stdlib.h>

#include "harness/tap.h"
#include "profile/fixture.h"

static double *spare(const struct fixture *f, const char *loop, double part)
{
	double *spared = calloc(f->program->loops.count + 1, sizeof(*spared));

	spared[fixture_loop(f, loop)] = part;
	return spared;
}

/* 1 s of CPU time and 3 s without a CPU, of 4 s: half of the work takes half of the time. */
TEST(waiting_for_a_cpu_shrinks_with_the_work)
{
	struct sn_worker_time time;
	struct fixture f;
	double *spared;

	fixture_begin(&f);
	fixture_samples(&f, 0, fixture_stack(&f, 0, 1, APP, MAIN_INNER), 1000, 1000);
	for (int64_t i = 0; i < 1000; i++) /* it had the CPU now and then */
		f.experiment->samples.items[i].time_ns = 4000000 * i;
	f.experiment->elapsed_ns = f.experiment->threads.items[0].end_ns = 4000000000;
	f.experiment->threads.items[0].account.wait_cpu_ns = 3000000000;
	f.experiment->threads.items[0].account.blocked_ns = 0;
	fixture_profile(&f, NULL);
	spared = spare(&f, "app.c:12-15", 0.5);
	for (size_t slices = 1; slices <= 4; slices += 3) {
		sn_worker_time_fill(&time, f.profile, NULL, 0, 4, slices);
		CHECK_REAL(sn_worker_time_saved(&time, time.pace, spared, NULL, 0), 2, 0.01);
		sn_worker_time_free(&time);
	}
	CHECK_REAL(sn_worker_time_waiting(f.profile), 0.75, 0.01);
	/* it may have waited for a CPU whenever it was woken up */
	f.experiment->threads.items[0].account.wait_cpu_ns = 1000000000;
	f.experiment->threads.items[0].account.blocked_ns = 2000000000;
	sn_worker_time_fill(&time, f.profile, NULL, 0, 4, 1);
	CHECK_REAL(sn_worker_time_saved(&time, time.pace, spared, NULL, 0), 1, 0.01);
	CHECK_REAL(sn_worker_time_saved(&time, time.least_pace, spared, NULL, 0), 0.5, 0.01);
	sn_worker_time_free(&time);
	free(spared);
	fixture_end(&f);
}

/* Two workers of 1 s each behind one lock: what one works the other spins. */
TEST(workers_that_take_turns_wait_the_less_the_less_there_is_to_do)
{
	struct sn_worker_time time;
	struct fixture f;
	double *spared;

	fixture_begin(&f);
	fixture_add_thread(&f, 0, 101, "other");
	for (uint32_t t = 0; t < 2; t++) {
		fixture_samples(&f, t, fixture_stack(&f, 0, 1, APP, MAIN_INNER), 1000, 1000);
		fixture_samples(&f, t, fixture_stack(&f, 0, 2, LIBGOMP, BARRIER_SPIN, APP, MAIN),
				1000, 1000);
		f.experiment->threads.items[t].end_ns = 2000000000;
	}
	f.experiment->elapsed_ns = 2000000000;
	fixture_profile(&f, NULL);
	spared = spare(&f, "app.c:12-15", 0.5);
	sn_worker_time_fill(&time, f.profile, NULL, 0, 2, 1);
	CHECK_REAL(sn_worker_time_saved(&time, time.pace, spared, NULL, 0), 0.5, 0.01);
	CHECK_REAL(sn_worker_time_saved_in_turns(&time, time.pace, spared), 1, 0.01);
	CHECK_REAL(sn_worker_time_runtime(&time, time.pace), 1, 0.01);
	CHECK_REAL(sn_worker_time_balance(&time, time.pace), 0, 0.01);
	sn_worker_time_free(&time);
	free(spared);
	fixture_end(&f);
}

/* One that spins less has more useful time: without the lock it is the other one that is shorter. */
TEST(without_the_runtimes_the_longest_worker_is_shorter)
{
	struct sn_worker_time time;
	struct fixture f;

	fixture_begin(&f);
	fixture_add_thread(&f, 0, 101, "other");
	for (uint32_t t = 0; t < 2; t++) {
		fixture_samples(&f, t, fixture_stack(&f, 0, 1, APP, MAIN_INNER), t ? 1000 : 1100,
				1000);
		fixture_samples(&f, t, fixture_stack(&f, 0, 2, LIBGOMP, BARRIER_SPIN, APP, MAIN),
				t ? 1000 : 100, 1000);
		f.experiment->threads.items[t].end_ns = 2000000000;
	}
	f.experiment->elapsed_ns = 2000000000;
	fixture_profile(&f, NULL);
	sn_worker_time_fill(&time, f.profile, NULL, 0, 2, 1);
	CHECK_REAL(sn_worker_time_runtime(&time, time.pace), 0.9, 0.01);
	sn_worker_time_free(&time);
	fixture_end(&f);
}
