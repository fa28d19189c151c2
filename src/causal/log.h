/**
 * What causal experiments of a program have found, as it lies in an experiment: the file causal.tsv
 * (docs/format/causal.md). Later runs and later commands add to it.
 */
#ifndef SN_CAUSAL_LOG_H
#define SN_CAUSAL_LOG_H

#include <stdbool.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/vec.h"

#define SN_CAUSAL_LOG_NAME "causal.tsv"

/** From this share of waits for CPUs on, effects are said to be off (docs/method/causal.md). */
#define SN_CAUSAL_QUEUED_MOST 0.05

enum { SN_CAUSAL_BASELINE = -1, SN_CAUSAL_CANDIDATES_MAX = 1024 };

/** Code that was chosen in some experiments. Texts are never NULL. */
struct sn_causal_candidate {
	const char *
		kind; /* "loop", "function", "line", each also with " with callees"; "region", "lock" */
	const char *id;	  /* as analyses name it; of a line "FILE:LINE" */
	const char *name; /* a loop's label, a function's name, "file.c:41" */
	const char *function, *file;
	uint32_t line_first, line_last; /* 0: unknown */
	double cpu_share;		/* NaN: unknown, of a lock */
};

/** One experiment: so long the code at `candidate` was spared `speedup` of its time. */
struct sn_causal_trial {
	uint32_t run, block;
	int32_t candidate; /* SN_CAUSAL_BASELINE: none */
	double speedup;	   /* 0 to 1 */
	double step_ns;	   /* a progress step in virtual time; with latency, from begin to end */
	uint64_t visits;
	int64_t time_ns, virtual_ns; /* from its first visit to its last */
	uint64_t samples, hits;
	int64_t hit_ns, due_ns;
	int64_t settle_ns; /* that it went on before it counted */
};

/** What a run's processes counted. */
struct sn_causal_run {
	int64_t elapsed_ns, asked_ns, slept_ns, excess_ns;
	uint64_t pauses, credits, processes, sealed, timed_waits;
	int64_t ran_ns, queued_ns; /* threads' CPU time; that they waited for a CPU */
	bool is_cut;		   /* the command was killed in it: nothing of the above is known */
};

struct sn_causal_log {
	struct sn_arena arena;
	const char *kind, *name; /* of the progress point: "heartbeat", "site", "latency", "end" */
	double overhead_share;	 /* of CPU time, with delays of 0; NaN: unknown */
	uint32_t threads;	 /* at work in the run that found the candidates */
	uint64_t seed;
	/* why no experiments were made at all: "too-short", "one-thread", "waits-below", "slowed-code", "cpu-waits", "sealed", "too-often"; "":
	 * they were, or not yet */
	const char *refused;
	SN_VEC(struct sn_causal_candidate) candidates;
	SN_VEC(struct sn_causal_run) runs;
	SN_VEC(struct sn_causal_trial) trials; /* in the order in which they were made */
};

struct sn_causal_log *sn_causal_log_new(void);
/** Whether the trial's run was cut off before it told what it counted: how long threads waited for CPUs is then unknown, and
 *  the trial tells no effect. False in a run that goes on. */
bool sn_causal_trial_is_cut(const struct sn_causal_log *log, const struct sn_causal_trial *trial);
/** The share of the time in which threads wanted a CPU that they waited for one, over all runs that told
 *  it; NaN: unknown. */
double sn_causal_queued_share(const struct sn_causal_log *log);
void sn_causal_log_free(struct sn_causal_log *log);

bool sn_causal_log_exists(const char *experiment_path);
/** The log of the experiment in this folder. SN_ERR_NO_DATA: it has none. */
sn_status sn_causal_log_open(const char *experiment_path, struct sn_causal_log **out,
			     struct sn_error *err);
/** The same of bytes; `name` is for messages. */
sn_status sn_causal_log_parse(const char *bytes, size_t length, const char *name,
			      struct sn_causal_log **out, struct sn_error *err);
/** Adds the log's last trial to the file, which the log was written to before: one record, whole or not
 *  there. An end in the middle of it costs no other record. */
sn_status sn_causal_log_append_trial(const struct sn_causal_log *log, const char *experiment_path,
				     struct sn_error *err);
/** Writes it whole, in place of the one before. */
sn_status sn_causal_log_write(const struct sn_causal_log *log, const char *experiment_path,
			      struct sn_error *err);

#endif
