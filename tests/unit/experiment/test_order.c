/* Processes come by their start, and behind who started them. */
#include "experiment/order.h"

#include "harness/tap.h"

enum { MS = 1000000 };

static void process_add(struct sn_experiment *e, int32_t pid, int32_t parent_pid, uint32_t sequence,
			int64_t start_ns, int64_t started_by_ns)
{
	struct sn_process p = { .pid = pid,
				.parent_pid = parent_pid,
				.sequence = sequence,
				.rank = -1,
				.host = "host",
				.start_ns = start_ns,
				.started_by_ns = started_by_ns };

	sn_vec_push(&e->processes, p);
}

/* In one tick, by two readings of the clock: the child's was the smaller one. */
TEST(a_child_begins_behind_its_parent)
{
	struct sn_experiment *e = sn_experiment_new("x");

	process_add(e, 9, 8, 0, 100 * MS - 700, 106 * MS);
	process_add(e, 8, 7, 0, 100 * MS - 500, 105 * MS);
	process_add(e, 7, 1, 0, 100 * MS - 100, 103 * MS);
	sn_processes_order(e);
	CHECK_INT(e->processes.items[0].pid, 7);
	CHECK_INT(e->processes.items[1].pid, 8);
	CHECK_INT(e->processes.items[2].pid, 9);
	for (uint32_t i = 0; i < 3; i++)
		CHECK_INT(e->processes.items[i].index, i);
	CHECK_INT(e->processes.items[0].start_ns, 100 * MS - 100);
	sn_experiment_free(e);
}

/* Of a launcher that is a script first: its later image is known exactly, its child by the tick before. */
TEST(a_child_begins_behind_the_image_that_started_it)
{
	struct sn_experiment *e = sn_experiment_new("x");

	process_add(e, 8, 7, 0, 120 * MS, 129 * MS);
	process_add(e, 7, 1, 1, 126 * MS, 126 * MS);
	process_add(e, 7, 1, 0, 100 * MS, 103 * MS);
	process_add(e, 7, 1, 2, 140 * MS, 140 * MS); /* when the child was at work */
	sn_processes_order(e);
	CHECK(e->processes.items[0].pid == 7 && e->processes.items[0].sequence == 0);
	CHECK(e->processes.items[1].pid == 7 && e->processes.items[1].sequence == 1);
	CHECK_INT(e->processes.items[2].pid, 8);
	CHECK(e->processes.items[3].pid == 7 && e->processes.items[3].sequence == 2);
	sn_experiment_free(e);
}

/* Another host has such a number, too, and so had a process that is long gone; each may be its own parent's number. */
TEST(who_is_no_parent_changes_nothing)
{
	struct sn_experiment *e = sn_experiment_new("x");

	process_add(e, 8, 7, 0, 100 * MS, 101 * MS);
	process_add(e, 7, 1, 0, 100 * MS + 5, 101 * MS);
	e->processes.items[1].host = "other";
	process_add(e, 7, 1, 0, 900 * MS, 900 * MS);
	process_add(e, 5, 5, 0, 90 * MS, 99 * MS);
	sn_processes_order(e);
	CHECK_INT(e->processes.items[0].pid, 5);
	CHECK_INT(e->processes.items[1].pid, 8);
	CHECK_INT(e->processes.items[1].start_ns, 100 * MS);
	sn_experiment_free(e);
}
