/**
 * Workers: places for one thread at a time in a rank. Threads that follow each other in time take turns
 * in one place, so a pool that is made anew for each phase has as many workers as threads at once.
 */
#ifndef SN_PROFILE_WORKERS_H
#define SN_PROFILE_WORKERS_H

#include "profile/profile.h"

/** Gives each thread the first worker of its rank that is free when it begins: its number, by thread,
 * in `worker_of`, which has room for all threads. Returns how many workers there are. */
uint32_t sn_workers_assign(const struct sn_experiment *experiment, uint32_t *worker_of);

/** Lets workers of one rank that never ran at once take turns in one place, until no rank has more than
 * `most`. A first thread that prepares, waits for its pool, and goes on, is in the place of one of them,
 * the busiest. Workers that ran at once stay apart, however many they are. `workers` is what
 * sn_workers_assign returned; `worker_of` gets the new numbers. Returns how many workers are left. */
uint32_t sn_workers_take_turns(const struct sn_experiment *experiment, uint32_t workers,
			       uint32_t most, uint32_t *worker_of);

/** Which workers had work, by worker, in `at_work`: while the busiest worker lived, more than a hundredth
 * of its CPU time (`cpu_s`, by worker), one sample aside. What a first thread does before it makes its
 * pool and after it is no part of the pool's balance. Of a rank of MPI one has work, always: a rank that
 * does nothing is out of balance, where a first thread that waits for its pool, or a runtime's helper,
 * is not. Returns how many they are. */
size_t sn_workers_at_work(const struct sn_profile *profile, const uint32_t *worker_of,
			  size_t workers, const double *cpu_s, uint8_t *at_work);

/** The estimate of the largest of `count` true values, of which each was seen with an error of this
 * variance: the largest seen, less what errors alone lift the largest above the true one, on the average. For
 * that the true values are taken to be those seen, drawn to their mean by the part of their spread that
 * errors explain (James and Stein 1961), by 1.5 deviations of the error at most (Efron and Morris 1972).
 * One that stands out stays; equal ones give their mean. */
double sn_largest_of(const double *values, size_t count, double variance);

#endif
