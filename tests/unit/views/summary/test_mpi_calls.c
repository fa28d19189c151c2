#include "views/summary/summary.h"

#include <string.h>

#include "harness/tap.h"
#include "profile/fixture.h"

/* Ten seconds of one rank: 1 s asleep in MPI_Init, 0.2 s in MPI_Finalize, 3 s of work, and waiting
 * for the other rank. */
static void fill(struct fixture *f, uint32_t *thread)
{
	fixture_begin(f);
	fixture_add_mpi(f);
	*thread = 0;
	fixture_samples(f, 0, fixture_stack(f, 0, 1, APP, LEAF_MAIN_LOOP), 300, 10000);
	fixture_wait(f, 0, fixture_stack(f, 0, 3, LIBC, WRITE, LIBMPI, MPI_INIT, APP, MAIN), 0,
		     1000000, SN_WAIT_CONDITION);
	fixture_wait(f, 0,
		     fixture_stack(f, 0, 3, LIBC, WRITE, LIBMPI, MPI_FINALIZE_TAIL, APP, MAIN),
		     9000000, 200000, SN_WAIT_SLEEP);
}

static const struct sn_finding *finding(const struct sn_summary *s, const char *words)
{
	for (size_t i = 0; i < s->verdict.count; i++)
		if (strstr(s->verdict.findings[i].sentence, words))
			return &s->verdict.findings[i];
	return NULL;
}

/* Sendrecv waits actively for 2.4 s, from two places: none has as much as Recv's 1.3 s asleep. */
TEST(the_call_with_most_of_both_kinds_is_named)
{
	const struct sn_finding *ranks, *start;
	struct sn_summary *s;
	struct fixture f;
	uint32_t thread;

	fill(&f, &thread);
	fixture_samples(&f, thread, fixture_stack(&f, 0, 2, LIBMPI, MPI_SENDRECV, APP, MAIN_INNER),
			120, 10000);
	fixture_samples(&f, thread, fixture_stack(&f, 0, 2, LIBMPI, MPI_SENDRECV, APP, FIB), 120,
			10000);
	fixture_wait(&f, thread, fixture_stack(&f, 0, 3, LIBC, WRITE, LIBMPI, MPI_RECV, APP, LEAF),
		     7000000, 1300000, SN_WAIT_POLL);
	fixture_profile(&f, NULL);
	s = sn_summary_new(f.profile, NULL, NULL);
	ranks = finding(s, "Waiting for other ranks");
	REQUIRE(ranks != NULL);
	CHECK(ranks->seconds > 3.69 && ranks->seconds < 3.71);
	CHECK(strstr(ranks->sentence, "65 % of it in PMPI_Sendrecv") != NULL);
	start = finding(s, "Starting and ending MPI");
	REQUIRE(start != NULL);
	CHECK(start->seconds > 1.19 && start->seconds < 1.21);
	CHECK(strstr(start->sentence, "in PMPI_Init") != NULL);
	sn_summary_free(s);
	fixture_end(&f);
}

/* One rank waits for mpirun's daemon, not for ranks. */
TEST(one_rank_waits_for_no_other)
{
	const struct sn_finding *start;
	struct sn_summary *s;
	struct fixture f;
	uint32_t thread;

	fill(&f, &thread);
	fixture_profile(&f, NULL);
	s = sn_summary_new(f.profile, NULL, NULL);
	CHECK(!finding(s, "other ranks"));
	start = finding(s, "Starting and ending MPI");
	REQUIRE(start != NULL);
	CHECK(!strstr(start->remedy, "ranks' own work"));
	sn_summary_free(s);
	fixture_end(&f);
}

/* Two ranks in 5 s; 1.2 s go to starting and ending MPI, and rank 1 waits for 0.7 s: that comes first, and it is named. */
TEST(waiting_comes_before_the_start_of_a_short_run)
{
	const struct sn_finding *ranks, *start;
	struct sn_summary *s;
	struct fixture f;
	uint32_t thread, other;

	fill(&f, &thread);
	f.experiment->elapsed_ns = 5000000000;
	f.experiment->processes.items[0].rank = 0;
	other = fixture_add_thread(&f, fixture_add_process(&f, 200), 200, "app");
	f.experiment->processes.items[1].rank = 1;
	f.experiment->elapsed_ns = 5000000000;
	fixture_samples(&f, other, fixture_stack(&f, 1, 1, APP, LEAF_MAIN_LOOP), 300, 10000);
	/* MPI loads a part of itself: the loader is within the call */
	fixture_wait(&f, other,
		     fixture_stack(&f, 1, 6, LIBC, WRITE, LIBMPI, MPI_SENDRECV, LIBC, WRITE, LIBMPI,
				   MPI_RECV, APP, LEAF, APP, MAIN),
		     7000000, 700000, SN_WAIT_POLL);
	fixture_profile(&f, NULL);
	s = sn_summary_new(f.profile, NULL, NULL);
	ranks = finding(s, "Waiting for other ranks");
	start = finding(s, "Starting and ending MPI");
	REQUIRE(ranks != NULL && start != NULL);
	CHECK(ranks < start);
	CHECK(ranks->seconds < start->seconds);
	CHECK(strstr(ranks->sentence, "in PMPI_Recv, called by") != NULL);
	CHECK(strstr(ranks->sentence, "rank 1 waits most (0.7 s), rank 0 least (0 s)") != NULL);
	sn_summary_free(s);
	fixture_end(&f);
}
