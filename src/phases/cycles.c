/* Cyclic parts: the iteration owner, and what it calls again and again. */
#include <math.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "phases/phases.h"

static const double owner_share = 0.90, part_share = 0.001, run_min = 2;
enum { OWNER_CALLS_MAX = 2, PART_CALLS_MIN = 3 };

/* The deepest function with nine tenths of the time that is entered at most twice in a process. */
static uint32_t owner_find(const struct sn_phases *phases)
{
	const struct sn_phase_activity *activity = phases->activity;
	size_t processes = phases->profile->experiment->processes.count;
	uint32_t owner = SN_NONE;

	for (uint32_t f = 0; f < phases->paths->function_count; f++)
		if (activity->shares[f] >= owner_share &&
		    activity->function_calls[f] <= OWNER_CALLS_MAX * (processes ? processes : 1) &&
		    (owner == SN_NONE || activity->depths[f] > activity->depths[owner]))
			owner = f;
	return owner;
}

/* The function that follows the owner on a path; SN_NONE: none. */
static uint32_t *callees_find(const struct sn_phase_paths *paths, uint32_t owner)
{
	size_t stacks = (size_t)paths->program->stack_count + 1;
	uint32_t *callees = sn_alloc_zeroed(stacks, sizeof(uint32_t));

	for (size_t s = 0; s < stacks; s++) {
		bool is_below = false;

		callees[s] = SN_NONE;
		for (size_t k = paths->first[s]; k < paths->first[s + 1]; k++) {
			uint32_t e = paths->entities.items[k];

			if (is_below && !sn_entity_is_loop(paths, e)) {
				callees[s] = e;
				break;
			}
			is_below |= e == owner;
		}
	}
	return callees;
}

struct part {
	uint64_t calls, observations;
	double ns;
};

static void parts_count(const struct sn_phases *phases, const uint32_t *callees, struct part *parts,
			double *total)
{
	const struct sn_intervals *intervals = phases->intervals;
	struct sn_observations all;
	uint32_t thread = SN_NONE, before = SN_NONE;

	sn_observations_find(phases->profile, &all);
	for (size_t i = 0; i < all.items.count; i++) {
		const struct sn_observation *o = &all.items.items[i];
		uint32_t callee = callees[o->stack];

		if (callee != SN_NONE) {
			parts[callee].observations++;
			parts[callee].calls += o->thread != thread || callee != before;
		}
		thread = o->thread;
		before = callee;
	}
	sn_vec_free(&all.items);
	*total = 0;
	for (size_t i = 0; i < intervals->cells.count; i++) {
		const struct sn_interval_cell *cell = &intervals->cells.items[i];

		*total += (double)sn_interval_cell_ns(cell);
		if (callees[cell->stack] != SN_NONE)
			parts[callees[cell->stack]].ns += (double)sn_interval_cell_ns(cell);
	}
}

static int cycles_compare(const void *left, const void *right)
{
	const struct sn_phase_cycle *x = left, *y = right;

	if (x->share != y->share)
		return x->share > y->share ? -1 : 1;
	return (x->function > y->function) - (x->function < y->function);
}

/* Calls shorter than two observations follow each other unseen: their number is unknown. */
static struct sn_phase_cycle cycle_of(const struct sn_phases *phases, uint32_t function,
				      const struct part *part, double total)
{
	struct sn_phase_cycle cycle = { .owner = phases->cycle_owner,
					.function = function,
					.share = total > 0 ? part->ns / total : 0,
					.mean_ns = NAN };

	if (phases->activity->calls_source == SN_CALLS_EXACT)
		cycle.calls = phases->activity->function_calls[function];
	else if ((double)part->observations >= run_min * (double)part->calls)
		cycle.calls = part->calls;
	if (cycle.calls)
		cycle.mean_ns = part->ns / (double)cycle.calls;
	return cycle;
}

void sn_phases_find_cycles(struct sn_phases *phases)
{
	size_t functions = phases->paths->function_count;
	size_t processes = phases->profile->experiment->processes.count;
	struct part *parts;
	uint32_t *callees;
	double total;

	phases->cycle_owner = owner_find(phases);
	if (phases->cycle_owner == SN_NONE)
		return;
	parts = sn_alloc_zeroed(functions + 1, sizeof(*parts));
	callees = callees_find(phases->paths, phases->cycle_owner);
	parts_count(phases, callees, parts, &total);
	for (uint32_t f = 0; f < functions; f++)
		if (parts[f].calls >= PART_CALLS_MIN * processes &&
		    parts[f].ns >= part_share * total) {
			struct sn_phase_cycle cycle = cycle_of(phases, f, &parts[f], total);

			sn_vec_push(&phases->cycles, cycle);
		}
	if (phases->cycles.count)
		qsort(phases->cycles.items, phases->cycles.count, sizeof(*phases->cycles.items),
		      cycles_compare);
	free(parts);
	free(callees);
}
