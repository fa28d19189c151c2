/*
 * Runs k-means for each number of clusters, scores the results, and applies the rule that was
 * asked for. Large runs are fitted on a sample of their rows; then every row is assigned.
 */
#include "phases/choose.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

enum {
	K_MAX_DEFAULT = 8,
	RESTARTS_DEFAULT = 20,
	MODEL_ROWS_MAX = 8192,	    /* k-means for every k */
	SILHOUETTE_ROWS_MAX = 3000, /* all pairs */
	ITERATIONS_ALL = 10,	    /* of the chosen k on all rows */
};

static const double silhouette_min = 0.5, silhouette_margin = 0.03, apart_gap = 4.0,
		    apart_min = 0.1;

struct model {
	const struct sn_sparse *rows; /* those that form it */
	struct sn_kmeans *fits[SN_KMEANS_MAX + 1];
	struct sn_choice *out;
};

/* ---- seeded subsamples, in the order of the rows ---- */

/* Chooses `wanted` of `count` without repetition (selection sampling, Knuth 3.4.2 algorithm S). */
static size_t subsample(uint64_t seed, const uint32_t *from, size_t count, size_t wanted,
			uint32_t *out)
{
	struct sn_random random;
	size_t chosen = 0;

	sn_random_seed(&random, seed);
	for (size_t i = 0; i < count && chosen < wanted; i++)
		if (count <= wanted || sn_random_below(&random, count - i) < wanted - chosen)
			out[chosen++] = from[i];
	return chosen;
}

/* ---- silhouettes ---- */

static void silhouettes_find(struct model *m, uint64_t seed)
{
	size_t count = m->rows->row_count, ks = m->out->rows.count, picked;
	uint32_t *all = sn_alloc_zeroed(count + 1, sizeof(uint32_t));
	uint32_t *pick = sn_alloc_zeroed(count + 1, sizeof(uint32_t));
	uint32_t **labels = sn_alloc_zeroed(ks, sizeof(*labels));
	uint32_t numbers[SN_KMEANS_MAX + 1];
	double values[SN_KMEANS_MAX + 1];
	struct sn_sparse rows;

	for (size_t r = 0; r < count; r++)
		all[r] = (uint32_t)r;
	picked = subsample(seed, all, count, SILHOUETTE_ROWS_MAX, pick);
	sn_sparse_pick(m->rows, pick, picked, &rows);
	for (size_t i = 0; i < ks; i++) {
		numbers[i] = m->out->rows.items[i].k;
		labels[i] = sn_alloc_zeroed(picked + 1, sizeof(uint32_t));
		for (size_t r = 0; r < picked; r++)
			labels[i][r] = m->fits[numbers[i]]->labels[pick[r]];
	}
	sn_silhouettes(&rows, (const uint32_t *const *)labels, numbers, ks, values);
	for (size_t i = 0; i < ks; i++) {
		m->out->rows.items[i].silhouette = values[i];
		free(labels[i]);
	}
	sn_sparse_free(&rows);
	free(labels);
	free(all);
	free(pick);
}

/* ---- whether two clusters are apart ---- */

struct sides {
	SN_VEC(double) of[2];
};

static double row_along(const struct sn_sparse *rows, size_t row, const double *line)
{
	double dot = 0;

	for (size_t i = rows->first[row]; i < rows->first[row + 1]; i++)
		dot += (double)rows->values[i] * line[rows->columns[i]];
	return dot;
}

static bool clusters_are_apart(const struct sn_sparse *rows, const struct sn_kmeans *fit,
			       double noise, uint32_t a, uint32_t b)
{
	double *line = sn_alloc_zeroed(rows->column_count + 1, sizeof(double)), length2 = 0;
	struct sides sides = { 0 };
	double medians[2] = { 0, 0 }, spreads[2] = { 0, 0 }, gap;
	bool is_apart;

	for (size_t c = 0; c < rows->column_count; c++) {
		line[c] = fit->centroids[c * fit->k + b] - fit->centroids[c * fit->k + a];
		length2 += line[c] * line[c];
	}
	for (size_t r = 0; r < rows->row_count; r++)
		if (fit->labels[r] == a || fit->labels[r] == b)
			sn_vec_push(&sides.of[fit->labels[r] == b],
				    row_along(rows, r, line) / sqrt(length2));
	for (int s = 0; s < 2; s++) {
		medians[s] = sn_median(sides.of[s].items, sides.of[s].count);
		spreads[s] = sn_mad(sides.of[s].items, sides.of[s].count);
		if (!(spreads[s] > noise))
			spreads[s] = noise; /* equal rows by luck */
	}
	gap = medians[1] - medians[0];
	is_apart = length2 > apart_min * apart_min && gap > apart_gap * spreads[0] &&
		   gap > apart_gap * spreads[1];
	free(line);
	sn_vec_free(&sides.of[0]);
	sn_vec_free(&sides.of[1]);
	return is_apart;
}

static bool all_are_apart(const struct sn_sparse *rows, const struct sn_kmeans *fit, double noise)
{
	for (uint32_t a = 0; a < fit->k; a++)
		for (uint32_t b = a + 1; b < fit->k; b++)
			if (!clusters_are_apart(rows, fit, noise, a, b))
				return false;
	return true;
}

/* ---- the rules ---- */

size_t sn_elbow(const struct sn_choice_row *rows, size_t count)
{
	size_t best = 0;
	double farthest = 0;

	for (size_t i = 1; i + 1 < count; i++) {
		double along =
			(double)(rows[i].k - rows[0].k) / (double)(rows[count - 1].k - rows[0].k);
		double chord =
			rows[0].inertia + along * (rows[count - 1].inertia - rows[0].inertia);
		double below = chord - rows[i].inertia;

		if (below > farthest) {
			farthest = below;
			best = i;
		}
	}
	return best;
}

/* The largest k within the margin of the best of those whose clusters are apart; 1 if there is
 * none. Phases without sites of their own are joined later; what was never apart cannot be parted.
 */
static uint32_t silhouette_choose(const struct model *m, double noise)
{
	bool is_good[SN_KMEANS_MAX + 1] = { false };
	double best = silhouette_min;
	size_t count = m->out->rows.count;

	for (size_t i = 0; i < count; i++) {
		const struct sn_choice_row *row = &m->out->rows.items[i];

		is_good[i] = row->k > 1 && row->silhouette >= silhouette_min &&
			     all_are_apart(m->rows, m->fits[row->k], noise);
		if (is_good[i] && row->silhouette > best)
			best = row->silhouette;
	}
	for (size_t i = count; i-- > 0;)
		if (is_good[i] && m->out->rows.items[i].silhouette >= best - silhouette_margin)
			return m->out->rows.items[i].k;
	return 1;
}

static void fits_make(struct model *m, const struct sn_choose_options *options)
{
	uint32_t k_max = options->k_max ? options->k_max : K_MAX_DEFAULT;
	unsigned restarts = options->restarts ? options->restarts : RESTARTS_DEFAULT;

	if (options->method == SN_METHOD_FIXED && options->k > k_max)
		k_max = options->k;
	if (k_max > m->rows->row_count)
		k_max = (uint32_t)m->rows->row_count;
	for (uint32_t k = 1; k <= k_max; k++) {
		struct sn_choice_row row = { .k = k, .silhouette = NAN };

		m->fits[k] = sn_kmeans_fit(m->rows, k, options->seed + k, restarts);
		row.inertia = m->fits[k]->inertia;
		sn_vec_push(&m->out->rows, row);
	}
}

static uint32_t k_choose(const struct model *m, const struct sn_choose_options *options)
{
	uint32_t most = sn_vec_last(&m->out->rows).k;

	switch (options->method) {
	case SN_METHOD_FIXED:
		return options->k < most ? options->k : most;
	case SN_METHOD_ELBOW:
		return m->out->rows.items[sn_elbow(m->out->rows.items, m->out->rows.count)].k;
	case SN_METHOD_SILHOUETTE:
		break;
	}
	return silhouette_choose(m, options->noise);
}

/* With a subsample the chosen centroids move on with all clean rows; then every row is assigned. */
static void rows_assign(struct model *m, const struct sn_sparse *matrix)
{
	struct sn_choice *out = m->out;
	struct sn_kmeans *chosen = m->fits[out->k], *all;

	assert(chosen); /* k is that of a row, and every row was fitted */
	all = sn_kmeans_continue(matrix, out->k, chosen->centroids,
				 out->is_subsample ? ITERATIONS_ALL : 0);

	out->labels = all->labels;
	out->distances2 = all->distances2;
	out->centroids = all->centroids;
	all->labels = NULL;
	all->distances2 = all->centroids = NULL;
	sn_kmeans_free(all);
}

struct sn_choice *sn_choose(const struct sn_sparse *matrix, const uint8_t *is_clean,
			    const struct sn_choose_options *options)
{
	struct sn_choice *out = sn_alloc_zeroed(1, sizeof(*out));
	uint32_t *clean = sn_alloc_zeroed(matrix->row_count + 1, sizeof(uint32_t));
	uint32_t *pick = sn_alloc_zeroed(matrix->row_count + 1, sizeof(uint32_t));
	size_t count = 0;
	struct sn_sparse rows;
	struct model m = { .rows = &rows, .out = out };

	for (size_t r = 0; r < matrix->row_count; r++)
		if (is_clean[r])
			clean[count++] = (uint32_t)r;
	out->model_rows = subsample(options->seed, clean, count, MODEL_ROWS_MAX, pick);
	out->is_subsample = out->model_rows < count;
	sn_sparse_pick(matrix, pick, out->model_rows, &rows);
	fits_make(&m, options);
	silhouettes_find(&m, options->seed);
	out->k = k_choose(&m, options);
	rows_assign(&m, matrix);
	for (uint32_t k = 0; k <= SN_KMEANS_MAX; k++)
		sn_kmeans_free(m.fits[k]);
	sn_sparse_free(&rows);
	free(clean);
	free(pick);
	return out;
}

void sn_choice_free(struct sn_choice *choice)
{
	if (!choice)
		return;
	sn_vec_free(&choice->rows);
	free(choice->labels);
	free(choice->distances2);
	free(choice->centroids);
	free(choice);
}
