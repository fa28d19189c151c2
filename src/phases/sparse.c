/* Rows of (column, value) in one array each, with their squared lengths kept for distances. */
#include "phases/sparse.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

static int columns_compare(const void *left, const void *right)
{
	const uint32_t x = *(const uint32_t *)left, y = *(const uint32_t *)right;

	return (x > y) - (x < y);
}

void sn_columns_sort(uint32_t *columns, size_t count, uint64_t *bits, uint32_t below)
{
	size_t sorted = 0;

	if (count < 2)
		return;
	if (count < below / 256) { /* few: what there is not takes longer than what there is */
		qsort(columns, count, sizeof(*columns), columns_compare);
		return;
	}
	for (size_t i = 0; i < count; i++)
		bits[columns[i] / 64] |= 1ull << columns[i] % 64;
	for (uint32_t word = 0; word <= below / 64; word++)
		for (; bits[word]; bits[word] &= bits[word] - 1)
			columns[sorted++] = word * 64 + (uint32_t)__builtin_ctzll(bits[word]);
}

void sn_sparse_finish(struct sn_sparse *matrix)
{
	free(matrix->squares);
	matrix->squares = sn_alloc_zeroed(matrix->row_count + 1, sizeof(double));
	for (size_t r = 0; r < matrix->row_count; r++) {
		double sum = 0;

		for (size_t i = matrix->first[r]; i < matrix->first[r + 1]; i++)
			sum += (double)matrix->values[i] * (double)matrix->values[i];
		matrix->squares[r] = sum;
	}
}

void sn_sparse_pick(const struct sn_sparse *matrix, const uint32_t *rows, size_t count,
		    struct sn_sparse *out)
{
	size_t entries = 0;

	memset(out, 0, sizeof(*out));
	for (size_t r = 0; r < count; r++)
		entries += matrix->first[rows[r] + 1] - matrix->first[rows[r]];
	out->row_count = count;
	out->column_count = matrix->column_count;
	out->first = sn_alloc_zeroed(count + 1, sizeof(*out->first));
	out->columns = sn_alloc_zeroed(entries + 1, sizeof(*out->columns));
	out->values = sn_alloc_zeroed(entries + 1, sizeof(*out->values));
	entries = 0;
	for (size_t r = 0; r < count; r++) {
		size_t from = matrix->first[rows[r]], length = matrix->first[rows[r] + 1] - from;

		out->first[r] = entries;
		memcpy(out->columns + entries, matrix->columns + from,
		       length * sizeof(*out->columns));
		memcpy(out->values + entries, matrix->values + from, length * sizeof(*out->values));
		entries += length;
	}
	out->first[count] = entries;
	sn_sparse_finish(out);
}

void sn_sparse_free(struct sn_sparse *matrix)
{
	free(matrix->first);
	free(matrix->columns);
	free(matrix->values);
	free(matrix->squares);
	memset(matrix, 0, sizeof(*matrix));
}

double sn_sparse_distance2(const struct sn_sparse *matrix, size_t a, size_t b)
{
	size_t i = matrix->first[a], j = matrix->first[b];
	double sum = 0;

	while (i < matrix->first[a + 1] || j < matrix->first[b + 1]) {
		uint32_t ca = i < matrix->first[a + 1] ? matrix->columns[i] : UINT32_MAX;
		uint32_t cb = j < matrix->first[b + 1] ? matrix->columns[j] : UINT32_MAX;
		double d = 0;

		if (ca <= cb)
			d += (double)matrix->values[i++];
		if (cb <= ca)
			d -= (double)matrix->values[j++];
		sum += d * d;
	}
	return sum;
}
