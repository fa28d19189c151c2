/* Evidence from the stacks of calls that blocked: input and output, locks, conditions. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "profile/wait.h"
#include "search/evidence/sources.h"
#include "search/evidence/wait_errors.h"

enum column { IO, LOCK, CONDITION, SEMAPHORE, JOIN, HEAP, EXPLAINED, COLUMNS };
static const char *const column_names[COLUMNS] = { "io_wait",	     "lock_wait", "condition_wait",
						   "semaphore_wait", "join_wait", "heap_wait",
						   "explained_wait" };

/* A thread that works for less of the time that it works or is blocked has nothing to do: what it
 * waits for is no loss. The verdict has the same rule. */
static const double idle_most = 0.25;

static bool is_idle(const struct sn_profile *p, uint32_t thread)
{
	const struct sn_time_account *a = &p->experiment->threads.items[thread].account;
	double cpu = (double)p->threads[thread].cpu_ns;

	return a->blocked_ns > 0 && cpu < idle_most * (cpu + (double)a->blocked_ns);
}

static bool name_has(const struct sn_program *program, uint32_t function, const char *part)
{
	return strstr(program->functions.items[function].name, part) != NULL;
}

/* Whether the allocator is on the stack's way to the wait. */
static bool is_in_heap(const struct sn_program *program, uint32_t stack)
{
	for (size_t i = program->first_frame[stack]; i < program->first_frame[stack + 1]; i++) {
		uint32_t f = program->places.items[program->frame_places[i]].function;

		if (name_has(program, f, "malloc") || name_has(program, f, "calloc") ||
		    name_has(program, f, "realloc") ||
		    !strcmp(program->functions.items[f].name, "free"))
			return true;
	}
	return false;
}

/* COLUMNS: no loss by itself (poll, sleep, waiting for a child, idle threads). */
static enum column column_of(const struct sn_recorded *r, const struct sn_wait *wait)
{
	const struct sn_program *program = r->profile->program;
	uint32_t called = sn_call_site_of(program, wait->stack).function;

	switch (wait->kind) {
	case SN_WAIT_IO:
		return IO;
	case SN_WAIT_LOCK:
		return is_in_heap(program, wait->stack) ? HEAP : LOCK;
	case SN_WAIT_JOIN:
		return is_idle(r->profile, wait->thread) ? COLUMNS : JOIN;
	case SN_WAIT_CONDITION:
		/* at a barrier a thread waits for the others, however little it had to do */
		if (name_has(program, called, "barrier"))
			return CONDITION;
		if (is_idle(r->profile, wait->thread))
			return COLUMNS;
		return name_has(program, called, "sem_") ? SEMAPHORE : CONDITION;
	default:
		return COLUMNS;
	}
}

static void wait_add(struct sn_recorded *r, const uint32_t *columns, uint32_t source,
		     const struct sn_wait *wait, uint64_t ns, double error_s)
{
	const struct sn_stack_facts *facts = &r->stacks[wait->stack];
	double seconds = (double)ns / 1e9;
	enum column column = column_of(r, wait);

	sn_recorded_add(r, columns[EXPLAINED], source, SN_ALL, wait->thread, seconds, NAN, error_s);
	/* in a runtime it is that runtime's: samples.c */
	if (column == COLUMNS ||
	    (facts->activity != SN_ACTIVITY_WORK && facts->activity != SN_ACTIVITY_SPIN))
		return;
	for (uint32_t i = 0; i <= facts->count; i++) {
		/* and once of all regions together */
		uint32_t region =
			i < facts->count ? r->stack_regions.items[facts->first + i] : SN_ALL;

		sn_recorded_add(r, columns[column], source, region, wait->thread, seconds, NAN,
				error_s);
		if (column == HEAP)
			sn_recorded_add(r, columns[LOCK], source, region, wait->thread, seconds,
					NAN, error_s);
	}
}

static void waits_collect(struct sn_recorded *r)
{
	const struct sn_experiment *e = r->profile->experiment;
	uint32_t source = sn_tables_source(r->tables, "waits"), columns[COLUMNS];

	double *errors = sn_wait_errors(r);

	for (int c = 0; c < COLUMNS; c++) {
		columns[c] = sn_tables_column(r->tables, column_names[c], NULL);
		sn_tables_complete(r->tables, columns[c]);
	}
	for (size_t i = 0; i < e->waits.count; i++) {
		const struct sn_wait *wait = &e->waits.items[i];
		uint64_t ns = sn_profile_wait_ns(r->profile, wait);

		if (ns && wait->stack < r->profile->program->stack_count &&
		    r->thread_members[wait->thread] != SN_ALL)
			wait_add(r, columns, source, wait, ns, errors[i]);
	}
	free(errors);
}

const struct sn_source sn_source_waits = {
	.name = "waits",
	.measures = "blocked time by the calls of the C library that blocked, exactly",
	.needs = "a run that was not recorded from outside",
	.costs = "what recording costs",
	.collect = waits_collect,
};
