/** What a page shows of one run. page_data.c reads it, page.c draws it. */
#ifndef SN_HEARTBEAT_PAGE_DATA_H
#define SN_HEARTBEAT_PAGE_DATA_H

#include "base/text.h"
#include "base/vec.h"
#include "heartbeat/page.h"
#include "heartbeat/reader.h"

enum { SN_PAGE_BINS_MAX = 240 };

struct sn_page_run {
	struct sn_arena arena;
	int64_t number, start_ns;
	const char *program, *arguments, *job;				    /* job NULL: none */
	int64_t ranks, threads, process_count, host_count, heartbeat_count; /* ranks -1: none */
	double elapsed_s, interval_s;
};

sn_status sn_page_run_read(struct sn_history *history, int64_t run, struct sn_page_run *out,
			   struct sn_error *err);
void sn_page_run_free(struct sn_page_run *run);

/** One process or thread; arrays of `bin_count`. */
struct sn_page_line {
	const char *label;
	double *count, *timed, *sum_s; /* a bin */
	double total, total_timed, total_s, max_s;
};

struct sn_page_beat {
	struct sn_arena arena;
	size_t bin_count;
	SN_VEC(struct sn_page_line) lines;
	double total, total_timed, total_s, max_s;
	int64_t misuse, dropped;
	int64_t histogram[SN_BEAT_BUCKETS];
};

sn_status sn_page_beat_read(struct sn_history *history, const struct sn_page_run *run,
			    const char *heartbeat, enum sn_page_by by, struct sn_page_beat *out,
			    struct sn_error *err);
void sn_page_beat_free(struct sn_page_beat *beat);

/** Names in order of their time, those that were never timed last. */
struct sn_page_names {
	struct sn_arena arena;
	SN_VEC(const char *) names;
};

sn_status sn_page_names_read(struct sn_history *history, int64_t run, struct sn_page_names *out,
			     struct sn_error *err);

#endif
