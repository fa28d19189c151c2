#include "profile/workers.h"

#include "fixture.h"
#include "harness/tap.h"

static void live(struct fixture *f, uint32_t thread, int64_t start_ns, int64_t end_ns)
{
	f->experiment->threads.items[thread].start_ns = start_ns;
	f->experiment->threads.items[thread].end_ns = end_ns;
}

TEST(threads_in_turn_are_one_worker)
{
	struct fixture f;
	uint32_t worker_of[4];

	fixture_begin(&f);
	live(&f, 0, 0, 100);
	live(&f, fixture_add_thread(&f, 0, 101, "a"), 10, 20);
	live(&f, fixture_add_thread(&f, 0, 102, "b"), 20, 90);
	live(&f, fixture_add_thread(&f, 0, 103, "c"), 30, 90);
	CHECK_INT(sn_workers_assign(f.experiment, worker_of), 3);
	CHECK_INT(worker_of[0], 0);
	CHECK_INT(worker_of[1], 1);
	CHECK_INT(worker_of[2], 1);
	CHECK_INT(worker_of[3], 2);
	fixture_profile(&f, NULL);
	fixture_end(&f);
}

static void work(struct fixture *f, uint32_t thread, int64_t from_ms, int64_t to_ms)
{
	for (int64_t at = from_ms; at < to_ms; at++)
		sn_vec_push(&f->experiment->samples, ((struct sn_sample){ .time_ns = at * 1000000,
									  .cpu_ns = 1000000,
									  .thread = thread }));
}

/* The first thread works before and after its pool; the third works all the time. */
TEST(workers_that_never_ran_at_once_take_turns)
{
	struct fixture f;
	uint32_t worker_of[3] = { 0, 1, 2 };

	fixture_begin(&f);
	fixture_add_thread(&f, 0, 101, "a");
	fixture_add_thread(&f, 0, 102, "b");
	f.experiment->elapsed_ns = 1000000000;
	work(&f, 0, 0, 300);
	work(&f, 1, 300, 700);
	work(&f, 0, 700, 1000);
	work(&f, 2, 0, 1000);
	/* with room for all nobody shares */
	CHECK_INT(sn_workers_take_turns(f.experiment, 3, 3, worker_of), 3);
	CHECK_INT(worker_of[2], 2);
	CHECK_INT(sn_workers_take_turns(f.experiment, 3, 2, worker_of), 2);
	CHECK_INT(worker_of[0], 0);
	CHECK_INT(worker_of[1], 0);
	CHECK_INT(worker_of[2], 1);
	/* those that ran at once stay two, whatever was asked */
	CHECK_INT(sn_workers_take_turns(f.experiment, 2, 1, worker_of), 2);
	f.experiment->samples.count = 0; /* they have no stack to resolve */
	fixture_profile(&f, NULL);
	fixture_end(&f);
}

TEST(who_only_waits_is_not_at_work)
{
	struct fixture f;
	uint32_t worker_of[3];
	uint8_t at_work[3];

	fixture_begin(&f);
	fixture_add_thread(&f, 0, 101, "a");
	fixture_add_thread(&f, 0, 102, "b");
	for (uint32_t t = 0; t < 3; t++)
		live(&f, t, 0, 100);
	fixture_profile(&f, NULL);
	CHECK_INT(sn_workers_assign(f.experiment, worker_of), 3);
	CHECK_INT(sn_workers_at_work(f.profile, worker_of, 3, (double[]){ 0.005, 1, 0.4 }, at_work),
		  2);
	CHECK(!at_work[0] && at_work[1] && at_work[2]);
	/* a first thread with work counts as any */
	CHECK_INT(sn_workers_at_work(f.profile, worker_of, 3, (double[]){ 0.02, 1, 0.4 }, at_work),
		  3);
	fixture_end(&f);
}

/* The first thread works 3 ms before its pool, 1 ms while the pool works, and 2 ms after it. */
TEST(what_a_first_thread_does_without_its_pool_is_no_part_of_the_balance)
{
	struct fixture f;
	uint32_t worker_of[3];
	uint8_t at_work[3];

	fixture_begin(&f);
	fixture_stack(&f, 0, 1, APP, MAIN);
	live(&f, 0, 0, 100000000);
	live(&f, fixture_add_thread(&f, 0, 101, "a"), 3000000, 63000000);
	live(&f, fixture_add_thread(&f, 0, 102, "b"), 4000000, 60000000);
	work(&f, 0, 0, 4);
	work(&f, 0, 65, 67);
	work(&f, 1, 3, 63);
	work(&f, 2, 4, 60);
	fixture_profile(&f, NULL);
	CHECK_INT(sn_workers_assign(f.experiment, worker_of), 3);
	CHECK_INT(sn_workers_at_work(f.profile, worker_of, 3, (double[]){ 0.006, 0.06, 0.056 },
				     at_work),
		  2);
	CHECK(!at_work[0] && at_work[1] && at_work[2]);
	fixture_end(&f);
}

/* Three ranks of two threads each: the second rank does nothing, the others' first threads wait. */
TEST(a_rank_that_does_nothing_is_out_of_balance)
{
	struct fixture f;
	uint32_t worker_of[6];
	uint8_t at_work[6];

	fixture_begin(&f);
	fixture_add_process(&f, 200);
	fixture_add_process(&f, 300);
	for (int32_t p = 0; p < 3; p++)
		f.experiment->processes.items[p].rank = p;
	while (f.experiment->threads.count > 0)
		f.experiment->threads.count--;
	for (uint32_t t = 0; t < 6; t++)
		live(&f, fixture_add_thread(&f, t / 2, (int32_t)(100 + t), "t"), 0, 100);
	fixture_profile(&f, NULL);
	CHECK_INT(sn_workers_assign(f.experiment, worker_of), 6);
	CHECK_INT(sn_workers_at_work(f.profile, worker_of, 6, (double[]){ 0, 1, 0, 0, 0, 2 },
				     at_work),
		  3);
	CHECK(!at_work[0] && at_work[1] && at_work[2] && !at_work[3] && !at_work[4] && at_work[5]);
	fixture_end(&f);
}
