/* What-if by what was measured: the gains of one variant, added up over the loops (sonde decan). */
#include "whatif/measured.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "views/empty.h"
#include "views/view.h"
#include "views/whatif.h"

enum {
	M_RANK,
	M_SHARE,
	M_LOW,
	M_SPEEDUP,
	M_HIGH,
	M_PROGRAM,
	M_SAVED,
	M_CUMULATIVE_LOW,
	M_CUMULATIVE,
	M_CUMULATIVE_HIGH,
	M_STATE,
	M_LABEL,
	M_FUNCTION,
	M_COUNTED_WITH,
	M_LOOP,
	M_MODULE,
	M_FILE,
	M_COUNT
};

#define COLUMNS(V)                                                                                 \
	{                                                                                          \
		{ V "_rank", "#", SN_CELL_INT, 0 },                                                \
			{ "coverage_share", "time", SN_CELL_SHARE, 0 },                            \
			{ V "_speedup_low", "at least", SN_CELL_REAL, 2 },                         \
			{ V "_speedup", "loop", SN_CELL_REAL, 2 },                                 \
			{ V "_speedup_high", "at most", SN_CELL_REAL, 2 },                         \
			{ V "_program_speedup", "program", SN_CELL_REAL, 3 },                      \
			{ V "_saved_share", "saves", SN_CELL_SHARE, 0 },                           \
			{ V "_cumulative_speedup_low", NULL, SN_CELL_REAL, 3 },                    \
			{ V "_cumulative_speedup", "all so far", SN_CELL_REAL, 3 },                \
			{ V "_cumulative_speedup_high", NULL, SN_CELL_REAL, 3 },                   \
			{ V "_state", "state", SN_CELL_TEXT, 0 },                                  \
			{ "label", "loop of", SN_CELL_TEXT, 0 },                                   \
			{ "function", "function", SN_CELL_TEXT, 0 },                               \
			{ "counted_with", "counted with", SN_CELL_TEXT, 0 },                       \
			{ "loop", NULL, SN_CELL_TEXT, 0 }, { "module", NULL, SN_CELL_TEXT, 0 },    \
		{                                                                                  \
			"file", NULL, SN_CELL_TEXT, 0                                              \
		}                                                                                  \
	}

static const struct sn_column columns[SN_VARIANTS][M_COUNT] = {
	[SN_VARIANT_LS] = COLUMNS("ls"),       [SN_VARIANT_FP] = COLUMNS("fp"),
	[SN_VARIANT_ARITH] = COLUMNS("arith"), [SN_VARIANT_DL1] = COLUMNS("dl1"),
	[SN_VARIANT_PF] = COLUMNS("pf"),
};

/* "If all loops were so" */
static const char *const conditions[SN_VARIANTS] = {
	[SN_VARIANT_LS] = "the arithmetic of loops were free",
	[SN_VARIANT_FP] = "loads and stores of floating-point loops were free",
	[SN_VARIANT_ARITH] = "loads and stores of integer loops were free",
	[SN_VARIANT_DL1] = "the data of loops were in first-level cache",
	[SN_VARIANT_PF] = "loops had the prefetches of PF",
};

bool sn_whatif_measured_find(const char *name, enum sn_decan_variant *out)
{
	for (int v = 0; name && v < SN_VARIANTS; v++)
		if (conditions[v] && !strcmp(name, sn_loop_variant_names[v])) {
			*out = (enum sn_decan_variant)v;
			return true;
		}
	return false;
}

static void add_row(const struct sn_program *program, const struct sn_measured_loop *row,
		    const struct sn_variant_figure *figure, struct sn_table *table)
{
	const struct sn_program_loop *loop = &program->loops.items[row->variants->loop];

	sn_table_add_row(table);
	if (row->rank)
		sn_table_set_int(table, M_RANK, (int64_t)row->rank);
	sn_table_set_real(table, M_SHARE, row->variants->coverage);
	sn_table_set_real(table, M_LOW, figure->speedup_range.low);
	sn_table_set_real(table, M_SPEEDUP, figure->speedup);
	sn_table_set_real(table, M_HIGH, figure->speedup_range.high);
	sn_table_set_real(table, M_PROGRAM, figure->program_speedup);
	sn_table_set_real(table, M_SAVED, row->saved);
	sn_table_set_real(table, M_CUMULATIVE_LOW, row->cumulative_range.low);
	sn_table_set_real(table, M_CUMULATIVE, row->cumulative);
	sn_table_set_real(table, M_CUMULATIVE_HIGH, row->cumulative_range.high);
	sn_table_set_text(table, M_STATE, sn_variant_state_name(figure));
	sn_table_set_text(table, M_LABEL, loop->code->label);
	sn_table_set_text(table, M_FUNCTION, program->functions.items[loop->function].name);
	if (row->counted_with != SN_NONE)
		sn_table_set_text(table, M_COUNTED_WITH,
				  program->loops.items[row->counted_with].code->id);
	sn_table_set_text(table, M_LOOP, loop->code->id);
	sn_table_set_text(table, M_MODULE, sn_program_module_name(program, loop->module));
	sn_table_set_text(table, M_FILE, loop->code->file);
}

struct measured {
	enum sn_decan_variant variant;
	struct sn_measured_curve curve;
};

static void write_members(struct sn_json *json, void *context)
{
	const struct measured *m = context;

	sn_json_member_string(json, "variant", sn_loop_variant_names[m->variant]);
	sn_json_member_double(json, "measured_share", m->curve.measured_share);
	sn_json_member_double(json, "speedup", m->curve.speedup);
	sn_json_member_double(json, "speedup_low", m->curve.range.low);
	sn_json_member_double(json, "speedup_high", m->curve.range.high);
	sn_json_member_uint(json, "loops", m->curve.count);
	sn_json_member_uint(json, "loops_for_80_percent", m->curve.loops_for_80_percent);
}

static void print_total(const struct measured *m, FILE *out)
{
	const struct sn_measured_curve *c = &m->curve;

	if (isnan(c->speedup)) {
		fprintf(out,
			"What the program would gain if %s is not known: no sample fell in the "
			"loops in which it was timed.\n\n",
			conditions[m->variant]);
		return;
	}
	fprintf(out, "If %s, the program were %.2fx as fast (95 %%: %.2f-%.2f).\n",
		conditions[m->variant], c->speedup, c->range.low, c->range.high);
	fprintf(out, "It was measured in loops of %.1f %% of CPU time", 100 * c->measured_share);
	if (c->count)
		fprintf(out, "; %zu of %zu loops bring 80 %% of the gain", c->loops_for_80_percent,
			c->count);
	fputs(".\n\n", out);
}

static void print_withheld(const struct sn_program *program, const struct sn_variants_list *list,
			   enum sn_decan_variant variant, FILE *out)
{
	for (size_t i = 0; i < list->count; i++)
		if (list->items[i].exponent < 0 &&
		    list->items[i].figures[variant].state == SN_VARIANT_WITHHELD)
			fprintf(out, "%s is left out: %s.\n\n",
				program->loops.items[list->items[i].loop].code->label,
				list->items[i].withheld);
}

static sn_status tell_nothing(const struct sn_view_input *input, const struct measured *m,
			      struct sn_error *err)
{
	const struct sn_table_view all = { 0 };
	const struct sn_table none = { 0 };
	struct sn_text reason = { 0 };
	const struct sn_view *variants = sn_view_find("variants");
	const char *withheld = NULL;
	struct sn_variants_list list;
	sn_status status;

	sn_variants_find(input->profile, input->structures, &list);
	for (size_t i = 0; i < list.count && !withheld; i++)
		withheld = list.items[i].withheld;
	if (withheld)
		sn_text_addf(&reason, "gains are withheld: %s", withheld);
	else if (list.count)
		sn_text_addf(&reason,
			     "%s was timed in no loop of this run: 'sonde show variants --cols "
			     "label,%s_state' says why",
			     sn_loop_variant_names[m->variant], sn_loop_variant_names[m->variant]);
	else
		sn_view_why_empty(variants, input, &none, &all, &reason);
	status = sn_view_tell_empty(variants, input, reason.chars, err);
	sn_variants_free(&list);
	sn_text_free(&reason);
	return status;
}

sn_status sn_whatif_measured_show(const struct sn_view_input *input, enum sn_decan_variant variant,
				  struct sn_table_view *how, FILE *out, struct sn_error *err)
{
	const struct sn_program *program = input->profile->program;
	struct measured m = { .variant = variant };
	struct sn_variants_list list;
	struct sn_table table;
	sn_status status;

	sn_variants_find(input->profile, input->structures, &list);
	sn_measured_curve_find(program, &list, variant, &m.curve);
	sn_table_init(&table, columns[variant], M_COUNT);
	for (size_t i = 0; i < m.curve.loops.count; i++)
		add_row(program, &m.curve.loops.items[i],
			&m.curve.loops.items[i].variants->figures[variant], &table);
	if (how->format == SN_FORMAT_TEXT && table.row_count) {
		print_total(&m, out);
		print_withheld(program, &list, m.variant, out);
	}
	how->schema = SN_WHATIF_MEASURED_SCHEMA;
	how->share_column = NULL; /* loops hold each other: their shares do not add up */
	status = sn_table_write(&table, how, out, write_members, &m, err);
	if (status == SN_OK && !table.row_count)
		status = tell_nothing(input, &m, err);
	sn_table_free(&table);
	sn_measured_curve_free(&m.curve);
	sn_variants_free(&list);
	return status;
}
