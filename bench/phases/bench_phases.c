/* Clustering at scale: 1,000 ranks x 1,000 intervals x 500 functions, as sonde phases would do it.
 *
 *	bench_phases [RANKS] [INTERVALS] [FUNCTIONS]
 *
 * Each interval is 100 samples drawn from the profile of its phase (five phases; a tenth of the
 * functions carry each), so that rows are as full and as noisy as recorded ones. Prints the CPU and
 * wall time of choosing k and assigning all rows, and how many rows have the wrong phase.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/alloc.h"
#include "base/progress.h"
#include "phases/choose.h"

enum { PHASES = 5, SAMPLES = 100, GUIDE = 1 << 16 };

static uint16_t guide[PHASES][GUIDE]; /* a function for each of 2^16 equally likely draws */

/* Shares fall off like 1/rank over functions in an order of the phase's own. */
static void profiles_make(struct sn_random *random, uint32_t functions)
{
	double *weights = sn_alloc_zeroed(functions, sizeof(double));

	for (int p = 0; p < PHASES; p++) {
		double sum = 0, upto = 0;
		size_t at = 0;

		for (uint32_t f = 0; f < functions; f++) {
			weights[f] = 1.0 / (1.0 + (double)sn_random_below(random, functions));
			weights[f] *= weights[f];
			sum += weights[f];
		}
		for (uint32_t f = 0; f < functions; f++) {
			upto += weights[f] / sum;
			while (at < GUIDE && (double)at < upto * GUIDE)
				guide[p][at++] = (uint16_t)f;
		}
		while (at < GUIDE)
			guide[p][at++] = (uint16_t)(functions - 1);
	}
	free(weights);
}

static void row_add(struct sn_sparse *m, size_t *at, int phase, struct sn_random *random,
		    uint16_t *counts)
{
	for (int i = 0; i < SAMPLES; i++)
		counts[guide[phase][sn_random_below(random, GUIDE)]]++;
	for (uint32_t f = 0; f < m->column_count; f++) {
		if (!counts[f])
			continue;
		m->columns[*at] = f;
		m->values[(*at)++] = (float)counts[f] / SAMPLES;
		counts[f] = 0;
	}
}

int main(int argc, char **argv)
{
	size_t ranks = argc > 1 ? (size_t)atol(argv[1]) : 1000;
	size_t intervals = argc > 2 ? (size_t)atol(argv[2]) : 1000, at = 0, wrong = 0;
	uint32_t functions = argc > 3 ? (uint32_t)atol(argv[3]) : 500;
	struct sn_sparse m = { .row_count = ranks * intervals, .column_count = functions };
	struct sn_choose_options options = { .seed = 1 };
	uint16_t *counts = sn_alloc_zeroed(functions, sizeof(uint16_t));
	uint8_t *is_clean = sn_alloc_zeroed(m.row_count, 1);
	size_t votes[PHASES][SN_KMEANS_MAX] = { { 0 } };
	struct sn_random random;
	struct sn_choice *choice;
	uint64_t wall;
	clock_t cpu;

	sn_random_seed(&random, 42);
	profiles_make(&random, functions);
	m.first = sn_alloc_zeroed(m.row_count + 1, sizeof(size_t));
	m.columns = sn_alloc(m.row_count * SAMPLES * sizeof(uint32_t));
	m.values = sn_alloc(m.row_count * SAMPLES * sizeof(float));
	memset(is_clean, 1, m.row_count);
	for (size_t r = 0; r < m.row_count; r++) {
		m.first[r] = at;
		row_add(&m, &at, (int)(r % intervals * PHASES / intervals), &random, counts);
	}
	m.first[m.row_count] = at;
	printf("%zu rows, %u columns, %.1f entries a row\n", m.row_count, functions,
	       (double)at / (double)m.row_count);
	wall = sn_now_ns();
	cpu = clock();
	sn_sparse_finish(&m);
	choice = sn_choose(&m, is_clean, &options);
	printf("k = %u in %.2f s wall, %.2f s CPU\n", choice->k, (double)(sn_now_ns() - wall) / 1e9,
	       (double)(clock() - cpu) / CLOCKS_PER_SEC);
	for (size_t r = 0; r < m.row_count; r++)
		votes[r % intervals * PHASES / intervals][choice->labels[r]]++;
	for (int p = 0; p < PHASES; p++) {
		size_t most = 0, all = 0;

		for (int j = 0; j < SN_KMEANS_MAX; j++) {
			most = votes[p][j] > most ? votes[p][j] : most;
			all += votes[p][j];
		}
		wrong += all - most;
	}
	printf("%zu rows in the wrong phase\n", wrong);
	return 0;
}
