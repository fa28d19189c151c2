/**
 * Where phases change: intervals in which one phase ends and another begins.
 *
 * The vector of such an interval says how much CPU time each phase got, not how long it lasted. On
 * a busy machine, or when one of them waits, that is not the same. So the most likely moment of
 * change is found, given what the two phases are like. The interval goes to the phase that lasted
 * longer in it.
 */
#ifndef SN_PHASES_BOUNDARIES_H
#define SN_PHASES_BOUNDARIES_H

#include "phases/choose.h"
#include "phases/vectors.h"

/** Decides anew the intervals at every change of `labels` (by row of the vectors). */
void sn_boundaries_refine(const struct sn_intervals *intervals,
			  const struct sn_phase_vectors *vectors, const struct sn_choice *choice,
			  uint32_t *labels);

#endif
