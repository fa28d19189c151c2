/**
 * Runs of two sets that belong together, as they come from one block of a campaign: compared pair by
 * pair, what the machine did from block to block falls out.
 */
#ifndef SN_COMPARE_PAIRS_H
#define SN_COMPARE_PAIRS_H

#include "compare/compare.h"
#include "compare/drift.h"

struct sn_pairs {
	size_t count;
	size_t *a, *b; /* indices of runs, pair by pair */
};

/** Pairs the runs of one campaign that ran in blocks; each block has at most one of each set, or the sets
 * are not paired. False, with nothing written: fewer than three pairs (SN_COMPARE_RUNS_MIN). The arena
 * holds the indices. */
bool sn_pairs_find(const struct sn_compare_run *a, size_t a_count, const struct sn_compare_run *b,
		   size_t b_count, struct sn_arena *arena, struct sn_pairs *out);

/** Mean of B less A over the pairs, trimmed (sn_moments_trimmed) unless a run lacks the row, with the variance of that mean and its degrees of freedom. `times` and
 * `variances` (of sampling alone) have the runs of A first. The variance is not less than sampling gives. */
struct sn_moments sn_pairs_moments(const struct sn_pairs *pairs, const double *times,
				   const double *variances, size_t a_count);
/** Mean of A over the same pairs, trimmed alike: what that difference is a part of. */
double sn_pairs_base(const struct sn_pairs *pairs, const double *times, size_t a_count);

#endif
