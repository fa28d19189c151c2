/* The part of the page that needs no program: it is painted first, it prints, and it is what a mail
 * client or a browser without JavaScript shows. */
#include <math.h>
#include <string.h>

#include "base/text.h"
#include "profile/category.h"
#include "report/html/html_parts.h"
#include "report/html/words.h"

static void add_cell(struct sn_text *out, const char *words)
{
	sn_text_add(out, "<td class=\"num\">");
	sn_text_add_html(out, words);
	sn_text_add(out, "</td>");
}

static void add_figure(struct sn_text *out, const char *label, const char *value)
{
	sn_text_add(out, "<div><dt>");
	sn_text_add_html(out, label);
	sn_text_add(out, "</dt><dd>");
	sn_text_add_html(out, value);
	sn_text_add(out, "</dd></div>");
}

static void add_figures(const struct sn_report *report, struct sn_text *out)
{
	char words[64];

	sn_text_add(out, "<section class=\"panel\"><dl class=\"figures\">");
	add_figure(out, "Elapsed", sn_words_seconds(words, report->elapsed_ns));
	add_figure(out, "CPU time", sn_words_seconds(words, report->cpu_ns));
	add_figure(out, "User", sn_words_seconds(words, report->user_ns));
	add_figure(out, "System", sn_words_seconds(words, report->system_ns));
	if (report->workers_ns * 1000 > report->thread_elapsed_ns)
		add_figure(out, "Own workers", sn_words_seconds(words, report->workers_ns));
	add_figure(out, "Blocked (threads)",
		   sn_words_seconds(words, report->workers_ns > 0 &&
							   report->blocked_ns >= report->workers_ns
						   ? report->blocked_ns - report->workers_ns
						   : report->blocked_ns));
	add_figure(out, "In loops", sn_words_percent(words, report->loops_share));
	add_figure(out, "Samples", sn_words_count(words, report->sample_count));
	add_figure(out, "Cost of measuring", sn_words_percent(words, report->overhead_share));
	sn_text_add(out, "</dl></section>\n");
}

static void begin_list(struct sn_text *out, const char *title)
{
	sn_text_addf(out, "<section class=\"panel\"><h2>%s</h2><ul class=\"sentences quiet-list\">",
		     title);
}

static void add_item(struct sn_text *out, const char *words, bool is_warning)
{
	sn_text_add(out, is_warning ? "<li class=\"warning\"><span>" : "<li><span>");
	sn_text_add_html(out, words);
	sn_text_add(out, "</span></li>");
}

static void add_finding(const struct sn_finding *finding, struct sn_text *out)
{
	char words[64];

	sn_text_add(out, "<li><b class=\"num\">");
	sn_text_add_html(out, sn_words_seconds(words, (int64_t)(finding->seconds * 1e9)));
	sn_text_add(out, "</b><span class=\"num dim\">");
	sn_text_add_html(out, sn_words_percent(words, finding->share));
	sn_text_add(out, "</span><div>");
	sn_text_add_html(out, finding->sentence);
	sn_text_add(out, "<p class=\"remedy\">");
	sn_text_add_html(out, finding->remedy);
	sn_text_addf(out, "</p></div><span class=\"dim\">%s</span></li>\n",
		     sn_trust_name(finding->confidence));
}

static void add_verdict(const struct sn_report *report, struct sn_text *out)
{
	if (!report->verdict.sentence)
		return;
	sn_text_add(out, "<section class=\"panel\"><h2 class=\"verdict\">");
	sn_text_add_html(out, report->verdict.sentence);
	sn_text_addf(out,
		     " <span class=\"dim\">confidence: %s</span></h2><ol class=\"findings\">\n",
		     sn_trust_name(report->verdict.confidence));
	for (size_t i = 0; i < report->verdict.count; i++)
		add_finding(&report->verdict.findings[i], out);
	sn_text_add(out, "</ol></section>\n");
}

/* Options that hot code was compiled without. */
static void add_options(const struct sn_report *report, struct sn_text *out)
{
	bool has_any = false;

	for (size_t i = 0; i < report->modules.count; i++) {
		const struct sn_report_module *module = &report->modules.items[i];

		if (!module->missing || module->cpu_ns * 20 < report->sampled_ns)
			continue;
		if (!has_any)
			begin_list(out, "Compiled without");
		has_any = true;
		sn_text_add(out, "<li><span>");
		sn_text_add_html(out, module->name);
		sn_text_add(out, ": ");
		sn_text_add_html(out, module->missing);
		sn_text_add(out, "</span></li>");
	}
	if (has_any)
		sn_text_add(out, "</ul></section>\n");
}

static void add_warnings(const struct sn_report *report, struct sn_text *out)
{
	if (!report->warnings.count)
		return;
	begin_list(out, "Not measured, or not sure");
	for (size_t i = 0; i < report->warnings.count; i++)
		add_item(out, report->warnings.items[i], true);
	sn_text_add(out, "</ul></section>\n");
}

/** A name, its time and its share with a bar; the start of a row whose rest the caller adds. */
static void add_row(struct sn_text *out, const char *name, const char *where, uint64_t ns,
		    uint64_t whole, uint64_t samples)
{
	char words[64];
	double share = whole ? (double)ns / (double)whole : NAN;

	sn_text_add(out, "<tr><td class=\"wide mono\"><bdi>");
	sn_text_add_html(out, name);
	sn_text_add(out, "</bdi> <span class=\"dim\">");
	sn_text_add_html(out, where);
	sn_text_add(out, "</span></td>");
	add_cell(out, sn_words_seconds(words, (int64_t)ns));
	add_cell(out, sn_words_percent(words, share));
	sn_text_addf(out, "<td><progress max=\"1000\" value=\"%d\"></progress></td>",
		     isnan(share) ? 0 : (int)lround(share * 1000));
	add_cell(out, sn_words_count(words, samples));
	sn_text_add(out, "</tr>\n");
}

static void begin_rows(struct sn_text *out, const char *title, const char *what)
{
	sn_text_addf(
		out,
		"<section class=\"panel\"><h2>%s</h2><table class=\"small\"><thead><tr><th>%s</th>"
		"<th class=\"num\">Time</th><th class=\"num\">Share</th><th></th>"
		"<th class=\"num\">Samples</th></tr></thead><tbody>\n",
		title, what);
}

static void add_top_loops(const struct sn_report *report, struct sn_text *out)
{
	if (!report->loops.count || report->loops.items[0].is_runtime)
		return;
	begin_rows(out, "Hottest loops", "Loop");
	for (size_t i = 0; i < report->loops.count && i < 10; i++) {
		const struct sn_report_loop *loop = &report->loops.items[i];
		const char *function = loop->function == SN_NONE
					       ? ""
					       : report->functions.items[loop->function].name;

		if (loop->is_runtime)
			break;
		add_row(out, loop->code->label, function, loop->exclusive_ns, report->sampled_ns,
			loop->samples);
	}
	sn_text_add(out, "</tbody></table></section>\n");
}

static void add_top_functions(const struct sn_report *report, struct sn_text *out)
{
	if (!report->functions.count)
		return;
	begin_rows(out, "Hottest functions", "Function");
	for (size_t i = 0, rows = 0; i < report->functions.count && rows < 10; i++) {
		const struct sn_report_function *function = &report->functions.items[i];
		const char *module = function->module == SN_NONE
					     ? ""
					     : report->modules.items[function->module].name;

		if (function->is_spin)
			continue;
		rows++;
		add_row(out, function->name, module, function->exclusive_ns, report->sampled_ns,
			function->samples);
	}
	sn_text_add(out, "</tbody></table></section>\n");
}

static void add_categories(const struct sn_report *report, struct sn_text *out)
{
	char words[64];

	sn_text_add(out, "<section class=\"panel\"><h2>Categories</h2><dl class=\"figures\">");
	for (size_t i = 0; i < report->categories.count; i++)
		if (report->categories.items[i].cpu_ns)
			add_figure(
				out, sn_category_name((enum sn_category)i),
				sn_words_percent(words, (double)report->categories.items[i].cpu_ns /
								(double)report->sampled_ns));
	sn_text_add(out, "</dl></section>\n");
}

static void add_fact(struct sn_text *out, const char *name, const char *value)
{
	if (!value || !*value)
		return;
	sn_text_addf(out, "<dt>%s</dt><dd>", name);
	sn_text_add_html(out, value);
	sn_text_add(out, "</dd>");
}

static void add_origin(const struct sn_report *report, struct sn_text *out)
{
	sn_text_add(out, "<section class=\"panel\"><h2>Provenance</h2><dl class=\"facts\">");
	add_fact(out, "Command", report->arguments);
	add_fact(out, "Experiment", report->experiment);
	add_fact(out, "Label", report->label);
	add_fact(out, "Host", report->host);
	add_fact(out, "CPU", report->cpu_model);
	add_fact(out, "Kernel", report->kernel);
	add_fact(out, "Clock", report->clock_mechanism);
	add_fact(out, "Recorded by sonde", report->version);
	sn_text_add(out,
		    "</dl></section>\n"
		    "<noscript><p class=\"notice\">This is the summary. The other views of the "
		    "report need JavaScript; they fetch nothing from anywhere. Every number can "
		    "also be had with <code>sonde show</code>.</p></noscript>\n");
}

void sn_report_add_static_html(const struct sn_report *report, struct sn_text *out)
{
	sn_text_add(out, "<h1>");
	sn_text_add_html(out, report->experiment);
	sn_text_add(out, "<small>");
	sn_text_add_html(out, report->arguments ? report->arguments : "");
	sn_text_add(out, "</small></h1>\n");
	add_figures(report, out);
	add_verdict(report, out);
	add_top_loops(report, out);
	add_top_functions(report, out);
	add_categories(report, out);
	add_options(report, out);
	add_warnings(report, out);
	add_origin(report, out);
}
