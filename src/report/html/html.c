/*
 * Writes the report's model into the page, table by table, as columns of numbers that the scripts
 * of web/ read. docs/format/report-page.md has the tables.
 */
#include "report/html/html.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/progress.h"
#include "report/html/columns.h"
#include "report/html/html_parts.h"

/** Times of records fit 32 bits in this unit: 1 us up to 71 minutes, then tens of it. */
static int64_t time_unit_ns(const struct sn_report *report)
{
	int64_t unit = 1000;

	while (report->elapsed_ns / unit >= UINT32_MAX / 2)
		unit *= 10;
	return unit;
}

static uint32_t to_unit(int64_t time_ns, int64_t unit)
{
	return time_ns <= 0 ? 0 : (uint32_t)((time_ns + unit / 2) / unit);
}

static sn_status write_functions(const struct sn_report *report, struct sn_page *page,
				 struct sn_error *err)
{
	sn_page_chunk(page, "functions", report->functions.count);
	COLUMN_TEXT(report->functions, "name", row->name);
	COLUMN_U32(report->functions, "module", row->module);
	COLUMN_U32(report->functions, "file", row->file);
	COLUMN_U32(report->functions, "line", row->line);
	COLUMN_U8(report->functions, "inlined", row->is_inlined);
	COLUMN_U8(report->functions, "spin", row->is_spin);
	COLUMN_F64(report->functions, "exclusive_ns", row->exclusive_ns);
	COLUMN_F64(report->functions, "inclusive_ns", row->inclusive_ns);
	COLUMN_U32(report->functions, "samples", row->samples);
	COLUMN_F64(report->functions, "share_low", row->share_low);
	COLUMN_F64(report->functions, "share_high", row->share_high);
	return sn_page_chunk_end(page, err);
}

static sn_status write_loops(const struct sn_report *report, struct sn_page *page,
			     struct sn_error *err)
{
	sn_page_chunk(page, "loops", report->loops.count);
	COLUMN_TEXT(report->loops, "id", row->code->id);
	COLUMN_TEXT(report->loops, "label", row->code->label);
	COLUMN_U32(report->loops, "function", row->function);
	COLUMN_U32(report->loops, "file", row->file);
	COLUMN_U32(report->loops, "line_first", row->code->line_first);
	COLUMN_U32(report->loops, "line_last", row->code->line_last);
	COLUMN_U32(report->loops, "parent", row->parent);
	COLUMN_U8(report->loops, "depth", row->code->depth > 255 ? 255 : row->code->depth);
	COLUMN_U8(report->loops, "flags",
		  (row->code->is_innermost ? 1 : 0) | (row->code->is_irreducible ? 2 : 0) |
			  (row->is_runtime ? 4 : 0));
	COLUMN_F64(report->loops, "exclusive_ns", row->exclusive_ns);
	COLUMN_F64(report->loops, "inclusive_ns", row->inclusive_ns);
	COLUMN_U32(report->loops, "samples", row->samples);
	COLUMN_F64(report->loops, "share_low", row->share_low);
	COLUMN_F64(report->loops, "share_high", row->share_high);
	return sn_page_chunk_end(page, err);
}

static sn_status write_names(const struct sn_report *report, struct sn_page *page,
			     struct sn_error *err)
{
	sn_status status;

	sn_page_chunk(page, "modules", report->modules.count);
	COLUMN_TEXT(report->modules, "name", row->name);
	COLUMN_TEXT(report->modules, "path", row->path);
	COLUMN_TEXT(report->modules, "build_id", row->build_id);
	COLUMN_TEXT(report->modules, "producer", row->producer);
	COLUMN_TEXT(report->modules, "missing", row->missing);
	COLUMN_F64(report->modules, "cpu_ns", row->cpu_ns);
	status = sn_page_chunk_end(page, err);
	if (status != SN_OK)
		return status;
	sn_page_chunk(page, "files", report->files.count);
	COLUMN_TEXT(report->files, "path", row->path);
	COLUMN_U8(report->files, "has_text", row->text != NULL);
	return sn_page_chunk_end(page, err);
}

/** Sources apart from their paths: they are large, and needed only when one is looked at. */
static sn_status write_sources(const struct sn_report *report, struct sn_page *page,
			       struct sn_error *err)
{
	const char **texts = sn_realloc_array(NULL, report->files.count + 1, sizeof(*texts));
	size_t *lengths = sn_realloc_array(NULL, report->files.count + 1, sizeof(*lengths));

	for (size_t i = 0; i < report->files.count; i++) {
		texts[i] = report->files.items[i].text;
		lengths[i] = report->files.items[i].length;
	}
	sn_page_chunk(page, "sources", report->files.count);
	COLUMN_U32(report->files, "line_first", row->line_first);
	sn_page_add_text(page, "text", texts, lengths);
	sn_vec_release(texts);
	sn_vec_release(lengths);
	return sn_page_chunk_end(page, err);
}

static sn_status write_paths(const struct sn_report *report, struct sn_page *page,
			     struct sn_error *err)
{
	sn_status status;

	sn_page_chunk(page, "nodes", report->nodes.count);
	COLUMN_D32(report->nodes, "parent", row->parent);
	COLUMN_U32(report->nodes, "function", row->function);
	COLUMN_U32(report->nodes, "loop", row->loop);
	status = sn_page_chunk_end(page, err);
	if (status != SN_OK)
		return status;
	sn_page_chunk(page, "places", report->places.count);
	COLUMN_U32(report->places, "module", row->module);
	COLUMN_U32(report->places, "function", row->function);
	COLUMN_U32(report->places, "loop", row->loop);
	COLUMN_U32(report->places, "file", row->file);
	COLUMN_D32(report->places, "line", row->line);
	COLUMN_F64(report->places, "address", row->link_addr);
	status = sn_page_chunk_end(page, err);
	if (status != SN_OK)
		return status;
	sn_page_chunk(page, "points", report->points.count);
	COLUMN_D32(report->points, "node", row->node);
	COLUMN_D32(report->points, "place", row->place);
	COLUMN_U8(report->points, "category", row->category);
	COLUMN_U8(report->points, "system", row->is_system);
	COLUMN_F64(report->points, "cpu_ns", row->cpu_ns);
	COLUMN_U32(report->points, "samples", row->samples);
	return sn_page_chunk_end(page, err);
}

static sn_status write_threads(const struct sn_report *report, struct sn_page *page,
			       struct sn_error *err)
{
	sn_status status;

	sn_page_chunk(page, "processes", report->processes.count);
	COLUMN_F64(report->processes, "pid", row->pid);
	COLUMN_F64(report->processes, "rank", row->rank);
	COLUMN_TEXT(report->processes, "host", row->host);
	COLUMN_TEXT(report->processes, "program", row->program);
	COLUMN_TEXT(report->processes, "arguments", row->arguments);
	COLUMN_TEXT(report->processes, "mechanism", row->clock_mechanism);
	COLUMN_F64(report->processes, "start_ns", row->start_ns);
	COLUMN_F64(report->processes, "end_ns", row->end_ns);
	COLUMN_F64(report->processes, "exit_status", row->exit_status);
	COLUMN_F64(report->processes, "user_ns", row->account.user_ns);
	COLUMN_F64(report->processes, "system_ns", row->account.system_ns);
	status = sn_page_chunk_end(page, err);
	if (status != SN_OK)
		return status;
	sn_page_chunk(page, "threads", report->threads.count);
	COLUMN_U32(report->threads, "process", row->process);
	COLUMN_F64(report->threads, "tid", row->tid);
	COLUMN_TEXT(report->threads, "name", row->name);
	COLUMN_F64(report->threads, "start_ns", row->start_ns);
	COLUMN_F64(report->threads, "end_ns", row->end_ns);
	COLUMN_F64(report->threads, "elapsed_ns", row->account.elapsed_ns);
	COLUMN_F64(report->threads, "user_ns", row->account.user_ns);
	COLUMN_F64(report->threads, "system_ns", row->account.system_ns);
	COLUMN_F64(report->threads, "wait_cpu_ns", row->account.wait_cpu_ns);
	COLUMN_F64(report->threads, "blocked_ns", row->account.blocked_ns);
	COLUMN_F64(report->threads, "cpu_ns", row->cpu_ns);
	COLUMN_U32(report->threads, "samples", row->samples);
	COLUMN_U8(report->threads, "helper", row->is_helper);
	return sn_page_chunk_end(page, err);
}

static sn_status write_records(const struct sn_report *report, struct sn_page *page,
			       struct sn_error *err)
{
	int64_t unit = time_unit_ns(report);
	sn_status status;

	sn_page_chunk(page, "records", report->records.count);
	COLUMN_D32(report->records, "time", to_unit(row->time_ns, unit));
	COLUMN_D32(report->records, "thread", row->thread);
	COLUMN_U32(report->records, "point", row->point);
	COLUMN_U32(report->records, "cpu_us", (row->cpu_ns + 500) / 1000);
	COLUMN_U32(report->records, "samples", row->samples);
	status = sn_page_chunk_end(page, err);
	if (status != SN_OK)
		return status;
	sn_page_chunk(page, "waits", report->waits.count);
	COLUMN_D32(report->waits, "time", to_unit(row->time_ns, unit));
	COLUMN_U32(report->waits, "duration", to_unit((int64_t)row->duration_ns, unit));
	COLUMN_D32(report->waits, "thread", row->thread);
	COLUMN_U32(report->waits, "node", row->node);
	COLUMN_U32(report->waits, "count", row->count);
	COLUMN_U8(report->waits, "kind", row->kind);
	return sn_page_chunk_end(page, err);
}

static sn_status write_listing(const struct sn_report *report, struct sn_page *page,
			       struct sn_error *err)
{
	sn_page_chunk(page, "instructions", report->instructions.count);
	COLUMN_D32(report->instructions, "function", row->function);
	COLUMN_D32(report->instructions, "loop", row->loop);
	COLUMN_D32(report->instructions, "file", row->file);
	COLUMN_D32(report->instructions, "line", row->line);
	/* A listing is by address: the low half by differences, the high half all but constant. */
	COLUMN_D32(report->instructions, "address_low", row->link_addr & 0xffffffffu);
	COLUMN_D32(report->instructions, "address_high", row->link_addr >> 32);
	COLUMN_TEXT(report->instructions, "words", row->words);
	return sn_page_chunk_end(page, err);
}

static sn_status write_chunks(const struct sn_report *report, struct sn_page *page,
			      struct sn_error *err)
{
	/* In the order in which the page needs them. */
	static sn_status (*const writers[])(const struct sn_report *, struct sn_page *,
					    struct sn_error *) = {
		write_names,
		write_functions,
		write_loops,
		write_threads,
		write_paths,
		write_listing,
		write_sources,
		sn_report_write_quality,
		sn_report_write_evidence,
		sn_report_write_tables,
		write_records,
	};
	sn_status status = SN_OK;

	for (size_t i = 0; i < sizeof(writers) / sizeof(writers[0]) && status == SN_OK; i++)
		status = writers[i](report, page, err);
	return status;
}

/** A number of nanoseconds or bytes that may be unknown. */
static void member_known(struct sn_json *json, const char *key, int64_t value)
{
	if (value < 0)
		sn_json_member_null(json, key);
	else
		sn_json_member_int(json, key, value);
}

static void add_run(struct sn_json *json, const struct sn_report *report)
{
	sn_json_member_string(json, "experiment", report->experiment);
	sn_json_member_string(json, "label", report->label);
	sn_json_member_string(json, "program", report->program);
	sn_json_member_string(json, "arguments", report->arguments);
	sn_json_member_string(json, "version", report->version);
	sn_json_member_string(json, "host", report->host);
	sn_json_member_string(json, "cpu_model", report->cpu_model);
	sn_json_member_string(json, "kernel", report->kernel);
	sn_json_member_int(json, "started_realtime_ns", report->started_realtime_ns);
	sn_json_member_int(json, "exit_status", report->exit_status);
	sn_json_member_string(json, "clock_mechanism", report->clock_mechanism);
	sn_json_member_double(json, "rate_hz", report->rate_hz);
	sn_json_member_double(json, "asked_hz", report->asked_hz);
	sn_json_member_string(json, "machine", report->machine ? report->machine->name : NULL);
	sn_report_write_whatif(report, json);
	sn_report_write_curves(report, json);
	sn_report_write_views(report, json);
	sn_report_write_row_columns(json);
}

static void add_numbers(struct sn_json *json, const struct sn_report *report)
{
	sn_json_member_int(json, "elapsed_ns", report->elapsed_ns);
	member_known(json, "cpu_ns", report->cpu_ns);
	member_known(json, "user_ns", report->user_ns);
	member_known(json, "system_ns", report->system_ns);
	member_known(json, "thread_elapsed_ns", report->thread_elapsed_ns);
	member_known(json, "thread_user_ns", report->thread_user_ns);
	member_known(json, "thread_system_ns", report->thread_system_ns);
	member_known(json, "wait_cpu_ns", report->wait_cpu_ns);
	member_known(json, "blocked_ns", report->blocked_ns);
	member_known(json, "off_cpu_ns", report->off_cpu_ns);
	member_known(json, "workers_ns", report->workers_ns);
	member_known(json, "spin_ns", report->spin_ns);
	sn_json_member_uint(json, "sampled_ns", report->sampled_ns);
	sn_json_member_uint(json, "samples", report->sample_count);
	sn_json_member_uint(json, "lost", report->lost);
	sn_json_member_uint(json, "process_count", report->process_count);
	sn_json_member_uint(json, "thread_count", report->thread_count);
	sn_json_member_double(json, "overhead_share", report->overhead_share);
	sn_json_member_double(json, "loops_share", report->loops_share);
	sn_json_member_double(json, "innermost_share", report->innermost_share);
	sn_json_member_int(json, "clock_error_ns", report->clock_error_ns);
	sn_json_member_int(json, "time_unit_ns", time_unit_ns(report));
	sn_json_member_int(json, "slice_ns", report->slice_ns);
	sn_json_member_uint(json, "stride", report->stride);
	sn_json_member_double(json, "folded_share", report->folded_share);
}

/* The view that shows the evidence of each finding. */
static void add_links(struct sn_json *json, const struct sn_report *report)
{
	char link[256];

	sn_json_key(json, "finding_links");
	sn_json_array(json);
	for (size_t i = 0; i < report->verdict.count; i++) {
		enum sn_verdict_kind kind = report->verdict.findings[i].kind;

		snprintf(link, sizeof(link), "%s", sn_verdict_view(kind));
		if (kind == SN_VERDICT_COMPUTE_LOOPS && report->loops.count)
			snprintf(link, sizeof(link), "#/loop/%s", report->loops.items[0].code->id);
		sn_json_string(json, link);
	}
	sn_json_close(json);
}

static void add_members(struct sn_json *json, void *context)
{
	const struct sn_report *report = context;

	add_run(json, report);
	add_numbers(json, report);
	sn_verdict_write_json(&report->verdict, json);
	add_links(json, report);
	sn_json_key(json, "warnings");
	sn_json_array(json);
	for (size_t i = 0; i < report->warnings.count; i++)
		sn_json_string(json, report->warnings.items[i]);
	sn_json_close(json);
	sn_json_key(json, "environment");
	sn_json_object(json);
	for (size_t i = 0; i < report->environment.count; i++)
		sn_json_member_string(json, report->environment.items[i].name,
				      report->environment.items[i].value);
	sn_json_close(json);
	sn_json_key(json, "categories");
	sn_json_array(json);
	for (size_t i = 0; i < report->categories.count; i++)
		sn_json_string(json, report->categories.items[i].name);
	sn_json_close(json);
}

sn_status sn_report_page_commit(const struct sn_page *page, struct sn_file_writer *writer,
				bool is_forced, sn_status status, struct sn_error *err)
{
	if (status == SN_OK && page->written_bytes > SN_REPORT_HTML_BYTES_MAX && !is_forced)
		status = sn_error_set(err, SN_ERR_RANGE,
				      "report: the page would have %" PRIu64
				      " MB and browsers fail on that; choose a part with --time "
				      "or insist with --force",
				      page->written_bytes >> 20);
	if (status == SN_OK)
		return sn_file_writer_commit(writer, err);
	sn_file_writer_abandon(writer);
	return status;
}

sn_status sn_report_write_html(const struct sn_report *report, const char *path, bool is_forced,
			       struct sn_error *err)
{
	struct sn_file_writer writer = { 0 };
	struct sn_text summary = { 0 }, title = { 0 };
	struct sn_progress progress;
	struct sn_page page;
	sn_status status = sn_file_writer_open(&writer, path, err);

	if (status != SN_OK)
		return status;
	sn_progress_begin(&progress, "writing the page", 0);
	sn_report_add_static_html(report, &summary);
	sn_text_addf(&title, "%s · sonde", report->experiment);
	sn_page_begin(&page, writer.out, title.chars, summary.chars);
	status = write_chunks(report, &page, err);
	sn_report_write_phases(report, &page);
	sn_page_end(&page, add_members, (void *)report);
	status = sn_report_page_commit(&page, &writer, is_forced, status, err);
	sn_progress_end(&progress);
	sn_text_free(&summary);
	sn_text_free(&title);
	return status;
}
