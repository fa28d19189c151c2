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

/* Rows that a run lacks are not trimmed: what is left would be 0. */
static bool are_in_all(const struct sn_pairs *pairs, const double *times, size_t a_count)
{
	bool are = true;

	for (size_t p = 0; p < pairs->count; p++)
		are &= times[pairs->a[p]] > 0 && times[a_count + pairs->b[p]] > 0;
	return are;
}

struct sn_moments sn_pairs_moments(const struct sn_pairs *pairs, const double *times,
				   const double *variances, size_t a_count)
{
	double *differences = sn_alloc_zeroed(pairs->count + 1, sizeof(*differences));
	double *noise = sn_alloc_zeroed(pairs->count + 1, sizeof(*noise));
	struct sn_moments m;

	for (size_t p = 0; p < pairs->count; p++) {
		differences[p] = times[a_count + pairs->b[p]] - times[pairs->a[p]];
		noise[p] = variances[a_count + pairs->b[p]] + variances[pairs->a[p]];
	}
	m = (are_in_all(pairs, times, a_count) ? sn_moments_trimmed
					       : sn_moments_of)(differences, noise, pairs->count);
	free(differences);
	free(noise);
	return m;
}

double sn_pairs_base(const struct sn_pairs *pairs, const double *times, size_t a_count)
{
	double *of_a = sn_alloc_zeroed(pairs->count + 1, sizeof(*of_a));
	double *none = sn_alloc_zeroed(pairs->count + 1, sizeof(*none));
	struct sn_moments m;

	for (size_t p = 0; p < pairs->count; p++)
		of_a[p] = times[pairs->a[p]];
	m = (are_in_all(pairs, times, a_count) ? sn_moments_trimmed : sn_moments_of)(of_a, none,
										     pairs->count);
	free(of_a);
	free(none);
	return m.mean;
}
