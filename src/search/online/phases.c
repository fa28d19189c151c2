/*
 * Executions of a phase, a window of them for each step. The agent's search takes its windows from the
 * program while it runs and writes each to the spool; the front's takes them from the spool, when the
 * program has ended, and comes to the same result: what a window holds stands in the data.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/stats.h"
#include "search/evidence/sources.h"
#include "search/online/further.h"
#include "search/online/parts.h"
#include "search/online/traced.h"

enum { EXECUTIONS_MOST = 50000000 }; /* half a second of what takes 10 ns */
/* At 1 kHz some 500 observations of one lane: a share of .05 has a 95 % interval of +- .02. */
static const double observed_s = 0.5;

uint32_t sn_executions_wanted(double mean_s)
{
	double count = mean_s > 0 ? ceil(observed_s / mean_s) : 1;

	return count < 1 ? 1 : count > EXECUTIONS_MOST ? EXECUTIONS_MOST : (uint32_t)count;
}

uint32_t sn_executions_lacking(const struct sn_mri_window *window)
{
	double s = (double)(window->to_ns - window->from_ns) / 1e9;

	return s > 0 && s < observed_s / 2 ? sn_executions_wanted(s / window->executions) : 0;
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
	double mean_s; /* of an execution */
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

/* From the first host's begin to the last one's end: the same executions are measured on all, each in its own clock and,
 * where hosts do not wait for each other, each at its own time. Times count from the experiment's first process. */
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

static bool has_host(const sn_windows *steps, size_t count, const char *host)
{
	for (size_t i = 0; i < count; i++)
		for (size_t k = 0; k < steps[i].count; k++)
			if (!strcmp(steps[i].items[k].host ? steps[i].items[k].host : "",
				    host ? host : ""))
				return true;
	return false;
}

/* A host's own windows are what its values are of, so the phase lasts as long as those of a host, on average. */
static void lengths_set(struct sn_executions_part *part, const sn_windows *steps, size_t count)
{
	double sum_s = 0, executions = 0;
	size_t hosts = 0;

	for (size_t i = 0; i < count; i++)
		for (size_t k = 0; k < steps[i].count; k++) {
			const struct sn_mri_window *w = &steps[i].items[k];

			hosts += !has_host(steps, i, w->host);
			sum_s += (double)(w->to_ns - w->from_ns) / 1e9;
			executions += w->executions;
		}
	part->part.phase_s = fmax(1e-9, sum_s / (double)hosts);
	part->mean_s = sum_s / executions;
}

static void filter_set(struct sn_executions_part *part)
{
	struct sn_filter *filter = &part->filter;

	part->spans.count = sn_spans_settle(part->spans.items, part->spans.count);
	filter->spans = (struct sn_spans){ part->spans.items, part->spans.count };
	filter->from_ns = part->spans.items[0].from_ns;
	filter->to_ns = sn_vec_last(&part->spans).to_ns;
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
		sn_online_refusal_tell(sn_sources[source]->name, NULL, share, s->options->budget);
	s->refused |= 1u << source;
	return true;
}

/* What an agent switches has values where it was on in all executions. */
static bool is_on(const struct sn_executions_part *p, const struct sn_source *source)
{
	return !source->monitored || p->part.traces & 1u << source->monitored;
}

static void further_join(struct sn_executions *s, struct sn_executions_part *p)
{
	for (size_t i = 0; i < s->further.count; i++)
		sn_recorded_join(p->recorded, s->further.items[i].values,
				 s->further.items[i].source);
}

static void sources_collect(struct sn_executions *s, struct sn_executions_part *p)
{
	for (uint32_t i = 0; sn_sources[i]; i++)
		if (is_on(p, sn_sources[i]) && !is_refused(s, p->analysis->experiment, i))
			sn_sources[i]->collect(p->recorded);
	s->asked &= ~s->refused;
}

static uint32_t executions_of(const sn_windows *windows)
{
	uint32_t most = 0;

	for (size_t i = 0; i < windows->count; i++)
		if (windows->items[i].executions > most)
			most = windows->items[i].executions;
	return most;
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
		lengths_set(p, steps, count);
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
	for (size_t i = 0; s->ended && i < count; i++)
		p->part.share_of_run += (double)executions_of(&steps[i]) / s->ended;
	for (size_t i = 0; i < count; i++)
		for (size_t k = 0; k < steps[i].count; k++)
			accounts_take(&p->part, e, &steps[i].items[k]);
	p->recorded = sn_recorded_of_part(p->analysis->profile, p->analysis->structures,
					  sn_analysis_machine(p->analysis), &p->part,
					  s->parts.count ? sn_vec_last(&s->parts)->recorded : NULL);
	p->recorded->caches = s->options->caches;
	sources_collect(s, p);
	further_join(s, p);
	*out = p;
	return SN_OK;
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
		sn_warn("samples took %.2f %% of the CPU time of a step, more than the budget of "
			"%.2f %%: half as many are taken from there on",
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
		s->measured_s += part->mean_s * executions_of(&windows);
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

/* What the program has to be started again for. Each such source is asked for once. */
static void further_measure(struct sn_executions *s, struct sn_search *search, uint32_t sources,
			    struct sn_search_step *step)
{
	struct sn_executions_part *part = sn_vec_last(&s->parts);

	for (uint32_t i = 0; sn_sources[i]; i++) {
		bool is_barren = false;
		struct sn_analysis *analysis = sources & 1u << i
						       ? sn_again_start(s->again, sn_sources[i],
									part->analysis, &is_barren)
						       : NULL;

		if (is_barren)
			search->barren |= 1u << i;
		if (!analysis)
			continue;
		sn_vec_push(&s->further, (struct sn_executions_further){
						 sn_sources[i], analysis,
						 sn_further_values_read(part->recorded, analysis,
									sn_sources[i]) });
		step->overhead_share = fmax(step->overhead_share, sn_online_overhead(analysis));
		sn_recorded_join(part->recorded, sn_vec_last(&s->further).values, sn_sources[i]);
		search->joined |= 1u << i;
	}
	search->recorded = part->recorded;
}

/* A step that lacks sources goes on with further executions, with these on; so do all after it. */
static void windows_measure(struct sn_executions *s, struct sn_search *search, uint32_t sources,
			    struct sn_search_step *step)
{
	struct sn_executions_part *part;
	struct sn_error err;

	s->asked |= sources & ~s->refused;
	part = part_next(s, step, &err);
	search->refused |= s->refused;
	if (part)
		search->recorded = part->recorded;
}

static void measure(void *context, struct sn_search *search, uint32_t sources,
		    struct sn_search_step *step)
{
	struct sn_executions *s = context;
	uint32_t further = s->again ? sources & sn_again_sources(s->again) : 0;

	if (sources & ~further)
		windows_measure(s, search, sources & ~further, step);
	if (further)
		further_measure(s, search, further, step);
}

static bool has_traces(const sn_windows *windows, uint32_t traces, uint32_t refused)
{
	for (size_t i = 0; i < windows->count; i++)
		if ((windows->items[i].traces & traces) != traces ||
		    windows->items[i].traces & refused)
			return false;
	return true;
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
		s->measured_s = part->mean_s * s->executions;
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
	for (size_t i = 0; i < s->further.count; i++) {
		sn_recorded_free(s->further.items[i].values);
		sn_analysis_free(s->further.items[i].analysis);
	}
	sn_vec_free(&s->further);
	sn_vec_free(&s->measured);
	sn_vec_free(&s->parts);
	free(s);
}
