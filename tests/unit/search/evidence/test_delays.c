/* Whose fault waiting for a CPU is, of threads whose truth is known (profile/fixture.h). */
#include "search/evidence/delays.h"

#include <stdlib.h>

#include "harness/tap.h"
#include "profile/fixture.h"

enum { MS = 1000, SAMPLES = 1000 }; /* MS of microseconds */

struct scene {
	struct fixture f;
	struct sn_structures *structures;
	struct sn_recorded *r;
};

/* A thread that wants a CPU for so many times the second that it gets, on one of two CPUs. */
static void thread_wants(struct scene *s, uint32_t thread, int times, uint16_t cpu)
{
	struct sn_experiment *e = s->f.experiment;
	size_t first = e->samples.count;

	fixture_samples(&s->f, thread, fixture_stack(&s->f, 0, 2, APP, LEAF, APP, MAIN), SAMPLES,
			1 * MS);
	for (size_t i = first; i < e->samples.count; i++) {
		e->samples.items[i].time_ns *= times;
		e->samples.items[i].cpu = cpu;
	}
	e->threads.items[thread].account.wait_cpu_ns = (int64_t)(times - 1) * 1000000000;
}

static void scene_begin(struct scene *s, unsigned threads)
{
	fixture_begin(&s->f);
	for (unsigned i = 1; i < threads; i++)
		fixture_add_thread(&s->f, 0, 100 + (int32_t)i, "t");
}

static double *scene_own(struct scene *s)
{
	fixture_profile(&s->f, NULL);
	s->structures = sn_structures_new(s->f.experiment);
	s->r = sn_recorded_new(s->f.profile, s->structures, NULL);
	return sn_delays_own_of_threads(s->r);
}

static void scene_end(struct scene *s, double *own_s)
{
	free(own_s);
	sn_recorded_free(s->r);
	sn_structures_free(s->structures);
	fixture_end(&s->f);
}

TEST(a_thread_that_is_alone_waits_for_other_work)
{
	struct scene s;
	double *own_s;

	scene_begin(&s, 1);
	thread_wants(&s, 0, 3, 0);
	own_s = scene_own(&s);
	REQUIRE(own_s);
	CHECK_REAL(own_s[0], 0, 1e-9);
	scene_end(&s, own_s);
}

/* Four threads that always want one of two CPUs: two of them have none at any time. */
TEST(more_threads_than_cpus_wait_for_each_other)
{
	struct scene s;
	double *own_s;

	scene_begin(&s, 4);
	for (uint32_t t = 0; t < 4; t++)
		thread_wants(&s, t, 2, (uint16_t)(t % 2));
	own_s = scene_own(&s);
	REQUIRE(own_s);
	for (uint32_t t = 0; t < 4; t++)
		CHECK_REAL(own_s[t], 1, 0.01);
	scene_end(&s, own_s);
}

/* The same beside other work that takes half of both CPUs: of three that wait at any time, two wait for each other. */
TEST(what_other_work_takes_is_told_apart)
{
	struct scene s;
	double *own_s, sum_s = 0;

	scene_begin(&s, 4);
	for (uint32_t t = 0; t < 4; t++)
		thread_wants(&s, t, 4, (uint16_t)(t % 2));
	own_s = scene_own(&s);
	REQUIRE(own_s);
	for (uint32_t t = 0; t < 4; t++)
		sum_s += own_s[t];
	CHECK_REAL(sum_s, 8, 0.1); /* of 12 s */
	scene_end(&s, own_s);
}

/* A CPU where a thread was for a moment, before it was bound to another one. */
TEST(a_cpu_of_a_moment_is_none)
{
	struct scene s;
	double *own_s;

	scene_begin(&s, 2);
	for (uint32_t t = 0; t < 2; t++)
		thread_wants(&s, t, 2, 0);
	s.f.experiment->samples.items[0].cpu = 1;
	own_s = scene_own(&s);
	REQUIRE(own_s);
	CHECK_REAL(own_s[0] + own_s[1], 2, 0.01);
	scene_end(&s, own_s);
}

TEST(without_samples_nothing_is_known)
{
	struct scene s;
	double *own_s;

	scene_begin(&s, 1);
	own_s = scene_own(&s);
	CHECK(!own_s);
	scene_end(&s, own_s);
}
