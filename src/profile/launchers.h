/**
 * Which processes launch others and wait for them. Their waiting is no loss of the program: what is to
 * be told is the others' time.
 */
#ifndef SN_PROFILE_LAUNCHERS_H
#define SN_PROFILE_LAUNCHERS_H

#include <stdbool.h>
#include <stdint.h>

#include "experiment/experiment.h"

enum sn_launching {
	SN_LAUNCHES_NOTHING,
	SN_LAUNCHES_RANKS, /* of MPI: mpirun, and the shell above it */
	SN_LAUNCHES_WORK, /* a shell, make, time: its children have ten times its CPU time or more */
};

/** Writes, by process, what it launches; `cpu_ns`: CPU time by process. */
void sn_launchers_find(const struct sn_experiment *experiment, const uint64_t *cpu_ns,
		       uint8_t *launching);

/** Whether a command launches ranks of MPI, by the name of its first word, without folders. NULL: no. */
bool sn_launcher_is_of_mpi(const char *command);

#endif
