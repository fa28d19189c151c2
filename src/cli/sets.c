/* sonde diff of any number of sets, diff --self, and sonde check. */
#include "cli/sets.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/progress.h"
#include "base/text.h"
#include "campaign/campaign.h"
#include "cli/analysis_options.h"
#include "compare/sets.h"

/* Of comparisons of equal sets so many may report a difference, unless somebody says. */
static const double FALSE_ALARMS = 0.05;

/* Lists with colons between, or the configurations of a campaign. */
struct cli_sets {
	struct sn_arena arena;
	SN_VEC(struct sn_compare_set) sets; /* own their runs */
};

/* ---- reading ---- */

static bool is_colon(const char *operand)
{
	return !strcmp(operand, ":");
}

bool sn_cli_are_sets(const struct sn_args *args)
{
	size_t colons = 0;

	for (size_t i = 0; i < args->operand_count; i++)
		colons += is_colon(args->operands[i]);
	return colons > 1 || (args->operand_count == 1 && sn_is_campaign(args->operands[0]));
}

static sn_status run_add(struct sn_compare_set *set, const char *path,
			 const struct sn_analysis_options *options, struct sn_error *err)
{
	struct sn_analysis *analysis;
	sn_status status = sn_cli_analysis_open(path, options, &analysis, err);

	if (status != SN_OK)
		return status;
	sn_compare_run_fill(&set->runs[set->count++], analysis->profile);
	sn_analysis_free(analysis);
	return SN_OK;
}

static struct sn_compare_set *set_begin(struct cli_sets *sets, size_t most, const char *name)
{
	struct sn_compare_set fresh = {
		.name = name, .runs = sn_alloc_zeroed(most + 1, sizeof(struct sn_compare_run))
	};

	sn_vec_push(&sets->sets, fresh);
	return &sn_vec_last(&sets->sets);
}

/* Each configuration with its runs that are done; those without one are left out. */
static sn_status campaign_read(const char *name, const struct sn_analysis_options *options,
			       struct cli_sets *out, struct sn_error *err)
{
	struct sn_campaign *campaign;
	struct sn_compare_set *set = NULL;
	struct sn_text path = { 0 };
	sn_status status = sn_campaign_open(name, &campaign, err);

	if (status != SN_OK)
		return status;
	for (uint32_t c = 0; status == SN_OK && c < sn_campaign_configuration_count(campaign);
	     c++) {
		if (!set || set->count)
			set = set_begin(out, campaign->state->attempts.count, NULL);
		for (size_t i = 0; status == SN_OK && i < campaign->state->attempts.count; i++) {
			const struct sn_campaign_attempt *a = &campaign->state->attempts.items[i];

			if (a->configuration != c || !sn_campaign_can_be_read(campaign, a))
				continue;
			set->name = sn_arena_strdup(&out->arena,
						    sn_campaign_configuration_name(campaign, c));
			sn_text_clear(&path);
			sn_campaign_experiment_path(campaign, a, &path);
			status = run_add(set, path.chars, options, err);
		}
	}
	if (set && !set->count) {
		free(set->runs);
		out->sets.count--;
	}
	sn_text_free(&path);
	sn_campaign_free(campaign);
	return status;
}

static sn_status lists_read(const struct sn_args *args, const struct sn_analysis_options *options,
			    struct cli_sets *out, struct sn_error *err)
{
	struct sn_compare_set *set = set_begin(out, args->operand_count, NULL);
	struct sn_progress progress;
	sn_status status = SN_OK;

	sn_progress_begin(&progress, "reading runs", args->operand_count);
	for (size_t i = 0; status == SN_OK && i < args->operand_count; i++) {
		sn_progress_update(&progress, i);
		if (is_colon(args->operands[i]))
			set = set_begin(out, args->operand_count, NULL);
		else
			status = run_add(set, args->operands[i], options, err);
	}
	sn_progress_end(&progress);
	for (size_t s = 0; status == SN_OK && s < out->sets.count; s++)
		if (!out->sets.items[s].count)
			status = sn_error_set(
				err, SN_ERR_USAGE,
				"a set is empty: give experiments on each side of each "
				"colon");
	return status;
}

/* What all runs of a set have in common, or NULL. */
static const char *common(const struct sn_compare_set *set,
			  const char *(*text)(const struct sn_compare_run *))
{
	const char *first = text(&set->runs[0]);

	for (size_t r = 1; first && r < set->count; r++)
		if (!text(&set->runs[r]) || strcmp(text(&set->runs[r]), first) != 0)
			return NULL;
	return first;
}

static const char *configuration_of(const struct sn_compare_run *run)
{
	return run->configuration;
}

static const char *label_of(const struct sn_compare_run *run)
{
	return run->label;
}

static void sets_name(struct cli_sets *sets)
{
	for (size_t s = 0; s < sets->sets.count; s++) {
		struct sn_compare_set *set = &sets->sets.items[s];
		const char *name = set->name ? set->name : common(set, configuration_of);

		if (!name)
			name = common(set, label_of);
		for (size_t k = 0; name && k < s; k++)
			if (!strcmp(sets->sets.items[k].name, name))
				name = NULL;
		set->name = name     ? name
			    : s < 26 ? sn_arena_printf(&sets->arena, "%c", (char)('A' + s))
				     : sn_arena_printf(&sets->arena, "set %zu", s + 1);
	}
}

static void sets_free(struct cli_sets *sets)
{
	for (size_t s = 0; s < sets->sets.count; s++) {
		for (size_t r = 0; r < sets->sets.items[s].count; r++)
			sn_compare_run_free(&sets->sets.items[s].runs[r]);
		free(sets->sets.items[s].runs);
	}
	sn_vec_free(&sets->sets);
	sn_arena_free(&sets->arena);
}

/* With the filters that the command has. A set is named after the configuration that its runs have in
 * common, else their label, else A, B, C ... */
static sn_status sets_read(const struct sn_args *args, struct cli_sets *out, struct sn_error *err)
{
	struct sn_analysis_arguments arguments = { 0 };
	sn_status status = sn_analysis_arguments_read(args, &arguments, err);

	*out = (struct cli_sets){ 0 };
	if (status != SN_OK)
		return status;
	if (args->operand_count == 1 && sn_is_campaign(args->operands[0]))
		status = campaign_read(args->operands[0], &arguments.options, out, err);
	else
		status = lists_read(args, &arguments.options, out, err);
	sn_analysis_arguments_free(&arguments);
	if (status == SN_OK && !out->sets.count)
		status = sn_error_set(err, SN_ERR_NO_DATA,
				      "no run of '%s' is done: 'sonde campaign status %s' says why",
				      args->operands[0], args->operands[0]);
	if (status == SN_OK)
		sets_name(out);
	else
		sets_free(out);
	return status;
}

/* ---- JSON ---- */

static void cell_write(struct sn_json *json, const char *set, const struct sn_set_cell *cell)
{
	sn_json_object(json);
	sn_json_member_string(json, "set", set);
	sn_json_member_double(json, "cpu_s", cell->cpu_s);
	sn_json_member_double(json, "low_s", cell->low_s);
	sn_json_member_double(json, "high_s", cell->high_s);
	sn_json_member_double(json, "ratio", cell->ratio);
	sn_json_member_double(json, "ratio_low", cell->ratio_low);
	sn_json_member_double(json, "ratio_high", cell->ratio_high);
	sn_json_member_double(json, "p_value", cell->p);
	sn_json_member_string(json, "verdict", sn_set_verdict_name(cell->verdict));
	sn_json_member_double(json, "detectable_ratio", cell->detectable_ratio);
	sn_json_close(json);
}

static void line_member(struct sn_json *json, const char *key, uint32_t line)
{
	if (line)
		sn_json_member_uint(json, key, line);
	else
		sn_json_member_null(json, key);
}

static const char *kind_name(enum sn_compare_kind kind)
{
	static const char *const kinds[] = { "total", "function", "loop" };

	return kinds[kind];
}

static void row_write(struct sn_json *json, const struct sn_compare_set *sets,
		      const struct sn_set_comparison *c, const struct sn_set_row *row)
{
	const struct sn_compare_entry *e = &row->entry;
	bool is_total = e->kind == SN_COMPARE_TOTAL;

	sn_json_object(json);
	sn_json_member_string(json, "kind", kind_name(e->kind));
	sn_json_member_string(json, "name", e->name);
	sn_json_member_string(json, "function", is_total ? NULL : e->function);
	sn_json_member_string(json, "module",
			      is_total	     ? NULL
			      : e->module[0] ? e->module
					     : "[program]");
	sn_json_member_string(json, "file", e->file);
	line_member(json, "line_first", e->line_first);
	line_member(json, "line_last", e->line_last);
	sn_json_member_string(json, "best", row->best < c->set_count ? sets[row->best].name : NULL);
	sn_json_key(json, "cells");
	sn_json_array(json);
	for (size_t s = 0; s < c->set_count; s++)
		cell_write(json, sets[s].name, &row->cells[s]);
	sn_json_close(json);
	sn_json_close(json);
}

static void sets_write(struct sn_json *json, const struct sn_compare_set *sets, size_t count)
{
	sn_json_key(json, "sets");
	sn_json_array(json);
	for (size_t s = 0; s < count; s++) {
		sn_json_object(json);
		sn_json_member_string(json, "name", sets[s].name);
		sn_json_key(json, "experiments");
		sn_json_array(json);
		for (size_t r = 0; r < sets[s].count; r++)
			sn_json_string(json, sets[s].runs[r].name);
		sn_json_close(json);
		sn_json_close(json);
	}
	sn_json_close(json);
}

static void json_print(const struct sn_compare_set *sets, const struct sn_set_comparison *c,
		       double observed)
{
	struct sn_json json = { .out = stdout };

	sn_json_object(&json);
	sn_json_member_string(&json, "schema", "sonde.compare/1");
	sets_write(&json, sets, c->set_count);
	sn_json_member_string(&json, "reference", sets[c->reference].name);
	sn_json_member_string(&json, "design", c->design);
	sn_json_member_double(&json, "false_alarm_rate", c->false_alarm_rate);
	sn_json_member_double(&json, "observed_false_alarm_rate", observed);
	sn_json_member_uint(&json, "tested", c->tested);
	sn_json_member_uint(&json, "findings", c->findings);
	sn_json_member_uint(&json, "drifted", c->drifted);
	sn_json_key(&json, "warnings");
	sn_json_array(&json);
	for (size_t i = 0; i < c->warnings.count; i++)
		sn_json_string(&json, c->warnings.items[i]);
	sn_json_close(&json);
	sn_json_key(&json, "rows");
	sn_json_array(&json);
	for (size_t i = 0; i < c->rows.count; i++)
		row_write(&json, sets, c, &c->rows.items[i]);
	sn_json_close(&json);
	sn_json_close(&json);
	sn_json_finish(&json);
}

/* ---- tables: one line a cell ---- */

static const struct sn_column columns[] = {
	{ "kind", "kind", SN_CELL_TEXT, 0 },
	{ "name", "name", SN_CELL_TEXT, 0 },
	{ "function", NULL, SN_CELL_TEXT, 0 },
	{ "module", NULL, SN_CELL_TEXT, 0 },
	{ "file", NULL, SN_CELL_TEXT, 0 },
	{ "line_first", NULL, SN_CELL_INT, 0 },
	{ "line_last", NULL, SN_CELL_INT, 0 },
	{ "set", "set", SN_CELL_TEXT, 0 },
	{ "cpu_s", "seconds", SN_CELL_SECONDS, 0 },
	{ "low_s", "low", SN_CELL_SECONDS, 0 },
	{ "high_s", "high", SN_CELL_SECONDS, 0 },
	{ "ratio", "ratio", SN_CELL_REAL, 3 },
	{ "ratio_low", "from", SN_CELL_REAL, 3 },
	{ "ratio_high", "to", SN_CELL_REAL, 3 },
	{ "p_value", NULL, SN_CELL_REAL, 4 },
	{ "verdict", "verdict", SN_CELL_TEXT, 0 },
	{ "detectable_ratio", "detectable", SN_CELL_REAL, 3 },
	{ "is_best", "best", SN_CELL_BOOL, 0 },
};

static void cell_row(struct sn_table *table, const struct sn_compare_set *set,
		     const struct sn_set_row *row, size_t s)
{
	const struct sn_set_cell *cell = &row->cells[s];
	const struct sn_compare_entry *e = &row->entry;
	const double reals[] = { cell->cpu_s,	  cell->low_s,	    cell->high_s, cell->ratio,
				 cell->ratio_low, cell->ratio_high, cell->p };

	sn_table_add_row(table);
	sn_table_set_text(table, 0, kind_name(e->kind));
	sn_table_set_text(table, 1, e->name);
	if (e->kind != SN_COMPARE_TOTAL) {
		sn_table_set_text(table, 2, e->function);
		sn_table_set_text(table, 3, e->module[0] ? e->module : "[program]");
	}
	sn_table_set_text(table, 4, e->file);
	if (e->line_first)
		sn_table_set_int(table, 5, e->line_first);
	if (e->line_last)
		sn_table_set_int(table, 6, e->line_last);
	sn_table_set_text(table, 7, set->name);
	for (size_t i = 0; i < sizeof(reals) / sizeof(*reals); i++)
		sn_table_set_real(table, 8 + i, reals[i]);
	sn_table_set_text(table, 15, sn_set_verdict_name(cell->verdict));
	sn_table_set_real(table, 16, cell->detectable_ratio);
	sn_table_set_int(table, 17, row->best == s);
}

/* Text leaves out what is too small to be tested, unless everything is asked for. */
static bool is_shown(const struct sn_set_comparison *c, const struct sn_set_row *row, bool all)
{
	for (size_t s = 0; s < c->set_count; s++)
		if (row->cells[s].verdict < SN_SET_REFERENCE)
			return true;
	return all || row->entry.kind == SN_COMPARE_TOTAL;
}

static void head_print(const struct sn_compare_set *sets, const struct sn_set_comparison *c)
{
	for (size_t s = 0; s < c->set_count; s++)
		printf("%s: %zu run%s%s\n", sets[s].name, sets[s].count,
		       sets[s].count == 1 ? "" : "s", s == c->reference ? ", the reference" : "");
	if (isnan(c->false_alarm_rate))
		printf("repeat: too few runs for a verdict; %d or more a set give one\n",
		       SN_COMPARE_RUNS_MIN);
	else
		printf("%zu of %zu rows differ beyond noise, compared %s (of equal runs %.0f %% of "
		       "comparisons report any)\n",
		       c->findings, c->tested,
		       !strcmp(c->design, "blocks") ? "block by block" : "set by set",
		       100 * c->false_alarm_rate);
	if (sn_set_unsure_count(c))
		printf("not sure: %zu called same have an interval without 1, but too few runs to "
		       "tell it from noise among %zu rows: repeat more\n",
		       sn_set_unsure_count(c), c->tested);
	if (c->drifted)
		printf("drift: %zu rows differ, but by no more than the machine may have done\n",
		       c->drifted);
	for (size_t i = 0; i < c->warnings.count; i++)
		printf("warning: %s\n", c->warnings.items[i]);
	putchar('\n');
}

static void table_fill(struct sn_table *table, const struct sn_compare_set *sets,
		       const struct sn_set_comparison *c, bool all, bool differing_first)
{
	sn_table_init(table, columns, sizeof(columns) / sizeof(*columns));
	for (int turn = 0; turn < (differing_first ? 2 : 1); turn++)
		for (size_t i = 0; i < c->rows.count; i++) {
			const struct sn_set_row *row = &c->rows.items[i];

			if (differing_first &&
			    (sn_set_row_rank(row, c->set_count) == 0) != (turn == 0))
				continue;
			for (size_t s = 0; s < c->set_count && is_shown(c, row, all); s++)
				cell_row(table, &sets[s], row, s);
		}
}

static sn_status comparison_print(const struct sn_args *args, const struct sn_compare_set *sets,
				  const struct sn_set_comparison *c, struct sn_table_view *view,
				  struct sn_error *err)
{
	bool all = sn_args_flag(args, "all") || view->format != SN_FORMAT_TEXT;
	struct sn_table table;
	sn_status status;

	view->schema = "sonde.compare/1";
	view->whole_column = "set";
	table_fill(&table, sets, c, all, view->format == SN_FORMAT_TEXT);
	if (view->format == SN_FORMAT_TEXT)
		head_print(sets, c);
	/* no row is cut in the middle of its sets */
	if (view->top && !sn_args_value(args, "top"))
		view->top = (view->top + c->set_count - 1) / c->set_count * c->set_count;
	status = sn_table_write(&table, view, stdout, NULL, NULL, err);
	sn_table_free(&table);
	return status;
}

/* ---- diff of sets ---- */

static sn_status reference_find(const struct sn_args *args, const struct cli_sets *sets,
				size_t *out, struct sn_error *err)
{
	const char *wanted = sn_args_value(args, "reference");

	*out = 0;
	for (size_t s = 0; wanted && s < sets->sets.count; s++)
		if (!strcmp(sets->sets.items[s].name, wanted)) {
			*out = s;
			return SN_OK;
		}
	return wanted ? sn_error_set(err, SN_ERR_USAGE, "no set is called '%s'; the first is '%s'",
				     wanted, sets->sets.items[0].name)
		      : SN_OK;
}

enum { SPLITS = 20, SEED = 1 };

static sn_status self_print(const struct sn_args *args, const struct cli_sets *sets, double rate,
			    struct sn_table_view *view, struct sn_error *err)
{
	struct sn_self_test test;
	sn_status status = SN_OK;
	double observed;

	sn_compare_self(sets->sets.items, sets->sets.count, SPLITS, SEED, rate, &test);
	if (!test.comparisons)
		return sn_error_set(
			err, SN_ERR_NO_DATA,
			"no configuration has six runs that are done: halves of three are "
			"the least to be compared; repeat more");
	observed = (double)test.alarms / (double)test.comparisons;
	if (view->format == SN_FORMAT_JSON) {
		json_print(test.halves, test.last, observed);
	} else {
		if (view->format == SN_FORMAT_TEXT)
			printf("equal runs against each other: %zu of %zu comparisons report a "
			       "difference, %.1f %% (95 %%: %.1f-%.1f); stated: %.1f %%\n"
			       "The last of them:\n\n",
			       test.alarms, test.comparisons, 100 * observed, 100 * test.rate.low,
			       100 * test.rate.high, 100 * test.last->false_alarm_rate);
		status = comparison_print(args, test.halves, test.last, view, err);
	}
	sn_self_test_free(&test);
	return status;
}

static sn_status sets_print(const struct sn_args *args, const struct cli_sets *sets, double rate,
			    struct sn_table_view *view, bool *has_findings, struct sn_error *err)
{
	struct sn_set_comparison *c;
	size_t reference;
	sn_status status = reference_find(args, sets, &reference, err);

	if (status == SN_OK && sets->sets.count < 2)
		status = sn_error_set(err, SN_ERR_NO_DATA,
				      "there is one set only: nothing to compare it with (--self "
				      "compares its runs with each other)");
	if (status != SN_OK)
		return status;
	c = sn_compare_sets(sets->sets.items, sets->sets.count, reference, rate);
	*has_findings = c->findings > 0;
	if (view->format == SN_FORMAT_JSON)
		json_print(sets->sets.items, c, NAN);
	else
		status = comparison_print(args, sets->sets.items, c, view, err);
	sn_set_comparison_free(c);
	return status;
}

sn_status sn_cli_campaign_compare(const char *campaign, struct sn_table *out, struct sn_error *err)
{
	struct sn_analysis_options options = { 0 };
	struct cli_sets sets = { 0 };
	sn_status status = campaign_read(campaign, &options, &sets, err);

	if (status == SN_OK && sets.sets.count < 2)
		status = sn_error_set(err, SN_ERR_NO_DATA,
				      "fewer than two configurations have runs");
	if (status == SN_OK) {
		struct sn_set_comparison *c;

		sets_name(&sets);
		c = sn_compare_sets(sets.sets.items, sets.sets.count, 0, FALSE_ALARMS);
		table_fill(out, sets.sets.items, c, true, false);
		sn_set_comparison_free(c);
	}
	sets_free(&sets);
	return status;
}

int sn_cli_diff_sets(const struct sn_args *args)
{
	struct sn_table_view view = { 0 };
	struct cli_sets sets = { 0 };
	bool has_findings = false;
	struct sn_error err;
	double rate = FALSE_ALARMS;
	sn_status status = sn_args_table_view(args, &view, &err);

	if (status == SN_OK)
		status = sn_args_real(args, "false-alarms", FALSE_ALARMS, &rate, &err);
	if (status == SN_OK && !(rate > 0 && rate < 1))
		status = sn_error_set(&err, SN_ERR_USAGE,
				      "--false-alarms takes a rate between 0 and 1");
	if (status == SN_OK)
		status = sets_read(args, &sets, &err);
	if (status == SN_OK && sn_args_flag(args, "self"))
		status = self_print(args, &sets, rate, &view, &err);
	else if (status == SN_OK)
		status = sets_print(args, &sets, rate, &view, &has_findings, &err);
	sets_free(&sets);
	if (status != SN_OK)
		return sn_error_print(&err);
	return has_findings ? SN_EXIT_FINDING : SN_EXIT_OK;
}

/* ---- check ---- */

/* "3%" or "0.03". */
static sn_status threshold_read(const struct sn_args *args, double *out, struct sn_error *err)
{
	const char *text = sn_args_value(args, "fail-above");
	char *end;

	*out = 0.03;
	if (!text)
		return SN_OK;
	*out = strtod(text, &end);
	if (*end == '%' && end != text) {
		*out /= 100;
		end++;
	}
	if (end == text || *end || !(*out >= 0 && *out < 10))
		return sn_error_set(err, SN_ERR_USAGE, "--fail-above takes 3%% or 0.03, not '%s'",
				    text);
	return SN_OK;
}

/* The time that a row's change is set against: the program's. */
static double whole_of(const struct sn_set_comparison *c, const struct sn_set_row *row)
{
	for (size_t i = 0; i < c->rows.count; i++) {
		const struct sn_compare_entry *e = &c->rows.items[i].entry;

		if (e->kind == SN_COMPARE_TOTAL &&
		    !strcmp(e->function,
			    row->entry.kind == SN_COMPARE_TOTAL ? row->entry.function : "cpu"))
			return c->rows.items[i].cells[c->reference].cpu_s;
	}
	return NAN;
}

static size_t losses_print(const struct sn_set_comparison *c, double threshold)
{
	size_t count = 0;

	for (size_t i = 0; i < c->rows.count; i++) {
		const struct sn_set_row *row = &c->rows.items[i];
		const struct sn_set_cell *b = &row->cells[1];
		double part = b->difference_s / whole_of(c, row);

		if (b->verdict != SN_SET_SLOWER || !(part > threshold))
			continue;
		count++;
		printf("slower: %s %s, %.4g s for %.4g s, %+.1f %% of the program's time (ratio "
		       "%.3f, 95 %% %.3f-%.3f)\n",
		       kind_name(row->entry.kind), row->entry.name, b->cpu_s, row->cells[0].cpu_s,
		       100 * part, b->ratio, b->ratio_low, b->ratio_high);
	}
	return count;
}

/* What can be said of one of the program's times where no loss of it was found. */
struct answer {
	bool is_known; /* a loss of the threshold would have been found, and would not have been called drift */
	bool is_drift; /* it is slower by more, but the machine may have done it */
	double detectable;
};

static struct answer answer_of(const struct sn_set_comparison *c, const char *which,
			       double threshold)
{
	struct answer out = { .detectable = NAN };

	for (size_t i = 0; i < c->rows.count; i++) {
		const struct sn_set_row *row = &c->rows.items[i];
		const struct sn_set_cell *b = &row->cells[1];

		if (row->entry.kind != SN_COMPARE_TOTAL || strcmp(row->entry.function, which) != 0)
			continue;
		out.detectable = b->detectable_ratio;
		out.is_drift = b->verdict == SN_SET_DRIFT &&
			       b->difference_s > threshold * row->cells[c->reference].cpu_s;
		out.is_known = !out.is_drift && out.detectable - 1 <= threshold;
	}
	return out;
}

static void totals_print(const struct sn_set_comparison *c)
{
	for (size_t i = 0; i < c->rows.count; i++) {
		const struct sn_set_row *row = &c->rows.items[i];
		double detectable = row->cells[1].detectable_ratio;

		if (row->entry.kind != SN_COMPARE_TOTAL)
			continue;
		printf("%s: ", row->entry.function);
		if (isnan(detectable))
			printf("no verdict with so few runs\n");
		else
			printf("%.4g s for %.4g s; a change of %.1f %% would be found\n",
			       row->cells[1].cpu_s, row->cells[0].cpu_s, 100 * (detectable - 1));
	}
}

static void unknown_print(const struct answer *answer, double threshold)
{
	if (answer->is_drift)
		printf("it is slower by more, but by no more than the machine may have done; record "
		       "in turns");
	else
		printf("a change of %.3g %% could not have been found; repeat more, in blocks (sonde "
		       "campaign)",
		       100 * threshold);
}

/* CPU time decides; of elapsed time it is said whether it could be judged. */
static int answer_print(const struct sn_set_comparison *c, double threshold)
{
	struct answer cpu = answer_of(c, "cpu", threshold),
		      elapsed = answer_of(c, "elapsed", threshold);

	if (!cpu.is_known) {
		printf("unknown: ");
		unknown_print(&cpu, threshold);
		putchar('\n');
		return SN_EXIT_NO_DATA;
	}
	if (elapsed.is_known) {
		printf("passed: nothing is slower by more than %.3g %%\n", 100 * threshold);
		return SN_EXIT_OK;
	}
	printf("passed: of CPU time nothing is slower by more than %.3g %%; elapsed time: unknown, ",
	       100 * threshold);
	unknown_print(&elapsed, threshold);
	putchar('\n');
	return SN_EXIT_OK;
}

static sn_status check(const struct sn_args *args, int *code, struct sn_error *err)
{
	struct sn_set_comparison *c;
	struct cli_sets sets = { 0 };
	double threshold = 0, rate = 0.05;
	sn_status status = threshold_read(args, &threshold, err);

	if (status == SN_OK)
		status = sn_args_real(args, "false-alarms", 0.05, &rate, err);
	if (status == SN_OK)
		status = sets_read(args, &sets, err);
	if (status == SN_OK && sets.sets.count != 2)
		status = sn_error_set(err, SN_ERR_USAGE,
				      "check takes two sets: sonde check A1 A2 A3 : B1 B2 B3");
	if (status == SN_OK) {
		c = sn_compare_sets(sets.sets.items, 2, 0, rate > 0 && rate < 1 ? rate : 0.05);
		*code = losses_print(c, threshold) ? SN_EXIT_FINDING : SN_EXIT_OK;
		if (*code == SN_EXIT_OK)
			totals_print(c);
		for (size_t i = 0; i < c->warnings.count; i++)
			printf("warning: %s\n", c->warnings.items[i]);
		if (*code == SN_EXIT_FINDING)
			printf("failed: slower by more than %.3g %%\n", 100 * threshold);
		else
			*code = answer_print(c, threshold);
		sn_set_comparison_free(c);
	}
	sets_free(&sets);
	return status;
}

static int check_run(const struct sn_args *args)
{
	struct sn_error err;
	int code = SN_EXIT_OK;

	return check(args, &code, &err) == SN_OK ? code : sn_error_print(&err);
}

static const struct sn_option check_options[] = {
	{ "fail-above", 0, "PART",
	  "fail if something is slower by more than this part of the program's time (default 3%)",
	  NULL },
	SN_FILTER_OPTIONS,
	{ "false-alarms", 0, "RATE",
	  "part of checks of equal runs that may report any difference (default 0.05)", NULL },
	{ 0 },
};

const struct sn_command sn_command_check = {
	.name = "check",
	.operands = "A... : B...",
	.summary = "Fails if B is slower than A beyond noise: a gate for continuous integration",
	.description =
		"Compares as 'sonde diff' does. The exit status is 1 if the program, or a function "
		"or loop of it, is slower by more than --fail-above of the program's time, beyond "
		"noise and drift. It is 3 if such a change of the program's CPU time could not have "
		"been found: too few runs, or too much noise. It is 0 if it would have been found "
		"and was not.",
	.options = check_options,
	.examples = (const char *const[]){ "sonde check base.1 base.2 base.3 : new.1 new.2 new.3",
					   "fails if something got more than 3 % slower", NULL },
	.run = check_run,
};
