/**
 * A running job seen through its heartbeat files. Each poll reads what is new in them; what
 * happened in the last seconds is kept.
 */
#ifndef SN_HEARTBEAT_LIVE_H
#define SN_HEARTBEAT_LIVE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/table.h"
#include "base/text.h"

struct sn_live;

/** Keeps rows of the last `window_ns` (and of 20 intervals, if that is more). */
struct sn_live *sn_live_new(const char *folder, int64_t window_ns);
void sn_live_free(struct sn_live *live);

/** Reads what files of the folder have got since the last time. `now_ns` is CLOCK_REALTIME. */
sn_status sn_live_poll(struct sn_live *live, int64_t now_ns, struct sn_error *err);

/** Which processes are shown. A process of this host is shown if it runs, one of another host if
 * its rows are fresh. If none is, those that wrote last are shown. */
struct sn_live_facts {
	uint64_t process_count, host_count, running_count;
	uint64_t file_count, bad_line_count;
	int64_t last_row_ns;	/* CLOCK_REALTIME; 0: no row */
	int64_t first_start_ns; /* of the processes shown */
};

struct sn_live_facts sn_live_facts(const struct sn_live *live);
/** "app x y, job 77", of the process that began first, for a title. */
void sn_live_add_title(const struct sn_live *live, struct sn_text *text);

enum sn_live_by { SN_LIVE_BY_HEARTBEAT, SN_LIVE_BY_RANK, SN_LIVE_BY_THREAD };

/** Rows by heartbeat (then rank, then thread) into a table of sn_live_columns. */
void sn_live_fill(const struct sn_live *live, enum sn_live_by by, struct sn_table *table);

extern const struct sn_column sn_live_columns[];
extern const size_t sn_live_column_count;

#endif
