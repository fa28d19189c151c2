/**
 * Code that programs make at run time (just-in-time compilers): how each maker can be made to tell
 * its names and callers.
 */
#ifndef SN_PROFILE_GENERATED_H
#define SN_PROFILE_GENERATED_H

#include "experiment/experiment.h"

struct sn_generated_maker {
	const char *program; /* begins the base name of the executable */
	const char *names;   /* what makes it write /tmp/perf-PID.map */
	const char *callers; /* what makes it keep frame pointers, or NULL: it does, or cannot */
};

/** The maker among the programs of an experiment, or NULL: none that we know. */
const struct sn_generated_maker *sn_generated_maker_of(const struct sn_experiment *experiment);

#endif
