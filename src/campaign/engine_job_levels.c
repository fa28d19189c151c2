/*
 * Levels 2 and 3 in jobs of a batch system: a job for each configuration, which adds the level to a run that is done.
 * As with runs, the state knows a job before it may do anything, and what it adds belongs to who claims it.
 */
#include <stdlib.h>
#include <time.h>

#include "base/progress.h"
#include "campaign/engine_parts.h"
#include "campaign/jobs.h"
#include "campaign/level.h"

enum {
	LOOK_MS = 200,	 /* between two looks at the folder */
	ASK_S = 2,	 /* between two questions to the queue */
	ABSENT_MOST = 2, /* a job that is so often not in the queue is over */
	END_S = 15,	 /* a cancelled one has so long to end */
};

struct level_job {
	struct sn_campaign_attempt *run;
	unsigned absent;
	bool is_over, has_begun;
};

struct level_jobs {
	struct sn_engine *e;
	SN_VEC(struct level_job) jobs;
	bool *is_tried; /* by configuration: its level had its turn */
	bool is_full; /* the queue takes no more until one of ours has ended, or gives no answer */
	bool is_silent; /* which was said */
	bool is_out;	/* of budget */
	double asked_s;
};

static const char *claim_of(struct sn_engine *e, const struct sn_campaign_attempt *a)
{
	return sn_job_level_name(&sn_engine_state(e)->arena, sn_engine_path(e, a->experiment),
				 a->level_submission);
}

/* The state has how it ended, and no job is waited for. */
static sn_status level_close(struct level_jobs *l, size_t number, enum sn_child_end end, int code,
			     const char *reason, struct sn_error *err)
{
	struct sn_campaign_attempt *a = l->jobs.items[number].run;

	sn_engine_level_judge(l->e, a, end, code);
	if (reason)
		a->level_reason = reason;
	a->level_submission = 0;
	l->jobs.items[number] = sn_vec_last(&l->jobs);
	l->jobs.count--;
	l->is_full = false;
	sn_engine_level_tell(l->e, a, true);
	return sn_campaign_log_level(&l->e->log, a, err);
}

/* ---- submitting ---- */

static void job_note(struct level_jobs *l, struct sn_campaign_attempt *a)
{
	struct level_job fresh = { .run = a };

	sn_vec_push(&l->jobs, fresh);
	l->is_tried[a->configuration] = true;
}

/* The queue has it. Only now the state gets it, and only then the job may do anything. */
static sn_status taken_note(struct level_jobs *l, struct sn_campaign_attempt *a, uint32_t number,
			    const char *job, struct sn_error *err)
{
	sn_status status;

	a->level_submission = number;
	a->level_job = job;
	job_note(l, a);
	status = sn_campaign_log_level_begin(&l->e->log, a, err);
	sn_engine_level_tell(l->e, a, false);
	return status == SN_OK ? sn_job_make_known(l->e->folder, number, job, err) : status;
}

static void silence_tell(struct level_jobs *l, const char *words)
{
	if (!l->is_silent)
		sn_warn("the batch system gives no answer%s%s; it is asked again until it does",
			words && *words ? ": " : "", words && *words ? words : "");
	l->is_silent = true;
}

static sn_status level_submit(struct level_jobs *l, struct sn_campaign_attempt *a,
			      struct sn_error *err)
{
	const struct sn_campaign_plan *plan = sn_engine_plan(l->e);
	struct sn_job_wanted wanted = { .campaign = l->e->campaign,
					.folder = l->e->folder,
					.sonde = l->e->options->sonde };
	struct sn_text reason = { 0 };
	enum sn_queue_answer answer = SN_QUEUE_SILENT;
	const char *job = NULL;
	uint32_t number = 0;
	sn_status status;

	sn_job_size_add(&wanted.size, plan, &plan->configurations.items[a->configuration]);
	wanted.size.time_s += plan->timeout_s * (SN_LEVEL_RUNS_MOST - 1);
	status = sn_job_submit(&wanted, &number, &answer, &job, &reason, err);
	l->is_full = answer != SN_QUEUE_TAKEN;
	if (answer == SN_QUEUE_SILENT && status == SN_OK)
		silence_tell(l, reason.chars);
	if (status == SN_OK && answer == SN_QUEUE_TAKEN) {
		status = taken_note(l, a, number, job, err);
	} else if (status == SN_OK && answer == SN_QUEUE_REFUSED && !l->jobs.count) {
		job_note(l, a);
		status = level_close(l, 0, SN_CHILD_ENDED, 1,
				     sn_arena_printf(&sn_engine_state(l->e)->arena,
						     "sbatch refused its job: %s", reason.chars),
				     err);
	}
	sn_text_free(&reason);
	return status;
}

/* False: each configuration had its turn. */
static bool wanted_submit(struct level_jobs *l, sn_status *status, struct sn_error *err)
{
	bool is_wanted = false;

	for (uint32_t c = 0; *status == SN_OK && c < sn_engine_plan(l->e)->configurations.count;
	     c++) {
		struct sn_campaign_attempt *a =
			l->is_tried[c] ? NULL : sn_engine_level_wanted(l->e, c);

		if (!a || l->is_out)
			continue;
		l->is_out = !sn_engine_has_budget(l->e, c, sn_engine_plan(l->e)->level);
		is_wanted = true;
		if (!l->is_full && !l->is_out)
			*status = level_submit(l, a, err);
	}
	return is_wanted && !l->is_out;
}

/* ---- what folder and queue say ---- */

static sn_status folder_look(struct level_jobs *l, struct sn_error *err)
{
	sn_status status = SN_OK;

	for (size_t i = l->jobs.count; status == SN_OK && i-- > 0;) {
		struct sn_job_report report = sn_job_look(claim_of(l->e, l->jobs.items[i].run));

		l->jobs.items[i].has_begun |= report.is_taken;
		if (report.has_ended)
			status = level_close(l, i, report.end, report.exit_status, NULL, err);
	}
	return status;
}

static void queue_look(struct level_jobs *l)
{
	struct sn_arena arena = { 0 };
	struct sn_queue_rows rows = { 0 };
	struct sn_text words = { 0 };
	bool has_answer = sn_queue_ask(&arena, &rows, &words);

	l->asked_s = sn_now_s();
	if (!has_answer)
		silence_tell(l, words.chars);
	else
		l->is_full &= l->is_silent = false;
	for (size_t i = 0; has_answer && i < l->jobs.count; i++) {
		struct level_job *job = &l->jobs.items[i];
		const struct sn_queue_row *row = sn_queue_find(
			&rows, sn_arena_printf(&arena, "%s/jobs/%u/script", l->e->folder,
					       job->run->level_submission));
		bool is_there =
			row && (row->state == SN_QUEUE_WAITS || row->state == SN_QUEUE_RUNS);

		job->absent = row ? 0 : job->absent + 1;
		job->is_over = row ? !is_there : job->absent >= ABSENT_MOST;
	}
	sn_vec_free(&rows.items);
	sn_text_free(&words);
	sn_arena_free(&arena);
}

/* Settles what jobs that are over left open. The folder was looked at since the queue said so. */
static sn_status over_settle(struct level_jobs *l, bool is_all, const char *why,
			     struct sn_error *err)
{
	sn_status status = SN_OK;

	for (size_t i = l->jobs.count; status == SN_OK && i-- > 0;) {
		const struct sn_campaign_attempt *a = l->jobs.items[i].run;
		const char *reason;
		bool has_begun;

		if (!is_all && !l->jobs.items[i].is_over)
			continue;
		has_begun = !sn_job_claim(claim_of(l->e, a));
		reason = sn_arena_printf(&sn_engine_state(l->e)->arena, "its job %s %s %s",
					 a->level_job ? a->level_job : "", why,
					 has_begun ? "while it was added" : "before it began");
		status = level_close(l, i, SN_CHILD_STOPPED, 0, reason, err);
	}
	return status;
}

/* ---- all of it ---- */

/* Cancels everything, and waits a while for what runs to end. */
static sn_status all_release(struct level_jobs *l, struct sn_error *err)
{
	double until = sn_now_s() + END_S;
	sn_status status = SN_OK;

	for (size_t i = 0; i < l->jobs.count; i++) {
		struct sn_text words = { 0 };

		/* one that has not begun never does now */
		l->jobs.items[i].has_begun = !sn_job_claim(claim_of(l->e, l->jobs.items[i].run));
		if (l->jobs.items[i].run->level_job)
			sn_queue_cancel(l->jobs.items[i].run->level_job, &words);
		sn_text_free(&words);
	}
	for (bool is_left = true; status == SN_OK && is_left && sn_now_s() < until;) {
		status = folder_look(l, err);
		is_left = false;
		for (size_t i = 0; i < l->jobs.count; i++)
			is_left |= l->jobs.items[i].has_begun;
		if (is_left)
			nanosleep(&(struct timespec){ .tv_nsec = LOOK_MS * 1000000L }, NULL);
	}
	return status == SN_OK ? over_settle(l, true, "was cancelled", err) : status;
}

/* What was submitted before. A job that the state does not know to the end does nothing (jobs.h). */
static sn_status jobs_find(struct level_jobs *l, struct sn_error *err)
{
	struct sn_campaign_state *state = sn_engine_state(l->e);
	sn_status status = SN_OK;

	l->is_tried = sn_arena_array(&state->arena, bool, state->configurations + 1);
	for (size_t i = 0; status == SN_OK && i < state->attempts.count; i++) {
		struct sn_campaign_attempt *a = &state->attempts.items[i];

		if (!a->level_submission || !a->experiment ||
		    a->configuration >= state->configurations)
			continue;
		job_note(l, a);
		if (!sn_job_is_known(l->e->folder, a->level_submission) &&
		    sn_job_claim(claim_of(l->e, a))) {
			status = level_close(l, l->jobs.count - 1, SN_CHILD_STOPPED, 0,
					     "the campaign was killed while it submitted its job",
					     err);
			l->is_tried[a->configuration] = false;
		}
	}
	return status;
}

/* The signal that stops us; 0: none did. */
static int signal_wait(const struct level_jobs *l)
{
	struct timespec pause = { .tv_nsec = LOOK_MS * 1000000L };
	int signal = sigtimedwait(&l->e->signals, NULL, &pause);

	return signal > 0 && signal != SIGCHLD ? signal : 0;
}

sn_status sn_engine_job_levels(struct sn_engine *e, enum sn_campaign_end *end, struct sn_error *err)
{
	struct level_jobs l = { .e = e };
	sn_status status = jobs_find(&l, err);

	while (status == SN_OK && !e->is_stopped) {
		bool is_wanted = wanted_submit(&l, &status, err);
		int signal;

		if (status != SN_OK || (!l.jobs.count && !is_wanted))
			break;
		signal = signal_wait(&l);
		e->is_stopped = signal != 0;
		/* who hangs up leaves the jobs to the batch system */
		if (signal && signal != SIGHUP) {
			status = all_release(&l, err);
			break;
		}
		if (sn_now_s() - l.asked_s >= ASK_S)
			queue_look(&l);
		status = folder_look(&l, err);
		if (status == SN_OK)
			status = over_settle(&l, false, "ended", err);
	}
	if (e->is_stopped)
		*end = SN_CAMPAIGN_STOPPED;
	else if (l.is_out)
		*end = SN_CAMPAIGN_OUT_OF_BUDGET;
	sn_vec_free(&l.jobs);
	return status;
}

sn_status sn_engine_job_levels_cancel(struct sn_engine *e, struct sn_error *err)
{
	struct level_jobs l = { .e = e };
	sn_status status = jobs_find(&l, err);

	if (status == SN_OK)
		status = all_release(&l, err);
	sn_vec_free(&l.jobs);
	return status;
}
