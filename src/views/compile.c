/* The view of how the code that took time was compiled, by compilation unit. */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "code/options.h"
#include "views/parts.h"

/* A unit, or all code of a module of which no unit is known, with its time. */
struct part {
	uint32_t module;
	const struct sn_unit *unit; /* NULL: not known */
	const char *options;	    /* text that has them; NULL: not recorded */
	uint64_t cpu_ns, samples, lineless_ns;
};

struct parts {
	SN_VEC(struct part) items;
	size_t first; /* of the module in hand */
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

static void missing_set(struct sn_table *table, const struct part *part)
{
	unsigned missing = sn_missing_options(part->options);
	struct sn_text words = { 0 };

	if (part->unit && !sn_takes_c_options(part->unit->producer))
		return;
	if (part->lineless_ns * 2 > part->cpu_ns)
		missing |= 1U << SN_MISSING_LINES;
	for (unsigned i = 0; i < SN_MISSING_COUNT; i++)
		if (missing & 1U << i)
			sn_text_addf(&words, "%s%s", words.length ? ", " : "",
				     sn_missing_option_words[i]);
	if (words.length)
		sn_table_set_text(table, C_MISSING, words.chars);
	sn_text_free(&words);
}

static void part_row(const struct sn_view_input *input, struct sn_table *table,
		     const struct part *part)
{
	sn_table_add_row(table);
	sn_table_set_text(table, C_MODULE,
			  sn_program_module_name(input->profile->program, part->module));
	if (part->unit)
		sn_table_set_text(table, C_UNIT, part->unit->name);
	compiler_set(table, part);
	missing_set(table, part);
	sn_table_set_real(table, C_CPU, (double)part->cpu_ns / 1e9);
	sn_table_set_real(table, C_SHARE, sn_share(part->cpu_ns, input->profile->total.cpu_ns));
	sn_table_set_int(table, C_SAMPLES, (int64_t)part->samples);
}

static sn_status compile_fill(const struct sn_view_input *input, struct sn_table *table,
			      struct sn_error *err)
{
	const struct sn_experiment *e = input->profile->experiment;
	struct parts parts = { 0 };

	(void)err;
	for (uint32_t m = 0; m < e->modules.count; m++)
		if (input->profile->modules[m].exclusive.cpu_ns &&
		    sn_module_class_of(&e->modules.items[m]) != SN_MODULE_CLASS_KERNEL)
			module_add(&parts, input, m);
	for (size_t i = 0; i < parts.items.count; i++)
		part_row(input, table, &parts.items.items[i]);
	sn_vec_free(&parts.items);
	return SN_OK;
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
	.needs = SN_VIEW_NEEDS_TIME,
	.schema = "sonde.compile/1",
	.columns = compile_columns,
	.column_count = sizeof(compile_columns) / sizeof(*compile_columns),
	.words = compile_words,
	.text_columns = "share,cpu_s,compiled_without,compiler,module,unit_file",
	.sort = "cpu_s",
	.share_column = "share",
	.is_in_report = true,
	.fill = compile_fill,
};
