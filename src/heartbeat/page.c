/*
 * Draws a run: facts, an overview with verdicts, then plots and numbers of each heartbeat. The
 * page is one file without scripts; the picture has the same plots in one SVG.
 */
#include "heartbeat/page.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/stats.h"
#include "heartbeat/page_data.h"
#include "heartbeat/plot.h"

/* GAP: between the plots of a picture. */
enum { BEATS_MAX = 40, LINES_LISTED_MAX = 32, GAP = 14, HEAD = 64 };

static const char page_style[] =
	"body{margin:0 auto;padding:1.2rem;max-width:1160px;background:var(--back);"
	"color:var(--ink);font:14px/1.45 system-ui,sans-serif}h1{font-size:1.35rem;margin:0 0 .2rem}"
	"h1 code,h2{overflow-wrap:anywhere}h2{font-size:1.05rem;margin:0}"
	".dim{color:var(--dim)}p{margin:.2rem 0}"
	"section{background:var(--panel);border:1px solid var(--rule);border-radius:10px;"
	"padding:.9rem 1rem;margin:1rem 0}.plots{display:flex;flex-wrap:wrap;gap:.6rem;"
	"margin-top:.6rem}.plots svg{flex:1 1 420px;max-width:100%;height:auto;"
	"background:var(--back);border-radius:8px}"
	"table{border-collapse:collapse;font-variant-numeric:tabular-nums;width:100%}"
	"td,th{padding:.15rem .6rem;text-align:right;border-bottom:1px solid var(--rule)}"
	"th{color:var(--dim);font-weight:500}td:first-child,th:first-child{text-align:left;"
	"overflow-wrap:anywhere}.slower,.missing{color:var(--limit);font-weight:600}"
	".faster{color:var(--c2)}summary{cursor:pointer;color:var(--dim);margin-top:.6rem}"
	"a{color:inherit}.scroll{overflow-x:auto}";

static void add_start(struct sn_text *out, int64_t start_ns)
{
	time_t seconds = (time_t)(start_ns / 1000000000);
	char text[64];
	struct tm parts;

	if (gmtime_r(&seconds, &parts) &&
	    strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S UTC", &parts))
		sn_text_add(out, text);
}

static void add_count(struct sn_text *out, int64_t count, const char *what)
{
	sn_text_addf(out, "%lld %s%s", (long long)count, what,
		     count == 1		       ? ""
		     : sn_ends_with(what, "s") ? "es"
					       : "s");
}

static void add_facts(struct sn_text *out, const struct sn_page_run *run)
{
	sn_text_addf(out, "run %lld", (long long)run->number);
	if (run->job) {
		sn_text_add(out, " · job ");
		sn_text_add_html(out, run->job);
	}
	sn_text_add(out, " · began ");
	add_start(out, run->start_ns);
	sn_text_add(out, " · took ");
	sn_plot_add_value(out, run->elapsed_s, SN_PLOT_SECONDS);
	sn_text_add(out, " · ");
	add_count(out, run->process_count, "process");
	sn_text_add(out, " on ");
	add_count(out, run->host_count, "host");
	if (run->threads > 0) {
		sn_text_add(out, " · ");
		add_count(out, run->threads, "thread");
		sn_text_add(out, run->process_count > 1 ? " each at most" : "");
	}
}

static const struct sn_judge_row *row_of(const struct sn_judgement *judgement, const char *name,
					 enum sn_judge_metric metric)
{
	for (size_t i = 0; i < judgement->rows.count; i++)
		if (judgement->rows.items[i].metric == metric &&
		    !strcmp(judgement->rows.items[i].heartbeat, name))
			return &judgement->rows.items[i];
	return NULL;
}

/* "1.48 x the median of 20 runs: slower" */
static void add_verdict(struct sn_text *out, const struct sn_judge_row *row)
{
	if (!row || isnan(row->score)) {
		sn_text_add(out, row && !strcmp(row->verdict, "missing")
					 ? "<span class=\"missing\">missing</span>"
					 : "<span class=\"dim\">too little history</span>");
		return;
	}
	sn_text_addf(out, "<span class=\"%s\">%.2f × the median of %llu runs: %s</span>",
		     row->verdict, row->ratio, (unsigned long long)row->runs, row->verdict);
}

/* Values of a bin, for all lines, sorted by the median's own work. */
struct edges {
	double *low, *middle, *high;
};

static double value_of(const struct sn_page_line *line, size_t bin, enum sn_plot_unit unit,
		       double bin_s)
{
	if (unit == SN_PLOT_PER_SECOND)
		return line->count[bin] / bin_s;
	return line->timed[bin] > 0.5e-3 ? line->sum_s[bin] / line->timed[bin] : NAN;
}

static struct edges edges_of(struct sn_page_beat *beat, enum sn_plot_unit unit, double bin_s)
{
	struct edges edges = { sn_arena_array(&beat->arena, double, beat->bin_count),
			       sn_arena_array(&beat->arena, double, beat->bin_count),
			       sn_arena_array(&beat->arena, double, beat->bin_count) };
	double *values = sn_arena_array(&beat->arena, double, beat->lines.count);

	for (size_t bin = 0; bin < beat->bin_count; bin++) {
		size_t count = 0;

		for (size_t i = 0; i < beat->lines.count; i++) {
			double value = value_of(&beat->lines.items[i], bin, unit, bin_s);

			if (!isnan(value))
				values[count++] = value;
		}
		edges.middle[bin] = sn_median(values, count);
		edges.low[bin] = count ? values[0] : NAN;
		edges.high[bin] = count ? values[count - 1] : NAN;
	}
	return edges;
}

/* A line each where there are few; else their median, and the range in which all of them are. */
static void plot_lines(struct sn_text *out, struct sn_page_beat *beat,
		       const struct sn_page_run *run, enum sn_plot_unit unit, const char *title,
		       int x, int y)
{
	struct sn_plot_line lines[SN_PLOT_LINES_MAX];
	double bin_s = run->elapsed_s > 0 ? run->elapsed_s / (double)beat->bin_count : 1;
	struct sn_plot plot = { .title = title,
				.unit = unit,
				.bin_count = beat->bin_count,
				.end_s = bin_s * (double)beat->bin_count,
				.lines = lines };

	if (beat->lines.count > SN_PLOT_LINES_MAX) {
		struct edges edges = edges_of(beat, unit, bin_s);

		lines[0] = (struct sn_plot_line){ "median", edges.middle };
		plot.line_count = 1;
		plot.low = edges.low;
		plot.high = edges.high;
		plot.band_label =
			sn_arena_printf(&beat->arena, "median and range of %zu", beat->lines.count);
	} else {
		for (size_t i = 0; i < beat->lines.count; i++) {
			double *values = sn_arena_array(&beat->arena, double, beat->bin_count);

			for (size_t bin = 0; bin < beat->bin_count; bin++)
				values[bin] = value_of(&beat->lines.items[i], bin, unit, bin_s);
			lines[plot.line_count++] =
				(struct sn_plot_line){ beat->lines.items[i].label, values };
		}
	}
	sn_plot_over_time(out, &plot, x, y);
}

static void plot_runs(struct sn_text *out, struct sn_page_beat *beat,
		      const struct sn_judge_row *row, int x, int y)
{
	size_t count = row ? row->runs : 0;
	double *values = sn_arena_array(&beat->arena, double, count + 1);
	int64_t *numbers = sn_arena_array(&beat->arena, int64_t, count + 1);
	struct sn_plot_runs runs = { .title = "Mean duration, this run beside those before it",
				     .values_s = values,
				     .numbers = numbers,
				     .count = count + 1,
				     .median_s = NAN,
				     .limit_s = NAN };

	if (!row)
		return;
	memcpy(values, row->history_s, count * sizeof(*values));
	memcpy(numbers, row->history_runs, count * sizeof(*numbers));
	values[count] = row->value_s;
	runs.median_s = row->median_s;
	if (!isnan(row->limit_ratio))
		runs.limit_s = row->median_s * row->limit_ratio;
	sn_plot_runs(out, &runs, x, y);
}

/* The four plots of a heartbeat; in a picture they stand two by two from `y` on. */
static void add_plots(struct sn_text *out, struct sn_page_beat *beat, const struct sn_page_run *run,
		      const struct sn_judge_row *row, int y)
{
	int right = SN_PLOT_WIDTH + GAP, below = y + SN_PLOT_HEIGHT + GAP;

	plot_lines(out, beat, run, SN_PLOT_PER_SECOND, "Beats per second over time", 0, y);
	plot_lines(out, beat, run, SN_PLOT_SECONDS, "Mean duration over time", right, y);
	sn_plot_histogram(out, "Beats by duration", beat->histogram, SN_BEAT_BUCKETS, 0, below);
	plot_runs(out, beat, row, right, below);
}

static void add_cell(struct sn_text *out, double value, enum sn_plot_unit unit)
{
	sn_text_add(out, "<td>");
	sn_plot_add_value(out, value, unit);
	sn_text_add(out, "</td>");
}

static double mean_of(double sum_s, double timed)
{
	return timed > 0 ? sum_s / timed : NAN;
}

static int by_mean(const void *a, const void *b)
{
	const struct sn_page_line *x = a, *y = b;
	double mean_x = x->total_timed > 0 ? x->total_s / x->total_timed : 0;
	double mean_y = y->total_timed > 0 ? y->total_s / y->total_timed : 0;

	return (mean_x < mean_y) - (mean_x > mean_y);
}

/* Slowest first; after the plots, since it changes the order of lines. */
static void add_line_table(struct sn_text *out, struct sn_page_beat *beat,
			   const struct sn_page_run *run)
{
	if (beat->lines.count < 2)
		return;
	qsort(beat->lines.items, beat->lines.count, sizeof(*beat->lines.items), by_mean);
	sn_text_addf(out,
		     "<details><summary>%zu ranks or threads, slowest first</summary>"
		     "<div class=\"scroll\"><table><tr><th></th><th>Beats</th><th>Per second</th>"
		     "<th>Mean</th><th>Longest</th>"
		     "<th>Share of the run</th></tr>",
		     beat->lines.count);
	for (size_t i = 0; i < beat->lines.count && i < LINES_LISTED_MAX; i++) {
		const struct sn_page_line *line = &beat->lines.items[i];

		sn_text_add(out, "<tr><td>");
		sn_text_add_html(out, line->label);
		sn_text_add(out, "</td>");
		add_cell(out, line->total, SN_PLOT_COUNT);
		add_cell(out, line->total / run->elapsed_s, SN_PLOT_PER_SECOND);
		add_cell(out, mean_of(line->total_s, line->total_timed), SN_PLOT_SECONDS);
		add_cell(out, line->total_timed > 0 ? line->max_s : NAN, SN_PLOT_SECONDS);
		sn_text_addf(out, "<td>%.1f %%</td></tr>", 100 * line->total_s / run->elapsed_s);
	}
	sn_text_add(out, "</table></div>");
	if (beat->lines.count > LINES_LISTED_MAX)
		sn_text_addf(out, "<p class=\"dim\">and %zu more</p>",
			     beat->lines.count - LINES_LISTED_MAX);
	sn_text_add(out, "</details>");
}

static void add_numbers(struct sn_text *out, const struct sn_page_beat *beat,
			const struct sn_page_run *run)
{
	sn_plot_add_value(out, beat->total, SN_PLOT_COUNT);
	sn_text_add(out, " beats, ");
	sn_plot_add_value(out, beat->total / run->elapsed_s, SN_PLOT_PER_SECOND);
	sn_text_add(out, ", mean ");
	sn_plot_add_value(out, mean_of(beat->total_s, beat->total_timed), SN_PLOT_SECONDS);
	sn_text_add(out, ", longest ");
	sn_plot_add_value(out, beat->total_timed > 0 ? beat->max_s : NAN, SN_PLOT_SECONDS);
	if (beat->total_timed < beat->total)
		sn_text_addf(out, ", %.3g %% of them timed", 100 * beat->total_timed / beat->total);
	if (beat->misuse)
		sn_text_addf(out, ", misused %lld times", (long long)beat->misuse);
	if (beat->dropped)
		sn_text_addf(out, ", %lld beats lost", (long long)beat->dropped);
}

static void add_section(struct sn_text *out, struct sn_page_beat *beat,
			const struct sn_page_run *run, const char *name,
			const struct sn_judgement *judgement)
{
	const struct sn_judge_row *row = row_of(judgement, name, SN_JUDGE_DURATION);

	sn_text_add(out, "<section><h2>");
	sn_text_add_html(out, *name ? name : "(no name)");
	sn_text_add(out, "</h2><p class=\"dim\">");
	add_numbers(out, beat, run);
	sn_text_add(out, " · ");
	add_verdict(out, row);
	sn_text_add(out, "</p><div class=\"plots\">");
	add_plots(out, beat, run, row, 0);
	sn_text_add(out, "</div>");
	add_line_table(out, beat, run);
	sn_text_add(out, "</section>");
}

static void add_overview(struct sn_text *out, const struct sn_judgement *judgement,
			 double alarm_rate)
{
	sn_text_add(out, "<section><h2>Beside the runs before</h2><div class=\"scroll\"><table><tr>"
			 "<th>Heartbeat</th><th>Mean duration</th><th></th><th>Time per beat</th>"
			 "<th></th></tr>");
	for (size_t i = 0; i < judgement->rows.count; i++) {
		const struct sn_judge_row *row = &judgement->rows.items[i];
		const struct sn_judge_row *period =
			row_of(judgement, row->heartbeat, SN_JUDGE_PERIOD);

		if (row->metric != SN_JUDGE_DURATION &&
		    row_of(judgement, row->heartbeat, SN_JUDGE_DURATION))
			continue;
		sn_text_add(out, "<tr><td>");
		sn_text_add_html(out, *row->heartbeat ? row->heartbeat : "(no name)");
		sn_text_add(out, "</td>");
		add_cell(out, row->metric == SN_JUDGE_DURATION ? row->value_s : NAN,
			 SN_PLOT_SECONDS);
		sn_text_add(out, "<td>");
		add_verdict(out, row->metric == SN_JUDGE_DURATION ? row : NULL);
		sn_text_add(out, "</td>");
		add_cell(out, period ? period->value_s : NAN, SN_PLOT_SECONDS);
		sn_text_add(out, "<td>");
		add_verdict(out, period);
		sn_text_add(out, "</td></tr>");
	}
	sn_text_addf(out,
		     "</table></div><p class=\"dim\">Against %llu runs of the same configuration.",
		     (unsigned long long)judgement->run_count);
	if (judgement->tests)
		sn_text_addf(out,
			     " For log-normal noise, a run like them would have a finding with "
			     "chance %g at most.",
			     alarm_rate);
	if (judgement->cut_count)
		sn_text_addf(out,
			     " Earlier rows of %llu processes of this run are lost by rotation: it "
			     "has no period.",
			     (unsigned long long)judgement->cut_count);
	sn_text_add(out, "</p></section>");
}

static void begin_html(struct sn_text *out, const struct sn_page_run *run)
{
	sn_text_add(out,
		    "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\">"
		    "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
		    "style-src 'unsafe-inline'\"><meta name=\"viewport\" "
		    "content=\"width=device-width\"><title>");
	sn_text_add_html(out, run->program);
	sn_text_addf(out, " heartbeats, run %lld</title><style>", (long long)run->number);
	sn_text_add(out, sn_plot_style);
	sn_text_add(out, page_style);
	sn_text_add(out, "</style><h1>Heartbeats of <code>");
	sn_text_add_html(out, run->program);
	sn_text_add(out, "</code></h1><p class=\"dim\">");
	add_facts(out, run);
	sn_text_add(out, "</p><p class=\"dim\">arguments <code>");
	sn_text_add_html(out, run->arguments);
	sn_text_add(out, "</code></p>");
}

static void begin_svg(struct sn_text *out, const struct sn_page_run *run, size_t beat_count)
{
	int width = 2 * SN_PLOT_WIDTH + 3 * GAP;
	int height = HEAD + (int)beat_count * (2 * (SN_PLOT_HEIGHT + GAP) + HEAD) + GAP;

	sn_text_addf(
		out,
		"<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"%d 0 %d %d\" width=\"%d\" "
		"height=\"%d\" class=\"pl\"><style>",
		-GAP, width, height, width, height);
	sn_text_add(out, sn_plot_style);
	sn_text_addf(
		out,
		"</style><rect x=\"%d\" width=\"%d\" height=\"%d\" style=\"fill:var(--back)\"/>"
		"<text class=\"t\" x=\"0\" y=\"28\" style=\"font-size:17px\">Heartbeats of ",
		-GAP, width, height);
	sn_text_add_html(out, run->program);
	sn_text_add(out, "</text><text x=\"0\" y=\"48\">");
	add_facts(out, run);
	sn_text_add(out, "</text>");
}

static void add_picture(struct sn_text *out, struct sn_page_beat *beat,
			const struct sn_page_run *run, const char *name,
			const struct sn_judge_row *row, size_t number)
{
	int y = HEAD + (int)number * (2 * (SN_PLOT_HEIGHT + GAP) + HEAD);

	sn_text_addf(out, "<text class=\"t\" x=\"0\" y=\"%d\" style=\"font-size:14px\">", y + 22);
	sn_text_add_html(out, *name ? name : "(no name)");
	sn_text_addf(out, "</text><text x=\"0\" y=\"%d\">", y + 40);
	add_numbers(out, beat, run);
	if (row && !isnan(row->score))
		sn_text_addf(out, " · %.2f × the median of %llu runs: %s", row->ratio,
			     (unsigned long long)row->runs, row->verdict);
	sn_text_add(out, "</text>");
	add_plots(out, beat, run, row, y + 52);
}

static sn_status add_beats(struct sn_text *out, struct sn_history *history,
			   const struct sn_page_run *run, const struct sn_judgement *judgement,
			   const struct sn_page_names *names, const struct sn_page_options *options,
			   struct sn_error *err)
{
	for (size_t i = 0; i < names->names.count && i < BEATS_MAX; i++) {
		const char *name = names->names.items[i];
		struct sn_page_beat beat;
		sn_status status = sn_page_beat_read(history, run, name, options->by, &beat, err);

		if (status == SN_OK && options->kind == SN_PAGE_HTML)
			add_section(out, &beat, run, name, judgement);
		else if (status == SN_OK)
			add_picture(out, &beat, run, name,
				    row_of(judgement, name, SN_JUDGE_DURATION), i);
		sn_page_beat_free(&beat);
		if (status != SN_OK)
			return status;
	}
	return SN_OK;
}

static sn_status add_all(struct sn_text *text, struct sn_history *history,
			 const struct sn_page_run *run, const struct sn_judgement *judgement,
			 const struct sn_page_options *options, struct sn_error *err)
{
	bool is_html = options->kind == SN_PAGE_HTML;
	struct sn_page_names names;
	sn_status status = sn_page_names_read(history, run->number, &names, err);
	size_t count = names.names.count < BEATS_MAX ? names.names.count : BEATS_MAX;

	if (status != SN_OK)
		return status;
	if (is_html) {
		begin_html(text, run);
		add_overview(text, judgement, options->alarm_rate);
	} else {
		begin_svg(text, run, count);
	}
	status = add_beats(text, history, run, judgement, &names, options, err);
	if (is_html && names.names.count > count)
		sn_text_addf(text, "<p class=\"dim\">%zu more heartbeats have less time</p>",
			     names.names.count - count);
	sn_text_add(text, is_html ? "</html>\n" : "</svg>\n");
	sn_vec_free(&names.names);
	sn_arena_free(&names.arena);
	return status;
}

sn_status sn_history_write_page(struct sn_history *history, int64_t run_number,
				const struct sn_page_options *options, FILE *out,
				struct sn_error *err)
{
	struct sn_judgement judgement = { 0 };
	struct sn_text text = { 0 };
	struct sn_page_run run;
	sn_status status = sn_page_run_read(history, run_number, &run, err);

	if (status == SN_OK)
		status = sn_history_judge(history, run_number, options->group, options->alarm_rate,
					  &judgement, err);
	if (status == SN_OK)
		status = add_all(&text, history, &run, &judgement, options, err);
	if (status == SN_OK)
		fwrite(text.chars, 1, text.length, out);
	sn_text_free(&text);
	sn_judgement_free(&judgement);
	sn_page_run_free(&run);
	return status;
}
