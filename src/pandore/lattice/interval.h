/**
 * Exact counts of the cuts between two cuts, without visiting them (docs/method/lattice.md).
 *
 * The cuts of an execution between cuts A and B are chosen process by process. After the first k
 * processes are fixed, all that matters to the others is how far each must go at least (need) and
 * may go at most (limit). Equal pairs of vectors are one state, and the sums over the states of a
 * layer are computed once each, from the last layer to the first. With l(I) the level of a cut and
 * d(I) the number of events that can happen next, a state holds
 *
 *	numbers N(x) = sum of x^l(I)            how many cuts of each level
 *	arcs    E(x) = sum of d(I) x^l(I)       how many arcs leave each level
 *	cubes   F(y) = sum of (1 + y)^d(I)      whose expansion in 1 + y is the histogram of d
 *
 * over the cuts that agree with it. To count d, a process may also be flagged: its next event is
 * asserted to be possible, so the others must have gone as far as that event needs.
 */
#ifndef SN_LATTICE_INTERVAL_H
#define SN_LATTICE_INTERVAL_H

#include <time.h>

#include "base/progress.h"
#include "pandore/lattice/execution.h"

/** The clock of budgets: CPU time of this process, so that an answer does not hang on the load. */
static inline uint64_t sn_lattice_clock_ns(void)
{
	return (uint64_t)sn_clock_ns(CLOCK_PROCESS_CPUTIME_ID);
}

struct sn_interval_limits {
	uint64_t states;      /* at most so many are made; 0: no limit */
	uint64_t bytes;	      /* memory; 0: no limit */
	uint64_t deadline_ns; /* of sn_lattice_clock_ns(); 0: none */
	bool want_levels, want_histogram;
};

enum sn_interval_outcome {
	SN_INTERVAL_DONE,
	SN_INTERVAL_STATES, /* stopped by the limit on states or memory */
	SN_INTERVAL_TIME,   /* stopped by the deadline */
};

/** Integers as in integer.h. Freed by sn_interval_counts_free. */
struct sn_interval_counts {
	unsigned limbs;
	uint32_t level_count;	       /* |B| - |A| + 1 */
	uint32_t degree_count;	       /* processes that have events between A and B, plus one */
	uint64_t *cuts, *arcs;	       /* one number each; arcs only with levels or histogram */
	uint64_t *levels, *level_arcs; /* level_count numbers each; NULL unless wanted */
	uint64_t *degrees; /* degree_count numbers: cuts with so many arcs; NULL unless wanted */
	uint64_t state_count;
};

/**
 * Counts the consistent cuts I with A <= I <= B, and the arcs between them. A and B are consistent
 * cuts (P numbers each), A <= B. `out` is filled only if the outcome is SN_INTERVAL_DONE.
 */
enum sn_interval_outcome sn_interval_count(const struct sn_lattice_order *order, const uint32_t *a,
					   const uint32_t *b,
					   const struct sn_interval_limits *limits,
					   struct sn_interval_counts *out);
void sn_interval_counts_free(struct sn_interval_counts *counts);

#endif
