/* How many CPUs a part of a run had to work on. */
#include "experiment/cpus.h"

#include "harness/tap.h"

static const uint8_t both[] = { 1, 1 }, first[] = { 1, 0 };

/* Two processes of one thread each, with 100 samples a thread, on the CPUs given. */
static struct sn_experiment *made(uint16_t cpu, uint16_t other)
{
	struct sn_experiment *e = sn_experiment_new("x");

	for (uint32_t thread = 0; thread < 2; thread++) {
		sn_vec_push(&e->processes, (struct sn_process){ .host = "here" });
		sn_vec_push(&e->threads, (struct sn_thread){ .process = thread });
		for (int i = 0; i < 100; i++)
			sn_vec_push(&e->samples, (struct sn_sample){ .thread = thread,
								     .time_ns = i,
								     .cpu = thread ? other : cpu });
	}
	return e;
}

static void allow(struct sn_experiment *e, uint8_t cpus, uint8_t other)
{
	e->threads.items[0].allowed_cpus = cpus;
	e->threads.items[1].allowed_cpus = other;
}

TEST(cpus_are_those_that_were_used)
{
	struct sn_experiment *e = made(3, 5);

	CHECK_INT(sn_experiment_cpus_of(e, both), 2);
	CHECK_INT(sn_experiment_cpus_of(e, first), 1);
	sn_experiment_free(e);
	e = made(3, 3);
	CHECK_INT(sn_experiment_cpus_of(e, both), 1);
	sn_experiment_free(e);
}

TEST(threads_at_work_that_were_allowed_more_had_more)
{
	struct sn_experiment *e = made(3, 3);

	allow(e, 8, 8);
	CHECK_INT(sn_experiment_cpus_of(e, both), 8);
	/* each bound to a CPU of its own */
	allow(e, 1, 1);
	CHECK_INT(sn_experiment_cpus_of(e, both), 1);
	/* one of them bound, or not known: only what was seen is sure */
	allow(e, 8, 1);
	CHECK_INT(sn_experiment_cpus_of(e, both), 1);
	allow(e, 8, 0);
	CHECK_INT(sn_experiment_cpus_of(e, both), 1);
	sn_experiment_free(e);
}

TEST(a_thread_that_only_waits_does_not_count)
{
	struct sn_experiment *e = made(3, 3);

	allow(e, 2, 64);
	CHECK_INT(sn_experiment_cpus_of(e, first), 2);
	e->samples.count = 104; /* the second has four samples of its hundred */
	allow(e, 2, 1);
	CHECK_INT(sn_experiment_cpus_of(e, both), 2);
	sn_experiment_free(e);
}

TEST(all_of_a_run_has_the_cpus_of_its_hosts)
{
	struct sn_experiment *e = made(3, 3);

	allow(e, 2, 2); /* both were on one of the two whenever somebody looked */
	CHECK_INT(sn_experiment_cpus(e), 2);
	allow(e, 1, 1);
	CHECK_INT(sn_experiment_cpus(e), 1);
	e->processes.items[1].host = "there";
	CHECK_INT(sn_experiment_cpus(e), 2);
	allow(e, 4, 2);
	CHECK_INT(sn_experiment_cpus(e), 6);
	e->samples.count = 0;
	CHECK_INT(sn_experiment_cpus(e), 1);
	sn_experiment_free(e);
}
