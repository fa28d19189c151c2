/* Cyclic parts: the iteration owner, and what it calls again and again. Looked for in the whole
 * run, then in each phase: a phase may have a main loop of its own. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "phases/phases.h"

static const double owner_share = 0.90, /* of the time, to own what happens in it */
	part_share = 0.001,		/* of the run, for a part: ten samples in 10 s at 1 kHz */
	stage_share = 0.05,		/* of the run, for what is called once or twice */
	deep_share = 0.25,  /* of the run, for a stage to be looked into, and for the parts of a
			       phase's main loop to be instrumented */
	gap_ratio = 30,	    /* a part so much smaller than the one before it is upkeep, no step */
	run_min = 2,	    /* observations a call, for calls to be counted */
	scope_share = 0.05; /* of the run, for a part that wraps another to be followed to that */
enum { OWNER_CALLS_MAX = 2, PART_CALLS_MIN = 3 };

struct part {
	uint64_t calls, observations;
	uint64_t thread_calls,
		most_calls; /* of the thread that was seen last, and the most of any */
	uint32_t thread;
	double ns;
};

/* What is looked at: the intervals of one phase, or all. */
struct scope {
	struct sn_phases *phases;
	uint32_t phase;	   /* SN_NONE: all */
	uint32_t root;	   /* only what is below this function; SN_NONE: all */
	uint64_t visits;   /* how often a process came into it */
	double total_ns;   /* time in it */
	double run_ns;	   /* time in the run */
	double *shares;	   /* by entity: fraction of total_ns */
	uint64_t *calls;   /* by function */
	uint32_t *callees; /* by stack */
	struct part *parts;
	const struct sn_observations *observations;
	struct sn_pace_scope *pace;
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

		s->visits += is_in && s->root == SN_NONE &&
			     (!was_in || intervals->rows.items[r].process != process);
		process = intervals->rows.items[r].process;
		was_in = is_in;
	}
}

/* Where on a stack's path the scope begins; the end of the path: it is not in the scope. */
static size_t scope_begin(const struct scope *s, uint32_t stack)
{
	const struct sn_phase_paths *paths = s->phases->paths;
	size_t k = paths->first[stack];

	while (s->root != SN_NONE && k < paths->first[stack + 1] &&
	       paths->entities.items[k] != s->root)
		k++;
	return k;
}

static void shares_find(struct scope *s)
{
	const struct sn_intervals *intervals = s->phases->intervals;
	const struct sn_phase_paths *paths = s->phases->paths;
	uint8_t *has_row = sn_alloc_zeroed(intervals->row_count + 1, 1);
	struct sn_stack_sums sums;

	for (size_t r = 0; r < intervals->row_count; r++) {
		s->run_ns += (double)sn_interval_row_ns(&intervals->rows.items[r]);
		has_row[r] = scope_has(s, r);
	}
	sn_stack_sums_find(intervals, has_row, &sums);
	free(has_row);
	for (size_t i = 0; i < sums.items.count; i++) {
		uint32_t stack = sums.items.items[i].stack;
		double ns = (double)sums.items.items[i].ns;
		size_t k = scope_begin(s, stack);

		if (s->root == SN_NONE || k < paths->first[stack + 1])
			s->total_ns += ns;
		for (; k < paths->first[stack + 1]; k++)
			s->shares[paths->entities.items[k]] += ns;
	}
	sn_vec_free(&sums.items);
	for (uint32_t e = 0; e < paths->entity_count && s->total_ns > 0; e++)
		s->shares[e] /= s->total_ns;
}

static void calls_find(struct scope *s)
{
	const struct sn_phases *p = s->phases;

	s->visits += s->root != SN_NONE ? p->activity->function_calls[s->root] : 0;

	for (size_t r = 0; r < p->vectors->matrix.row_count; r++) {
		const struct sn_sparse *paths = &p->activity->inclusive;

		if (!scope_has(s, p->vectors->rows[r]))
			continue;
		for (size_t i = paths->first[r]; i < paths->first[r + 1]; i++)
			if (!sn_entity_is_loop(p->paths, paths->columns[i]))
				s->calls[paths->columns[i]] +=
					sn_phase_beats_of(p->activity, r, paths->columns[i]);
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

static void call_count(struct part *part, uint32_t thread)
{
	part->thread_calls = part->calls && part->thread == thread ? part->thread_calls + 1 : 1;
	part->thread = thread;
	part->calls++;
	if (part->thread_calls > part->most_calls)
		part->most_calls = part->thread_calls;
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
			if (o->thread != thread || callee != before)
				call_count(&s->parts[callee], o->thread);
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
static struct sn_phase_cycle cycle_of(const struct scope *s, uint32_t owner, uint32_t function)
{
	const struct part *part = &s->parts[function];
	struct sn_phase_cycle cycle = { .owner = owner,
					.function = function,
					.phase = s->phase,
					.share = part->ns / s->run_ns,
					.mean_ns = NAN };

	if (s->phases->activity->calls_source == SN_CALLS_EXACT)
		cycle.calls = s->calls[function];
	else if ((double)part->observations >= run_min * (double)part->calls) {
		cycle.calls = part->calls;
		cycle.thread_calls = part->most_calls;
	}
	if (cycle.calls)
		cycle.mean_ns = part->ns / (double)cycle.calls;
	cycle.site = (struct sn_phase_site){ .function = function,
					     .loop = SN_NONE,
					     .entity = function,
					     .mark = function,
					     .type = SN_SITE_BODY,
					     .app_share = cycle.share,
					     .phase_share = cycle.share };
	if (s->phase != SN_NONE)
		cycle.site.phase_share /= s->total_ns / s->run_ns;
	cycle.site.pace = sn_pace_of(s->pace, function);
	return cycle;
}

static void cycle_add(struct scope *s, uint32_t owner, uint32_t function)
{
	sn_vec_push(&s->phases->cycles, cycle_of(s, owner, function));
}

/* Calls that were seen one by one are long; of others the code must be known, or else the loop that
 * calls them must not be too fast. */
static bool is_affordable(const struct scope *s, const struct sn_phase_cycle *cycle)
{
	const struct sn_pace *pace = &cycle->site.pace;

	if (cycle->calls || cycle->kind != SN_CYCLE_PART)
		return !(pace->expected_cost > SN_PACE_COST_MAX);
	if (isnan(pace->expected_cost) &&
	    sn_pace_cost_around(s->pace, cycle->function) > SN_PACE_COST_MAX)
		return false;
	return !(pace->expected_cost > SN_PACE_COST_MAX) && !isnan(pace->at_most_hz);
}

/* What is called once or twice and stays: with a loop of its own, where it has one. */
static void stage_add(struct scope *s, uint32_t owner, uint32_t function)
{
	struct sn_phase_cycle cycle = cycle_of(s, owner, function);
	bool is_inside;

	cycle.kind = SN_CYCLE_STAGE;
	cycle.site = sn_site_of_function(s->phases, function);
	cycle.site.app_share = cycle.site.phase_share = cycle.share;
	is_inside = s->phases->activity->depths[cycle.site.entity] >=
		    s->phases->activity->depths[function];
	cycle.site.heartbeat = is_inside && is_affordable(s, &cycle);
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

/* Parts get heartbeats down to the first that is very much smaller than the one before it, if beats
 * there do not cost too much. */
static void parts_instrument(struct scope *s, size_t from, size_t to)
{
	struct sn_phase_cycle *cycles = s->phases->cycles.items;

	if (s->phase != SN_NONE && s->total_ns < deep_share * s->run_ns)
		return;
	for (size_t i = from; i < to; i++) {
		if (i > from && cycles[i].share * gap_ratio < cycles[i - 1].share)
			return;
		cycles[i].site.heartbeat = is_affordable(s, &cycles[i]);
	}
}

/* By entity: time of the owner's instrumented parts below it. */
static double *parts_time(const struct scope *s, uint32_t owner, size_t from, size_t to,
			  double *total)
{
	const struct sn_phases *p = s->phases;
	double *ns = sn_alloc_zeroed((size_t)p->paths->entity_count + 1, sizeof(double));
	uint8_t *is_part = sn_alloc_zeroed((size_t)p->paths->function_count + 1, 1);

	for (size_t i = from; i < to; i++)
		is_part[p->cycles.items[i].function] = p->cycles.items[i].site.heartbeat != 0;
	for (size_t r = 0; r < p->intervals->row_count; r++) {
		const struct sn_interval_row *row = &p->intervals->rows.items[r];

		for (size_t i = row[0].first_cell; scope_has(s, r) && i < row[1].first_cell; i++) {
			const struct sn_interval_cell *cell = &p->intervals->cells.items[i];
			const uint32_t *path =
				p->paths->entities.items + p->paths->first[cell->stack];
			uint32_t callee = s->callees[cell->stack];

			if (callee == SN_NONE || !is_part[callee])
				continue;
			*total += (double)sn_interval_cell_ns(cell);
			for (; *path != callee; path++)
				if (sn_entity_function(p->paths, *path) == owner)
					ns[*path] += (double)sn_interval_cell_ns(cell);
		}
	}
	free(is_part);
	return ns;
}

/* The deepest loop of the owner that has its parts: the step that people count. */
static void loop_add(struct scope *s, uint32_t owner, size_t from, size_t to)
{
	struct sn_phases *p = s->phases;
	double total = 0, *ns = parts_time(s, owner, from, to, &total);
	uint32_t loop = SN_NONE;
	struct sn_phase_cycle cycle = {
		.owner = owner, .function = owner, .phase = s->phase, .kind = SN_CYCLE_LOOP
	};

	for (uint32_t e = p->paths->function_count; e < p->paths->entity_count; e++)
		if (total > 0 && ns[e] >= owner_share * total &&
		    s->pace->beats[e] >= SN_PHASES_ROUNDS_MIN &&
		    (loop == SN_NONE || p->activity->depths[e] > p->activity->depths[loop]))
			loop = e;
	free(ns);
	if (loop == SN_NONE)
		return;
	cycle.calls = s->pace->beats[loop];
	cycle.share = s->shares[loop] * s->total_ns / s->run_ns;
	cycle.mean_ns = cycle.share * s->run_ns / (double)cycle.calls;
	cycle.site =
		(struct sn_phase_site){ .function = owner,
					.loop = p->paths->loop_of[loop - p->paths->function_count],
					.entity = loop,
					.mark = loop,
					.type = SN_SITE_LOOP,
					.app_share = cycle.share,
					.phase_share = cycle.share,
					.pace = sn_pace_of(s->pace, loop) };
	cycle.site.heartbeat = is_affordable(s, &cycle);
	sn_vec_push(&p->cycles, cycle);
}

static uint64_t part_calls_least(const struct scope *s)
{
	return s->root == SN_NONE ? PART_CALLS_MIN * s->visits : PART_CALLS_MIN;
}

static void parts_add(struct scope *s, uint32_t owner)
{
	struct sn_phases *p = s->phases;
	size_t from = p->cycles.count, to;

	parts_find(s, owner);
	for (uint32_t f = 0; f < p->paths->function_count; f++)
		if (s->parts[f].calls >= part_calls_least(s) &&
		    s->parts[f].ns >= part_share * s->run_ns)
			cycle_add(s, owner, f);
	to = p->cycles.count;
	if (to > from)
		qsort(p->cycles.items + from, to - from, sizeof(*p->cycles.items), cycles_compare);
	parts_instrument(s, from, to);
	loop_add(s, owner, from, to);
	for (size_t i = from; i < to; i++) {
		parts_find(s, owner);
		wrapped_add(s, p->cycles.items[i].function);
	}
}

static void stages_add(struct scope *s, uint32_t owner)
{
	struct sn_phases *p = s->phases;
	size_t from = p->cycles.count;

	parts_find(s, owner);
	for (uint32_t f = 0; f < p->paths->function_count; f++)
		if (s->parts[f].calls && s->parts[f].calls < part_calls_least(s) &&
		    s->parts[f].ns >= stage_share * s->run_ns)
			stage_add(s, owner, f);
	if (p->cycles.count > from)
		qsort(p->cycles.items + from, p->cycles.count - from, sizeof(*p->cycles.items),
		      cycles_compare);
}

static void scope_search(struct scope *s)
{
	uint32_t owner;

	visits_count(s);
	shares_find(s);
	if (s->total_ns < scope_share * s->run_ns || s->run_ns <= 0)
		return;
	calls_find(s);
	owner = owner_find(s, owner_share);
	if (owner == SN_NONE || owner_is_known(s->phases, owner))
		return;
	parts_add(s, owner);
	if (s->phase == SN_NONE)
		stages_add(s, owner);
}

static void scope_run(struct sn_phases *phases, uint32_t phase, uint32_t root)
{
	struct sn_pace_scope pace;
	struct scope s = { .phases = phases,
			   .phase = phase,
			   .root = root,
			   .observations = &phases->beats->observations,
			   .pace = &pace };
	size_t entities = (size_t)phases->paths->entity_count + 1,
	       rows = phases->vectors->matrix.row_count;
	uint32_t *labels = sn_alloc_zeroed(rows + 1, sizeof(uint32_t));

	for (size_t r = 0; r < rows && phase != SN_NONE; r++)
		labels[r] = phases->phase_of[phases->vectors->rows[r]] != phase;
	sn_pace_scope_init(&pace, phases, labels, 0);
	s.shares = sn_alloc_zeroed(entities, sizeof(double));
	s.calls = sn_alloc_zeroed(entities, sizeof(uint64_t));
	s.parts = sn_alloc_zeroed(entities, sizeof(struct part));
	s.callees =
		sn_alloc_zeroed((size_t)phases->paths->program->stack_count + 1, sizeof(uint32_t));
	scope_search(&s);
	sn_pace_scope_free(&pace);
	free(labels);
	free(s.shares);
	free(s.calls);
	free(s.parts);
	free(s.callees);
}

/* Large stages may have a main loop of their own, and a main loop that does nothing but call one
 * function has its parts there. */
static bool is_looked_into(const struct sn_phases *p, size_t at)
{
	const struct sn_phase_cycle *cycle = &p->cycles.items[at];
	double others = 0;

	for (size_t i = 0; i < p->cycles.count; i++)
		if (i != at && p->cycles.items[i].owner == cycle->owner &&
		    p->cycles.items[i].kind != SN_CYCLE_LOOP)
			others += p->cycles.items[i].share;
	return cycle->share >= deep_share &&
	       (cycle->kind == SN_CYCLE_STAGE ||
		(cycle->kind == SN_CYCLE_PART && others * gap_ratio < cycle->share));
}

void sn_phases_find_parts(struct sn_phases *phases)
{
	scope_run(phases, SN_NONE, SN_NONE);
	for (size_t i = 0; i < phases->cycles.count; i++)
		if (is_looked_into(phases, i))
			scope_run(phases, SN_NONE, phases->cycles.items[i].function);
}

/* Time of a site's entity that lies below a function, in the whole run. */
static double site_time(const struct sn_phases *p, uint32_t entity, uint32_t below)
{
	const struct sn_phase_paths *paths = p->paths;
	double ns = 0;

	for (size_t i = 0; i < p->intervals->cells.count; i++) {
		const struct sn_interval_cell *cell = &p->intervals->cells.items[i];
		bool is_below = below == SN_NONE;

		for (size_t k = paths->first[cell->stack]; k < paths->first[cell->stack + 1]; k++) {
			is_below |= paths->entities.items[k] == below;
			if (is_below && paths->entities.items[k] == entity)
				ns += (double)sn_interval_cell_ns(cell);
		}
	}
	return ns;
}

/* Whether sites of phases lie in it and have most of its time. */
static bool is_covered(const struct sn_phases *p, const struct sn_phase_cycle *cycle)
{
	double covered = 0;

	for (size_t i = 0; i < p->phases.count; i++)
		for (size_t s = 0; s < p->phases.items[i].sites.count; s++) {
			const struct sn_phase_site *site = &p->phases.items[i].sites.items[s];
			double below = site_time(p, site->entity, cycle->function);

			if (!site->is_alternative && site->entity != cycle->site.entity &&
			    below >= owner_share * site_time(p, site->entity, SN_NONE))
				covered += below;
		}
	return covered >= site_time(p, cycle->function, SN_NONE) / 2;
}

void sn_phases_find_cycles(struct sn_phases *phases)
{
	for (uint32_t i = 0; i < phases->phases.count && phases->phases.count > 1; i++)
		scope_run(phases, i, SN_NONE);
	for (size_t i = 0; i < phases->cycles.count; i++) {
		struct sn_phase_cycle *cycle = &phases->cycles.items[i];

		if (cycle->kind != SN_CYCLE_LOOP &&
		    (cycle->kind == SN_CYCLE_STAGE ||
		     (cycle->calls && cycle->calls < SN_PHASES_ROUNDS_MIN)))
			cycle->site.heartbeat &= !is_covered(phases, cycle);
	}
}
