/* The views of the roofline: loops beside the roofs of their machine, and the roofs. */
#include "whatif/roofline.h"

#include <math.h>

#include "base/text.h"
#include "code/loop_columns.h"
#include "views/parts.h"

enum {
	R_LOOP,
	R_LABEL,
	R_FUNCTION,
	R_MODULE,
	R_SHARE,
	R_INTENSITY,
	R_INTENSITY_LOW,
	R_INTENSITY_HIGH,
	R_RATE,
	R_RATE_LOW,
	R_RATE_HIGH,
	R_SOURCE,
	R_FLOPS,
	R_BYTES,
	R_KIND,
	R_THREADS,
	R_ROOF,
	R_OF_ROOF,
	R_RAM_ROOF,
	R_BOUND_BY,
	R_ABOVE,
	R_POINTS,
	R_REASON,
};

static const struct sn_column roofline_columns[] = {
	{ "loop", NULL, SN_CELL_TEXT, 0 },
	{ "label", "loop", SN_CELL_TEXT, 0 },
	{ "function", "function", SN_CELL_TEXT, 0 },
	{ "module", NULL, SN_CELL_TEXT, 0 },
	{ "share", "share", SN_CELL_SHARE, 0 },
	{ "flop_per_byte", "FLOP/byte", SN_CELL_REAL, 3 },
	{ "flop_per_byte_low", "least", SN_CELL_REAL, 3 },
	{ "flop_per_byte_high", "most", SN_CELL_REAL, 3 },
	{ "flop_per_second", "FLOP/s", SN_CELL_RATE, 0 },
	{ "flop_per_second_low", "low", SN_CELL_RATE, 0 },
	{ "flop_per_second_high", "high", SN_CELL_RATE, 0 },
	{ "rate_source", "source", SN_CELL_TEXT, 0 },
	{ "flop_per_pass", NULL, SN_CELL_REAL, 2 },
	{ "bytes_per_pass", NULL, SN_CELL_REAL, 2 },
	{ "arithmetic", "arithmetic", SN_CELL_TEXT, 0 },
	{ "threads", NULL, SN_CELL_INT, 0 },
	{ "roof_flop_per_second", "roof", SN_CELL_RATE, 0 },
	{ "of_roof_share", "of roof", SN_CELL_SHARE, 0 },
	{ "ram_roof_flop_per_second", "roof from RAM", SN_CELL_RATE, 0 },
	{ "bound_by", "bound by", SN_CELL_TEXT, 0 },
	{ "is_above_roof", NULL, SN_CELL_BOOL, 0 },
	{ "points", NULL, SN_CELL_JSON, 0 },
	{ "reason", "why", SN_CELL_TEXT, 0 },
};

static void set_real(struct sn_table *table, size_t column, double value)
{
	if (!isnan(value) && !isinf(value))
		sn_table_set_real(table, column, value);
}

/* Where the loop stands at each level: at L1 alone it is known. */
static void set_points(struct sn_table *table, const struct sn_roofline_loop *row)
{
	struct sn_text text = { 0 };

	sn_text_add(&text, "[");
	if (!isnan(row->intensity))
		sn_text_addf(&text,
			     "{\"level\":\"L1\",\"flop_per_byte\":%.6g,\"source\":\"static\"}",
			     row->intensity);
	sn_text_add(&text, "]");
	sn_table_set_text(table, R_POINTS, text.chars);
	sn_text_free(&text);
}

static const struct sn_loop_columns *loop_columns(void)
{
	static struct sn_loop_columns found;
	static bool is_found;

	if (!is_found)
		found = sn_loop_columns_find(roofline_columns,
					     sizeof(roofline_columns) / sizeof(*roofline_columns));
	is_found = true;
	return &found;
}

static void row_add(struct sn_table *table, const struct sn_profile *profile,
		    const struct sn_roofline_loop *row)
{
	const struct sn_program *program = profile->program;
	const struct sn_program_loop *loop = &program->loops.items[row->loop];

	sn_table_add_row(table);
	sn_loop_columns_set(loop_columns(), table, loop->code);
	sn_table_set_text(table, R_FUNCTION, program->functions.items[loop->function].name);
	sn_table_set_text(table, R_MODULE, sn_program_module_name(program, loop->module));
	set_real(table, R_SHARE, row->share);
	set_real(table, R_INTENSITY, row->intensity);
	set_real(table, R_INTENSITY_LOW, row->intensity_low);
	set_real(table, R_INTENSITY_HIGH, row->intensity_high);
	set_real(table, R_RATE, row->rate);
	set_real(table, R_RATE_LOW, row->rate_low);
	set_real(table, R_RATE_HIGH, row->rate_high);
	sn_table_set_text(table, R_SOURCE, row->source);
	set_real(table, R_FLOPS, row->flops);
	set_real(table, R_BYTES, row->bytes);
	sn_table_set_text(table, R_KIND, sn_roof_kind_names[row->kind]);
	sn_table_set_int(table, R_THREADS, row->threads);
	set_real(table, R_ROOF, row->roof);
	set_real(table, R_OF_ROOF, row->rate / row->roof);
	set_real(table, R_RAM_ROOF, row->ram_roof);
	sn_table_set_text(table, R_BOUND_BY, row->bound_by);
	sn_table_set_int(table, R_ABOVE, row->is_above);
	set_points(table, row);
	sn_table_set_text(table, R_REASON, row->reason);
}

static sn_status roofline_fill(const struct sn_view_input *input, struct sn_table *table,
			       struct sn_error *err)
{
	struct sn_whatif *own = NULL;
	struct sn_roofline roofline;

	(void)err;
	if (!input->whatif && input->machine && input->machine->machine && input->structures)
		own = sn_whatif_new(input->machine->machine, input->profile, input->structures,
				    SN_ROOFLINE_LOOPS_MAX);
	sn_roofline_find(input->profile, input->structures, own ? own : input->whatif, &roofline);
	for (size_t i = 0; i < roofline.loops.count; i++)
		row_add(table, input->profile, &roofline.loops.items[i]);
	sn_roofline_free(&roofline);
	sn_whatif_free(own);
	return SN_OK;
}

static void roofline_why_empty(const struct sn_view_input *input, struct sn_text *out)
{
	if (input->machine && !input->machine->machine)
		sn_text_add(out, input->machine->absence.sentence);
	else
		sn_text_add(out,
			    "no loop with a thousandth of the time does floating-point arithmetic");
}

static void write_real(struct sn_json *json, const char *key, double value)
{
	if (isnan(value))
		sn_json_member_null(json, key);
	else
		sn_json_member_double(json, key, value);
}

static void write_roof(struct sn_json *json, const struct sn_roof *roof)
{
	sn_json_object(json);
	sn_json_member_string(json, "kind", sn_roof_kind_names[roof->kind]);
	sn_json_member_string(json, "level", sn_roof_level_name(roof));
	sn_json_member_uint(json, "threads", roof->threads);
	write_real(json, "value", roof->value);
	write_real(json, "low", roof->low);
	write_real(json, "high", roof->high);
	sn_json_member_string(json, "unit", sn_roof_level_name(roof) ? "B/s" : "FLOP/s");
	sn_json_member_string(json, "source", "calibrate");
	sn_json_member_string(json, "state", sn_roof_state_names[roof->state]);
	sn_json_close(json);
}

static void members_write(const struct sn_view_input *input, struct sn_json *json)
{
	struct sn_arena arena = { 0 };
	struct sn_roofs roofs;
	const char *absent = sn_roofline_roofs(input->profile->experiment, &arena, &roofs);

	sn_json_member_string(json, "ceilings_missing", absent);
	sn_json_key(json, "ceilings");
	sn_json_array(json);
	for (size_t i = 0; i < roofs.items.count; i++)
		write_roof(json, &roofs.items.items[i]);
	sn_json_close(json);
	sn_roofs_free(&roofs);
	sn_arena_free(&arena);
}

static void foot_put(const struct sn_view_input *input, FILE *out)
{
	struct sn_arena arena = { 0 };
	struct sn_roofs roofs;
	const char *absent = sn_roofline_roofs(input->profile->experiment, &arena, &roofs);

	fputs("FLOP and bytes are those of the loop's own loads and stores, at L1; which come from "
	      "farther away is not known without hardware counters\n",
	      out);
	if (absent)
		fprintf(out, "%s\n", absent);
	sn_roofs_free(&roofs);
	sn_arena_free(&arena);
}

static const char *text_of(const struct sn_table *table, size_t row, size_t column)
{
	const struct sn_cell *cell = &table->cells.items[row * table->column_count + column];

	return cell->is_known ? cell->text : NULL;
}

static void reasons_put(const struct sn_table *table, FILE *out)
{
	enum { MOST = 10 };

	for (size_t row = 0; row < table->row_count && row < MOST; row++)
		if (text_of(table, row, R_REASON))
			fprintf(out, "%s: %s\n", text_of(table, row, R_LABEL),
				text_of(table, row, R_REASON));
}

static const struct sn_explanation roofline_words[] = {
	{ "flop_per_byte", "ratio",
	  "Floating-point operations for each byte that a loop's own instructions load or store (its "
	  "intensity at L1). From the code, weighed by the paths that samples saw.",
	  "flop_per_byte_low flop_per_second" },
	{ "flop_per_byte_low", "ratio", "The intensity of the path with the least.",
	  "flop_per_byte" },
	{ "flop_per_byte_high", "ratio", "The intensity of the path with the most.",
	  "flop_per_byte" },
	{ "flop_per_second", "rate",
	  "Floating-point operations a second of one thread while it runs in the loop.",
	  "rate_source" },
	{ "flop_per_second_low", "rate", "The low end of flop_per_second: slower passes.",
	  "flop_per_second" },
	{ "flop_per_second_high", "rate", "The high end of flop_per_second: faster passes.",
	  "flop_per_second" },
	{ "rate_source", "text",
	  "Where passes a second come from: counted (sonde vprof) or paced (a counter in registers, "
	  "between two samples).",
	  "flop_per_second" },
	{ "flop_per_pass", "count",
	  "Floating-point operations of a pass over the loop's machine code.", "bytes_per_pass" },
	{ "bytes_per_pass", "bytes", "Bytes that a pass loads and stores, at L1.",
	  "flop_per_pass" },
	{ "arithmetic", "text",
	  "The kind of arithmetic that the loop's instructions do: scalar, vector, fma; double or "
	  "single. Its roof is of that kind.",
	  "roof_flop_per_second" },
	{ "roof_flop_per_second", "rate",
	  "What the loop could do at most at its intensity: the roof of its arithmetic, or of L1's "
	  "bandwidth if that is lower.",
	  "of_roof_share" },
	{ "of_roof_share", "share", "The loop's rate as a part of its roof.",
	  "roof_flop_per_second" },
	{ "ram_roof_flop_per_second", "rate",
	  "What the loop could do at most if all its bytes came from RAM.",
	  "roof_flop_per_second" },
	{ "bound_by", "text",
	  "The roof that holds the loop: a kind of arithmetic, L1, or RAM; nothing where that is not "
	  "known.",
	  "reason" },
	{ "is_above_roof", "yes/no",
	  "The loop is faster than its roof: the roof was measured too low, or a count is wrong.",
	  "roof_flop_per_second" },
	{ 0 },
};

const struct sn_view sn_view_roofline = {
	.name = "roofline",
	.title = "loops beside what this machine can do at most",
	.needs = SN_VIEW_NEEDS_TIME | SN_VIEW_NEEDS_MACHINE,
	.schema = "sonde.roofline/1",
	.columns = roofline_columns,
	.column_count = sizeof(roofline_columns) / sizeof(*roofline_columns),
	.words = roofline_words,
	.text_columns = "share,flop_per_byte,flop_per_second,roof_flop_per_second,of_roof_share,"
			"ram_roof_flop_per_second,bound_by,arithmetic,label,function",
	.share_column = "share",
	.page_title = "Roofline",
	.page_group = "Why",
	.has_sentences = true,
	.is_in_report = true,
	.fill = roofline_fill,
	.why_empty = roofline_why_empty,
	.write_members = members_write,
	.put_foot = foot_put,
	.put_below = reasons_put,
};

/* ---- the roofs ---- */

static const struct sn_column roofs_columns[] = {
	{ "kind", "roof", SN_CELL_TEXT, 0 },	  { "level", "level", SN_CELL_TEXT, 0 },
	{ "threads", "threads", SN_CELL_INT, 0 }, { "value", "a second", SN_CELL_RATE, 0 },
	{ "low", "low", SN_CELL_RATE, 0 },	  { "high", "high", SN_CELL_RATE, 0 },
	{ "unit", "unit", SN_CELL_TEXT, 0 },	  { "state", "state", SN_CELL_TEXT, 0 },
};

static sn_status roofs_fill(const struct sn_view_input *input, struct sn_table *table,
			    struct sn_error *err)
{
	struct sn_arena arena = { 0 };
	struct sn_roofs roofs;

	(void)err;
	sn_roofline_roofs(input->profile->experiment, &arena, &roofs);
	for (size_t i = 0; i < roofs.items.count; i++) {
		const struct sn_roof *roof = &roofs.items.items[i];

		sn_table_add_row(table);
		sn_table_set_text(table, 0, sn_roof_kind_names[roof->kind]);
		sn_table_set_text(table, 1, sn_roof_level_name(roof));
		sn_table_set_int(table, 2, roof->threads);
		set_real(table, 3, roof->value);
		set_real(table, 4, roof->low);
		set_real(table, 5, roof->high);
		sn_table_set_text(table, 6, sn_roof_level_name(roof) ? "B/s" : "FLOP/s");
		sn_table_set_text(table, 7, sn_roof_state_names[roof->state]);
	}
	sn_roofs_free(&roofs);
	sn_arena_free(&arena);
	return SN_OK;
}

static void roofs_why_empty(const struct sn_view_input *input, struct sn_text *out)
{
	struct sn_arena arena = { 0 };
	struct sn_roofs roofs;
	const char *absent = sn_roofline_roofs(input->profile->experiment, &arena, &roofs);

	if (absent)
		sn_text_add(out, absent);
	sn_roofs_free(&roofs);
	sn_arena_free(&arena);
}

const struct sn_view sn_view_roofs = {
	.name = "roofs",
	.title = "what the machine of the run can do at most, a second (sonde calibrate)",
	.schema = "sonde.roofs/1",
	.columns = roofs_columns,
	.column_count = sizeof(roofs_columns) / sizeof(*roofs_columns),
	.page_title = "Roofs",
	.page_group = "",
	.is_listing = true,
	.is_never_empty = true,
	.is_in_report = true,
	.fill = roofs_fill,
	.why_empty = roofs_why_empty,
};
