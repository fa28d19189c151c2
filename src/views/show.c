/* Shows a view: format and columns where the user named none, and the lines that go with the rows. */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/text.h"
#include "caches/replay.h"
#include "profile/companions.h"
#include "views/empty.h"
#include "views/view.h"

static char *all_columns(const struct sn_view *view)
{
	struct sn_text text = { 0 };

	for (size_t c = 0; c < view->column_count; c++)
		sn_text_addf(&text, "%s%s", c ? "," : "", view->columns[c].key);
	return sn_text_take(&text);
}

/* What is shown unless --cols says otherwise. */
static char *default_columns(const struct sn_view *view, enum sn_format format,
			     enum sn_time_kind time, const char *by)
{
	struct sn_text text = { 0 };
	const char *columns = time == SN_TIME_WALL && view->wall_columns ? view->wall_columns
									 : view->text_columns;

	if (format != SN_FORMAT_TEXT)
		return sn_view_data_columns(view, time);
	if (!columns)
		return NULL;
	sn_text_addf(&text, "%s%s", by && view->by_columns ? view->by_columns : "", columns);
	return sn_text_take(&text);
}

/* Threads whose blocked time was left out. */
static size_t idle_count(const struct sn_profile *p)
{
	size_t count = 0;

	for (size_t t = 0; p->filter.without_idle && t < p->experiment->threads.count; t++)
		count += p->thread_passes[t] && !p->is_at_work[t];
	return count;
}

static void put_idle(const struct sn_profile *p, FILE *out)
{
	size_t count = idle_count(p);

	if (count)
		fprintf(out,
			"%zu idle thread%s left out: --thread TID,... brings %s "
			"('sonde show threads --all' lists them)\n",
			count, count == 1 ? " is" : "s are", count == 1 ? "it" : "them");
}

/* The denominator and the filters travel with the rows. */
static void filter_members_write(struct sn_json *json, const struct sn_profile *p,
				 const struct sn_event *event)
{
	const struct sn_filter *f = &p->filter;

	if (event) {
		sn_json_member_string(json, "event", event->name);
		sn_json_member_uint(json, "sampled_events", p->total.cpu_ns);
		sn_json_key(json, "kernel_count");
		if (event->kernel_count < 0)
			sn_json_null(json);
		else
			sn_json_int(json, event->kernel_count);
	} else {
		sn_json_member_double(json, "sampled_cpu_s", (double)p->total.cpu_ns / 1e9);
	}
	if (f->without_idle)
		sn_json_member_uint(json, "threads_idle", idle_count(p));
	if (!p->is_filtered)
		return;
	sn_json_key(json, "filter");
	sn_json_object(json);
	if (f->from_ns || f->to_ns) {
		sn_json_member_double(json, "t0_s", (double)f->from_ns / 1e9);
		sn_json_key(json, "t1_s");
		if (f->to_ns)
			sn_json_double(json, (double)f->to_ns / 1e9);
		else
			sn_json_null(json);
	}
	if (f->process_count) {
		sn_json_key(json, "processes");
		sn_json_array(json);
		for (size_t i = 0; i < f->process_count; i++)
			sn_json_uint(json, f->processes[i]);
		sn_json_close(json);
	}
	if (f->tid_count) {
		sn_json_key(json, "threads");
		sn_json_array(json);
		for (size_t i = 0; i < f->tid_count; i++)
			sn_json_int(json, f->tids[i]);
		sn_json_close(json);
	}
	if (f->module)
		sn_json_member_string(json, "module", f->module);
	if (f->function)
		sn_json_member_string(json, "function", f->function);
	sn_json_close(json);
}

/* The filters that were asked for and leave this view as it is, at most FILTERS of them. */
enum { FILTERS = 5 };

static size_t unfiltered_find(const struct sn_view *view, const struct sn_profile *p,
			      const char *names[FILTERS])
{
	const struct sn_filter *f = &p->filter;
	const struct {
		bool is_asked;
		const char *name;
	} all[FILTERS] = { { f->from_ns || f->to_ns || f->from_label || f->to_label, "time" },
			   { f->process_count > 0, "process" },
			   { f->tid_count > 0, "thread" },
			   { f->module != NULL, "module" },
			   { f->function != NULL, "function" } };
	size_t count = 0;

	for (size_t i = 0; i < FILTERS && sn_view_is_of_whole_run(view); i++)
		if (all[i].is_asked)
			names[count++] = all[i].name;
	return count;
}

static void unfiltered_write(struct sn_json *json, const struct sn_view *view,
			     const struct sn_profile *p)
{
	const char *names[FILTERS];
	size_t count = unfiltered_find(view, p, names);

	if (!count)
		return;
	sn_json_key(json, "unfiltered");
	sn_json_array(json);
	for (size_t i = 0; i < count; i++)
		sn_json_string(json, names[i]);
	sn_json_close(json);
}

/* Below the text; CSV and JSON lines have no room for it. */
static void tell_unfiltered(const struct sn_view *view, const struct sn_profile *p,
			    enum sn_format format, FILE *out)
{
	const char *names[FILTERS];
	size_t count = unfiltered_find(view, p, names);
	struct sn_text text = { 0 };

	if (!count || format == SN_FORMAT_JSON)
		return;
	sn_text_add(&text, "of the whole run:");
	for (size_t i = 0; i < count; i++)
		sn_text_addf(&text, "%s --%s", !i ? "" : i + 1 < count ? "," : " and", names[i]);
	sn_text_addf(&text, " %s not restrict this view", count == 1 ? "does" : "do");
	if (format == SN_FORMAT_TEXT)
		fprintf(out, "%s\n", text.chars);
	else
		sn_warn("%s", text.chars);
	sn_text_free(&text);
}

/* What goes into the object beside the rows. */
struct beside_rows {
	const struct sn_view *view;
	const struct sn_view_input *input;
	const char *why_empty; /* NULL: there are rows */
};

static void members_write(struct sn_json *json, void *context)
{
	const struct beside_rows *beside = context;

	if (beside->why_empty)
		sn_json_member_string(json, "why_empty", beside->why_empty);
	filter_members_write(json, beside->input->profile, beside->input->event);
	unfiltered_write(json, beside->view, beside->input->profile);
	if (beside->view->write_members)
		beside->view->write_members(beside->input, json);
}

/* Ten million samples as CSV or JSON lines are written piece by piece. */
static sn_status pieces_write(const struct sn_view *view, const struct sn_view_input *input,
			      struct sn_table_view *how, FILE *out, struct sn_error *err)
{
	enum { ROWS_AT_ONCE = 100000 };
	struct sn_view_input piece = *input;
	size_t cursor = 0, count = input->profile->experiment->samples.count, shown = 0;
	struct sn_table all = { 0 };
	sn_status status = SN_OK;

	piece.cursor = &cursor;
	piece.row_limit = ROWS_AT_ONCE;
	do {
		struct sn_table table;

		sn_table_init(&table, view->columns, view->column_count);
		status = view->fill(&piece, &table, err);
		if (status == SN_OK)
			status = sn_table_write(&table, how, out, NULL, NULL, err);
		shown += sn_table_rows_shown(&table, how);
		all.row_count += table.row_count;
		sn_table_free(&table);
		how->without_header = true;
	} while (status == SN_OK && cursor < count);
	if (status == SN_OK && !shown) {
		struct sn_text reason = { 0 };

		sn_view_why_empty(view, input, &all, how, &reason);
		status = sn_view_tell_empty(view, input, reason.chars, err);
		sn_text_free(&reason);
	}
	return status;
}

/* Columns and order: those asked for by key or heading, else the view's own. The caller frees. */
static char *columns_choose(const struct sn_view *view, const struct sn_view_input *input,
			    const struct sn_table_view *how)
{
	char *columns;

	if (!how->columns && input->with_callers && how->format != SN_FORMAT_TEXT) {
		struct sn_text text = { 0 };

		columns = sn_view_data_columns(view, input->time);
		sn_text_addf(&text, "%s,%s", columns, view->caller_columns);
		free(columns);
		return sn_text_take(&text);
	}
	if (!how->columns && input->event) {
		char *of_time = default_columns(view, how->format, SN_TIME_CPU, input->by);

		columns = sn_view_event_columns(of_time);
		free(of_time);
		return columns;
	}
	if (!how->columns)
		return default_columns(view, how->format, input->time, input->by);
	return strcmp(how->columns, "all") != 0 ? sn_view_columns_of(view, how->columns)
						: all_columns(view);
}

/* What the rows are of may lie in another run of the experiment. */
static const struct sn_experiment *data_of(const struct sn_view *view, const struct sn_profile *p)
{
	if (view->needs & SN_VIEW_NEEDS_INSTANCES)
		return sn_profile_with_instances(p)->experiment;
	if (view->needs & SN_VIEW_NEEDS_VARIANTS)
		return sn_profile_with_variants(p)->experiment;
	return p->experiment;
}

/* Rows of data of which a part is missing look like any others. */
static void tell_damage(const struct sn_view *view, const struct sn_profile *profile,
			const struct sn_table *table, enum sn_format format, FILE *out)
{
	const char *damage = data_of(view, profile)->damage;

	if (!damage || !table->row_count)
		return;
	if (format == SN_FORMAT_TEXT)
		fprintf(out, "incomplete: %s\n", damage);
	else
		sn_warn("incomplete: %s", damage);
}

static sn_status rows_write(const struct sn_view *view, const struct sn_view_input *input,
			    struct sn_table_view *how, FILE *out, struct sn_error *err)
{
	struct beside_rows beside = { view, input, NULL };
	struct sn_text reason = { 0 }, left_out = { 0 };
	struct sn_table table;
	sn_status status;

	if (view->has_pieces && input->profile->total.samples && !how->sort && !how->top &&
	    (how->format == SN_FORMAT_CSV || how->format == SN_FORMAT_JSONL))
		return pieces_write(view, input, how, out, err);
	sn_table_init(&table, view->columns, view->column_count);
	status = view->fill(input, &table, err);
	if (status == SN_OK && view->tidy && input->leaves_out_zeros)
		view->tidy(&table, 0, &left_out);
	if (status == SN_OK && !sn_table_rows_shown(&table, how)) {
		sn_view_why_empty(view, input, &table, how, &reason);
		beside.why_empty = reason.chars;
	}
	if (status == SN_OK)
		status = sn_table_write(&table, how, out, members_write, &beside, err);
	if (status == SN_OK && beside.why_empty)
		status = sn_view_tell_empty(view, input, beside.why_empty, err);
	sn_text_free(&reason);
	if (status == SN_OK && left_out.length)
		fprintf(out, "%s\n", left_out.chars);
	sn_text_free(&left_out);
	if (status == SN_OK)
		tell_unfiltered(view, input->profile, how->format, out);
	if (status == SN_OK && how->format == SN_FORMAT_TEXT) {
		put_idle(input->profile, out);
		if (view->put_foot)
			view->put_foot(input, out);
		if (view->put_below)
			view->put_below(&table, out);
	}
	if (status == SN_OK)
		tell_damage(view, input->profile, &table, how->format, out);
	sn_table_free(&table);
	return status;
}

sn_status sn_view_show(const struct sn_view *view, const struct sn_view_input *input,
		       struct sn_table_view *how, FILE *out, struct sn_error *err)
{
	struct sn_view_input ours = *input;
	struct sn_heap *heap = NULL;
	struct sn_mpi *mpi = NULL;
	struct sn_locks *locks = NULL;
	struct sn_io *io = NULL;
	struct sn_openmp *openmp = NULL;
	struct sn_replay *replay = NULL;
	char *columns, *sort;
	sn_status status;

	if (input->with_callers && !view->caller_columns)
		return sn_error_set(err, SN_ERR_USAGE,
				    "--paths goes with heap, leaks and peak, not with '%s'",
				    view->name);
	if (input->event && !view->has_events)
		return sn_error_set(err, SN_ERR_USAGE,
				    "--metric goes with functions, loops, lines, modules, tree and "
				    "callers, not with '%s'",
				    view->name);
	ours.sums_rows = how->format == SN_FORMAT_TEXT && !how->columns && !how->filter;
	ours.leaves_out_zeros = ours.sums_rows && !input->all_paths;
	if (!ours.heap)
		ours.heap = &heap;
	if (!ours.mpi)
		ours.mpi = &mpi;
	if (!ours.locks)
		ours.locks = &locks;
	if (!ours.io)
		ours.io = &io;
	if (!ours.openmp)
		ours.openmp = &openmp;
	if (!ours.replay)
		ours.replay = &replay;
	sn_view_take_run(view, &ours);
	how->schema = view->schema;
	how->share_column = input->event ? NULL : view->share_column;
	how->whole_column = view->whole_column;
	if (view->show)
		return view->show(input, how, out, err);
	sort = how->sort ? sn_view_columns_of(view, how->sort) : NULL;
	how->may_leave_out = !how->columns;
	how->columns = columns = columns_choose(view, input, how);
	how->sort = sort					     ? sort
		    : input->time == SN_TIME_WALL && view->wall_sort ? view->wall_sort
								     : view->sort;
	if (input->event && !sort && how->sort && !strcmp(how->sort, "exclusive_cpu_s"))
		how->sort = "exclusive";
	if (input->with_callers && !sort)
		how->sort = NULL; /* a tree has its own order */
	if (!how->sort && !how->filter)
		ours.row_limit = how->top;
	status = rows_write(view, &ours, how, out, err);
	sn_heap_free(heap);
	sn_mpi_free(mpi);
	sn_locks_free(locks);
	sn_io_free(io);
	sn_openmp_free(openmp);
	sn_replay_free(replay);
	free(columns);
	free(sort);
	return status;
}
