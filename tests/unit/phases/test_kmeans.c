#include "phases/kmeans.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "phases/choose.h"
#include "harness/tap.h"

/* `count` rows around each of `k` corners of a simplex: row r is mostly column r / count. */
static struct sn_sparse rows_make(size_t k, size_t count, double noise, uint64_t seed)
{
	struct sn_sparse m = { .row_count = k * count, .column_count = (uint32_t)k + 1 };
	struct sn_random random;
	size_t at = 0;

	sn_random_seed(&random, seed);
	m.first = sn_alloc_zeroed(m.row_count + 1, sizeof(size_t));
	m.columns = sn_alloc_zeroed(m.row_count * 2, sizeof(uint32_t));
	m.values = sn_alloc_zeroed(m.row_count * 2, sizeof(float));
	for (size_t r = 0; r < m.row_count; r++) {
		double other = noise * (sn_random_unit(&random) + sn_random_unit(&random));

		m.first[r] = at;
		m.columns[at] = (uint32_t)(r / count);
		m.values[at++] = (float)(1 - other);
		m.columns[at] = (uint32_t)k;
		m.values[at++] = (float)other;
	}
	m.first[m.row_count] = at;
	sn_sparse_finish(&m);
	return m;
}

TEST(kmeans_finds_corners_and_repeats_itself)
{
	struct sn_sparse m = rows_make(4, 25, 0.1, 1);
	struct sn_kmeans *one = sn_kmeans_fit(&m, 4, 7, 10), *two = sn_kmeans_fit(&m, 4, 7, 10);
	double inertia = 0;

	for (size_t r = 0; r < m.row_count; r++) {
		CHECK_INT(one->labels[r], one->labels[r / 25 * 25]);
		inertia += one->distances2[r];
	}
	CHECK_REAL(one->inertia, inertia, 1e-12);
	CHECK_INT(one->counts[one->labels[0]], 25);
	CHECK(!memcmp(&one->inertia, &two->inertia, sizeof(double)));
	CHECK(!memcmp(one->labels, two->labels, m.row_count * sizeof(uint32_t)));
	CHECK(!memcmp(one->centroids, two->centroids, 5 * 4 * sizeof(double)));
	sn_kmeans_free(one);
	sn_kmeans_free(two);
	sn_sparse_free(&m);
}

/* Rows of noise in `columns`, of which every third entry is missing. */
static struct sn_sparse noise_make(size_t rows, uint32_t columns)
{
	struct sn_sparse m = { .row_count = rows, .column_count = columns };
	struct sn_random random;
	size_t at = 0;

	sn_random_seed(&random, 3);
	m.first = sn_alloc_zeroed(rows + 1, sizeof(size_t));
	m.columns = sn_alloc_zeroed(rows * columns + 1, sizeof(uint32_t));
	m.values = sn_alloc_zeroed(rows * columns + 1, sizeof(float));
	for (size_t r = 0; r < rows; r++) {
		m.first[r] = at;
		for (uint32_t c = 0; c < columns; c++) {
			if (!sn_random_below(&random, 3))
				continue;
			m.columns[at] = c;
			m.values[at++] = (float)sn_random_unit(&random);
		}
	}
	m.first[rows] = at;
	sn_sparse_finish(&m);
	return m;
}

/* Columns without an entry make the same rows sparse, which are compared in another way. */
TEST(empty_columns_change_no_bit)
{
	for (uint32_t k = 1; k <= 11; k++) {
		struct sn_sparse m = noise_make(83, 21);
		struct sn_kmeans *dense = sn_kmeans_fit(&m, k, 5, 6), *sparse;

		m.column_count *= 9;
		sparse = sn_kmeans_fit(&m, k, 5, 6);
		CHECK(!memcmp(&dense->inertia, &sparse->inertia, sizeof(double)));
		CHECK(!memcmp(dense->labels, sparse->labels, 83 * sizeof(uint32_t)));
		CHECK(!memcmp(dense->distances2, sparse->distances2, 83 * sizeof(double)));
		CHECK(!memcmp(dense->centroids, sparse->centroids, 21 * k * sizeof(double)));
		sn_kmeans_free(dense);
		sn_kmeans_free(sparse);
		sn_sparse_free(&m);
	}
}

TEST(kmeans_of_one_cluster_is_the_mean)
{
	struct sn_sparse m = rows_make(2, 3, 0, 1);
	struct sn_kmeans *fit = sn_kmeans_fit(&m, 1, 1, 20);

	CHECK_REAL(fit->centroids[0], 0.5, 1e-12);
	CHECK_REAL(fit->centroids[1], 0.5, 1e-12);
	CHECK_REAL(fit->inertia, 6 * 0.5, 1e-12); /* each row is (1/2, 1/2) away */
	sn_kmeans_free(fit);
	sn_sparse_free(&m);
}

TEST(equal_rows_are_no_trouble)
{
	struct sn_sparse m = rows_make(1, 6, 0, 1);
	struct sn_kmeans *fit = sn_kmeans_fit(&m, 3, 1, 3);

	CHECK_REAL(fit->inertia, 0, 1e-12);
	sn_kmeans_free(fit);
	sn_sparse_free(&m);
}

/* Against the definition, pair by pair. */
static double silhouette_of(const struct sn_sparse *m, const uint32_t *labels, uint32_t k)
{
	double total = 0;

	for (size_t i = 0; i < m->row_count; i++) {
		double sums[8] = { 0 }, counts[8] = { 0 }, a, b = INFINITY;

		for (size_t j = 0; j < m->row_count; j++) {
			sums[labels[j]] += j == i ? 0 : sqrt(sn_sparse_distance2(m, i, j));
			counts[labels[j]] += j != i;
		}
		if (counts[labels[i]] < 1)
			continue;
		a = sums[labels[i]] / counts[labels[i]];
		for (uint32_t c = 0; c < k; c++)
			if (c != labels[i] && counts[c] > 0)
				b = fmin(b, sums[c] / counts[c]);
		total += (b - a) / fmax(a, b);
	}
	return total / (double)m->row_count;
}

TEST(silhouettes_are_those_of_the_definition)
{
	struct sn_sparse m = rows_make(3, 10, 0.3, 5);
	struct sn_kmeans *two = sn_kmeans_fit(&m, 2, 1, 5), *four = sn_kmeans_fit(&m, 4, 1, 5);
	const uint32_t *labels[] = { two->labels, four->labels };
	uint32_t ks[] = { 2, 4 };
	double out[2];

	sn_silhouettes(&m, labels, ks, 2, out);
	CHECK_REAL(out[0], silhouette_of(&m, two->labels, 2), 1e-6);
	CHECK_REAL(out[1], silhouette_of(&m, four->labels, 4), 1e-6);
	sn_kmeans_free(two);
	sn_kmeans_free(four);
	sn_sparse_free(&m);
}

TEST(the_elbow_is_the_point_farthest_below_the_chord)
{
	const struct sn_choice_row rows[] = { { 1, 10, NAN }, { 2, 5, 0 },   { 3, 1, 0 },
					      { 4, 0.8, 0 },  { 5, 0.6, 0 }, { 6, 0.5, 0 } };

	CHECK_INT(sn_elbow(rows, 6), 2);
	CHECK_INT(sn_elbow(rows, 1), 0);
}

static uint32_t k_of(size_t k, size_t count, double noise, enum sn_phase_method method)
{
	struct sn_sparse m = rows_make(k, count, noise, 11);
	uint8_t *is_clean = sn_alloc_zeroed(m.row_count, 1);
	struct sn_choose_options options = { .method = method, .seed = 1, .k = 2 };
	struct sn_choice *choice;
	uint32_t found;

	memset(is_clean, 1, m.row_count);
	choice = sn_choose(&m, is_clean, &options);
	found = choice->k;
	CHECK_INT(choice->rows.count, 8);
	CHECK(isnan(choice->rows.items[0].silhouette));
	sn_choice_free(choice);
	sn_sparse_free(&m);
	free(is_clean);
	return found;
}

TEST(the_number_of_clusters_is_found)
{
	CHECK_INT(k_of(1, 60, 0.2, SN_METHOD_SILHOUETTE), 1); /* one cluster, spread along a line */
	CHECK_INT(k_of(1, 60, 0.01, SN_METHOD_SILHOUETTE), 1);
	CHECK_INT(k_of(2, 30, 0.1, SN_METHOD_SILHOUETTE), 2);
	CHECK_INT(k_of(6, 12, 0.1, SN_METHOD_SILHOUETTE), 6);
	CHECK_INT(k_of(3, 20, 0.1, SN_METHOD_ELBOW), 3);
	CHECK_INT(k_of(5, 20, 0.1, SN_METHOD_FIXED), 2);
}

/* More rows than the model takes: a subsample forms it, all rows are assigned. */
TEST(many_rows_are_modelled_by_a_subsample)
{
	struct sn_sparse m = rows_make(3, 5000, 0.1, 3);
	uint8_t *is_clean = sn_alloc_zeroed(m.row_count, 1);
	struct sn_choose_options options = { .seed = 1, .restarts = 3, .k_max = 4 };
	struct sn_choice *choice;
	size_t wrong = 0;

	memset(is_clean, 1, m.row_count);
	choice = sn_choose(&m, is_clean, &options);
	CHECK(choice->is_subsample);
	CHECK_INT(choice->k, 3);
	for (size_t r = 0; r < m.row_count; r++)
		wrong += choice->labels[r] != choice->labels[r / 5000 * 5000];
	CHECK_INT(wrong, 0);
	sn_choice_free(choice);
	sn_sparse_free(&m);
	free(is_clean);
}
