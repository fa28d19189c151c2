/**
 * When threads were ready to run and had no CPU: how long by the kernel's account, and in which calls by what
 * lies between samples. The kernel does not say where.
 */
#ifndef SN_SEARCH_EVIDENCE_DELAYS_H
#define SN_SEARCH_EVIDENCE_DELAYS_H

#include "search/evidence/recorded.h"

/** Seconds by thread of the run, of what was measured; 0: none, or not known. The caller frees. */
double *sn_delays_of_threads(const struct sn_recorded *recorded);

/**
 * Seconds by cell of `recorded`. Samples are taken by CPU time: what lies between two of them beyond that, and beyond what was
 * blocked, is time without a CPU. Half of it is each sample's; of a thread all is at most its account. The caller frees.
 */
double *sn_delays_of_cells(const struct sn_recorded *recorded);

/**
 * Seconds by thread of the run, of sn_delays_of_threads those for which the program has itself to blame: by what lies between
 * samples, more of its threads wanted a CPU then than it has on the host. The rest is other work's. NULL: no two samples of a
 * thread tell. The caller frees.
 */
double *sn_delays_own_of_threads(const struct sn_recorded *recorded);

#endif
