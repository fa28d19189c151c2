/**
 * Heartbeat files, JSON lines or CSV, as libsonde-heartbeat writes them
 * (docs/format/heartbeat-file.md).
 *
 * A file may be cut short anywhere, hold the rows of several processes, or anything else: a line
 * that cannot be read is counted and passed over, and the next one is tried.
 */
#ifndef SN_HEARTBEAT_READER_H
#define SN_HEARTBEAT_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"

enum { SN_BEAT_BUCKETS = 32 };

/** The first line of a process. Numbers are -1 and texts NULL where unknown. */
struct sn_beat_header {
	const char *host, *program, *job_id, *launch_id;
	const char *arguments; /* a JSON array of strings */
	int64_t pid, forked_from, rank, ranks;
	int64_t part; /* how often the file was rotated before */
	int64_t start_realtime_ns, start_monotonic_ns, interval_ns;
};

struct sn_beat_row {
	const char *heartbeat;
	int64_t pid, rank, threads; /* -1 but in jobwide files */
	int64_t thread;		    /* 0: all of the process */
	int64_t t_ns, interval_ns;  /* the interval's end since the process began; its length */
	int64_t count, sum_ns, min_ns, max_ns, open, open_ns, work, every, misuse, dropped;
	int64_t timed; /* beats in the histogram: those that sum, min and max tell of */
	int64_t histogram[SN_BEAT_BUCKETS];
};

/** The functions that the reader calls. What they are given is borrowed for the call. Any result
 * but SN_OK ends the reading. */
struct sn_beat_sink {
	void *context;
	sn_status (*header)(void *context, const struct sn_beat_header *header,
			    struct sn_error *err);
	sn_status (*row)(void *context, const struct sn_beat_row *row, struct sn_error *err);
};

/** One file's reading; zero-initialised it stands at the first line. */
struct sn_beat_reader {
	struct sn_beat_sink sink;
	bool is_csv;
	uint64_t line_count, bad_line_count, first_bad_line;
	struct sn_arena line; /* what a line needs, while it is read */
};

/**
 * Reads the whole lines in `bytes`, and the last one without an end too if `is_last`. `*used` says
 * how many bytes need not be given again. Returns what the sink returned.
 */
sn_status sn_beat_reader_add(struct sn_beat_reader *reader, const char *bytes, size_t length,
			     bool is_last, size_t *used, struct sn_error *err);
void sn_beat_reader_free(struct sn_beat_reader *reader);

/** heartbeat.*.jsonl and heartbeat.*.csv. */
bool sn_beat_is_file_name(const char *name, bool *is_csv);

#endif
