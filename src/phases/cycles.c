/* Cyclic parts: the iteration owner, and what it calls again and again. Looked for in the whole
 * run, then in each phase: a phase may have a main loop of its own. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "phases/phases.h"

static const double owner_share = 0.90, late_share = 0.75, part_share = 0.001, run_min = 2,
		    scope_share = 0.05;
enum { OWNER_CALLS_MAX = 2, PART_CALLS_MIN = 3 };

struct part {
	uint64_t calls, observations;
	double ns;
};

/* What is looked at: the intervals of one phase, or all. */
struct scope {
	struct sn_phases *phases;
	uint32_t phase;	   /* SN_NONE: all */
	uint64_t visits;   /* how often a process came into it */
	double total_ns;   /* time in it */
	double run_ns;	   /* time in the run */
	double *shares;	   /* by entity: fraction of total_ns */
	uint64_t *calls;   /* by function */
	uint32_t *callees; /* by stack */
	struct part *parts;
	const struct sn_observations *observations;
};

static bool scope_has(const struct scope *s, size_t row)
{
	return row < s->phases->intervals->row_count &&
	       (s->phase == SN_NONE || s->phases->phase_of[row] == s->phase);
}

static void visits_count(struct scope *s)
{
	const struct sn_intervals *intervals = s->phases->intervals;
	uint32_t process = SN_NONE;
	bool was_in = false;

	for (size_t r = 0; r < intervals->row_count; r++) {
		bool is_in = scope_has(s, r);

		s->visits += is_in && (!was_in || intervals->rows.items[r].process != process);
		process = intervals->rows.items[r].process;
		was_in = is_in;
	}
}

static void shares_find(struct scope *s)
{
	const struct sn_intervals *intervals = s->phases->intervals;
	const struct sn_phase_paths *paths = s->phases->paths;

	for (size_t r = 0; r < intervals->row_count; r++) {
		const struct sn_interval_row *row = &intervals->rows.items[r];
		bool is_in = scope_has(s, r);

		s->run_ns += (double)sn_interval_row_ns(row);
		if (!is_in)
			continue;
		s->total_ns += (double)sn_interval_row_ns(row);
		for (size_t i = row[0].first_cell; i < row[1].first_cell; i++) {
			const struct sn_interval_cell *cell = &intervals->cells.items[i];

			if (sn_path_is_between_regions(paths, cell->stack))
				s->total_ns -= (double)sn_interval_cell_ns(cell);
			for (size_t k = paths->first[cell->stack];
			     k < paths->first[cell->stack + 1]; k++)
				s->shares[paths->entities.items[k]] +=
					(double)sn_interval_cell_ns(cell);
		}
	}
	for (uint32_t e = 0; e < paths->entity_count && s->total_ns > 0; e++)
		s->shares[e] /= s->total_ns;
}

static void calls_find(struct scope *s)
{
	const struct sn_phases *p = s->phases;

	for (size_t r = 0; r < p->vectors->matrix.row_count; r++) {
		const struct sn_sparse *paths = &p->activity->inclusive;

		if (!scope_has(s, p->vectors->rows[r]))
			continue;
		for (size_t i = paths->first[r]; i < paths->first[r + 1]; i++)
			if (!sn_entity_is_loop(p->paths, paths->columns[i]))
				s->calls[paths->columns[i]] +=
					sn_phase_calls(p->activity, r, paths->columns[i]);
	}
}

/* The deepest function with so much of the time that is entered at most twice a visit. */
static uint32_t owner_find(const struct scope *s, double least)
{
	const double *depths = s->phases->activity->depths;
	uint32_t owner = SN_NONE;

	for (uint32_t f = 0; f < s->phases->paths->function_count; f++)
		if (s->shares[f] >= least && s->calls[f] <= OWNER_CALLS_MAX * s->visits &&
		    (owner == SN_NONE || depths[f] > depths[owner]))
			owner = f;
	return owner;
}

/* The function that follows the owner on each path; SN_NONE: none. */
static void callees_find(struct scope *s, uint32_t owner)
{
	const struct sn_phase_paths *paths = s->phases->paths;
	size_t stacks = (size_t)paths->program->stack_count + 1;

	for (size_t stack = 0; stack < stacks; stack++) {
		bool is_below = false;

		s->callees[stack] = SN_NONE;
		for (size_t k = paths->first[stack]; k < paths->first[stack + 1]; k++) {
			uint32_t e = paths->entities.items[k];

			if (is_below && !sn_entity_is_loop(paths, e)) {
				s->callees[stack] = e;
				break;
			}
			is_below |= e == owner;
		}
	}
}

static void parts_count(struct scope *s)
{
	const struct sn_intervals *intervals = s->phases->intervals;
	const struct sn_experiment *e = s->phases->profile->experiment;
	uint32_t thread = SN_NONE, before = SN_NONE;

	for (size_t i = 0; i < s->observations->items.count; i++) {
		const struct sn_observation *o = &s->observations->items.items[i];
		uint32_t callee = s->callees[o->stack];

		if (!scope_has(s, sn_interval_row_at(intervals, e->threads.items[o->thread].process,
						     o->time_ns)))
			callee = SN_NONE;
		if (callee != SN_NONE) {
			s->parts[callee].observations++;
			s->parts[callee].calls += o->thread != thread || callee != before;
		}
		thread = o->thread;
		before = callee;
	}
	for (size_t r = 0; r < intervals->row_count; r++)
		for (size_t i = intervals->rows.items[r].first_cell;
		     scope_has(s, r) && i < intervals->rows.items[r + 1].first_cell; i++) {
			const struct sn_interval_cell *cell = &intervals->cells.items[i];

			if (s->callees[cell->stack] != SN_NONE)
				s->parts[s->callees[cell->stack]].ns +=
					(double)sn_interval_cell_ns(cell);
		}
}

/* Calls shorter than two observations follow each other unseen: their number is unknown. */
static void cycle_add(struct scope *s, uint32_t owner, uint32_t function)
{
	const struct part *part = &s->parts[function];
	struct sn_phase_cycle cycle = { .owner = owner,
					.function = function,
					.phase = s->phase,
					.share = part->ns / s->run_ns,
					.mean_ns = NAN };

	if (s->phases->activity->calls_source == SN_CALLS_EXACT)
		cycle.calls = s->calls[function];
	else if ((double)part->observations >= run_min * (double)part->calls)
		cycle.calls = part->calls;
	if (cycle.calls)
		cycle.mean_ns = part->ns / (double)cycle.calls;
	sn_vec_push(&s->phases->cycles, cycle);
}

static int cycles_compare(const void *left, const void *right)
{
	const struct sn_phase_cycle *x = left, *y = right;

	if (x->share != y->share)
		return x->share > y->share ? -1 : 1;
	return (x->function > y->function) - (x->function < y->function);
}

static bool owner_is_known(const struct sn_phases *phases, uint32_t owner)
{
	for (size_t i = 0; i < phases->cycles.count; i++)
		if (phases->cycles.items[i].owner == owner)
			return true;
	return false;
}

static void parts_find(struct scope *s, uint32_t owner)
{
	memset(s->parts, 0, s->phases->paths->function_count * sizeof(*s->parts));
	callees_find(s, owner);
	parts_count(s);
}

/* A large part that does nothing but call one other function, as often as it is called itself, is
 * followed to that. */
static void wrapped_add(struct scope *s, uint32_t owner)
{
	struct part whole = s->parts[owner];
	uint32_t next = SN_NONE;

	if (whole.ns < scope_share * s->run_ns || !whole.calls)
		return;
	parts_find(s, owner);
	for (uint32_t f = 0; f < s->phases->paths->function_count; f++)
		if (s->parts[f].ns >= owner_share * whole.ns &&
		    s->parts[f].calls * 4 <= whole.calls * 5 &&
		    s->parts[f].calls * 5 >= whole.calls * 4)
			next = f;
	if (next != SN_NONE)
		cycle_add(s, owner, next);
}

/* False if the owner calls nothing again and again. */
static bool owner_search(struct scope *s, double least)
{
	struct sn_phases *p = s->phases;
	size_t before = p->cycles.count;
	uint32_t owner = owner_find(s, least);

	if (owner == SN_NONE || owner_is_known(p, owner))
		return false;
	parts_find(s, owner);
	for (uint32_t f = 0; f < p->paths->function_count; f++)
		if (s->parts[f].calls >= PART_CALLS_MIN * s->visits &&
		    s->parts[f].ns >= part_share * s->run_ns)
			cycle_add(s, owner, f);
	if (p->cycles.count > before)
		qsort(p->cycles.items + before, p->cycles.count - before, sizeof(*p->cycles.items),
		      cycles_compare);
	for (size_t i = before, end = p->cycles.count; i < end; i++) {
		parts_find(s, owner);
		wrapped_add(s, p->cycles.items[i].function);
	}
	return p->cycles.count > before;
}

/* Nine tenths of the time; of a run of one phase, which may have read its input first, else three
 * quarters. */
static void scope_search(struct scope *s)
{
	visits_count(s);
	shares_find(s);
	if (s->total_ns < scope_share * s->run_ns || s->run_ns <= 0)
		return;
	calls_find(s);
	if (!owner_search(s, owner_share) && s->phase == SN_NONE && s->phases->phases.count == 1)
		owner_search(s, late_share);
}

static void scope_run(struct sn_phases *phases, const struct sn_observations *observations,
		      uint32_t phase)
{
	struct scope s = { .phases = phases, .phase = phase, .observations = observations };
	size_t entities = (size_t)phases->paths->entity_count + 1;

	s.shares = sn_alloc_zeroed(entities, sizeof(double));
	s.calls = sn_alloc_zeroed(entities, sizeof(uint64_t));
	s.parts = sn_alloc_zeroed(entities, sizeof(struct part));
	s.callees =
		sn_alloc_zeroed((size_t)phases->paths->program->stack_count + 1, sizeof(uint32_t));
	scope_search(&s);
	free(s.shares);
	free(s.calls);
	free(s.parts);
	free(s.callees);
}

void sn_phases_find_cycles(struct sn_phases *phases)
{
	struct sn_observations observations;

	sn_observations_find(phases->profile, phases->paths, &observations);
	scope_run(phases, &observations, SN_NONE);
	for (uint32_t i = 0; i < phases->phases.count && phases->phases.count > 1; i++)
		scope_run(phases, &observations, i);
	sn_vec_free(&observations.items);
}
