#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/progress.h"
#include "base/text.h"
#include "cli/command.h"
#include "code/image.h"
#include "cqa/module.h"
#include "cqa/table.h"
#include "cqa/view.h"

static int run_blocks(const struct sn_args *args, const struct sn_machine *machine)
{
	static const char *const of_binaries[] = { "function", "loop", "sort", "cols",
						   "filter",   "top",  "all" };
	struct sn_file_view view = { 0 };
	struct sn_error err = { 0 };
	const char *format = sn_args_value(args, "format"), *file = sn_args_value(args, "blocks");

	if (args->operand_count) {
		sn_error_set(&err, SN_ERR_USAGE,
			     "cqa: --blocks reads its file and takes no BINARY");
		return sn_error_print(&err);
	}
	if (format && strcmp(format, "jsonl") != 0) {
		sn_error_set(&err, SN_ERR_USAGE, "cqa: --blocks prints --format jsonl only");
		return sn_error_print(&err);
	}
	for (size_t i = 0; i < sizeof(of_binaries) / sizeof(*of_binaries); i++)
		if (sn_args_value(args, of_binaries[i])) {
			sn_error_set(&err, SN_ERR_USAGE,
				     "cqa: --%s is for the loops of a BINARY, not for --blocks",
				     of_binaries[i]);
			return sn_error_print(&err);
		}
	if (sn_file_map(strcmp(file, "-") == 0 ? "/dev/stdin" : file, &view, &err))
		return sn_error_print(&err);
	sn_cqa_blocks_print(machine, view.bytes, view.length, sn_args_flag(args, "unrolled"),
			    stdout);
	sn_file_unmap(&view);
	return SN_EXIT_OK;
}

/* What the user asked to see of a binary. */
struct choice {
	const char *function;
	const char *loop;
	const char *file; /* of "file:line", else NULL */
	size_t file_length;
	unsigned line;
	bool is_whole; /* `loop` is an id or label, not the beginning of an id */
};

static void choice_read(const struct sn_args *args, struct choice *out)
{
	const char *colon;

	memset(out, 0, sizeof(*out));
	out->function = sn_args_value(args, "function");
	out->loop = sn_args_value(args, "loop");
	colon = out->loop ? strrchr(out->loop, ':') : NULL;
	/* "file:line"; a loop id has two colons and hexadecimal parts */
	if (colon && strchr(out->loop, ':') == colon && colon[1] &&
	    strspn(colon + 1, "0123456789") == strlen(colon + 1)) {
		out->file = out->loop;
		out->file_length = (size_t)(colon - out->loop);
		out->line = (unsigned)strtoul(colon + 1, NULL, 10);
	}
}

static bool file_matches(const char *path, const char *asked, size_t length)
{
	size_t whole = path ? strlen(path) : 0;

	return whole >= length && memcmp(path + whole - length, asked, length) == 0 &&
	       (whole == length || path[whole - length - 1] == '/');
}

static bool function_matches(const struct sn_function *function, const char *asked)
{
	size_t length = strlen(asked);

	if (strcmp(function->name, asked) == 0 ||
	    (function->linkage_name && strcmp(function->linkage_name, asked) == 0))
		return true;
	/* "ns::f" also names "ns::f(int)" */
	return strncmp(function->name, asked, length) == 0 && function->name[length] == '(';
}

static bool loop_matches(const struct sn_loop *loop, const struct choice *choice)
{
	if (!choice->loop)
		return loop->is_innermost;
	if (choice->file)
		return loop->is_innermost && choice->line >= loop->line_first &&
		       choice->line <= loop->line_last &&
		       file_matches(loop->file, choice->file, choice->file_length);
	return strcmp(loop->id, choice->loop) == 0 || strcmp(loop->label, choice->loop) == 0 ||
	       (!choice->is_whole && sn_starts_with(loop->id, choice->loop));
}

struct visit {
	const struct sn_machine *machine;
	struct sn_bandwidths bandwidths;
	const struct choice *choice;
	void (*each)(struct visit *visit, const struct sn_cqa_unit *unit,
		     struct sn_cqa_loop *result);
	struct sn_table *table;
	const char *columns; /* that will be shown */
	struct sn_cqa_summary summary;
	size_t shown;
	struct sn_json *json;
	struct matches *matches; /* not NULL: loops are only collected */
};

/* Loops that the choice names. */
struct matches {
	SN_VEC(const struct sn_loop *) items;
};

static void visit_function(struct visit *visit, const struct sn_cqa_unit *unit,
			   const struct sn_function *function)
{
	if (!visit->matches)
		visit->summary.undecoded_places +=
			sn_cqa_undecoded_places(unit->structure, function);
	for (uint32_t i = 0; i < function->loop_count; i++) {
		struct sn_cqa_loop result;

		if (!loop_matches(&function->loops[i], visit->choice))
			continue;
		if (visit->matches) {
			sn_vec_push(&visit->matches->items, &function->loops[i]);
			continue;
		}
		sn_cqa_loop_analyse(visit->machine, unit->structure, &function->loops[i],
				    &visit->bandwidths, NULL, 0, &result);
		sn_cqa_summary_add(&visit->summary, &result);
		visit->each(visit, unit, &result);
		sn_cqa_loop_free(&result);
	}
}

static void visit_module(struct visit *visit, struct sn_cqa_module *module)
{
	for (size_t u = 0; u < module->units.count; u++) {
		struct sn_cqa_unit *unit = &module->units.items[u];
		size_t count = sn_structure_function_count(unit->structure);
		struct sn_progress progress;

		if (!visit->matches && unit->image && sn_image_facts(unit->image).is_damaged)
			sn_warn("'%s': %s", sn_structure_path(unit->structure),
				sn_structure_warning(unit->structure));
		if (!visit->choice->function)
			sn_structure_prepare_all(unit->structure, SN_PREPARE_ALL);
		sn_progress_begin(&progress, "analysing functions", count);
		for (size_t i = 0; i < count; i++) {
			const struct sn_function *function =
				sn_structure_function(unit->structure, i);

			sn_progress_update(&progress, i);
			if (visit->choice->function &&
			    !function_matches(function, visit->choice->function))
				continue;
			sn_function_prepare(unit->structure, function, SN_PREPARE_ALL);
			visit_function(visit, unit, function);
		}
		sn_progress_end(&progress);
	}
}

static void add_row(struct visit *visit, const struct sn_cqa_unit *unit, struct sn_cqa_loop *result)
{
	sn_cqa_table_add(visit->table, visit->machine, result, unit->member, visit->columns);
}

static void print_page(struct visit *visit, const struct sn_cqa_unit *unit,
		       struct sn_cqa_loop *result)
{
	if (visit->shown++)
		fputs("\n----\n\n", stdout);
	sn_cqa_page_text(visit->machine, unit->structure, result, &(struct sn_cqa_page){ 0 },
			 stdout);
}

static void json_summary(struct sn_json *json, void *context)
{
	const struct visit *visit = context;

	sn_json_member_string(json, "arch", visit->machine->name);
	sn_json_member_uint(json, "loops", visit->summary.loops);
	sn_json_member_uint(json, "analysed_loops", visit->summary.analysed);
	sn_json_member_double(json, "flow_complexity", sn_cqa_flow_complexity(&visit->summary));
	sn_json_member_double(json, "array_access_efficiency_share",
			      sn_cqa_array_efficiency(&visit->summary));
	sn_json_member_uint(json, "undecoded_places", visit->summary.undecoded_places);
}

static void json_page(struct visit *visit, const struct sn_cqa_unit *unit,
		      struct sn_cqa_loop *result)
{
	sn_json_object(visit->json);
	sn_json_member_string(visit->json, "loop", result->loop->id);
	sn_cqa_page_json(visit->machine, unit->structure, result, &(struct sn_cqa_page){ 0 },
			 visit->json);
	sn_json_close(visit->json);
}

/* With --loop, JSON holds the details of each loop before the rows. */
static void json_details(struct sn_json *json, void *context)
{
	struct {
		struct visit *visit;
		struct sn_cqa_module *module;
	} *both = context;
	struct visit details = *both->visit;

	json_summary(json, both->visit);
	if (!details.choice->loop)
		return;
	details.each = json_page;
	details.json = json;
	sn_json_key(json, "details");
	sn_json_array(json);
	visit_module(&details, both->module);
	sn_json_close(json);
}

enum { MATCHES_NAMED = 4 };

static void name_matches(const struct matches *matches, struct sn_text *out)
{
	for (size_t i = 0; i < matches->items.count && i < MATCHES_NAMED; i++) {
		const struct sn_loop *loop = matches->items.items[i];

		sn_text_addf(out, "%s%.80s of %.80s (%s)", i ? ", " : "", loop->label,
			     loop->function->name, loop->id);
	}
	if (matches->items.count > MATCHES_NAMED)
		sn_text_add(out, ", ...");
}

/* An id that stands for one loop, whole or in part; a line may be several loops of the code. */
static sn_status settle_choice(struct visit *visit, struct sn_cqa_module *module,
			       struct choice *choice, struct sn_error *err)
{
	struct matches matches = { 0 };
	struct visit collect = *visit;
	struct sn_text names = { 0 };
	sn_status status = SN_OK;

	if (!choice->loop)
		return SN_OK;
	collect.matches = &matches;
	visit_module(&collect, module);
	if (choice->file && !matches.items.count) {
		/* "ID:40" may be the beginning of an id */
		choice->file = NULL;
		visit_module(&collect, module);
	}
	for (size_t i = 0; i < matches.items.count && !choice->file; i++)
		choice->is_whole |= strcmp(matches.items.items[i]->id, choice->loop) == 0;
	name_matches(&matches, &names);
	if (choice->file && matches.items.count > 1 && visit->each == print_page)
		printf("%zu loops of the code come from %s:\n\n", matches.items.count,
		       choice->loop);
	else if (!choice->file && !choice->is_whole && matches.items.count > 1)
		status = sn_error_set(err, SN_ERR_USAGE,
				      "cqa: %zu loops are meant by '%s': %s; give the id of one",
				      matches.items.count, choice->loop, names.chars);
	sn_text_free(&names);
	sn_vec_free(&matches.items);
	return status;
}

static int nothing_found(const struct choice *choice, const char *path, size_t undecoded_places)
{
	struct sn_error err;

	if (choice->loop)
		sn_error_set(&err, SN_ERR_NOT_FOUND,
			     "cqa: no loop '%s' in '%s'; 'sonde cqa %s' lists them", choice->loop,
			     path, path);
	else if (choice->function)
		sn_error_set(&err, SN_ERR_NOT_FOUND, "cqa: no function '%s' with a loop in '%s'",
			     choice->function, path);
	else if (undecoded_places)
		sn_error_set(
			&err, SN_ERR_NO_DATA,
			"cqa: '%s' has no loops that could be followed: at %zu place%s code goes "
			"on in bytes that this decoder does not know",
			path, undecoded_places, undecoded_places == 1 ? "" : "s");
	else
		sn_error_set(&err, SN_ERR_NO_DATA, "cqa: '%s' has no loops", path);
	return sn_error_print(&err);
}

static void print_footer(const struct sn_cqa_summary *summary, const struct sn_machine *machine)
{
	double paths = sn_cqa_flow_complexity(summary);
	double regular = sn_cqa_array_efficiency(summary);

	printf("%zu innermost loop%s for %s; ", summary->loops, summary->loops == 1 ? "" : "s",
	       machine->title);
	if (summary->analysed < summary->loops)
		printf("%zu not analysed; ", summary->loops - summary->analysed);
	if (!isnan(paths))
		printf("%.2f paths a loop; ", paths);
	if (!isnan(regular))
		printf("%.0f %% of accesses at a regular stride; ", 100 * regular);
	printf("%zu of %zu instructions estimated\n", summary->estimated_instructions,
	       summary->instructions);
	if (summary->unions)
		printf("%zu loop%s more than %d paths: the estimate takes all blocks together, "
		       "each "
		       "by the share of passes that runs it if branches go either way alike\n",
		       summary->unions, summary->unions == 1 ? " has" : "s have", SN_CQA_PATHS_MAX);
	if (summary->undecoded_places)
		printf("at %zu place%s code goes on in bytes that do not decode: loops through "
		       "them "
		       "are missing here\n",
		       summary->undecoded_places, summary->undecoded_places == 1 ? "" : "s");
}

/* The columns shown, and with those that rows are chosen and ordered by. */
static void take_columns(struct sn_table_view *view, struct sn_text *columns,
			 struct sn_text *looked_at)
{
	if (view->columns)
		sn_cqa_columns_expand(view->columns, columns);
	else if (view->format != SN_FORMAT_TEXT)
		sn_text_add(columns, sn_cqa_default_columns);
	if (columns->length)
		view->columns = columns->chars;
	sn_text_addf(looked_at, "%s %s %s", columns->chars ? columns->chars : "",
		     view->filter ? view->filter : "", view->sort ? view->sort : "");
}

static int run_binary(const struct sn_args *args, const struct sn_machine *machine)
{
	struct sn_table_view view = { .schema = "sonde.cqa/1" };
	struct sn_cqa_module module;
	struct sn_table table;
	struct sn_error err = { 0 };
	struct choice choice;
	struct visit visit = { .machine = machine,
			       .bandwidths = sn_bandwidths_of(machine),
			       .choice = &choice,
			       .each = add_row,
			       .table = &table };
	struct {
		struct visit *visit;
		struct sn_cqa_module *module;
	} both = { &visit, &module };
	struct sn_text columns = { 0 }, looked_at = { 0 };
	int code = SN_EXIT_OK;
	sn_status status;

	choice_read(args, &choice);
	if (sn_args_table_view(args, &view, &err) ||
	    sn_cqa_module_open(args->operands[0], &module, &err))
		return sn_error_print(&err);
	take_columns(&view, &columns, &looked_at);
	visit.columns = looked_at.chars;
	sn_cqa_table_init(&table);
	if (choice.loop && view.format == SN_FORMAT_TEXT)
		visit.each = print_page;
	status = settle_choice(&visit, &module, &choice, &err);
	if (!status)
		visit_module(&visit, &module);
	if (status)
		code = sn_error_print(&err);
	else if (!visit.summary.loops)
		code = nothing_found(&choice, args->operands[0], visit.summary.undecoded_places);
	else if (visit.each == add_row &&
		 sn_table_write(&table, &view, stdout, json_details, &both, &err))
		code = sn_error_print(&err);
	else if (visit.each == add_row && view.format == SN_FORMAT_TEXT)
		print_footer(&visit.summary, machine);
	if (module.lost_members)
		sn_warn("%zu members of the thin archive are not there; the first is '%s'",
			module.lost_members, module.first_lost);
	if (module.skipped_members)
		sn_warn("%zu members of the archive hold no x86-64 code and were left out",
			module.skipped_members);
	sn_table_free(&table);
	sn_cqa_module_close(&module);
	sn_text_free(&columns);
	sn_text_free(&looked_at);
	return code;
}

/* ---- before and after ---- */

static const struct sn_column compare_columns[] = {
	{ "function", "function", SN_CELL_TEXT, 0 },
	{ "label", "loop", SN_CELL_TEXT, 0 },
	{ "before_cycles", "before", SN_CELL_REAL, 2 },
	{ "after_cycles", "after", SN_CELL_REAL, 2 },
	{ "before_bottleneck", "bottleneck before", SN_CELL_TEXT, 0 },
	{ "after_bottleneck", "after", SN_CELL_TEXT, 0 },
	{ "before_unroll", NULL, SN_CELL_INT, 0 },
	{ "after_unroll", NULL, SN_CELL_INT, 0 },
	{ "speedup", "speed-up", SN_CELL_REAL, 2 },
};

/* A main loop of either binary; equal keys are the same source loop. */
struct side {
	char *function, *label;
	double cycles;
	enum sn_bound bottleneck;
	unsigned unroll;
};

struct sides {
	struct sn_arena arena;
	SN_VEC(struct side) items;
};

static struct sides *sides_target;

static void add_side(struct visit *visit, const struct sn_cqa_unit *unit,
		     struct sn_cqa_loop *result)
{
	const struct sn_loop *loop = result->loop;

	(void)visit;
	(void)unit;
	if (result->not_analysed || loop->role != SN_LOOP_MAIN)
		return;
	sn_vec_push(&sides_target->items,
		    (struct side){ sn_arena_strdup(&sides_target->arena, loop->function->name),
				   sn_arena_strdup(&sides_target->arena, loop->label),
				   result->cycles, result->bottleneck, loop->unroll });
}

static const struct side *counterpart(const struct sides *sides, const struct side *of)
{
	for (size_t i = 0; i < sides->items.count; i++)
		if (strcmp(sides->items.items[i].function, of->function) == 0 &&
		    strcmp(sides->items.items[i].label, of->label) == 0)
			return &sides->items.items[i];
	return NULL;
}

static void compare_row(struct sn_table *table, const struct side *before, const struct side *after)
{
	const struct side *known = before ? before : after;

	sn_table_add_row(table);
	sn_table_set_text(table, 0, known->function);
	sn_table_set_text(table, 1, known->label);
	if (before) {
		sn_table_set_real(table, 2, before->cycles);
		sn_table_set_text(table, 4, sn_bound_names[before->bottleneck]);
		if (before->unroll)
			sn_table_set_int(table, 6, before->unroll);
	}
	if (after) {
		sn_table_set_real(table, 3, after->cycles);
		sn_table_set_text(table, 5, sn_bound_names[after->bottleneck]);
		if (after->unroll)
			sn_table_set_int(table, 7, after->unroll);
	}
	/* for the same source work: only where both say how many source iterations a pass is */
	if (before && after && before->unroll && after->unroll)
		sn_table_set_real(table, 8,
				  before->cycles / before->unroll /
					  (after->cycles / after->unroll));
}

static sn_status read_side(const char *path, struct visit *visit, struct sides *out,
			   struct sn_error *err)
{
	struct sn_cqa_module module;
	sn_status status = sn_cqa_module_open(path, &module, err);

	if (status)
		return status;
	sides_target = out;
	visit_module(visit, &module);
	sn_cqa_module_close(&module);
	return SN_OK;
}

static int run_comparison(const struct sn_args *args, const struct sn_machine *machine)
{
	struct sn_table_view view = { .schema = "sonde.cqa-compare/1" };
	struct sides before = { 0 }, after = { 0 };
	struct sn_table table;
	struct sn_error err = { 0 };
	struct choice choice;
	struct visit visit = { .machine = machine,
			       .bandwidths = sn_bandwidths_of(machine),
			       .choice = &choice,
			       .each = add_side };
	sn_status status;

	choice_read(args, &choice);
	status = sn_args_table_view(args, &view, &err);
	if (!status && choice.loop && !choice.file)
		status = sn_error_set(
			&err, SN_ERR_USAGE,
			"cqa: '%s' is a loop of one binary; to compare two, name it by "
			"--loop FILE:LINE or its --function",
			choice.loop);
	if (!status)
		status = read_side(args->operands[0], &visit, &before, &err);
	if (!status)
		status = read_side(args->operands[1], &visit, &after, &err);
	sn_table_init(&table, compare_columns, sizeof(compare_columns) / sizeof(*compare_columns));
	for (size_t i = 0; i < before.items.count && !status; i++)
		compare_row(&table, &before.items.items[i],
			    counterpart(&after, &before.items.items[i]));
	for (size_t i = 0; i < after.items.count && !status; i++)
		if (!counterpart(&before, &after.items.items[i]))
			compare_row(&table, NULL, &after.items.items[i]);
	if (!status)
		status = sn_table_write(&table, &view, stdout, NULL, NULL, &err);
	sn_table_free(&table);
	sn_vec_free(&before.items);
	sn_vec_free(&after.items);
	sn_arena_free(&before.arena);
	sn_arena_free(&after.arena);
	return status ? sn_error_print(&err) : SN_EXIT_OK;
}

static int cqa_run(const struct sn_args *args)
{
	const char *arch = sn_args_value(args, "arch");
	const struct sn_machine *machine;
	struct sn_error err = { 0 };

	if (sn_machine_find(arch ? arch : "native", &machine, &err))
		return sn_error_print(&err);
	if (sn_args_value(args, "blocks"))
		return run_blocks(args, machine);
	if (sn_args_flag(args, "unrolled")) {
		sn_error_set(&err, SN_ERR_USAGE,
			     "cqa: --unrolled says how --blocks are meant; the loops of a BINARY "
			     "end in their branches");
		return sn_error_print(&err);
	}
	if (args->operand_count == 1)
		return run_binary(args, machine);
	if (args->operand_count == 2)
		return run_comparison(args, machine);
	sn_error_set(&err, SN_ERR_USAGE,
		     "cqa: give one BINARY, two to compare, or --blocks FILE; see 'sonde cqa -h'");
	return sn_error_print(&err);
}

static const struct sn_option cqa_options[] = {
	{ "blocks", 'b', "FILE",
	  "estimate blocks given as hex bytes, one a line; -: standard input", NULL },
	{ "arch", 'A', "NAME", "the machine to estimate for; native unless said", NULL },
	{ "unrolled", 'u', NULL, "blocks are repeated end to end, without a branch", NULL },
	{ "function", 0, "NAME", "only the loops of this function", NULL },
	{ "loop", 'l', "ID|FILE:LINE", "the page of this loop: assembly, bounds, what-if, advice",
	  NULL },
	SN_TABLE_OPTIONS,
	{ 0 },
};

static const char *const cqa_examples[] = {
	"sonde cqa ./app",
	"lists every innermost loop with its cycles and what would make it faster",
	"sonde cqa ./app --loop solver.c:120",
	"shows the loop at this line in full",
	"sonde cqa ./app.before ./app.after",
	"compares the loops of two builds",
	"sonde cqa --blocks loops.hex --arch cascadelake --format jsonl",
	"estimates each block of the file as a loop body",
	NULL,
};

const struct sn_command sn_command_cqa = {
	.name = "cqa",
	.operands = "[BINARY [BINARY]]",
	.summary = "Shows the static quality of loops: cycles, what limits them, what would help",
	.description =
		"Says of each innermost loop of a binary, without running it, how many core cycles "
		"an "
		"iteration costs if its data are in L1 (and in L2, L3, RAM), what limits it, and "
		"what "
		"it would cost if it were cleaned or vectorized. BINARY is a program, a shared "
		"object, an object file or an archive. Of two binaries the loops are compared.\n\n"
		"With --blocks, FILE holds one block of hex bytes a line (blanks are ignored; "
		"blank "
		"lines and lines with # print nothing). Each block is taken for a loop body that "
		"ends "
		"in its branch back to byte 0, or with --unrolled for code that is repeated end to "
		"end. A block that cannot be decoded gets an error in its object and the run goes "
		"on.",
	.options = cqa_options,
	.examples = cqa_examples,
	.run = cqa_run,
};
