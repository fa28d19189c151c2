/*
 * Runs in jobs of a batch system: submitted as far as the queue takes them, then watched in the campaign's
 * folder, and in the queue for what a job can no longer say itself. A run belongs to who claims it (jobs.h):
 * its job, or we, when we give it up. So it runs once, whatever is killed when.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"
#include "base/map.h"
#include "base/progress.h"
#include "campaign/engine_parts.h"
#include "campaign/facts.h"
#include "campaign/jobs.h"
#include "campaign/queue.h"

enum {
	QUEUED_MOST = 50,     /* jobs of ours at a time, as sites have limits */
	PAUSE_LEAST_MS = 100, /* between two looks at the folder */
	PAUSE_MOST_MS = 10000,
	PAUSE_SHARE = 10, /* of the time since anything happened */
	ASK_LEAST_S = 1,  /* between two questions to the queue */
	SILENT_S = 5,	  /* and after one without an answer */
	END_S = 15,	  /* a cancelled run has so long to end */
	ABSENT_MOST = 2,  /* a job that is so often not in the queue is over */
};

#define GIVEN_UP UINT64_MAX

struct job {
	uint32_t number;
	const char *id, *script;
	bool has_begun; /* a run of it */
	unsigned absent;
	enum sn_queue_state state;
};

/* A run that was submitted and is not settled. */
struct open_run {
	size_t attempt;
	bool has_begun;
	double began_s;
};

struct jobs {
	struct sn_engine *e;
	SN_VEC(struct job) jobs;
	SN_VEC(struct open_run) runs;
	struct sn_map lost; /* configuration and block -> how often its job was lost; GIVEN_UP */
	bool is_postponed;  /* the queue takes no more until one of ours has ended */
	bool is_out;	    /* of budget */
	bool may_have_strays;
	bool has_wanted; /* runs that could not be submitted yet, as there was no answer */
	bool is_silent;	 /* the batch system gave no answer; said */
	bool has_warned; /* of a job that may never start */
	double changed_s, asked_s, silent_until_s;
};

/* ---- small things ---- */

static struct sn_campaign_attempt *attempt_of(const struct jobs *b, const struct open_run *run)
{
	return &sn_engine_state(b->e)->attempts.items[run->attempt];
}

static uint64_t key_of(uint32_t configuration, uint32_t block)
{
	return (uint64_t)configuration << 32 | block;
}

static struct job *job_of(const struct jobs *b, uint32_t number)
{
	for (size_t i = 0; i < b->jobs.count; i++)
		if (b->jobs.items[i].number == number)
			return &b->jobs.items[i];
	return NULL;
}

static const char *job_path(const struct jobs *b, uint32_t number, const char *name)
{
	return sn_arena_printf(&sn_engine_state(b->e)->arena, "%s/jobs/%u/%s", b->e->folder, number,
			       name);
}

static struct job *job_note(struct jobs *b, uint32_t number, const char *id)
{
	struct job *known = job_of(b, number);
	struct job fresh = { .number = number,
			     .id = id,
			     .script = job_path(b, number, "script"),
			     .state = SN_QUEUE_WAITS };

	if (!known) {
		sn_vec_push(&b->jobs, fresh);
		known = &sn_vec_last(&b->jobs);
	}
	return known;
}

static void change_note(struct jobs *b)
{
	b->changed_s = sn_now_s();
}

static struct sn_job_report look(const struct jobs *b, const struct sn_campaign_attempt *a)
{
	struct sn_text path = { 0 };
	struct sn_job_report report;

	sn_text_addf(&path, "%s/%s", b->e->folder, a->experiment);
	report = sn_job_look(path.chars);
	sn_text_free(&path);
	return report;
}

static void cancelled(struct sn_campaign_attempt *a, const char *reason)
{
	a->state = SN_RUN_CANCELLED;
	a->reason = reason;
}

/* Its end is known: it is written, told of, and no longer open. */
static sn_status close_run(struct jobs *b, size_t number, struct sn_error *err)
{
	struct open_run run = b->runs.items[number];
	struct sn_campaign_attempt *a = attempt_of(b, &run);
	sn_status status = sn_engine_end(b->e, a, err);

	b->runs.count--;
	memmove(&b->runs.items[number], &b->runs.items[number + 1],
		(b->runs.count - number) * sizeof(*b->runs.items));
	if (run.has_begun && run.began_s > 0)
		sn_engine_pace_add(b->e, a,
				   a->facts.elapsed_s > 0 ? a->facts.elapsed_s
							  : sn_now_s() - run.began_s);
	b->is_postponed = false;
	change_note(b);
	sn_engine_tell(b->e, a, a->configuration, true);
	return status;
}

/* ---- what the folder says ---- */

static void began_note(struct jobs *b, struct open_run *run)
{
	struct sn_campaign_attempt *a = attempt_of(b, run);
	struct job *job = job_of(b, a->submission);

	run->has_begun = true;
	run->began_s = sn_now_s();
	a->state = SN_RUN_RUNNING;
	if (job)
		job->has_begun = true;
	change_note(b);
	sn_engine_tell(b->e, a, a->configuration, false);
}

/* Takes in what ended. A run that was stopped in its job waits for what the queue says of why. */
static sn_status folder_look(struct jobs *b, struct sn_error *err)
{
	sn_status status = SN_OK;

	for (size_t i = 0; status == SN_OK && i < b->runs.count;) {
		struct open_run *run = &b->runs.items[i];
		struct sn_campaign_attempt *a = attempt_of(b, run);
		struct sn_job_report report = look(b, a);

		if (report.is_taken && !run->has_begun)
			began_note(b, run);
		if (!report.has_ended || report.end == SN_CHILD_STOPPED) {
			i++;
			continue;
		}
		if (report.end == SN_CHILD_ENDED) {
			sn_engine_judge(b->e, a, report.exit_status);
		} else {
			a->exit_status = report.exit_status;
			sn_engine_fail(a, &sn_engine_state(b->e)->arena,
				       sn_engine_path(b->e, a->experiment),
				       sn_arena_printf(&sn_engine_state(b->e)->arena,
						       "it ran longer than %.6g s",
						       sn_engine_plan(b->e)->timeout_s));
		}
		status = close_run(b, i, err);
	}
	return status;
}

/* ---- what the queue says ---- */

static void silence_tell(struct jobs *b, const char *words)
{
	if (!b->is_silent)
		sn_warn("the batch system gives no answer%s%s; it is asked again until it does",
			words && *words ? ": " : "", words && *words ? words : "");
	b->is_silent = true;
	b->silent_until_s = sn_now_s() + SILENT_S;
}

/* Reasons to wait for which no time is a remedy. */
static bool may_never_end(const char *reason)
{
	static const char *const known[] = {
		"Partition",	     "BadConstraints", "DependencyNever", "JobHeld",	  "Invalid",
		"AccountNotAllowed", "QOSNotAllowed",  "ReqNodeNotAvail", "launch failed"
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		if (sn_starts_with(reason, known[i]))
			return true;
	return false;
}

static void wait_tell(struct jobs *b, const struct sn_queue_row *row)
{
	if (b->has_warned || row->state != SN_QUEUE_WAITS || !may_never_end(row->reason))
		return;
	b->has_warned = true;
	sn_warn("job %s waits in the queue (%s), which may never end; 'sonde campaign cancel' gives it up",
		row->job, row->reason);
}

static enum sn_queue_state last_state(const struct jobs *b, const struct job *job)
{
	struct sn_file_view view;
	enum sn_queue_state state = SN_QUEUE_GONE;

	if (sn_file_map(job_path(b, job->number, "output"), &view, NULL) == SN_OK) {
		state = sn_queue_end_in((const char *)view.bytes, view.length);
		sn_file_unmap(&view);
	}
	return state;
}

static bool is_over(enum sn_queue_state state)
{
	return state != SN_QUEUE_WAITS && state != SN_QUEUE_RUNS;
}

/* Jobs that were taken, but not noted: their answer was lost, or we were killed. They would only stand before others. */
static void strays_cancel(const struct jobs *b, const struct sn_queue_rows *rows)
{
	struct sn_text below = { 0 }, words = { 0 };

	sn_text_addf(&below, "%s/jobs/", b->e->folder);
	for (size_t i = 0; i < rows->items.count; i++) {
		const struct sn_queue_row *row = &rows->items.items[i];

		if (!is_over(row->state) && sn_starts_with(row->script, below.chars) &&
		    !sn_job_is_known(b->e->folder,
				     (uint32_t)strtoul(row->script + below.length, NULL, 10)))
			sn_queue_cancel(row->job, &words);
	}
	sn_text_free(&below);
	sn_text_free(&words);
}

static void queue_look(struct jobs *b)
{
	struct sn_arena arena = { 0 };
	struct sn_queue_rows rows = { 0 };
	struct sn_text words = { 0 };
	bool has_answer = sn_queue_ask(&arena, &rows, &words);

	b->asked_s = sn_now_s();
	if (!has_answer)
		silence_tell(b, words.chars);
	else if (b->may_have_strays)
		strays_cancel(b, &rows);
	if (has_answer)
		b->is_silent = b->may_have_strays = false;
	for (size_t i = 0; has_answer && i < b->jobs.count; i++) {
		struct job *job = &b->jobs.items[i];
		const struct sn_queue_row *row = sn_queue_find(&rows, job->script);

		if (row) {
			job->absent = 0;
			job->state = row->state;
			wait_tell(b, row);
		} else if (++job->absent >= ABSENT_MOST) {
			job->state = last_state(b, job);
		}
	}
	sn_vec_free(&rows.items);
	sn_text_free(&words);
	sn_arena_free(&arena);
}

/* The sentence, with the last words of the run, else of its job. */
static const char *with_words(struct jobs *b, const struct sn_campaign_attempt *a,
			      const char *sentence, bool has_run)
{
	struct sn_arena *arena = &sn_engine_state(b->e)->arena;
	struct sn_text words = { 0 };
	const char *reason;

	if (has_run)
		sn_last_words(sn_arena_printf(arena, "%s.err", sn_engine_path(b->e, a->experiment)),
			      &words);
	if (!words.length)
		sn_last_words(job_path(b, a->submission, "output"), &words);
	reason = words.length ? sn_arena_printf(arena, "%s: %s", sentence, words.chars) : sentence;
	sn_text_free(&words);
	return reason;
}

static void lost_note(struct jobs *b, const struct sn_campaign_attempt *a, bool is_given_up)
{
	uint64_t *count = sn_map_put(&b->lost, key_of(a->configuration, a->block), NULL);

	if (is_given_up || *count >= sn_engine_state(b->e)->retry)
		*count = GIVEN_UP;
	else
		++*count;
}

/* Its job is over, and it left no word. */
static void lost_judge(struct jobs *b, struct sn_campaign_attempt *a, const struct job *job,
		       bool has_run)
{
	static const char *const how[] = {
		[SN_QUEUE_GONE] = "its job %s is gone and left no word",
		[SN_QUEUE_TIMED_OUT] = "its job %s ran into its time limit",
		[SN_QUEUE_CANCELLED] = "its job %s was cancelled",
		[SN_QUEUE_LOST] = "its job %s lost its node, or had to make room",
		[SN_QUEUE_ENDED] = "its job %s ended",
	};
	struct sn_text sentence = { 0 };
	bool is_fault = job->state == SN_QUEUE_TIMED_OUT || job->state == SN_QUEUE_ENDED;
	const char *reason;

	for (const char *at = how[job->state]; *at; at++)
		if (at[0] == '%')
			sn_text_add(&sentence, job->id ? job->id : "");
		else if (at[0] != 's' || at[-1] != '%')
			sn_text_add_char(&sentence, *at);
	if (!has_run)
		sn_text_add(&sentence, " before it began");
	else if (job->state == SN_QUEUE_ENDED)
		sn_text_add(&sentence, " while it ran");
	reason = sn_arena_strdup(&sn_engine_state(b->e)->arena, sentence.chars);
	sn_text_free(&sentence);
	reason = with_words(b, a, reason, has_run && job->state == SN_QUEUE_ENDED);
	if (!has_run && job->state == SN_QUEUE_ENDED &&
	    access(job_path(b, a->submission, "output"), F_OK))
		reason = sn_arena_printf(&sn_engine_state(b->e)->arena,
					 "%s, and left no output: do the nodes see the campaign's "
					 "folder?",
					 reason);
	/* one that had not its turn, as others of its job had, is no fault of its own */
	if (is_fault && (has_run || !job->has_begun)) {
		a->state = SN_RUN_FAILED;
		a->reason = reason;
		return;
	}
	cancelled(a, reason);
	if (!is_fault)
		lost_note(b, a, job->state == SN_QUEUE_CANCELLED);
}

/* Settles what jobs that are over left open. The folder was looked at since the queue said so. */
static sn_status over_settle(struct jobs *b, struct sn_error *err)
{
	sn_status status = SN_OK;

	for (size_t i = 0; status == SN_OK && i < b->runs.count;) {
		struct sn_campaign_attempt *a = attempt_of(b, &b->runs.items[i]);
		const struct job *job = job_of(b, a->submission);
		bool has_run;

		if (!job || !is_over(job->state)) {
			i++;
			continue;
		}
		has_run = !sn_job_claim(sn_engine_path(b->e, a->experiment));
		if (has_run && sn_engine_is_whole(b->e, a))
			sn_engine_judge(b->e, a, 0);
		else
			lost_judge(b, a, job, has_run);
		status = close_run(b, i, err);
	}
	return status;
}

/* Forgets jobs with no open run. */
static void jobs_forget(struct jobs *b)
{
	for (size_t i = b->jobs.count; i-- > 0;) {
		bool is_open = false;

		for (size_t k = 0; !is_open && k < b->runs.count; k++)
			is_open = attempt_of(b, &b->runs.items[k])->submission ==
				  b->jobs.items[i].number;
		if (!is_open)
			b->jobs.items[i] = b->jobs.items[--b->jobs.count];
	}
}

/* ---- submitting ---- */

/* Runs that shall share a job. */
struct group {
	uint64_t key;
	SN_VEC(struct sn_campaign_next) runs;
};

/* A run of a job, as the state notes its begin. */
static sn_status run_note(struct jobs *b, const struct sn_campaign_next *next, uint32_t number,
			  const char *job, struct sn_error *err)
{
	struct sn_campaign_state *state = sn_engine_state(b->e);
	struct sn_campaign_next run = *next;
	const char *experiment = sn_engine_experiment_name(b->e, &run);
	struct sn_campaign_attempt a = { .configuration = run.configuration,
					 .block = run.block,
					 .attempt = run.attempt,
					 .position = run.position,
					 .state = SN_RUN_QUEUED,
					 .exit_status = -1,
					 .experiment = experiment,
					 .job = job,
					 .submission = job ? number : 0,
					 .pid = -1,
					 .facts = sn_run_facts_unknown() };
	struct open_run fresh = { .attempt = state->attempts.count };
	sn_status status = sn_campaign_log_begin(&b->e->log, &a, err);

	if (status != SN_OK)
		return status;
	sn_campaign_state_begin(state, &a);
	sn_vec_push(&b->runs, fresh);
	if (job)
		sn_engine_tell(b->e, attempt_of(b, &fresh), a.configuration, false);
	return SN_OK;
}

/* The queue has it. Only now the state gets its runs, and only then the job may run them. */
static sn_status taken_note(struct jobs *b, const struct group *group, uint32_t number,
			    const char *job, struct sn_error *err)
{
	sn_status status = SN_OK;

	job_note(b, number, job);
	for (size_t i = 0; status == SN_OK && i < group->runs.count; i++)
		status = run_note(b, &group->runs.items[i], number, job, err);
	return status == SN_OK ? sn_job_make_known(b->e->folder, number, job, err) : status;
}

static sn_status refused_note(struct jobs *b, const struct group *group, uint32_t number,
			      const char *reason, struct sn_error *err)
{
	sn_status status = SN_OK;

	for (size_t i = 0; status == SN_OK && i < group->runs.count; i++) {
		struct sn_campaign_attempt *a;

		status = run_note(b, &group->runs.items[i], number, NULL, err);
		if (status != SN_OK)
			break;
		a = attempt_of(b, &sn_vec_last(&b->runs));
		a->state = SN_RUN_FAILED;
		a->reason = sn_arena_printf(&sn_engine_state(b->e)->arena,
					    "sbatch refused its job: %s", reason);
		status = close_run(b, b->runs.count - 1, err);
	}
	return status;
}

static sn_status group_submit(struct jobs *b, const struct group *group, struct sn_error *err)
{
	struct sn_job_wanted wanted = { .campaign = b->e->campaign,
					.folder = b->e->folder,
					.sonde = b->e->options->sonde };
	struct sn_text reason = { 0 };
	enum sn_queue_answer answer = SN_QUEUE_SILENT;
	const char *job = NULL;
	uint32_t number = 0;
	sn_status status;

	for (size_t i = 0; i < group->runs.count; i++)
		sn_job_size_add(
			&wanted.size, sn_engine_plan(b->e),
			&sn_engine_plan(b->e)
				 ->configurations.items[group->runs.items[i].configuration]);
	status = sn_job_submit(&wanted, &number, &answer, &job, &reason, err);
	if (status == SN_OK && answer == SN_QUEUE_TAKEN) {
		b->is_silent = false;
		status = taken_note(b, group, number, job, err);
	} else if (status == SN_OK && answer == SN_QUEUE_SILENT) {
		silence_tell(b, reason.chars);
		b->has_wanted = b->may_have_strays = true;
	} else if (status == SN_OK && b->jobs.count) {
		b->is_postponed = true; /* perhaps of how many we have there */
	} else if (status == SN_OK) {
		status = refused_note(b, group, number, reason.chars, err);
	}
	sn_text_free(&reason);
	return status;
}

static bool is_given_up(const struct jobs *b, const struct sn_campaign_next *next)
{
	const uint64_t *count = sn_map_get(&b->lost, key_of(next->configuration, next->block));

	return count && *count == GIVEN_UP;
}

/* Whether a job of this group is there: the runs that it left wait until it has ended. */
static bool has_job(const struct jobs *b, enum sn_campaign_jobs_of each, uint32_t block)
{
	for (size_t i = 0; each != SN_JOB_OF_RUN && i < b->runs.count; i++)
		if (each == SN_JOB_OF_ALL || attempt_of(b, &b->runs.items[i])->block == block)
			return true;
	return false;
}

/* The next runs that share a job, from where the cursor stands. */
static bool group_find(struct jobs *b, struct sn_campaign_cursor *cursor, struct group *out)
{
	const struct sn_campaign_plan *plan = sn_engine_plan(b->e);
	struct sn_campaign_next next;

	out->runs.count = 0;
	while (sn_campaign_next(cursor, plan, sn_engine_state(b->e), b->e->is_left_out, &next)) {
		bool is_same = !out->runs.count || plan->jobs.each == SN_JOB_OF_ALL ||
			       (plan->jobs.each == SN_JOB_OF_BLOCK &&
				out->runs.items[0].block == next.block);

		if (!is_same)
			return true; /* the cursor stands at the next group's first */
		cursor->position++;
		if (!is_given_up(b, &next) && !has_job(b, plan->jobs.each, next.block))
			sn_vec_push(&out->runs, next);
	}
	return out->runs.count > 0;
}

static sn_status wanted_submit(struct jobs *b, struct sn_error *err)
{
	struct sn_campaign_cursor cursor = { .is_dry = true };
	struct group group = { 0 };
	sn_status status = SN_OK;

	b->has_wanted = false;
	while (status == SN_OK && !b->is_postponed && !b->is_out && b->jobs.count < QUEUED_MOST &&
	       group_find(b, &cursor, &group)) {
		if (sn_now_s() < b->silent_until_s) {
			b->has_wanted = true;
			break;
		}
		if (!sn_engine_has_budget(b->e, group.runs.items[0].configuration, 1)) {
			b->is_out = true;
			break;
		}
		status = group_submit(b, &group, err);
	}
	sn_campaign_cursor_free(&cursor);
	sn_vec_free(&group.runs);
	return status;
}

/* ---- giving up ---- */

static void jobs_cancel(struct jobs *b, bool with_begun)
{
	for (size_t i = 0; i < b->jobs.count; i++) {
		const struct job *job = &b->jobs.items[i];
		struct sn_text words = { 0 };

		if (job->id && (with_begun || !job->has_begun) && !sn_queue_cancel(job->id, &words))
			sn_warn("job %s could not be cancelled%s%s; if it starts it runs nothing",
				job->id, words.length ? ": " : "", words.length ? words.chars : "");
		sn_text_free(&words);
	}
}

/* Gives up what has not begun. */
static sn_status waiting_release(struct jobs *b, const char *reason, struct sn_error *err)
{
	sn_status status = SN_OK;

	for (size_t i = b->runs.count; status == SN_OK && i-- > 0;) {
		struct sn_campaign_attempt *a = attempt_of(b, &b->runs.items[i]);

		if (!sn_job_claim(sn_engine_path(b->e, a->experiment)))
			continue;
		cancelled(a, reason);
		status = close_run(b, i, err);
	}
	return status;
}

static bool has_stopped(const struct jobs *b, const struct open_run *run)
{
	return look(b, attempt_of(b, run)).has_ended;
}

/* Cancels everything, and waits a while for what runs to end. */
static sn_status all_release(struct jobs *b, struct sn_error *err)
{
	double until = sn_now_s() + END_S;
	sn_status status;

	status = waiting_release(b, "cancelled while it waited in the queue", err);
	jobs_cancel(b, true);
	for (bool is_left = true; is_left && sn_now_s() < until;) {
		is_left = false;
		for (size_t i = 0; i < b->runs.count; i++)
			is_left |= !has_stopped(b, &b->runs.items[i]);
		if (is_left)
			nanosleep(&(struct timespec){ .tv_nsec = 100000000 }, NULL);
	}
	if (status == SN_OK)
		status = folder_look(b, err);
	for (size_t i = b->runs.count; status == SN_OK && i-- > 0;) {
		cancelled(attempt_of(b, &b->runs.items[i]), "cancelled with its job");
		status = close_run(b, i, err);
	}
	return status;
}

/* ---- all of it ---- */

/* What was submitted before. A job whose runs the state has not all runs nothing, and is not waited for. */
static sn_status jobs_find(struct jobs *b, struct sn_error *err)
{
	struct sn_campaign_state *state = sn_engine_state(b->e);
	sn_status status = SN_OK;

	for (size_t i = 0; i < state->attempts.count; i++) {
		struct sn_campaign_attempt *a = &state->attempts.items[i];
		struct open_run run = { .attempt = i };

		if (a->state != SN_RUN_QUEUED || !a->submission || !a->experiment ||
		    a->configuration >= state->configurations)
			continue;
		job_note(b, a->submission, a->job);
		sn_vec_push(&b->runs, run);
	}
	for (size_t i = b->runs.count; status == SN_OK && i-- > 0;) {
		struct sn_campaign_attempt *a = attempt_of(b, &b->runs.items[i]);

		if (sn_job_is_known(b->e->folder, a->submission) ||
		    !sn_job_claim(sn_engine_path(b->e, a->experiment)))
			continue;
		cancelled(a, "the campaign was killed while it submitted its job");
		status = close_run(b, i, err);
	}
	jobs_forget(b);
	b->may_have_strays = !access(sn_engine_path(b->e, "jobs"), F_OK);
	return status;
}

static double pause_of(const struct jobs *b)
{
	return fmin(fmax((sn_now_s() - b->changed_s) / PAUSE_SHARE, PAUSE_LEAST_MS / 1e3),
		    PAUSE_MOST_MS / 1e3);
}

/* The signal that stops us; 0: the time is over. */
static int signal_wait(const struct jobs *b, double seconds)
{
	double until = sn_now_s() + seconds;

	for (;;) {
		double left = fmax(until - sn_now_s(), 0);
		struct timespec pause = { (time_t)left,
					  (long)((left - (double)(time_t)left) * 1e9) };
		int signal = sigtimedwait(&b->e->signals, NULL, &pause);

		if (signal > 0 && signal != SIGCHLD)
			return signal;
		if (left <= 0)
			return 0;
	}
}

static sn_status turn(struct jobs *b, struct sn_error *err)
{
	sn_status status;

	if ((b->jobs.count || b->may_have_strays) && sn_now_s() >= b->silent_until_s &&
	    sn_now_s() - b->asked_s >= fmax(ASK_LEAST_S, pause_of(b)))
		queue_look(b);
	status = folder_look(b, err);
	if (status == SN_OK)
		status = over_settle(b, err);
	jobs_forget(b);
	if (status == SN_OK && b->runs.count && !b->is_out && !sn_engine_has_budget(b->e, 0, 0)) {
		b->is_out = true;
		jobs_cancel(b, false);
		status = waiting_release(b, "the budget was used up while it waited in the queue",
					 err);
		jobs_forget(b);
	}
	return status == SN_OK ? wanted_submit(b, err) : status;
}

static void jobs_free(struct jobs *b)
{
	sn_vec_free(&b->jobs);
	sn_vec_free(&b->runs);
	sn_map_free(&b->lost);
}

sn_status sn_engine_jobs(struct sn_engine *e, enum sn_campaign_end *end, struct sn_error *err)
{
	struct jobs b = { .e = e, .changed_s = sn_now_s() };
	sn_status status = jobs_find(&b, err);

	while (status == SN_OK && !e->is_stopped) {
		int signal;

		status = turn(&b, err);
		if (status != SN_OK || (!b.runs.count && !b.has_wanted))
			break;
		signal = signal_wait(&b, pause_of(&b));
		e->is_stopped = signal != 0;
		/* who hangs up leaves the jobs to the batch system */
		if (signal && signal != SIGHUP)
			status = all_release(&b, err);
	}
	*end = e->is_stopped ? SN_CAMPAIGN_STOPPED
	       : b.is_out    ? SN_CAMPAIGN_OUT_OF_BUDGET
			     : SN_CAMPAIGN_COMPLETE;
	jobs_free(&b);
	return status;
}

sn_status sn_engine_jobs_cancel(struct sn_engine *e, struct sn_error *err)
{
	struct jobs b = { .e = e, .changed_s = sn_now_s() };
	sn_status status = jobs_find(&b, err);

	if (status == SN_OK)
		status = folder_look(&b, err);
	if (status == SN_OK)
		status = all_release(&b, err);
	jobs_free(&b);
	return status;
}
