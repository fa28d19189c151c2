/*
 * Makes a vector of fractions of each interval, joins columns that are rare, and marks the rows
 * that can form a model: enough samples, and no mixture of their neighbours.
 */
#include "phases/vectors.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/map.h"

enum { SAMPLES_LEAST = 3, SAMPLES_ENOUGH = 20, CLEAN_MIN = 4 };

/* A row is a mixture of its neighbours if its distance from the best mixture is less than this
 * fraction of the distance between them. The neighbours must differ by this much to be two phases. */
static const double mixture_rest = 0.35, step_min = 0.3;

struct builder {
	struct sn_phase_vectors *out;
	const struct sn_intervals *intervals;
	const struct sn_phase_paths *paths;
	struct sn_map column_of; /* hash of function, loop and kind -> column */
	uint32_t *stack_columns; /* [stack * SN_PHASE_KINDS + kind], SN_NONE: not asked yet */
	double *dense;		 /* the row in hand, by column */
	SN_VEC(uint32_t) touched;
};

static uint32_t column_of(struct builder *b, uint32_t stack, uint32_t kind)
{
	uint32_t *known = &b->stack_columns[(size_t)stack * SN_PHASE_KINDS + kind];
	uint32_t key[3] = { b->paths->function[stack], b->paths->loop[stack], kind };
	bool is_new;
	uint64_t *slot;

	if (*known != SN_NONE)
		return *known;
	slot = sn_map_put(&b->column_of, sn_hash_bytes(key, sizeof(key)), &is_new);
	if (is_new) {
		struct sn_phase_column column = { key[0], key[1], kind, 0 };

		*slot = b->out->columns.count;
		sn_vec_push(&b->out->columns, column);
	}
	*known = (uint32_t)*slot;
	return *known;
}

static uint64_t cell_time(const struct sn_interval_cell *cell, uint32_t kind)
{
	return kind == SN_PHASE_USER	 ? cell->user_ns
	       : kind == SN_PHASE_SYSTEM ? cell->system_ns
					 : cell->blocked_ns;
}

/* All columns first, with their totals; then the small ones are joined. */
static uint32_t *columns_find(struct builder *b)
{
	struct sn_phase_vectors *out = b->out;
	uint64_t total = 0;
	uint32_t *final, small[SN_PHASE_KINDS] = { SN_NONE, SN_NONE, SN_NONE };
	size_t kept = 0, count;

	for (size_t i = 0; i < b->intervals->cells.count; i++)
		for (uint32_t kind = 0; kind < SN_PHASE_KINDS; kind++) {
			const struct sn_interval_cell *cell = &b->intervals->cells.items[i];
			uint64_t ns = cell_time(cell, kind);
			uint32_t column;

			if (!ns)
				continue;
			column = column_of(b, cell->stack, kind); /* may move the columns */
			out->columns.items[column].total_ns += ns;
			total += ns;
		}
	count = out->columns.count;
	final = sn_alloc_zeroed(count + 1, sizeof(uint32_t));
	for (size_t c = 0; c < count; c++) {
		struct sn_phase_column column = out->columns.items[c];
		bool is_small = column.total_ns < total / 1000;

		if (is_small && small[column.kind] != SN_NONE) {
			final[c] = small[column.kind];
			out->columns.items[final[c]].total_ns += column.total_ns;
			continue;
		}
		if (is_small) {
			small[column.kind] = (uint32_t)kept;
			column.function = column.loop = SN_NONE;
		}
		final[c] = (uint32_t)kept;
		out->columns.items[kept++] = column;
	}
	out->columns.count = kept;
	return final;
}

static int numbers_compare(const void *left, const void *right)
{
	const uint32_t x = *(const uint32_t *)left, y = *(const uint32_t *)right;

	return (x > y) - (x < y);
}

static void row_sum(struct builder *b, size_t row, const uint32_t *final)
{
	const struct sn_interval_row *rows = b->intervals->rows.items;

	b->touched.count = 0;
	for (size_t i = rows[row].first_cell; i < rows[row + 1].first_cell; i++)
		for (uint32_t kind = 0; kind < SN_PHASE_KINDS; kind++) {
			const struct sn_interval_cell *cell = &b->intervals->cells.items[i];
			uint64_t ns = cell_time(cell, kind);
			uint32_t column;

			if (!ns)
				continue;
			column = final[column_of(b, cell->stack, kind)];
			if (b->dense[column] == 0)
				sn_vec_push(&b->touched, column);
			b->dense[column] += (double)ns;
		}
	if (b->touched.count)
		qsort(b->touched.items, b->touched.count, sizeof(uint32_t), numbers_compare);
}

static void matrix_fill(struct builder *b, const uint32_t *final)
{
	struct sn_sparse *m = &b->out->matrix;
	SN_VEC(uint32_t) columns = { 0 };
	SN_VEC(float) values = { 0 };

	b->out->rows = sn_alloc_zeroed(b->intervals->busy_count + 1, sizeof(uint32_t));
	m->first = sn_alloc_zeroed(b->intervals->busy_count + 1, sizeof(size_t));
	m->column_count = (uint32_t)b->out->columns.count;
	for (size_t r = 0; r < b->intervals->row_count; r++) {
		double sum = 0;

		if (b->intervals->rows.items[r].is_idle)
			continue;
		row_sum(b, r, final);
		for (size_t i = 0; i < b->touched.count; i++)
			sum += b->dense[b->touched.items[i]];
		b->out->rows[m->row_count] = (uint32_t)r;
		m->first[m->row_count++] = columns.count;
		for (size_t i = 0; i < b->touched.count; i++) {
			uint32_t column = b->touched.items[i];

			sn_vec_push(&columns, column);
			sn_vec_push(&values, (float)(b->dense[column] / sum));
			b->dense[column] = 0;
		}
	}
	m->first[m->row_count] = columns.count;
	sn_vec_push(&columns, 0);
	sn_vec_push(&values, 0);
	m->columns = columns.items;
	m->values = values.items;
	sn_sparse_finish(m);
}

/* ---- which rows form the model ---- */

/* Enough is a quarter of what a busy row usually has: where the program gets little CPU, little
 * must do. */
static bool row_is_seen(const struct sn_intervals *intervals, const struct sn_interval_row *row)
{
	double enough = intervals->median_samples / 4;

	enough = !(enough > SAMPLES_LEAST) ? SAMPLES_LEAST
		 : enough < SAMPLES_ENOUGH ? enough
					   : SAMPLES_ENOUGH;
	if ((row->end_ns - (int64_t)row->number * intervals->interval_ns) * 4 <
	    intervals->interval_ns * 3)
		return false; /* the end of a process: not comparable to whole intervals */
	return row->samples >= enough ||
	       sn_interval_row_ns(row) * 5 >= (uint64_t)intervals->interval_ns;
}

/* Whether the row between two others is a mixture of them: a phase ended in it. With d = |a - c|,
 * the foot of x on the line from a to c is at t, and its distance from the line is h: |a - x|^2 =
 * (t d)^2 + h^2 and |c - x|^2 = ((1 - t) d)^2 + h^2. */
static bool row_is_mixture(const struct sn_sparse *m, size_t row)
{
	double d2 = sn_sparse_distance2(m, row - 1, row + 1);
	double a2 = sn_sparse_distance2(m, row - 1, row), c2 = sn_sparse_distance2(m, row, row + 1);
	double t, h2;

	if (d2 < step_min * step_min)
		return false;
	t = (a2 - c2 + d2) / (2 * d2);
	h2 = a2 - t * t * d2;
	return t > 0.1 && t < 0.9 && h2 < mixture_rest * mixture_rest * d2;
}

static bool rows_follow(const struct sn_phase_vectors *vectors,
			const struct sn_intervals *intervals, size_t at)
{
	const struct sn_interval_row *a = &intervals->rows.items[vectors->rows[at]];
	const struct sn_interval_row *b = &intervals->rows.items[vectors->rows[at + 1]];

	return a->process == b->process && a->number + 1 == b->number;
}

static void clean_mark(struct sn_phase_vectors *vectors, const struct sn_intervals *intervals)
{
	size_t count = vectors->matrix.row_count;

	vectors->is_clean = sn_alloc_zeroed(count + 1, 1);
	for (size_t r = 0; r < count; r++) {
		bool is_mixture =
			r > 0 && r + 1 < count && rows_follow(vectors, intervals, r - 1) &&
			rows_follow(vectors, intervals, r) && row_is_mixture(&vectors->matrix, r);

		vectors->is_clean[r] =
			!is_mixture &&
			row_is_seen(intervals, &intervals->rows.items[vectors->rows[r]]);
		vectors->clean_count += vectors->is_clean[r];
	}
	if (vectors->clean_count >= CLEAN_MIN)
		return;
	memset(vectors->is_clean, 1, count);
	vectors->clean_count = count;
}

struct sn_phase_vectors *sn_phase_vectors_new(const struct sn_intervals *intervals,
					      const struct sn_phase_paths *paths)
{
	struct sn_phase_vectors *vectors = sn_alloc_zeroed(1, sizeof(*vectors));
	struct builder b = { .out = vectors, .intervals = intervals, .paths = paths };
	size_t stacks = ((size_t)paths->program->stack_count + 1) * SN_PHASE_KINDS;
	uint32_t *final;

	b.stack_columns = sn_alloc_zeroed(stacks, sizeof(uint32_t));
	memset(b.stack_columns, 0xff, stacks * sizeof(uint32_t));
	final = columns_find(&b);
	b.dense = sn_alloc_zeroed(vectors->columns.count + 1, sizeof(double));
	matrix_fill(&b, final);
	clean_mark(vectors, intervals);
	sn_map_free(&b.column_of);
	sn_vec_free(&b.touched);
	for (size_t i = 0; i < stacks; i++)
		if (b.stack_columns[i] != SN_NONE)
			b.stack_columns[i] = final[b.stack_columns[i]];
	vectors->stack_columns = b.stack_columns;
	vectors->stack_count = paths->program->stack_count;
	free(b.dense);
	free(final);
	return vectors;
}

void sn_phase_vectors_free(struct sn_phase_vectors *vectors)
{
	if (!vectors)
		return;
	sn_sparse_free(&vectors->matrix);
	free(vectors->rows);
	free(vectors->is_clean);
	free(vectors->stack_columns);
	sn_vec_free(&vectors->columns);
	free(vectors);
}
