/*
 * Why a table has no row: what the run did not have, or was not recorded with, and what would give
 * the table something to show. A view says what only it knows (struct sn_view, why_empty).
 */
#include "views/empty.h"

#include <string.h>

#include "causal/log.h"
#include "profile/companions.h"
#include "trace/trace.h"

static const char *filter_words(const struct sn_filter *f)
{
	return f->from_ns || f->to_ns ? "--time"
	       : f->process_count     ? "--process"
	       : f->tid_count	      ? "--thread"
	       : f->module	      ? "--module"
				      : "--function";
}

static void add_filtered(const struct sn_profile *p, struct sn_text *out)
{
	double elapsed_s = (double)p->experiment->elapsed_ns / 1e9;

	if (p->filter.from_ns > 0 && p->filter.from_ns >= p->experiment->elapsed_ns)
		sn_text_addf(out,
			     "nothing is left: the range of --time begins at %.3f s, and the run "
			     "ended after %.3f s",
			     (double)p->filter.from_ns / 1e9, elapsed_s);
	else
		sn_text_addf(out,
			     "nothing is left: no sample and no wait of the run, which took %.3f "
			     "s, passes the filters (%s); leave them away, or 'sonde show "
			     "functions --all' lists what there is",
			     elapsed_s, filter_words(&p->filter));
}

static bool is_clock_off(const struct sn_experiment *e)
{
	for (size_t i = 0; i < e->processes.count; i++)
		if (strcmp(e->processes.items[i].clock_mechanism, "off") != 0)
			return false;
	return e->processes.count > 0;
}

bool sn_view_has_no_time(const struct sn_profile *p)
{
	return !p->total.cpu_ns && !p->total.samples && !p->total.waits;
}

bool sn_view_lacks_data(const struct sn_view *view, const struct sn_profile *p)
{
	static const struct {
		unsigned need;
		enum sn_trace_kind kind;
	} traces[] = { { SN_VIEW_NEEDS_HEAP, SN_TRACE_HEAP },
		       { SN_VIEW_NEEDS_MPI, SN_TRACE_MPI },
		       { SN_VIEW_NEEDS_LOCKS, SN_TRACE_SYNC },
		       { SN_VIEW_NEEDS_IO, SN_TRACE_IO },
		       { SN_VIEW_NEEDS_OPENMP, SN_TRACE_OPENMP } };
	const struct sn_experiment *e = p->experiment;

	for (size_t i = 0; i < sizeof(traces) / sizeof(*traces); i++)
		if (view->needs & traces[i].need && !sn_trace_has(e, traces[i].kind))
			return true;
	if (view->needs & SN_VIEW_NEEDS_LANES && !sn_trace_has(e, SN_TRACE_MPI) &&
	    !sn_trace_has(e, SN_TRACE_SYNC))
		return true;
	return (view->needs & SN_VIEW_NEEDS_EVENTS && !e->events.count) ||
	       (view->needs & SN_VIEW_NEEDS_COUNTS && !e->block_counts.count) ||
	       (view->needs & SN_VIEW_NEEDS_WINDOWS &&
		!sn_profile_with_accesses(p, NULL)->experiment->windows.count) ||
	       (view->needs & SN_VIEW_NEEDS_INSTANCES &&
		!sn_profile_with_instances(p)->experiment->instances.count) ||
	       (view->needs & SN_VIEW_NEEDS_VARIANTS &&
		!sn_profile_with_variants(p)->experiment->variants.count) ||
	       (view->needs & SN_VIEW_NEEDS_SEARCH && !sn_view_was_searched(p)) ||
	       (view->needs & SN_VIEW_NEEDS_CAUSAL && !sn_causal_log_exists(e->path));
}

sn_status sn_view_tell_empty(const struct sn_view *view, const struct sn_view_input *input,
			     const char *why, struct sn_error *err)
{
	if (sn_view_lacks_data(view, input->profile) || view->is_never_empty ||
	    (view->needs & SN_VIEW_NEEDS_TIME && !input->profile->total.samples))
		return sn_error_set(err, SN_ERR_NO_DATA, "%s", why);
	sn_warn("%s", why);
	return SN_OK;
}

static void add_damaged(const struct sn_experiment *e, struct sn_text *out)
{
	sn_text_addf(
		out,
		"the data file '%s' is cut short or damaged, and what can be read of it has no row",
		e->damaged_data);
}

void sn_view_add_why_no_samples(const struct sn_profile *p, struct sn_text *out)
{
	const struct sn_experiment *e = p->experiment;

	if (p->is_filtered && sn_view_has_no_time(p))
		add_filtered(p, out);
	else if (e->damaged_data)
		add_damaged(e, out);
	else if (!e->processes.count)
		sn_text_add(out, "no process was measured: there are no data in this experiment "
				 "('sonde show summary' says why)");
	else if (is_clock_off(e))
		sn_text_add(out, "there are no samples: the clock was off, as asked; record with "
				 "it (without '--clock off')");
	else
		sn_text_addf(out,
			     "there are no samples%s: the run used too little CPU time; let the "
			     "program work longer, or record with '--clock 10000'",
			     p->is_filtered ? " that pass the filters" : "");
}

void sn_view_add_why_filtered(const struct sn_table *table, const struct sn_table_view *how,
			      struct sn_text *out)
{
	const char *sign = strpbrk(how->filter, "=~<>!");

	sn_text_addf(out, "no row of %zu passes --filter '%s'", table->row_count, how->filter);
	if (sign && *sign == '=')
		sn_text_addf(out, "; '=' compares the whole text, '%.*s~%s' searches in it",
			     (int)(sign - how->filter), how->filter, sign + 1);
}

void sn_view_why_empty(const struct sn_view *view, const struct sn_view_input *input,
		       const struct sn_table *table, const struct sn_table_view *how,
		       struct sn_text *out)
{
	const struct sn_profile *p = input->profile;
	static const unsigned of_loops = SN_VIEW_NEEDS_INSTANCES | SN_VIEW_NEEDS_VARIANTS |
					 SN_VIEW_NEEDS_WINDOWS | SN_VIEW_NEEDS_COUNTS;
	const char *damaged = view->needs & SN_VIEW_NEEDS_A_TRACE && !table->row_count
				      ? sn_trace_damaged(p->experiment)
				      : NULL;

	if (damaged)
		sn_text_addf(out,
			     "the trace '%s' is cut short or damaged, and what can be read of it "
			     "has no row",
			     damaged);
	else if (table->row_count && how->filter)
		sn_view_add_why_filtered(table, how, out);
	else if (p->is_filtered && sn_view_has_no_time(p) && !sn_view_is_of_whole_run(view))
		add_filtered(p, out);
	else if (view->needs & of_loops && !table->row_count && p->experiment->damaged_data)
		add_damaged(p->experiment, out);
	else if (view->why_empty)
		view->why_empty(input, out);
	if (out->length)
		return;
	if (!p->total.samples)
		sn_view_add_why_no_samples(p, out);
	else
		sn_text_addf(out,
			     "none of the %llu samples is of what this table shows; 'sonde show "
			     "functions --all' lists where they are",
			     (unsigned long long)p->total.samples);
}
