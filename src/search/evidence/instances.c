/*
 * Evidence from loops that run as copies which count themselves (sonde vprof): how often each thread entered a loop, and how many
 * iterations that were. Both are exact. They are of the loop itself, and not of what it holds or calls.
 */
#include <math.h>

#include "profile/companions.h"
#include "profile/instances.h"
#include "search/evidence/sources.h"

enum { INSTANCES, ITERATIONS, DIVISOR, COLUMNS };

static const char *const given[] = { [INSTANCES] = "instances",
				     [ITERATIONS] = "iterations",
				     [DIVISOR] = "trips_divisor",
				     [COLUMNS] = NULL };
static const char *const counts[] = { "instances", "iterations", NULL };

/* No vector has more elements. */
enum { DIVISOR_MOST = 64 };

/* Of what was kept of the timed instances, all over the run; 1 where nothing is known of them. */
static uint64_t divisor_of(const struct sn_instances *loop)
{
	uint64_t bits = 0;

	if (!sn_instances_have_iterations(&loop->all))
		return 1;
	for (size_t i = 0; i < loop->all.kept_count; i++)
		bits |= loop->all.kept[i].timing.iterations;
	return bits ? (bits & -bits) < DIVISOR_MOST ? bits & -bits : DIVISOR_MOST : 1;
}

static void value_add(struct sn_recorded *r, int column, uint32_t region, uint32_t thread,
		      double number)
{
	struct sn_value value = { .column = sn_tables_column(r->tables, given[column], NULL),
				  .value = number,
				  .samples = NAN,
				  .error = 0, /* exact */
				  .source = sn_tables_source(r->tables, "instances") };

	for (int k = 0; k < SN_KEYS; k++)
		value.keys[k] = SN_ALL;
	value.keys[SN_KEY_REGION] = region;
	if (thread != SN_NONE) {
		if (r->thread_members[thread] == SN_ALL)
			return;
		value.keys[SN_KEY_THREAD] = r->thread_members[thread];
		value.keys[SN_KEY_PROCESS] =
			r->process_members[r->profile->experiment->threads.items[thread].process];
	}
	sn_tables_add(r->tables, &value);
}

/* Of the versions of a loop the main one; SN_ALL: another one, or it is no region. */
static uint32_t region_of(const struct sn_recorded *r, const struct sn_instances *loop)
{
	const struct sn_loop *code = r->profile->program->loops.items[loop->loop].code;

	return loop->instances && loop->has_iterations && sn_loop_main(code) == code
		       ? sn_recorded_loop_region(r, loop->loop)
		       : SN_ALL;
}

static void counts_add(struct sn_recorded *r)
{
	struct sn_instances_list list = { 0 };

	sn_instances_find_by_thread(r->profile, &list);
	for (size_t i = 0; i < list.count; i++) {
		const struct sn_instances *loop = &list.items[i];
		uint32_t region = region_of(r, loop);
		/* threads of another run are not this one's */
		uint32_t thread = list.counted == r->profile ? loop->thread : SN_NONE;

		if (region == SN_ALL)
			continue;
		value_add(r, INSTANCES, region, thread, (double)loop->instances);
		value_add(r, ITERATIONS, region, thread, (double)loop->iterations);
	}
	sn_instances_free(&list);
}

static void divisors_add(struct sn_recorded *r)
{
	struct sn_instances_list list = { 0 };

	sn_instances_find(r->profile, &list);
	for (size_t i = 0; i < list.count; i++) {
		uint32_t region = region_of(r, &list.items[i]);

		if (region != SN_ALL)
			value_add(r, DIVISOR, region, SN_NONE, (double)divisor_of(&list.items[i]));
	}
	sn_instances_free(&list);
}

static void instances_collect(struct sn_recorded *r)
{
	if (r->part || !sn_profile_with_instances(r->profile)->experiment->instances.count)
		return;
	counts_add(r);
	divisors_add(r);
}

const struct sn_source sn_source_instances = {
	.name = "instances",
	.measures =
		"how often each thread enters a loop, and how many iterations that are, exactly",
	.needs = "a run of sonde vprof",
	.none = "no hot loop of this program can give",
	.costs =
		"some cycles for each time that a loop is entered, and 1 % of its time for timings",
	.option = "vprof",
	.gives = given,
	.counts = counts,
	.has_counts = true,
	.is_wanted = true,
	.collect = instances_collect,
};
