/* The view of the whole run's metrics. */
#include "whatif/global.h"

#include <math.h>
#include <string.h>

#include "views/parts.h"
#include "whatif/refusals.h"

enum { G_METRIC, G_VALUE, G_LOW, G_HIGH, G_UNIT, G_LOOPS, G_SOURCE, G_BASIS, G_REASON };

static const struct sn_column global_columns[] = {
	{ "metric", "metric", SN_CELL_TEXT, 0 },
	{ "value", "value", SN_CELL_REAL, 3 },
	{ "low", "low", SN_CELL_REAL, 3 },
	{ "high", "high", SN_CELL_REAL, 3 },
	{ "unit", "unit", SN_CELL_TEXT, 0 },
	{ "loops_for_80_percent", "80 % by loops", SN_CELL_INT, 0 },
	{ "source", "source", SN_CELL_TEXT, 0 },
	{ "basis_share", "rests on", SN_CELL_SHARE, 0 },
	{ "reason", "why not", SN_CELL_TEXT, 0 },
};

static void set_real(struct sn_table *table, size_t column, double value)
{
	if (!isnan(value))
		sn_table_set_real(table, column, value);
}

static void row_add(struct sn_table *table, const struct sn_global_row *row)
{
	sn_table_add_row(table);
	sn_table_set_text(table, G_METRIC, row->metric);
	set_real(table, G_VALUE, row->value);
	set_real(table, G_LOW, row->low);
	set_real(table, G_HIGH, row->high);
	sn_table_set_text(table, G_UNIT, row->unit);
	if (row->has_loops)
		sn_table_set_int(table, G_LOOPS, (int64_t)row->loops_for_80_percent);
	sn_table_set_text(table, G_SOURCE, row->source);
	set_real(table, G_BASIS, row->basis_share);
	sn_table_set_text(table, G_REASON, row->reason);
}

static sn_status global_fill(const struct sn_view_input *input, struct sn_table *table,
			     struct sn_error *err)
{
	struct sn_whatif *own = NULL;
	struct sn_global global;

	(void)err;
	if (!input->whatif && input->machine && input->machine->machine && input->structures)
		own = sn_whatif_new(input->machine->machine, input->profile, input->structures,
				    SN_WHATIF_LOOPS_MAX);
	sn_global_find(input->profile, input->structures, own ? own : input->whatif, &global);
	for (size_t i = 0; i < global.rows.count; i++)
		row_add(table, &global.rows.items[i]);
	sn_global_free(&global);
	sn_whatif_free(own);
	return SN_OK;
}

static const char *reason_of(const struct sn_table *table, size_t row)
{
	const struct sn_cell *cell = &table->cells.items[row * table->column_count + G_REASON];

	return cell->is_known ? cell->text : NULL;
}

/* "speedup_dl1, speedup_fp_only: no such variant ...": in the table a sentence has no room. */
static void reasons_put(const struct sn_table *table, FILE *out)
{
	for (size_t row = 0; row < table->row_count; row++) {
		const char *reason = reason_of(table, row);
		bool is_first = true;

		for (size_t other = 0; other < row && reason; other++)
			if (reason_of(table, other) && !strcmp(reason_of(table, other), reason))
				reason = NULL;
		for (size_t other = row; other < table->row_count && reason; other++) {
			if (!reason_of(table, other) ||
			    strcmp(reason_of(table, other), reason) != 0)
				continue;
			fprintf(out, "%s%s", is_first ? "" : ", ",
				table->cells.items[other * table->column_count + G_METRIC].text);
			is_first = false;
		}
		if (reason)
			fprintf(out, ": %s\n", reason);
	}
}

/* Loops whose variants the measured speed-ups do not rest on. */
static void refusals_put(const struct sn_view_input *input, FILE *out)
{
	struct sn_refusals refusals;
	struct sn_arena arena = { 0 };
	const char *warning = sn_global_warning(input->profile, &arena);

	if (warning)
		fprintf(out, "careful: %s\n", warning);
	sn_arena_free(&arena);
	sn_refusals_find(input->profile, input->structures, &refusals);
	if (refusals.run)
		fprintf(out, "loops have no variants: %s\n", refusals.run);
	for (size_t i = 0; i < refusals.items.count; i++)
		fprintf(out, "%s%.1f %% in %zu loop%s: %s",
			i ? "; " : "of CPU time in loops without measured variants: ",
			100 * refusals.items.items[i].share, refusals.items.items[i].loops,
			refusals.items.items[i].loops == 1 ? "" : "s",
			refusals.items.items[i].reason);
	if (refusals.items.count)
		fputc('\n', out);
	sn_refusals_free(&refusals);
}

static void refusals_write(const struct sn_view_input *input, struct sn_json *json)
{
	struct sn_refusals refusals;
	struct sn_arena arena = { 0 };

	sn_json_member_string(json, "warning", sn_global_warning(input->profile, &arena));
	sn_arena_free(&arena);
	sn_refusals_find(input->profile, input->structures, &refusals);
	sn_json_member_string(json, "variants_missing", refusals.run);
	sn_json_key(json, "loops_without_variants");
	sn_json_array(json);
	for (size_t i = 0; i < refusals.items.count; i++) {
		sn_json_object(json);
		sn_json_member_string(json, "reason", refusals.items.items[i].reason);
		sn_json_member_double(json, "share", refusals.items.items[i].share);
		sn_json_member_uint(json, "loops", refusals.items.items[i].loops);
		sn_json_close(json);
	}
	sn_json_close(json);
	sn_refusals_free(&refusals);
}

static const struct sn_explanation global_words[] = {
	{ "metric", "text",
	  "In 'show global': a figure of the whole run; speedup_ is how many times as fast it would be, in "
	  "elapsed time, if every loop (or its parallelism) were so.",
	  "value source" },
	{ "unit", "text", "What 'value' counts: s, share (0 to 1), threads, paths a loop, ratio.",
	  "value" },
	{ "loops_for_80_percent", "count",
	  "So many loops, those with most to gain first, bring 80 % of the program's gain.",
	  "metric value" },
	{ "basis_share", "share", "In 'show global': the share of CPU time that a figure rests on.",
	  "source" },
	{ "reason", "text",
	  "In 'show global': why there is no value; where there is an interval, the truth lies somewhere in "
	  "it. In 'show causal': why the verdict is unknown: too-short (too little CPU time), one-thread (the "
	  "profile says it all), "
	  "no-experiments, few-experiments or noise (more settle it), method (they do not), cut-off (later runs settle it), cpu-waits, late-pauses, sealed, "
	  "waits-below, slowed-code or too-often (no effect can be told).",
	  "value verdict" },
	{ 0 },
};

const struct sn_view sn_view_global = {
	.name = "global",
	.title = "the whole run in figures: code quality, and speed-ups in elapsed time",
	.needs = SN_VIEW_NEEDS_TIME | SN_VIEW_NEEDS_MACHINE,
	.schema = "sonde.global/1",
	.columns = global_columns,
	.column_count = sizeof(global_columns) / sizeof(*global_columns),
	.words = global_words,
	.text_columns = "metric,value,low,high,unit,loops_for_80_percent,source,basis_share",
	.page_title = "Global metrics",
	.page_group = "Overview",
	.has_sentences = true,
	.put_below = reasons_put,
	.put_foot = refusals_put,
	.write_members = refusals_write,
	.is_listing = true,
	.is_in_report = true,
	.takes_campaign = true,
	.fill = global_fill,
};
