#include "campaign/facts.h"

#include <string.h>

#include "harness/tap.h"

/* A process of two threads that are there for two seconds: each ran for one, and waited so long. */
static struct sn_run_facts facts_of(int64_t wait_cpu_ns)
{
	struct sn_experiment e = { .elapsed_ns = 2000000000 };
	struct sn_process process = { .pid = 7, .rank = -1 };
	struct sn_thread thread = { .end_ns = 2000000000 };
	struct sn_run_facts facts;

	thread.account =
		(struct sn_time_account){ .user_ns = 1000000000, .wait_cpu_ns = wait_cpu_ns };
	sn_vec_push(&e.processes, process);
	for (thread.tid = 7; thread.tid < 9; thread.tid++)
		sn_vec_push(&e.threads, thread);
	facts = sn_run_facts_of(&e);
	sn_vec_free(&e.processes);
	sn_vec_free(&e.threads);
	return facts;
}

/* Their CPU times fit into the elapsed time in both cases. */
TEST(threads_that_wait_for_a_cpu_at_once_do_not_take_turns)
{
	CHECK_INT(facts_of(1000000000).threads_least, 2);
	CHECK_INT(facts_of(0).threads_least, 1);
	CHECK_INT(facts_of(-1).threads_least, 1);
	CHECK_INT(facts_of(-1).threads_most, 2);
	CHECK_INT(facts_of(-1).ranks, 1);
}

/* Four threads that worked where two were asked for: a fault, unless two of them are known to be helpers. */
TEST(helpers_may_work_besides_the_threads_asked_for)
{
	struct sn_run_facts facts = { .ranks = 1, .threads_least = 4, .threads_most = 4 };
	struct sn_text reason = { 0 };

	CHECK(!sn_run_is_as_asked(&facts, 1, 2, 0, &reason));
	CHECK(strstr(reason.chars, "helper_threads = 2") != NULL);
	CHECK(!sn_run_is_as_asked(&facts, 1, 2, 1, &reason));
	CHECK(sn_run_is_as_asked(&facts, 1, 2, 2, &reason));
	CHECK(!sn_run_is_as_asked(&facts, 1, 5, 2, &reason)); /* they stand in for none */
	sn_text_free(&reason);
}
