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

#endif
