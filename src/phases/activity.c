/*
 * Goes through all observations once and counts, for every interval, which functions and loops
 * were on the stack and where a call began. Threads that work for regions of another thread are
 * left out of calls.
 */
#include "phases/activity.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/text.h"
#include "phases/pace.h"

const char *sn_calls_source_name(enum sn_calls_source source)
{
	return source == SN_CALLS_EXACT ? "exact entry counts" : "estimated from the samples";
}

/* ---- sparse rows by a key of each stack ---- */

struct rows_builder {
	const struct sn_intervals *intervals;
	const struct sn_phase_vectors *vectors;
	const struct sn_phase_paths *paths;
	double *dense;
	SN_VEC(uint32_t) touched;
	SN_VEC(uint32_t) columns;
	SN_VEC(float) values;
};

static void dense_add(struct rows_builder *b, uint32_t column, double ns)
{
	if (b->dense[column] == 0)
		sn_vec_push(&b->touched, column);
	b->dense[column] += ns;
}

static int numbers_compare(const void *left, const void *right)
{
	const uint32_t x = *(const uint32_t *)left, y = *(const uint32_t *)right;

	return (x > y) - (x < y);
}

static void cell_add(struct rows_builder *b, const struct sn_interval_cell *cell, bool is_inclusive)
{
	double ns = (double)sn_interval_cell_ns(cell);

	if (ns <= 0)
		return;
	if (!is_inclusive) {
		dense_add(b, b->paths->function[cell->stack], ns);
		return;
	}
	for (size_t i = b->paths->first[cell->stack]; i < b->paths->first[cell->stack + 1]; i++)
		dense_add(b, b->paths->entities.items[i], ns);
}

static void rows_build(struct rows_builder *b, bool is_inclusive, struct sn_sparse *out)
{
	const struct sn_interval_row *rows = b->intervals->rows.items;
	size_t count = b->vectors->matrix.row_count;

	memset(&b->columns, 0, sizeof(b->columns));
	memset(&b->values, 0, sizeof(b->values));
	memset(out, 0, sizeof(*out));
	out->row_count = count;
	out->column_count = b->paths->entity_count;
	out->first = sn_alloc_zeroed(count + 1, sizeof(size_t));
	for (size_t r = 0; r < count; r++) {
		const struct sn_interval_row *row = &rows[b->vectors->rows[r]];
		double total = (double)sn_interval_row_ns(row);

		out->first[r] = b->columns.count;
		b->touched.count = 0;
		for (size_t i = row[0].first_cell; i < row[1].first_cell; i++)
			cell_add(b, &b->intervals->cells.items[i], is_inclusive);
		if (b->touched.count)
			qsort(b->touched.items, b->touched.count, sizeof(uint32_t),
			      numbers_compare);
		for (size_t i = 0; i < b->touched.count; i++) {
			uint32_t column = b->touched.items[i];

			sn_vec_push(&b->columns, column);
			sn_vec_push(&b->values, (float)(b->dense[column] / total));
			b->dense[column] = 0;
		}
	}
	out->first[count] = b->columns.count;
	sn_vec_push(&b->columns, 0);
	sn_vec_push(&b->values, 0);
	out->columns = b->columns.items;
	out->values = b->values.items;
	sn_sparse_finish(out);
}

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

void sn_observations_find(const struct sn_profile *profile, const struct sn_phase_paths *paths,
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

/* ---- calls ---- */

/* Interval row (process, number) to matrix row. */
static void rows_index(const struct sn_intervals *intervals, const struct sn_phase_vectors *vectors,
		       struct sn_map *out)
{
	for (size_t r = 0; r < vectors->matrix.row_count; r++) {
		const struct sn_interval_row *row = &intervals->rows.items[vectors->rows[r]];

		*sn_map_put(out, (uint64_t)row->process << 32 | row->number, NULL) = r;
	}
}

void sn_row_counts_begin(struct sn_row_counts *c, struct sn_map *counts, size_t entities)
{
	*c = (struct sn_row_counts){ .counts = counts };
	c->of = sn_alloc_zeroed(entities + 1, sizeof(*c->of));
}

static void row_counts_flush(struct sn_row_counts *c)
{
	for (size_t i = 0; i < c->touched.count; i++) {
		uint32_t entity = c->touched.items[i];

		*sn_map_put(c->counts, c->row << 32 | entity, NULL) += c->of[entity];
		c->of[entity] = 0;
	}
	c->touched.count = 0;
}

void sn_row_counts_add(struct sn_row_counts *c, uint64_t row, uint32_t entity)
{
	if (row != c->row)
		row_counts_flush(c);
	c->row = row;
	if (!c->of[entity]++)
		sn_vec_push(&c->touched, entity);
}

void sn_row_counts_end(struct sn_row_counts *c)
{
	row_counts_flush(c);
	sn_vec_free(&c->touched);
	free(c->of);
}

static void call_add(struct sn_phase_activity *activity, const uint64_t *row, uint32_t function,
		     uint64_t count)
{
	activity->function_calls[function] += count;
	if (row)
		*sn_map_put(&activity->calls, *row << 32 | function, NULL) += count;
}

/* A call begins where a function is on the path and was not at the thread's observation before. */
static void calls_estimate(struct sn_phase_activity *activity, const struct sn_intervals *intervals,
			   const struct sn_map *row_of)
{
	const struct sn_phase_paths *paths = activity->paths;
	const struct sn_experiment *e = intervals->profile->experiment;
	uint64_t *seen = sn_alloc_zeroed((size_t)paths->entity_count + 1, sizeof(uint64_t)),
		 now = 1;
	struct sn_row_counts counts;
	struct sn_observations all;
	const struct sn_observation *before = NULL;

	sn_row_counts_begin(&counts, &activity->calls, paths->entity_count);
	sn_observations_find(intervals->profile, paths, &all);
	for (size_t i = 0; i < all.items.count; i++) {
		const struct sn_observation *o = &all.items.items[i];
		uint32_t process = e->threads.items[o->thread].process;
		uint64_t number = (uint64_t)(o->time_ns / intervals->interval_ns), *row;

		if (before && before->thread == o->thread && before->stack == o->stack)
			continue;
		now += before && before->thread == o->thread ? 1 : 2;
		before = o;
		row = number > UINT32_MAX ? NULL
					  : sn_map_get(row_of, (uint64_t)process << 32 | number);
		for (size_t k = paths->first[o->stack]; k < paths->first[o->stack + 1]; k++) {
			uint32_t entity = paths->entities.items[k];

			if (seen[entity] != now - 1 && !sn_entity_is_loop(paths, entity)) {
				activity->function_calls[entity]++;
				if (row)
					sn_row_counts_add(&counts, *row, entity);
			}
			seen[entity] = now;
		}
	}
	sn_row_counts_end(&counts);
	sn_vec_free(&all.items);
	free(seen);
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

/* Lines of "TIME ADDRESS COUNT", as exchange/gmon_import.c writes them; what does not parse ends
 * it. */
static void calls_parse(struct sn_phase_activity *activity, const struct sn_intervals *intervals,
			const struct sn_map *row_of, const char *text)
{
	struct sn_map entries = { 0 };

	entries_index(activity->paths->program, &entries);
	for (const char *line = strchr(text, '\n'); line && line[1];
	     line = strchr(line + 1, '\n')) {
		char *end;
		int64_t time_ns = strtoll(line + 1, &end, 10);
		uint64_t link_addr = strtoull(end, &end, 16), count = strtoull(end, &end, 10);
		const uint64_t *function = sn_map_get(&entries, link_addr);

		if (*end != '\n' || time_ns < 0)
			break;
		if (function)
			call_add(activity,
				 sn_map_get(row_of, (uint64_t)(time_ns / intervals->interval_ns)),
				 (uint32_t)*function - 1, count);
	}
	sn_map_free(&entries);
}

/* The counts that an import of gmon.out brought along; false: there are none. */
static bool calls_read(struct sn_phase_activity *activity, const struct sn_intervals *intervals,
		       const struct sn_map *row_of)
{
	const char *folder = intervals->profile->experiment->path;
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
	calls_parse(activity, intervals, row_of, text);
	activity->calls_source = SN_CALLS_EXACT;
	free(text);
	sn_file_unmap(&view);
	return true;
}

uint64_t sn_phase_calls(const struct sn_phase_activity *activity, size_t row, uint32_t function)
{
	const uint64_t *calls = sn_map_get(&activity->calls, (uint64_t)row << 32 | function);

	return calls ? *calls : 0;
}

/* ---- depths ---- */

static void depths_find(struct sn_phase_activity *activity, const struct sn_intervals *intervals)
{
	const struct sn_phase_paths *paths = activity->paths;
	double total = 0;

	activity->depths = sn_alloc_zeroed((size_t)paths->entity_count + 1, sizeof(double));
	activity->shares = sn_alloc_zeroed((size_t)paths->entity_count + 1, sizeof(double));
	for (size_t i = 0; i < intervals->cells.count; i++) {
		const struct sn_interval_cell *cell = &intervals->cells.items[i];
		double ns = (double)sn_interval_cell_ns(cell);
		size_t from = paths->first[cell->stack];

		total += ns;
		for (size_t k = from; k < paths->first[cell->stack + 1]; k++) {
			activity->depths[paths->entities.items[k]] += ns * (double)(k - from);
			activity->shares[paths->entities.items[k]] += ns;
		}
	}
	for (uint32_t e = 0; e < paths->entity_count; e++) {
		if (activity->shares[e] > 0)
			activity->depths[e] /= activity->shares[e];
		activity->shares[e] /= total > 0 ? total : 1;
	}
}

struct sn_phase_activity *sn_phase_activity_new(const struct sn_intervals *intervals,
						const struct sn_phase_vectors *vectors,
						const struct sn_phase_paths *paths)
{
	struct sn_phase_activity *activity = sn_alloc_zeroed(1, sizeof(*activity));
	struct rows_builder b = { .intervals = intervals, .vectors = vectors, .paths = paths };
	struct sn_map row_of = { 0 };

	activity->paths = paths;
	b.dense = sn_alloc_zeroed((size_t)paths->entity_count + 1, sizeof(double));
	rows_build(&b, false, &activity->self);
	rows_build(&b, true, &activity->inclusive);
	activity->function_calls =
		sn_alloc_zeroed((size_t)paths->function_count + 1, sizeof(uint64_t));
	rows_index(intervals, vectors, &row_of);
	if (!calls_read(activity, intervals, &row_of))
		calls_estimate(activity, intervals, &row_of);
	sn_iterations_find(activity, intervals, &row_of);
	depths_find(activity, intervals);
	sn_map_free(&row_of);
	sn_vec_free(&b.touched);
	free(b.dense);
	return activity;
}

void sn_phase_activity_free(struct sn_phase_activity *activity)
{
	if (!activity)
		return;
	sn_sparse_free(&activity->self);
	sn_sparse_free(&activity->inclusive);
	sn_map_free(&activity->calls);
	sn_map_free(&activity->iterations);
	free(activity->function_calls);
	free(activity->depths);
	free(activity->shares);
	free(activity);
}
