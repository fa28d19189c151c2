/**
 * Code that programs generate at run time (just-in-time compilers), and how each such program can
 * be made to list its names and callers.
 */
#ifndef SN_PROFILE_GENERATED_H
#define SN_PROFILE_GENERATED_H

#include "experiment/experiment.h"

struct sn_generated_maker {
	const char *program; /* begins the base name of the executable */
	const char *names;   /* what makes it write /tmp/perf-PID.map */
	const char *callers; /* what makes it keep frame pointers, or NULL: it does, or cannot */
};

/** The known program among those of an experiment that generates code, or NULL. */
const struct sn_generated_maker *sn_generated_maker_of(const struct sn_experiment *experiment);

/** Whether it holds, or may hold, code made at run time: that often lies in memory whose mapping
 * nobody announced. */
bool sn_module_is_generated(const struct sn_module *module);

#endif
