/**
 * How much of the time in which threads use what they share they run at the same time: at the scale of a cache line's way
 * from core to core, two threads that take turns on one CPU share nothing.
 */
#ifndef SN_SEARCH_EVIDENCE_TOGETHER_H
#define SN_SEARCH_EVIDENCE_TOGETHER_H

#include "search/evidence/delays.h"

/** A share of threads' CPU time, with its 95 % interval. */
struct sn_together {
	double share, low, high;
	double samples; /* behind it; 0: nothing is known, the interval is 0 to 1 */
};

/**
 * Of a run's gaps (sn_delays_gaps): of the CPU time that a process's threads have in some regions (1 or 0 by region member) the share in which another of them is
 * there and on a CPU. Samples are taken by CPU time: between two of them a thread that had less was somewhere without a CPU, so two threads' times
 * on a CPU overlap by max(0, a + b - 1) to min(a, b) of the time that both gaps have in common, a and b being their shares of it; not at
 * all where both were seen on one CPU. The interval has the samples' own error, too.
 */
struct sn_together sn_together_of(const struct sn_recorded *recorded, const sn_gap_vec *gaps,
				  uint32_t process, const uint8_t *is_in);

#endif
