/*
 * The engine: clears up after a killed one, builds, then starts run after run. A run is known to the
 * state before it does anything, and its end is written once its experiment was looked at.
 */
#include "campaign/engine.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/progress.h"
#include "base/stats.h"
#include "campaign/facts.h"
#include "campaign/judge.h"
#include "campaign/launch.h"
#include "campaign/schedule.h"
#include "experiment/campaign_mark.h"
#include "experiment/companions.h"
#include "experiment/experiment.h"
#include "experiment/store.h"

/* A level may take so many times what a run may. */
enum { LEVEL_RUNS_MOST = 10 };

/* Durations of a configuration's runs, from which the time left is foretold. */
struct pace {
	double sum_s, squares;
	uint32_t count;
};

struct engine {
	struct sn_campaign *campaign;
	const struct sn_campaign_engine_options *options;
	struct sn_campaign_log log;
	char *folder; /* absolute */
	const char *boot;
	sigset_t signals;
	bool *is_left_out; /* by configuration: its build failed */
	uint32_t *builds;  /* by configuration */
	struct pace *paces;
	double began_s, used_s;
	bool is_stopped;
};

static const struct sn_campaign_plan *plan_of(const struct engine *e)
{
	return e->campaign->plan;
}

static struct sn_campaign_state *state_of(const struct engine *e)
{
	return e->campaign->state;
}

/* ---- paths ---- */

static const char *path_of(struct engine *e, const char *relative)
{
	return sn_arena_printf(&state_of(e)->arena, "%s/%s", e->folder, relative);
}

static const char *build_folder_of(struct engine *e, uint32_t configuration)
{
	uint32_t build = e->builds[configuration];

	return build == SN_NO_BUILD
		       ? NULL
		       : sn_arena_printf(&state_of(e)->arena, "%s/builds/%u", e->folder, build);
}

/* A name that is not there yet: what an attempt left whose line in the state was lost stays. */
static const char *experiment_of(struct engine *e, struct sn_campaign_next *run)
{
	char *word = sn_store_word(plan_of(e)->configurations.items[run->configuration].name);
	const char *relative;

	for (;; run->attempt++) {
		relative = sn_arena_printf(&state_of(e)->arena, "runs/r%02u.c%03u.a%u.%.40s",
					   run->block + 1, run->configuration, run->attempt, word);
		if (access(path_of(e, relative), F_OK))
			break;
	}
	free(word);
	return relative;
}

/* ---- progress ---- */

static bool is_over(const struct engine *e, const struct sn_campaign_attempt *a)
{
	return a && (a->state == SN_RUN_DONE || a->state == SN_RUN_SUSPICIOUS ||
		     (a->state == SN_RUN_FAILED && a->failed_before >= state_of(e)->retry));
}

static void pace_add(struct engine *e, const struct sn_campaign_attempt *a, double took_s)
{
	struct pace *pace = &e->paces[a->configuration];

	pace->sum_s += took_s;
	pace->squares += took_s * took_s;
	pace->count++;
}

/* Mean and variance of one run of a configuration; of all, where it has not run yet. */
static void pace_of(const struct engine *e, uint32_t configuration, double *mean, double *variance)
{
	struct pace pace = e->paces[configuration], all = { 0 };

	for (uint32_t c = 0; !pace.count && c < plan_of(e)->configurations.count; c++) {
		all.sum_s += e->paces[c].sum_s;
		all.squares += e->paces[c].squares;
		all.count += e->paces[c].count;
	}
	if (!pace.count)
		pace = all;
	*mean = pace.count ? pace.sum_s / pace.count : NAN;
	*variance = pace.count > 1 ? fmax(pace.squares / pace.count - *mean * *mean, 0) : 0;
}

static void counts_take(const struct engine *e, struct sn_campaign_progress *p)
{
	double variance_sum = 0;

	p->total = plan_of(e)->configurations.count * (size_t)plan_of(e)->repeat;
	for (uint32_t c = 0; c < plan_of(e)->configurations.count; c++) {
		double mean, variance;
		size_t left = 0;

		for (uint32_t b = 0; b < plan_of(e)->repeat; b++) {
			const struct sn_campaign_attempt *last =
				sn_campaign_last(state_of(e), c, b);

			p->done += last &&
				   (last->state == SN_RUN_DONE || last->state == SN_RUN_SUSPICIOUS);
			p->failed += (last && is_over(e, last) && last->state == SN_RUN_FAILED) ||
				     e->is_left_out[c];
			left += !is_over(e, last) && !e->is_left_out[c];
		}
		pace_of(e, c, &mean, &variance);
		if (left)
			p->left_s += mean * (double)left;
		variance_sum += left ? variance * (double)left : 0;
	}
	p->left_spread_s = 2 * sqrt(variance_sum);
}

static void tell_of(struct engine *e, uint32_t configuration, struct sn_campaign_progress p)
{
	if (!e->options->tell)
		return;
	counts_take(e, &p);
	p.configuration = sn_campaign_configuration_name(e->campaign, configuration);
	e->options->tell(e->options->context, &p);
}

static void tell(struct engine *e, const struct sn_campaign_attempt *run, uint32_t configuration,
		 bool has_ended)
{
	tell_of(e, configuration,
		(struct sn_campaign_progress){ .run = run, .has_ended = has_ended });
}

/* ---- builds ---- */

static void folder_clear(const char *path)
{
	struct sn_command_line line = { .directory = "/" };
	struct sn_child child;
	sigset_t signals;
	int status;

	/* a build may have made anything, so this is left to who knows how to remove it */
	sn_vec_push(&line.words.items, "rm");
	sn_vec_push(&line.words.items, "-rf");
	sn_vec_push(&line.words.items, "--");
	sn_vec_push(&line.words.items, path);
	sn_vec_push(&line.words.items, NULL);
	sigemptyset(&signals);
	sigaddset(&signals, SIGCHLD);
	if (sn_child_start(&line, "/dev/null", "/dev/null", &signals, &child, NULL) == SN_OK) {
		sn_child_go(&child, true);
		sn_child_wait(&child, 0, &status);
	}
	sn_command_line_free(&line);
}

static const char *build_reason(struct engine *e, const char *log, int status,
				enum sn_child_end end)
{
	struct sn_text words = { 0 };
	const char *reason;

	sn_last_words(log, &words);
	reason = end == SN_CHILD_TIMED_OUT
			 ? sn_arena_printf(&state_of(e)->arena,
					   "the build took longer than %.6g s%s%s",
					   plan_of(e)->timeout_s, words.length ? ": " : "",
					   words.length ? words.chars : "")
			 : sn_arena_printf(&state_of(e)->arena,
					   "the build failed with exit status %d%s%s", status,
					   words.length ? ": " : "",
					   words.length ? words.chars : "");
	sn_text_free(&words);
	return reason;
}

static sn_status build_run(struct engine *e, uint32_t build, struct sn_campaign_built *out,
			   struct sn_error *err)
{
	const struct sn_campaign_configuration *c = &plan_of(e)->configurations.items[build];
	const char *folder = build_folder_of(e, build);
	const char *log = sn_arena_printf(&state_of(e)->arena, "%s/build.log", folder);
	struct sn_command_line line = { 0 };
	struct sn_child child;
	enum sn_child_end end = SN_CHILD_ENDED;
	int code = 0;
	sn_status status;

	folder_clear(folder);
	status = sn_make_folders(folder, err);
	if (status == SN_OK)
		status = sn_campaign_build_command(c, folder, &state_of(e)->arena, &line, err);
	if (status == SN_OK)
		status = sn_child_start(&line, log, log, &e->signals, &child, err);
	if (status == SN_OK) {
		sn_child_go(&child, true);
		end = sn_child_wait(&child, plan_of(e)->timeout_s, &code);
	}
	sn_command_line_free(&line);
	*out = (struct sn_campaign_built){ build, end == SN_CHILD_ENDED && !code, NULL };
	if (!out->is_good)
		out->reason = build_reason(e, log, code, end);
	e->is_stopped |= end == SN_CHILD_STOPPED;
	return status;
}

static void built_note(struct engine *e, const struct sn_campaign_built *built)
{
	struct sn_campaign_state *s = state_of(e);

	for (size_t i = 0; i < s->builds.count; i++)
		if (s->builds.items[i].build == built->build) {
			s->builds.items[i] = *built;
			return;
		}
	sn_vec_push(&s->builds, *built);
}

static sn_status builds_make(struct engine *e, struct sn_error *err)
{
	uint32_t count = (uint32_t)plan_of(e)->configurations.count;
	sn_status status = SN_OK;

	for (uint32_t c = 0; status == SN_OK && !e->is_stopped && c < count; c++) {
		uint32_t build = e->builds[c];
		const struct sn_campaign_built *known =
			build == SN_NO_BUILD ? NULL : sn_campaign_built_find(state_of(e), build);
		struct sn_campaign_built fresh;

		if (build == SN_NO_BUILD)
			continue;
		if (build == c && !(known && known->is_good)) {
			tell(e, NULL, c, false);
			status = build_run(e, build, &fresh, err);
			if (status == SN_OK && !e->is_stopped) {
				status = sn_campaign_log_built(&e->log, &fresh, err);
				built_note(e, &fresh);
			}
			known = sn_campaign_built_find(state_of(e), build);
		}
		e->is_left_out[c] = !(known && known->is_good);
	}
	return status;
}

/* ---- runs ---- */

static void output_measure(const char *path, struct sn_run_facts *facts)
{
	struct stat st;

	facts->output_bytes = stat(path, &st) ? -1 : (int64_t)st.st_size;
}

static void fail(struct sn_campaign_attempt *a, struct sn_arena *arena, const char *path,
		 const char *sentence)
{
	struct sn_text words = { 0 };
	struct sn_text file = { 0 };

	sn_text_addf(&file, "%s.err", path);
	sn_last_words(file.chars, &words);
	if (!words.length) {
		sn_text_clear(&file);
		sn_text_addf(&file, "%s.out", path);
		sn_last_words(file.chars, &words);
	}
	a->state = SN_RUN_FAILED;
	a->reason = words.length ? sn_arena_printf(arena, "%s: %s", sentence, words.chars)
				 : sn_arena_strdup(arena, sentence);
	sn_text_free(&words);
	sn_text_free(&file);
}

static void mark_write(struct engine *e, const struct sn_campaign_attempt *a, const char *path)
{
	const struct sn_campaign_configuration *c =
		&plan_of(e)->configurations.items[a->configuration];
	struct sn_campaign_mark mark = { .campaign = state_of(e)->id,
					 .configuration = c->name,
					 .block = a->block,
					 .position = a->position,
					 .is_in_blocks = plan_of(e)->order == SN_CAMPAIGN_BLOCKS,
					 .ranks = c->ranks,
					 .threads = c->threads };
	struct sn_error err;

	if (sn_campaign_mark_write(&mark, path, &err) != SN_OK)
		sn_error_print(&err);
}

/* A shell's 139 may be a program's own; the experiment knows. */
static const char *exit_words(struct sn_arena *arena, int32_t number, int exit_status)
{
	const char *name = number > 0 ? sigabbrev_np(number) : NULL;

	if (name)
		return sn_arena_printf(arena, "ended by SIG%s", name);
	return number > 0 ? sn_arena_printf(arena, "ended by signal %d", number)
			  : sn_arena_printf(arena, "exit status %d", exit_status);
}

/* What the experiment says of a run whose command ended with `exit_status`. */
static void run_judge(struct engine *e, struct sn_campaign_attempt *a, int exit_status)
{
	const struct sn_campaign_configuration *c =
		&plan_of(e)->configurations.items[a->configuration];
	const char *path = path_of(e, a->experiment);
	struct sn_arena *arena = &state_of(e)->arena;
	struct sn_experiment *x = NULL;
	struct sn_text reason = { 0 };
	struct sn_error err;

	a->exit_status = exit_status;
	a->state = SN_RUN_DONE;
	if (!sn_store_is_experiment(path)) {
		a->experiment = NULL;
		fail(a, arena, path,
		     sn_arena_printf(arena, "no experiment (exit status %d)", exit_status));
		return;
	}
	if (sn_experiment_open(path, &x, &err) != SN_OK) {
		fail(a, arena, path, err.sentence);
		return;
	}
	a->facts = sn_run_facts_of(x);
	output_measure(sn_arena_printf(arena, "%s.out", path), &a->facts);
	if (exit_status)
		fail(a, arena, path, exit_words(arena, x->exit_signal, exit_status));
	else if (!sn_run_has_ended(x))
		fail(a, arena, path, "the recording did not end");
	else if (!sn_run_is_as_asked(&a->facts, c->ranks ? c->ranks : 1, c->threads, &reason))
		fail(a, arena, "", reason.chars);
	a->level = a->state == SN_RUN_DONE;
	mark_write(e, a, path);
	sn_text_free(&reason);
	sn_experiment_free(x);
}

static sn_status run_begin(struct engine *e, const struct sn_campaign_next *next,
			   struct sn_campaign_attempt *a, struct sn_child *child,
			   struct sn_error *err)
{
	struct sn_campaign_next run = *next;
	const char *relative = experiment_of(e, &run), *path = path_of(e, relative);
	const char *output = sn_arena_printf(&state_of(e)->arena, "%s.out", path);
	const char *errors = sn_arena_printf(&state_of(e)->arena, "%s.err", path);
	struct sn_command_line line = { 0 };
	sn_status status = sn_campaign_command(
		plan_of(e), &plan_of(e)->configurations.items[run.configuration],
		build_folder_of(e, run.configuration), e->options->sonde, path, &state_of(e)->arena,
		&line, err);

	*a = (struct sn_campaign_attempt){ .configuration = run.configuration,
					   .block = run.block,
					   .attempt = run.attempt,
					   .position = run.position,
					   .state = SN_RUN_RUNNING,
					   .exit_status = -1,
					   .experiment = relative,
					   .boot = e->boot,
					   .facts = sn_run_facts_unknown() };
	if (status == SN_OK)
		status = sn_child_start(&line, output, errors, &e->signals, child, err);
	sn_command_line_free(&line);
	if (status != SN_OK)
		return status;
	a->pid = child->pid;
	a->pid_start = child->start;
	status = sn_campaign_log_begin(&e->log, a, err);
	sn_child_go(child, status == SN_OK);
	if (status == SN_OK)
		sn_campaign_state_begin(state_of(e), a);
	return status;
}

static sn_status run_one(struct engine *e, const struct sn_campaign_next *next,
			 struct sn_error *err)
{
	struct sn_campaign_attempt fresh, *a;
	struct sn_child child;
	enum sn_child_end end;
	double began = sn_now_s();
	int code = 0;
	sn_status status = run_begin(e, next, &fresh, &child, err);

	if (status != SN_OK)
		return status;
	a = sn_campaign_state_last(state_of(e), fresh.configuration, fresh.block);
	tell(e, a, a->configuration, false);
	end = sn_child_wait(&child, plan_of(e)->timeout_s, &code);
	if (end == SN_CHILD_ENDED) {
		run_judge(e, a, code);
	} else if (end == SN_CHILD_TIMED_OUT) {
		a->exit_status = code;
		fail(a, &state_of(e)->arena, path_of(e, a->experiment),
		     sn_arena_printf(&state_of(e)->arena, "it ran longer than %.6g s",
				     plan_of(e)->timeout_s));
	} else {
		a->state = SN_RUN_CANCELLED;
		a->reason = "stopped by a signal";
		e->is_stopped = true;
	}
	if (a->experiment && !sn_store_is_experiment(path_of(e, a->experiment)))
		a->experiment = NULL;
	status = sn_campaign_log_end(&e->log, a, err);
	pace_add(e, a, sn_now_s() - began);
	tell(e, a, a->configuration, true);
	return status;
}

/* What the budget is compared with: time used before, and now, and by what comes, in runs of the configuration. */
static bool has_budget(const struct engine *e, uint32_t configuration, double runs)
{
	double budget = e->options->budget_s > 0 ? e->options->budget_s : plan_of(e)->budget_s;
	double mean, variance;

	if (!(budget > 0))
		return true;
	pace_of(e, configuration, &mean, &variance);
	return e->used_s + sn_now_s() - e->began_s + (isnan(mean) ? 0 : mean * runs) <= budget;
}

/* ---- levels ---- */

/* The run that the level is added to: the first that is done, so that a killed campaign goes on with the same one.
 * NULL: none is, or one has the level already. */
static struct sn_campaign_attempt *level_wanted(const struct sn_campaign *campaign,
						uint32_t configuration)
{
	struct sn_campaign_attempt *first = NULL;

	for (uint32_t b = 0; b < campaign->plan->repeat; b++) {
		struct sn_campaign_attempt *a =
			sn_campaign_state_last(campaign->state, configuration, b);

		if (!a || a->state != SN_RUN_DONE || !sn_campaign_has_experiment(campaign, a))
			continue;
		if (a->level >= campaign->plan->level)
			return NULL;
		first = first ? first : a;
	}
	return first;
}

size_t sn_campaign_levels_missing(const struct sn_campaign *campaign)
{
	size_t missing = 0;

	for (uint32_t c = 0; c < campaign->plan->configurations.count; c++)
		missing += level_wanted(campaign, c) != NULL;
	return missing;
}

static void level_judge(struct engine *e, struct sn_campaign_attempt *a, enum sn_child_end end,
			int code, const char *errors)
{
	struct sn_arena *arena = &state_of(e)->arena;
	struct sn_text words = { 0 };

	a->level_reason = NULL;
	if (end == SN_CHILD_ENDED && !code) {
		a->level = plan_of(e)->level;
		return;
	}
	sn_last_words(errors, &words);
	a->level_reason = sn_arena_printf(
		arena, "%s%s%s",
		end == SN_CHILD_TIMED_OUT ? "its runs took too long"
		: end == SN_CHILD_STOPPED ? "stopped by a signal"
					  : sn_arena_printf(arena, "exit status %d", code),
		words.length ? ": " : "", words.length ? words.chars : "");
	sn_text_free(&words);
}

static sn_status level_add(struct engine *e, struct sn_campaign_attempt *a, struct sn_error *err)
{
	struct sn_campaign_progress p = { .run = a, .level = plan_of(e)->level };
	struct sn_arena *arena = &state_of(e)->arena;
	const char *path = path_of(e, a->experiment);
	const char *output = sn_arena_printf(arena, "%s.level.out", path);
	const char *errors = sn_arena_printf(arena, "%s.level.err", path);
	struct sn_command_line line = { 0 };
	struct sn_child child;
	enum sn_child_end end;
	int code = 0;
	sn_status status = sn_campaign_level_command(
		plan_of(e), &plan_of(e)->configurations.items[a->configuration],
		build_folder_of(e, a->configuration), e->options->sonde, path, arena, &line, err);

	/* what lies there is of a try that failed or was killed */
	for (int k = 0; k < SN_COMPANIONS; k++)
		folder_clear(sn_arena_printf(arena, "%s/%s", path, sn_companion_names[k]));
	if (status == SN_OK)
		status = sn_child_start(&line, output, errors, &e->signals, &child, err);
	sn_command_line_free(&line);
	if (status != SN_OK)
		return status;
	tell_of(e, a->configuration, p);
	sn_child_go(&child, true);
	end = sn_child_wait(&child, plan_of(e)->timeout_s * LEVEL_RUNS_MOST, &code);
	level_judge(e, a, end, code, errors);
	e->is_stopped |= end == SN_CHILD_STOPPED;
	p.has_ended = true;
	tell_of(e, a->configuration, p);
	return sn_campaign_log_level(&e->log, a, err);
}

static sn_status levels_go(struct engine *e, enum sn_campaign_end *end, struct sn_error *err)
{
	uint32_t level = plan_of(e)->level;
	sn_status status = SN_OK;

	if (level < 2 || *end != SN_CAMPAIGN_COMPLETE)
		return SN_OK;
	sn_campaign_judge(state_of(e));
	for (uint32_t c = 0; status == SN_OK && c < plan_of(e)->configurations.count; c++) {
		struct sn_campaign_attempt *a = level_wanted(e->campaign, c);

		if (!a)
			continue;
		if (!has_budget(e, c, level)) {
			*end = SN_CAMPAIGN_OUT_OF_BUDGET;
			break;
		}
		status = level_add(e, a, err);
		if (e->is_stopped) {
			*end = SN_CAMPAIGN_STOPPED;
			break;
		}
	}
	return status;
}

/* ---- a killed campaign ---- */

static sn_status orphan_settle(struct engine *e, struct sn_campaign_attempt *a,
			       struct sn_error *err)
{
	struct sn_experiment *x = NULL;
	const char *path = a->experiment ? path_of(e, a->experiment) : NULL;
	bool is_whole;

	sn_orphan_end(a->pid, a->pid_start, a->boot);
	is_whole = path && sn_store_is_experiment(path) &&
		   sn_experiment_open(path, &x, NULL) == SN_OK && sn_run_has_ended(x) &&
		   x->exit_status == 0 && x->processes.count;
	sn_experiment_free(x);
	if (is_whole) {
		run_judge(e, a, 0);
	} else {
		a->state = SN_RUN_CANCELLED;
		a->reason = "the campaign was killed while it ran";
		if (path && !sn_store_is_experiment(path))
			a->experiment = NULL;
	}
	return sn_campaign_log_end(&e->log, a, err);
}

static sn_status orphans_settle(struct engine *e, struct sn_error *err)
{
	sn_status status = SN_OK;

	for (size_t i = 0; status == SN_OK && i < state_of(e)->attempts.count; i++) {
		struct sn_campaign_attempt *a = &state_of(e)->attempts.items[i];

		if (a->state == SN_RUN_RUNNING && a->configuration < state_of(e)->configurations)
			status = orphan_settle(e, a, err);
		else if (a->facts.elapsed_s > 0 && a->configuration < state_of(e)->configurations) {
			pace_add(e, a, a->facts.elapsed_s);
			e->used_s += a->facts.elapsed_s;
		}
	}
	return status;
}

/* ---- all of it ---- */

/* Two campaigns on one machine disturb each other; that is said, and both go on. */
static int neighbours_warn(void)
{
	struct sn_text path = { 0 };
	int fd;

	sn_text_addf(&path, "/tmp/sonde-campaign.%u.lock", (unsigned)geteuid());
	fd = open(path.chars, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	sn_text_free(&path);
	if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) && errno == EWOULDBLOCK)
		sn_warn("another campaign runs on this machine: the times of both are disturbed");
	return fd;
}

static sn_status runs_go(struct engine *e, enum sn_campaign_end *end, struct sn_error *err)
{
	struct sn_campaign_cursor cursor = { 0 };
	struct sn_campaign_next next;
	sn_status status = SN_OK;

	*end = SN_CAMPAIGN_COMPLETE;
	while (status == SN_OK && !e->is_stopped &&
	       sn_campaign_next(&cursor, plan_of(e), state_of(e), e->is_left_out, &next)) {
		if (!has_budget(e, next.configuration, 1)) {
			*end = SN_CAMPAIGN_OUT_OF_BUDGET;
			break;
		}
		status = run_one(e, &next, err);
	}
	if (e->is_stopped)
		*end = SN_CAMPAIGN_STOPPED;
	sn_campaign_cursor_free(&cursor);
	return status;
}

static size_t missing_count(const struct engine *e)
{
	size_t missing = 0;

	for (uint32_t c = 0; c < plan_of(e)->configurations.count; c++)
		for (uint32_t b = 0; b < plan_of(e)->repeat; b++) {
			const struct sn_campaign_attempt *last =
				sn_campaign_last(state_of(e), c, b);

			missing += !(last && (last->state == SN_RUN_DONE ||
					      last->state == SN_RUN_SUSPICIOUS));
		}
	return missing;
}

static sn_status engine_begin(struct engine *e, int *lock, struct sn_error *err)
{
	struct sn_campaign_state *fresh;
	sn_status status = sn_campaign_lock(e->campaign->path, lock, err);

	if (status != SN_OK)
		return status;
	/* only now nobody else appends to it */
	status = sn_campaign_state_read(e->campaign->path, &fresh, err);
	if (status != SN_OK)
		return status;
	sn_campaign_state_free(e->campaign->state);
	e->campaign->state = fresh;
	if (fresh->damaged)
		sn_warn("%zu line%s of '%s/state.jsonl' could not be read and %s passed over",
			fresh->damaged, fresh->damaged == 1 ? "" : "s", e->campaign->path,
			fresh->damaged == 1 ? "was" : "were");
	if (e->options->retry >= 0)
		fresh->retry = (uint32_t)e->options->retry;
	e->folder = realpath(e->campaign->path, NULL);
	if (!e->folder)
		return sn_error_errno(err, "cannot find the campaign's folder '%s'",
				      e->campaign->path);
	e->boot = sn_boot_id(&fresh->arena);
	status = sn_campaign_log_open(e->folder, &e->log, err);
	if (status == SN_OK && fresh->is_cancelled)
		status = sn_campaign_log_event(&e->log, "resumed", NULL, NULL, err);
	fresh->is_cancelled = false;
	return status;
}

sn_status sn_campaign_run(struct sn_campaign *campaign,
			  const struct sn_campaign_engine_options *options,
			  enum sn_campaign_end *end, size_t *missing, struct sn_error *err)
{
	struct engine e = { .campaign = campaign, .options = options, .log = { .fd = -1 } };
	size_t count = campaign->plan->configurations.count;
	int lock = -1, neighbours = -1;
	sn_status status;

	e.is_left_out = sn_alloc_zeroed(count + 1, sizeof(*e.is_left_out));
	e.paces = sn_alloc_zeroed(count + 1, sizeof(*e.paces));
	e.builds = sn_alloc_zeroed(count + 1, sizeof(*e.builds));
	sn_campaign_builds(campaign->plan, e.builds);
	e.began_s = sn_now_s();
	sn_campaign_signals_block(&e.signals);
	status = engine_begin(&e, &lock, err);
	/* not before: who runs this campaign already is no other one */
	if (status == SN_OK)
		neighbours = neighbours_warn();
	if (status == SN_OK)
		status = orphans_settle(&e, err);
	if (status == SN_OK)
		status = builds_make(&e, err);
	if (status == SN_OK)
		status = runs_go(&e, end, err);
	if (status == SN_OK)
		status = levels_go(&e, end, err);
	*missing = missing_count(&e);
	sn_campaign_judge(campaign->state);
	if (e.log.fd >= 0)
		sn_campaign_log_close(&e.log);
	if (lock >= 0)
		close(lock);
	if (neighbours >= 0)
		close(neighbours);
	free(e.folder);
	free(e.is_left_out);
	free(e.paces);
	free(e.builds);
	return status;
}
