/* Loops and functions of a campaign: a table of efficiencies, and of each what is known of it. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "campaign/scaling/words.h"
#include "report/html/words.h"
#include "experiment/unpack.h"
#include "report/campaigns/campaign_parts.h"

/* ---- which configurations there are ---- */

static struct sn_campaign_part application_of(const struct sn_scaling *scaling)
{
	return sn_campaign_part_at(scaling, 0);
}

static const struct sn_scaling_row *row_of(const struct sn_campaign_part *part,
					   uint32_t configuration)
{
	for (size_t i = 0; i < part->count; i++)
		if (part->rows[i].configuration == configuration)
			return &part->rows[i];
	return NULL;
}

/* ---- the table ---- */

static int tenth_of(double efficiency)
{
	return efficiency >= 1 ? 10 : efficiency > 0 ? (int)(10 * efficiency) : 0;
}

/* What tells where it is, if its name does not: of a loop its function, of a function without a name its module. */
static const char *around(const struct sn_scaling_row *row)
{
	const struct sn_compare_entry *entry = row->entry;
	const char *function = entry->function_name ? entry->function_name : entry->function;

	if (row->kind == SN_SCALING_FUNCTION)
		return sn_name_is_address(row->name) ? entry->module : "";
	/* labels of code without lines begin with it, without its parameters */
	return row->kind == SN_SCALING_LOOP &&
			       strncmp(row->name, function, strcspn(function, "(")) != 0
		       ? function
		       : "";
}

static void name_add(const struct sn_scaling_row *row, struct sn_text *out)
{
	sn_text_add(out, "<bdi>");
	sn_text_add_html(out, row->name);
	sn_text_add(out, "</bdi>");
	if (around(row)[0]) {
		sn_text_add(out, " <span class=\"dim\">in <bdi>");
		sn_text_add_html(out, around(row));
		sn_text_add(out, "</bdi></span>");
	}
}

/* A figure of a cell's choices, or a dash: also where a configuration spends no time there. */
static void figure_add(struct sn_text *out, double value, const char *unit)
{
	char words[64];

	if (isnan(value) || (unit[0] && value <= 0))
		sn_text_add(out, "–");
	else if (unit[0] == 's')
		sn_text_add(out, sn_words_seconds(words, llround(value * 1e9)));
	else
		sn_text_addf(out, unit[0] == '%' ? "%.1f %%" : "%.2f", value);
}

/* What the buttons choose from, in their order. */
enum { F_EFFICIENCY, F_TIME, F_CPU, F_SHARE, F_WORK, F_BALANCE, FIGURES };
static const char *const units[FIGURES] = { "", "s", "s", "%", "", "" };

/* Where nothing scales each configuration is its own reference, and efficiencies say nothing. */
static bool is_figure(unsigned figure, bool scales)
{
	return scales || units[figure][0];
}

/* Of a row that its reference spends no time in: there is no efficiency, and what it costs is new. */
static bool is_new(const struct sn_scaling_row *row)
{
	return isnan(row->efficiency) && row->time_s > 0;
}

static void mean_add(const struct sn_scaling_row *row, unsigned figure, struct sn_text *out)
{
	const double values[FIGURES] = { row->efficiency,  row->time_s, row->cpu_s,
					 100 * row->share, row->work,	row->balance };

	if (figure == F_EFFICIENCY && is_new(row))
		sn_text_addf(out, "new: %.0f %%", values[F_SHARE]);
	else
		figure_add(out, values[figure], units[figure]);
}

/* ---- each run ---- */

/* What the row would say if the configuration had this run alone. */
static void run_figures(const struct sn_scaling_campaign *read, const struct sn_scaling_row *row,
			const struct sn_scaling_row *reference, size_t member,
			double values[FIGURES])
{
	double time_s = row->member_time_s[member], cpu_s = row->member_cpu_s[member];
	double same = read->scaling->is_weak && reference ? row->workers / reference->workers : 1;

	values[F_TIME] = time_s;
	values[F_CPU] = cpu_s;
	values[F_SHARE] = 100 * cpu_s / read->members[member].run.cpu_s;
	values[F_EFFICIENCY] = values[F_WORK] = values[F_BALANCE] = NAN;
	if (!reference || !(time_s > 0) || !(cpu_s > 0) || isnan(row->efficiency))
		return;
	values[F_EFFICIENCY] = reference->time_s / time_s / row->ideal_speedup;
	values[F_WORK] = same * reference->cpu_s / cpu_s;
	values[F_BALANCE] = values[F_EFFICIENCY] / values[F_WORK];
}

/* One figure of each run of the row's configuration, with dots between. Nothing where no run has it. */
static void runs_add(const struct sn_scaling_campaign *read, const struct sn_scaling_row *row,
		     const struct sn_scaling_row *reference, unsigned figure, struct sn_text *out)
{
	size_t before = out->length;

	if (!(row->time_s > 0) || (!units[figure][0] && isnan(row->efficiency)))
		return;
	for (size_t m = 0; m < read->member_count; m++) {
		double values[FIGURES];

		if (read->members[m].configuration != row->configuration)
			continue;
		run_figures(read, row, reference, m, values);
		sn_text_add(out, out->length > before ? " · " : "");
		figure_add(out, values[figure], units[figure]);
	}
}

/* ---- cells ---- */

static void title_add(const struct sn_scaling_campaign *read, const struct sn_scaling_row *row,
		      struct sn_text *out)
{
	sn_text_add(out, "\" title=\"");
	sn_text_add_html(out, row->name);
	sn_text_add(out, ", ");
	sn_text_add_html(out, sn_campaign_row_name(read, row));
	if (is_new(row))
		sn_text_add(out, ": the reference spends no time there; of the CPU time");
}

static void cell_add(const struct sn_scaling_campaign *read, const struct sn_campaign_part *part,
		     uint32_t configuration, const char *kind, size_t number, struct sn_text *out)
{
	const struct sn_scaling_row *row = row_of(part, configuration);
	const struct sn_scaling_row *reference = row ? row_of(part, row->reference) : NULL;
	bool scales = !sn_scaling_is_flat(read->scaling);
	unsigned first = scales ? F_EFFICIENCY : F_TIME;

	if (!row) {
		sn_text_add(out, "<td class=\"num dim\">–</td>");
		return;
	}
	sn_text_add(out, "<td class=\"num");
	if (scales && !isnan(row->efficiency))
		sn_text_addf(out, " h%d", tenth_of(row->efficiency));
	sn_text_addf(out, "\"><a href=\"#%s-%zu-%u", kind, number, row->configuration);
	title_add(read, row, out);
	sn_text_add(out, "\" data-f=\"");
	for (unsigned f = first; f < FIGURES; f++)
		if (is_figure(f, scales)) {
			sn_text_add(out, f > first ? "|" : "");
			mean_add(row, f, out);
		}
	sn_text_add(out, "\">");
	mean_add(row, first, out);
	sn_text_add(out, "</a>");
	if (row->repeats > 1) {
		sn_text_add(out, "<small data-f=\"");
		for (unsigned f = first; f < FIGURES; f++)
			if (is_figure(f, scales)) {
				sn_text_add(out, f > first ? "|" : "");
				runs_add(read, row, reference, f, out);
			}
		sn_text_add(out, "\">");
		runs_add(read, row, reference, first, out);
		sn_text_add(out, "</small>");
	}
	sn_text_add(out, "</td>");
}

static const char *series_of(const struct sn_scaling_campaign *read,
			     const struct sn_scaling_row *row)
{
	return read->configurations[row->configuration].series;
}

/* How many columns from this one on are of its series. */
static size_t series_width(const struct sn_scaling_campaign *read,
			   const struct sn_campaign_part *columns, size_t first)
{
	size_t end = first + 1;

	while (end < columns->count && !strcmp(series_of(read, &columns->rows[end]),
					       series_of(read, &columns->rows[first])))
		end++;
	return end - first;
}

/* "threads=2" of "gcc threads=2" in the series "gcc". */
static const char *within_series(const struct sn_scaling_campaign *read,
				 const struct sn_scaling_row *row)
{
	const char *name = sn_campaign_row_name(read, row), *series = series_of(read, row);
	size_t length = strlen(series);

	return !strncmp(name, series, length) && name[length] == ' ' ? name + length + 1 : name;
}

/* "threads=" if all columns begin so within their series and go on in their own way; else "". */
static const char *common_key(const struct sn_scaling_campaign *read,
			      const struct sn_campaign_part *columns, size_t *length)
{
	const char *first = within_series(read, &columns->rows[0]);

	*length = strcspn(first, "=") + 1;
	if (*length > strlen(first))
		*length = 0;
	for (size_t c = 1; c < columns->count && *length; c++) {
		const char *other = within_series(read, &columns->rows[c]);

		if (strncmp(other, first, *length) != 0 || strchr(other, ' '))
			*length = 0;
	}
	return first;
}

static void heading_add(struct sn_text *out, size_t width, bool is_first, const char *words)
{
	sn_text_addf(out, "<th class=\"num%s\" colspan=\"%zu\">", is_first ? " group" : "", width);
	sn_text_add_html(out, words);
	sn_text_add(out, "</th>");
}

/* "gcc: threads" */
static void series_heading_add(struct sn_text *out, size_t width, const char *series,
			       const char *key, size_t length)
{
	struct sn_text words = { 0 };

	sn_text_add(&words, series);
	if (length) {
		sn_text_add(&words, ": ");
		sn_text_add_bytes(&words, key, length - 1);
	}
	heading_add(out, width, true, words.chars ? words.chars : "");
	sn_text_free(&words);
}

/* Builds and data sets stand above their numbers of workers, where there are several of both. */
static void headings_add(const struct sn_scaling_campaign *read, struct sn_text *out)
{
	struct sn_campaign_part columns = application_of(read->scaling);
	bool is_grouped = columns.count && series_width(read, &columns, 0) < columns.count &&
			  !sn_scaling_is_flat(read->scaling);

	size_t length = 0;
	const char *key = is_grouped ? common_key(read, &columns, &length) : "";

	sn_text_addf(out, "<tr><th class=\"first\"%s></th>", is_grouped ? " rowspan=\"2\"" : "");
	for (size_t c = 0, width; is_grouped && c < columns.count; c += width) {
		width = series_width(read, &columns, c);
		series_heading_add(out, width, series_of(read, &columns.rows[c]), key, length);
	}
	sn_text_add(out, is_grouped ? "</tr><tr>" : "");
	for (size_t c = 0, width = 0, first = 0; c < columns.count; c++) {
		if (c == first + width) {
			first = c;
			width = series_width(read, &columns, c);
		}
		heading_add(out, 1, is_grouped && c == first,
			    is_grouped ? within_series(read, &columns.rows[c]) + length
				       : sn_campaign_row_name(read, &columns.rows[c]));
	}
	sn_text_add(out, "</tr>");
}

static void heat_row_add(const struct sn_scaling_campaign *read,
			 const struct sn_campaign_part *columns,
			 const struct sn_campaign_part *part, const char *kind, size_t number,
			 struct sn_text *out)
{
	sn_text_addf(out, "<tr><td class=\"first\"><a href=\"#%s-%zu\">", kind, number);
	name_add(&part->rows[0], out);
	sn_text_add(out, "</a></td>");
	for (size_t c = 0; c < columns->count; c++)
		cell_add(read, part, columns->rows[c].configuration, kind, number, out);
	sn_text_add(out, "</tr>\n");
}

static size_t heat_rows_add(const struct sn_scaling_campaign *read, enum sn_scaling_kind wanted,
			    struct sn_text *out)
{
	const struct sn_scaling *scaling = read->scaling;
	struct sn_campaign_part columns = application_of(scaling), part;
	size_t number = 0;

	for (size_t i = 0; i < scaling->rows.count; i += part.count) {
		part = sn_campaign_part_at(scaling, i);
		if (part.rows[0].kind == wanted)
			heat_row_add(read, &columns, &part, sn_scaling_kind_name(wanted), number++,
				     out);
	}
	return number;
}

static void heat_add(const struct sn_scaling_campaign *read, enum sn_scaling_kind kind,
		     struct sn_text *out)
{
	size_t count;

	sn_text_add(out, "<div class=\"scroll heat efficiencies\"><table><thead>");
	headings_add(read, out);
	sn_text_add(out, "</thead><tbody>\n");
	count = heat_rows_add(read, kind, out);
	sn_text_add(out, "</tbody></table></div>\n");
	if (!count)
		sn_text_addf(out,
			     "<p class=\"dim\">No %s has half a per cent of the CPU time.</p>\n",
			     sn_scaling_kind_name(kind));
}

/* ---- what a cell opens ---- */

/* The first run of a configuration that is done. */
static const struct sn_campaign_attempt *run_of(const struct sn_campaign *c, uint32_t configuration)
{
	for (size_t i = 0; i < c->state->attempts.count; i++)
		if (c->state->attempts.items[i].configuration == configuration &&
		    c->state->attempts.items[i].state == SN_RUN_DONE &&
		    c->state->attempts.items[i].experiment)
			return &c->state->attempts.items[i];
	return NULL;
}

bool sn_campaign_run_has_page(const struct sn_campaign_page *page, const char *experiment)
{
	struct sn_text file = { 0 };
	bool has_page = false;

	if (page->lies_within && experiment[0] != '/') {
		sn_text_addf(&file, "%s/%s/report.html", page->read->campaign->path, experiment);
		has_page = !access(file.chars, R_OK);
	}
	sn_text_free(&file);
	return has_page;
}

static void link_add(const struct sn_campaign_attempt *attempt, const char *loop,
		     struct sn_text *out)
{
	sn_text_add(out, "<a href=\"");
	sn_text_add_html(out, attempt->experiment);
	sn_text_add(out, loop ? "/report.html#/loop/" : "/report.html#/functions");
	sn_text_add_html(out, loop ? loop : "");
	sn_text_add(out, "\">page of a run</a>");
}

static void command_add(const struct sn_scaling_row *row, const char *path, struct sn_text *out)
{
	struct sn_text command = { 0 };

	sn_text_add(&command, row->loop ? "sonde show loop " : "sonde show source ");
	sn_text_add_shell_word(&command, row->loop ? row->loop : row->entry->function);
	sn_text_add(&command, " ");
	sn_text_add_shell_word(&command, path);
	sn_text_add(out, "<code>");
	sn_text_add_html(out, command.chars);
	sn_text_add(out, "</code>");
	sn_text_free(&command);
}

/* A link to the page of a run where there is one, else the command that shows it; of an archive, which
 * has no paths of runs, its name. */
static void run_add(const struct sn_campaign_page *page, const struct sn_scaling_row *row,
		    struct sn_text *out)
{
	const struct sn_campaign *campaign = page->read->campaign;
	const struct sn_campaign_attempt *attempt = run_of(campaign, row->configuration);
	struct sn_text path = { 0 };

	sn_text_add(out, "<td>");
	if (attempt) {
		sn_campaign_experiment_path(campaign, attempt, &path);
		if (sn_campaign_run_has_page(page, attempt->experiment))
			link_add(attempt, row->loop, out);
		else if (!sn_archive_of(campaign->path))
			command_add(row, path.chars, out);
		else
			sn_text_add_html(out, attempt->experiment);
	}
	sn_text_add(out, "</td>");
	sn_text_free(&path);
}

static void detail_row_add(const struct sn_campaign_page *page, const struct sn_scaling_row *row,
			   const char *kind, size_t number, struct sn_text *out)
{
	sn_text_addf(out, "<tr id=\"%s-%zu-%u\">", kind, number, row->configuration);
	sn_campaign_add_text(out, sn_campaign_row_name(page->read, row));
	sn_text_addf(out, "<td class=\"num\">%.0f</td>", row->workers);
	sn_campaign_add_seconds(out, row->time_s);
	sn_campaign_add_seconds(out, row->cpu_s);
	sn_campaign_add_share(out, row->share);
	sn_campaign_add_real(out, row->speedup);
	sn_campaign_add_interval(out, row->efficiency, row->interval.low, row->interval.high);
	sn_campaign_add_real(out, row->work);
	sn_campaign_add_real(out, row->balance);
	sn_campaign_add_reason(row, out);
	run_add(page, row, out);
	sn_text_add(out, "</tr>\n");
}

static void law_add(const struct sn_scaling *scaling, const struct sn_scaling_fit *fit,
		    bool with_series, struct sn_text *out)
{
	struct sn_text law = { 0 };

	sn_scaling_add_law(&fit->fit, &law);
	sn_text_add(out, "<p>Law over the number of workers");
	if (with_series)
		sn_campaign_add_series(scaling, fit, out);
	sn_text_add(out, ": ");
	sn_text_add_html(out, law.chars);
	sn_text_add(out, ".</p>\n");
	sn_text_free(&law);
}

/* Why there is no law is told once. */
static void laws_add(const struct sn_scaling *scaling, const struct sn_scaling_row *row,
		     struct sn_text *out)
{
	const struct sn_scaling_fit *without = NULL;
	bool has_laws = false;

	for (size_t i = 0; i < scaling->fits.count; i++) {
		const struct sn_scaling_fit *fit = &scaling->fits.items[i];

		if (fit->kind != row->kind || strcmp(fit->name, row->name) != 0)
			continue;
		if (fit->fit.model ||
		    (without && strcmp(without->fit.reason, fit->fit.reason) != 0)) {
			law_add(scaling, fit, true, out);
			has_laws = true;
		} else if (!without) {
			without = fit;
		}
	}
	if (without)
		law_add(scaling, without, has_laws, out);
}

static void where_add(const struct sn_scaling_row *row, struct sn_text *out)
{
	const struct sn_compare_entry *e = row->entry;

	sn_text_add(out, " <span class=\"dim\">");
	sn_text_add_html(out, e->module[0] ? e->module : "[program]");
	if (e->file && e->file[0]) {
		sn_text_add(out, " · ");
		sn_text_add_html(out, e->file);
		if (e->line_first)
			sn_text_addf(out, ":%u", e->line_first);
		if (e->line_last > e->line_first)
			sn_text_addf(out, "–%u", e->line_last);
	}
	sn_text_add(out, "</span>");
}

static void detail_add(const struct sn_campaign_page *page, const struct sn_campaign_part *part,
		       size_t number, struct sn_text *out)
{
	const struct sn_scaling_row *first = &part->rows[0];
	const char *kind = sn_scaling_kind_name(first->kind);

	sn_text_addf(out, "<section class=\"panel detail\" id=\"%s-%zu\"><h2>", kind, number);
	name_add(first, out);
	where_add(first, out);
	sn_text_add(out, "</h2>\n");
	if (!sn_scaling_is_flat(page->read->scaling))
		sn_campaign_add_curve(page->read, part, out);
	sn_campaign_add_head(out, "",
			     "configuration|#workers|#busiest worker|#CPU time|#of CPU|#speed-up|"
			     "#efficiency [95 %]|#work|#balance|why|confidence|look at it");
	for (size_t i = 0; i < part->count; i++)
		detail_row_add(page, &part->rows[i], kind, number, out);
	sn_text_add(out, "</tbody></table></div>\n");
	if (!sn_scaling_is_flat(page->read->scaling))
		laws_add(page->read->scaling, first, out);
	sn_text_add(out, "</section>\n");
}

static void details_add(const struct sn_campaign_page *page, enum sn_scaling_kind kind,
			struct sn_text *out)
{
	const struct sn_scaling *scaling = page->read->scaling;
	struct sn_campaign_part part;
	size_t number = 0;

	for (size_t i = 0; i < scaling->rows.count; i += part.count) {
		part = sn_campaign_part_at(scaling, i);
		if (part.rows[0].kind == kind)
			detail_add(page, &part, number++, out);
	}
}

void sn_campaign_add_parts(const struct sn_campaign_page *page, struct sn_text *out)
{
	bool scales = !sn_scaling_is_flat(page->read->scaling);

	sn_text_addf(
		out,
		"<section class=\"panel\"><h2>Loops by configuration <span class=\"dim\">%s a cell "
		"opens that loop</span></h2>\n"
		"<div class=\"choices\" hidden><span class=\"switch\" role=\"group\" "
		"aria-label=\"Figure\">%s>time of the busiest worker</button>"
		"<button>CPU time</button><button>of CPU</button>%s</span>"
		"<button class=\"plain each\" aria-pressed=\"false\">each run</button>"
		"<input type=\"search\" placeholder=\"Search names\" aria-label=\"Search names\">"
		"</div>\n",
		scales ? "each against the reference;" : "",
		scales ? "<button aria-pressed=\"true\">efficiency</button><button"
		       : "<button aria-pressed=\"true\"",
		scales ? "<button>work</button><button>balance</button>" : "");
	heat_add(page->read, SN_SCALING_LOOP, out);
	sn_text_add(out, "<h3>Functions</h3>\n");
	heat_add(page->read, SN_SCALING_FUNCTION, out);
	if (scales)
		sn_text_add(out,
			    "<p class=\"dim\">Efficiency is work × balance: work tells whether the "
			    "CPU time of all workers grew, balance whether they share it evenly. "
			    "‘new’ is CPU time in what the reference spends no time in. Colour is "
			    "the efficiency, whatever the figure.</p>");
	sn_text_add(out, "</section>\n");
	details_add(page, SN_SCALING_LOOP, out);
	details_add(page, SN_SCALING_FUNCTION, out);
}
