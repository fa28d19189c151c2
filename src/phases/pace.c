/*
 * Estimates how often a place of the program is passed, and so what a heartbeat there would cost.
 * Counts that samples prove are lower bounds; the shortest way through the code gives an expected
 * rate and an upper bound.
 */
#include "phases/pace.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "phases/phases.h"
#include "profile/structures.h"

static const double usual_instruction_ns = 0.14, /* as the samples of code around calls and inner
						    loops show it; fitted to ten loops
						    (bench/RESULTS.md) */
	least_instruction_ns = 0.04;		 /* six a cycle at 4 GHz */
enum { CALLEES_MAX = 3, EXPECTED_SAMPLES_MIN = 4, LONG_ROUND_NS = 26000, EVERY_MAX = 64 };

/* ---- the shortest way round ---- */

struct walk {
	const struct sn_function *function;
	const struct sn_loop *loop; /* NULL: the function's body */
	uint32_t end; /* block where the way ends: reached (is_via), or left for (loop) */
	bool is_via;
	uint32_t *distance; /* by block: to its end */
	uint32_t *queue;
	uint8_t *is_queued;
};

static bool walk_has(const struct walk *w, uint32_t block)
{
	int32_t loop = w->function->blocks[block].loop;

	if (!w->loop)
		return true;
	while (loop >= 0 && (uint32_t)loop != w->loop->index)
		loop = w->function->loops[loop].parent;
	return loop >= 0;
}

static uint32_t walk_weight(const struct walk *w, uint32_t block)
{
	const struct sn_block *b = &w->function->blocks[block];
	int32_t own = w->loop ? (int32_t)w->loop->index : -1;

	return b->loop == own ? b->instruction_count : 0;
}

static bool is_end(const struct walk *w, uint32_t block)
{
	const struct sn_block *b = &w->function->blocks[block];

	if (w->end != SN_NONE && w->is_via)
		return block == w->end;
	if (!w->loop)
		return (b->flags & (SN_BLOCK_RETURNS | SN_BLOCK_LEAVES)) != 0;
	for (uint32_t i = 0; i < b->successor_count; i++)
		if (w->function->successors[b->first_successor + i] == w->end)
			return true;
	return false;
}

/* Label-correcting search: queue of blocks whose distance fell. Every block is in it once at most,
 * so a ring of block_count + 1 holds it. */
static uint32_t walk_run(struct walk *w, uint32_t start)
{
	uint32_t ring = w->function->block_count + 1, head = 0, tail = 0, best = UINT32_MAX;

	memset(w->distance, 0xff, w->function->block_count * sizeof(uint32_t));
	w->distance[start] = walk_weight(w, start);
	w->queue[tail++] = start;
	while (head != tail) {
		uint32_t block = w->queue[head];
		const struct sn_block *b = &w->function->blocks[block];

		head = (head + 1) % ring;
		w->is_queued[block] = 0;
		if (is_end(w, block) && w->distance[block] < best)
			best = w->distance[block];
		for (uint32_t i = 0; i < b->successor_count; i++) {
			uint32_t next = w->function->successors[b->first_successor + i], length;

			if ((next == w->end && !w->is_via) || !walk_has(w, next))
				continue;
			length = w->distance[block] + walk_weight(w, next);
			if (length >= w->distance[next])
				continue;
			w->distance[next] = length;
			if (w->is_queued[next])
				continue;
			w->is_queued[next] = 1;
			w->queue[tail] = next;
			tail = (tail + 1) % ring;
		}
	}
	return best == UINT32_MAX ? 0 : best;
}

/* From start on, by way of `via` (SN_NONE: any way), and back to it or to a return. */
static uint32_t way_length(struct walk *w, uint32_t start, uint32_t via)
{
	uint32_t back = w->loop ? start : SN_NONE, there, rest;

	w->end = back;
	if (via == SN_NONE || via == start)
		return walk_run(w, start);
	w->end = via;
	w->is_via = true;
	there = walk_run(w, start);
	w->end = back;
	w->is_via = false;
	rest = walk_run(w, via);
	return there && rest ? there + rest - walk_weight(w, via) : 0;
}

uint32_t sn_shortest_round(const struct sn_function *function, const struct sn_loop *loop,
			   uint64_t via)
{
	uint64_t from = loop ? loop->header_link_addr : function->link_addr;
	const struct sn_block *start = sn_function_block_at(function, from);
	const struct sn_block *middle = via ? sn_function_block_at(function, via) : NULL;
	struct walk w = { .function = function, .loop = loop };
	uint32_t round;

	if (!start || start->link_addr != from)
		return 0;
	w.distance = sn_alloc_zeroed(function->block_count, sizeof(uint32_t));
	w.queue = sn_alloc_zeroed((size_t)function->block_count + 1, sizeof(uint32_t));
	w.is_queued = sn_alloc_zeroed(function->block_count, 1);
	round = way_length(&w, (uint32_t)(start - function->blocks),
			   middle ? (uint32_t)(middle - function->blocks) : SN_NONE);
	free(w.distance);
	free(w.queue);
	free(w.is_queued);
	return round;
}

/* The code of an entity: a function's (loop NULL) or a loop's. */
struct code {
	const struct sn_function *function; /* NULL: not known, or inlined everywhere */
	const struct sn_loop *loop;
};

static struct code code_of(const struct sn_phases *p, uint32_t entity)
{
	const struct sn_program *program = p->paths->program;
	struct code code = { NULL, NULL };
	const struct sn_program_function *f;
	struct sn_structure *s;

	if (!p->options.structures)
		return code;
	if (sn_entity_is_loop(p->paths, entity)) {
		code.loop = sn_entity_loop(p->paths, entity)->code;
		code.function = code.loop->function;
		return code;
	}
	f = &program->functions.items[entity];
	s = f->link_addr ? sn_structures_of(p->options.structures, f->module) : NULL;
	code.function = s ? sn_structure_function_at(s, f->link_addr) : NULL;
	if (code.function && code.function->link_addr != f->link_addr)
		code.function = NULL;
	if (code.function)
		sn_function_prepare(s, code.function, SN_PREPARE_CODE);
	return code;
}

/* The header of the loop with most samples in this code, if it has more than the code around it:
 * then the usual way leads there, not out at once. 0: there is none. */
static uint64_t busiest_loop(const struct sn_pace_scope *scope, const struct code *code,
			     uint32_t entity)
{
	const struct sn_phase_paths *paths = scope->phases->paths;
	uint32_t module = sn_entity_is_loop(paths, entity)
				  ? sn_entity_loop(paths, entity)->module
				  : paths->program->functions.items[entity].module;
	double most = scope->own[entity];
	uint64_t header = 0;

	for (uint32_t e = paths->function_count; e < paths->entity_count; e++) {
		const struct sn_program_loop *l = sn_entity_loop(paths, e);
		const struct sn_block *block;
		int32_t at;

		if (e == entity || scope->own[e] <= most || l->module != module ||
		    l->code->function->link_addr != code->function->link_addr)
			continue;
		block = sn_function_block_at(code->function, l->code->header_link_addr);
		at = block ? block->loop : -1;
		while (code->loop && at >= 0 && (uint32_t)at != code->loop->index)
			at = code->function->loops[at].parent;
		if (!block || (code->loop && at < 0))
			continue;
		most = scope->own[e];
		header = l->code->header_link_addr;
	}
	return header;
}

/* ---- the pace ---- */

/* By `of`, the other side of the calls with most samples. */
static void sides_find(uint32_t *sides, uint64_t *most, uint32_t of, uint32_t other,
		       uint64_t samples)
{
	if (samples < most[of] || (samples == most[of] && other > sides[of]))
		return;
	most[of] = samples;
	sides[of] = other;
}

/* Samples by call on the paths of the scope; -1: a call that is on none of them. */
static int64_t *calls_sum(const struct sn_phase_paths *paths, const struct sn_stack_sums *sums)
{
	int64_t *calls = sn_alloc_zeroed(paths->calls.count + 1, sizeof(*calls));

	memset(calls, 0xff, paths->calls.count * sizeof(*calls));
	for (size_t i = 0; i < sums->items.count; i++) {
		const struct sn_stack_sum *sum = &sums->items.items[i];

		for (size_t k = paths->first[sum->stack]; k < paths->first[sum->stack + 1]; k++) {
			uint32_t call = paths->call_of[k];

			if (call != SN_NONE)
				calls[call] += (int64_t)sum->samples + (calls[call] < 0);
		}
	}
	return calls;
}

static void callees_find(struct sn_pace_scope *s, const struct sn_stack_sums *sums)
{
	const struct sn_phase_paths *paths = s->phases->paths;
	size_t entities = (size_t)paths->entity_count + 1;
	uint64_t *below = sn_alloc_zeroed(entities, sizeof(*below));
	uint64_t *above = sn_alloc_zeroed(entities, sizeof(*above));
	int64_t *calls = calls_sum(paths, sums);

	s->callee = sn_alloc_zeroed(entities, sizeof(*s->callee));
	s->caller = sn_alloc_zeroed(entities, sizeof(*s->caller));
	memset(s->callee, 0xff, entities * sizeof(*s->callee));
	memset(s->caller, 0xff, entities * sizeof(*s->caller));
	for (size_t i = 0; i < paths->calls.count; i++) {
		struct sn_phase_call call = paths->calls.items[i];

		if (calls[i] < 0)
			continue;
		sides_find(s->callee, below, call.caller, call.callee, (uint64_t)calls[i]);
		sides_find(s->caller, above, call.callee, call.caller, (uint64_t)calls[i]);
	}
	free(calls);
	free(below);
	free(above);
}

static void row_see(struct sn_pace_scope *s, size_t r)
{
	const struct sn_phases *p = s->phases;
	const struct sn_intervals *in = p->intervals;
	const struct sn_interval_row *row = &in->rows.items[p->vectors->rows[r]];
	const struct sn_sparse *active = &p->activity->inclusive;
	const struct sn_entity_count *beats = p->activity->beats.items;
	size_t k = p->activity->first_beat[r], end = p->activity->first_beat[r + 1];

	s->seconds += (double)(row->end_ns - (int64_t)row->number * in->interval_ns) / 1e9;
	s->cpu_ns += (double)(row->user_ns + row->system_ns);
	s->samples += row->samples;
	/* both in the order of entities */
	for (size_t i = active->first[r]; i < active->first[r + 1]; i++) {
		while (k < end && beats[k].entity < active->columns[i])
			k++;
		if (k < end && beats[k].entity == active->columns[i])
			s->beats[active->columns[i]] += beats[k].count;
	}
}

void sn_pace_scope_init(struct sn_pace_scope *scope, const struct sn_phases *phases,
			const uint32_t *labels, uint32_t label)
{
	size_t entities = (size_t)phases->paths->entity_count + 1;
	uint8_t *has_row = sn_alloc_zeroed(phases->intervals->row_count + 1, 1);
	struct sn_stack_sums sums;

	*scope = (struct sn_pace_scope){ .phases = phases };
	scope->own = sn_alloc_zeroed(entities, sizeof(double));
	scope->beats = sn_alloc_zeroed(entities, sizeof(uint64_t));
	for (size_t r = 0; r < phases->vectors->matrix.row_count; r++) {
		if (labels[r] != label)
			continue;
		row_see(scope, r);
		has_row[phases->vectors->rows[r]] = 1;
	}
	sn_stack_sums_find(phases->intervals, has_row, &sums);
	free(has_row);
	for (size_t i = 0; i < sums.items.count; i++) {
		uint32_t leaf = phases->paths->leaf[sums.items.items[i].stack];

		if (leaf != SN_NONE)
			scope->own[leaf] += (double)sums.items.items[i].samples;
	}
	callees_find(scope, &sums);
	sn_vec_free(&sums.items);
}

void sn_pace_scope_free(struct sn_pace_scope *scope)
{
	free(scope->own);
	free(scope->beats);
	free(scope->callee);
	free(scope->caller);
}

/* Upper 95 % limit of a Poisson mean of which `count` was seen (Wilson and Hilferty 1931). */
static double poisson_upper(double count)
{
	double n = count + 1, root = 1 - 1 / (9 * n) + 1.645 / (3 * sqrt(n));

	return n * root * root * root;
}

/* Beats by an entity's own samples: a bound, and (NaN: not known) what is likely. */
struct beats {
	double most, expected;
};

static struct beats beats_of(const struct sn_pace_scope *scope, uint32_t entity)
{
	struct beats beats = { NAN, NAN };
	struct code code = code_of(scope->phases, entity);
	double seen = (double)scope->beats[entity], own = scope->own[entity], sample_ns;
	uint32_t round, usual_round;

	if (!code.function || scope->samples <= 0 || scope->cpu_ns <= 0)
		return beats;
	round = sn_shortest_round(code.function, code.loop, 0);
	if (!round)
		return beats;
	usual_round =
		sn_shortest_round(code.function, code.loop, busiest_loop(scope, &code, entity));
	if (usual_round < round)
		usual_round = round;
	sample_ns = scope->cpu_ns / scope->samples;
	beats.most = fmax(poisson_upper(own) * sample_ns / (round * least_instruction_ns), seen);
	if (own >= EXPECTED_SAMPLES_MIN)
		beats.expected = fmax(own * sample_ns / (usual_round * usual_instruction_ns), seen);
	/* code that runs more rarely finds cold caches: its instructions take longer by an unknown
	 * factor */
	if (scope->cpu_ns > beats.expected * LONG_ROUND_NS)
		beats.expected = NAN;
	return beats;
}

/* What hardly has samples of its own beats at least as often as a function that it calls, taken to
 * have one call there. */
static double expected_beats(const struct sn_pace_scope *scope, uint32_t entity, double own)
{
	for (int steps = 0; steps < CALLEES_MAX && isnan(own); steps++) {
		entity = scope->callee[entity];
		if (entity == SN_NONE)
			return NAN;
		own = beats_of(scope, entity).expected;
	}
	return own;
}

/* A function that was inlined is passed as often as the loop it stands in. */
static double inlined_beats(const struct sn_pace_scope *scope, uint32_t entity)
{
	for (int steps = 0; steps < CALLEES_MAX; steps++) {
		entity = scope->caller[entity];
		if (entity == SN_NONE)
			return NAN;
		if (sn_entity_is_loop(scope->phases->paths, entity))
			return beats_of(scope, entity).expected;
	}
	return NAN;
}

struct sn_pace sn_pace_of(const struct sn_pace_scope *scope, uint32_t entity)
{
	const struct sn_phases *p = scope->phases;
	double seen = (double)scope->beats[entity];
	struct beats beats = { seen, seen };
	struct sn_pace pace = { NAN, NAN, NAN, NAN, NAN };

	if (scope->seconds <= 0)
		return pace;
	if (sn_entity_is_loop(p->paths, entity) || p->activity->calls_source != SN_CALLS_EXACT) {
		beats = beats_of(scope, entity);
		if (isnan(beats.most))
			beats.expected = inlined_beats(scope, entity);
		else if (scope->own[entity] < EXPECTED_SAMPLES_MIN)
			beats.expected = expected_beats(scope, entity, beats.expected);
	}
	if (beats.expected > beats.most)
		beats.expected = beats.most;
	pace.at_least_hz = seen / scope->seconds;
	pace.expected_hz = beats.expected / scope->seconds;
	pace.at_most_hz = beats.most / scope->seconds;
	if (scope->cpu_ns > 0) {
		pace.expected_cost = beats.expected * SN_PACE_PAIR_NS / scope->cpu_ns;
		pace.most_cost = beats.most * SN_PACE_PAIR_NS / scope->cpu_ns;
	}
	return pace;
}

double sn_pace_cost_around(const struct sn_pace_scope *scope, uint32_t function)
{
	return scope->cpu_ns > 0 ? inlined_beats(scope, function) * SN_PACE_PAIR_NS / scope->cpu_ns
				 : NAN;
}

double sn_pace_cost(const struct sn_pace *pace, uint32_t every)
{
	double timed = 1.0 / every, counted = SN_PACE_COUNT_NS / SN_PACE_PAIR_NS;

	return pace->expected_cost * (timed + (1 - timed) * counted);
}

uint32_t sn_pace_every(const struct sn_pace *pace)
{
	uint32_t every = 1;

	while (every < EVERY_MAX && sn_pace_cost(pace, every) > SN_PACE_COST_MAX)
		every *= 2;
	return every;
}

/* Three digits of what is known, at most. */
static void rate_add(struct sn_text *out, const char *sign, double hz)
{
	if (hz >= 1000)
		sn_text_addf(out, "%s%.0f", sign,
			     round(hz / pow(10, floor(log10(hz)) - 1)) *
				     pow(10, floor(log10(hz)) - 1));
	else
		sn_text_addf(out, "%s%.3g", sign, hz);
}

void sn_pace_text(const struct sn_pace *pace, struct sn_text *out)
{
	if (pace->expected_hz > 0 && pace->expected_hz == pace->at_most_hz)
		rate_add(out, "", pace->expected_hz); /* counted */
	else if (pace->expected_hz > 0)
		rate_add(out, "~ ", pace->expected_hz);
	else if (pace->at_least_hz > 0)
		rate_add(out, ">= ", pace->at_least_hz);
	else if (pace->most_cost <= SN_PACE_COST_MAX)
		rate_add(out, "<= ", pace->at_most_hz);
	else
		sn_text_add(out, "-");
}

void sn_pace_write(const struct sn_pace *pace, struct sn_json *json)
{
	sn_json_key(json, "pace");
	sn_json_object(json);
	sn_json_member_double(json, "at_least_hz", pace->at_least_hz);
	sn_json_member_double(json, "expected_hz", pace->expected_hz);
	sn_json_member_double(json, "at_most_hz", pace->at_most_hz);
	sn_json_member_double(json, "expected_cost", pace->expected_cost);
	sn_json_member_double(json, "most_cost", pace->most_cost);
	sn_json_close(json);
}
