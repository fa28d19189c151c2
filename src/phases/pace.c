#include "phases/pace.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "phases/phases.h"
#include "profile/structures.h"

/* ns: one instruction a cycle at 2.9 GHz, code around calls and loops rarely does better; and six
 * a cycle at 4 GHz */
static const double usual_instruction_ns = 0.35, least_instruction_ns = 0.04;
enum { EXPECTED_SAMPLES_MIN = 4, LONG_ROUND_NS = 26000, EVERY_MAX = 64 };

/* ---- iterations that observations tell apart ---- */

enum { PART_OWN = SN_NONE }; /* the loop's own code, which says nothing by itself */

/* A loop on a path and what of it is under way: a number of a (loop, call site or inner loop). */
struct part {
	uint32_t entity, number;
};

struct tracker {
	const struct sn_phase_paths *paths;
	struct sn_map numbers; /* entity << 32 | what -> number of the part, from 0 */
	size_t *first;	       /* by stack: parts.items[first[s] .. first[s + 1]) */
	SN_VEC(struct part) parts;
	uint64_t *part_round;	     /* by part: the loop's round in which it was seen */
	uint64_t *round, *last_seen; /* by entity */
	uint32_t *last_part;	     /* by entity */
};

static uint32_t part_number(struct tracker *t, uint32_t entity, uint32_t what)
{
	uint64_t next = t->numbers.count;
	bool is_new;
	uint64_t *number = sn_map_put(&t->numbers, (uint64_t)entity << 32 | what, &is_new);

	if (is_new)
		*number = next;
	return (uint32_t)*number;
}

static bool has_part_of(const struct tracker *t, size_t from, uint32_t entity)
{
	for (size_t i = from; i < t->parts.count; i++)
		if (t->parts.items[i].entity == entity)
			return true;
	return false;
}

/* Inner loops have the high bit set, call sites are places. The leaf has no call site. */
static void place_add(struct tracker *t, size_t from, uint32_t place_index, bool is_leaf)
{
	const struct sn_program *program = t->paths->program;
	const struct sn_program_place *place = &program->places.items[place_index];

	for (uint32_t s = 0; s < place->step_count; s++) {
		const struct sn_step *step = &program->steps.items[place->first_step + s];
		uint32_t what = is_leaf ? PART_OWN : place_index, entity;

		if (step->kind != SN_STEP_LOOP)
			continue;
		entity = t->paths->function_count + program->loops.items[step->index].source_loop;
		for (uint32_t n = s + 1; n < place->step_count; n++)
			if (step[n - s].kind == SN_STEP_LOOP) {
				what = 1u << 31 | step[n - s].index;
				break;
			}
		if (has_part_of(t, from, entity))
			continue; /* recursion: the outermost counts */
		sn_vec_push(&t->parts,
			    (struct part){ entity, what == PART_OWN
							   ? PART_OWN
							   : part_number(t, entity, what) });
	}
}

static void parts_find(struct tracker *t)
{
	const struct sn_program *program = t->paths->program;
	size_t stacks = (size_t)program->stack_count + 1;

	t->first = sn_alloc_zeroed(stacks + 1, sizeof(size_t));
	for (size_t s = 0; s < stacks; s++) {
		t->first[s] = t->parts.count;
		for (size_t i = program->first_frame[s + 1]; i-- > program->first_frame[s];)
			place_add(t, t->first[s], program->frame_places[i],
				  i == program->first_frame[s]);
	}
	t->first[stacks] = t->parts.count;
}

/* Whether a further iteration of the part's loop has begun. */
static bool part_begins(struct tracker *t, const struct part *part, uint64_t now)
{
	uint32_t e = part->entity, last = t->last_part[e];
	bool is_entered = t->last_seen[e] != now - 1, begins = is_entered;

	if (part->number != PART_OWN)
		begins |= part->number != last && t->part_round[part->number] == t->round[e];
	if (begins)
		t->round[e]++;
	if (part->number != PART_OWN)
		t->part_round[part->number] = t->round[e];
	t->last_part[e] = part->number;
	t->last_seen[e] = now;
	return begins;
}

static void observations_follow(struct tracker *t, struct sn_phase_activity *activity,
				const struct sn_intervals *intervals, const struct sn_map *row_of)
{
	const struct sn_experiment *e = intervals->profile->experiment;
	const struct sn_observation *before = NULL;
	struct sn_observations all;
	uint64_t now = 1;

	sn_observations_find(intervals->profile, t->paths, &all);
	for (size_t i = 0; i < all.items.count; i++) {
		const struct sn_observation *o = &all.items.items[i];
		uint64_t number = (uint64_t)(o->time_ns / intervals->interval_ns), *row = NULL;

		if (before && before->thread == o->thread && before->stack == o->stack)
			continue;
		now += before && before->thread == o->thread ? 1 : 2;
		before = o;
		if (number <= UINT32_MAX)
			row = sn_map_get(row_of,
					 (uint64_t)e->threads.items[o->thread].process << 32 |
						 number);
		for (size_t k = t->first[o->stack]; k < t->first[o->stack + 1]; k++)
			if (part_begins(t, &t->parts.items[k], now) && row)
				++*sn_map_put(&activity->iterations,
					      *row << 32 | t->parts.items[k].entity, NULL);
	}
	sn_vec_free(&all.items);
}

void sn_iterations_find(struct sn_phase_activity *activity, const struct sn_intervals *intervals,
			const struct sn_map *row_of)
{
	struct tracker t = { .paths = activity->paths };
	size_t entities = (size_t)t.paths->entity_count + 1;

	parts_find(&t);
	t.part_round = sn_alloc_zeroed(t.numbers.count + 1, sizeof(uint64_t));
	t.round = sn_alloc_zeroed(entities, sizeof(uint64_t));
	t.last_seen = sn_alloc_zeroed(entities, sizeof(uint64_t));
	t.last_part = sn_alloc_zeroed(entities, sizeof(uint32_t));
	observations_follow(&t, activity, intervals, row_of);
	sn_map_free(&t.numbers);
	sn_vec_free(&t.parts);
	free(t.first);
	free(t.part_round);
	free(t.round);
	free(t.last_seen);
	free(t.last_part);
}

/* ---- the shortest way round ---- */

struct walk {
	const struct sn_function *function;
	const struct sn_loop *loop; /* NULL: the function's body */
	uint32_t *distance;	    /* by block: to its end */
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

static bool is_end(const struct walk *w, uint32_t block, uint32_t start)
{
	const struct sn_block *b = &w->function->blocks[block];

	if (!w->loop)
		return (b->flags & (SN_BLOCK_RETURNS | SN_BLOCK_LEAVES)) != 0;
	for (uint32_t i = 0; i < b->successor_count; i++)
		if (w->function->successors[b->first_successor + i] == start)
			return true;
	return false;
}

/* Label-correcting search: queue of blocks whose distance fell. Every block is in it once at most,
 * so a ring of block_count + 1 holds it. */
static uint32_t walk_run(struct walk *w, uint32_t start)
{
	uint32_t ring = w->function->block_count + 1, head = 0, tail = 0, best = UINT32_MAX;

	w->distance[start] = walk_weight(w, start);
	w->queue[tail++] = start;
	while (head != tail) {
		uint32_t block = w->queue[head];
		const struct sn_block *b = &w->function->blocks[block];

		head = (head + 1) % ring;
		w->is_queued[block] = 0;
		if (is_end(w, block, start) && w->distance[block] < best)
			best = w->distance[block];
		for (uint32_t i = 0; i < b->successor_count; i++) {
			uint32_t next = w->function->successors[b->first_successor + i], length;

			if (next == start || !walk_has(w, next))
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

uint32_t sn_shortest_round(const struct sn_function *function, const struct sn_loop *loop)
{
	uint64_t from = loop ? loop->header_link_addr : function->link_addr;
	const struct sn_block *start = sn_function_block_at(function, from);
	struct walk w = { .function = function, .loop = loop };
	uint32_t round;

	if (!start || start->link_addr != from)
		return 0;
	w.distance = sn_alloc_zeroed(function->block_count, sizeof(uint32_t));
	w.queue = sn_alloc_zeroed((size_t)function->block_count + 1, sizeof(uint32_t));
	w.is_queued = sn_alloc_zeroed(function->block_count, 1);
	memset(w.distance, 0xff, function->block_count * sizeof(uint32_t));
	round = walk_run(&w, (uint32_t)(start - function->blocks));
	free(w.distance);
	free(w.queue);
	free(w.is_queued);
	return round;
}

static uint32_t entity_round(const struct sn_phases *p, uint32_t entity)
{
	const struct sn_program *program = p->paths->program;
	const struct sn_program_loop *l;
	const struct sn_program_function *f;
	const struct sn_function *function;
	const struct sn_loop *loop;
	struct sn_structure *s;

	if (!p->options.structures)
		return 0;
	if (sn_entity_is_loop(p->paths, entity)) {
		l = sn_entity_loop(p->paths, entity);
		s = sn_structures_of(p->options.structures, l->module);
		loop = s ? sn_structure_loop(s, l->function_link_addr, l->header_link_addr) : NULL;
		return loop ? sn_shortest_round(loop->function, loop) : 0;
	}
	f = &program->functions.items[entity];
	s = f->link_addr ? sn_structures_of(p->options.structures, f->module) : NULL;
	function = s ? sn_structure_function_at(s, f->link_addr) : NULL;
	if (!function || function->link_addr != f->link_addr)
		return 0; /* inlined only */
	sn_function_prepare(s, function, SN_PREPARE_CODE);
	return sn_shortest_round(function, NULL);
}

/* ---- the pace ---- */

static void row_see(struct sn_pace_scope *s, size_t r)
{
	const struct sn_phases *p = s->phases;
	const struct sn_intervals *in = p->intervals;
	const struct sn_interval_row *row = &in->rows.items[p->vectors->rows[r]];
	const struct sn_sparse *active = &p->activity->inclusive;

	s->seconds += (double)(row->end_ns - (int64_t)row->number * in->interval_ns) / 1e9;
	s->cpu_ns += (double)(row->user_ns + row->system_ns);
	s->samples += row->samples;
	for (size_t i = row[0].first_cell; i < row[1].first_cell; i++) {
		uint32_t leaf = p->paths->leaf[in->cells.items[i].stack];

		if (leaf != SN_NONE)
			s->own[leaf] += in->cells.items[i].samples;
	}
	for (size_t i = active->first[r]; i < active->first[r + 1]; i++) {
		uint32_t entity = active->columns[i];
		const struct sn_map *map = sn_entity_is_loop(p->paths, entity)
						   ? &p->activity->iterations
						   : &p->activity->calls;
		const uint64_t *count = sn_map_get(map, (uint64_t)r << 32 | entity);

		s->beats[entity] += count ? *count : 0;
	}
}

void sn_pace_scope_init(struct sn_pace_scope *scope, const struct sn_phases *phases,
			const uint32_t *labels, uint32_t label)
{
	size_t entities = (size_t)phases->paths->entity_count + 1;

	*scope = (struct sn_pace_scope){ .phases = phases };
	scope->own = sn_alloc_zeroed(entities, sizeof(double));
	scope->beats = sn_alloc_zeroed(entities, sizeof(uint64_t));
	for (size_t r = 0; r < phases->vectors->matrix.row_count; r++)
		if (labels[r] == label)
			row_see(scope, r);
}

void sn_pace_scope_free(struct sn_pace_scope *scope)
{
	free(scope->own);
	free(scope->beats);
}

/* Upper 95 % limit of a Poisson mean of which `count` was seen (Wilson and Hilferty 1931). */
static double poisson_upper(double count)
{
	double n = count + 1, root = 1 - 1 / (9 * n) + 1.645 / (3 * sqrt(n));

	return n * root * root * root;
}

struct sn_pace sn_pace_of(const struct sn_pace_scope *scope, uint32_t entity)
{
	const struct sn_phases *p = scope->phases;
	struct sn_pace pace = { NAN, NAN, NAN, NAN, NAN };
	double seen = (double)scope->beats[entity], beats = NAN, most = NAN, sample_ns;
	bool is_sampled = scope->samples > 0 && scope->cpu_ns > 0;
	uint32_t round;

	if (scope->seconds <= 0)
		return pace;
	round = is_sampled ? entity_round(p, entity) : 0;
	sample_ns = is_sampled ? scope->cpu_ns / scope->samples : 0;
	if (!sn_entity_is_loop(p->paths, entity) && p->activity->calls_source == SN_CALLS_EXACT) {
		beats = most = seen;
	} else if (round) {
		most = fmax(poisson_upper(scope->own[entity]) * sample_ns /
				    (round * least_instruction_ns),
			    seen);
		if (scope->own[entity] >= EXPECTED_SAMPLES_MIN)
			beats = fmax(scope->own[entity] * sample_ns /
					     (round * usual_instruction_ns),
				     seen);
		/* code that runs more rarely finds cold caches: its instructions take longer by an
		 * unknown factor */
		if (scope->cpu_ns > beats * LONG_ROUND_NS)
			beats = NAN;
	}
	pace.at_least_hz = seen / scope->seconds;
	pace.expected_hz = beats / scope->seconds;
	pace.at_most_hz = most / scope->seconds;
	if (scope->cpu_ns > 0) {
		pace.expected_cost = beats * SN_PACE_PAIR_NS / scope->cpu_ns;
		pace.most_cost = most * SN_PACE_PAIR_NS / scope->cpu_ns;
	}
	return pace;
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
