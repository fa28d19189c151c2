/* sonde causal: experiments with a running program, over as many runs as the budget allows. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/stats.h"
#include "base/progress.h"
#include "cli/analysis_options.h"
#include "cli/causal.h"
#include "cli/record.h"
#include "cli/same_program.h"
#include "experiment/scratch.h"
#include "experiment/unpack.h"
#include "record/live_folder.h"
#include "record/told.h"
#include "views/view.h"

enum { FAILED_RUNS_MOST = 3 };
static const int64_t progress_every_ns = 5000000000;

static const double speedups_unless_said[] = { 0.25, 0.5, 0.75, 1 };

/* ---- options ---- */

static sn_status read_speedups(struct sn_cli_causal *c, struct sn_error *err)
{
	const char *text = sn_args_value(c->args, "speedups");
	struct sn_causal_session *s = &c->session;
	size_t most = sizeof(s->speedups) / sizeof(*s->speedups);

	if (!text) {
		memcpy(s->speedups, speedups_unless_said, sizeof(speedups_unless_said));
		s->speedup_count = sizeof(speedups_unless_said) / sizeof(*speedups_unless_said);
		return SN_OK;
	}
	for (const char *at = text; *at;) {
		char *end;
		double percent = strtod(at, &end);

		if (end == at || (*end && *end != ',') || !(percent >= 0 && percent <= 100) ||
		    s->speedup_count == most)
			return sn_error_set(err, SN_ERR_USAGE,
					    "--speedups takes up to %zu percentages from 0 to 100 "
					    "between commas, not '%s'",
					    most, text);
		if (percent > 0) /* baselines are there in any case */
			s->speedups[s->speedup_count++] = percent / 100;
		at = end + (*end == ',');
	}
	if (!s->speedup_count)
		return sn_error_set(err, SN_ERR_USAGE,
				    "--speedups needs one above 0: '%s' has none", text);
	return SN_OK;
}

static const char *option_given(const struct sn_args *args, size_t i)
{
	return args->command->options[args->given[i].option].name;
}

/* Of all --target: one after the other in one list. One that is empty is not as if there were none. */
static void take_targets(struct sn_cli_causal *c)
{
	for (size_t i = 0; i < c->args->given_count; i++)
		if (!strcmp(option_given(c->args, i), "target"))
			sn_text_addf(&c->targets, "%s,", c->args->given[i].value);
}

const char *sn_cli_causal_targets(const struct sn_cli_causal *c)
{
	return c->targets.length ? c->targets.chars : NULL;
}

static bool is_clock(const struct sn_args *args, const char *rate)
{
	const char *asked = sn_args_value(args, "clock");

	return asked && !strcmp(asked, rate);
}

/* Options of record with which there would be no experiments, or other ones than asked for. */
static sn_status refuse_options(const struct sn_cli_causal *c, struct sn_error *err)
{
	static const char library[] =
		"causal has a library of its own in the program, and traces no heap, locks, input and "
		"output or OpenMP: record those apart";
	static const char all_of_it[] =
		"causal holds threads up from the program's begin to its end, by all of its samples";
	static const struct {
		const char *option, *why;
	} refused[] = {
		{ "pid", "causal starts the program itself" },
		{ "heap", library },
		{ "sync", library },
		{ "io", library },
		{ "openmp", library },
		{ "collect", library },
		{ "delay", all_of_it },
		{ "duration", all_of_it },
		{ "pause-signal", all_of_it },
	};

	for (size_t i = 0; i < c->args->given_count; i++)
		for (size_t r = 0; r < sizeof(refused) / sizeof(*refused); r++)
			if (!strcmp(option_given(c->args, i), refused[r].option))
				return sn_error_set(err, SN_ERR_USAGE, "%s; leave --%s away",
						    refused[r].why, refused[r].option);
	if (sn_args_value(c->args, "progress") && sn_args_value(c->args, "latency"))
		return sn_error_set(
			err, SN_ERR_USAGE,
			"--progress and --latency both name what progress is: take one");
	return SN_OK;
}

static sn_status read_options(struct sn_cli_causal *c, struct sn_error *err)
{
	sn_status status = read_speedups(c, err);

	c->is_quiet = sn_args_flag(c->args, "quiet");
	take_targets(c);
	if (status == SN_OK)
		status = sn_args_integer(c->args, "runs", 0, &c->runs_most, err);
	if (status == SN_OK)
		status = sn_args_real(c->args, "max-time", 60, &c->max_time_s, err);
	if (status != SN_OK)
		return status;
	c->session.left_s = c->max_time_s;
	c->session.is_forced = c->is_forced = sn_args_flag(c->args, "force");
	if (sn_args_value(c->args, "runs") && c->runs_most < 1)
		return sn_error_set(
			err, SN_ERR_USAGE,
			"--runs is 1 or more, not %lld; without it there are as many as "
			"--max-time has room for",
			c->runs_most);
	if (!(c->max_time_s > 0 && c->max_time_s < 1e9))
		return sn_error_set(err, SN_ERR_USAGE,
				    "--max-time is so many seconds, above 0, not '%s'",
				    sn_args_value(c->args, "max-time"));
	status = refuse_options(c, err);
	if (status != SN_OK)
		return status;
	if (is_clock(c->args, "off") || is_clock(c->args, "auto"))
		return sn_error_set(
			err, SN_ERR_USAGE,
			"causal holds threads up by samples at one rate: --clock %s has none; take hi, "
			"on, or a rate",
			sn_args_value(c->args, "clock"));
	if (!c->args->operand_count)
		return sn_error_set(err, SN_ERR_USAGE,
				    "what shall be run? sonde causal -- PROGRAM ARGS");
	return SN_OK;
}

/* ---- the progress point, as far as it is known before the first run ---- */

/* In the first run every heartbeat is counted under its own name. */
static sn_status run_first(struct sn_cli_causal *c)
{
	struct sn_causal_control *page = sn_causal_page_new();
	struct sn_steer steer = { .first = page,
				  .steer = c->is_point_doubted ? sn_cli_causal_watch_beats : NULL,
				  .context = c };
	struct sn_record_options what = { .steer = &steer };
	struct sn_record_result result;

	c->exit_code = sn_cli_record_with(c->args, &what, &result);
	c->is_shown = true;
	c->is_interrupted = result.was_told_to_end;
	if (result.experiment_path.chars)
		sn_text_add(&c->experiment, result.experiment_path.chars);
	sn_text_free(&result.experiment_path);
	c->first_page = steer.last;
	free(page);
	return c->experiment.length ? SN_OK : SN_ERR_NO_DATA;
}

static const struct sn_causal_progress *beat_of_first_run(const struct sn_cli_causal *c,
							  const char *name)
{
	const struct sn_causal_progress *best = NULL;

	for (size_t p = 0; c->first_page && p < SN_CAUSAL_POINTS_MAX; p++) {
		const struct sn_causal_progress *point = &c->first_page->points[p];

		if (point->kind != SN_CAUSAL_BEAT || (name && strcmp(point->name, name) != 0))
			continue;
		if (!best || point->count > best->count)
			best = point;
	}
	return best;
}

static sn_status choose_latency(struct sn_cli_causal *c, const char *begin, const char *end,
				struct sn_error *err)
{
	const char *option = sn_cli_causal_point_option(c);
	sn_status status = sn_causal_page_add_place(c->page, 0, option, end, c->analysis, err);

	if (status == SN_OK)
		status = sn_causal_page_add_place(c->page, 1, option, begin, c->analysis, err);
	c->session.is_latency = true;
	return status;
}

static void choose_beat(struct sn_cli_causal *c, const char *name, bool is_latency)
{
	sn_causal_page_add_beat(c->page, 0, name);
	c->session.is_latency = is_latency;
	if (is_latency) {
		struct sn_text begin = { 0 };

		sn_text_addf(&begin, "%.*s, begin", SN_CAUSAL_NAME_MAX - 8, name);
		sn_causal_page_add_beat(c->page, 1, begin.chars);
		c->page->points[0].begin_point = 1;
		sn_text_free(&begin);
	}
}

static sn_status choose_progress(struct sn_cli_causal *c, struct sn_error *err)
{
	const char *wanted = sn_args_value(c->args, "progress");
	const char *latency = sn_args_value(c->args, "latency"), *end = NULL, *kind = "end";
	const struct sn_causal_progress *beat = NULL;
	/* experiments that are there go on with their progress point, as do those that were refused; a name that no run
	 * reached is none */
	bool goes_on = *c->log->name && !wanted && !latency &&
		       (c->log->trials.count || !c->log->runs.count);
	const char *name = latency ? latency : goes_on ? c->log->name : wanted;
	char *begin = NULL;
	sn_status status = SN_OK;

	if (goes_on && !strcmp(c->log->kind, "latency"))
		latency = name;
	if (!latency && name && !strcmp(name, "end")) {
		kind = "end";
	} else if (goes_on && !strcmp(c->log->kind, "heartbeat")) {
		kind = "heartbeat";
		choose_beat(c, name, false);
	} else if (sn_cli_causal_split_latency(name, &begin, &end)) {
		kind = "latency";
		status = choose_latency(c, begin, end, err);
	} else if ((beat = beat_of_first_run(c, name)) && (wanted || latency || beat->count)) {
		kind = latency ? "latency" : "heartbeat";
		name = beat->name;
		choose_beat(c, name, latency != NULL);
	} else if (latency && !c->first_page) {
		kind = "latency";
		choose_beat(c, latency, true);
	} else if (latency) {
		status =
			sn_error_set(err, SN_ERR_NOT_FOUND,
				     "--latency takes a heartbeat of the program, or BEGIN..END of "
				     "two places; '%s' is neither",
				     latency);
	} else if (name) {
		kind = "site";
		status = sn_causal_page_add_place(c->page, 0, sn_cli_causal_point_option(c), name,
						  c->analysis, err);
		if (status == SN_ERR_NOT_FOUND && !c->first_page) {
			/* no run has shown which heartbeats there are */
			kind = "heartbeat";
			choose_beat(c, name, false);
			status = SN_OK;
		}
	} else {
		name = "end";
	}
	free(begin);
	if (status == SN_ERR_NOT_FOUND && c->first_page)
		sn_cli_causal_add_beats(c, name, err);
	if (status != SN_OK)
		return status;
	c->session.is_doubted = c->is_point_doubted && !c->first_page;
	c->session.point = 0;
	c->session.begin_point = 1;
	for (int p = 0; c->session.is_latency && p < 2; p++)
		c->page->points[p].is_timed = 1;
	if (c->log->trials.count &&
	    (strcmp(c->log->kind, kind) != 0 || strcmp(c->log->name, name) != 0))
		return sn_error_set(
			err, SN_ERR_USAGE,
			"'%s' has experiments on another progress point (%s '%s'): take "
			"that, or another experiment",
			c->experiment.chars, c->log->kind, c->log->name);
	c->log->kind = kind;
	c->log->name = sn_arena_strdup(&c->log->arena, name);
	return SN_OK;
}

/* ---- runs ---- */

/* A run of which nothing but its experiments is kept. */
static sn_status run_again(struct sn_cli_causal *c, struct sn_steer *steer,
			   struct sn_record_result *result, struct sn_error *err)
{
	struct sn_text folder = { 0 }, scratch = { 0 };
	const struct sn_record_plan plan = { c->point_module, c->point_plan.chars,
					     c->point_plan.length };
	struct sn_record_options what = { .steer = steer,
					  .plans = &plan,
					  .plan_count = c->point_plan.length ? 1 : 0 };
	bool is_hidden = c->is_shown;
	sn_status status = sn_scratch_folder_in(sn_live_place(), &folder, err);
	int code;

	if (status != SN_OK) {
		sn_text_free(&folder);
		return status;
	}
	sn_text_addf(&scratch, "%s/run", folder.chars);
	what.scratch = scratch.chars;
	sn_streams_rewind(&c->streams);
	if (is_hidden)
		sn_streams_begin(&c->streams);
	code = sn_cli_record_with(c->args, &what, result);
	if (is_hidden)
		sn_streams_end(&c->streams);
	else
		c->exit_code = code;
	c->last_code = code;
	c->is_shown = true;
	c->is_interrupted = result->was_told_to_end;
	sn_text_free(&result->experiment_path);
	sn_scratch_remove(folder.chars);
	sn_text_free(&scratch);
	sn_text_free(&folder);
	return SN_OK;
}

/* With no point within the run each run is one experiment. */
static void keep_whole_run(struct sn_cli_causal *c, const struct sn_causal_trial_plan *plan,
			   const struct sn_causal_control *last, int64_t elapsed_ns)
{
	struct sn_causal_trial trial = {
		.run = (uint32_t)c->log->runs.count,
		.block = plan->block,
		.candidate = plan->candidate,
		.speedup = plan->speedup,
		.visits = 1,
		.time_ns = elapsed_ns,
		.virtual_ns = elapsed_ns - last->due_ns,
		.samples = last->samples,
		.hits = last->hits,
		.hit_ns = last->hit_ns,
		.due_ns = last->due_ns,
	};

	trial.step_ns = (double)(trial.virtual_ns > 0 ? trial.virtual_ns : 0);
	sn_vec_push(&c->log->trials, trial);
	sn_causal_session_advance(&c->session);
	c->session.left_s -= (double)elapsed_ns * 1e-9;
}

/* A run that ended otherwise than the user's did otherwise, and not only faster: its experiments do not count. */
static bool has_failed(struct sn_cli_causal *c, size_t trials_before)
{
	if (c->is_interrupted || c->last_code == c->exit_code)
		return false;
	sn_cli_causal_say(
		c,
		"a run ended with status %d, the one that was shown with %d: its experiments are left out",
		c->last_code, c->exit_code);
	c->log->trials.count = trials_before;
	c->has_failed_runs = true;
	return true;
}

static sn_status make_run(struct sn_cli_causal *c, bool is_whole, struct sn_error *err)
{
	size_t trials_before = c->log->trials.count;
	struct sn_steer steer = { .first = c->page, .context = &c->session };
	struct sn_causal_trial_plan plan = { 0 };
	struct sn_record_result result = { 0 };
	sn_status status;

	if (!is_whole)
		steer.steer = sn_causal_session_steer;
	else if (!sn_causal_session_next(&c->session, &plan))
		return SN_OK;
	else
		atomic_store(&c->page->experiment,
			     sn_causal_word(1,
					    plan.candidate < 0 ? SN_CAUSAL_NO_TARGET
							       : (uint32_t)plan.candidate,
					    (uint32_t)lround(plan.speedup * SN_CAUSAL_WHOLE)));
	status = run_again(c, &steer, &result, err);
	if (status == SN_OK && !steer.last)
		status = sn_error_set(err, SN_ERR_NO_DATA, "'%s' could not be run for experiments",
				      c->args->operands[0]);
	else if (status == SN_OK) {
		if (!has_failed(c, trials_before) && is_whole && !c->is_interrupted)
			keep_whole_run(c, &plan, steer.last, result.elapsed_ns);
		sn_causal_session_note_run(&c->session, steer.last, result.elapsed_ns);
		status = sn_causal_log_write(c->log, c->experiment.chars, err);
		c->session.is_kept = status == SN_OK;
	}
	sn_steer_free(&steer);
	return status;
}

/* Runs may be many and short: a line every few seconds. */
static void say_progress(struct sn_cli_causal *c)
{
	int64_t now_ns = sn_clock_ns(CLOCK_MONOTONIC);

	if (c->said_ns && now_ns - c->said_ns < progress_every_ns)
		return;
	c->said_ns = now_ns;
	sn_cli_causal_say(c, "run %zu: %zu experiment%s so far", c->log->runs.count,
			  c->log->trials.count, c->log->trials.count == 1 ? "" : "s");
}

static bool is_of_whole_runs(const struct sn_cli_causal *c)
{
	return !strcmp(c->log->kind, "end");
}

/* What a run takes, by those for experiments, or the one that found the code. */
static double run_s(const struct sn_cli_causal *c)
{
	size_t runs = c->log->runs.count - c->session.runs_before;
	double sum_s = 0;

	for (size_t i = c->session.runs_before; i < c->log->runs.count; i++)
		sum_s += (double)c->log->runs.items[i].elapsed_ns * 1e-9;
	return runs ? sum_s / (double)runs : (double)c->analysis->experiment->elapsed_ns * 1e-9;
}

/* With whole runs an answer may need more of them than there is time for. */
static void say_room(const struct sn_cli_causal *c)
{
	double each_s = run_s(c), room = each_s > 0 ? floor(c->session.left_s / each_s) : INFINITY;
	double needed = 2.0 * SN_CAUSAL_BLOCKS_LEAST * c->page->target_count;

	if (c->runs_most && (double)c->runs_most < room)
		room = (double)c->runs_most;
	needed -= (double)c->log->trials.count;
	if (room < needed)
		sn_cli_causal_say(
			c,
			"a run takes %.1f s: there is room for %.0f, and a first verdict on %u piece%s of "
			"code needs %.0f more: --max-time %.0f (and no --runs below that), fewer pieces "
			"(--target), a progress point (--progress), or later runs that add to these "
			"(--from)",
			each_s, room < 1 ? 1 : room, c->page->target_count,
			c->page->target_count == 1 ? "" : "s", needed, ceil(needed * each_s));
}

static sn_status too_often(struct sn_cli_causal *c, struct sn_error *err)
{
	/* what was counted before the breakpoint was given up is too little */
	c->log->trials.count = c->session.trials_before;
	if (!c->log->trials.count)
		c->log->refused = "too-often";
	sn_causal_log_write(c->log, c->experiment.chars, NULL);
	return sn_error_set(
		err, SN_ERR_NO_DATA,
		"the progress point '%s' is reached over 400 times a second by one thread, too often "
		"for a breakpoint: name a place that is reached less often, a heartbeat "
		"(sonde/heartbeat.h), or 'end' for whole runs",
		c->log->name);
}

/* In the steering thread: who waits for an answer need not wait for the program's end. */
static void say_over(void *context)
{
	struct sn_cli_causal *c = context;
	const char *why = c->session.end == SN_CAUSAL_SURE_ENOUGH ? "every answer is sure enough"
			  : c->session.end == SN_CAUSAL_OUT_OF_TIME
				  ? "the time for experiments is over (--max-time)"
			  : c->session.end == SN_CAUSAL_TOO_OFTEN
				  ? "the progress point is reached too often for a breakpoint"
			  : c->session.end == SN_CAUSAL_NO_BEAT
				  ? "the program has heartbeats, but not the one that was named"
				  : "no effect can be told on this machine as it is now";

	sn_causal_log_write(c->log, c->experiment.chars, NULL);
	if (c->session.end == SN_CAUSAL_TOO_OFTEN || c->session.end == SN_CAUSAL_REFUSED ||
	    !c->log->trials.count)
		sn_cli_causal_say(c, "%s; the program goes on to its end, without delays", why);
	else
		sn_cli_causal_say(
			c,
			"%s; the answers are there: sonde show causal %s; the program goes on to its end, "
			"without delays",
			why, c->experiment.chars);
}

static sn_status make_runs(struct sn_cli_causal *c, struct sn_error *err)
{
	bool is_whole = is_of_whole_runs(c);
	size_t before = c->log->trials.count;
	int empty = 0;
	sn_status status = SN_OK;

	for (long long run = 0;
	     status == SN_OK && !c->is_interrupted && c->session.end == SN_CAUSAL_GOES_ON &&
	     (!c->runs_most || run < c->runs_most);
	     run++) {
		size_t trials = c->log->trials.count;

		if (is_whole && run && c->session.left_s < run_s(c)) {
			c->session.end = SN_CAUSAL_OUT_OF_TIME;
			break;
		}
		status = make_run(c, is_whole, err);
		if (status != SN_OK)
			break;
		empty = c->log->trials.count == trials ? empty + 1 : 0;
		if (!c->session.visits) /* a process may have refused to be written to */
			sn_cli_causal_drop_plan(c);
		say_progress(c);
		if (empty == FAILED_RUNS_MOST)
			break;
		c->is_interrupted |= sn_is_told_to_end();
		if (c->session.end == SN_CAUSAL_GOES_ON && !c->is_forced &&
		    sn_causal_session_refusal(&c->session, NULL))
			c->session.end = SN_CAUSAL_REFUSED;
		if (c->session.end == SN_CAUSAL_GOES_ON && c->session.left_s <= 0)
			c->session.end = SN_CAUSAL_OUT_OF_TIME;
	}
	if (status == SN_OK && c->session.end == SN_CAUSAL_TOO_OFTEN)
		return too_often(c, err);
	if (status == SN_OK && c->session.end == SN_CAUSAL_NO_BEAT)
		return sn_cli_causal_no_beat(c, err);
	if (status != SN_OK || c->log->trials.count > before || c->is_interrupted ||
	    c->session.end == SN_CAUSAL_SURE_ENOUGH || c->session.end == SN_CAUSAL_REFUSED)
		return status;
	if (c->has_failed_runs)
		return sn_error_set(
			err, SN_ERR_NO_DATA,
			"runs after the first ended otherwise than it, so nothing can be said: does the "
			"program find its files as the first run did?");
	if (!is_whole && !c->session.visits)
		return sn_error_set(err, SN_ERR_NO_DATA,
				    "the progress point '%s' was never reached, so nothing can be "
				    "said; name another (--progress), or 'end' for whole runs",
				    c->log->name);
	return sn_error_set(err, SN_ERR_NO_DATA,
			    "the program ends within its first experiment, or its progress point "
			    "'%s' is reached too seldom: let it work longer, give more --max-time, "
			    "or take whole runs (--progress end)",
			    c->log->name);
}

/* ---- the facts that the profile has ---- */

static sn_status choose_candidates(struct sn_cli_causal *c, struct sn_error *err)
{
	const char *what = sn_cli_causal_targets(c);
	bool with_callees = sn_args_flag(c->args, "with-callees");
	sn_status status = sn_causal_page_add_candidates(c->page, c->log, c->analysis,
							 what ? what : "loops", with_callees, err);

	if (status == SN_OK && !what && !c->page->target_count)
		status = sn_causal_page_add_candidates(c->page, c->log, c->analysis, "functions",
						       with_callees, err);
	if (status == SN_OK && !c->page->target_count && c->analysis->experiment->exit_status > 0)
		return sn_error_set(
			err, SN_ERR_NO_DATA,
			"the program ended with status %d, and no code of '%s' has enough samples "
			"to try: mend its command first, or name code with --target",
			c->analysis->experiment->exit_status, c->experiment.chars);
	if (status == SN_OK && !c->page->target_count)
		status = sn_error_set(
			err, SN_ERR_NO_DATA,
			"--target %s: nothing of that kind has 1 %% of the samples of '%s' and lies in a "
			"file with a build-id, so there is nothing to try; let the program work longer, "
			"or take other code",
			what ? what : "loops,functions", c->experiment.chars);
	return status;
}

static sn_status open_log(struct sn_cli_causal *c, struct sn_error *err)
{
	if (sn_causal_log_exists(c->experiment.chars))
		return sn_causal_log_open(c->experiment.chars, &c->log, err);
	c->log = sn_causal_log_new();
	return SN_OK;
}

static sn_status open_experiment(struct sn_cli_causal *c, struct sn_error *err)
{
	sn_status status = sn_cli_analysis_open(c->experiment.chars, NULL, &c->analysis, err);

	if (status != SN_OK)
		return status;
	sn_text_clear(&c->experiment);
	sn_text_add(&c->experiment, c->analysis->experiment->path);
	status = sn_archive_refuse(c->experiment.chars, err);
	if (status != SN_OK)
		return status;
	if (!sn_args_value(c->args, "from"))
		return open_log(c, err);
	if (strcmp(sn_base_name(c->analysis->experiment->program),
		   sn_base_name(c->args->operands[0])) != 0)
		return sn_error_set(
			err, SN_ERR_USAGE,
			"'%s' is of %s, and not of %s: --from takes an experiment of the same program",
			c->experiment.chars, sn_base_name(c->analysis->experiment->program),
			sn_base_name(c->args->operands[0]));
	status = sn_cli_check_builds(c->analysis->experiment, c->args->operands[0],
				     c->experiment.chars, err);
	if (status != SN_OK)
		return status;
	sn_cli_causal_warn_of_arguments(c);
	return open_log(c, err);
}

static sn_status prepare(struct sn_cli_causal *c, struct sn_error *err)
{
	const char *from = sn_args_value(c->args, "from");
	sn_status status = SN_OK;

	sn_streams_open(&c->streams);
	if ((status = sn_cli_causal_check_names(c, err)) != SN_OK)
		return status;
	if (from)
		sn_text_add(&c->experiment, from);
	else if ((status = run_first(c)) != SN_OK)
		return sn_error_set(err, status, "%s", ""); /* it was told */
	status = open_experiment(c, err);
	if (status == SN_OK) {
		c->log->refused = ""; /* whether experiments can answer is asked anew */
		c->page = sn_causal_page_new();
		sn_cli_causal_take_facts(c);
		status = choose_candidates(c, err);
	}
	if (status == SN_OK)
		status = choose_progress(c, err);
	if (status == SN_OK)
		sn_cli_causal_plan_point(c);
	if (status == SN_OK)
		sn_causal_page_add_runtimes(c->page, c->log, c->analysis);
	c->session.log = c->log;
	c->session.page = c->page;
	c->session.experiment_path = c->experiment.chars;
	return status;
}

static void free_all(struct sn_cli_causal *c)
{
	sn_causal_session_free(&c->session);
	sn_causal_log_free(c->log);
	sn_analysis_free(c->analysis);
	sn_streams_close(&c->streams);
	free(c->page);
	free(c->first_page);
	sn_text_free(&c->experiment);
	sn_text_free(&c->targets);
	sn_text_free(&c->point_plan);
}

static int causal_run(const struct sn_args *args)
{
	struct sn_cli_causal c = { .args = args };
	struct sn_error err = { .sentence = "" };
	sn_status status = read_options(&c, &err);
	int code;

	if (status == SN_OK)
		status = prepare(&c, &err);
	if (status == SN_OK && !c.is_interrupted)
		status = sn_cli_causal_say_early(&c, &err);
	else if (status == SN_OK) /* for later runs, which go on from there */
		status = sn_causal_log_write(c.log, c.experiment.chars, &err);
	if (status == SN_OK && !c.is_interrupted && !*c.log->refused) {
		sn_cli_causal_say(
			&c,
			"%u piece%s of code, progress by %s%s%s%s, up to %.3g s of experiments "
			"(--max-time); the output of further runs is not shown",
			c.page->target_count, c.page->target_count == 1 ? "" : "s",
			is_of_whole_runs(&c) ? "whole runs" : c.log->kind,
			is_of_whole_runs(&c) ? "" : " '", is_of_whole_runs(&c) ? "" : c.log->name,
			is_of_whole_runs(&c) ? "" : "'", c.max_time_s);
		c.log->refused = "";
		c.session.tell_over = say_over;
		c.session.context = &c;
		sn_causal_session_begin(&c.session);
		if (is_of_whole_runs(&c))
			say_room(&c);
		status = make_runs(&c, &err);
	}
	if (status == SN_OK && c.log)
		sn_cli_causal_tell(&c);
	else if (err.sentence[0])
		sn_error_print(&err);
	code = c.is_shown ? c.exit_code : SN_EXIT_NOT_MEASURED;
	free_all(&c);
	return code;
}

static const struct sn_option causal_options[] = {
	{ "progress", 0, "POINT",
	  "what progress is: a heartbeat's name, FUNCTION, FILE:LINE, a loop's #RANK or id, or end (whole runs); "
	  "unless said, the heartbeat that beats most often, else end",
	  NULL },
	{ "latency", 0, "POINT",
	  "the time between begin and end of a heartbeat, or of BEGIN..END, two places, instead",
	  NULL },
	{ "target", 0, "CODE,..",
	  "the code to try: loops, functions, lines, regions of OpenMP (loops:8: the 8 hottest, else 5), "
	  "or by #RANK, id, label, name, FILE:LINE; lock:NAME is what runs under the lock in that variable",
	  NULL },
	{ "with-callees", 0, NULL, "time in what the code calls is the code's, too", NULL },
	{ "speedups", 0, "P,..",
	  "percentages of its time that the code is spared (25,50,75,100); baselines are there anyway",
	  NULL },
	{ "runs", 0, "N", "run the program at most so often for experiments, 1 or more", NULL },
	{ "max-time", 0, "S",
	  "seconds for experiments, over all runs but the first (60): then answers are there, and the run "
	  "that is on goes on to its end without delays; no whole run is begun that takes longer",
	  NULL },
	{ "force", 0, NULL,
	  "make experiments also where they cannot answer (threads wait for CPUs) or need not (one "
	  "thread is at work)",
	  NULL },
	{ "from", 0, "EXPERIMENT",
	  "an experiment of the same program says which code is hot, and gets the results; no first run",
	  NULL },
	SN_RECORD_OPTIONS,
	{ 0 },
};

const struct sn_command sn_command_causal = {
	.name = "causal",
	.operands = "-- PROGRAM [ARGS...]",
	.summary = "Measures what a faster part would bring in elapsed time",
	.description =
		"With several threads the hottest code need not be what the program waits for. A "
		"first run finds the hot code and is the user's, with its output. Further runs are "
		"experiments: whenever a sample falls into the chosen code, all other threads are held "
		"up by a share of the time that the sample stands for. The program then behaves as if "
		"the code were faster by that share, and the rate of a progress point, with the delays "
		"taken off the clock, tells what that brings ('sonde show causal').\n\n"
		"A progress point is a heartbeat of <sonde/heartbeat.h>, or a place where "
		"arrivals are counted (by inserted code, else by a breakpoint), or the end of the run. Baselines "
		"without delays lie between the experiments; effects have 95 % intervals. Later runs "
		"add to the same experiment (--from).\n\n"
		"The program is run again and again: what it does to files it does again. Standard "
		"input is the same for all runs. Processes of one host are held up alike, MPI ranks "
		"too: sonde causal mpirun -n 2 ./app. Waits with time limits see the delays.\n\n"
		"Of the options of record, those that need another library in the program (--heap, --sync, "
		"--io, --openmp, --collect) or measure a part of it (--delay, --duration, --pause-signal, "
		"--pid) are refused.",
	.options = causal_options,
	.examples =
		(const char *const[]){
			"sonde causal -- ./app -n 2000",
			"the five hottest loops, by the program's heartbeat or by whole runs",
			"sonde causal --progress step --target functions:10 --max-time 300 -- ./app",
			"ten functions, progress by calls of step()",
			"sonde causal --from @0 --target solve.c:41 --speedups 50 -- ./app",
			"one line, as further experiments of the newest experiment", NULL },
	.stops_at_operand = true,
	.run = causal_run,
};
