#include "profile/launchers.h"

#include "harness/tap.h"

enum { MOST = 8 };

struct row {
	const char *program;
	int32_t pid, parent, rank;
	uint64_t cpu_ns;
	enum sn_launching wanted;
};

static void check_rows(const struct row *rows, size_t count)
{
	struct sn_process processes[MOST] = { 0 };
	struct sn_experiment experiment = { .processes = { .items = processes, .count = count } };
	uint64_t cpu_ns[MOST];
	uint8_t launching[MOST];

	for (size_t i = 0; i < count; i++) {
		processes[i] = (struct sn_process){ .pid = rows[i].pid,
						    .parent_pid = rows[i].parent,
						    .rank = rows[i].rank,
						    .start_ns = (int64_t)i,
						    .program = rows[i].program,
						    .host = "a" };
		cpu_ns[i] = rows[i].cpu_ns;
	}
	sn_launchers_find(&experiment, cpu_ns, launching);
	for (size_t i = 0; i < count; i++)
		CHECK_INT(launching[i], rows[i].wanted);
}

TEST(what_stands_above_ranks_launches_them)
{
	static const struct row rows[] = {
		{ "/bin/sh", 10, 1, -1, 1, SN_LAUNCHES_RANKS },
		{ "/usr/bin/anything", 11, 10, -1, 900, SN_LAUNCHES_RANKS }, /* however it works */
		{ "/usr/bin/anything", 12, 11, -1, 0, SN_LAUNCHES_NOTHING }, /* until its exec */
		{ "/app", 12, 11, 0, 100, SN_LAUNCHES_NOTHING },
		{ "/app", 13, 11, 1, 100, SN_LAUNCHES_NOTHING },
		{ "/bin/mv", 14, 13, 1, 50, SN_LAUNCHES_NOTHING },
	};

	check_rows(rows, 6);
}

/* A program that calls MPI_Init without a launcher is a rank itself; what it runs is told that. */
TEST(of_one_rank_its_work_or_its_name_tells)
{
	static const struct row named[] = { { "/usr/bin/mpirun.openmpi", 10, 1, -1, 60,
					      SN_LAUNCHES_RANKS },
					    { "/app", 11, 10, 0, 40, SN_LAUNCHES_NOTHING } };
	static const struct row little[] = { { "/bin/my-own", 10, 1, -1, 60, SN_LAUNCHES_RANKS },
					     { "/app", 11, 10, 0, 4000, SN_LAUNCHES_NOTHING } };
	static const struct row singleton[] = { { "/app", 10, 1, -1, 4000, SN_LAUNCHES_NOTHING },
						{ "/bin/mv", 11, 10, 0, 4, SN_LAUNCHES_NOTHING } };

	check_rows(named, 2);
	check_rows(little, 2);
	check_rows(singleton, 2);
}

/* A proxy that was not measured may stand between. */
TEST(the_first_of_a_run_with_ranks_is_known_by_its_name)
{
	static const struct row rows[] = {
		{ "/usr/bin/mpiexec.hydra", 10, 1, -1, 60, SN_LAUNCHES_RANKS },
		{ "/app", 21, 20, 0, 40, SN_LAUNCHES_NOTHING },
		{ "/app", 22, 20, 1, 40, SN_LAUNCHES_NOTHING },
	};
	static const struct row program[] = {
		{ "/bin/driver", 10, 1, -1, 60, SN_LAUNCHES_NOTHING },
		{ "/app", 21, 20, 0, 40, SN_LAUNCHES_NOTHING },
		{ "/app", 22, 20, 1, 40, SN_LAUNCHES_NOTHING },
	};

	check_rows(rows, 3);
	check_rows(program, 3);
}

TEST(without_ranks_a_tenth_of_the_work_below_tells)
{
	static const struct row rows[] = {
		{ "/bin/sh", 10, 1, -1, 1, SN_LAUNCHES_WORK },
		{ "/usr/bin/make", 11, 10, -1, 9, SN_LAUNCHES_WORK },
		{ "/usr/bin/cc", 12, 11, -1, 60, SN_LAUNCHES_NOTHING }, /* works itself */
		{ "/usr/bin/cc1", 13, 12, -1, 100, SN_LAUNCHES_NOTHING },
	};

	check_rows(rows, 4);
}

/* A damaged file may have any pid as a parent. */
TEST(a_circle_of_parents_ends)
{
	static const struct row rows[] = { { "/a", 6, 7, -1, 1, SN_LAUNCHES_NOTHING },
					   { NULL, 7, 6, 0, 1, SN_LAUNCHES_NOTHING } };
	struct sn_experiment none = { 0 };

	check_rows(rows, 2);
	sn_launchers_find(&none, NULL, NULL);
	CHECK(!sn_launcher_is_of_mpi(NULL));
	CHECK(sn_launcher_is_of_mpi("/opt/bin/mpiexec -n 4"));
	CHECK(!sn_launcher_is_of_mpi("mpi"));
}
