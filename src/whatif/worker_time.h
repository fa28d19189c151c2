/**
 * CPU time of each worker in equal slices of the run, and what elapsed time loses with it. In each slice
 * workers are taken to meet: the one that is longest at it is what the others wait for (docs/method/global.md).
 *
 * A worker that others keep from a CPU is the longer at it the more it has to do. So a second of its CPU
 * time stands for more than a second of elapsed time: its pace.
 */
#ifndef SN_WHATIF_WORKER_TIME_H
#define SN_WHATIF_WORKER_TIME_H

#include "base/vec.h"
#include "profile/profile.h"
#include "profile/structures.h"

struct sn_worker_loop_time {
	uint32_t loop;
	size_t cell;
	double seconds; /* without the kernel's */
};

/** A cell is slice x workers + worker. */
struct sn_worker_time {
	double begin_s, elapsed_s; /* of what is looked at */
	size_t workers, slices;
	double *useful_s, *runtime_s; /* CPU time, by cell; waiting actively is the runtimes' */
	double *openmp_s;	      /* of runtime_s: in that of OpenMP */
	double *turns_s;	      /* of it: waiting actively for a turn (profile/turns.h) */
	double *pace,
		*least_pace; /* by cell; the second without waiting that may follow a wake-up */
	SN_VEC(struct sn_worker_loop_time) loops; /* by loop */
	uint8_t *at_work; /* by worker: it counts where workers are compared */
	size_t workers_at_work;
	double sample_s; /* CPU time of a sample */
};

/** Overwrites `time`; free it with the next. `structures` NULL: nothing is known of turns. */
void sn_worker_time_fill(struct sn_worker_time *time, const struct sn_profile *profile,
			 struct sn_structures *structures, double begin_s, double elapsed_s,
			 size_t slices);
void sn_worker_time_free(struct sn_worker_time *time);

/** What the busiest workers lose of elapsed seconds, at that pace, if each loop is spared that part of its
 * time; loops whose place in `order` lies behind `limit` stay as they are. `order` NULL: none does. Waiting for turns
 * becomes shorter with the useful time of all. */
double sn_worker_time_saved(const struct sn_worker_time *time, const double *pace,
			    const double *spared, const size_t *order, size_t limit);
/** The same if workers take turns wherever they wait in OpenMP: all their time in OpenMP's runtime becomes shorter
 * with the useful time of all, which is what they wait for. */
double sn_worker_time_saved_in_turns(const struct sn_worker_time *time, const double *pace,
				     const double *spared);
/** What is saved if every worker at work has the mean useful time of the slice. */
double sn_worker_time_balance(const struct sn_worker_time *time, const double *pace);
/** What is saved without CPU time in the runtimes: the longest worker with it less the longest without. */
double sn_worker_time_runtime(const struct sn_worker_time *time, const double *pace);
/** Of the time that threads at work had CPUs or could have had them, the part without one; NaN: unknown. */
double sn_worker_time_waiting(const struct sn_profile *profile);

#endif
