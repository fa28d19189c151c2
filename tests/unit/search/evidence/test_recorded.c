/* Regions, threads in scope and sums of a run whose truth is known (profile/fixture.h). */
#include "search/evidence/recorded.h"

#include <math.h>
#include <string.h>

#include "harness/tap.h"
#include "profile/fixture.h"
#include "search/evidence/sources.h"

struct scene {
	struct fixture f;
	struct sn_structures *structures;
	struct sn_recorded *r;
};

static void scene_read(struct scene *s)
{
	fixture_profile(&s->f, NULL);
	s->structures = sn_structures_new(s->f.experiment);
	s->r = sn_recorded_new(s->f.profile, s->structures, NULL);
}

static void scene_end(struct scene *s)
{
	sn_recorded_free(s->r);
	sn_structures_free(s->structures);
	fixture_end(&s->f);
}

static const struct sn_member *region(const struct scene *s, uint32_t index)
{
	REQUIRE(index < s->r->tables->members[SN_KEY_REGION].count);
	return &s->r->tables->members[SN_KEY_REGION].items[index];
}

/* The region of this kind and name; there is one. */
static uint32_t region_find(const struct scene *s, const char *kind, const char *name)
{
	uint32_t found = SN_ALL, count = 0;

	for (uint32_t i = 0; i < s->r->tables->members[SN_KEY_REGION].count; i++)
		if (!strcmp(region(s, i)->kind, kind) && !strcmp(region(s, i)->name, name)) {
			found = i;
			count++;
		}
	CHECK_INT(count, 1);
	REQUIRE(found != SN_ALL);
	return found;
}

static uint64_t edge_ns(const struct sn_recorded *r, uint32_t from, uint32_t to)
{
	for (size_t i = 0; i < r->edges.count; i++)
		if (r->edges.items[i].from == from && r->edges.items[i].to == to)
			return r->edges.items[i].ns;
	return 0;
}

enum { MS = 1000000 };

/* main calls leaf from its outer loop; leaf's loop has a tail, which is the same source loop. */
TEST(time_lies_in_its_region_and_in_those_around_it)
{
	struct scene s;
	uint32_t main_region, outer, leaf, leaf_loop;

	fixture_begin(&s.f);
	fixture_samples(&s.f, 0, fixture_stack(&s.f, 0, 2, APP, LEAF_MAIN_LOOP, APP, MAIN_OUTER),
			30, 1000);
	fixture_samples(&s.f, 0, fixture_stack(&s.f, 0, 2, APP, LEAF_TAIL_LOOP, APP, MAIN_OUTER),
			10, 1000);
	fixture_samples(&s.f, 0, fixture_stack(&s.f, 0, 1, APP, MAIN), 5, 1000);
	scene_read(&s);
	CHECK_STRING(region(&s, SN_REGION_PROGRAM)->kind, "program");
	CHECK_STRING(region(&s, SN_REGION_PROGRAM)->name, "app");
	main_region = region_find(&s, "function", "main");
	outer = region_find(&s, "loop", "app.c:10-20");
	leaf = region_find(&s, "function", "leaf");
	leaf_loop = region_find(&s, "loop", "leaf.c:5-9");
	CHECK_INT(s.r->tables->members[SN_KEY_REGION].count, 5);
	CHECK_INT(s.r->region_ns[SN_REGION_PROGRAM], 45 * MS);
	CHECK_INT(s.r->region_ns[main_region], 45 * MS);
	CHECK_INT(s.r->region_ns[outer], 40 * MS);
	CHECK_INT(s.r->region_ns[leaf], 40 * MS);
	CHECK_INT(s.r->region_ns[leaf_loop], 40 * MS);
	CHECK_INT(edge_ns(s.r, outer, leaf), 40 * MS);
	CHECK_INT(edge_ns(s.r, main_region, leaf), 0);
	CHECK_INT(s.r->main_parents[leaf_loop], leaf);
	CHECK_INT(s.r->main_parents[leaf], outer);
	CHECK_INT(s.r->main_parents[main_region], SN_REGION_PROGRAM);
	CHECK_INT(s.r->main_parents[SN_REGION_PROGRAM], SN_ALL);
	CHECK_INT(region(&s, leaf_loop)->parent, leaf);
	CHECK_INT(region(&s, leaf_loop)->line_first, 5);
	CHECK_INT(s.r->region_functions[leaf], fixture_function(&s.f, "leaf"));
	CHECK_INT(s.r->region_loops[leaf], SN_NONE);
	scene_end(&s);
}

/* A runtime has no region: its time belongs to whoever called it, and says what it was. */
TEST(a_barrier_is_time_of_the_region_that_calls_it)
{
	struct scene s;
	uint32_t stack;

	fixture_begin(&s.f);
	stack = fixture_stack(&s.f, 0, 2, LIBGOMP, BARRIER, APP, MAIN_OUTER);
	fixture_samples(&s.f, 0, stack, 20, 1000);
	fixture_samples(&s.f, 0, fixture_stack(&s.f, 0, 1, APP, MAIN), 5, 1000);
	scene_read(&s);
	CHECK_INT(s.r->stacks[stack].activity, SN_ACTIVITY_OMP_BARRIER);
	CHECK_INT(s.r->stacks[stack].leaf, region_find(&s, "loop", "app.c:10-20"));
	CHECK_INT(s.r->stacks[stack].parallel, SN_ALL);
	CHECK_INT(s.r->region_ns[s.r->stacks[stack].leaf], 20 * MS);
	CHECK_INT(s.r->tables->members[SN_KEY_REGION].count, 3);
	CHECK_INT(s.r->teams[0], 1);
	scene_end(&s);
}

/* A recursion is in its region once. */
TEST(a_recursion_counts_once)
{
	struct scene s;
	uint32_t fib, stack;

	fixture_begin(&s.f);
	stack = fixture_stack(&s.f, 0, 4, APP, FIB, APP, FIB, APP, FIB, APP, MAIN);
	fixture_samples(&s.f, 0, stack, 7, 1000);
	scene_read(&s);
	fib = region_find(&s, "function", "fib");
	CHECK_INT(s.r->stacks[stack].count, 3); /* the program, main, fib */
	CHECK_INT(s.r->region_ns[fib], 7 * MS);
	CHECK_INT(edge_ns(s.r, fib, fib), 0);
	scene_end(&s);
}

/* A thread that hardly worked is a helper, a process that hardly worked a starter: neither counts. */
TEST(helpers_and_starters_are_out_of_scope)
{
	struct scene s;
	uint32_t worker, helper, starter, starter_thread, stack;

	fixture_begin(&s.f);
	worker = fixture_add_thread(&s.f, 0, 101, "worker");
	helper = fixture_add_thread(&s.f, 0, 102, "helper");
	starter = fixture_add_process(&s.f, 50);
	starter_thread = fixture_add_thread(&s.f, starter, 50, "mpirun");
	stack = fixture_stack(&s.f, 0, 1, APP, MAIN_OUTER);
	fixture_samples(&s.f, 0, stack, 500, 1000);
	fixture_samples(&s.f, worker, stack, 400, 1000);
	fixture_samples(&s.f, helper, stack, 1, 1000);
	fixture_samples(&s.f, starter_thread, fixture_stack(&s.f, starter, 1, APP, MAIN), 1, 1000);
	scene_read(&s);
	CHECK_INT(s.r->tables->members[SN_KEY_PROCESS].count, 1);
	CHECK_INT(s.r->tables->members[SN_KEY_THREAD].count, 2);
	CHECK(s.r->thread_members[0] != SN_ALL && s.r->thread_members[worker] != SN_ALL);
	CHECK_INT(s.r->thread_members[helper], SN_ALL);
	CHECK_INT(s.r->process_members[starter], SN_ALL);
	CHECK_INT(s.r->cells.count, 2);
	CHECK_INT(s.r->region_ns[SN_REGION_PROGRAM], 900 * (uint64_t)MS);
	CHECK_REAL(s.r->tables->phase_s, 10, 1e-9);
	CHECK(!s.r->has_ranks);
	scene_end(&s);
}

/* Of ranks all that worked count, and what started them does not, whatever it used. */
TEST(ranks_are_the_processes)
{
	struct scene s;
	uint32_t rank, thread;

	fixture_begin(&s.f);
	rank = fixture_add_process(&s.f, 60);
	thread = fixture_add_thread(&s.f, rank, 60, "app");
	s.f.experiment->processes.items[rank].rank = 3;
	fixture_samples(&s.f, 0, fixture_stack(&s.f, 0, 1, APP, MAIN), 50, 1000);
	fixture_samples(&s.f, thread, fixture_stack(&s.f, rank, 1, APP, MAIN), 60, 1000);
	scene_read(&s);
	CHECK(s.r->has_ranks);
	REQUIRE(s.r->tables->members[SN_KEY_PROCESS].count == 1);
	CHECK_STRING(s.r->tables->members[SN_KEY_PROCESS].items[0].name, "3");
	CHECK_INT(s.r->process_members[0], SN_ALL);
	CHECK_INT(s.r->region_ns[SN_REGION_PROGRAM], 60 * MS);
	scene_end(&s);
}

/* Blocked time is in the region that waited. */
TEST(waits_are_time_of_their_region)
{
	struct scene s;
	uint32_t stack, main_region;

	fixture_begin(&s.f);
	stack = fixture_stack(&s.f, 0, 2, LIBC, WRITE, APP, MAIN);
	fixture_samples(&s.f, 0, fixture_stack(&s.f, 0, 1, APP, MAIN), 10, 1000);
	fixture_wait(&s.f, 0, stack, 20000, 4000, SN_WAIT_IO);
	scene_read(&s);
	main_region = region_find(&s, "function", "main");
	CHECK_INT(s.r->region_ns[main_region], 14 * MS);
	CHECK_INT(s.r->region_ns[region_find(&s, "function", "write")], 4 * MS);
	scene_end(&s);
}

/* A team of two: one works for 100 ms and lacks a CPU for as long again, the other waits in a barrier for so many ms meanwhile. The half
 * width of that wait's interval over its value. */
static double team_doubt(unsigned waited_ms, bool lacks)
{
	struct scene s;
	struct sn_experiment *e;
	uint32_t other, column, keys[SN_KEYS];
	const struct sn_sum *sum;
	double doubt;

	fixture_begin(&s.f);
	e = s.f.experiment;
	other = fixture_add_thread(&s.f, 0, 101, "app");
	fixture_samples(&s.f, 0, fixture_stack(&s.f, 0, 2, APP, OMP_BODY, APP, MAIN), 100, 1000);
	for (size_t i = 0; lacks && i < e->samples.count; i++)
		e->samples.items[i].time_ns *= 2;
	e->threads.items[0].account.wait_cpu_ns = lacks ? 100 * MS : 0;
	fixture_samples(&s.f, other,
			fixture_stack(&s.f, 0, 3, LIBGOMP, BARRIER, APP, OMP_BODY, APP, MAIN),
			waited_ms, 1000);
	scene_read(&s);
	for (uint32_t i = 0; sn_sources[i]; i++)
		if (!strcmp(sn_sources[i]->name, "samples"))
			sn_sources[i]->collect(s.r);
	column = sn_tables_column(s.r->tables, "parallel_wait", NULL);
	for (int k = 0; k < SN_KEYS; k++)
		keys[k] = SN_ALL;
	for (uint32_t i = 0; i < s.r->tables->members[SN_KEY_REGION].count; i++)
		if (!strcmp(region(&s, i)->kind, "parallel"))
			keys[SN_KEY_REGION] = i;
	REQUIRE(keys[SN_KEY_REGION] != SN_ALL);
	sum = sn_tables_find(s.r->tables, column, keys, true);
	REQUIRE(sum);
	CHECK_REAL(sum->value, waited_ms / 1e3, 1e-9);
	doubt = sn_sum_relative_error(sum);
	scene_end(&s);
	return doubt;
}

TEST(a_team_may_wait_for_who_has_no_cpu)
{
	const double chance = 1.96 / sqrt(1000); /* of as many samples */

	CHECK_REAL(team_doubt(1000, false), chance, .01);
	CHECK_REAL(team_doubt(1000, true), hypot(chance, .1), .01);
	CHECK(team_doubt(100, true) >= .95);
}
