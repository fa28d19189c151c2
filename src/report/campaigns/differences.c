/* What differs between the configurations of a campaign: the comparison that sonde diff prints, as a table. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "compare/sets.h"
#include "report/campaigns/campaign_parts.h"

enum { ROWS_MOST = 30 };

struct sn_campaign_differences {
	struct sn_compare_set *sets;
	struct sn_compare_run *runs; /* copies, set by set; what they hold is the campaign's */
	struct sn_set_comparison *comparison;
};

struct sn_campaign_differences *sn_campaign_differences_new(const struct sn_scaling_campaign *read)
{
	uint32_t configurations = sn_campaign_configuration_count(read->campaign);
	struct sn_campaign_differences *d = sn_alloc_zeroed(1, sizeof(*d));
	size_t count = 0, used = 0;

	d->sets = sn_alloc_zeroed(configurations + 1, sizeof(*d->sets));
	d->runs = sn_alloc_zeroed(read->member_count + 1, sizeof(*d->runs));
	for (uint32_t c = 0; read->runs && c < configurations; c++) {
		struct sn_compare_set set = { read->configurations[c].name, &d->runs[used], 0 };

		for (size_t m = 0; m < read->member_count; m++)
			if (read->members[m].configuration == c)
				set.runs[set.count++] = read->runs[m];
		used += set.count;
		if (set.count)
			d->sets[count++] = set;
	}
	if (count >= 2) {
		d->comparison = sn_compare_sets(d->sets, count, 0, 0);
		return d;
	}
	sn_campaign_differences_free(d);
	return NULL;
}

void sn_campaign_differences_free(struct sn_campaign_differences *d)
{
	if (!d)
		return;
	sn_set_comparison_free(d->comparison);
	free(d->sets);
	free(d->runs);
	free(d);
}

/* ---- the answer ---- */

static void verdict_add(const struct sn_set_cell *cell, struct sn_text *out)
{
	switch (cell->verdict) {
	case SN_SET_FASTER:
		sn_text_add(out, ", beyond noise.");
		return;
	case SN_SET_DRIFT:
		sn_text_add(out, ", but the machine changed meanwhile: run it in blocks.");
		return;
	case SN_SET_SAME:
		if (sn_set_cell_is_unsure(cell)) {
			sn_text_add(out, ": not sure, as the runs are too few for so many rows; "
					 "repeat more.");
			return;
		}
		sn_text_addf(out,
			     ", which is no difference beyond noise: one of %.0f %% would have "
			     "been found in four of five such campaigns.",
			     100 * (cell->detectable_ratio - 1));
		return;
	default:
		sn_text_add(out, "; too few runs for a verdict: repeat more.");
	}
}

void sn_campaign_add_fastest(const struct sn_campaign_differences *d, struct sn_text *out)
{
	const struct sn_set_comparison *c = d->comparison;
	const struct sn_set_row *row = &c->rows.items[0];
	const char *best, *reference = d->sets[c->reference].name;
	const struct sn_set_cell *cell;

	if (row->entry.kind != SN_COMPARE_TOTAL || strcmp(row->entry.function, "elapsed") != 0 ||
	    row->best >= c->set_count)
		return;
	cell = &row->cells[row->best];
	best = d->sets[row->best].name;
	sn_text_addf(out, "Least elapsed time: '%s', %.3g s", best, cell->cpu_s);
	if (row->best == c->reference) {
		sn_text_add(out, "; the others are compared with it.");
		return;
	}
	sn_text_addf(out, ", %.2f times that of '%s'", cell->ratio, reference);
	if (!isnan(cell->ratio_low))
		sn_text_addf(out, " (95 %%: %.2f to %.2f)", cell->ratio_low, cell->ratio_high);
	verdict_add(cell, out);
}

/* ---- the table ---- */

static void cell_add(const struct sn_set_row *row, const struct sn_set_cell *cell, bool is_best,
		     struct sn_text *out)
{
	static const char *const marks[] = { "same", "▲ slower", "▼ faster", "only here", "drift" };
	const char *name = sn_set_verdict_name(cell->verdict);

	sn_text_addf(out, "<td class=\"num v-%s\" title=\"%.3g s", name ? name : "untested",
		     cell->cpu_s);
	if (!isnan(cell->low_s))
		sn_text_addf(out, " [%.3g, %.3g]", cell->low_s, cell->high_s);
	if (!isnan(cell->detectable_ratio))
		sn_text_addf(out, "; a change of %.0f %% would be found",
			     100 * (cell->detectable_ratio - 1));
	sn_text_add(out, is_best ? "; the least\"><b>" : "\">");
	if (cell->verdict == SN_SET_REFERENCE || isnan(cell->ratio))
		sn_text_addf(out, cell->cpu_s > 0 ? "%.3g s" : "–", cell->cpu_s);
	else if (isnan(cell->ratio_low))
		sn_text_addf(out, "× %.2f", cell->ratio);
	else
		sn_text_addf(out, "× %.2f [%.2f, %.2f]", cell->ratio, cell->ratio_low,
			     cell->ratio_high);
	if (is_best)
		sn_text_add(out, "</b>");
	if (cell->verdict < SN_SET_REFERENCE && (cell->cpu_s > 0 || row->is_matched))
		sn_text_addf(out, " <span class=\"verdict\">%s</span>",
			     sn_set_cell_is_unsure(cell) ? "not sure" : marks[cell->verdict]);
	sn_text_add(out, "</td>");
}

static void row_add(const struct sn_set_comparison *c, const struct sn_set_row *row,
		    struct sn_text *out)
{
	const struct sn_compare_entry *e = &row->entry;
	const char *function = e->function_name ? e->function_name : e->function;

	sn_text_add(out, "<tr><td class=\"first\"><bdi>");
	sn_text_add_html(out, e->kind == SN_COMPARE_TOTAL && strcmp(e->function, "elapsed")
				      ? "CPU time"
				      : e->name);
	sn_text_add(out, "</bdi>");
	if (e->kind == SN_COMPARE_LOOP && strncmp(e->name, function, strcspn(function, "(")) != 0) {
		sn_text_add(out, " <span class=\"dim\">in <bdi>");
		sn_text_add_html(out, function);
		sn_text_add(out, "</bdi></span>");
	} else if (e->kind == SN_COMPARE_FUNCTION) {
		sn_text_add(out, " <span class=\"dim\">");
		sn_text_add_html(out, e->module[0] ? e->module : "[program]");
		sn_text_add(out, "</span>");
	}
	sn_text_add(out, "</td>");
	for (size_t s = 0; s < c->set_count; s++)
		cell_add(row, &row->cells[s], row->best == s, out);
	sn_text_add(out, "</tr>\n");
}

static void head_add(const struct sn_campaign_differences *d, struct sn_text *out)
{
	const struct sn_set_comparison *c = d->comparison;

	sn_text_add(out,
		    "<section class=\"panel\"><h2>What differs <span class=\"dim\">ratios to ‘");
	sn_text_add_html(out, d->sets[c->reference].name);
	sn_text_add(out,
		    "’ and their 95 % intervals; the least time of a row is bold</span></h2>\n<p>");
	if (isnan(c->false_alarm_rate))
		sn_text_addf(out, "Too few runs for a verdict: %d or more of each give one.",
			     SN_COMPARE_RUNS_MIN);
	else
		sn_text_addf(out,
			     "%zu of %zu comparisons of a row differ beyond noise, %s (of equal "
			     "runs %.0f %% of campaigns report any). ‘same’ means no difference "
			     "beyond noise: the title of a cell says what would have been found.",
			     c->findings, c->tested,
			     !strcmp(c->design, "blocks") ? "compared block by block"
							  : "compared set by set",
			     100 * c->false_alarm_rate);
	if (sn_set_unsure_count(c))
		sn_text_addf(out,
			     " ‘not sure’: the interval leaves out 1, but there are too few runs "
			     "to tell that from noise among %zu rows. Repeat more.",
			     c->tested);
	sn_text_add(out, "</p>\n");
	for (size_t i = 0; i < c->warnings.count; i++) {
		sn_text_add(out, "<p class=\"notice\">");
		sn_text_add_html(out, c->warnings.items[i]);
		sn_text_add(out, ".</p>\n");
	}
	sn_text_add(
		out,
		"<div class=\"scroll heat differs\"><table><thead><tr><th class=\"first\"></th>");
	for (size_t s = 0; s < c->set_count; s++) {
		sn_text_add(out, "<th class=\"num\">");
		sn_text_add_html(out, d->sets[s].name);
		sn_text_add(out, "</th>");
	}
	sn_text_add(out, "</tr></thead><tbody>\n");
}

void sn_campaign_add_differences(const struct sn_campaign_differences *d, struct sn_text *out)
{
	const struct sn_set_comparison *c = d->comparison;
	size_t shown = 0, left = 0;

	head_add(d, out);
	for (int rank = 0; rank < 2; rank++)
		for (size_t i = 0; i < c->rows.count; i++) {
			if (sn_set_row_rank(&c->rows.items[i], c->set_count) != rank)
				continue;
			if (shown++ < ROWS_MOST)
				row_add(c, &c->rows.items[i], out);
			else
				left++;
		}
	sn_text_add(out, "</tbody></table></div>\n");
	if (left)
		sn_text_addf(
			out,
			"<p class=\"dim\">%zu rows more, and those that are small: <code>sonde "
			"diff --all</code>.</p>\n",
			left);
	sn_text_add(out, "</section>\n");
}
