/*
 * Evidence from counters that overflowed (record -e): events of the kernel and the processor at the regions that they
 * met. Software events can be had everywhere; what the processor counts only where it has counters.
 */
#include <math.h>
#include <string.h>

#include "search/evidence/sources.h"

/* Names as `record -e` takes them. */
struct counted {
	const char *event, *metric, *level;
	bool is_time; /* counts of a clock: the metric is in seconds */
};
static const struct counted counted[] = {
	{ "page-faults", "page_faults", NULL, false },
	{ "faults", "page_faults", NULL, false },
	{ "context-switches", "context_switches", NULL, false },
	{ "cs", "context_switches", NULL, false },
	{ "cpu-migrations", "migrations", NULL, false },
	{ "migrations", "migrations", NULL, false },
	{ "stalled-cycles-backend", "stalled", NULL, true },
	{ "dcm", "misses", "L1", false },
	{ "L1-dcache-load-misses", "misses", "L1", false },
	{ "l2m", "misses", "L2", false },
	{ "l3m", "misses", "L3", false },
	{ "LLC-load-misses", "misses", "L3", false },
	{ "tlbm", "misses", "TLB", false },
	{ "dTLB-load-misses", "misses", "TLB", false },
};
static const char *const given[] = { "page_faults", "context_switches", "migrations",
				     "stalled",	    "misses",		NULL };

/* Longer where the run is; and what the program or its data make happen. */
static const char *const times[] = { "stalled", NULL };
static const char *const counts[] = { "page_faults", "context_switches", "migrations", "misses",
				      NULL };
static const char *const of_processor[] = { "stalled", "misses", NULL };

/* NULL: no metric is of this event. */
static const struct counted *counted_of(const char *event)
{
	while (*event == '+') /* with addresses */
		event++;
	for (size_t i = 0; i < sizeof(counted) / sizeof(*counted); i++)
		if (!strcmp(counted[i].event, event))
			return &counted[i];
	return NULL;
}

/* Cycles a second, as an event of cycles has it; 0: unknown. */
static double clock_hz(const struct sn_experiment *e)
{
	for (size_t i = 0; i < e->events.count; i++)
		if (e->events.items[i].hz > 0 && strstr(e->events.items[i].name, "cycles"))
			return (double)e->events.items[i].hz;
	return 0;
}

static void count_add(struct sn_recorded *r, uint32_t column, uint32_t source,
		      const struct sn_event_count *count, double value, bool is_exact)
{
	const struct sn_stack_facts *facts =
		count->stack < r->profile->program->stack_count ? &r->stacks[count->stack] : NULL;
	double samples = is_exact ? NAN : 1, error = is_exact ? 0 : NAN;

	sn_recorded_add(r, column, source, SN_ALL, count->thread, value, samples, error);
	for (uint32_t i = 0; facts && i < facts->count; i++)
		sn_recorded_add(r, column, source, r->stack_regions.items[facts->first + i],
				count->thread, value, samples, error);
}

static void event_collect(struct sn_recorded *r, uint32_t event, const struct counted *what)
{
	const struct sn_experiment *e = r->profile->experiment;
	double hz = clock_hz(e);
	uint32_t column = sn_tables_column(r->tables, what->metric, what->level);
	uint32_t source = sn_tables_source(r->tables, "counters");

	if (what->is_time && !(hz > 0))
		return;
	if (!what->level) /* of misses a trace of loops may know more */
		sn_tables_complete(r->tables, column);
	for (size_t i = 0; i < e->event_counts.count; i++) {
		const struct sn_event_count *count = &e->event_counts.items[i];

		if (count->event == event && r->thread_members[count->thread] != SN_ALL)
			count_add(r, column, source, count,
				  what->is_time ? count->count / hz : count->count,
				  e->events.items[event].period == 1);
	}
}

static void counters_collect(struct sn_recorded *r)
{
	const struct sn_experiment *e = r->profile->experiment;

	if (r->part || r->profile->filter.from_ns || r->profile->filter.to_ns)
		return;
	for (uint32_t i = 0; i < e->events.count; i++) {
		const struct counted *what = counted_of(e->events.items[i].name);
		bool is_first = what != NULL;

		for (uint32_t k = 0; k < i && is_first;
		     k++) { /* two names of one thing count once */
			const struct counted *other = counted_of(e->events.items[k].name);

			is_first = !other || other->metric != what->metric ||
				   other->level != what->level;
		}
		if (is_first)
			event_collect(r, i, what);
	}
}

/* An event each, as `record -e` takes them. */
static const char *const needs_of[] = {
	"page_faults",
	"a run that was recorded with -e page-faults",
	"context_switches",
	"a run that was recorded with -e context-switches",
	"migrations",
	"a run that was recorded with -e cpu-migrations",
	"stalled",
	"a run that was recorded with -e cycles,stalled-cycles-backend",
	"misses",
	"a run that was recorded with -e dcm,l2m,l3m,tlbm",
	NULL
};
static const char *const of_starts[] = { "stalled", NULL };

const struct sn_source sn_source_counters = {
	.name = "counters",
	.measures = "page faults, context switches and migrations by region; stalled cycles and "
		    "misses where the processor counts them",
	.needs = "a run that was recorded with -e",
	.needs_of = needs_of,
	.of_starts = of_starts,
	.is_cut_by_time = true,
	.none = "nothing on this machine counts ('sonde doctor' says why; most virtual machines hide "
		"the processor's counters)",
	.none_of = of_processor,
	.costs = "10 to 30 us for each overflow",
	.option = "counters",
	.gives = given,
	.times = times,
	.counts = counts,
	.collect = counters_collect,
};
