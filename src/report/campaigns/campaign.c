/* The page of a campaign: all of it markup, put into its shell at the marks. */
#include "report/campaigns/campaign.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "campaign/scaling/words.h"
#include "campaign/status.h"
#include "report/campaigns/campaign_parts.h"
#include "report/html/words.h"

extern const char sn_campaign_shell[], sn_campaign_shell_end[];

/* ---- cells ---- */

void sn_campaign_add_real(struct sn_text *out, double value)
{
	if (isnan(value))
		sn_text_add(out, "<td class=\"num dim\">–</td>");
	else
		sn_text_addf(out, "<td class=\"num\">%.2f</td>", value);
}

void sn_campaign_add_interval(struct sn_text *out, double value, double low, double high)
{
	if (isnan(value) || isnan(low))
		sn_campaign_add_real(out, value);
	else
		sn_text_addf(out, "<td class=\"num\">%.2f [%.2f, %.2f]</td>", value, low, high);
}

void sn_campaign_add_seconds(struct sn_text *out, double seconds)
{
	char words[64];

	sn_text_addf(out, "<td class=\"num\">%s</td>",
		     isnan(seconds) ? "–" : sn_words_seconds(words, llround(seconds * 1e9)));
}

void sn_campaign_add_share(struct sn_text *out, double share)
{
	char words[64];

	sn_text_addf(out, "<td class=\"num\">%s</td>",
		     isnan(share) ? "–" : sn_words_percent(words, share));
}

void sn_campaign_add_text(struct sn_text *out, const char *text)
{
	sn_text_add(out, "<td>");
	sn_text_add_html(out, text ? text : "");
	sn_text_add(out, "</td>");
}

void sn_campaign_add_reason(const struct sn_scaling_row *row, struct sn_text *out)
{
	struct sn_text why = { 0 };

	sn_scaling_add_reason(row, &why);
	sn_text_add(out, "<td class=\"why\">");
	sn_text_add_html(out, why.length ? why.chars : "");
	sn_text_addf(out, "</td><td>%s</td>", sn_scaling_confidence(row));
	sn_text_free(&why);
}

void sn_campaign_add_head(struct sn_text *out, const char *class, const char *titles)
{
	sn_text_addf(out, "<div class=\"scroll %s\"><table><thead><tr>", class);
	while (*titles) {
		size_t length = strcspn(titles, "|");
		bool is_number = titles[0] == '#';

		sn_text_add(out, is_number ? "<th class=\"num\">" : "<th>");
		sn_text_add_bytes(out, titles + is_number, length - is_number);
		sn_text_add(out, "</th>");
		titles += length + (titles[length] == '|');
	}
	sn_text_add(out, "</tr></thead><tbody>\n");
}

const char *sn_campaign_row_name(const struct sn_scaling_campaign *read,
				 const struct sn_scaling_row *row)
{
	return read->configurations[row->configuration].name;
}

struct sn_campaign_part sn_campaign_part_at(const struct sn_scaling *scaling, size_t first)
{
	struct sn_campaign_part part = { &scaling->rows.items[first], 0 };

	while (first + part.count < scaling->rows.count &&
	       part.rows[part.count].kind == part.rows[0].kind &&
	       (part.rows[0].kind == SN_SCALING_APPLICATION ||
		!strcmp(part.rows[part.count].key, part.rows[0].key)))
		part.count++;
	return part;
}

/* ---- the head ---- */

static void tile_add(struct sn_text *out, const char *label, const char *value, const char *class)
{
	sn_text_add(out, "<div><dt>");
	sn_text_add_html(out, label);
	sn_text_addf(out, "</dt><dd class=\"%s\">", class);
	sn_text_add_html(out, value);
	sn_text_add(out, "</dd></div>");
}

static void worst_add(const struct sn_scaling_campaign *read, struct sn_text *out)
{
	struct sn_campaign_part app = sn_campaign_part_at(read->scaling, 0);
	const struct sn_scaling_row *worst = NULL;
	struct sn_text text = { 0 }, label = { 0 };

	for (size_t i = 0; i < app.count; i++)
		if (app.rows[i].configuration != app.rows[i].reference &&
		    (!worst || app.rows[i].efficiency < worst->efficiency))
			worst = &app.rows[i];
	if (!worst)
		return;
	sn_text_addf(&text, "%.2f", worst->efficiency);
	sn_text_addf(&label, "least efficiency: %s", sn_campaign_row_name(read, worst));
	tile_add(out, label.chars, text.chars, worst->efficiency < 0.5 ? "bad" : "");
	sn_text_free(&text);
	sn_text_free(&label);
}

static void tiles_add(const struct sn_campaign_page *page, struct sn_text *out)
{
	const struct sn_scaling_campaign *read = page->read;
	size_t counts[SN_RUN_CANCELLED + 1] = { 0 };
	char words[64];

	sn_campaign_status_count(page->runs, counts);
	sn_text_add(out, "<dl class=\"tiles\">");
	for (int s = 0; s <= SN_RUN_CANCELLED; s++)
		if (counts[s] || s == SN_RUN_DONE)
			tile_add(out, sn_run_state_name((enum sn_run_state)s),
				 sn_words_count(words, counts[s]),
				 s == SN_RUN_FAILED	  ? "bad"
				 : s == SN_RUN_SUSPICIOUS ? "warn"
							  : "");
	if (read->scaling && !sn_scaling_is_flat(read->scaling)) {
		tile_add(out, "scaling", read->scaling->is_weak ? "weak" : "strong", "text");
		tile_add(out, "reference",
			 read->configurations[read->scaling->rows.items[0].reference].name, "text");
		worst_add(read, out);
	}
	sn_text_add(out, "</dl>\n");
}

static void header_add(const struct sn_campaign_page *page, struct sn_text *out)
{
	const struct sn_campaign *c = page->read->campaign;

	sn_text_add(out, "<header class=\"head\"><h1>");
	sn_text_add_html(out, sn_base_name(c->path));
	sn_text_add(out, "</h1><span class=\"dim\">");
	sn_text_addf(out, "%u configurations, %u repeat%s, %s, seed %llu; plan ",
		     sn_campaign_configuration_count(c), c->plan->repeat,
		     c->plan->repeat == 1 ? "" : "s",
		     c->plan->order == SN_CAMPAIGN_BLOCKS ? "in blocks" : "one after the other",
		     (unsigned long long)c->state->seed);
	sn_text_add_html(out, c->state->plan_name ? c->state->plan_name : "of options");
	sn_text_add(
		out,
		"</span><button class=\"plain theme\" hidden>Light or dark</button></header>\n");
}

/* ---- the answer ---- */

static bool has_rows(const struct sn_scaling *scaling, uint32_t configuration)
{
	for (size_t i = 0; scaling && i < scaling->rows.count; i++)
		if (scaling->rows.items[i].configuration == configuration)
			return true;
	return false;
}

/* Why no run of the configuration is in the figures; "" if it was not said. */
static const char *reason_of(const struct sn_campaign_page *page, const char *configuration)
{
	for (size_t r = 0; r < page->runs->row_count; r++) {
		const struct sn_cell *cells =
			&page->runs->cells.items[r * page->runs->column_count];

		if (!strcmp(cells[SN_STATUS_CONFIGURATION].text, configuration) &&
		    cells[SN_STATUS_REASON].is_known)
			return cells[SN_STATUS_REASON].text;
	}
	return "";
}

enum { MISSING_SHOWN = 8 };

/* Configurations that the figures below know nothing of. */
static void missing_add(const struct sn_campaign_page *page, struct sn_text *out)
{
	const struct sn_scaling_campaign *read = page->read;
	uint32_t count = sn_campaign_configuration_count(read->campaign), missing = 0;

	for (uint32_t c = 0; c < count; c++) {
		const char *name = sn_campaign_configuration_name(read->campaign, c);
		const char *reason = reason_of(page, name);

		if (has_rows(read->scaling, c) || missing++ >= MISSING_SHOWN)
			continue;
		sn_text_add(out, "<p class=\"notice\">No run of ‘");
		sn_text_add_html(out, name);
		sn_text_add(out, reason[0] ? "’ is done: " : "’ is done");
		sn_text_add_html(out, reason);
		sn_text_add(out, ".</p>\n");
	}
	if (missing > MISSING_SHOWN)
		sn_text_addf(out, "<p class=\"notice\">Nor of %u more: see Runs.</p>\n",
			     missing - MISSING_SHOWN);
}

static void sentences_add(const struct sn_scaling_campaign *read, const char *class,
			  sn_scaling_sentence_adder *add, struct sn_text *out)
{
	struct sn_text text = { 0 };
	size_t at = 0;

	for (; add(read->scaling, read->configurations, &at, &text); sn_text_clear(&text)) {
		sn_text_addf(out, "<p class=\"%s\">", class);
		sn_text_add_html(out, text.chars);
		sn_text_add(out, "</p>\n");
	}
	sn_text_free(&text);
}

/* What a reader came for, before any figure. */
static void answer_add(const struct sn_campaign_page *page,
		       const struct sn_campaign_differences *differences, struct sn_text *out)
{
	struct sn_text fastest = { 0 };

	if (differences)
		sn_campaign_add_fastest(differences, &fastest);
	if (fastest.length) {
		sn_text_add(out, "<p class=\"answer\">");
		sn_text_add_html(out, fastest.chars);
		sn_text_add(out, "</p>\n");
	}
	sn_text_free(&fastest);
	if (page->read->scaling) {
		sentences_add(page->read, "answer", sn_scaling_add_answer, out);
		sentences_add(page->read, "notice", sn_scaling_add_warning, out);
		missing_add(page, out);
		return;
	}
	sn_text_add(out, "<p class=\"notice\">");
	sn_text_add_html(out, page->read->none.sentence);
	sn_text_add(out, "</p>\n");
}

/* ---- the application ---- */

/* Where nothing scales each configuration is its own reference, and efficiencies are 1. */
static void application_row_add(const struct sn_scaling_campaign *read,
				const struct sn_scaling_row *row, bool scales, struct sn_text *out)
{
	sn_text_add(out, "<tr>");
	sn_campaign_add_text(out, sn_campaign_row_name(read, row));
	sn_text_addf(out, "<td class=\"num\">%.0f</td><td class=\"num\">%u</td>", row->workers,
		     row->repeats);
	sn_campaign_add_seconds(out, row->time_s);
	if (scales) {
		sn_campaign_add_real(out, row->speedup);
		sn_campaign_add_interval(out, row->efficiency, row->interval.low,
					 row->interval.high);
		sn_campaign_add_reason(row, out);
		sn_campaign_add_real(out, row->load_balance);
		sn_campaign_add_real(out, row->communication);
		sn_campaign_add_real(out, row->computation);
	} else {
		sn_campaign_add_seconds(out, row->cpu_s);
	}
	sn_campaign_add_share(out, row->spin_share);
	sn_campaign_add_share(out, row->blocked_share);
	sn_campaign_add_share(out, row->wait_cpu_share);
	sn_campaign_add_share(out, row->system_share);
	sn_text_add(out, "</tr>\n");
}

void sn_campaign_add_series(const struct sn_scaling *scaling, const struct sn_scaling_fit *fit,
			    struct sn_text *out)
{
	const char *series = sn_scaling_law_series(scaling, fit);

	if (!series)
		return;
	sn_text_add(out, ", ");
	sn_text_add_html(out, series);
}

static void law_add(const struct sn_scaling *scaling, const struct sn_scaling_fit *fit,
		    struct sn_text *out)
{
	struct sn_text law = { 0 };

	sn_scaling_add_law(&fit->fit, &law);
	sn_text_add(out, "<li><bdi>");
	sn_text_add_html(out, fit->name);
	sn_text_add(out, "</bdi>");
	sn_campaign_add_series(scaling, fit, out);
	sn_text_add(out, ": ");
	sn_text_add_html(out, law.chars);
	sn_text_add(out, "</li>\n");
	sn_text_free(&law);
}

static void laws_add(const struct sn_scaling *scaling, struct sn_text *out)
{
	struct sn_scaling_laws laws;
	struct sn_text left_out = { 0 };

	sn_scaling_choose_laws(scaling, &laws);
	sn_text_add(out, "<h3>Laws over the number of workers</h3><ul class=\"sentences\">\n");
	for (size_t i = 0; i < laws.count; i++)
		law_add(scaling, laws.items[i], out);
	sn_text_add(out, "</ul>\n");
	sn_scaling_add_left_out(&laws, &left_out);
	if (left_out.length)
		sn_text_addf(out, "<p class=\"dim\">%s%s.</p>\n", left_out.chars,
			     laws.more || laws.small ? ": see Loops" : "");
	sn_text_free(&left_out);
}

static void no_curve_add(const struct sn_campaign_part *app, struct sn_text *out)
{
	bool are_equal = true;

	for (size_t i = 0; i < app->count; i++)
		are_equal &= app->rows[i].workers == app->rows[0].workers;
	if (are_equal)
		sn_text_addf(out,
			     "<p class=\"dim\">All runs that are done had %.0f worker%s: a curve "
			     "needs two numbers of workers.</p>\n",
			     app->rows[0].workers, app->rows[0].workers == 1 ? "" : "s");
	else
		sn_text_add(out, "<p class=\"dim\">No two configurations differ in the number of "
				 "workers alone: there is no curve, and each is its own "
				 "reference.</p>\n");
}

static void application_add(const struct sn_scaling_campaign *read, struct sn_text *out)
{
	struct sn_campaign_part app = sn_campaign_part_at(read->scaling, 0);
	bool scales = !sn_scaling_is_flat(read->scaling);
	size_t before;

	sn_text_addf(out,
		     "<section class=\"panel\"><h2>The application <span class=\"dim\">elapsed "
		     "time%s</span></h2>\n",
		     scales ? ", against the reference" : "");
	before = out->length;
	if (scales)
		sn_campaign_add_curve(read, &app, out);
	if (out->length == before)
		no_curve_add(&app, out);
	sn_campaign_add_head(
		out, "whole",
		scales ? "configuration|#workers|#runs|#elapsed|#speed-up|#efficiency [95 %]|why|"
			 "confidence|#load balance|#communication|#computation|#spun|"
			 "#blocked|#waited for a CPU|#system"
		       : "configuration|#workers|#runs|#elapsed|#CPU time|#spun|#blocked|"
			 "#waited for a CPU|#system");
	for (size_t i = 0; i < app.count; i++)
		application_row_add(read, &app.rows[i], scales, out);
	sn_text_addf(
		out,
		"</tbody></table></div>\n<p class=\"dim\">%sSpun, blocked, waited and system are "
		"shares of the workers' time.</p>\n",
		scales ? "Efficiency is load balance × communication × computation, each against "
			 "the reference. "
		       : "");
	if (scales)
		laws_add(read->scaling, out);
	sn_text_add(out, "</section>\n");
}

/* ---- categories ---- */

enum { BAR_WIDTH = 1000, BAR_HEIGHT = 22 };

static void category_bar_add(const struct sn_scaling *scaling, const struct sn_scaling_row *app,
			     struct sn_text *out)
{
	double at = 0;
	char words[64];

	sn_text_addf(out,
		     "<svg class=\"bar\" viewBox=\"0 0 %d %d\" width=\"%d\" height=\"%d\" "
		     "preserveAspectRatio=\"none\" role=\"img\" aria-label=\"categories\">",
		     BAR_WIDTH, BAR_HEIGHT, BAR_WIDTH, BAR_HEIGHT);
	for (size_t i = 0; i < scaling->rows.count; i++) {
		const struct sn_scaling_row *row = &scaling->rows.items[i];
		double share = row->cpu_s / app->cpu_s;

		if (row->kind != SN_SCALING_CATEGORY || row->configuration != app->configuration ||
		    !(share > 0))
			continue;
		sn_text_addf(out,
			     "<rect class=\"c-%s\" x=\"%.1f\" y=\"0\" width=\"%.1f\" height=\"%d\">"
			     "<title>%s %s</title></rect>",
			     row->name, at * BAR_WIDTH, share * BAR_WIDTH, BAR_HEIGHT, row->name,
			     sn_words_percent(words, share));
		at += share;
	}
	sn_text_add(out, "</svg>");
}

static void categories_add(const struct sn_scaling_campaign *read, struct sn_text *out)
{
	const struct sn_scaling *scaling = read->scaling;
	struct sn_campaign_part app = sn_campaign_part_at(scaling, 0);

	sn_text_add(out,
		    "<section class=\"panel\"><h2>Categories <span class=\"dim\">what kind of work "
		    "the CPU time of each configuration is</span></h2>\n");
	sn_campaign_add_head(out, "bars", "configuration|#CPU time|share of it");
	for (size_t i = 0; i < app.count; i++) {
		sn_text_add(out, "<tr>");
		sn_campaign_add_text(out, sn_campaign_row_name(read, &app.rows[i]));
		sn_campaign_add_seconds(out, app.rows[i].cpu_s);
		sn_text_add(out, "<td class=\"wide\">");
		category_bar_add(scaling, &app.rows[i], out);
		sn_text_add(out, "</td></tr>\n");
	}
	sn_text_add(out, "</tbody></table></div><p class=\"dim\">");
	for (size_t i = 0, count; i < scaling->rows.count; i += count) {
		count = sn_campaign_part_at(scaling, i).count;
		if (scaling->rows.items[i].kind == SN_SCALING_CATEGORY)
			sn_text_addf(out, "<span class=\"key\"><i class=\"c-%s\"></i>%s</span> ",
				     scaling->rows.items[i].name, scaling->rows.items[i].name);
	}
	sn_text_add(out, "</p></section>\n");
}

/* ---- runs ---- */

/* Columns that not every campaign has a use for. */
struct run_columns {
	bool has_attempts, has_reasons;
};

static const struct sn_cell *run_cells(const struct sn_campaign_page *page, size_t r)
{
	return &page->runs->cells.items[r * page->runs->column_count];
}

static struct run_columns run_columns_of(const struct sn_campaign_page *page)
{
	struct run_columns columns = { 0 };

	for (size_t r = 0; r < page->runs->row_count; r++) {
		const struct sn_cell *cells = run_cells(page, r);

		columns.has_attempts |= cells[SN_STATUS_ATTEMPT].integer > 1;
		columns.has_reasons |=
			cells[SN_STATUS_REASON].is_known && cells[SN_STATUS_REASON].text[0];
	}
	return columns;
}

/* The experiment, with a link to its page if there is one. */
static void experiment_add(const struct sn_campaign_page *page, const struct sn_cell *cell,
			   struct sn_text *out)
{
	sn_text_add(out, "<td class=\"mono\">");
	if (cell->is_known && sn_campaign_run_has_page(page, cell->text)) {
		sn_text_add(out, "<a href=\"");
		sn_text_add_html(out, cell->text);
		sn_text_add(out, "/report.html\">");
		sn_text_add_html(out, cell->text);
		sn_text_add(out, "</a>");
	} else if (cell->is_known) {
		sn_text_add_html(out, cell->text);
	}
	sn_text_add(out, "</td>");
}

static void run_add(const struct sn_campaign_page *page, size_t r, struct run_columns columns,
		    struct sn_text *out)
{
	const struct sn_cell *cells = run_cells(page, r);
	const char *state = cells[SN_STATUS_STATE].text;
	static const char *const marks[] = { "·", "▶", "✓", "✗", "?", "–" };
	int number = 0;

	while (number < SN_RUN_CANCELLED &&
	       strcmp(state, sn_run_state_name((enum sn_run_state)number)))
		number++;
	sn_text_add(out, "<tr>");
	sn_campaign_add_text(out, cells[SN_STATUS_CONFIGURATION].text);
	sn_text_addf(out, "<td class=\"num\">%lld</td>",
		     (long long)cells[SN_STATUS_REPEAT].integer);
	if (columns.has_attempts)
		sn_text_addf(out, "<td class=\"num\">%lld</td>",
			     (long long)cells[SN_STATUS_ATTEMPT].integer);
	sn_text_addf(out, "<td class=\"s-%s\">%s %s</td>", state, marks[number], state);
	if (cells[SN_STATUS_EXIT].is_known)
		sn_text_addf(out, "<td class=\"num\">%lld</td>",
			     (long long)cells[SN_STATUS_EXIT].integer);
	else
		sn_text_add(out, "<td class=\"num dim\">–</td>");
	sn_campaign_add_seconds(
		out, cells[SN_STATUS_ELAPSED].is_known ? cells[SN_STATUS_ELAPSED].real : NAN);
	if (columns.has_reasons) {
		sn_text_add(out, "<td class=\"wrap\">");
		sn_text_add_html(
			out, cells[SN_STATUS_REASON].is_known ? cells[SN_STATUS_REASON].text : "");
		sn_text_add(out, "</td>");
	}
	experiment_add(page, &cells[SN_STATUS_EXPERIMENT], out);
	sn_text_add(out, "</tr>\n");
}

static void runs_add(const struct sn_campaign_page *page, struct sn_text *out)
{
	struct run_columns columns = run_columns_of(page);
	struct sn_text titles = { 0 };

	sn_text_addf(&titles, "configuration|#repeat%s|state|#exit|#elapsed%s|experiment",
		     columns.has_attempts ? "|#attempt" : "", columns.has_reasons ? "|reason" : "");
	sn_text_add(
		out,
		"<section class=\"panel\" id=\"runs\"><h2>Runs <span class=\"dim\">in the order "
		"they ran; failed and suspicious ones are in no mean</span></h2>\n");
	sn_campaign_add_head(out, "narrow", titles.chars);
	for (size_t r = 0; r < page->runs->row_count; r++)
		run_add(page, r, columns, out);
	sn_text_add(out, "</tbody></table></div></section>\n");
	sn_text_free(&titles);
}

/* ---- the file ---- */

/* Whether there are configurations that differ in more than workers, as builds do. */
static bool has_many_series(const struct sn_scaling_campaign *read)
{
	const struct sn_scaling *scaling = read->scaling;

	for (size_t i = 0; scaling && i < scaling->rows.count &&
			   scaling->rows.items[i].kind == SN_SCALING_APPLICATION;
	     i++)
		if (strcmp(read->configurations[scaling->rows.items[i].configuration].series,
			   read->configurations[scaling->rows.items[0].configuration].series) != 0)
			return true;
	return false;
}

static void body_add(const struct sn_campaign_page *page, struct sn_text *out)
{
	const struct sn_scaling_campaign *read = page->read;
	bool is_flat = read->scaling && sn_scaling_is_flat(read->scaling);
	struct sn_campaign_differences *differences =
		is_flat || has_many_series(read) ? sn_campaign_differences_new(read) : NULL;

	header_add(page, out);
	answer_add(page, differences, out);
	tiles_add(page, out);
	if (differences && is_flat)
		sn_campaign_add_differences(differences, out);
	if (read->scaling) {
		application_add(read, out);
		sn_campaign_add_parts(page, out);
		if (differences && !is_flat)
			sn_campaign_add_differences(differences, out);
		categories_add(read, out);
	}
	sn_campaign_differences_free(differences);
	sn_campaign_add_compiled(page, out);
	runs_add(page, out);
	sn_text_add(
		out,
		"<p class=\"dim\">The same as tables and JSON: <code>sonde campaign status</code>, "
		"<code>sonde scalability</code>, <code>sonde diff</code>. Written by sonde ");
	sn_text_add_html(out, page->version);
	sn_text_add(out, ".</p>\n");
}

/* The shell up to a mark, and where it goes on behind it. */
static const char *shell_write(FILE *out, const char *at, const char *mark)
{
	const char *end = memmem(at, (size_t)(sn_campaign_shell_end - at), mark, strlen(mark));

	assert(end); /* else make_shell.py has lost it */
	fwrite(at, 1, (size_t)(end - at), out);
	return end + strlen(mark);
}

sn_status sn_report_write_campaign(const struct sn_campaign_page *page, const char *path,
				   struct sn_error *err)
{
	struct sn_file_writer writer;
	struct sn_text title = { 0 }, body = { 0 };
	sn_status status = sn_file_writer_open(&writer, path, err);
	const char *at = sn_campaign_shell;

	if (status != SN_OK)
		return status;
	sn_text_add_html(&title, sn_base_name(page->read->campaign->path));
	sn_text_add(&title, " · sonde");
	body_add(page, &body);
	at = shell_write(writer.out, at, "<!--TITLE-->");
	fwrite(title.chars, 1, title.length, writer.out);
	at = shell_write(writer.out, at, "<!--BODY-->");
	fwrite(body.chars, 1, body.length, writer.out);
	at = shell_write(writer.out, at, "<!--DATA-->");
	fwrite(at, 1, (size_t)(sn_campaign_shell_end - at), writer.out);
	sn_text_free(&title);
	sn_text_free(&body);
	return sn_file_writer_commit(&writer, err);
}
