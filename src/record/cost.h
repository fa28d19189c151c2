/**
 * What the collector's mechanisms cost on this machine. The launcher measures it in its own process
 * after the target has ended, so that the target is left alone.
 */
#ifndef SN_RECORD_COST_H
#define SN_RECORD_COST_H

#include <stdbool.h>
#include <stdint.h>

struct sn_cost {
	uint64_t signal_ns; /* CPU time of one sample's interrupt and signal, without our handler */
	/* CPU time added to a context switch of a thread: with an event; after its last event */
	uint64_t switch_ns, switch_after_ns;
	uint64_t interrupt_ns; /* of one that finds the thread in the kernel: without a signal */
	uint64_t timing_ns;    /* our wrapper around a call that may block */
	double ticks_per_ns;   /* of the time-stamp counter */
};

/** The gap in ns that a sample's signal tears into a loop that reads the time-stamp counter: the
 * mean of the middle of five, a fifth of a millisecond apart. The
 * signal comes from a perf event if there is one, else it is sent. 0 if there is no way. Takes some 1.2 ms. For
 * single-threaded callers only: SIGTRAP and SIGSTKFLT are handled meanwhile. */
uint64_t sn_cost_of_signal(void);

/** Measures what events add to a context switch: two threads hand a byte to and fro on one CPU,
 * without events, with them, and after them. Sets both costs of a switch, to 0 where they cannot be
 * told. Takes some 20 ms. */
void sn_cost_of_switch(struct sn_cost *cost);

/** CPU time of this process since the last call; of children that ended since, too, if none of them was measured. */
int64_t sn_cost_of_us_ns(bool with_children);

/** The rate of the time-stamp counter, measured once (0.2 ms). */
double sn_cost_ticks_per_ns(struct sn_cost *cost);

/** The gap in ns that an event's interrupt alone tears into such a loop: it leads to no signal, as
 * where an event expires in the kernel. 0 if there is no way. Takes some 1 ms. */
uint64_t sn_cost_of_interrupt(void);

/** What two readings of the time-stamp counter and some counting add to a short system call. In a loop of
 * their own they take two thirds of that: behind a return from the kernel they wait. Takes some 5 ms. */
uint64_t sn_cost_of_timing(void);

#endif
