/**
 * The ranks of one node reduced to what profiles are computed from (sonde reduce): for each thread and
 * stack a sum, and what the order of samples tells. `HOST.reduced` in the experiment; equal stacks of all
 * ranks are one. docs/format/reduction.md has the layout.
 *
 * A reduction names the data that it was made of. Where they are others by now it is left alone, and the data
 * are read.
 */
#ifndef SN_EXPERIMENT_REDUCTION_H
#define SN_EXPERIMENT_REDUCTION_H

#include "base/text.h"
#include "experiment/decode.h"
#include "experiment/experiment.h"

/** Data that were reduced: those of one `record`. */
struct sn_reduced_data {
	int32_t pid; /* of the record command */
	uint64_t bytes;
};

/** A node. */
struct sn_node {
	const char *host;
	SN_VEC(struct sn_reduced_data) data; /* by pid */
	/* of a node that was read: what its data say. Processes are in the order of files, and warnings of
	 * the processes are not among the experiment's. */
	struct sn_experiment *experiment;
	SN_VEC(struct sn_process_warning) warnings;
};

/** The hosts of an experiment's launches in the order of their names, into a vector of strings that
 *  the caller frees with its strings. SN_ERR_NO_DATA: a launch has not ended. */
sn_status sn_nodes_find(const char *path, sn_strings *hosts, struct sn_error *err);
/** Whether every record of a host that has begun has ended, and there is one. */
bool sn_node_has_ended(const char *path, const char *host);
/** Reads what the ranks of one host recorded. The caller frees with sn_node_free. */
sn_status sn_node_read(const char *path, const char *host, struct sn_node *out,
		       struct sn_error *err);
void sn_node_free(struct sn_node *node);

/** Writes `PATH/HOST.reduced`, whole or not at all: `sums` in place of the node's experiment. */
sn_status sn_reduction_write(const char *path, const struct sn_node *node,
			     const struct sn_experiment *sums, struct sn_error *err);
/** Adds what the bytes of a reduction hold. False, and nothing was added: they are not those of a whole one of this
 *  version, or it was made of other data than `node` has. */
bool sn_reduction_read(const uint8_t *bytes, size_t length, const struct sn_node *node,
		       struct sn_decoder *decoder);

#endif
