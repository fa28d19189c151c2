/**
 * What the records of one launch have in common, and which rank this one is.
 */
#ifndef SN_RECORD_LAUNCH_KEY_H
#define SN_RECORD_LAUNCH_KEY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/text.h"

/**
 * The key by which records of one launch find each other's experiment, from the launcher's
 * variables: Slurm's job and step, or PMIx' namespace (Open MPI, Slurm). MPICH's Hydra has none;
 * there it is host, pid and start of the parent process. A record that no launcher started gets a
 * key of its own, and `*rank` is -1.
 */
void sn_launch_key(const char *host, struct sn_text *key, int32_t *rank);
/** Whether a launcher (PMIx, Open MPI, MPICH, srun) started this process as a rank. A batch script of
 * Slurm is none: it has a SLURM_PROCID, but no step. */
bool sn_launch_is_rank(void);
/** Which of how many processes of a launcher this one is; 0 of 1 without a launcher, or where it does
 *  not tell. */
void sn_launch_place(int32_t *rank, int32_t *count);

#endif
