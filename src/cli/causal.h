/** One `sonde causal`: what its files share. */
#ifndef SN_CLI_CAUSAL_H
#define SN_CLI_CAUSAL_H

#include "causal/page.h"
#include "causal/session.h"
#include "cli/command.h"
#include "profile/analysis.h"
#include "record/streams.h"

struct sn_cli_causal {
	const struct sn_args *args;
	struct sn_text targets;	   /* of all --target, between commas */
	struct sn_text experiment; /* that has the profile, and gets the log */
	struct sn_analysis *analysis;
	struct sn_causal_log *log;
	struct sn_causal_control *page;
	struct sn_causal_session session;
	struct sn_streams streams;
	struct sn_causal_control *first_page; /* as the first run left it; NULL: --from */
	bool is_shown;			      /* some run's output was */
	bool is_interrupted;
	long long runs_most; /* 0: as many as there is time for */
	double max_time_s;
	bool is_forced;
	int exit_code;	      /* of the run that was shown */
	int last_code;	      /* of the last run */
	bool has_failed_runs; /* that ended otherwise */
	int64_t said_ns;      /* when progress was last told */
	bool is_quiet;
	struct sn_text
		point_plan; /* that counts arrivals at the progress point; empty: there is none */
	const char *point_module; /* its build-id */
	bool is_point_doubted;	  /* no file has the name of the progress point: a run may */
};

/** A line on the terminal, unless --quiet. */
void sn_cli_causal_say(const struct sn_cli_causal *c, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/** What --target names, all of them between commas; NULL: nothing. */
const char *sn_cli_causal_targets(const struct sn_cli_causal *c);

/* causal_tell.c */
/** What came of it: the answers, what makes them worse, and where they are. */
void sn_cli_causal_tell(const struct sn_cli_causal *c);

/* causal_beats.c */
/** For struct sn_steer of the first run: says soon that there is no heartbeat of the name, and which there are. */
void sn_cli_causal_watch_beats(struct sn_steer *steer);
/** The first run had no progress point of this name, as `err` says: adds which heartbeats it had. */
void sn_cli_causal_add_beats(const struct sn_cli_causal *c, const char *name, struct sn_error *err);
/** SN_ERR_NOT_FOUND: experiments ended, as the program has other heartbeats than the one that was named. */
sn_status sn_cli_causal_no_beat(struct sn_cli_causal *c, struct sn_error *err);

/* causal_point.c */
/** Where the first point is a place: code that counts arrivals there is inserted, if that can be; else it has a
 *  breakpoint. */
void sn_cli_causal_plan_point(struct sn_cli_causal *c);
/** It has a breakpoint in further runs. */
void sn_cli_causal_drop_plan(struct sn_cli_causal *c);

/* causal_early.c */
/** "BEGIN..END" in two, `*begin` for the caller to free; false: it is one point. `name` may be NULL. */
bool sn_cli_causal_split_latency(const char *name, char **begin, const char **end);
/** Which option names the progress point. */
const char *sn_cli_causal_point_option(const struct sn_cli_causal *c);
/** Before the first run: whether the names of code and progress points are there (causal/early.h). */
sn_status sn_cli_causal_check_names(struct sn_cli_causal *c, struct sn_error *err);
void sn_cli_causal_warn_of_arguments(const struct sn_cli_causal *c);
/** Into the log: how many threads are at work, and what measuring them cost. */
void sn_cli_causal_take_facts(struct sn_cli_causal *c);
/** Where experiments cannot answer, or need not: says so, and `c->log->refused` has the reason.
 *  SN_ERR_NO_DATA: and there was no run that is the user's. */
sn_status sn_cli_causal_say_early(struct sn_cli_causal *c, struct sn_error *err);

#endif
