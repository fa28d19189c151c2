/**
 * The data file of one process image that is sampled from outside (wire/data.h).
 */
#ifndef SN_RECORD_OUTSIDE_FILE_H
#define SN_RECORD_OUTSIDE_FILE_H

#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "base/map.h"
#include "wire/writer.h"

struct sn_outside_file {
	struct sn_writer_file shared; /* shared.base NULL: not open */
	struct sn_map stacks;	      /* hash of a segment -> its id */
	uint32_t last_stack;
};

struct sn_outside_file_facts {
	const char *folder, *host;
	pid_t pid;
	uint32_t sequence;
	int32_t rank;
	uint64_t period_ns;
};

/** Creates FOLDER/HOST.PID.SEQUENCE.live with space for the first chunks, state RUNNING. */
sn_status sn_outside_file_create(struct sn_outside_file *file,
				 const struct sn_outside_file_facts *facts, struct sn_error *err);

/** Makes the CPU time of all samples `part` of what it is, from 0 to 1: their sum is the kernel's. */
void sn_outside_file_scale(struct sn_outside_file *file, double part);

/** Unmaps; the state must have been set. */
void sn_outside_file_close(struct sn_outside_file *file);

/** The id of a stack, written with `writer` if it is new; 0 if there was no room (the loss is
 *  counted). `flags`: enum sn_stack_flags. */
uint32_t sn_outside_file_stack(struct sn_outside_file *file, struct sn_writer *writer,
			       int64_t now_ns, const uint64_t *pcs, uint32_t count, uint8_t flags);

#endif
