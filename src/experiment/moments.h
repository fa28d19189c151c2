/** Where a moment of a thread is among an experiment's samples and calls that blocked, which are in the order of threads, then of
 *  time. Places are indices; that of what is not there is where it would be. */
#ifndef SN_EXPERIMENT_MOMENTS_H
#define SN_EXPERIMENT_MOMENTS_H

#include "experiment/experiment.h"

/** The first sample of the thread at this moment or later. */
size_t sn_samples_from(const struct sn_experiment *experiment, uint32_t thread, int64_t ns);
/** The first call of the thread that began at this moment or later. */
size_t sn_waits_from(const struct sn_experiment *experiment, uint32_t thread, int64_t ns);
/** The first call of the thread that ended behind this moment. */
size_t sn_waits_ending_from(const struct sn_experiment *experiment, uint32_t thread, int64_t ns);

static inline int64_t sn_wait_end_ns(const struct sn_wait *wait)
{
	return wait->time_ns + (int64_t)wait->duration_ns;
}

#endif
