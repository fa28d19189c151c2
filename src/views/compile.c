/* The view of how the code that took time was compiled, by compilation unit. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "code/options.h"
#include "views/compile.h"
#include "views/parts.h"
#include "whatif/global.h"

/* A unit, or all code of a module of which no unit is known, with its time. */
struct part {
	uint32_t module;
	const struct sn_unit *unit; /* NULL: not known */
	const char *options;	    /* text that has them; NULL: not recorded */
	uint64_t cpu_ns, samples, lineless_ns;
};

struct parts {
	SN_VEC(struct part) items;
	size_t first;	   /* of the module in hand */
	uint32_t *of_loop; /* by loop of the program: the part's number; SN_NONE */
};

static struct part *part_of(struct parts *parts, const struct part *want)
{
	for (size_t i = parts->first; i < parts->items.count; i++)
		if (parts->items.items[i].unit == want->unit)
			return &parts->items.items[i];
	sn_vec_push(&parts->items, *want);
	return &sn_vec_last(&parts->items);
}

static void place_add(struct parts *parts, const struct sn_view_input *input,
		      struct sn_structure *structure, const struct sn_program_place *place,
		      const struct sn_weight *weight)
{
	const struct sn_function *function =
		structure ? sn_structure_function_at(structure, place->link_addr) : NULL;
	struct part want = { .module = place->module, .unit = function ? function->unit : NULL };
	const char *options = structure ? sn_function_options(structure, function) : NULL;
	struct part *part;

	if (options && sn_has_options(options))
		want.options = options;
	part = part_of(parts, &want);
	if (place->loop != SN_NONE)
		parts->of_loop[place->loop] = (uint32_t)(part - parts->items.items);
	part->cpu_ns += weight->cpu_ns;
	part->samples += weight->samples;
	if (!input->profile->program->lines.items[place->line].line)
		part->lineless_ns += weight->cpu_ns;
}

static void module_add(struct parts *parts, const struct sn_view_input *input, uint32_t module)
{
	const struct sn_profile *profile = input->profile;
	struct sn_structure *structure =
		input->structures ? sn_structures_of(input->structures, module) : NULL;

	parts->first = parts->items.count;
	for (size_t i = 0; i < profile->program->places.count; i++) {
		const struct sn_program_place *place = &profile->program->places.items[i];

		if (place->module == module && profile->places[i].cpu_ns)
			place_add(parts, input, structure, place, &profile->places[i]);
	}
}

/* ---- the table ---- */

enum {
	C_MODULE,
	C_UNIT,
	C_COMPILER,
	C_OPTIONS,
	C_MISSING,
	C_CPU,
	C_SHARE,
	C_SAMPLES,
	C_GAIN,
	C_GAIN_LOW,
	C_GAIN_HIGH,
	C_GAIN_SOURCE,
	C_GAIN_FROM,
	C_BRINGS,
	C_OWN,
};

static const struct sn_column compile_columns[] = {
	{ "module", "module", SN_CELL_TEXT, 0 },
	{ "unit_file", "unit file", SN_CELL_TEXT, 0 },
	{ "compiler", "compiler", SN_CELL_TEXT, 0 },
	{ "options", "options", SN_CELL_TEXT, 0 },
	{ "compiled_without", "compiled without", SN_CELL_TEXT, 0 },
	{ "cpu_s", "CPU s", SN_CELL_SECONDS, 0 },
	{ "share", "share", SN_CELL_SHARE, 0 },
	{ "samples", "samples", SN_CELL_INT, 0 },
	{ "options_speedup", NULL, SN_CELL_REAL, 3 },
	{ "options_speedup_low", NULL, SN_CELL_REAL, 3 },
	{ "options_speedup_high", NULL, SN_CELL_REAL, 3 },
	{ "options_source", NULL, SN_CELL_TEXT, 0 },
	{ "options_from", NULL, SN_CELL_TEXT, 0 },
	{ "options_bring", "they bring", SN_CELL_TEXT, 0 },
	{ "own_code", NULL, SN_CELL_BOOL, 0 },
};

/* "GNU C17 12.2.0 -O2 ..." begins with the compiler. */
static size_t compiler_length(const char *producer)
{
	const char *options = strstr(producer, " -");

	return options ? (size_t)(options - producer) : strlen(producer);
}

static void compiler_set(struct sn_table *table, const struct part *part)
{
	const char *producer = part->unit ? part->unit->producer : NULL;
	const char *options = part->options;
	char *compiler;

	if (producer) {
		compiler = sn_strndup(producer, compiler_length(producer));
		sn_table_set_text(table, C_COMPILER, compiler);
		free(compiler);
	}
	if (!options)
		return;
	if (options == producer)
		options += compiler_length(producer) + 1;
	sn_table_set_text(table, C_OPTIONS, options);
}

/* Useful options that are missing, as bits; nothing is claimed of other compilers. */
static unsigned missing_of(const struct part *part)
{
	if (part->unit && !sn_takes_c_options(part->unit->producer))
		return 0;
	return sn_missing_options(part->options) |
	       (part->lineless_ns * 2 > part->cpu_ns ? 1U << SN_MISSING_LINES : 0);
}

/* What the model can say of: more vectors in code that is optimized. */
static bool is_for_vectors(unsigned missing)
{
	return missing & (1U << SN_MISSING_O3 | 1U << SN_MISSING_TARGET) &&
	       !(missing & 1U << SN_MISSING_LEVEL);
}

static void missing_set(struct sn_table *table, const struct part *part)
{
	unsigned missing = missing_of(part);
	struct sn_text words = { 0 };

	for (unsigned i = 0; i < SN_MISSING_COUNT; i++)
		if (missing & 1U << i)
			sn_text_addf(&words, "%s%s", words.length ? ", " : "",
				     sn_missing_option_words[i]);
	if (words.length)
		sn_table_set_text(table, C_MISSING, words.chars);
	sn_text_free(&words);
}

void sn_compile_set_gain(struct sn_table *table, size_t row, size_t first,
			 const struct sn_compile_gain *gain)
{
	struct sn_cell *cells = &table->cells.items[row * table->column_count + first];
	struct sn_text words = { 0 };

	if (isnan(gain->value))
		sn_text_addf(&words, "up to %.2fx, %s", gain->high, gain->source);
	else
		sn_text_addf(&words, "%.2fx", gain->value);
	if (!isnan(gain->value) && !isnan(gain->low) && !isnan(gain->high))
		sn_text_addf(&words, " [%.2f-%.2f]", gain->low, gain->high);
	else if (!isnan(gain->value) && !isnan(gain->low))
		sn_text_addf(&words, " [%.2f or more]", gain->low);
	if (gain->from)
		sn_text_addf(&words, " %s: %s", gain->source, gain->from);
	cells[C_GAIN] = (struct sn_cell){ .is_known = !isnan(gain->value), .real = gain->value };
	cells[C_GAIN_LOW] = (struct sn_cell){ .is_known = !isnan(gain->low), .real = gain->low };
	cells[C_GAIN_HIGH] = (struct sn_cell){ .is_known = !isnan(gain->high), .real = gain->high };
	cells[C_GAIN_SOURCE] = (struct sn_cell){ .is_known = true, .text = gain->source };
	cells[C_GAIN_FROM] = (struct sn_cell){
		.is_known = gain->from,
		.text = gain->from ? sn_arena_strdup(&table->arena, gain->from) : NULL,
	};
	cells[C_BRINGS] = (struct sn_cell){ .is_known = true,
					    .text = sn_arena_strdup(&table->arena, words.chars) };
	sn_text_free(&words);
}

/* By part, what full vectors in its loops would bring at most; NaN: not known. The caller frees. */
static double *highest_gains(const struct sn_view_input *input, const struct parts *parts)
{
	double *high = sn_alloc((parts->items.count + 1) * sizeof(*high));
	struct sn_whatif *own = NULL;

	for (size_t i = 0; i < parts->items.count; i++)
		high[i] = NAN;
	if (!input->whatif && input->machine && input->machine->machine && input->structures)
		own = sn_whatif_new(input->machine->machine, input->profile, input->structures,
				    SN_WHATIF_LOOPS_MAX);
	if (own || input->whatif)
		sn_global_vectors_of_groups(input->profile, own ? own : input->whatif,
					    parts->of_loop, parts->items.count, high);
	sn_whatif_free(own);
	return high;
}

static void part_row(const struct sn_view_input *input, struct sn_table *table,
		     const struct part *part, double highest_gain)
{
	const struct sn_module *module = &input->profile->experiment->modules.items[part->module];

	sn_table_add_row(table);
	sn_table_set_int(table, C_OWN, sn_module_class_is_chosen(sn_module_class_of(module)));
	sn_table_set_text(table, C_MODULE,
			  sn_program_module_name(input->profile->program, part->module));
	if (part->unit)
		sn_table_set_text(table, C_UNIT, part->unit->name);
	compiler_set(table, part);
	missing_set(table, part);
	sn_table_set_real(table, C_CPU, (double)part->cpu_ns / 1e9);
	sn_table_set_real(table, C_SHARE, sn_share(part->cpu_ns, input->profile->total.cpu_ns));
	sn_table_set_int(table, C_SAMPLES, (int64_t)part->samples);
	if (!isnan(highest_gain) && is_for_vectors(missing_of(part)))
		sn_compile_set_gain(
			table, table->row_count - 1, 0,
			&(struct sn_compile_gain){ NAN, 1, highest_gain, "static", NULL });
}

static sn_status compile_fill(const struct sn_view_input *input, struct sn_table *table,
			      struct sn_error *err)
{
	const struct sn_experiment *e = input->profile->experiment;
	size_t loops = input->profile->program->loops.count;
	struct parts parts = { .of_loop = sn_alloc((loops + 1) * sizeof(uint32_t)) };
	double *highest;

	(void)err;
	for (size_t l = 0; l < loops; l++)
		parts.of_loop[l] = SN_NONE;
	for (uint32_t m = 0; m < e->modules.count; m++)
		if (input->profile->modules[m].exclusive.cpu_ns &&
		    sn_module_class_of(&e->modules.items[m]) != SN_MODULE_CLASS_KERNEL)
			module_add(&parts, input, m);
	highest = highest_gains(input, &parts);
	for (size_t i = 0; i < parts.items.count; i++)
		part_row(input, table, &parts.items.items[i], highest[i]);
	free(highest);
	free(parts.of_loop);
	sn_vec_free(&parts.items);
	return SN_OK;
}

/* ---- for people ---- */

/* Less time than this is not worth a look; a gain below this is none. */
static const double share_least = 0.01, gain_least = 1.005;

static double real_at(const struct sn_cell *cell)
{
	return cell->is_known ? cell->real : NAN;
}

/* Comparisons are false where something is not known. */
static bool is_minor(const struct sn_table *table, size_t row, void *context)
{
	const size_t *first = context;
	const struct sn_cell *cells = &table->cells.items[row * table->column_count + *first];

	if (real_at(&cells[C_SHARE]) < share_least)
		return true;
	return !cells[C_OWN].integer && !(real_at(&cells[C_GAIN]) >= gain_least) &&
	       !(real_at(&cells[C_GAIN_HIGH]) >= gain_least);
}

static size_t count_minor(const struct sn_table *table, size_t first)
{
	size_t count = 0;

	for (size_t row = 0; row < table->row_count; row++)
		count += is_minor(table, row, &first);
	return count;
}

/* Of options that nobody has written down none is known to be missing. */
static void tell_unrecorded(struct sn_table *table, size_t first)
{
	for (size_t row = 0; row < table->row_count; row++) {
		struct sn_cell *cells = &table->cells.items[row * table->column_count + first];

		if (!cells[C_OPTIONS].is_known && !cells[C_MISSING].is_known)
			cells[C_MISSING] =
				(struct sn_cell){ .is_known = true, .text = "? (not recorded)" };
	}
}

void sn_compile_tidy(struct sn_table *table, size_t first, struct sn_text *sentence)
{
	size_t count = count_minor(table, first);

	tell_unrecorded(table, first);
	if (!count || count == table->row_count)
		return;
	sn_table_leave_out(table, is_minor, &first);
	sn_text_addf(
		sentence,
		"Left out: %zu row%s of less than 1 %% of the CPU time, or of libraries that no "
		"option would make faster: 'sonde show compile --all' has them",
		count, count == 1 ? "" : "s");
}

static const struct sn_explanation compile_words[] = {
	{ "unit_file", "text",
	  "The source file that was compiled, as given to the compiler; none where the module has no "
	  "debug information.",
	  NULL },
	{ "compiler", "text", "The compiler and its version, as the debug information names them.",
	  NULL },
	{ "compiled_without", "text",
	  "Useful options that the unit was compiled without: nothing is claimed where options are not "
	  "recorded, but for -g, whose lines are missing.",
	  "options" },
	{ "options_speedup", "ratio",
	  "In 'show compile' of a campaign: how many times as fast the whole program ran, in elapsed time, in the "
	  "configuration that has missing options of the unit ('options_from'). The bounds are a 95 % interval of it, "
	  "or, where 'options_source' is static, what the model says: from nothing to full vectors in the "
	  "unit's loops, with data in L1.",
	  "compiled_without" },
	{ "options_speedup_low", "ratio", "The lower bound of 'options_speedup'.",
	  "options_speedup" },
	{ "options_speedup_high", "ratio", "The upper bound of 'options_speedup'.",
	  "options_speedup" },
	{ "options_source", "text",
	  "Whether a run measured what the missing options bring, or the static model says it.",
	  "options_speedup" },
	{ "options_from", "text", "The configuration of the campaign that has the missing options.",
	  "options_speedup" },
	{ "options_bring", "text", "'options_speedup', its bounds and where it is from, in words.",
	  "options_speedup" },
	{ "own_code", "yes or no",
	  "Whether the module is the program, a library of its own, or one of the system that does the program's work, not the C "
	  "library, the loader or a runtime.",
	  NULL },
	{ "options", "text",
	  "How the unit was compiled, as far as the compiler has written it down: gcc does with -g, "
	  "clang with -grecord-command-line. Empty: not recorded.",
	  NULL },
	{ 0 },
};

const struct sn_view sn_view_compile = {
	.name = "compile",
	.title =
		"how the code that took time was compiled, by unit: compiler, options, missing ones",
	.needs = SN_VIEW_NEEDS_TIME | SN_VIEW_NEEDS_MACHINE,
	.schema = "sonde.compile/1",
	.columns = compile_columns,
	.column_count = sizeof(compile_columns) / sizeof(*compile_columns),
	.words = compile_words,
	.text_columns = "share,cpu_s,compiled_without,options_bring,compiler,module,unit_file",
	.sort = "cpu_s",
	.share_column = "share",
	.is_in_report = true,
	.takes_campaign = true,
	.fill = compile_fill,
	.tidy = sn_compile_tidy,
};
