/** What reading (live.c) and summing up (live_table.c) share. */
#ifndef SN_HEARTBEAT_LIVE_PARTS_H
#define SN_HEARTBEAT_LIVE_PARTS_H

#include <sys/types.h>

#include "base/intern.h"
#include "base/map.h"
#include "base/vec.h"
#include "heartbeat/live.h"
#include "heartbeat/reader.h"

enum { SN_LIVE_CELLS = 20 }; /* of the line that shows the rate over time */

struct sn_live_process {
	const char *host, *program, *arguments, *job_id; /* in `strings`; job NULL: none */
	int64_t pid, rank, ranks;
	int64_t start_ns; /* CLOCK_REALTIME */
	int64_t start_monotonic_ns, interval_ns;
	int64_t known_ns; /* no row since then is missing; CLOCK_REALTIME */
	int64_t last_ns;  /* end of its last row, CLOCK_REALTIME; its start if there is none */
	bool is_running, is_shown;
};

/** A row that is still of interest. */
struct sn_live_moment {
	int64_t end_ns, interval_ns; /* CLOCK_REALTIME */
	int64_t count, timed, sum_ns, max_ns, open, open_ns, work;
};

/** One heartbeat of one thread. */
struct sn_live_series {
	uint32_t process, heartbeat; /* index; number in `strings` */
	int64_t thread, threads;     /* 0: all of the process, which are so many */
	int64_t total;		     /* beats of all rows that were there */
	SN_VEC(struct sn_live_moment) recent;
};

struct sn_live_file {
	char *name;  /* of the newer generation */
	ino_t inode; /* of the generation read last */
	size_t done; /* bytes of it read */
	struct sn_beat_reader reader;
	struct sn_map by_pid; /* index of the process + 1 */
	uint32_t process;     /* of the last header, + 1; 0: none yet */
	int64_t next_part;    /* of its next header, if no rotation was missed */
	struct sn_live *live;
};

struct sn_live {
	char *folder;
	int64_t window_ns, newest_ns; /* end of the newest row of a process that is shown */
	struct sn_interner strings;
	SN_VEC(struct sn_live_file *) files;
	SN_VEC(struct sn_live_process) processes;
	SN_VEC(struct sn_live_series) series;
	struct sn_interner keys; /* of series: number = index */
};

#endif
