/**
 * A matrix of which most entries are zero, by rows. Arrays are owned and freed together.
 */
#ifndef SN_PHASES_SPARSE_H
#define SN_PHASES_SPARSE_H

#include <stddef.h>
#include <stdint.h>

struct sn_sparse {
	size_t row_count;
	uint32_t column_count;
	size_t *first;	   /* row r: entries first[r] .. first[r + 1] - 1 */
	uint32_t *columns; /* of an entry; ascending within a row */
	float *values;
	double *squares; /* of a row: its entries squared and summed */
};

/** Fills `squares` when all entries are there. */
void sn_sparse_finish(struct sn_sparse *matrix);
/** The rows chosen, in that order. */
void sn_sparse_pick(const struct sn_sparse *matrix, const uint32_t *rows, size_t count,
		    struct sn_sparse *out);
void sn_sparse_free(struct sn_sparse *matrix);

/** Sorts numbers that are all different and less than `below`. `bits` has a zero for each of those,
 * and has so afterwards. */
void sn_columns_sort(uint32_t *columns, size_t count, uint64_t *bits, uint32_t below);

/** Squared Euclidean distance of two rows. */
double sn_sparse_distance2(const struct sn_sparse *matrix, size_t a, size_t b);

#endif
