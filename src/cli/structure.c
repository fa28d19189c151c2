/* sonde structure: functions, loops and lines of a binary, as every analysis sees them. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/text.h"
#include "cli/command.h"
#include "code/names.h"
#include "code/image.h"
#include "code/loop_columns.h"
#include "code/structure.h"
#include "code/variables.h"
#include "search/sir/sir.h"
#include "record/target.h"
#include "rewrite/rewrite.h"

enum { LIST_LOOPS, LIST_FUNCTIONS, LIST_BLOCKS, LIST_REWRITABLE, LIST_FRAMES };

static const struct sn_column loop_columns[] = { SN_LOOP_NAMES(SN_LOOP_COLUMN)
							 SN_LOOP_SHAPE(SN_LOOP_COLUMN) };

static const struct sn_column function_columns[] = {
	{ "function", "Function", SN_CELL_TEXT, 0 },
	{ "linkage_name", NULL, SN_CELL_TEXT, 0 },
	{ "kind", NULL, SN_CELL_TEXT, 0 },
	{ "file", "File", SN_CELL_TEXT, 0 },
	{ "line", "Line", SN_CELL_INT, 0 },
	{ "link_addr", NULL, SN_CELL_INT, 0 },
	{ "size_bytes", "Bytes", SN_CELL_INT, 0 },
	{ "range_count", "Parts", SN_CELL_INT, 0 },
	{ "block_count", "Blocks", SN_CELL_INT, 0 },
	{ "loop_count", "Loops", SN_CELL_INT, 0 },
	{ "inline_count", "Inlined", SN_CELL_INT, 0 },
	{ "never_returns", NULL, SN_CELL_BOOL, 0 },
	{ "compiler", NULL, SN_CELL_TEXT, 0 },
};

static const struct sn_column block_columns[] = {
	{ "function", "Function", SN_CELL_TEXT, 0 },
	{ "link_addr", "Address", SN_CELL_INT, 0 },
	{ "size_bytes", "Bytes", SN_CELL_INT, 0 },
	{ "instruction_count", "Instructions", SN_CELL_INT, 0 },
	{ "loop", "Loop", SN_CELL_TEXT, 0 },
	{ "successors", "Successors", SN_CELL_TEXT, 0 },
	{ "ends", "Ends in", SN_CELL_TEXT, 0 },
	{ "speculative", NULL, SN_CELL_BOOL, 0 },
	{ "proved", NULL, SN_CELL_BOOL, 0 },
};

static const struct sn_column rewritable_columns[] = {
	SN_LOOP_NAMES(SN_LOOP_COLUMN){ "header_link_addr", NULL, SN_CELL_INT, 0 },
	{ "instances", "Instances", SN_CELL_BOOL, 0 },
	{ "why_not", "Why not: because", SN_CELL_TEXT, 0 },
	/* by enum sn_decan_variant, from LS on */
	{ "ls", "LS", SN_CELL_BOOL, 0 },
	{ "why_not_ls", NULL, SN_CELL_TEXT, 0 },
	{ "fp", "FP", SN_CELL_BOOL, 0 },
	{ "why_not_fp", NULL, SN_CELL_TEXT, 0 },
	{ "arith", "ARITH", SN_CELL_BOOL, 0 },
	{ "why_not_arith", NULL, SN_CELL_TEXT, 0 },
	{ "dl1", "DL1", SN_CELL_BOOL, 0 },
	{ "why_not_dl1", NULL, SN_CELL_TEXT, 0 },
	{ "fes", "FES", SN_CELL_BOOL, 0 },
	{ "why_not_fes", NULL, SN_CELL_TEXT, 0 },
	{ "pf", "PF", SN_CELL_BOOL, 0 },
	{ "why_not_pf", NULL, SN_CELL_TEXT, 0 },
	{ "trace", "Trace", SN_CELL_BOOL, 0 },
	{ "why_not_trace", NULL, SN_CELL_TEXT, 0 },
};

static const struct sn_column frame_columns[] = {
	{ "link_addr", "Address", SN_CELL_INT, 0 },  { "level", "Level", SN_CELL_INT, 0 },
	{ "function", "Function", SN_CELL_TEXT, 0 }, { "file", "File", SN_CELL_TEXT, 0 },
	{ "line", "Line", SN_CELL_INT, 0 },	     { "inlined", "Inlined", SN_CELL_BOOL, 0 },
	{ "loop", NULL, SN_CELL_TEXT, 0 },
};

static void set_line(struct sn_table *table, size_t column, uint32_t line)
{
	if (line)
		sn_table_set_int(table, column, line);
}

static void function_row(struct sn_table *table, const struct sn_function *function)
{
	static const char *const kinds[] = { "symbol", "plt", "fde", "gap" };

	sn_table_add_row(table);
	sn_table_set_text(table, 0, function->name);
	sn_table_set_text(table, 1, function->linkage_name);
	sn_table_set_text(table, 2, kinds[function->kind]);
	sn_table_set_text(table, 3, function->file);
	set_line(table, 4, function->line);
	sn_table_set_int(table, 5, (int64_t)function->link_addr);
	sn_table_set_int(table, 6, (int64_t)function->size_bytes);
	sn_table_set_int(table, 7, function->range_count);
	sn_table_set_int(table, 8, function->block_count);
	sn_table_set_int(table, 9, function->loop_count);
	sn_table_set_int(table, 10, function->inline_count);
	sn_table_set_int(table, 11, function->never_returns);
	if (function->unit)
		sn_table_set_text(table, 12, function->unit->producer);
}

static const char *block_end(uint32_t flags)
{
	if (flags & SN_BLOCK_RETURNS)
		return "return";
	if (flags & SN_BLOCK_NO_RETURN)
		return "stop";
	if (flags & SN_BLOCK_UNRESOLVED)
		return "unresolved jump";
	if (flags & SN_BLOCK_INDIRECT)
		return "jump table";
	if (flags & SN_BLOCK_LEAVES)
		return "tail call";
	return "block";
}

static void block_rows(struct sn_table *table, const struct sn_function *function)
{
	for (uint32_t b = 0; b < function->block_count; b++) {
		const struct sn_block *block = &function->blocks[b];
		struct sn_text successors = { 0 };

		sn_table_add_row(table);
		sn_table_set_text(table, 0, function->name);
		sn_table_set_int(table, 1, (int64_t)block->link_addr);
		sn_table_set_int(table, 2, block->size_bytes);
		sn_table_set_int(table, 3, block->instruction_count);
		if (block->loop >= 0)
			sn_table_set_text(table, 4, function->loops[block->loop].id);
		for (uint32_t e = 0; e < block->successor_count; e++) {
			uint32_t to = function->successors[block->first_successor + e];

			sn_text_addf(&successors, "%s%" PRIx64, e ? " " : "",
				     function->blocks[to].link_addr);
		}
		sn_table_set_text(table, 5, successors.chars);
		sn_table_set_text(table, 6, block_end(block->flags));
		sn_table_set_int(table, 7, (block->flags & SN_BLOCK_SPECULATIVE) != 0);
		if (block->flags & SN_BLOCK_INDIRECT)
			sn_table_set_int(table, 8, (block->flags & SN_BLOCK_PROVED) != 0);
		sn_text_free(&successors);
	}
}

static void frame_rows(struct sn_table *table, struct sn_structure *structure, uint64_t link_addr)
{
	static struct sn_location location; /* large */

	if (!sn_structure_locate(structure, link_addr, &location)) {
		sn_table_add_row(table);
		sn_table_set_int(table, 0, (int64_t)link_addr);
		return;
	}
	for (uint32_t i = 0; i < location.frame_count; i++) {
		const struct sn_source_frame *frame = &location.frames[i];

		sn_table_add_row(table);
		sn_table_set_int(table, 0, (int64_t)link_addr);
		sn_table_set_int(table, 1, i);
		sn_table_set_text(table, 2, frame->name);
		sn_table_set_text(table, 3, frame->file);
		set_line(table, 4, frame->line);
		sn_table_set_int(table, 5, frame->is_inlined);
		if (location.loop)
			sn_table_set_text(table, 6, location.loop->id);
	}
}

static void loop_rows(struct sn_table *table, const struct sn_loop_columns *where,
		      const struct sn_function *function)
{
	for (uint32_t l = 0; l < function->loop_count; l++) {
		sn_table_add_row(table);
		sn_loop_columns_set(where, table, &function->loops[l]);
	}
}

/* What each loop can have of what runs copies of loops. */
static void rewritable_rows(struct sn_table *table, const struct sn_loop_columns *where,
			    struct sn_structure *structure, struct sn_rewriter *rewriter,
			    const struct sn_function *function)
{
	enum {
		VARIANTS = SN_VARIANTS - SN_VARIANT_LS,
		TRACE = sizeof(rewritable_columns) / sizeof(*rewritable_columns) - 2,
		INSTANCES = TRACE - 2 * VARIANTS - 2,
	};

	for (uint32_t l = 0; l < function->loop_count; l++) {
		/* without a rewriter it is a program that nothing can be inserted into */
		const char *why_not = rewriter ? sn_rewriter_refusal(rewriter, &function->loops[l])
					       : "its program is linked statically";
		const char *why[SN_VARIANTS];

		sn_table_add_row(table);
		sn_loop_columns_set(where, table, &function->loops[l]);
		sn_table_set_int(table, INSTANCES, why_not == NULL);
		sn_table_set_text(table, INSTANCES + 1, why_not);
		if (!why_not)
			sn_loop_variants_judge(structure, &function->loops[l], why);
		for (int v = 0; v < VARIANTS; v++) {
			const char *not_this = why_not ? why_not : why[SN_VARIANT_LS + v];
			size_t column = (size_t)INSTANCES + 2 + 2 * (size_t)v;

			sn_table_set_int(table, column, not_this == NULL);
			sn_table_set_text(table, column + 1, not_this);
		}
		if (!why_not)
			why_not = sn_loop_recorder_refusal(structure, &function->loops[l]);
		sn_table_set_int(table, TRACE, why_not == NULL);
		sn_table_set_text(table, TRACE + 1, why_not);
	}
}

/* How well the functions fit that fit best; at least a little. */
static enum sn_name_match best_match(const struct sn_structure *structure, const char *wanted)
{
	enum sn_name_match best = SN_NAME_PLAIN;

	for (size_t i = 0; i < sn_structure_function_count(structure); i++) {
		const struct sn_function *f = sn_structure_function(structure, i);
		enum sn_name_match match = sn_name_match_of(f->name, f->linkage_name, wanted);

		best = match > best ? match : best;
	}
	return best;
}

static bool has_function(const struct sn_structure *structure, const char *wanted)
{
	for (size_t i = 0; i < sn_structure_function_count(structure); i++) {
		const struct sn_function *f = sn_structure_function(structure, i);

		if (sn_name_match_of(f->name, f->linkage_name, wanted))
			return true;
	}
	return false;
}

static void function_rows(struct sn_table *table, struct sn_structure *structure,
			  struct sn_rewriter *rewriter, int list, const char *only)
{
	const enum sn_name_match least = only ? best_match(structure, only) : SN_NAME_NONE;
	struct sn_loop_columns where = sn_loop_columns_find(table->columns, table->column_count);

	for (size_t i = 0; i < sn_structure_function_count(structure); i++) {
		const struct sn_function *function = sn_structure_function(structure, i);

		if (only && sn_name_match_of(function->name, function->linkage_name, only) < least)
			continue;
		if (only)
			sn_function_prepare(structure, function, SN_PREPARE_ALL);
		if (list == LIST_FUNCTIONS)
			function_row(table, function);
		else if (list == LIST_BLOCKS)
			block_rows(table, function);
		else if (list == LIST_REWRITABLE)
			rewritable_rows(table, &where, structure, rewriter, function);
		else
			loop_rows(table, &where, function);
	}
}

/* Addresses in hex, one a line of a file or of standard input: "-". */
static sn_status read_addresses(const char *path, struct sn_structure *structure,
				struct sn_table *table, struct sn_error *err)
{
	FILE *in = strcmp(path, "-") != 0 ? fopen(path, "re") : stdin;
	SN_VEC(uint64_t) addrs = { 0 };
	char line[256];

	if (!in)
		return sn_error_errno(err, "cannot open '%s'", path);
	while (fgets(line, sizeof(line), in)) {
		char *end;
		uint64_t addr = strtoull(line, &end, 16);

		if (end != line)
			sn_vec_push(&addrs, addr);
	}
	if (in != stdin)
		fclose(in);
	sn_structure_prepare(structure, addrs.items, addrs.count, SN_PREPARE_ALL);
	for (size_t i = 0; i < addrs.count; i++)
		frame_rows(table, structure, addrs.items[i]);
	sn_vec_free(&addrs);
	return SN_OK;
}

static int list_of(const struct sn_args *args)
{
	const char *list = sn_args_value(args, "list");

	if (sn_args_value(args, "addresses"))
		return LIST_FRAMES;
	if (!list || !strcmp(list, "loops"))
		return LIST_LOOPS;
	if (!strcmp(list, "rewritable"))
		return LIST_REWRITABLE;
	return !strcmp(list, "functions") ? LIST_FUNCTIONS : LIST_BLOCKS;
}

/* The whole module as XML for search tools. */
static sn_status print_sir(struct sn_image *image, struct sn_structure *structure)
{
	struct sn_variables *variables = NULL;
	struct sn_error err;

	sn_structure_prepare_all(structure, SN_PREPARE_ALL);
	if (sn_variables_read(image, &variables, &err) != SN_OK)
		sn_warn("%s; there are no arrays and no lines", err.sentence);
	sn_sir_write(structure, variables, stdout);
	sn_variables_free(variables);
	return SN_OK;
}

static sn_status print_structure(const struct sn_args *args, struct sn_structure *structure,
				 struct sn_rewriter *rewriter, struct sn_error *err)
{
	static const struct {
		const struct sn_column *columns;
		size_t count;
		const char *schema;
	} lists[] = {
		[LIST_LOOPS] = { loop_columns, sizeof(loop_columns) / sizeof(*loop_columns),
				 "sonde.structure-loops/1" },
		[LIST_FUNCTIONS] = { function_columns,
				     sizeof(function_columns) / sizeof(*function_columns),
				     "sonde.structure-functions/1" },
		[LIST_BLOCKS] = { block_columns, sizeof(block_columns) / sizeof(*block_columns),
				  "sonde.structure-blocks/1" },
		[LIST_REWRITABLE] = { rewritable_columns,
				      sizeof(rewritable_columns) / sizeof(*rewritable_columns),
				      "sonde.structure-rewritable/1" },
		[LIST_FRAMES] = { frame_columns, sizeof(frame_columns) / sizeof(*frame_columns),
				  "sonde.structure-frames/1" },
	};
	int list = list_of(args);
	const char *only = sn_args_value(args, "function");
	struct sn_table_view view = { .schema = lists[list].schema, .whole_column = "why_not" };
	struct sn_table table;
	sn_status status = sn_args_table_view(args, &view, err);

	if (status != SN_OK)
		return status;
	if (sn_structure_warning(structure))
		sn_warn("'%s': %s", sn_structure_path(structure), sn_structure_warning(structure));
	sn_table_init(&table, lists[list].columns, lists[list].count);
	if (list == LIST_FRAMES) {
		status = read_addresses(sn_args_value(args, "addresses"), structure, &table, err);
	} else {
		if (!only)
			sn_structure_prepare_all(structure, SN_PREPARE_ALL);
		function_rows(&table, structure, rewriter, list, only);
		/* names of the source (a Fortran main program's) come with the debug information */
		if (only && !table.row_count) {
			sn_structure_prepare_all(structure, SN_PREPARE_ALL);
			function_rows(&table, structure, rewriter, list, only);
		}
		if (only && !table.row_count && !has_function(structure, only))
			status = sn_error_set(err, SN_ERR_NOT_FOUND, "'%s' has no function '%s'",
					      sn_structure_path(structure), only);
	}
	if (status == SN_OK)
		status = sn_table_write(&table, &view, stdout, NULL, NULL, err);
	sn_table_free(&table);
	return status;
}

static bool is_sir(const struct sn_args *args)
{
	const char *format = sn_args_value(args, "format");

	return format && !strcmp(format, "sir");
}

enum { DEBUG_FOLDERS_MAX = 16 };

/* "A:B" into an array of strings in `list`. */
static size_t split_folders(char *list, const char **folders)
{
	size_t count = 0;
	char *rest;

	for (char *at = strtok_r(list, ":", &rest); at && count < DEBUG_FOLDERS_MAX;
	     at = strtok_r(NULL, ":", &rest))
		folders[count++] = at;
	return count;
}

static int structure_run(const struct sn_args *args)
{
	struct sn_image_options options = { .only_this_file =
						    sn_args_flag(args, "only-this-file") };
	const char *value = sn_args_value(args, "debug-folders"), *folders[DEBUG_FOLDERS_MAX];
	char *list = value ? sn_strdup(value) : NULL;
	struct sn_structure *structure = NULL;
	struct sn_rewriter *rewriter = NULL;
	struct sn_image *image = NULL;
	struct sn_error err;
	sn_status status;

	if (args->operand_count != 1) {
		sn_warn("name one binary: sonde structure BINARY");
		return SN_EXIT_USAGE;
	}
	if (list) {
		options.debug_folders = folders;
		options.debug_folder_count = split_folders(list, folders);
	}
	status = sn_image_open(args->operands[0], &options, &image, &err);
	if (status == SN_OK)
		status = sn_structure_open(image, &structure, &err);
	if (status == SN_OK && list_of(args) == LIST_REWRITABLE &&
	    !sn_target_is_static_program(args->operands[0]))
		rewriter = sn_rewriter_new(image, structure);
	if (status == SN_OK && is_sir(args))
		status = print_sir(image, structure);
	else if (status == SN_OK)
		status = print_structure(args, structure, rewriter, &err);
	sn_rewriter_free(rewriter);
	sn_structure_free(structure);
	sn_image_free(image);
	free(list);
	return status == SN_OK ? SN_EXIT_OK : sn_error_print(&err);
}

static const struct sn_option structure_options[] = {
	{ "list", 'l', "WHAT",
	  "what to list: loops (the default), functions, blocks, or of each loop what it can have "
	  "of what runs copies of loops (rewritable)",
	  "loops|functions|blocks|rewritable" },
	{ "function", 0, "NAME", "only this function, by its name or linkage name", NULL },
	{ "addresses", 0, "FILE",
	  "list the functions, inlined ones too, around the link addresses in FILE (hex, one a "
	  "line; - for standard input)",
	  NULL },
	{ "debug-folders", 0, "A:B",
	  "look for separate debug files here (.build-id/xx/yyyy.debug) instead of in "
	  "/usr/lib/debug",
	  NULL },
	{ "only-this-file", 0, NULL, "do not look for a separate debug file", NULL },
	SN_TABLE_OPTIONS_WITH(
		"how to print: text, csv, json, jsonl, or sir: the whole structure as XML",
		"text|csv|json|jsonl|sir"),
	{ 0 },
};

const struct sn_command sn_command_structure = {
	.name = "structure",
	.operands = "BINARY",
	.summary = "Lists the loops, functions or blocks of a binary",
	.description =
		"Reads a program or shared object and lists what analyses see of it: functions "
		"with their source, loops with their nesting, source lines and role (main, peel, "
		"tail, version of one source loop), basic blocks with their successors. Nothing is "
		"run. With -l rewritable it says of each loop whether its instances can be counted, or why "
		"not. With --addresses it says where addresses of the file lie, as addr2line -i "
		"does, and in which loop.\n\n"
		"--format sir writes functions, loops, calls, OpenMP constructs and arrays in the "
		"Standard Intermediate Representation of Periscope (docs/manual/structure.md).",
	.options = structure_options,
	.examples = (const char *const[]){ "sonde structure ./app", "the loops of a program",
					   "sonde structure -l functions --format csv /usr/bin/xz",
					   "its functions, for a spreadsheet",
					   "sonde structure --addresses - ./app",
					   "where the addresses on standard input are",
					   "sonde structure --format sir ./app",
					   "functions, loops, calls and arrays as XML", NULL },
	.run = structure_run,
};
