/*
 * The agent of a host. The guardian starts the worker again if it dies, and so the inner agents that are this host's;
 * the worker searches, beats, and writes each window to the spool before it is used. None is a parent of the program,
 * or a rank.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/detach.h"
#include "base/progress.h"
#include "search/online/above.h"
#include "search/online/node.h"
#include "search/online/parts.h"
#include "search/online/traced.h"
#include "search/online/tree.h"

enum { LIVES_MOST = 4, LOOK_NS = 5000000, POLL_NS = 1000000 };
enum { LOOKS_A_SCAN = 10 }; /* for further recordings of the host */

struct worker {
	const struct sn_agent_options *options;
	struct sn_mri *mri;
	pthread_mutex_t lock;	/* of mri */
	struct sn_spool before; /* what a worker before this one has measured */
	size_t next_before;
	double began_s;
	size_t told;   /* steps whose findings are in the spool as sentences */
	bool has_room; /* the spool could be written so far */
	bool has_told_waiting, has_told_every, has_told_deaf;
	/* of one of several hosts */
	struct sn_node *node; /* NULL: there is one host */
	uint32_t step;	      /* of the front's, the last that was asked for */
	uint32_t traces;      /* that its search has asked for */
	uint32_t looks;
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
	bool is_reached, is_deaf;
	uint32_t every;
};

static void folder_see(void *context, const char *live_folder)
{
	struct sn_error err;

	sn_mri_add(context, live_folder, &err); /* one that has gone already has no page */
}

static void node_look(struct worker *w, const struct view *view)
{
	const struct sn_node_view told = { view->ended, view->mean_s, view->is_found,
					   view->is_needed, view->is_deaf };

	if (!(w->looks++ % LOOKS_A_SCAN))
		sn_node_live_folders(w->options->experiment_path, w->options->node_name, folder_see,
				     w->mri);
	sn_node_tell(w->node, &told);
}

static struct view look(struct worker *w)
{
	struct view view;

	pthread_mutex_lock(&w->lock);
	sn_mri_look(w->mri);
	view.ended = sn_mri_ended(w->mri, &view.is_found);
	view.mean_s = sn_mri_mean_s(w->mri);
	view.is_needed = sn_mri_is_needed(w->mri);
	view.is_measured = sn_mri_is_measured(w->mri);
	view.is_reached = sn_mri_is_reached(w->mri);
	view.is_deaf = sn_mri_is_deaf(w->mri);
	view.every = sn_mri_every(w->mri);
	if (w->node)
		node_look(w, &view);
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

/* How long the phase may take to come before people are told that it does not. */
static const double silent_s = 10;

static void say(const struct worker *w, const char *sentence)
{
	struct sn_error err;

	if (w->node)
		sn_node_say(w->node, sentence);
	else
		sn_spool_found(w->options->experiment_path, sentence, &err);
}

/* A program may run for ever: that nothing will come of a phase is told once while it does. */
static void waiting_tell(struct worker *w, const struct view *view)
{
	struct sn_text text = { 0 };

	if (w->has_told_waiting || sn_now_s() - w->began_s < silent_s || !view->is_found)
		return;
	w->has_told_waiting = true;
	sn_text_addf(&text, "'%.160s' has %s in %.0f s; the program runs on, %s",
		     w->options->phase->name.chars,
		     view->is_reached ? "been reached once and not again" : "not been reached",
		     sn_now_s() - w->began_s,
		     view->is_reached ? "measured to its end if nothing else comes"
				      : "unmeasured until then (Ctrl-C ends it)");
	say(w, text.chars);
	sn_text_free(&text);
}

/* Arrivals are told no more then, so that nothing else can be measured. */
static void deaf_tell(struct worker *w)
{
	struct sn_text text = { 0 };

	if (w->has_told_deaf)
		return;
	w->has_told_deaf = true;
	sn_phase_often_add(w->options->phase, &text);
	say(w, text.chars);
	say(w, "so no more is measured, and the program runs on");
	sn_text_free(&text);
}

/* What is passed that often has executions by the thousand; begins and ends are known of some of them. */
static void every_tell(struct worker *w, const struct view *view)
{
	struct sn_text text = { 0 };

	if (w->has_told_every || view->every < 2)
		return;
	w->has_told_every = true;
	sn_text_addf(
		&text,
		"'%.160s' is passed over 1000 times a second, so a phase is what lies between two arrivals of "
		"which each is the %u-th after the one before; executions are counted one by one",
		w->options->phase->name.chars, view->every);
	say(w, text.chars);
	sn_text_free(&text);
}

/* The first execution tells how long one takes. It is measured, too, but counts only if no other one follows. What an
 * agent that died has asked for is waited for. */
static bool request(struct worker *w, const struct sn_executions *s, uint32_t least)
{
	bool is_asked = false;

	while (!is_asked) {
		struct view view = look(w);

		if (view.is_deaf)
			deaf_tell(w);
		if (!view.is_needed || is_over(w) || view.is_deaf)
			return false;
		if (view.ended) {
			pthread_mutex_lock(&w->lock);
			const uint32_t wanted = sn_executions_wanted(view.mean_s);

			w->mri->traces = sn_traced_requests(s->asked);
			w->mri->period_times = s->period_times;
			is_asked = sn_mri_measure(w->mri, wanted > least ? wanted : least,
						  sn_suspend_ns(w->options->online->suspend));
			sn_mri_go(w->mri); /* those that are stopped since the step before */
			pthread_mutex_unlock(&w->lock);
		} else {
			pthread_mutex_lock(&w->lock);
			w->mri->period_times = s->period_times;
			sn_mri_measure_first(w->mri);
			pthread_mutex_unlock(&w->lock);
			waiting_tell(w, &view);
		}
		pause_ns(POLL_NS);
	}
	return true;
}

/* The execution of a phase that was passed once, after the program's end. */
static bool only_fetch(struct worker *w, const struct sn_executions *s, struct sn_mri_window *out)
{
	bool is_there;

	if (s->measured.count || w->before.windows.count || look(w).is_deaf)
		return false;
	while (look(w).is_needed && !is_over(w))
		pause_ns(POLL_NS);
	pthread_mutex_lock(&w->lock);
	is_there = sn_mri_fetch_only(w->mri, out);
	pthread_mutex_unlock(&w->lock);
	return is_there;
}

/* What was asked for is measured, or nothing is left that could be. */
static bool window_wait(struct worker *w, struct sn_mri_window *out)
{
	struct view view;
	bool is_there;

	do {
		pause_ns(POLL_NS);
		view = look(w);
		if (view.is_deaf)
			deaf_tell(w);
	} while (!view.is_measured && !is_over(w) && !view.is_deaf &&
		 !(w->node && sn_node_is_over(w->node)));
	every_tell(w, &view);
	pthread_mutex_lock(&w->lock);
	is_there = view.is_measured && sn_mri_fetch(w->mri, out);
	if (w->options->online->suspend != SN_SUSPEND_ALWAYS)
		sn_mri_go(w->mri);
	pthread_mutex_unlock(&w->lock);
	return is_there;
}

/* Executions that came faster than before were over much too soon: more of them are measured in their stead. */
static bool step_measure(struct worker *w, const struct sn_executions *s, struct sn_mri_window *out)
{
	enum { TRIES = 4 };

	if (!request(w, s, 0) || !window_wait(w, out))
		return only_fetch(w, s, out);
	for (int tries = 0; tries < TRIES; tries++) {
		struct sn_mri_window longer = { 0 };
		uint32_t least = sn_executions_lacking(out);

		if (!least || !request(w, s, least) || !window_wait(w, &longer))
			break;
		sn_mri_window_free(out);
		*out = longer;
	}
	return true;
}

static bool live_next(struct sn_executions *s, sn_windows *out)
{
	struct worker *w = s->context;
	struct sn_mri_window window = { 0 };
	struct sn_error err;

	if (w->next_before < w->before.windows.count) {
		sn_vec_push(out, w->before.windows.items[w->next_before]);
		w->before.windows.items[w->next_before++] = (struct sn_mri_window){ 0 };
		return true;
	}
	if (!step_measure(w, s, &window))
		return false;
	if (sn_spool_window(w->options->experiment_path, &window, &err) == SN_OK) {
		sn_vec_push(out, window);
		return true;
	}
	w->has_room = false; /* what is not in the spool is in no result */
	sn_mri_window_free(&window);
	return false;
}

/* ---- one of several hosts: the front says what is measured ---- */

static bool is_deaf(struct worker *w)
{
	bool is;

	pthread_mutex_lock(&w->lock);
	is = sn_mri_is_deaf(w->mri);
	pthread_mutex_unlock(&w->lock);
	return is;
}

/* A step of the front's; false: the search is over. */
static bool node_step(struct worker *w, struct sn_mri_window *out, bool *is_there)
{
	struct sn_node_step step;

	while (!sn_node_asked(w->node, w->step, &step)) {
		if (sn_node_is_over(w->node))
			return false;
		if (is_deaf(w))
			deaf_tell(w);
		pause_ns(POLL_NS);
	}
	w->step = step.step;
	pthread_mutex_lock(&w->lock);
	w->mri->traces = step.traces;
	*is_there = sn_mri_measure_from(w->mri, step.first, step.executions, step.stop_ns);
	sn_mri_go(w->mri);
	pthread_mutex_unlock(&w->lock);
	*is_there = *is_there && window_wait(w, out);
	if (*is_there)
		out->host = sn_strdup(w->options->host);
	sn_node_measured(w->node, w->step, *is_there ? out : NULL);
	return true;
}

/* What is not to be evaluated, as the front has asked, or will ask, for better. */
struct node_tries {
	int without, brief;
	uint32_t executions; /* of the last that was too short */
};

/* The front may have asked for a step before it heard which traces this one wants. Executions that came faster than before were
 * over too soon: where they were so on all hosts, the front asks for more of them in their stead; where it asks for no more,
 * another host needs as long as is right for these. */
static bool is_waived(struct node_tries *tries, const struct sn_mri_window *window, uint32_t traces)
{
	enum { WITHOUT_MOST = 2, BRIEF_MOST = 4 };

	if ((window->traces & traces) != traces && tries->without++ < WITHOUT_MOST)
		return true;
	if (!sn_executions_lacking(window) || window->executions <= tries->executions)
		return false;
	tries->executions = window->executions;
	return tries->brief++ < BRIEF_MOST;
}

static bool node_next(struct sn_executions *s, sn_windows *out)
{
	struct worker *w = s->context;
	struct sn_mri_window window = { 0 };
	struct node_tries tries = { 0 };
	bool is_there = false;
	const uint32_t traces = w->traces = sn_traced_requests(s->asked);

	w->mri->period_times = s->period_times;
	sn_node_want(w->node, true, traces);
	while (!is_there) {
		if (is_deaf(w) || !node_step(w, &window, &is_there))
			return false;
		if (is_there && is_waived(&tries, &window, traces)) {
			sn_mri_window_free(&window);
			window = (struct sn_mri_window){ 0 };
			is_there = false;
		}
	}
	sn_vec_push(out, window);
	return true;
}

/* Its own search is through, but the others' may not be: the same executions are measured everywhere. */
static void node_go_on(struct worker *w)
{
	struct sn_mri_window window = { 0 };
	bool is_there = false;

	sn_node_want(w->node, false, w->traces);
	while (node_step(w, &window, &is_there)) {
		if (is_there)
			sn_mri_window_free(&window);
		window = (struct sn_mri_window){ 0 };
	}
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

		if (f->step <= w->told)
			continue;
		sn_text_addf(&text, "step %u: %.3f %s", f->step, f->severity,
			     sn_finding_property(found, f)->name);
		if (region && region->name)
			sn_text_addf(&text, " in %.80s", region->name);
		if (region && region->file && region->line_first)
			sn_text_addf(&text, " (%.60s:%u)", sn_base_name(region->file),
				     region->line_first);
		say(w, text.chars);
		sn_text_free(&text);
	}
	w->told = found->steps.count;
}

static void search(struct worker *w)
{
	struct sn_executions phases = { .options = w->options->online,
					.phase = w->options->phase,
					.experiment_path = w->options->experiment_path,
					.next = w->node ? node_next : live_next,
					.is_one_host_of_several = w->node != NULL,
					.found = tell,
					.available = sn_traced_switched(),
					.context = w };
	struct sn_search *found = NULL;
	struct sn_error err;

	if (sn_executions_search(&phases, &found, &err) != SN_OK)
		found = NULL;
	sn_search_free(found);
}

static sn_status worker_open(struct worker *w, uint32_t epoch, struct sn_error *err)
{
	const struct sn_agent_options *o = w->options;
	sn_status status;

	pthread_mutex_init(&w->lock, NULL);
	status = sn_mri_open(o->live_folder, o->host, &o->phase->boundary, &w->mri, err);
	if (status == SN_OK && o->node_name)
		status = sn_node_open(o->experiment_path, o->node_name, o->online->fanout, epoch,
				      &w->node, err);
	if (status != SN_OK || w->node)
		return status;
	sn_mri_measure_first(w->mri);
	sn_spool_read(o->experiment_path, &w->before);
	/* what a worker before this one found was told before it asked for the next window */
	w->told = w->before.windows.count ? w->before.windows.count - 1 : 0;
	return SN_OK;
}

static void end_tell(struct worker *w)
{
	const struct view view = look(w);
	const struct sn_spool_end spool_end = { .is_found = view.is_found,
						.is_reached = view.is_reached,
						.is_deaf = view.is_deaf,
						.refused = w->mri->refused,
						.executions = view.ended,
						.mean_s = view.mean_s };
	const struct sn_told end = { .kind = SN_TOLD_END,
				     .is_found = view.is_found,
				     .is_deaf = view.is_deaf,
				     .refused = w->mri->refused,
				     .executions = view.ended,
				     .mean_s = view.mean_s };
	struct sn_node *node = w->node;
	struct sn_error err;

	if (!node) {
		sn_spool_end(w->options->experiment_path, &spool_end, &err);
		return;
	}
	pthread_mutex_lock(&w->lock);
	w->node = NULL; /* the beats no longer tell it */
	pthread_mutex_unlock(&w->lock);
	sn_node_close(node, &end);
}

static int worker_run(const struct sn_agent_options *options, uint32_t epoch)
{
	struct worker w = { .options = options, .began_s = sn_now_s(), .has_room = true };
	struct sn_error err;
	pthread_t thread;

	if (worker_open(&w, epoch, &err) != SN_OK || pthread_create(&thread, NULL, beats, &w))
		return 1;
	search(&w);
	if (w.node)
		node_go_on(&w);
	end_tell(&w);
	pthread_mutex_lock(&w.lock); /* for good: the beats stop */
	sn_mri_close(w.mri);
	return 0;
}

/* ---- the guardian ---- */

static void begin_note(const struct sn_agent_options *options, bool is_again)
{
	struct sn_error err;

	if (!options->node_name)
		sn_spool_agent(options->experiment_path, getpid(), is_again, &err);
}

/* What a guardian starts, and starts again if it dies: the worker, and the inner agents of the host. */
struct guarded {
	uint32_t inner; /* its number; 0: the worker */
	uint32_t lives;
	pid_t pid; /* 0: it has ended */
};

static void life_begin(const struct sn_agent_options *o, struct guarded *g)
{
	g->lives++;
	g->pid = fork();
	if (g->pid < 0)
		g->pid = 0;
	if (g->pid)
		return;
	if (g->inner) {
		prctl(PR_SET_NAME, "sonde-inner");
		_exit(sn_above_inner_run(o->experiment_path, o->online->fanout, o->is_local,
					 g->inner, g->lives));
	}
	prctl(PR_SET_NAME, "sonde-agent");
	begin_note(o, g->lives > 1);
	_exit(worker_run(o, g->lives));
}

static size_t guarded_list(const struct sn_agent_options *o, struct guarded out[])
{
	uint32_t inners[SN_TREE_LEVELS], number;
	size_t count = 0;

	out[0] = (struct guarded){ 0 };
	if (o->node_name && sn_node_number(o->experiment_path, o->node_name, &number))
		count = sn_tree_inners(o->online->fanout, number, inners);
	for (size_t i = 0; i < count; i++)
		out[1 + i] = (struct guarded){ .inner = inners[i] };
	return 1 + count;
}

void sn_agent_guard(const struct sn_agent_options *options)
{
	struct guarded all[1 + SN_TREE_LEVELS];
	size_t count;
	int status;
	pid_t pid;

	prctl(PR_SET_NAME, "sonde-guardian");
	begin_note(options, false);
	count = guarded_list(options, all);
	for (size_t i = 0; i < count; i++)
		life_begin(options, &all[i]);
	while ((pid = waitpid(-1, &status, 0)) > 0 || errno == EINTR)
		for (size_t i = 0; i < count && pid > 0; i++) {
			if (all[i].pid != pid)
				continue;
			all[i].pid = 0;
			if (WIFSIGNALED(status) && all[i].lives < LIVES_MOST)
				life_begin(options, &all[i]);
			break;
		}
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
sn_status sn_agent_wait(const char *live_folder, const char *host, double most_s,
			struct sn_error *err)
{
	struct sn_text path = { 0 };
	double begin_s = sn_now_s();
	bool is_there;

	sn_text_addf(&path, "%s/%s.agent", live_folder, host);
	while (!(is_there = has_beaten(path.chars)) && sn_now_s() - begin_s < most_s)
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
		if (!fork()) {
			sn_detach_descriptors();
			sn_agent_guard(options);
		}
		_exit(0);
	}
	while (waitpid(first, &status, 0) < 0 && errno == EINTR)
		;
	return SN_OK;
}
