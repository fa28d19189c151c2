/* Finds the pairs of two sets by campaign and block, and the moments of their differences. */
#include "compare/pairs.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

static bool is_of(const struct sn_compare_run *run, const struct sn_compare_run *first)
{
	return run->campaign && first->campaign && run->is_in_blocks &&
	       !strcmp(run->campaign, first->campaign);
}

static bool has_twice(const struct sn_compare_run *runs, size_t count)
{
	for (size_t i = 0; i < count; i++)
		for (size_t k = 0; k < i; k++)
			if (runs[i].block == runs[k].block)
				return true;
	return false;
}

bool sn_pairs_find(const struct sn_compare_run *a, size_t a_count, const struct sn_compare_run *b,
		   size_t b_count, struct sn_arena *arena, struct sn_pairs *out)
{
	struct sn_pairs pairs = { 0, sn_arena_array(arena, size_t, a_count + 1),
				  sn_arena_array(arena, size_t, a_count + 1) };

	for (size_t i = 0; i < a_count; i++)
		if (!is_of(&a[i], &a[0]))
			return false;
	for (size_t i = 0; i < b_count; i++)
		if (!is_of(&b[i], &a[0]))
			return false;
	if (has_twice(a, a_count) || has_twice(b, b_count))
		return false;
	for (size_t i = 0; i < a_count; i++)
		for (size_t k = 0; k < b_count; k++)
			if (a[i].block == b[k].block) {
				pairs.a[pairs.count] = i;
				pairs.b[pairs.count++] = k;
			}
	if (pairs.count < SN_COMPARE_RUNS_MIN)
		return false;
	*out = pairs;
	return true;
}

struct sn_moments sn_pairs_moments(const struct sn_pairs *pairs, const double *times,
				   const double *variances, size_t a_count)
{
	double *differences = sn_alloc_zeroed(pairs->count + 1, sizeof(*differences));
	double *noise = sn_alloc_zeroed(pairs->count + 1, sizeof(*noise));
	bool is_in_all = true;
	struct sn_moments m;

	for (size_t p = 0; p < pairs->count; p++) {
		double of_a = times[pairs->a[p]], of_b = times[a_count + pairs->b[p]];

		differences[p] = of_b - of_a;
		noise[p] = variances[a_count + pairs->b[p]] + variances[pairs->a[p]];
		is_in_all &= of_a > 0 && of_b > 0;
	}
	m = (is_in_all ? sn_moments_trimmed : sn_moments_of)(differences, noise, pairs->count);
	free(differences);
	free(noise);
	return m;
}
