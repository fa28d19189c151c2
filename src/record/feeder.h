/**
 * Backs the data files of running processes with space, ahead of their writers (wire/data.h,
 * "Growing"), and gathers them when all is over.
 */
#ifndef SN_RECORD_FEEDER_H
#define SN_RECORD_FEEDER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/vec.h"
#include "record/cost.h"
#include "record/watch.h"

struct sn_data_header;

struct sn_fed_file {
	char *name;
	int fd;
	struct sn_data_header *header; /* mapped; NULL: its process has ended */
	uint32_t seen_chunks;	       /* next_chunk when last looked at */
	bool is_full;		       /* no more space is to be had */
	uint32_t children_forked;      /* when last looked at */
	bool is_of_fork;
	bool is_ours; /* its pid means the same process here (namespaces) */
	struct sn_watch watch;
};

struct sn_feeder {
	int folder_fd;
	int notify_fd; /* inotify: a new file in the folder; -1: none to be had */
	char *folder;
	uint64_t max_bytes; /* of all files together; 0: no limit */
	int64_t packets_ns; /* from one sample packet to the next */
	uint64_t backed_bytes;
	bool has_pause, is_paused; /* the launcher said so (sn_feeder_pause), and which */
	bool has_unready;	   /* a file was seen that has no header yet ... */
	unsigned unready_looks;	   /* ... so many looks ago */
	int wait_ms;		   /* until the next look is due */
	uint64_t namespace_inode;  /* of our pids; 0: unknown */
	int out_of_space_errno;	   /* 0: never ran out */
	bool is_scarce;		   /* little or nothing is left of the space */
	/* of processes that have been let go: */
	bool have_accesses_ended; /* accesses to memory were not recorded to the end */
	uint32_t copied_loops;	  /* that ran as copies: the most of a process */
	uint64_t lost_for_space;  /* records that found no room */
	struct sn_cost cost;	  /* measured when first needed; 0: not yet, or it cannot be */
	SN_VEC(struct sn_fed_file) files;
};

/** Opens a feeder on a folder that must exist. The caller polls `notify_fd` with a time-out of
 * `wait_ms`. */
sn_status sn_feeder_open(struct sn_feeder *feeder, const char *folder, uint64_t max_bytes,
			 int64_t packets_ns, struct sn_error *err);

/** Looks at every file once and gives it space where that is due. Sets `wait_ms`: 1 while something
 * grows fast, more and more when nothing does. */
void sn_feeder_feed(struct sn_feeder *feeder);

/** Pauses or resumes measuring in every process that there is now, and in each that begins until this
 * is called again. What the program itself pauses stays paused. */
void sn_feeder_pause(struct sn_feeder *feeder, bool is_paused);

/** Writes a packet of every process that there is now. */
void sn_feeder_packet(struct sn_feeder *feeder, enum sn_packet_kind kind);

/** Number of processes that still write, and of forked ones that have not begun to. */
size_t sn_feeder_running_count(struct sn_feeder *feeder);

/** Notes that a process has ended and was not yet waited for. Its kernel account can still be read. */
void sn_feeder_end(struct sn_feeder *feeder, int32_t pid);

/** Copies all files to `path`, one after the other, their used parts only and redacted, whole or
 * not at all. Then it removes them. What signals and switches cost on this machine is added to each
 * header's overhead. The size written is added to `bytes`. */
sn_status sn_feeder_gather(struct sn_feeder *feeder, const char *path, uint64_t *bytes,
			   struct sn_error *err);
void sn_feeder_close(struct sn_feeder *feeder);

#endif
