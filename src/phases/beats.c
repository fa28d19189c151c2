/*
 * Follows the observations of every thread once, and counts where a call or an iteration of a loop
 * began, by pieces of a time grid that is common to all lengths of intervals.
 */
#include "phases/beats.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/map.h"
#include "base/text.h"
#include "phases/sparse.h"

/* ---- observations ---- */

enum { STRAYS = 4 }; /* a thread's own stacks are so many times rarer in a worker, at least */

static bool stack_tells(const struct sn_profile *profile, uint32_t stack)
{
	const struct sn_experiment *e = profile->experiment;
	const uint32_t cut = SN_STACK_TOO_DEEP | SN_STACK_NO_CFI | SN_STACK_BAD_CFI |
			     SN_STACK_UNREADABLE | SN_STACK_ABSENT;

	if (stack >= e->stacks.count || !e->stacks.items[stack].depth)
		return false;
	return sn_program_stack_is_whole(profile->program, stack) ||
	       !(e->stacks.items[stack].flags & cut);
}

static int observations_compare(const void *left, const void *right)
{
	const struct sn_observation *x = left, *y = right;

	if (x->thread != y->thread)
		return x->thread < y->thread ? -1 : 1;
	if (x->time_ns != y->time_ns)
		return x->time_ns < y->time_ns ? -1 : 1;
	return (x->stack > y->stack) - (x->stack < y->stack);
}

/* By thread: works for regions of another one. Frames of that one stand on its stacks while it
 * does, and begin and end with each region: they are no calls. The creator does its share of every
 * region and tells the calls. (Some stacks of a worker have no creator: they were taken while a
 * region began or ended. The first thread of a process is no worker.) */
static uint8_t *workers_find(const struct sn_experiment *e, const struct sn_phase_paths *paths)
{
	uint8_t *is_worker = sn_alloc_zeroed(e->threads.count + 1, 1);
	int64_t *foreign = sn_alloc_zeroed(e->threads.count + 1, sizeof(*foreign));

	for (size_t i = 0; i < e->samples.count; i++) {
		const struct sn_sample *s = &e->samples.items[i];

		if (s->stack >= e->stacks.count || s->thread >= e->threads.count)
			continue;
		if (e->stacks.items[s->stack].flags & SN_STACK_STITCHED ||
		    paths->is_between[s->stack])
			foreign[s->thread]++;
		else if (paths->first[s->stack] < paths->first[s->stack + 1])
			foreign[s->thread] -= STRAYS;
	}
	for (size_t t = 0; t < e->threads.count; t++) {
		const struct sn_thread *thread = &e->threads.items[t];

		is_worker[t] = foreign[t] > 0 && thread->process < e->processes.count &&
			       thread->tid != e->processes.items[thread->process].pid;
	}
	free(foreign);
	return is_worker;
}

static void observations_find(const struct sn_profile *profile, const struct sn_phase_paths *paths,
			      struct sn_observations *out)
{
	const struct sn_experiment *e = profile->experiment;
	uint8_t *is_worker = workers_find(e, paths);

	memset(out, 0, sizeof(*out));
	for (size_t i = 0; i < e->samples.count; i++) {
		const struct sn_sample *s = &e->samples.items[i];

		if (!(s->flags & SN_SAMPLE_REMAINDER) && s->time_ns >= 0 && !is_worker[s->thread] &&
		    sn_profile_has_sample(profile, s) && stack_tells(profile, s->stack))
			sn_vec_push(&out->items,
				    (struct sn_observation){ s->time_ns, s->thread, s->stack });
	}
	for (size_t i = 0; i < e->waits.count; i++) {
		const struct sn_wait *w = &e->waits.items[i];

		if (w->time_ns >= 0 && !is_worker[w->thread] &&
		    sn_profile_wait_elapsed_ns(profile, w) && stack_tells(profile, w->stack))
			sn_vec_push(&out->items,
				    (struct sn_observation){ w->time_ns, w->thread, w->stack });
	}
	free(is_worker);
	if (out->items.count && e->waits.count)
		qsort(out->items.items, out->items.count, sizeof(*out->items.items),
		      observations_compare);
}

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

/* ---- counts by piece ---- */

enum { SEGMENT_NONE = UINT32_MAX, AHEAD = 8 /* observations */ };

struct count {
	uint32_t entity, count;
};

/* What was counted while a thread stayed in a piece: counts.items[from .. to). */
struct segment {
	size_t from, to;
	uint32_t next; /* of the same piece */
};

struct builder {
	struct sn_phase_beats *out;
	const struct sn_profile *profile;
	const struct sn_phase_paths *paths;
	struct sn_map piece_of; /* process << 32 | number -> index */
	SN_VEC(struct sn_beats_piece) pieces;
	SN_VEC(uint32_t) last_segment; /* by piece */
	SN_VEC(struct segment) segments;
	SN_VEC(struct count) counts;
	uint32_t *of;	/* by entity: count in the present piece */
	uint64_t *sums; /* by entity: in a piece that is summed */
	uint32_t *touched;
	size_t touched_count;
	uint64_t *bits; /* for sn_columns_sort */
	uint32_t piece; /* the present one */
};

static void piece_leave(struct builder *b)
{
	struct segment segment = { .from = b->counts.count };

	if (!b->touched_count)
		return;
	for (size_t i = 0; i < b->touched_count; i++) {
		uint32_t entity = b->touched[i];

		sn_vec_push(&b->counts, (struct count){ entity, b->of[entity] });
		b->of[entity] = 0;
	}
	b->touched_count = 0;
	segment.to = b->counts.count;
	segment.next = b->last_segment.items[b->piece];
	b->last_segment.items[b->piece] = (uint32_t)b->segments.count;
	sn_vec_push(&b->segments, segment);
}

static void piece_enter(struct builder *b, uint32_t process, int64_t time_ns)
{
	uint64_t number = (uint64_t)(time_ns / b->out->grid_ns), *slot;
	bool is_new;

	if (number > UINT32_MAX) /* a damaged time: after every row */
		number = UINT32_MAX;
	if (b->pieces.count && b->pieces.items[b->piece].process == process &&
	    b->pieces.items[b->piece].number == number)
		return;
	piece_leave(b);
	slot = sn_map_put(&b->piece_of, (uint64_t)process << 32 | number, &is_new);
	if (is_new) {
		struct sn_beats_piece piece = { process, (uint32_t)number, 0 };

		*slot = b->pieces.count;
		sn_vec_push(&b->pieces, piece);
		sn_vec_push(&b->last_segment, SEGMENT_NONE);
	}
	b->piece = (uint32_t)*slot;
}

static void beat_add(struct builder *b, uint32_t entity)
{
	if (!b->of[entity]++)
		b->touched[b->touched_count++] = entity;
}

/* ---- calls ---- */

/* Follows all observations and tells each that differs from the thread's one before. `now` is one
 * more than before, or two more where the thread changed. */
static void observations_follow(struct builder *b, struct tracker *t,
				void (*see)(struct builder *, struct tracker *, uint32_t stack,
					    uint64_t now))
{
	const struct sn_experiment *e = b->profile->experiment;
	const struct sn_observation *before = NULL;
	uint64_t now = 1;

	for (size_t i = 0; i < b->out->observations.items.count; i++) {
		const struct sn_observation *o = &b->out->observations.items.items[i];

		if (i + AHEAD < b->out->observations.items.count)
			sn_path_prefetch(b->paths, o[AHEAD].stack);
		if (before && before->thread == o->thread && before->stack == o->stack)
			continue;
		now += before && before->thread == o->thread ? 1 : 2;
		before = o;
		piece_enter(b, e->threads.items[o->thread].process, o->time_ns);
		see(b, t, o->stack, now);
	}
	piece_leave(b);
}

/* A call begins where a function is on the path and was not at the thread's observation before. */
static void calls_see(struct builder *b, struct tracker *t, uint32_t stack, uint64_t now)
{
	const struct sn_phase_paths *paths = b->paths;

	for (size_t k = paths->first[stack]; k < paths->first[stack + 1]; k++) {
		uint32_t entity = paths->entities.items[k];

		if (t->last_seen[entity] != now - 1 && !sn_entity_is_loop(paths, entity)) {
			b->out->function_calls[entity]++;
			beat_add(b, entity);
		}
		t->last_seen[entity] = now;
	}
}

static void iterations_see(struct builder *b, struct tracker *t, uint32_t stack, uint64_t now)
{
	for (size_t k = t->first[stack]; k < t->first[stack + 1]; k++) {
		assert(t->parts.items); /* part k is there */
		if (part_begins(t, &t->parts.items[k], now))
			beat_add(b, t->parts.items[k].entity);
	}
}

/* Functions of the program's own file by entry. */
static void entries_index(const struct sn_program *program, struct sn_map *out)
{
	for (uint32_t f = 0; f < program->functions.count; f++) {
		const struct sn_program_function *function = &program->functions.items[f];

		if (function->link_addr && function->module != SN_NONE &&
		    program->experiment->modules.items[function->module].is_main)
			*sn_map_put(out, function->link_addr, NULL) = f + 1;
	}
}

/* Counts as an import wrote them may be larger than a count here: then they are several. */
static void calls_add(struct builder *b, int64_t time_ns, uint32_t function, uint64_t count)
{
	b->out->function_calls[function] += count;
	piece_enter(b, 0, time_ns);
	while (count) {
		uint32_t part = count > UINT32_MAX ? UINT32_MAX : (uint32_t)count;

		b->of[function] = part;
		b->touched[b->touched_count++] = function;
		piece_leave(b);
		count -= part;
	}
}

/* Lines of "TIME ADDRESS COUNT", as exchange/gmon_import.c writes them; what does not parse ends
 * it. */
static void calls_parse(struct builder *b, const char *text)
{
	struct sn_map entries = { 0 };

	entries_index(b->paths->program, &entries);
	for (const char *line = strchr(text, '\n'); line && line[1];
	     line = strchr(line + 1, '\n')) {
		char *end;
		int64_t time_ns = strtoll(line + 1, &end, 10);
		uint64_t link_addr = strtoull(end, &end, 16), count = strtoull(end, &end, 10);
		const uint64_t *function = sn_map_get(&entries, link_addr);

		if (*end != '\n' || time_ns < 0)
			break;
		if (function)
			calls_add(b, time_ns, (uint32_t)*function - 1, count);
	}
	sn_map_free(&entries);
}

/* The counts that an import of gmon.out brought along; false: there are none. */
static bool calls_read(struct builder *b)
{
	const char *folder = b->profile->experiment->path;
	struct sn_text path = { 0 };
	struct sn_file_view view;
	bool is_there;
	char *text;

	if (!folder)
		return false;
	sn_text_addf(&path, "%s/gmon.calls", folder);
	is_there = sn_file_map(path.chars, &view, NULL) == SN_OK;
	sn_text_free(&path);
	if (!is_there)
		return false;
	text = sn_strndup((const char *)view.bytes, view.length);
	calls_parse(b, text);
	b->out->is_exact = true;
	free(text);
	sn_file_unmap(&view);
	return true;
}

/* ---- all of it ---- */

static int pieces_compare(const void *left, const void *right)
{
	const struct sn_beats_piece *x = left, *y = right;

	if (x->process != y->process)
		return x->process < y->process ? -1 : 1;
	return (x->number > y->number) - (x->number < y->number);
}

static void piece_sum(struct builder *b, uint32_t piece)
{
	struct sn_phase_beats *out = b->out;

	for (uint32_t s = b->last_segment.items[piece]; s != SEGMENT_NONE;
	     s = b->segments.items[s].next)
		for (size_t i = b->segments.items[s].from; i < b->segments.items[s].to; i++) {
			const struct count *c = &b->counts.items[i];

			if (!b->sums[c->entity])
				b->touched[b->touched_count++] = c->entity;
			b->sums[c->entity] += c->count;
		}
	sn_columns_sort(b->touched, b->touched_count, b->bits, b->paths->entity_count);
	for (size_t i = 0; i < b->touched_count; i++) {
		uint32_t entity = b->touched[i];

		sn_vec_push(&out->counts, (struct sn_entity_count){ entity, b->sums[entity] });
		b->sums[entity] = 0;
	}
	b->touched_count = 0;
}

static void pieces_finish(struct builder *b)
{
	struct sn_phase_beats *out = b->out;

	for (uint32_t i = 0; i < b->pieces.count; i++)
		b->pieces.items[i].first = i; /* its index, until it is summed */
	if (b->pieces.count)
		qsort(b->pieces.items, b->pieces.count, sizeof(*b->pieces.items), pieces_compare);
	for (size_t i = 0; i < b->pieces.count; i++) {
		struct sn_beats_piece piece = b->pieces.items[i];
		uint32_t index = (uint32_t)piece.first;

		piece.first = out->counts.count;
		sn_vec_push(&out->pieces, piece);
		piece_sum(b, index);
	}
	out->piece_count = out->pieces.count;
	sn_vec_push(&out->pieces,
		    (struct sn_beats_piece){ SN_NONE, UINT32_MAX, out->counts.count });
}

static void builder_free(struct builder *b)
{
	sn_map_free(&b->piece_of);
	sn_vec_free(&b->pieces);
	sn_vec_free(&b->last_segment);
	sn_vec_free(&b->segments);
	sn_vec_free(&b->counts);
	free(b->of);
	free(b->sums);
	free(b->touched);
	free(b->bits);
}

static void tracker_begin(struct tracker *t, const struct sn_phase_paths *paths)
{
	size_t entities = (size_t)paths->entity_count + 1;

	*t = (struct tracker){ .paths = paths };
	parts_find(t);
	t->part_round = sn_alloc_zeroed(t->numbers.count + 1, sizeof(uint64_t));
	t->round = sn_alloc_zeroed(entities, sizeof(uint64_t));
	t->last_seen = sn_alloc_zeroed(entities, sizeof(uint64_t));
	t->last_part = sn_alloc_zeroed(entities, sizeof(uint32_t));
}

static void tracker_end(struct tracker *t)
{
	sn_map_free(&t->numbers);
	sn_vec_free(&t->parts);
	free(t->first);
	free(t->part_round);
	free(t->round);
	free(t->last_seen);
	free(t->last_part);
}

struct sn_phase_beats *sn_phase_beats_new(const struct sn_profile *profile,
					  const struct sn_phase_paths *paths, int64_t grid_ns)
{
	struct sn_phase_beats *beats = sn_alloc_zeroed(1, sizeof(*beats));
	struct builder b = { .out = beats, .profile = profile, .paths = paths };
	size_t entities = (size_t)paths->entity_count + 1;
	struct tracker t;

	beats->owners = 1;
	beats->grid_ns = grid_ns;
	beats->function_calls = sn_alloc_zeroed(entities, sizeof(uint64_t));
	b.of = sn_alloc_zeroed(entities, sizeof(uint32_t));
	b.sums = sn_alloc_zeroed(entities, sizeof(uint64_t));
	b.touched = sn_alloc_zeroed(entities, sizeof(uint32_t));
	b.bits = sn_alloc_zeroed(entities / 64 + 1, sizeof(uint64_t));
	observations_find(profile, paths, &beats->observations);
	tracker_begin(&t, paths);
	if (!calls_read(&b))
		observations_follow(&b, &t, calls_see);
	memset(t.last_seen, 0, entities * sizeof(uint64_t));
	observations_follow(&b, &t, iterations_see);
	tracker_end(&t);
	pieces_finish(&b);
	builder_free(&b);
	return beats;
}

struct sn_phase_beats *sn_phase_beats_share(struct sn_phase_beats *beats)
{
	beats->owners++;
	return beats;
}

void sn_phase_beats_free(struct sn_phase_beats *beats)
{
	if (!beats || --beats->owners)
		return;
	sn_vec_free(&beats->observations.items);
	sn_vec_free(&beats->pieces);
	sn_vec_free(&beats->counts);
	free(beats->function_calls);
	free(beats);
}
