/*
 * The engine: clears up after a killed one, builds, then starts run after run. A run is known to the
 * state before it does anything, and its end is written once its experiment was looked at.
 */
#include "campaign/engine_parts.h"

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
#include "campaign/level.h"
#include "experiment/campaign_mark.h"
#include "experiment/experiment.h"
#include "experiment/store.h"

/* ---- paths ---- */

const char *sn_engine_path(struct sn_engine *e, const char *relative)
{
	return sn_arena_printf(&sn_engine_state(e)->arena, "%s/%s", e->folder, relative);
}

const char *sn_engine_build_folder(struct sn_engine *e, uint32_t configuration)
{
	uint32_t build = e->builds[configuration];

	return build == SN_NO_BUILD ? NULL
				    : sn_arena_printf(&sn_engine_state(e)->arena, "%s/builds/%u",
						      e->folder, build);
}

/* A name that is not there yet: what an attempt left whose line in the state was lost stays. */
const char *sn_engine_experiment_name(struct sn_engine *e, struct sn_campaign_next *run)
{
	char *word =
		sn_store_word(sn_engine_plan(e)->configurations.items[run->configuration].name);
	const char *relative;

	for (;; run->attempt++) {
		relative = sn_arena_printf(&sn_engine_state(e)->arena, "runs/r%02u.c%03u.a%u.%.40s",
					   run->block + 1, run->configuration, run->attempt, word);
		if (access(sn_engine_path(e, relative), F_OK))
			break;
	}
	free(word);
	return relative;
}

/* ---- progress ---- */

static bool is_over(const struct sn_engine *e, const struct sn_campaign_attempt *a)
{
	return a && (a->state == SN_RUN_DONE || a->state == SN_RUN_SUSPICIOUS ||
		     (a->state == SN_RUN_FAILED && a->failed_before >= sn_engine_state(e)->retry));
}

void sn_engine_pace_add(struct sn_engine *e, const struct sn_campaign_attempt *a, double took_s)
{
	struct sn_engine_pace *pace = &e->paces[a->configuration];

	pace->sum_s += took_s;
	pace->squares += took_s * took_s;
	pace->count++;
}

/* Mean and variance of one run of a configuration; of all, where it has not run yet. */
static void pace_of(const struct sn_engine *e, uint32_t configuration, double *mean,
		    double *variance)
{
	struct sn_engine_pace pace = e->paces[configuration], all = { 0 };

	for (uint32_t c = 0; !pace.count && c < sn_engine_plan(e)->configurations.count; c++) {
		all.sum_s += e->paces[c].sum_s;
		all.squares += e->paces[c].squares;
		all.count += e->paces[c].count;
	}
	if (!pace.count)
		pace = all;
	*mean = pace.count ? pace.sum_s / pace.count : NAN;
	*variance = pace.count > 1 ? fmax(pace.squares / pace.count - *mean * *mean, 0) : 0;
}

static void counts_take(const struct sn_engine *e, struct sn_campaign_progress *p)
{
	double variance_sum = 0;

	p->total = sn_engine_plan(e)->configurations.count * (size_t)sn_engine_plan(e)->repeat;
	for (uint32_t c = 0; c < sn_engine_plan(e)->configurations.count; c++) {
		double mean, variance;
		size_t left = 0;

		for (uint32_t b = 0; b < sn_engine_plan(e)->repeat; b++) {
			const struct sn_campaign_attempt *last =
				sn_campaign_last(sn_engine_state(e), c, b);

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

static void tell_of(struct sn_engine *e, uint32_t configuration, struct sn_campaign_progress p)
{
	if (!e->options->tell)
		return;
	counts_take(e, &p);
	p.configuration = sn_campaign_configuration_name(e->campaign, configuration);
	e->options->tell(e->options->context, &p);
}

void sn_engine_tell(struct sn_engine *e, const struct sn_campaign_attempt *run,
		    uint32_t configuration, bool has_ended)
{
	tell_of(e, configuration,
		(struct sn_campaign_progress){ .run = run, .has_ended = has_ended });
}

void sn_engine_tell_unbuilt(struct sn_engine *e, uint32_t configuration, const char *reason)
{
	tell_of(e, configuration,
		(struct sn_campaign_progress){ .reason = reason, .has_ended = true });
}

/* ---- runs ---- */

static void output_measure(const char *path, struct sn_run_facts *facts)
{
	struct stat st;

	facts->output_bytes = stat(path, &st) ? -1 : (int64_t)st.st_size;
}

void sn_engine_fail(struct sn_campaign_attempt *a, struct sn_arena *arena, const char *path,
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

static void mark_write(struct sn_engine *e, const struct sn_campaign_attempt *a, const char *path)
{
	const struct sn_campaign_configuration *c =
		&sn_engine_plan(e)->configurations.items[a->configuration];
	struct sn_campaign_mark mark = { .campaign = sn_engine_state(e)->id,
					 .configuration = c->name,
					 .block = a->block,
					 .position = a->position,
					 .is_in_blocks =
						 sn_engine_plan(e)->order == SN_CAMPAIGN_BLOCKS,
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
void sn_engine_judge(struct sn_engine *e, struct sn_campaign_attempt *a, int exit_status)
{
	const struct sn_campaign_configuration *c =
		&sn_engine_plan(e)->configurations.items[a->configuration];
	const char *path = sn_engine_path(e, a->experiment);
	struct sn_arena *arena = &sn_engine_state(e)->arena;
	struct sn_experiment *x = NULL;
	struct sn_text reason = { 0 };
	struct sn_error err;

	a->exit_status = exit_status;
	a->state = SN_RUN_DONE;
	if (!sn_store_is_experiment(path)) {
		a->experiment = NULL;
		sn_engine_fail(
			a, arena, path,
			sn_arena_printf(arena, "no experiment (exit status %d)", exit_status));
		return;
	}
	if (sn_experiment_open(path, &x, &err) != SN_OK) {
		sn_engine_fail(a, arena, path, err.sentence);
		return;
	}
	a->facts = sn_run_facts_of(x);
	output_measure(sn_arena_printf(arena, "%s.out", path), &a->facts);
	if (exit_status)
		sn_engine_fail(a, arena, path, exit_words(arena, x->exit_signal, exit_status));
	else if (!sn_run_has_ended(x))
		sn_engine_fail(a, arena, path, "the recording did not end");
	else if (!sn_run_is_as_asked(&a->facts, c->ranks ? c->ranks : 1, c->threads,
				     sn_engine_plan(e)->helper_threads, &reason))
		sn_engine_fail(a, arena, "", reason.chars);
	a->level = a->state == SN_RUN_DONE;
	mark_write(e, a, path);
	sn_text_free(&reason);
	sn_experiment_free(x);
}

sn_status sn_engine_end(struct sn_engine *e, struct sn_campaign_attempt *a, struct sn_error *err)
{
	if (a->experiment && !sn_store_is_experiment(sn_engine_path(e, a->experiment)))
		a->experiment = NULL;
	return sn_campaign_log_end(&e->log, a, err);
}

static sn_status run_begin(struct sn_engine *e, const struct sn_campaign_next *next,
			   struct sn_campaign_attempt *a, struct sn_child *child,
			   struct sn_error *err)
{
	struct sn_campaign_next run = *next;
	const char *relative = sn_engine_experiment_name(e, &run),
		   *path = sn_engine_path(e, relative);
	const char *output = sn_arena_printf(&sn_engine_state(e)->arena, "%s.out", path);
	const char *errors = sn_arena_printf(&sn_engine_state(e)->arena, "%s.err", path);
	struct sn_command_line line = { 0 };
	sn_status status = sn_campaign_command(
		sn_engine_plan(e), &sn_engine_plan(e)->configurations.items[run.configuration],
		sn_engine_build_folder(e, run.configuration), e->options->sonde, path,
		&sn_engine_state(e)->arena, &line, err);

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
		sn_campaign_state_begin(sn_engine_state(e), a);
	return status;
}

static sn_status run_one(struct sn_engine *e, const struct sn_campaign_next *next,
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
	a = sn_campaign_state_last(sn_engine_state(e), fresh.configuration, fresh.block);
	sn_engine_tell(e, a, a->configuration, false);
	end = sn_child_wait(&child, sn_engine_plan(e)->timeout_s, &code);
	if (end == SN_CHILD_ENDED) {
		sn_engine_judge(e, a, code);
	} else if (end == SN_CHILD_TIMED_OUT) {
		a->exit_status = code;
		sn_engine_fail(a, &sn_engine_state(e)->arena, sn_engine_path(e, a->experiment),
			       sn_arena_printf(&sn_engine_state(e)->arena,
					       "it ran longer than %.6g s",
					       sn_engine_plan(e)->timeout_s));
	} else {
		a->state = SN_RUN_CANCELLED;
		a->reason = "stopped by a signal";
		e->is_stopped = true;
	}
	status = sn_engine_end(e, a, err);
	sn_engine_pace_add(e, a, sn_now_s() - began);
	sn_engine_tell(e, a, a->configuration, true);
	return status;
}

/* What the budget is compared with: time used before, and now, and by what comes, in runs of the configuration. */
bool sn_engine_has_budget(const struct sn_engine *e, uint32_t configuration, double runs)
{
	double budget =
		e->options->budget_s > 0 ? e->options->budget_s : sn_engine_plan(e)->budget_s;
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

struct sn_campaign_attempt *sn_engine_level_wanted(struct sn_engine *e, uint32_t configuration)
{
	return level_wanted(e->campaign, configuration);
}

void sn_engine_level_tell(struct sn_engine *e, const struct sn_campaign_attempt *a, bool has_ended)
{
	tell_of(e, a->configuration,
		(struct sn_campaign_progress){
			.run = a, .level = sn_engine_plan(e)->level, .has_ended = has_ended });
}

void sn_engine_level_judge(struct sn_engine *e, struct sn_campaign_attempt *a,
			   enum sn_child_end end, int code)
{
	struct sn_arena *arena = &sn_engine_state(e)->arena;
	struct sn_text words = { 0 };

	a->level_reason = NULL;
	if (end == SN_CHILD_ENDED && !code) {
		a->level = sn_engine_plan(e)->level;
		return;
	}
	sn_last_words(sn_arena_printf(arena, "%s.level.err", sn_engine_path(e, a->experiment)),
		      &words);
	a->level_reason = sn_arena_printf(
		arena, "%s%s%s",
		end == SN_CHILD_TIMED_OUT ? "its runs took too long"
		: end == SN_CHILD_STOPPED ? "stopped by a signal"
					  : sn_arena_printf(arena, "exit status %d", code),
		words.length ? ": " : "", words.length ? words.chars : "");
	sn_text_free(&words);
}

static sn_status level_add(struct sn_engine *e, struct sn_campaign_attempt *a, struct sn_error *err)
{
	struct sn_child child;
	enum sn_child_end end;
	int code = 0;
	sn_status status = sn_campaign_level_start(
		sn_engine_plan(e), &sn_engine_plan(e)->configurations.items[a->configuration],
		sn_engine_build_folder(e, a->configuration), e->options->sonde,
		sn_engine_path(e, a->experiment), &e->signals, &sn_engine_state(e)->arena, &child,
		err);

	if (status != SN_OK)
		return status;
	sn_engine_level_tell(e, a, false);
	sn_child_go(&child, true);
	end = sn_child_wait(&child, sn_engine_plan(e)->timeout_s * SN_LEVEL_RUNS_MOST, &code);
	sn_engine_level_judge(e, a, end, code);
	e->is_stopped |= end == SN_CHILD_STOPPED;
	sn_engine_level_tell(e, a, true);
	return sn_campaign_log_level(&e->log, a, err);
}

static sn_status levels_go(struct sn_engine *e, enum sn_campaign_end *end, struct sn_error *err)
{
	uint32_t level = sn_engine_plan(e)->level;
	sn_status status = SN_OK;

	if (level < 2 || *end != SN_CAMPAIGN_COMPLETE)
		return SN_OK;
	sn_campaign_judge(sn_engine_state(e));
	if (sn_engine_plan(e)->jobs.is_used)
		return sn_engine_job_levels(e, end, err);
	for (uint32_t c = 0; status == SN_OK && c < sn_engine_plan(e)->configurations.count; c++) {
		struct sn_campaign_attempt *a = level_wanted(e->campaign, c);

		if (!a)
			continue;
		if (!sn_engine_has_budget(e, c, level)) {
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

bool sn_engine_is_whole(struct sn_engine *e, const struct sn_campaign_attempt *a)
{
	struct sn_experiment *x = NULL;
	const char *path = a->experiment ? sn_engine_path(e, a->experiment) : NULL;
	bool is_whole = path && sn_store_is_experiment(path) &&
			sn_experiment_open(path, &x, NULL) == SN_OK && sn_run_has_ended(x) &&
			x->exit_status == 0 && x->processes.count;

	sn_experiment_free(x);
	return is_whole;
}

static sn_status orphan_settle(struct sn_engine *e, struct sn_campaign_attempt *a,
			       struct sn_error *err)
{
	sn_orphan_end(a->pid, a->pid_start, a->boot);
	if (sn_engine_is_whole(e, a)) {
		sn_engine_judge(e, a, 0);
	} else {
		a->state = SN_RUN_CANCELLED;
		a->reason = "the campaign was killed while it ran";
	}
	return sn_engine_end(e, a, err);
}

static sn_status orphans_settle(struct sn_engine *e, struct sn_error *err)
{
	sn_status status = SN_OK;

	for (size_t i = 0; status == SN_OK && i < sn_engine_state(e)->attempts.count; i++) {
		struct sn_campaign_attempt *a = &sn_engine_state(e)->attempts.items[i];

		if (a->state == SN_RUN_RUNNING &&
		    a->configuration < sn_engine_state(e)->configurations)
			status = orphan_settle(e, a, err);
		else if (a->facts.elapsed_s > 0 &&
			 a->configuration < sn_engine_state(e)->configurations) {
			sn_engine_pace_add(e, a, a->facts.elapsed_s);
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

static sn_status runs_go(struct sn_engine *e, enum sn_campaign_end *end, struct sn_error *err)
{
	struct sn_campaign_cursor cursor = { 0 };
	struct sn_campaign_next next;
	sn_status status = SN_OK;

	*end = SN_CAMPAIGN_COMPLETE;
	while (status == SN_OK && !e->is_stopped &&
	       sn_campaign_next(&cursor, sn_engine_plan(e), sn_engine_state(e), e->is_left_out,
				&next)) {
		if (!sn_engine_has_budget(e, next.configuration, 1)) {
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

static size_t missing_count(const struct sn_engine *e)
{
	size_t missing = 0;

	for (uint32_t c = 0; c < sn_engine_plan(e)->configurations.count; c++)
		for (uint32_t b = 0; b < sn_engine_plan(e)->repeat; b++) {
			const struct sn_campaign_attempt *last =
				sn_campaign_last(sn_engine_state(e), c, b);

			missing += !(last && (last->state == SN_RUN_DONE ||
					      last->state == SN_RUN_SUSPICIOUS));
		}
	return missing;
}

static sn_status engine_begin(struct sn_engine *e, int *lock, struct sn_error *err)
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

static void engine_init(struct sn_engine *e)
{
	size_t count = e->campaign->plan->configurations.count;

	e->log.fd = -1;
	e->is_left_out = sn_alloc_zeroed(count + 1, sizeof(*e->is_left_out));
	e->paces = sn_alloc_zeroed(count + 1, sizeof(*e->paces));
	e->builds = sn_alloc_zeroed(count + 1, sizeof(*e->builds));
	sn_campaign_builds(e->campaign->plan, e->builds);
	e->began_s = sn_now_s();
	sn_campaign_signals_block(&e->signals);
}

static void engine_free(struct sn_engine *e)
{
	if (e->log.fd >= 0)
		sn_campaign_log_close(&e->log);
	free(e->folder);
	free(e->is_left_out);
	free(e->paces);
	free(e->builds);
}

sn_status sn_campaign_jobs_cancel(struct sn_campaign *campaign, struct sn_error *err)
{
	static const struct sn_campaign_engine_options quiet = { .retry = -1 };
	struct sn_engine e = { .campaign = campaign, .options = &quiet };
	int lock = -1;
	sn_status status;

	engine_init(&e);
	status = engine_begin(&e, &lock, err);
	if (status == SN_OK)
		status = sn_engine_jobs_cancel(&e, err);
	if (status == SN_OK)
		status = sn_engine_job_levels_cancel(&e, err);
	engine_free(&e);
	if (lock >= 0)
		close(lock);
	return status;
}

sn_status sn_campaign_run(struct sn_campaign *campaign,
			  const struct sn_campaign_engine_options *options,
			  enum sn_campaign_end *end, size_t *missing, struct sn_error *err)
{
	struct sn_engine e = { .campaign = campaign, .options = options };
	bool has_jobs = campaign->plan->jobs.is_used;
	int lock = -1, neighbours = -1;
	sn_status status;

	engine_init(&e);
	status = engine_begin(&e, &lock, err);
	/* not before: who runs this campaign already is no other one; jobs run elsewhere */
	if (status == SN_OK && !has_jobs)
		neighbours = neighbours_warn();
	if (status == SN_OK)
		status = orphans_settle(&e, err);
	if (status == SN_OK)
		status = sn_engine_builds(&e, err);
	if (status == SN_OK)
		status = has_jobs ? sn_engine_jobs(&e, end, err) : runs_go(&e, end, err);
	if (status == SN_OK)
		status = levels_go(&e, end, err);
	*missing = missing_count(&e);
	sn_campaign_judge(campaign->state);
	engine_free(&e);
	if (lock >= 0)
		close(lock);
	if (neighbours >= 0)
		close(neighbours);
	return status;
}
