/** CPUs that a part of a run worked on. */
#ifndef SN_EXPERIMENT_CPUS_H
#define SN_EXPERIMENT_CPUS_H

#include "experiment/experiment.h"

/** CPUs, of one host, that some processes worked on (1 or 0 by index): those that a thread was on last, and those with at least a
 *  twentieth of the samples of the busiest one. Where a thread was before it was bound to others is none. 1 at least. */
unsigned sn_experiment_cpus_of(const struct sn_experiment *experiment, const uint8_t *is_in);

#endif
