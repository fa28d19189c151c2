#include "profile/process_tree.h"

#include "harness/tap.h"

enum { COUNT = 7 };

TEST(processes_stand_below_those_that_started_them)
{
	static const struct {
		int32_t pid, parent;
		const char *host;
	} rows[COUNT] = {
		{ 10, 1, "a" },	 /* 0: a shell */
		{ 11, 10, "a" }, /* 1: make */
		{ 12, 11, "a" }, /* 2: cc, below make */
		{ 13, 10, "a" }, /* 3: the shell's second child */
		{ 14, 12, "a" }, /* 4: as, below cc */
		{ 12, 11, "a" }, /* 5: what cc becomes by exec */
		{ 15, 10, "b" }, /* 6: on another host the shell is no parent */
	};
	static const struct sn_process_place wanted[COUNT] = { { 0, 0 }, { 1, 1 }, { 2, 2 },
							       { 4, 3 }, { 5, 2 }, { 3, 1 },
							       { 6, 0 } };
	struct sn_process processes[COUNT] = { 0 };
	struct sn_experiment experiment = { .processes = { .items = processes, .count = COUNT } };
	struct sn_process_place places[COUNT];

	for (int i = 0; i < COUNT; i++) {
		processes[i].pid = rows[i].pid;
		processes[i].parent_pid = rows[i].parent;
		processes[i].host = rows[i].host;
	}
	sn_process_tree(&experiment, places);
	for (int i = 0; i < COUNT; i++) {
		CHECK_INT(places[i].process, wanted[i].process);
		CHECK_INT(places[i].depth, wanted[i].depth);
	}
}

/* A damaged file may have any pid as a parent, its own too. */
TEST(no_pids_make_a_circle)
{
	struct sn_process processes[3] = { { .pid = 5, .parent_pid = 5, .host = "" },
					   { .pid = 6, .parent_pid = 7, .host = "" },
					   { .pid = 7, .parent_pid = 6, .host = "" } };
	struct sn_experiment experiment = { .processes = { .items = processes, .count = 3 } };
	struct sn_process_place places[3];

	sn_process_tree(&experiment, places);
	CHECK_INT(places[0].depth, 0);
	CHECK_INT(places[1].depth, 0);
	CHECK_INT(places[2].process, 2);
	CHECK_INT(places[2].depth, 1);
	experiment.processes.count = 0;
	sn_process_tree(&experiment, places);
}
