/**
 * The history of an application's heartbeats: rows of many runs in one SQLite file.
 *
 * A *run* is all processes of one batch job (same job id, program and arguments); without a job id,
 * one process. Its *group* is program, arguments, ranks and threads: only runs of one group are
 * compared. Importing a file again, also one that has grown, changes nothing twice.
 */
#ifndef SN_HEARTBEAT_HISTORY_H
#define SN_HEARTBEAT_HISTORY_H

#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/table.h"
#include "base/vec.h"

struct sn_history;

/** Opens, and makes it if `is_writer`. One sentence for a file that is locked, damaged, no
 * database, or of a newer version. */
sn_status sn_history_open(const char *path, bool is_writer, struct sn_history **out,
			  struct sn_error *err);
void sn_history_close(struct sn_history *history);

struct sn_history_import {
	uint64_t file_count, row_count, bad_line_count;
};

/** Adds every heartbeat.*.jsonl in `folder`. Lines that cannot be read are passed over and told
 *  once per file as a warning; everything else is kept. */
sn_status sn_history_import(struct sn_history *history, const char *folder,
			    struct sn_history_import *counts, struct sn_error *err);

/** The run of this number; 0: the newest. SN_ERR_NO_DATA if there is none. */
sn_status sn_history_find_run(struct sn_history *history, int64_t run, int64_t *out,
			      struct sn_error *err);

/** Rows of one run over time, into a table of sn_history_report_columns. */
sn_status sn_history_report(struct sn_history *history, int64_t run, struct sn_table *table,
			    struct sn_error *err);

/** What is judged: how long a beat takes, and how much time passes per beat. */
enum sn_judge_metric { SN_JUDGE_DURATION, SN_JUDGE_PERIOD };

struct sn_judge_row {
	const char *heartbeat;
	enum sn_judge_metric metric;
	double value_s, median_s; /* this run; the history. NaN: unknown */
	double ratio, score;	  /* value/median; robust z of the logarithms */
	uint64_t runs;		  /* in the history, of those looked at */
	const char *verdict;	  /* "slower" "faster" "same" "missing" "new" "repeat" */
};

struct sn_judgement {
	struct sn_arena arena;
	SN_VEC(struct sn_judge_row) rows;
	uint64_t run_count;	/* of the same group before this one, at most SN_JUDGE_RUNS_MAX */
	uint64_t tests;		/* that were made */
	double limit;		/* of the score */
	uint64_t finding_count; /* slower or missing */
};

enum { SN_JUDGE_RUNS_MIN = 8, SN_JUDGE_RUNS_MAX = 64 };

/**
 * Compares a run with the runs of its group that began before it (the newest SN_JUDGE_RUNS_MAX);
 * with `any_group`, of the same program. If run-to-run noise is log-normal, a run like the others
 * has a finding with chance `alarm_rate` at most: the limit is a quantile of the score's own
 * distribution for this number of runs, found by simulation, shared among the tests (Bonferroni).
 */
sn_status sn_history_judge(struct sn_history *history, int64_t run, bool any_group,
			   double alarm_rate, struct sn_judgement *out, struct sn_error *err);
void sn_judgement_free(struct sn_judgement *judgement);

/** The robust score of a value against a history (both as logarithms); sorts `history`. */
double sn_judge_score(double value, double *history, size_t count);
/** The score that a value like the others exceeds with chance `rate`. */
double sn_judge_limit(size_t count, double rate);

extern const struct sn_column sn_history_report_columns[];
extern const size_t sn_history_report_column_count;

#endif
