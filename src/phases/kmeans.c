/*
 * Lloyd's iteration with sparse rows and dense centroids. Eight clusters are compared with a row
 * at once, as their coordinates lie side by side in memory. Rows that are hardly sparse are kept a
 * second time, eight side by side: both ways add in the order of columns, and give the same bits.
 */
#include "phases/kmeans.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

enum {
	ITERATIONS_MAX = 100,
	K_STEP = 8,
	LANES = 8,	      /* rows side by side */
	DENSE_PART = 4,	      /* one entry in so many is there, for rows to be kept side by side */
	DENSE_MAX = 16 << 20, /* entries */
};

/* Centroids lie column by column, and within one cluster by cluster, padded to whole vectors: so
 * one entry of a row meets all clusters in neighbouring words. */
struct work {
	const struct sn_sparse *rows;
	uint32_t k, stride;
	double *centroids; /* [column * stride + cluster] */
	double *squares;   /* of the centroids */
	double *sums;	   /* [cluster * columns + column] */
	float *blocks; /* [(row / LANES * columns + column) * LANES + row % LANES]; NULL: sparse */
	bool is_wide;  /* the processor has AVX2 */
	struct sn_kmeans *best, *now;
};

static struct sn_kmeans *kmeans_new(size_t rows, uint32_t columns, uint32_t k)
{
	struct sn_kmeans *kmeans = sn_alloc_zeroed(1, sizeof(*kmeans));

	kmeans->k = k;
	kmeans->centroids = sn_alloc_zeroed((size_t)columns * k + 1, sizeof(double));
	kmeans->labels = sn_alloc_zeroed(rows + 1, sizeof(uint32_t));
	kmeans->distances2 = sn_alloc_zeroed(rows + 1, sizeof(double));
	kmeans->counts = sn_alloc_zeroed(k + 1, sizeof(size_t));
	kmeans->inertia = INFINITY;
	return kmeans;
}

void sn_kmeans_free(struct sn_kmeans *kmeans)
{
	if (!kmeans)
		return;
	free(kmeans->centroids);
	free(kmeans->labels);
	free(kmeans->distances2);
	free(kmeans->counts);
	free(kmeans);
}

static void blocks_make(struct work *w)
{
	const struct sn_sparse *m = w->rows;
	size_t columns = m->column_count, blocks = (m->row_count + LANES - 1) / LANES;
	size_t entries = blocks * LANES * columns;

	if (entries > DENSE_MAX || m->first[m->row_count] * DENSE_PART < entries)
		return;
	w->blocks = sn_alloc_zeroed(entries + 1, sizeof(float));
	for (size_t r = 0; r < m->row_count; r++)
		for (size_t i = m->first[r]; i < m->first[r + 1]; i++)
			w->blocks[(r / LANES * columns + m->columns[i]) * LANES + r % LANES] =
				m->values[i];
}

static void work_begin(struct work *w, const struct sn_sparse *rows, uint32_t k)
{
	w->rows = rows;
	w->k = k;
	w->stride = (k + K_STEP - 1) / K_STEP * K_STEP;
	w->centroids = sn_alloc_zeroed((size_t)rows->column_count * w->stride + 1, sizeof(double));
	w->sums = sn_alloc_zeroed((size_t)rows->column_count * w->stride + 1, sizeof(double));
	w->squares = sn_alloc_zeroed(w->stride, sizeof(double));
	w->now = kmeans_new(rows->row_count, rows->column_count, k);
	w->is_wide = __builtin_cpu_supports("avx2");
	blocks_make(w);
}

static void work_end(struct work *w)
{
	free(w->centroids);
	free(w->sums);
	free(w->squares);
	free(w->blocks);
	sn_kmeans_free(w->now);
}

static void centroids_square(struct work *w)
{
	memset(w->squares, 0, w->stride * sizeof(double));
	for (size_t c = 0; c < w->rows->column_count; c++)
		for (uint32_t j = 0; j < w->stride; j++) {
			double x = w->centroids[c * w->stride + j];

			w->squares[j] += x * x;
		}
}

/* ---- Lloyd's iteration ---- */

/* dots[0..8) = the row times eight centroids. */
static inline void row_times(const struct work *w, size_t row, uint32_t from, double *dots)
{
	const struct sn_sparse *m = w->rows;

	for (int j = 0; j < K_STEP; j++)
		dots[j] = 0;
	for (size_t i = m->first[row]; i < m->first[row + 1]; i++) {
		const double *c = w->centroids + (size_t)m->columns[i] * w->stride + from;
		double x = (double)m->values[i];

		for (int j = 0; j < K_STEP; j++)
			dots[j] += x * c[j];
	}
}

/* Loops over lanes are twice as fast with AVX2. It has no fused operations, so results are the same
 * on all processors. */
#define WIDE	  __attribute__((target("avx2")))
#define SAME_CODE static inline __attribute__((always_inline))

/* dots[cluster][lane] of two clusters from `from` on, for the rows of a block. */
SAME_CODE void block_times_in(const struct work *w, const float *block, uint32_t from,
			      double dots[2][LANES])
{
	size_t columns = w->rows->column_count;
	double one[LANES] = { 0 }, two[LANES] = { 0 };

	for (size_t c = 0; c < columns; c++) {
		const double *centroids = w->centroids + c * w->stride + from;

		for (int lane = 0; lane < LANES; lane++) {
			double x = (double)block[c * LANES + (size_t)lane];

			one[lane] += x * centroids[0];
			two[lane] += x * centroids[1];
		}
	}
	memcpy(dots[0], one, sizeof(one));
	memcpy(dots[1], two, sizeof(two));
}

WIDE static void block_times_wide(const struct work *w, const float *block, uint32_t from,
				  double dots[2][LANES])
{
	block_times_in(w, block, from, dots);
}

static void block_times(const struct work *w, const float *block, uint32_t from,
			double dots[2][LANES])
{
	if (w->is_wide)
		block_times_wide(w, block, from, dots);
	else
		block_times_in(w, block, from, dots);
}

/* Products of a row, or of all rows of its block, with all clusters. */
struct products {
	double sparse[SN_KMEANS_MAX + K_STEP], dense[SN_KMEANS_MAX + 2][LANES];
};

static void products_find(const struct work *w, size_t row, struct products *p)
{
	if (!w->blocks) {
		for (uint32_t from = 0; from < w->k; from += K_STEP)
			row_times(w, row, from, p->sparse + from);
	} else if (row % LANES == 0) {
		const float *block = w->blocks + row * w->rows->column_count;

		for (uint32_t from = 0; from < w->k; from += 2)
			block_times(w, block, from, p->dense + from);
	}
}

static uint32_t row_nearest(const struct work *w, size_t row, const struct products *p,
			    double *distance2)
{
	uint32_t best = 0;
	double least = INFINITY;

	for (uint32_t j = 0; j < w->k; j++) {
		double dot = w->blocks ? p->dense[j][row % LANES] : p->sparse[j];
		double d = w->rows->squares[row] - 2 * dot + w->squares[j];

		if (d < least) {
			least = d;
			best = j;
		}
	}
	*distance2 = least > 0 ? least : 0; /* cancellation */
	return best;
}

/* Whether any label changed. */
static bool rows_assign(struct work *w)
{
	struct sn_kmeans *now = w->now;
	struct products products;
	bool has_changed = false;

	centroids_square(w);
	memset(now->counts, 0, w->k * sizeof(size_t));
	now->inertia = 0;
	for (size_t r = 0; r < w->rows->row_count; r++) {
		uint32_t label;

		products_find(w, r, &products);
		label = row_nearest(w, r, &products, &now->distances2[r]);
		has_changed |= label != now->labels[r];
		now->labels[r] = label;
		now->counts[label]++;
		now->inertia += now->distances2[r];
	}
	return has_changed;
}

/* The row that is worst served becomes the centre of a cluster that lost all of its rows. */
static void empty_fill(struct work *w, uint32_t cluster)
{
	struct sn_kmeans *now = w->now;
	size_t farthest = 0;

	for (size_t r = 1; r < w->rows->row_count; r++)
		if (now->distances2[r] > now->distances2[farthest])
			farthest = r;
	now->distances2[farthest] = 0;
	for (size_t c = 0; c < w->rows->column_count; c++)
		w->centroids[c * w->stride + cluster] = 0;
	for (size_t i = w->rows->first[farthest]; i < w->rows->first[farthest + 1]; i++)
		w->centroids[(size_t)w->rows->columns[i] * w->stride + cluster] =
			(double)w->rows->values[i];
}

static void centroids_update(struct work *w)
{
	const struct sn_sparse *m = w->rows;
	struct sn_kmeans *now = w->now;

	memset(w->sums, 0, (size_t)m->column_count * w->stride * sizeof(double));
	for (size_t r = 0; r < m->row_count; r++) {
		double *sums = w->sums + (size_t)now->labels[r] * m->column_count;

		for (size_t i = m->first[r]; i < m->first[r + 1]; i++)
			sums[m->columns[i]] += (double)m->values[i];
	}
	for (size_t c = 0; c < m->column_count; c++)
		for (uint32_t j = 0; j < w->k; j++)
			if (now->counts[j])
				w->centroids[c * w->stride + j] =
					w->sums[j * m->column_count + c] / (double)now->counts[j];
	for (uint32_t j = 0; j < w->k; j++)
		if (!now->counts[j])
			empty_fill(w, j);
}

static void iterate(struct work *w, unsigned iterations)
{
	unsigned i = 0;

	while (rows_assign(w) && i < iterations) {
		centroids_update(w);
		i++;
	}
	w->now->iterations = i;
	for (size_t c = 0; c < w->rows->column_count; c++)
		for (uint32_t j = 0; j < w->k; j++)
			w->now->centroids[c * w->k + j] = w->centroids[c * w->stride + j];
}

/* ---- starts ---- */

static void centroid_set(struct work *w, uint32_t cluster, size_t row)
{
	for (size_t c = 0; c < w->rows->column_count; c++)
		w->centroids[c * w->stride + cluster] = 0;
	for (size_t i = w->rows->first[row]; i < w->rows->first[row + 1]; i++)
		w->centroids[(size_t)w->rows->columns[i] * w->stride + cluster] =
			(double)w->rows->values[i];
}

/* distances2[lane] of the rows of a block to a row with these coordinates. */
SAME_CODE void block_distances2_in(const float *block, const double *to, size_t columns,
				   double *distances2)
{
	double sums[LANES] = { 0 };

	for (size_t c = 0; c < columns; c++)
		for (int lane = 0; lane < LANES; lane++) {
			double d = (double)block[c * LANES + (size_t)lane] - to[c];

			sums[lane] += d * d;
		}
	memcpy(distances2, sums, sizeof(sums));
}

WIDE static void block_distances2_wide(const float *block, const double *to, size_t columns,
				       double *distances2)
{
	block_distances2_in(block, to, columns, distances2);
}

static void block_distances2(const struct work *w, const float *block, const double *to,
			     double *distances2)
{
	if (w->is_wide)
		block_distances2_wide(block, to, w->rows->column_count, distances2);
	else
		block_distances2_in(block, to, w->rows->column_count, distances2);
}

/* Squared distances of all rows to one. */
static void distances_to(const struct work *w, size_t row, double *out)
{
	const struct sn_sparse *m = w->rows;
	size_t columns = m->column_count;
	double *to;

	if (!w->blocks) {
		for (size_t r = 0; r < m->row_count; r++)
			out[r] = sn_sparse_distance2(m, r, row);
		return;
	}
	to = sn_alloc_zeroed(columns + 1, sizeof(double));
	for (size_t i = m->first[row]; i < m->first[row + 1]; i++)
		to[m->columns[i]] = (double)m->values[i];
	for (size_t r = 0; r < m->row_count; r += LANES)
		block_distances2(w, w->blocks + r * columns, to, out + r);
	free(to);
}

/* Each next centre is a row drawn with chance in proportion to its squared distance to the centres
 * so far. */
static void start(struct work *w, struct sn_random *random)
{
	size_t n = w->rows->row_count, row = (size_t)sn_random_below(random, n);
	double *nearest = w->now->distances2;
	double *distances = sn_alloc_zeroed(n + LANES, sizeof(double));

	for (size_t r = 0; r < n; r++)
		nearest[r] = INFINITY;
	for (uint32_t j = 0; j < w->k; j++) {
		double sum = 0, drawn;

		centroid_set(w, j, row);
		distances_to(w, row, distances);
		for (size_t r = 0; r < n; r++) {
			nearest[r] = distances[r] < nearest[r] ? distances[r] : nearest[r];
			sum += nearest[r];
		}
		drawn = sn_random_unit(random) * sum;
		for (row = 0; row + 1 < n && (drawn -= nearest[row]) >= 0;)
			row++;
	}
	free(distances);
	for (size_t r = 0; r < n; r++)
		w->now->labels[r] = UINT32_MAX;
}

struct sn_kmeans *sn_kmeans_fit(const struct sn_sparse *rows, uint32_t k, uint64_t seed,
				unsigned restarts)
{
	struct work w = { 0 };
	struct sn_random random;

	work_begin(&w, rows, k);
	w.best = kmeans_new(rows->row_count, rows->column_count, k);
	sn_random_seed(&random, seed);
	for (unsigned i = 0; i < restarts || !i; i++) {
		struct sn_kmeans *swapped = w.best;

		memset(w.centroids, 0, (size_t)rows->column_count * w.stride * sizeof(double));
		start(&w, &random);
		iterate(&w, ITERATIONS_MAX);
		if (w.now->inertia < w.best->inertia) {
			w.best = w.now;
			w.now = swapped;
		}
		if (k == 1)
			break;
	}
	work_end(&w);
	return w.best;
}

struct sn_kmeans *sn_kmeans_continue(const struct sn_sparse *rows, uint32_t k,
				     const double *centroids, unsigned iterations)
{
	struct work w = { 0 };
	struct sn_kmeans *out;

	work_begin(&w, rows, k);
	for (size_t c = 0; c < rows->column_count; c++)
		for (uint32_t j = 0; j < k; j++)
			w.centroids[c * w.stride + j] = centroids[c * k + j];
	for (size_t r = 0; r < rows->row_count; r++)
		w.now->labels[r] = UINT32_MAX;
	iterate(&w, iterations);
	out = w.now;
	w.now = NULL;
	work_end(&w);
	return out;
}

/* ---- silhouettes ---- */

struct silhouettes {
	const struct sn_sparse *rows;
	const uint32_t *const *labels;
	const uint32_t *ks;
	size_t count;
	double *dense;	/* the row in hand, by column */
	double *sums;	/* [clustering * SN_KMEANS_MAX + cluster]: distances to the row in hand */
	size_t *sizes;	/* likewise: rows */
	double *totals; /* by clustering */
};

static void distances_sum(struct silhouettes *s, size_t row)
{
	const struct sn_sparse *m = s->rows;

	for (size_t r = 0; r < m->row_count; r++) {
		double dot = 0, d;

		for (size_t i = m->first[r]; i < m->first[r + 1]; i++)
			dot += (double)m->values[i] * s->dense[m->columns[i]];
		d = m->squares[r] - 2 * dot + m->squares[row];
		d = d > 0 && r != row ? sqrt(d) : 0;
		for (size_t c = 0; c < s->count; c++)
			s->sums[c * SN_KMEANS_MAX + s->labels[c][r]] += d;
	}
}

static double row_silhouette(const struct silhouettes *s, size_t clustering, size_t row)
{
	const double *sums = s->sums + clustering * SN_KMEANS_MAX;
	const size_t *sizes = s->sizes + clustering * SN_KMEANS_MAX;
	uint32_t own = s->labels[clustering][row];
	double inside, outside = INFINITY, larger;

	if (sizes[own] < 2)
		return 0;
	inside = sums[own] / (double)(sizes[own] - 1);
	for (uint32_t j = 0; j < s->ks[clustering]; j++)
		if (j != own && sizes[j] && sums[j] / (double)sizes[j] < outside)
			outside = sums[j] / (double)sizes[j];
	larger = inside > outside ? inside : outside;
	return isinf(outside) || larger <= 0 ? 0 : (outside - inside) / larger;
}

void sn_silhouettes(const struct sn_sparse *rows, const uint32_t *const *labels, const uint32_t *ks,
		    size_t count, double *out)
{
	struct silhouettes s = { .rows = rows, .labels = labels, .ks = ks, .count = count };

	s.dense = sn_alloc_zeroed(rows->column_count + 1, sizeof(double));
	s.sums = sn_alloc_zeroed(count * SN_KMEANS_MAX + 1, sizeof(double));
	s.sizes = sn_alloc_zeroed(count * SN_KMEANS_MAX + 1, sizeof(size_t));
	for (size_t c = 0; c < count; c++) {
		out[c] = 0;
		for (size_t r = 0; r < rows->row_count; r++)
			s.sizes[c * SN_KMEANS_MAX + labels[c][r]]++;
	}
	for (size_t r = 0; r < rows->row_count; r++) {
		for (size_t i = rows->first[r]; i < rows->first[r + 1]; i++)
			s.dense[rows->columns[i]] = (double)rows->values[i];
		memset(s.sums, 0, count * SN_KMEANS_MAX * sizeof(double));
		distances_sum(&s, r);
		for (size_t c = 0; c < count; c++)
			out[c] += row_silhouette(&s, c, r);
		for (size_t i = rows->first[r]; i < rows->first[r + 1]; i++)
			s.dense[rows->columns[i]] = 0;
	}
	for (size_t c = 0; c < count; c++)
		out[c] = ks[c] < 2 || !rows->row_count ? NAN : out[c] / (double)rows->row_count;
	free(s.dense);
	free(s.sums);
	free(s.sizes);
}
