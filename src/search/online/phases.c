/*
 * Executions of a phase, a window of them for each step. The agent's search takes its windows from the
 * program while it runs and writes each to the spool; the front's takes them from the spool, when the
 * program has ended, and comes to the same result: what a window holds stands in the data.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/progress.h"
#include "base/stats.h"
#include "search/evidence/sources.h"
#include "search/online/parts.h"
#include "search/online/traced.h"

/* How long a program waits for its agent to be there. */
static const double page_wait_s = 5;
/* How long the front waits for an agent to say that it has ended. */
static const double agent_wait_s = 10;
/* How often it looks for what the agent has found. */
static const double watch_s = 0.2;

enum { EXECUTIONS_MOST = 1000000 };
/* At 1 kHz some 500 observations of one lane: a share of .05 has a 95 % interval of +- .02. */
static const double observed_s = 0.5;

uint32_t sn_executions_wanted(double mean_s)
{
	double count = mean_s > 0 ? ceil(observed_s / mean_s) : 1;

	return count < 1 ? 1 : count > EXECUTIONS_MOST ? EXECUTIONS_MOST : (uint32_t)count;
}

int64_t sn_suspend_ns(enum sn_suspend suspend)
{
	return suspend == SN_SUSPEND_NEVER    ? 0
	       : suspend == SN_SUSPEND_ALWAYS ? INT64_MAX / 2
					      : SN_MONITOR_BRIEF_NS;
}

struct sn_executions_part {
	struct sn_filter filter;
	SN_VEC(struct sn_span) spans; /* of the filter: one a step */
	SN_VEC(uint32_t) own;	      /* processes of the filter */
	struct sn_part part;
	struct sn_analysis *analysis;
	struct sn_recorded *recorded;
};

static void windows_free(sn_windows *windows)
{
	for (size_t i = 0; i < windows->count; i++)
		sn_mri_window_free(&windows->items[i]);
	sn_vec_free(windows);
}

/* ---- a part ---- */

static void part_free(struct sn_executions_part *p)
{
	sn_recorded_free(p->recorded);
	sn_analysis_free(p->analysis);
	sn_vec_free(&p->part.threads);
	sn_vec_free(&p->part.processes);
	sn_vec_free(&p->spans);
	sn_vec_free(&p->own);
	free(p);
}

/* A process of the window's host that it has measured; the first of the experiment if there is none. */
static const struct sn_process *process_of(const struct sn_experiment *e,
					   const struct sn_mri_window *w)
{
	for (size_t i = 0; i < w->faults.count; i++)
		for (uint32_t p = 0; p < e->processes.count; p++)
			if (e->processes.items[p].pid == w->faults.items[i].pid &&
			    (!w->host || !strcmp(e->processes.items[p].host, w->host)))
				return &e->processes.items[p];
	return &e->processes.items[0];
}

static void accounts_take(struct sn_part *part, const struct sn_experiment *e,
			  const struct sn_mri_window *w)
{
	const char *host = w->host ? process_of(e, w)->host : NULL;

	part->traces &= w->traces;
	for (size_t i = 0; i < w->threads.count; i++) {
		const struct sn_mri_thread *t = &w->threads.items[i];

		sn_vec_push(&part->threads,
			    (struct sn_part_thread){ t->pid, t->tid, t->elapsed_ns, t->cpu_ns,
						     t->wait_cpu_ns, host });
	}
	for (size_t i = 0; i < w->faults.count; i++)
		sn_vec_push(&part->processes,
			    (struct sn_part_process){ w->faults.items[i].pid,
						      w->faults.items[i].minor,
						      w->faults.items[i].major, host });
}

/* From the first host's begin to the last one's end: the same executions are measured on all, each in its own clock. Times
 * count from the experiment's first process. */
static void span_add(struct sn_executions_part *part, const struct sn_experiment *e,
		     const sn_windows *windows)
{
	struct sn_span span = { INT64_MAX, 0 };

	for (size_t i = 0; i < windows->count; i++) {
		const struct sn_mri_window *w = &windows->items[i];
		int64_t offset_ns = process_of(e, w)->clock_offset_ns;

		if (w->from_ns + offset_ns < span.from_ns)
			span.from_ns = w->from_ns + offset_ns;
		if (w->to_ns + offset_ns > span.to_ns)
			span.to_ns = w->to_ns + offset_ns;
	}
	if (span.from_ns < 1) /* zero would mean open */
		span.from_ns = 1;
	if (span.to_ns <= span.from_ns)
		span.to_ns = span.from_ns + 1;
	sn_vec_push(&part->spans, span);
}

static void filter_set(struct sn_executions_part *part)
{
	struct sn_filter *filter = &part->filter;

	part->spans.count = sn_spans_settle(part->spans.items, part->spans.count);
	filter->spans = (struct sn_spans){ part->spans.items, part->spans.count };
	filter->from_ns = part->spans.items[0].from_ns;
	filter->to_ns = sn_vec_last(&part->spans).to_ns;
	part->part.phase_s = (double)sn_spans_length_ns(&filter->spans) / 1e9;
}

static void own_set(struct sn_executions_part *part, const struct sn_experiment *e,
		    const struct sn_mri_window *w)
{
	for (uint32_t p = 0; p < e->processes.count; p++)
		for (size_t i = 0; i < w->faults.count; i++)
			if (e->processes.items[p].pid == w->faults.items[i].pid &&
			    (!w->host || !strcmp(e->processes.items[p].host, w->host))) {
				sn_vec_push(&part->own, p);
				break;
			}
	part->filter.processes = part->own.items;
	part->filter.process_count = part->own.count;
}

/* A trace that took more than the budget made the program another one: its values are refused, and named. */
static bool is_refused(struct sn_executions *s, const struct sn_experiment *e, uint32_t source)
{
	double share = sn_traced_share(e, sn_sources[source]);

	if (share <= s->options->budget)
		return false;
	if (!s->options->is_quiet && !(s->refused & 1u << source))
		fprintf(stderr,
			"sonde: values of %s are refused: measuring them took %.2f %% of the CPU time, "
			"more than the budget of %.2f %%\n",
			sn_sources[source]->name, 100 * share, 100 * s->options->budget);
	s->refused |= 1u << source;
	return true;
}

/* What an agent switches has values where it was on in all executions. */
static bool is_on(const struct sn_executions_part *p, const struct sn_source *source)
{
	return !source->monitored || p->part.traces & 1u << source->monitored;
}

static void sources_collect(struct sn_executions *s, struct sn_executions_part *p)
{
	for (uint32_t i = 0; sn_sources[i]; i++)
		if (is_on(p, sn_sources[i]) && !is_refused(s, p->analysis->experiment, i))
			sn_sources[i]->collect(p->recorded);
	s->asked &= ~s->refused;
}

/* What some steps have measured, as values. */
static sn_status part_open(struct sn_executions *s, const sn_windows *steps, size_t count,
			   struct sn_executions_part **out, struct sn_error *err)
{
	struct sn_executions_part *p = sn_alloc_zeroed(1, sizeof(*p));
	struct sn_analysis_options options = s->options->analysis;
	struct sn_experiment *e = NULL;
	sn_status status = sn_experiment_open(s->experiment_path, &e, err);

	if (status == SN_OK && !e->processes.count)
		status = sn_error_set(err, SN_ERR_NO_DATA, "search: '%s' has no process yet",
				      s->experiment_path);
	for (size_t i = 0; status == SN_OK && i < count; i++)
		span_add(p, e, &steps[i]);
	if (status == SN_OK) {
		filter_set(p);
		if (s->is_one_host_of_several)
			own_set(p, e, &steps[0].items[0]);
		options.filter = &p->filter;
		status = sn_analysis_of(e, &options, &p->analysis, err);
	}
	if (status != SN_OK) {
		sn_experiment_free(e);
		part_free(p);
		return status;
	}
	p->part.traces = UINT32_MAX;
	for (size_t i = 0; i < count; i++)
		for (size_t k = 0; k < steps[i].count; k++)
			accounts_take(&p->part, e, &steps[i].items[k]);
	p->recorded = sn_recorded_of_part(p->analysis->profile, p->analysis->structures,
					  sn_analysis_machine(p->analysis), &p->part,
					  s->parts.count ? sn_vec_last(&s->parts)->recorded : NULL);
	sources_collect(s, p);
	*out = p;
	return SN_OK;
}

static uint32_t executions_of(const sn_windows *windows)
{
	uint32_t most = 0;

	for (size_t i = 0; i < windows->count; i++)
		if (windows->items[i].executions > most)
			most = windows->items[i].executions;
	return most;
}

/* What samples, and what traces, took of the CPU time of some windows, by the runtimes' own count. False: they have none. */
static bool shares_of(const sn_windows *windows, double *samples, double *traces)
{
	double overhead_ns = 0, traced_ns = 0, cpu_ns = 0;

	for (size_t i = 0; i < windows->count; i++) {
		const struct sn_mri_window *w = &windows->items[i];

		overhead_ns += (double)w->overhead_ns;
		traced_ns += (double)w->traced_ns;
		for (size_t k = 0; k < w->threads.count; k++)
			cpu_ns += fmax(0, (double)w->threads.items[k].cpu_ns);
	}
	if (!(overhead_ns > 0) || !(cpu_ns > 0))
		return false;
	*samples = fmin(1, sn_overhead_share(overhead_ns, cpu_ns));
	*traces = fmin(1, sn_overhead_share(traced_ns, cpu_ns));
	return true;
}

/* Of agents that do not count it is that of the whole run. */
static double overhead_of(const sn_windows *windows, const struct sn_analysis *analysis)
{
	double samples, traces;

	return shares_of(windows, &samples, &traces) ? fmin(1, samples + traces)
						     : sn_online_overhead(analysis);
}

/* Samples cannot be refused as traces are, as all stands on them: half as many are taken from here on. */
static void samples_bound(struct sn_executions *s, const sn_windows *windows)
{
	uint32_t times = s->period_times ? s->period_times : 1;
	double samples, traces;

	if (!shares_of(windows, &samples, &traces) || samples <= s->options->budget ||
	    times >= SN_MONITOR_PERIOD_TIMES_MAX)
		return;
	if (times == 1 && !s->options->is_quiet)
		fprintf(stderr,
			"sonde: samples took %.2f %% of the CPU time of a step, more than the budget of "
			"%.2f %%: half as many are taken from there on\n",
			100 * samples, 100 * s->options->budget);
	s->period_times = 2 * times;
}

/* A step may have several windows. */
static void step_add(struct sn_search_step *step, const sn_windows *windows,
		     const struct sn_executions_part *part)
{
	double elapsed_s = part->part.phase_s, all_s = step->elapsed_s + elapsed_s;

	step->overhead_share = (step->overhead_share * step->elapsed_s +
				overhead_of(windows, part->analysis) * elapsed_s) /
			       all_s;
	step->elapsed_s = all_s;
	step->executions += executions_of(windows);
}

/* The next windows as values; NULL: there are no more, or they cannot be read. */
static struct sn_executions_part *part_next(struct sn_executions *s, struct sn_search_step *step,
					    struct sn_error *err)
{
	struct sn_executions_part *part = NULL;
	sn_windows windows = { 0 };

	sn_error_set(err, SN_ERR_NO_DATA, "search: no execution of the phase was measured");
	if (!s->next(s, &windows))
		return NULL;
	if (part_open(s, &windows, 1, &part, err) == SN_OK) {
		sn_vec_push(&s->parts, part);
		sn_vec_push(&s->measured, windows);
		s->executions += executions_of(&windows);
		s->measured_s += part->part.phase_s;
		step_add(step, &windows, part);
		samples_bound(s, &windows);
	} else {
		windows_free(&windows);
	}
	return part;
}

/* ---- a search ---- */

static void phase_tell(const struct sn_executions *s, struct sn_search *search)
{
	search->phase =
		(struct sn_search_phase){ .name = s->phase->name.chars,
					  .file = s->phase->file.length ? s->phase->file.chars
									: NULL,
					  .line = s->phase->line,
					  .executions = s->executions };
	search->phase.mean_s = s->measured_s / s->executions;
}

static struct sn_recorded *anew(void *context, struct sn_search *search,
				struct sn_search_step *step)
{
	struct sn_executions *s = context;
	struct sn_error err;
	struct sn_executions_part *part;

	if (s->found)
		s->found(s, search);
	part = part_next(s, step, &err);
	search->refused |= s->refused;
	return part ? part->recorded : NULL;
}

/* A step that lacks sources goes on with further executions, with these on; so do all after it. */
static void measure(void *context, struct sn_search *search, uint32_t sources,
		    struct sn_search_step *step)
{
	struct sn_executions *s = context;
	struct sn_executions_part *part;
	struct sn_error err;

	s->asked |= sources & ~s->refused;
	part = part_next(s, step, &err);
	search->refused |= s->refused;
	if (part)
		search->recorded = part->recorded;
}

static bool has_traces(const sn_windows *windows, uint32_t traces, uint32_t refused)
{
	for (size_t i = 0; i < windows->count; i++)
		if ((windows->items[i].traces & traces) != traces ||
		    windows->items[i].traces & refused)
			return false;
	return true;
}

static bool has_host(const sn_windows *steps, size_t count, const char *host)
{
	for (size_t i = 0; i < count; i++)
		for (size_t k = 0; k < steps[i].count; k++)
			if (!strcmp(steps[i].items[k].host ? steps[i].items[k].host : "",
				    host ? host : ""))
				return true;
	return false;
}

/* Whether some steps have measured every host that any step has. */
static bool have_all_hosts(const struct sn_executions *s, const sn_windows *steps, size_t count)
{
	for (size_t i = 0; i < s->measured.count; i++)
		for (size_t k = 0; k < s->measured.items[i].count; k++)
			if (!has_host(steps, count, s->measured.items[i].items[k].host))
				return false;
	return true;
}

/* The steps whose executions have all that was asked for, those from the last one on that asked for more, and nothing that was
 * refused, which made the program another one. Where there are none, as the program ended, or where they lack a host, whose agent
 * was lost by then, all steps. */
static size_t whole_steps(const struct sn_executions *s, sn_windows *out)
{
	uint32_t traces = sn_traced_requests(s->asked), refused = sn_traced_requests(s->refused);
	size_t count = 0;

	for (size_t i = 0; i < s->measured.count; i++)
		if (has_traces(&s->measured.items[i], traces, refused))
			out[count++] = s->measured.items[i];
	if (!count || !have_all_hosts(s, out, count))
		memcpy(out, s->measured.items, (count = s->measured.count) * sizeof(*out));
	return count;
}

/* What steps have measured together, so that all rows are shares of the same executions. */
static struct sn_recorded *whole(void *context, struct sn_search *search)
{
	struct sn_executions *s = context;
	struct sn_executions_part *part = NULL;
	struct sn_error err;
	sn_windows *steps;
	size_t count;

	if (s->measured.count < 2)
		return NULL;
	steps = sn_alloc_zeroed(s->measured.count, sizeof(*steps)); /* borrowed */
	count = whole_steps(s, steps);
	if (part_open(s, steps, count, &part, &err) == SN_OK) {
		sn_vec_push(&s->parts, part);
		s->executions = 0;
		for (size_t i = 0; i < count; i++)
			s->executions += executions_of(&steps[i]);
		s->measured_s = part->part.phase_s;
		search->refused |= s->refused;
	}
	free(steps);
	return part ? part->recorded : NULL;
}

sn_status sn_executions_search(struct sn_executions *s, struct sn_search **out,
			       struct sn_error *err)
{
	struct sn_search_options options = s->options->search;
	struct sn_executions_part *part;
	sn_status status;

	options.mode = "phases";
	options.measuring = (struct sn_measuring){
		.context = s, .available = s->available, .measure = measure, .anew = anew
	};
	if (!s->found) /* who looks on has heard of steps; the result is the front's */
		options.measuring.whole = whole;
	options.first = (struct sn_search_step){ 0 };
	part = part_next(s, &options.first, err);
	if (!part)
		return err->status;
	status = sn_search_run(part->recorded, s->options->library, &options, out, err);
	if (status == SN_OK) {
		phase_tell(s, *out);
		(*out)->refused |= s->refused;
	}
	if (status == SN_OK && s->found)
		s->found(s, *out);
	return status;
}

void sn_executions_free(struct sn_executions *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->parts.count; i++)
		part_free(s->parts.items[i]);
	for (size_t i = 0; i < s->measured.count; i++)
		windows_free(&s->measured.items[i]);
	sn_vec_free(&s->measured);
	sn_vec_free(&s->parts);
	free(s);
}

/* ---- the front ---- */

struct sn_online_front {
	const struct sn_online_options *options; /* its own */
	struct sn_online_options own;
	struct sn_phase phase;
	struct sn_spool spool;
	size_t next; /* window of the spool */
	struct sn_text experiment_path;
	uint64_t watched; /* bytes of the spool */
	double watched_s;
	double ran_s; /* the program */
};

static void agent_begin(void *context, const char *live_folder, const char *experiment_path)
{
	struct sn_online_front *f = context;
	struct sn_agent_options options = { .online = f->options,
					    .phase = &f->phase,
					    .live_folder = live_folder,
					    .experiment_path = experiment_path };
	char host[256] = "";
	struct sn_error err;

	sn_text_add(&f->experiment_path, experiment_path);
	if (sn_online_words_write(experiment_path, f->options, &err) != SN_OK)
		sn_error_print(&err);
	gethostname(host, 64); /* as the runtime has it */
	options.host = host;
	if (sn_agent_start(&options, &err) != SN_OK ||
	    sn_agent_wait(live_folder, host, page_wait_s, &err) != SN_OK)
		sn_error_print(&err);
}

static void say(const char *sentence)
{
	fprintf(stderr, "sonde: %s\n", sentence);
}

/* What the agent finds is told while the program runs. */
static void watch(void *context)
{
	struct sn_online_front *f = context;

	if (sn_now_s() - f->watched_s < watch_s)
		return;
	f->watched_s = sn_now_s();
	f->watched = sn_spool_watch(f->experiment_path.chars, f->watched, say);
}

/* Neither gone nor frozen. */
static bool is_at_work(int pid)
{
	char path[64], line[512] = "";
	const char *state;
	FILE *in;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	in = fopen(path, "re");
	if (!in)
		return false;
	state = fgets(line, sizeof(line), in) ? strrchr(line, ')') : NULL;
	fclose(in);
	return state && state[1] && !strchr("TtZX", state[2]);
}

static bool is_any_at_work(const struct sn_spool *spool)
{
	for (size_t i = 0; i < spool->agents.count; i++)
		if (is_at_work(spool->agents.items[i]))
			return true;
	return false;
}

/* The program has ended, so its agent will. */
static void spool_wait(struct sn_online_front *f, const char *experiment_path)
{
	const struct timespec moment = { .tv_nsec = 10000000 };
	double begin_s = sn_now_s();

	for (;;) {
		sn_spool_read(experiment_path, &f->spool);
		if (f->spool.has_ended || !is_any_at_work(&f->spool) ||
		    sn_now_s() - begin_s > agent_wait_s)
			return;
		sn_spool_free(&f->spool);
		nanosleep(&moment, NULL);
	}
}

static bool spooled_next(struct sn_executions *s, sn_windows *out)
{
	struct sn_online_front *f = s->context;
	struct sn_mri_window *window;

	if (f->next == f->spool.windows.count)
		return false;
	window = &f->spool.windows.items[f->next++];
	sn_vec_push(out, *window); /* it is the taker's now */
	*window = (struct sn_mri_window){ 0 };
	return true;
}

static sn_status nothing_measured(const struct sn_online_front *f, struct sn_error *err)
{
	const char *name = f->phase.name.chars;
	const struct sn_spool_end *end = &f->spool.end;

	if (!f->spool.has_ended)
		return sn_error_set(err, SN_ERR_NO_DATA,
				    "search: the agent that measures '%s' was killed before it had "
				    "measured anything; the program ran on",
				    name);
	if (!end->is_found)
		return sn_error_set(err, SN_ERR_NO_DATA,
				    "search: no process could watch for '%s': the program did not "
				    "start, or no hardware breakpoint can be had here (a debugger "
				    "has them, or perf_event_open is refused)",
				    name);
	if (end->is_deaf)
		return sn_error_set(
			err, SN_ERR_NO_DATA,
			"search: '%s' is passed over 400 times a second, too often to be watched; name a "
			"place that is passed less often%s%s",
			name, f->phase.outer.length ? ", as the loop around it: --phase " : "",
			f->phase.outer.length ? f->phase.outer.chars : "");
	if (!end->executions && end->is_reached)
		return sn_error_set(
			err, SN_ERR_NO_DATA,
			"search: no execution of '%s' ended: it was reached, and %.1f s after its start "
			"the program died in it; without --phase the whole program is searched",
			name, f->ran_s);
	if (!end->executions && f->phase.boundary.kind == SN_MONITOR_BOUNDARY_BEAT)
		return sn_error_set(err, SN_ERR_NO_DATA,
				    "search: no execution of '%s' ended: in the %.1f s that the "
				    "program ran no beat of that heartbeat came; if a function of "
				    "that name is meant, give its place as FILE:LINE",
				    name, f->ran_s);
	if (!end->executions)
		return sn_error_set(err, SN_ERR_NO_DATA,
				    "search: no execution of '%s' ended: it was never reached in "
				    "the %.1f s that the program ran",
				    name, f->ran_s);
	return sn_error_set(err, SN_ERR_NO_DATA,
			    "search: the program ended before an execution of '%s' could be "
			    "measured; %u had passed in all: let it run longer, or leave --phase "
			    "away",
			    name, end->executions);
}

/* One that nothing follows. */
static void only_tell(const struct sn_online_front *f)
{
	if (f->spool.has_ended && f->spool.end.executions == 1 && !f->options->is_quiet)
		fprintf(stderr,
			"sonde: '%s' was passed once: measured is this one execution, from its begin to "
			"%s; there is none for further steps, so less is measurable than without --phase\n",
			f->phase.name.chars,
			f->phase.boundary.kind == SN_MONITOR_BOUNDARY_BEAT ? "its end"
									   : "the program's end");
}

static void agents_tell(const struct sn_online_front *f, struct sn_search *search)
{
	search->agents = (struct sn_search_agents){ .hosts = 1,
						    .joined = f->spool.agents.count > 0,
						    .lost = !f->spool.has_ended,
						    .restarted = f->spool.restarted,
						    .refused = f->spool.end.refused };
	if (search->agents.lost && !f->options->is_quiet)
		fprintf(stderr,
			"sonde: the agent was lost; the result is of what it had measured\n");
}

static sn_status result_find(struct sn_online_front *f, struct sn_online *out, struct sn_text *path,
			     struct sn_error *err)
{
	struct sn_executions *s;
	sn_status status;

	if (!f->spool.windows.count)
		return nothing_measured(f, err);
	s = sn_alloc_zeroed(1, sizeof(*s));
	*s = (struct sn_executions){ .options = f->options,
				     .phase = &f->phase,
				     .experiment_path = path->chars,
				     .next = spooled_next,
				     .available = sn_traced_switched(),
				     .context = f };
	out->phases = s;
	status = sn_executions_search(s, &out->search, err);
	if (status == SN_OK) {
		agents_tell(f, out->search);
		only_tell(f);
		out->search->exit_status = out->exit_code;
	}
	return status;
}

/* Its standard output is the program's own, or goes where there is room for it. The recording leaves
 * signals blocked, so that another Ctrl-C does not take the answer away. */
static sn_status program_run(struct sn_online_front *f, struct sn_record_result *result,
			     const struct sn_record_options *record, struct sn_error *err)
{
	int own = dup(STDOUT_FILENO);
	sn_status status;

	fflush(stdout);
	if (f->options->output_fd != STDOUT_FILENO)
		dup2(f->options->output_fd, STDOUT_FILENO);
	status = sn_record_run(record, result, err);
	if (own >= 0) {
		dup2(own, STDOUT_FILENO);
		close(own);
	}
	if (status == SN_OK)
		sn_record_extracts(result->experiment_path.chars, record);
	return status;
}

sn_status sn_online_phases(const struct sn_online_options *options, struct sn_online *out,
			   struct sn_error *err)
{
	struct sn_phase phase = { 0 };
	sn_status status = sn_search_check(options->library, &options->search, err);

	*out = (struct sn_online){ .exit_code = SN_EXIT_USAGE };
	if (status == SN_OK)
		status = sn_phase_find(options->program, options->phase, &phase, err);
	if (status == SN_OK)
		return sn_online_phases_at(options, &phase, out, err);
	if (phase.exit_code)
		out->exit_code = phase.exit_code;
	sn_phase_free(&phase);
	return status;
}

sn_status sn_online_phases_at(const struct sn_online_options *options, struct sn_phase *phase,
			      struct sn_online *out, struct sn_error *err)
{
	struct sn_online_front *f = sn_alloc_zeroed(1, sizeof(*f));
	struct sn_record_options record = options->record;
	struct sn_record_result result = { .exit_code = SN_EXIT_USAGE };
	double begin_s;
	sn_status status;

	*out = (struct sn_online){ .front = f };
	f->own = *options;
	f->options = &f->own;
	f->phase = *phase;
	*phase = (struct sn_phase){ 0 };
	record.is_monitored = true;
	sn_traced_add(options->program, &record);
	sn_traced_add_switched(&record, options->budget);
	record.prepared = agent_begin;
	record.round = options->is_quiet ? NULL : watch;
	record.context = f;
	begin_s = sn_now_s();
	status = program_run(f, &result, &record, err);
	f->ran_s = sn_now_s() - begin_s;
	if (status == SN_OK)
		sn_online_death_tell(options, result.exit_code);
	out->exit_code = result.exit_code;
	if (status == SN_OK) {
		spool_wait(f, result.experiment_path.chars);
		out->has_run = true;
		status = result_find(f, out, &result.experiment_path, err);
	}
	out->path = result.experiment_path;
	return status;
}

sn_status sn_phases_again(const struct sn_online_options *options, const char *folder,
			  struct sn_online *out, struct sn_error *err)
{
	struct sn_online_front *f = sn_alloc_zeroed(1, sizeof(*f));
	sn_status status = sn_search_check(options->library, &options->search, err);

	*out = (struct sn_online){ .front = f,
				   .exit_code = -1 }; /* nobody has waited for the program */
	f->own = *options;
	f->options = &f->own;
	sn_text_add(&f->experiment_path, folder);
	sn_text_add(&out->path, folder);
	if (status == SN_OK)
		status = sn_phase_find(options->program, options->phase, &f->phase, err);
	if (status != SN_OK)
		return status;
	sn_spool_read(folder, &f->spool);
	if (!f->spool.has_ended && is_any_at_work(&f->spool) && !options->is_quiet)
		fprintf(stderr,
			"sonde: the program still runs, and its agent measures on; this command then has the "
			"rest\n");
	return result_find(f, out, &out->path, err);
}

void sn_online_front_free(struct sn_online_front *f)
{
	if (!f)
		return;
	sn_phase_free(&f->phase);
	sn_spool_free(&f->spool);
	sn_text_free(&f->experiment_path);
	free(f);
}
