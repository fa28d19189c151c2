/**
 * What a campaign has done: a file of JSON lines that is only ever appended to.
 *
 *	sonde.NAME.campaign.N/
 *	  plan.ini                 the plan, as it was read when the campaign began
 *	  state.jsonl              this file: a header, then one event a line (docs/format/campaign.md)
 *	  lock                     held by whoever runs it
 *	  builds/N/                what a build made, with its words in build.log
 *	  template                 of the scripts of jobs, where the user gave one
 *	  jobs/N/                  a job of a batch system (jobs.h)
 *	  runs/rBLOCK.cNUMBER.aATTEMPT.NAME/   the experiments; beside them .out and .err of the program
 *
 * A line that was not written whole (the writer was killed, the disk full) is passed over: what it
 * would have told is found again from the experiment. Reading needs no lock.
 */
#ifndef SN_CAMPAIGN_STATE_H
#define SN_CAMPAIGN_STATE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/json.h"
#include "base/map.h"
#include "base/text.h"
#include "base/vec.h"

enum sn_run_state {
	SN_RUN_QUEUED,
	SN_RUN_RUNNING,
	SN_RUN_DONE,
	SN_RUN_FAILED,
	SN_RUN_SUSPICIOUS, /* done, and unlike its siblings: never stored, found by judge.h */
	SN_RUN_CANCELLED,  /* stopped by us, or its campaign was killed meanwhile */
};
/** "queued" ... "cancelled". */
const char *sn_run_state_name(enum sn_run_state state);

/** What is known of a run that ended, from its experiment. Unknown is NaN or -1. */
struct sn_run_facts {
	double elapsed_s, cpu_s;
	int64_t samples, lost, output_bytes;
	int32_t ranks;			     /* processes of an MPI launch; 1 without */
	int32_t threads_least, threads_most; /* at work in the busiest rank; alive in each */
};

/** One start of a configuration. */
struct sn_campaign_attempt {
	uint32_t configuration; /* number in the plan, then of those added */
	uint32_t block;		/* from 0; its repeat, too */
	uint32_t attempt;	/* from 1 */
	uint32_t position;	/* in its block, from 0 */
	uint32_t failed_before; /* attempts of this run */
	enum sn_run_state state;
	int32_t exit_status;	/* -1: unknown */
	const char *experiment; /* relative to the campaign's folder; NULL: none */
	const char *job;	/* number of its job in the batch system; NULL */
	uint32_t
		submission; /* number of its script below jobs/, from 1; 0: it runs where its campaign does */
	const char *reason; /* a sentence; NULL: nothing to say */
	int32_t pid;	    /* of the launched command while it runs */
	const char *boot;   /* of the machine that it runs on: /proc/sys/kernel/random/boot_id */
	uint64_t
		pid_start; /* its start in clock ticks since boot, which tells it from a later one */
	struct sn_run_facts facts;
	uint32_t level; /* what was measured of it: 1 when done, 2 or 3 when added; else 0 */
	const char *level_reason;  /* why it is not more; NULL: nothing to say */
	uint32_t level_submission; /* of the job that adds it, as `submission`; 0: none does */
	const char *level_job;
};

struct sn_campaign_built {
	uint32_t build;
	bool is_good;
	const char *reason;
};

/** A configuration of experiments that were made by hand. */
struct sn_campaign_added {
	const char *name;
	uint32_t ranks, threads;
	const char
		*program; /* that it ran, where the campaign's own runs ran another; NULL: theirs */
};

struct sn_campaign_state {
	struct sn_arena arena;
	const char *id;		 /* of the campaign: no other has it */
	const char *plan_name;	 /* as it was given */
	const char *plan_folder; /* that its relative paths are below */
	uint64_t seed;
	uint32_t configurations; /* of the plan; those added have the numbers from there on */
	uint32_t repeat, retry;
	SN_VEC(struct sn_campaign_attempt) attempts; /* in the order of their begin */
	SN_VEC(struct sn_campaign_built) builds;
	SN_VEC(struct sn_campaign_added) added;
	bool is_cancelled;  /* and not resumed since */
	size_t damaged;	    /* lines that could not be read */
	struct sn_map last; /* configuration and block -> number of the last attempt */
};

/** Reads a campaign's state. SN_ERR_FORMAT: the folder is none, or its header cannot be read. */
sn_status sn_campaign_state_read(const char *folder, struct sn_campaign_state **out,
				 struct sn_error *err);
sn_status sn_campaign_state_open_memory(const void *bytes, size_t length, const char *name,
					struct sn_campaign_state **out, struct sn_error *err);
void sn_campaign_state_free(struct sn_campaign_state *state);

/** The last attempt of a configuration in a block, or NULL. */
const struct sn_campaign_attempt *sn_campaign_last(const struct sn_campaign_state *state,
						   uint32_t configuration, uint32_t block);

/* ---- writing ---- */

/** Appends events, each with one write that is on the disk before the call returns. */
struct sn_campaign_log {
	int fd;
	const char *path;   /* for messages */
	bool needs_newline; /* the last line was not written whole */
};

sn_status sn_campaign_log_open(const char *folder, struct sn_campaign_log *out,
			       struct sn_error *err);
void sn_campaign_log_close(struct sn_campaign_log *log);
/** Writes one line: an object with the member "event" and what `write` (may be NULL) adds. */
sn_status sn_campaign_log_event(struct sn_campaign_log *log, const char *event,
				void (*write)(struct sn_json *json, const void *context),
				const void *context, struct sn_error *err);
sn_status sn_campaign_log_header(struct sn_campaign_log *log, const struct sn_campaign_state *state,
				 struct sn_error *err);
/** Notes a begin in memory, as reading it would. */
void sn_campaign_state_begin(struct sn_campaign_state *state,
			     const struct sn_campaign_attempt *attempt);
/** The attempt that a begin noted last, to be changed. */
struct sn_campaign_attempt *sn_campaign_state_last(struct sn_campaign_state *state,
						   uint32_t configuration, uint32_t block);
sn_status sn_campaign_log_begin(struct sn_campaign_log *log,
				const struct sn_campaign_attempt *attempt, struct sn_error *err);
sn_status sn_campaign_log_end(struct sn_campaign_log *log,
			      const struct sn_campaign_attempt *attempt, struct sn_error *err);
/** That a job was submitted which adds the level. */
sn_status sn_campaign_log_level_begin(struct sn_campaign_log *log,
				      const struct sn_campaign_attempt *attempt,
				      struct sn_error *err);
/** Its level: what was added to a run that is done, or why it could not be. */
sn_status sn_campaign_log_level(struct sn_campaign_log *log,
				const struct sn_campaign_attempt *attempt, struct sn_error *err);
sn_status sn_campaign_log_built(struct sn_campaign_log *log, const struct sn_campaign_built *built,
				struct sn_error *err);
sn_status sn_campaign_log_added(struct sn_campaign_log *log, const struct sn_campaign_added *added,
				struct sn_error *err);

#endif
