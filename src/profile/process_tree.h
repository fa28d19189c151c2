/**
 * Which process started which: the order and the depth in which tables show them.
 */
#ifndef SN_PROFILE_PROCESS_TREE_H
#define SN_PROFILE_PROCESS_TREE_H

#include "experiment/experiment.h"

struct sn_process_place {
	uint32_t process; /* of the experiment */
	uint32_t depth;	  /* 0: none of the others started it */
};

/** Writes the place of each process in the tree (`experiment->processes.count` of them). A process
 * stands below the one that started it; children are in the order of their start. The images that
 * one process ran after the other (exec) stand side by side. */
void sn_process_tree(const struct sn_experiment *experiment, struct sn_process_place *out);

/** Writes, by process, which one started it; -1: none of the others. Numbers are used again, and an
 * exec keeps its: it is the latest image of the number that had begun. */
void sn_process_parents(const struct sn_experiment *experiment, int32_t *parents);

enum { SN_PROCESS_RANK_NONE = -1, SN_PROCESS_RANK_LAUNCHER = -2 };
/** Writes, by process, its rank of MPI. A process without one, above the processes of one rank, is of
 * that rank: a program that called MPI_Init without a launcher (its children inherit what the MPI
 * library set), or the launcher of a single rank. Above several ranks it is their launcher. */
void sn_process_ranks(const struct sn_experiment *experiment, const int32_t *parents,
		      int32_t *ranks);

#endif
