/**
 * The order of an experiment's processes: by their start, ranks of MPI behind all others by their number.
 */
#ifndef SN_EXPERIMENT_ORDER_H
#define SN_EXPERIMENT_ORDER_H

#include "experiment/experiment.h"

/** Sorts processes, and numbers what refers to them anew. A process begins behind the image that started it: where the
 *  kernel's ticks say otherwise its start is set so. */
void sn_processes_order(struct sn_experiment *experiment);

#endif
