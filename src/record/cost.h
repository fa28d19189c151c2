/**
 * What the collector's mechanisms cost on this machine: measured by the launcher after the target
 * has ended, in its own process, so that the target is left alone.
 */
#ifndef SN_RECORD_COST_H
#define SN_RECORD_COST_H

#include <stdint.h>

struct sn_cost {
	uint64_t signal_ns; /* CPU time of one sample's interrupt and signal, without our handler */
	/* CPU time added to a context switch of a thread: with an event; after its last event */
	uint64_t switch_ns, switch_after_ns;
	uint64_t timing_ns; /* two readings of the time-stamp counter */
};

/** The gap that a sample's signal tears into a loop that reads the time-stamp counter: median of a
 *  dozen, half a millisecond apart as they would be in a target. By perf event, else by a signal
 *  alone. 0 if there is no way. Takes some 6 ms. Single-threaded callers only: SIGTRAP and
 * SIGSTKFLT are handled meanwhile. */
uint64_t sn_cost_of_signal(void);

/** Two threads hand a byte to and fro on one CPU: without events, with them, and after them. Sets
 *  both costs of a switch, to 0 where it cannot be told. Takes some 20 ms. */
void sn_cost_of_switch(struct sn_cost *cost);

uint64_t sn_cost_of_timing(void);

#endif
