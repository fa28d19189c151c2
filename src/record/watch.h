/**
 * Looks at running processes from outside. This finds what would need a descriptor in the target,
 * and what a process that sleeps or is killed cannot write itself.
 *
 * Written into the process's data file are: an account of each thread (SN_RECORD_TASK), packets
 * where the runtime wrote none, the title that a process gave itself, and the end of a process that
 * wrote none.
 */
#ifndef SN_RECORD_WATCH_H
#define SN_RECORD_WATCH_H

#include <stdint.h>

#include "wire/data.h"

struct sn_watch {
	struct sn_chunk_header *chunk; /* mapped; NULL: none yet */
	uint32_t used_bytes;
	int64_t every_ns, due_ns; /* from look to look; of the next, 0: soon after the start */
	uint64_t title;		  /* hash of the last that was written; 0: none */
};

/** Writes accounts if a look is due: soon after the start, then every `every_ns`. `fd` is the data
 *  file, `header` its mapping. */
void sn_watch_look(struct sn_watch *watch, int fd, struct sn_data_header *header, int64_t now_ns);

/** Writes a packet now. */
void sn_watch_packet(struct sn_watch *watch, int fd, struct sn_data_header *header, int64_t now_ns,
		     enum sn_packet_kind kind);

/** Notes that the process has ended, or is a zombie that can still be looked at. Writes a last
 * account, and the process's end if the runtime did not write it. */
void sn_watch_end(struct sn_watch *watch, int fd, struct sn_data_header *header, int64_t now_ns);

void sn_watch_free(struct sn_watch *watch);

#endif
