/*
 * Sums, for every interval, which functions and loops were on the stack, and shares out the calls
 * and iterations that were seen to begin.
 */
#include "phases/activity.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

const char *sn_calls_source_name(enum sn_calls_source source)
{
	return source == SN_CALLS_EXACT ? "exact entry counts" : "estimated from the samples";
}

/* ---- sparse rows by a key of each stack ---- */

enum { AHEAD = 8 }; /* cells */

struct rows_builder {
	const struct sn_intervals *intervals;
	const struct sn_phase_vectors *vectors;
	const struct sn_phase_paths *paths;
	double *dense;
	uint64_t *counts, *bits; /* by entity; for sn_columns_sort */
	uint32_t *touched;	 /* columns of the row in hand */
	size_t touched_count;
	SN_VEC(uint32_t) columns;
	SN_VEC(float) values;
};

static void dense_add(struct rows_builder *b, uint32_t column, double ns)
{
	/* without a branch: which columns are new cannot be foreseen */
	b->touched[b->touched_count] = column;
	b->touched_count += b->dense[column] == 0;
	b->dense[column] += ns;
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
		b->touched_count = 0;
		for (size_t i = row[0].first_cell; i < row[1].first_cell; i++) {
			if (is_inclusive && i + AHEAD < row[1].first_cell)
				sn_path_prefetch(b->paths,
						 b->intervals->cells.items[i + AHEAD].stack);
			cell_add(b, &b->intervals->cells.items[i], is_inclusive);
		}
		sn_columns_sort(b->touched, b->touched_count, b->bits, b->paths->entity_count);
		for (size_t i = 0; i < b->touched_count; i++) {
			uint32_t column = b->touched[i];

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

/* ---- calls and iterations ---- */

static bool piece_is_in(const struct sn_beats_piece *piece, const struct sn_interval_row *row,
			uint64_t pieces_each)
{
	return piece->process == row->process && piece->number / pieces_each == row->number;
}

static bool piece_is_before(const struct sn_beats_piece *piece, const struct sn_interval_row *row,
			    uint64_t pieces_each)
{
	return piece->process != row->process ? piece->process < row->process
					      : piece->number / pieces_each < row->number;
}

/* One piece after the other: an entity may be told several times. */
static void row_beats_add(struct rows_builder *b, const struct sn_phase_beats *beats, size_t from,
			  size_t to, struct sn_phase_activity *activity)
{
	b->touched_count = 0;
	for (size_t i = beats->pieces.items[from].first; i < beats->pieces.items[to].first; i++) {
		const struct sn_entity_count *c = &beats->counts.items[i];

		if (!b->counts[c->entity])
			b->touched[b->touched_count++] = c->entity;
		b->counts[c->entity] += c->count;
	}
	sn_columns_sort(b->touched, b->touched_count, b->bits, b->paths->entity_count);
	for (size_t i = 0; i < b->touched_count; i++) {
		uint32_t entity = b->touched[i];

		sn_vec_push(&activity->beats,
			    (struct sn_entity_count){ entity, b->counts[entity] });
		b->counts[entity] = 0;
	}
}

/* Rows and pieces are in the same order, so one walk over both will do. */
static void beats_share_out(struct rows_builder *b, const struct sn_phase_beats *beats,
			    struct sn_phase_activity *activity)
{
	size_t rows = b->vectors->matrix.row_count, at = 0;
	uint64_t pieces_each = (uint64_t)(b->intervals->interval_ns / beats->grid_ns);

	activity->first_beat = sn_alloc_zeroed(rows + 1, sizeof(size_t));
	for (size_t r = 0; r < rows; r++) {
		const struct sn_interval_row *row = &b->intervals->rows.items[b->vectors->rows[r]];
		const struct sn_beats_piece *pieces = beats->pieces.items;
		size_t from;

		while (at < beats->piece_count && piece_is_before(&pieces[at], row, pieces_each))
			at++;
		from = at;
		while (at < beats->piece_count && piece_is_in(&pieces[at], row, pieces_each))
			at++;
		activity->first_beat[r] = activity->beats.count;
		row_beats_add(b, beats, from, at, activity);
	}
	activity->first_beat[rows] = activity->beats.count;
}

uint64_t sn_phase_beats_of(const struct sn_phase_activity *activity, size_t row, uint32_t entity)
{
	size_t low = activity->first_beat[row], high = activity->first_beat[row + 1], end = high;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (activity->beats.items[middle].entity < entity)
			low = middle + 1;
		else
			high = middle;
	}
	return low < end && activity->beats.items[low].entity == entity
		       ? activity->beats.items[low].count
		       : 0;
}

/* ---- depths ---- */

static void depths_find(struct sn_phase_activity *activity, const struct sn_intervals *intervals)
{
	const struct sn_phase_paths *paths = activity->paths;
	struct sn_stack_sums sums;
	double total = 0;

	sn_stack_sums_find(intervals, NULL, &sums);
	activity->depths = sn_alloc_zeroed((size_t)paths->entity_count + 1, sizeof(double));
	activity->shares = sn_alloc_zeroed((size_t)paths->entity_count + 1, sizeof(double));
	for (size_t i = 0; i < sums.items.count; i++) {
		uint32_t stack = sums.items.items[i].stack;
		double ns = (double)sums.items.items[i].ns;
		size_t from = paths->first[stack];

		total += ns;
		for (size_t k = from; k < paths->first[stack + 1]; k++) {
			activity->depths[paths->entities.items[k]] += ns * (double)(k - from);
			activity->shares[paths->entities.items[k]] += ns;
		}
	}
	for (uint32_t e = 0; e < paths->entity_count; e++) {
		if (activity->shares[e] > 0)
			activity->depths[e] /= activity->shares[e];
		activity->shares[e] /= total > 0 ? total : 1;
	}
	sn_vec_free(&sums.items);
}

struct sn_phase_activity *sn_phase_activity_new(const struct sn_intervals *intervals,
						const struct sn_phase_vectors *vectors,
						const struct sn_phase_paths *paths,
						const struct sn_phase_beats *beats)
{
	struct sn_phase_activity *activity = sn_alloc_zeroed(1, sizeof(*activity));
	struct rows_builder b = { .intervals = intervals, .vectors = vectors, .paths = paths };
	size_t entities = (size_t)paths->entity_count + 1;

	activity->paths = paths;
	b.dense = sn_alloc_zeroed(entities, sizeof(double));
	b.touched = sn_alloc_zeroed(entities, sizeof(uint32_t));
	b.counts = sn_alloc_zeroed(entities, sizeof(uint64_t));
	b.bits = sn_alloc_zeroed(entities / 64 + 1, sizeof(uint64_t));
	rows_build(&b, false, &activity->self);
	rows_build(&b, true, &activity->inclusive);
	activity->function_calls = beats->function_calls;
	activity->calls_source = beats->is_exact ? SN_CALLS_EXACT : SN_CALLS_ESTIMATED;
	beats_share_out(&b, beats, activity);
	depths_find(activity, intervals);
	free(b.touched);
	free(b.dense);
	free(b.counts);
	free(b.bits);
	return activity;
}

void sn_phase_activity_free(struct sn_phase_activity *activity)
{
	if (!activity)
		return;
	sn_sparse_free(&activity->self);
	sn_sparse_free(&activity->inclusive);
	sn_vec_free(&activity->beats);
	free(activity->first_beat);
	free(activity->depths);
	free(activity->shares);
	free(activity);
}
