/* The page of two sets of runs: a table of what changed, and a flame graph of differences. */
#include "report/html/compare.h"

#include <math.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/text.h"
#include "report/html/columns.h"
#include "report/html/words.h"

enum { STATIC_ROWS = 20 }; /* of the part that needs no JavaScript */

static sn_status write_changes(const struct sn_comparison *c, struct sn_page *page,
			       struct sn_error *err)
{
	sn_page_chunk(page, "changes", c->rows.count);
	COLUMN_U8(c->rows, "kind", row->entry.kind);
	COLUMN_TEXT(c->rows, "name", row->entry.name);
	COLUMN_TEXT(c->rows, "function", row->entry.function);
	COLUMN_TEXT(c->rows, "module", row->entry.module);
	COLUMN_TEXT(c->rows, "file", row->entry.file);
	COLUMN_U32(c->rows, "line_first", row->entry.line_first);
	COLUMN_U32(c->rows, "line_last", row->entry.line_last);
	COLUMN_F64(c->rows, "a_s", row->a_cpu_s);
	COLUMN_F64(c->rows, "b_s", row->b_cpu_s);
	COLUMN_F64(c->rows, "low_s", row->difference_interval.low);
	COLUMN_F64(c->rows, "high_s", row->difference_interval.high);
	COLUMN_F64(c->rows, "a_share", row->a_share);
	COLUMN_F64(c->rows, "b_share", row->b_share);
	COLUMN_F64(c->rows, "p", row->p);
	COLUMN_U8(c->rows, "verdict", row->verdict);
	COLUMN_U32(c->rows, "a_runs", row->a_runs);
	COLUMN_U32(c->rows, "b_runs", row->b_runs);
	COLUMN_U8(c->rows, "moved", row->is_moved);
	return sn_page_chunk_end(page, err);
}

static sn_status write_paths(const struct sn_compare_paths *paths, struct sn_page *page,
			     struct sn_error *err)
{
	sn_status status;

	sn_page_chunk(page, "path_names", paths->names.count);
	COLUMN_TEXT(paths->names, "name", row->name);
	COLUMN_TEXT(paths->names, "module", row->module);
	status = sn_page_chunk_end(page, err);
	if (status != SN_OK)
		return status;
	sn_page_chunk(page, "call_paths", paths->paths.count);
	COLUMN_D32(paths->paths, "parent", row->parent);
	COLUMN_D32(paths->paths, "name", row->name);
	COLUMN_F64(paths->paths, "a_ns", round(row->cpu_ns[0]));
	COLUMN_F64(paths->paths, "b_ns", round(row->cpu_ns[1]));
	return sn_page_chunk_end(page, err);
}

/* ---- table of contents ---- */

static void add_run(struct sn_json *json, const struct sn_compare_run *run)
{
	sn_json_object(json);
	sn_json_member_string(json, "experiment", run->name);
	sn_json_member_string(json, "label", run->label);
	sn_json_member_string(json, "program", run->program);
	sn_json_member_string(json, "arguments", run->arguments);
	sn_json_member_string(json, "host", run->host);
	sn_json_member_string(json, "cpu_model", run->cpu_model);
	sn_json_member_string(json, "kernel", run->kernel);
	sn_json_member_string(json, "version", run->version);
	sn_json_member_int(json, "started_realtime_ns", run->started_realtime_ns);
	sn_json_member_uint(json, "samples", run->samples);
	for (size_t i = 0; i < run->entries.count; i++)
		if (run->entries.items[i].kind == SN_COMPARE_TOTAL)
			sn_json_member_double(json, run->entries.items[i].function,
					      run->entries.items[i].cpu_s);
	sn_json_close(json);
}

static void add_members(struct sn_json *json, void *context)
{
	const struct sn_compare_page *what = context;

	sn_json_member_string(json, "version", what->version);
	sn_json_key(json, "compare");
	sn_json_object(json);
	for (int side = 0; side < 2; side++) {
		sn_json_key(json, side ? "b" : "a");
		sn_json_array(json);
		for (size_t i = 0; i < what->sides[side].count; i++)
			add_run(json, &what->sides[side].runs[i]);
		sn_json_close(json);
	}
	sn_json_member_double(json, "false_alarm_rate", what->comparison->false_alarm_rate);
	sn_json_member_double(json, "smallest_share", what->comparison->smallest_share);
	sn_json_member_uint(json, "tested", what->comparison->tested);
	sn_json_member_uint(json, "findings", what->comparison->findings);
	sn_json_member_uint(json, "drifted", what->comparison->drifted);
	sn_json_member_string(json, "verdict", sn_comparison_verdict(what->comparison));
	sn_json_key(json, "warnings");
	sn_json_array(json);
	for (size_t i = 0; i < what->comparison->warnings.count; i++)
		sn_json_string(json, what->comparison->warnings.items[i]);
	sn_json_close(json);
	sn_json_member_uint(json, "runs_for_verdict", SN_COMPARE_RUNS_MIN);
	sn_json_close(json);
}

/* ---- the part that needs no JavaScript ---- */

static void add_side(struct sn_text *out, char letter, const struct sn_compare_side *side)
{
	sn_text_addf(out, "<small>%c: ", letter);
	for (size_t i = 0; i < side->count; i++) {
		sn_text_add(out, i ? ", " : "");
		sn_text_add_html(out, side->runs[i].name);
	}
	if (side->count && side->runs[0].arguments) {
		sn_text_add(out, " · ");
		sn_text_add_html(out, side->runs[0].arguments);
	}
	sn_text_add(out, "</small>");
}

static void add_verdict(struct sn_text *out, const struct sn_comparison *c)
{
	sn_text_add(out, "<p>");
	if (isnan(c->false_alarm_rate))
		sn_text_addf(out,
			     "%zu and %zu runs cannot tell a change from noise: with %d or more a "
			     "side each row gets a verdict.",
			     c->a_count, c->b_count, SN_COMPARE_RUNS_MIN);
	else
		sn_text_addf(out,
			     "%zu of %zu rows differ beyond noise; of comparisons of equal runs "
			     "%.0f %% report any.",
			     c->findings, c->tested, 100 * c->false_alarm_rate);
	if (c->drifted)
		sn_text_addf(out, " %zu rows differ by no more than the machine changed (drift).",
			     c->drifted);
	sn_text_add(out, "</p>\n");
	for (size_t i = 0; i < c->warnings.count; i++) {
		sn_text_add(out, "<p class=\"notice\">");
		sn_text_add_html(out, c->warnings.items[i]);
		sn_text_add(out, "</p>\n");
	}
}

static void add_row(struct sn_text *out, const struct sn_compare_row *row)
{
	char words[64];
	double difference = row->difference_s;

	sn_text_add(out, "<tr><td class=\"wide mono\"><bdi>");
	sn_text_add_html(out, row->entry.name);
	sn_text_add(out, "</bdi></td>");
	sn_text_addf(out, "<td class=\"num\">%s</td>",
		     sn_words_seconds(words, llround(row->a_cpu_s * 1e9)));
	sn_text_addf(out, "<td class=\"num\">%s</td>",
		     sn_words_seconds(words, llround(row->b_cpu_s * 1e9)));
	sn_text_addf(out, "<td class=\"num\">%s%s</td><td>%s</td></tr>\n",
		     difference < 0 ? "−" : "+",
		     sn_words_seconds(words, llround(fabs(difference) * 1e9)),
		     sn_verdict_name(row->verdict));
}

static void add_static(const struct sn_compare_page *what, struct sn_text *out)
{
	const struct sn_comparison *c = what->comparison;

	sn_text_add(out, "<h1>Compare");
	add_side(out, 'A', &what->sides[0]);
	add_side(out, 'B', &what->sides[1]);
	sn_text_add(out, "</h1>\n");
	add_verdict(out, c);
	sn_text_add(out,
		    "<section class=\"panel\"><h2>What changed most</h2><table class=\"small\">"
		    "<thead><tr><th>Name</th><th class=\"num\">A</th><th class=\"num\">B</th>"
		    "<th class=\"num\">B − A</th><th>Verdict</th></tr></thead><tbody>\n");
	for (size_t i = 0; i < c->rows.count && i < STATIC_ROWS; i++)
		add_row(out, &c->rows.items[i]);
	sn_text_add(out, "</tbody></table></section>\n");
	if (c->rows.count > STATIC_ROWS)
		sn_text_addf(out, "<p class=\"dim\">and %zu more</p>\n",
			     c->rows.count - STATIC_ROWS);
	sn_text_add(out, "<noscript><p class=\"notice\">This is the summary. The table and the "
			 "flame graph of differences need JavaScript; they fetch nothing from "
			 "anywhere. Every number can also be had with <code>sonde diff</code>."
			 "</p></noscript>\n");
}

sn_status sn_report_write_compare(const struct sn_compare_page *what, const char *path,
				  bool is_forced, struct sn_error *err)
{
	struct sn_file_writer writer = { 0 };
	struct sn_text summary = { 0 };
	struct sn_page page;
	sn_status status = sn_file_writer_open(&writer, path, err);

	if (status != SN_OK)
		return status;
	add_static(what, &summary);
	sn_page_begin(&page, writer.out, "Compare · sonde", summary.chars);
	status = write_changes(what->comparison, &page, err);
	if (status == SN_OK)
		status = write_paths(what->paths, &page, err);
	sn_page_end(&page, add_members, (void *)what);
	status = sn_report_page_commit(&page, &writer, is_forced, status, err);
	sn_text_free(&summary);
	return status;
}
