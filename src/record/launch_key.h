/**
 * What the records of one launch have in common, and which rank this one is.
 */
#ifndef SN_RECORD_LAUNCH_KEY_H
#define SN_RECORD_LAUNCH_KEY_H

#include <stdint.h>

#include "base/text.h"

/**
 * The key by which records find each other's experiment, from the launcher's variables: Slurm's job
 * and step, PMIx' namespace (Open MPI, Slurm), or for MPICH's Hydra, which has none, host, pid and
 * start of the parent process. A record that no launcher started gets a key of its own. `*rank` is
 * -1 then.
 */
void sn_launch_key(const char *host, struct sn_text *key, int32_t *rank);

#endif
