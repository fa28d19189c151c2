/*
 * Which part of a region's time lies inside which others. A function that several call is inside each of
 * them in part: stacks tell how much, by CPU time for what samples alone give, by blocked time for what
 * blocked calls give, else by both; and of active waits and MPI by the stacks that are in it, as one
 * caller may wait in a function that another one works in. Tables alone have no stacks: there regions
 * hang on their parents.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "search/engine/parts.h"

/* Which stacks a property's loss is of. */
enum group { ANY, SPINNING, IN_MPI, GROUPS };

struct grouped {
	struct sn_stack_time of[GROUPS];
};

struct sn_nesting {
	const struct sn_search *search;
	struct sn_map asked; /* regions that findings are at */
	struct sn_map
		pairs; /* outer << 32 | inner -> place in `times`; both the same: all of the region's */
	SN_VEC(struct grouped) times;
};

static uint64_t pair_of(uint32_t outer, uint32_t inner)
{
	return (uint64_t)outer << 32 | inner;
}

static void time_add(struct sn_nesting *n, uint32_t outer, uint32_t inner, enum group group,
		     const struct sn_stack_time *time)
{
	bool is_new;
	uint64_t *place = sn_map_put(&n->pairs, pair_of(outer, inner), &is_new);
	struct grouped *times;

	if (is_new) {
		*place = n->times.count;
		sn_vec_push(&n->times, (struct grouped){ 0 });
	}
	times = &n->times.items[*place];
	for (int g = 0; g < GROUPS; g++)
		if (g == ANY || g == (int)group) {
			times->of[g].cpu_ns += time->cpu_ns;
			times->of[g].blocked_ns += time->blocked_ns;
		}
}

static enum group group_of_activity(uint8_t activity)
{
	return activity == SN_ACTIVITY_SPIN	     ? SPINNING
	       : activity >= SN_ACTIVITY_MPI_BARRIER ? IN_MPI
						     : ANY;
}

static void stack_add(struct sn_nesting *n, const struct sn_recorded *r, uint32_t stack)
{
	const struct sn_stack_facts *facts = &r->stacks[stack];
	const uint32_t *regions = &r->stack_regions.items[facts->first];
	const struct sn_stack_time *time = &r->stack_times[stack];

	if (!time->cpu_ns && !time->blocked_ns)
		return;
	for (uint32_t i = 0; i < facts->count; i++)
		for (uint32_t k = 0; k <= i && sn_map_get(&n->asked, regions[i]); k++)
			if (sn_map_get(&n->asked, regions[k]))
				time_add(n, regions[k], regions[i],
					 group_of_activity(facts->activity), time);
}

static void recorded_add(struct sn_nesting *n, const struct sn_recorded *r)
{
	if (!r->stack_times)
		return;
	for (uint32_t stack = 0; stack <= r->profile->program->stack_count; stack++)
		stack_add(n, r, stack);
}

struct sn_nesting *sn_nesting_new(const struct sn_search *s)
{
	struct sn_nesting *n = sn_alloc_zeroed(1, sizeof(*n));

	n->search = s;
	for (size_t i = 0; i < s->findings.count; i++)
		if (s->findings.items[i].what.region != SN_ALL)
			sn_map_put(&n->asked, s->findings.items[i].what.region, NULL);
	for (size_t i = 0; i < s->findings.count; i++) {
		const struct sn_recorded *r = s->findings.items[i].recorded;
		bool is_known = false;

		for (size_t k = 0; k < i && !is_known; k++)
			is_known = s->findings.items[k].recorded == r;
		if (!is_known)
			recorded_add(n, r);
	}
	return n;
}

void sn_nesting_free(struct sn_nesting *n)
{
	sn_map_free(&n->asked);
	sn_map_free(&n->pairs);
	sn_vec_free(&n->times);
	free(n);
}

/* Which times a property's loss is of. */
struct kinds {
	bool has_cpu, has_blocked;
	enum group group;
};

static struct kinds kinds_of(const struct sn_property *property)
{
	struct kinds kinds = { 0 };

	for (size_t i = 0; i < property->requests.count; i++) {
		const struct sn_metric *metric = property->requests.items[i].metric;
		bool has_waits = false, has_samples = false;

		if (!strcmp(metric->name, "spin"))
			kinds.group = SPINNING;
		else if (!strncmp(metric->name, "mpi_", strlen("mpi_")))
			kinds.group = IN_MPI;
		for (size_t k = 0; k < metric->needs.count; k++) {
			has_waits |= !strcmp(metric->needs.items[k], "waits");
			has_samples |= !strcmp(metric->needs.items[k], "samples");
		}
		kinds.has_blocked |= has_waits || metric->needs.count > 1;
		kinds.has_cpu |= has_samples;
	}
	if (!kinds.has_cpu && !kinds.has_blocked)
		kinds.has_cpu = kinds.has_blocked = true;
	return kinds;
}

static double time_of(const struct sn_nesting *n, struct kinds kinds, uint32_t outer,
		      uint32_t inner)
{
	const uint64_t *place = sn_map_get(&n->pairs, pair_of(outer, inner));
	const struct sn_stack_time *time = place ? &n->times.items[*place].of[kinds.group] : NULL;

	return time ? (kinds.has_cpu ? (double)time->cpu_ns : 0) +
			       (kinds.has_blocked ? (double)time->blocked_ns : 0)
		    : 0;
}

static bool is_on_path(const struct sn_search *s, uint32_t outer, uint32_t inner)
{
	size_t count;
	uint32_t *path = sn_search_path(s, inner, &count);
	bool found = false;

	for (size_t i = 0; i < count && !found; i++)
		found = path[i] == outer;
	free(path);
	return found;
}

double sn_nesting_share(const struct sn_nesting *n, const struct sn_property *property,
			uint32_t outer, uint32_t inner)
{
	struct kinds kinds = kinds_of(property);
	double all, inside;

	if (outer == SN_ALL || outer == inner)
		return 1;
	if (inner == SN_ALL)
		return 0;
	all = time_of(n, kinds, inner, inner);
	if (!(all > 0) && kinds.group != ANY) { /* a trace has what no sample met */
		kinds.group = ANY;
		all = time_of(n, kinds, inner, inner);
	}
	if (!(all > 0)) /* on no stack: by the way that is known */
		return is_on_path(n->search, outer, inner);
	inside = time_of(n, kinds, outer, inner);
	/* of functions that call each other the one that is more often outside */
	return inside > time_of(n, kinds, inner, outer) ? inside / all : 0;
}
