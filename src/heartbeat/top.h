/**
 * What `sonde heartbeat top` shows of a running job: a title and a table, once or again and again
 * on a terminal's screen.
 */
#ifndef SN_HEARTBEAT_TOP_H
#define SN_HEARTBEAT_TOP_H

#include <stdio.h>

#include "heartbeat/live.h"

struct sn_top {
	struct sn_live *live; /* borrowed */
	struct sn_table_view view;
	enum sn_live_by by;
	double window_s; /* as of sn_live_new, for the title */
	double pause_s;	 /* between two looks of sn_top_watch */
};

/** Writes what was read so far, in the format of the view. `now_ns` is CLOCK_REALTIME. As text, a
 *  title comes first, and columns that say nothing about this job are left out. */
sn_status sn_top_print(const struct sn_top *top, int64_t now_ns, FILE *out, struct sn_error *err);

/**
 * The table on the screen of the terminal, renewed every `pause_s`. Ends at `q`, Escape, SIGINT,
 * SIGTERM or SIGHUP and leaves the screen as it was. The keys h, r and t change `by`.
 */
sn_status sn_top_watch(struct sn_top *top, struct sn_error *err);

/** CLOCK_REALTIME. */
int64_t sn_top_now_ns(void);

#endif
