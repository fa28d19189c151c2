/**
 * When threads were ready to run and had no CPU: how long by the kernel's account, and in which calls by what
 * lies between samples. The kernel does not say where.
 */
#ifndef SN_SEARCH_EVIDENCE_DELAYS_H
#define SN_SEARCH_EVIDENCE_DELAYS_H

#include "search/evidence/recorded.h"

/** Time between two samples of a thread. */
struct sn_gap {
	int64_t from_ns, to_ns;
	int64_t wants_ns;	/* from then on it wants a CPU */
	uint32_t thread, stack; /* of the sample at its end */
	uint16_t cpu;
	double cpu_s,
		delay_s; /* on a CPU; ready to run without one: at most, some of it may be waits that nothing traces */
	double own_at_s[2]; /* at its begin and its end: kept by sn_delays_own_of_threads */
};
typedef SN_VEC(struct sn_gap) sn_gap_vec;

/** All gaps of what was measured, by thread, then time, with delays cut to the kernel's account. Free with sn_vec_free. */
void sn_delays_gaps(const struct sn_recorded *recorded, sn_gap_vec *out);

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
