/*
 * The agent of a host. The guardian starts the worker again if it dies; the worker searches, beats, and
 * writes each window to the spool before it is used. Neither is a parent of the program, or a rank.
 */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/detach.h"
#include "base/progress.h"
#include "search/online/parts.h"

enum { WORKERS_MOST = 4, LOOK_NS = 5000000, POLL_NS = 1000000 };
enum { EXECUTIONS_MOST = 1000000 };
/* At 1 kHz some 500 observations of one lane: a share of .05 has a 95 % interval of +- .02. */
static const double observed_s = 0.5;
static const double page_wait_s = 5;

struct worker {
	const struct sn_agent_options *options;
	struct sn_mri *mri;
	pthread_mutex_t lock;	/* of mri */
	struct sn_spool before; /* what a worker before this one has measured */
	size_t next_before;
	double began_s;
	size_t told;   /* steps whose findings are in the spool as sentences */
	bool has_room; /* the spool could be written so far */
};

static void pause_ns(long ns)
{
	const struct timespec time = { .tv_nsec = ns };

	nanosleep(&time, NULL);
}

/* ---- measuring ---- */

/* What is to be known of the processes at one moment. */
struct view {
	uint32_t ended;
	double mean_s;
	bool is_found, is_needed, is_measured;
};

static struct view look(struct worker *w)
{
	struct view view;

	pthread_mutex_lock(&w->lock);
	sn_mri_look(w->mri);
	view.ended = sn_mri_ended(w->mri, &view.is_found);
	view.mean_s = sn_mri_mean_s(w->mri);
	view.is_needed = sn_mri_is_needed(w->mri);
	view.is_measured = sn_mri_is_measured(w->mri);
	pthread_mutex_unlock(&w->lock);
	return view;
}

/* An evaluation may take seconds: beats and new processes cannot wait for it. */
static void *beats(void *context)
{
	for (;;) {
		look(context);
		pause_ns(LOOK_NS);
	}
	return NULL;
}

static bool is_over(const struct worker *w)
{
	double most_s = w->options->online->max_time_s;

	return most_s > 0 && sn_now_s() - w->began_s > most_s;
}

static uint32_t executions_wanted(double mean_s)
{
	double count = mean_s > 0 ? ceil(observed_s / mean_s) : 1;

	return count < 1 ? 1 : count > EXECUTIONS_MOST ? EXECUTIONS_MOST : (uint32_t)count;
}

static int64_t stop_ns(enum sn_suspend suspend)
{
	return suspend == SN_SUSPEND_NEVER    ? 0
	       : suspend == SN_SUSPEND_ALWAYS ? INT64_MAX / 2
					      : SN_MONITOR_BRIEF_NS;
}

/* The first execution tells how long one takes, and is measured by nobody. What an agent that died has
 * asked for is waited for. */
static bool request(struct worker *w)
{
	bool is_asked = false;

	while (!is_asked) {
		struct view view = look(w);

		if (!view.is_needed || is_over(w))
			return false;
		if (view.ended) {
			pthread_mutex_lock(&w->lock);
			is_asked = sn_mri_measure(w->mri, executions_wanted(view.mean_s),
						  stop_ns(w->options->online->suspend));
			sn_mri_go(w->mri); /* those that are stopped since the step before */
			pthread_mutex_unlock(&w->lock);
		}
		pause_ns(POLL_NS);
	}
	return true;
}

static bool live_next(struct sn_executions *s, struct sn_mri_window *out)
{
	struct worker *w = s->context;
	struct view view;
	struct sn_error err;
	bool is_there;

	if (w->next_before < w->before.windows.count) {
		*out = w->before.windows.items[w->next_before];
		w->before.windows.items[w->next_before++] = (struct sn_mri_window){ 0 };
		return true;
	}
	if (!request(w))
		return false;
	do {
		pause_ns(POLL_NS);
		view = look(w);
	} while (!view.is_measured && !is_over(w));
	pthread_mutex_lock(&w->lock);
	is_there = view.is_measured && sn_mri_fetch(w->mri, out);
	if (w->options->online->suspend != SN_SUSPEND_ALWAYS)
		sn_mri_go(w->mri);
	pthread_mutex_unlock(&w->lock);
	if (!is_there)
		return false;
	if (sn_spool_window(w->options->experiment_path, out, &err) == SN_OK)
		return true;
	w->has_room = false; /* what is not in the spool is in no result */
	sn_mri_window_free(out);
	return false;
}

/* ---- the worker ---- */

/* As people see it while the program runs; the result at its end also knows what explains what. */
static void tell(struct sn_executions *s, const struct sn_search *found)
{
	struct worker *w = s->context;

	/* by their steps: a search that has ended has its findings in another order */
	for (size_t i = 0; i < found->findings.count; i++) {
		const struct sn_finding *f = &found->findings.items[i];
		const struct sn_member *region = sn_finding_region(found, f);
		struct sn_text text = { 0 };
		struct sn_error err;

		if (f->step <= w->told)
			continue;
		sn_text_addf(&text, "step %u: %.3f %s", f->step, f->severity,
			     sn_finding_property(found, f)->name);
		if (region && region->name)
			sn_text_addf(&text, " in %.80s", region->name);
		if (region && region->file && region->line_first)
			sn_text_addf(&text, " (%.60s:%u)", sn_base_name(region->file),
				     region->line_first);
		sn_spool_found(w->options->experiment_path, text.chars, &err);
		sn_text_free(&text);
	}
	w->told = found->steps.count;
}

static void search(struct worker *w)
{
	struct sn_executions phases = { .options = w->options->online,
					.phase = w->options->phase,
					.experiment_path = w->options->experiment_path,
					.next = live_next,
					.found = tell,
					.context = w };
	struct sn_search *found = NULL;
	struct sn_error err;

	if (sn_executions_search(&phases, &found, &err) != SN_OK)
		found = NULL;
	sn_search_free(found);
}

static int worker_run(const struct sn_agent_options *options)
{
	struct worker w = { .options = options, .began_s = sn_now_s(), .has_room = true };
	struct sn_error err;
	struct view view;
	pthread_t thread;

	sn_spool_read(options->experiment_path, &w.before);
	/* what a worker before this one found was told before it asked for the next window */
	w.told = w.before.windows.count ? w.before.windows.count - 1 : 0;
	pthread_mutex_init(&w.lock, NULL);
	if (sn_mri_open(options->live_folder, options->host, &options->phase->boundary, &w.mri,
			&err) != SN_OK)
		return 1;
	if (pthread_create(&thread, NULL, beats, &w))
		return 1;
	search(&w);
	view = look(&w);
	sn_spool_end(options->experiment_path, view.is_found, w.mri->refused, view.ended,
		     view.mean_s, &err);
	pthread_mutex_lock(&w.lock); /* for good: the beats stop */
	sn_mri_close(w.mri);
	return 0;
}

/* ---- the guardian ---- */

__attribute__((noreturn)) static void guardian_run(const struct sn_agent_options *options)
{
	struct sn_error err;

	prctl(PR_SET_NAME, "sonde-guardian");
	sn_detach_descriptors();
	sn_spool_agent(options->experiment_path, getpid(), false, &err);
	for (int i = 0; i < WORKERS_MOST; i++) {
		pid_t worker = fork();
		int status = 0;

		if (!worker) {
			prctl(PR_SET_NAME, "sonde-agent");
			sn_spool_agent(options->experiment_path, getpid(), i > 0, &err);
			_exit(worker_run(options));
		}
		if (worker < 0)
			break;
		while (waitpid(worker, &status, 0) < 0 && errno == EINTR)
			;
		if (WIFEXITED(status))
			break;
	}
	_exit(0);
}

/* Whole, and beaten for once: a page without that is no agent's for a program that starts. */
static bool has_beaten(const char *path)
{
	struct sn_monitor_agent page = { 0 };
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	bool is_whole = fd >= 0 && read(fd, &page, sizeof(page)) == sizeof(page);

	if (fd >= 0)
		close(fd);
	return is_whole && page.magic == SN_MONITOR_MAGIC && page.beat_ns;
}

/* A program that starts without an agent's page is measured by nobody. */
static sn_status page_wait(const struct sn_agent_options *options, struct sn_error *err)
{
	struct sn_text path = { 0 };
	double begin_s = sn_now_s();
	bool is_there;

	sn_text_addf(&path, "%s/%s.agent", options->live_folder, options->host);
	while (!(is_there = has_beaten(path.chars)) && sn_now_s() - begin_s < page_wait_s)
		pause_ns(POLL_NS);
	sn_text_free(&path);
	if (!is_there)
		return sn_error_set(
			err, SN_ERR_IO,
			"search: the agent does not start; the program runs unmeasured");
	return SN_OK;
}

sn_status sn_agent_start(const struct sn_agent_options *options, struct sn_error *err)
{
	pid_t first = fork();
	int status = 0;

	if (first < 0)
		return sn_error_errno(err, "search: the agent cannot be started");
	if (!first) {
		setsid();
		if (!fork())
			guardian_run(options);
		_exit(0);
	}
	while (waitpid(first, &status, 0) < 0 && errno == EINTR)
		;
	return page_wait(options, err);
}
