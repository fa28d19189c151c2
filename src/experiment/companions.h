/**
 * Further runs of an experiment's program that lie in its folder, each an experiment of its own.
 */
#ifndef SN_EXPERIMENT_COMPANIONS_H
#define SN_EXPERIMENT_COMPANIONS_H

#include <stdbool.h>

enum sn_companion {
	SN_COMPANION_INSTANCES, /* instances of loops, and DL1 of the innermost ones */
	SN_COMPANION_VARIANTS,	/* all variants */
	SN_COMPANION_ACCESSES,	/* addresses of accesses to memory */
	SN_COMPANIONS
};

/** Their folders in that of the experiment: "instances", "variants", "accesses". */
extern const char *const sn_companion_names[SN_COMPANIONS];

/** Whether the experiment in this folder has it. */
bool sn_companion_exists(const char *experiment_path, enum sn_companion companion);

#endif
