/**
 * The history of an application's heartbeats: rows of many runs in one SQLite file.
 *
 * A *run* is one launch of a program: its ranks and what they forked, or one process without ranks
 * (place.c has the rules). Its *group* is program, arguments, ranks and threads, unless told
 * otherwise: only runs of one group are compared. Importing a file again, also one that has grown,
 * changes nothing twice.
 */
#ifndef SN_HEARTBEAT_HISTORY_H
#define SN_HEARTBEAT_HISTORY_H

#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/table.h"
#include "base/vec.h"

struct sn_history;

/** Opens a history; makes it if `is_writer`. The error is one sentence for a file that is locked,
 * damaged, no database, or of a newer version. */
sn_status sn_history_open(const char *path, bool is_writer, struct sn_history **out,
			  struct sn_error *err);
/** A history for reading from a database's bytes, for tests. Borrows them. */
sn_status sn_history_open_memory(const uint8_t *bytes, size_t length, struct sn_history **out,
				 struct sn_error *err);
void sn_history_close(struct sn_history *history);

struct sn_history_import {
	uint64_t file_count, unchanged_count; /* read; not read, for they are as they were */
	uint64_t row_count, bad_line_count;
	uint64_t cut_count;    /* processes, of which rotation has thrown rows away */
	uint64_t orphan_count; /* rows whose header is lost: it is not known whose they are */
};

/** Adds every heartbeat.*.jsonl in `folder`, and every .csv that has no .jsonl beside it. Lines
 * that cannot be read are passed over and told once per file as a warning; all else is kept. */
sn_status sn_history_import(struct sn_history *history, const char *folder,
			    struct sn_history_import *counts, struct sn_error *err);

/** The run of this number; 0: the newest. SN_ERR_NO_DATA if there is none. */
sn_status sn_history_find_run(struct sn_history *history, int64_t run, int64_t *out,
			      struct sn_error *err);

/** The number of processes of the run of which rows are lost: rotation (SONDE_HEARTBEAT_MAX_SIZE)
 * has removed rows that no import has seen. */
sn_status sn_history_count_cut(struct sn_history *history, int64_t run, uint64_t *out,
			       struct sn_error *err);

/** Rows of one run over time, into a table of sn_history_report_columns. */
sn_status sn_history_report(struct sn_history *history, int64_t run, struct sn_table *table,
			    struct sn_error *err);

/** What is judged: the duration of a beat, or the time that passes for one beat. */
enum sn_judge_metric { SN_JUDGE_DURATION, SN_JUDGE_PERIOD };

struct sn_judge_row {
	const char *heartbeat;
	enum sn_judge_metric metric;
	double value_s, median_s; /* this run; the history. NaN: unknown */
	double ratio, score;	  /* value/median; robust z of the logarithms */
	double noise_ratio;	 /* by which runs of the history typically differ from the median */
	double rest_s;		 /* a duration without this run's longest beat; NaN: unknown */
	bool is_scarce;		 /* sampled (sonde_heartbeat_every) and hardly any was timed */
	double limit_ratio;	 /* beyond which `ratio` is a finding */
	uint64_t runs;		 /* in the history, of those looked at */
	uint64_t as_slow;	 /* of them: as slow as this one, or slower */
	const double *history_s; /* their values, oldest first */
	const int64_t *history_runs; /* and their numbers */
	const char *verdict;	     /* "slower" "faster" "same" "missing" "new" "repeat",
				      * "outlier": slower by its one longest beat alone,
				      * "known": slower, but more than a tenth of the runs were,
				      * "few": too few of its beats were timed */
	const char *same_as; /* NULL, or the heartbeat before it with the same period in all runs
				but for a factor: they beat together, and are one comparison */
};

struct sn_judgement {
	struct sn_arena arena;
	SN_VEC(struct sn_judge_row) rows;
	uint64_t run_count;	/* of the same group before this one, at most SN_JUDGE_RUNS_MAX */
	uint64_t tests;		/* that were made */
	uint64_t cut_count;	/* processes of this run that lost rows: it has no periods then */
	uint64_t finding_count; /* slower or missing */
	/* of the run: "slower", "missing" where there is such a finding, else "faster", "same";
	 * "repeat": nothing could be compared yet */
	const char *verdict;
	const struct sn_judge_row *reason; /* the row that says so most; NULL: none does */
};

enum { SN_JUDGE_RUNS_MIN = 8, SN_JUDGE_RUNS_MAX = 64 };

/** The facts that runs must have in common besides the program; bits. */
enum sn_run_group {
	SN_GROUP_ARGUMENTS = 1,
	SN_GROUP_RANKS = 2,
	SN_GROUP_THREADS = 4,
	SN_GROUP_DEFAULT = 7,
};

/** "program,ranks" into bits of enum sn_run_group; NULL is the default. SN_ERR_USAGE for a word
 * that is none. */
sn_status sn_run_group_parse(const char *words, unsigned *out, struct sn_error *err);

/**
 * Compares a run with the runs of its group that began before it (the newest SN_JUDGE_RUNS_MAX). If
 * run-to-run noise is log-normal, a run like the others has a finding with chance `alarm_rate` at
 * most. The limit is the score that such a run exceeds with that chance for this number of runs,
 * shared among the tests (Bonferroni). docs/method/heartbeats.md has the formulas.
 */
sn_status sn_history_judge(struct sn_history *history, int64_t run, unsigned group,
			   double alarm_rate, struct sn_judgement *out, struct sn_error *err);
void sn_judgement_free(struct sn_judgement *judgement);

/** The robust score of a value against a history (both as logarithms, SN_JUDGE_RUNS_MAX at
 *  most); sorts `history`. */
double sn_judge_score(double value, double *history, size_t count);
/** The score that a value like the others exceeds with chance `rate`, against `count` values
 *  (2 to SN_JUDGE_RUNS_MAX). */
double sn_judge_limit(size_t count, double rate);

/** Whether so many of `count` runs were as slow that one more is no finding: more than a tenth (of
 * fewer than 20: more than one). If the order of runs says nothing, a run is slower than all but so
 * many with chance (count / 10 + 1) / (count + 1) at most, whatever the noise is. */
bool sn_judge_is_known(size_t as_slow, size_t count);

extern const struct sn_column sn_history_report_columns[];
extern const size_t sn_history_report_column_count;

#endif
