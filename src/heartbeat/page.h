/**
 * A run of the history as plots: a page for a browser or one picture, each a single file.
 */
#ifndef SN_HEARTBEAT_PAGE_H
#define SN_HEARTBEAT_PAGE_H

#include <stdio.h>

#include "heartbeat/history.h"

enum sn_page_kind { SN_PAGE_HTML, SN_PAGE_SVG };

/** A line for each process, or for each thread; SN_PAGE_BY_ANY: threads where there is one process.
 */
enum sn_page_by { SN_PAGE_BY_ANY, SN_PAGE_BY_RANK, SN_PAGE_BY_THREAD };

struct sn_page_options {
	enum sn_page_kind kind;
	enum sn_page_by by;
	unsigned group; /* of sn_history_judge */
	double alarm_rate;
};

/** Writes the page. For each heartbeat (those with most time first, 40 at most) it has rate and
 * mean duration over time, how durations are spread, and this run beside those before it. */
sn_status sn_history_write_page(struct sn_history *history, int64_t run,
				const struct sn_page_options *options, FILE *out,
				struct sn_error *err);

#endif
