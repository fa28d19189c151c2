/**
 * Samples and waits summed up by thread and stack, so that what is computed from the sums alone
 * (profile.h) is the same as from all of them, but for the last digits of sums of squares.
 */
#ifndef SN_PROFILE_REDUCE_H
#define SN_PROFILE_REDUCE_H

#include "experiment/experiment.h"

/**
 * A new experiment of sums (SN_SAMPLE_IS_SUM). Equal stacks of all processes are one: such a stack
 * has no process (SN_NONE), whoever had it, as files of code are the same for all; those with code that a process
 * generated stay its own. It borrows names and what lies in `experiment`'s arena; the caller frees it first.
 */
struct sn_experiment *sn_reduce(const struct sn_experiment *experiment);

#endif
