/** CPUs that a part of a run worked on. */
#ifndef SN_EXPERIMENT_CPUS_H
#define SN_EXPERIMENT_CPUS_H

#include "experiment/experiment.h"

/** How many CPUs, of one host, some processes (1 or 0 by index) had to work on. They have those that a thread was on last, and
 *  those with at least a twentieth of the samples of the busiest one: where a thread was before it was bound to others is
 *  none. Threads at work that all were allowed more CPUs than these have so many. 1 at least. */
unsigned sn_experiment_cpus_of(const struct sn_experiment *experiment, const uint8_t *is_in);

#endif
