/*
 * sonde cqa: the static model without a run, of a binary, of two binaries side by side, or of
 * blocks that are given as bytes.
 */
#include <malloc.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/progress.h"
#include "base/text.h"
#include "cli/command.h"
#include "code/image.h"
#include "cqa/words/blocks.h"
#include "cqa/words/compare.h"
#include "cqa/block/extensions.h"
#include "cqa/loop/module.h"
#include "cqa/words/table.h"
#include "cqa/words/view.h"
#include "machine/bandwidth.h"

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

/* What rows and pages go to. */
struct listing {
	struct sn_table table;
	const char *columns; /* that will be shown */
	size_t shown;
	struct sn_cqa_module *module;
	struct sn_loop_visit *visit;
	struct sn_json *json;
};

static void add_row(struct sn_loop_visit *visit, const struct sn_cqa_unit *unit,
		    struct sn_cqa_loop *result)
{
	struct listing *listing = visit->context;

	sn_cqa_table_add(&listing->table, visit->machine, result, unit->member, listing->columns);
}

static void print_page(struct sn_loop_visit *visit, const struct sn_cqa_unit *unit,
		       struct sn_cqa_loop *result)
{
	struct listing *listing = visit->context;

	if (listing->shown++)
		fputs("\n----\n\n", stdout);
	sn_cqa_page_text(visit->machine, unit->structure, result, &(struct sn_cqa_page){ 0 },
			 stdout);
}

static void json_summary(struct sn_json *json, void *context)
{
	const struct listing *listing = context;
	const struct sn_loop_visit *visit = listing->visit;

	sn_json_member_string(json, "arch", visit->machine->name);
	sn_cqa_json_memory_profile(visit->machine, json);
	sn_json_member_uint(json, "loops", visit->summary.loops);
	sn_json_member_uint(json, "analysed_loops", visit->summary.analysed);
	sn_json_member_double(json, "flow_complexity", sn_cqa_flow_complexity(&visit->summary));
	sn_json_member_double(json, "array_access_efficiency_share",
			      sn_cqa_array_efficiency(&visit->summary));
	sn_json_member_uint(json, "undecoded_places", visit->summary.undecoded_places);
}

static void json_page(struct sn_loop_visit *visit, const struct sn_cqa_unit *unit,
		      struct sn_cqa_loop *result)
{
	struct sn_json *json = ((struct listing *)visit->context)->json;

	sn_json_object(json);
	sn_json_member_string(json, "loop", result->loop->id);
	sn_cqa_page_json(visit->machine, unit->structure, result, &(struct sn_cqa_page){ 0 }, json);
	sn_json_close(json);
}

/* With --loop, JSON holds the details of each loop before the rows. */
static void json_details(struct sn_json *json, void *context)
{
	struct listing *listing = context;
	struct sn_loop_visit details = *listing->visit;

	json_summary(json, listing);
	if (!details.choice->loop)
		return;
	details.each = json_page;
	listing->json = json;
	sn_json_key(json, "details");
	sn_json_array(json);
	sn_loop_visit_module(&details, listing->module);
	sn_json_close(json);
}

static int nothing_found(const struct sn_loop_choice *choice, const char *path,
			 size_t undecoded_places)
{
	struct sn_error err;

	if (choice->loop && choice->function)
		sn_error_set(
			&err, SN_ERR_NOT_FOUND,
			"cqa: function '%s' of '%s' has no loop '%s'; 'sonde cqa %s --function %s' "
			"lists those it has",
			choice->function, path, choice->loop, path, choice->function);
	else if (choice->has_loop_addr)
		sn_error_set(&err, SN_ERR_NOT_FOUND,
			     "cqa: no loop is around address %s of '%s'; 'sonde cqa %s' lists "
			     "those it has",
			     choice->loop, path, path);
	else if (choice->loop)
		sn_error_set(&err, SN_ERR_NOT_FOUND,
			     "cqa: no loop '%s' in '%s'; 'sonde cqa %s' lists them", choice->loop,
			     path, path);
	else if (choice->has_function_addr)
		sn_error_set(&err, SN_ERR_NOT_FOUND,
			     "cqa: no function with a loop is around address %s of '%s'",
			     choice->function, path);
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

static bool shows_uncounted(const struct sn_table *table, const struct sn_table_view *view)
{
	for (size_t c = 0; c < sn_cqa_column_count; c++)
		if (strcmp(sn_cqa_columns[c].key, "path_count") == 0)
			return sn_table_shows(table, view, c, SN_CQA_PATHS_COUNTED);
	return false;
}

static void print_footer(const struct sn_cqa_summary *summary, const struct sn_machine *machine,
			 bool with_uncounted)
{
	double paths = sn_cqa_flow_complexity(summary);
	double regular = sn_cqa_array_efficiency(summary);
	struct sn_text levels = { 0 };

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
	sn_memory_profile_describe(machine->name, &levels);
	printf("memory levels: %s\n", levels.chars);
	sn_text_free(&levels);
	for (unsigned i = 0; i < SN_CQA_REASONS_MAX && summary->reasons[i].loops; i++)
		printf("%zu loop%s no figures: %s\n", summary->reasons[i].loops,
		       summary->reasons[i].loops == 1 ? " has" : "s have",
		       summary->reasons[i].sentence);
	if (summary->lacking) {
		struct sn_text names = { 0 };

		sn_cqa_lacked_names(summary->lacked_extensions, &names);
		printf("%zu loop%s %s, which %s lacks: figures are of the nearest instructions it "
		       "has\n",
		       summary->lacking, summary->lacking == 1 ? " needs" : "s need", names.chars,
		       machine->title);
		sn_text_free(&names);
	}
	if (summary->calling)
		printf("%zu loop%s functions: their time is in none of the figures\n",
		       summary->calling, summary->calling == 1 ? " calls" : "s call");
	if (summary->unions)
		printf("%zu loop%s more than %d paths: the estimate takes all blocks together, "
		       "each by the share of passes that runs it if branches go either way alike\n",
		       summary->unions, summary->unions == 1 ? " has" : "s have", SN_CQA_PATHS_MAX);
	if (with_uncounted)
		printf("%d paths stand for as many or more\n", SN_CQA_PATHS_COUNTED);
	if (summary->undecoded_places)
		printf("at %zu place%s code goes on in bytes that do not decode: loops through "
		       "them are missing here\n",
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

/* Of a text table: those with a heading; whether a loop calls only where one does. */
static void take_headed(struct sn_table_view *view, bool with_calls, struct sn_text *columns)
{
	for (size_t c = 0; c < sn_cqa_column_count; c++) {
		const char *key = sn_cqa_columns[c].key;

		if (!sn_cqa_columns[c].title || strcmp(key, "has_calls") == 0)
			continue;
		sn_text_addf(columns, "%s%s", columns->length ? "," : "", key);
		if (with_calls && strcmp(key, "l1_cycles") == 0)
			sn_text_add(columns, ",has_calls");
	}
	view->columns = columns->chars;
}

static sn_status read_choice(const struct sn_args *args, struct sn_loop_choice *out,
			     struct sn_error *err)
{
	return sn_loop_choice_read(sn_args_value(args, "function"), sn_args_value(args, "loop"),
				   out, err);
}

static int run_binary(const struct sn_args *args, const struct sn_machine *machine)
{
	struct sn_table_view view = { .schema = "sonde.cqa/1" };
	struct sn_cqa_module module;
	struct listing listing = { .module = &module };
	struct sn_error err = { 0 };
	struct sn_loop_choice choice;
	struct sn_loop_visit visit = { .machine = machine,
				       .bandwidths = sn_bandwidths_of(machine),
				       .choice = &choice,
				       .each = add_row,
				       .context = &listing };
	struct sn_text columns = { 0 }, looked_at = { 0 };
	int code = SN_EXIT_OK;
	sn_status status;
	size_t meant;

	if (read_choice(args, &choice, &err) || sn_args_table_view(args, &view, &err) ||
	    sn_cqa_module_open(args->operands[0], &module, &err))
		return sn_error_print(&err);
	sn_loop_visit_warn(&module);
	take_columns(&view, &columns, &looked_at);
	listing.visit = &visit;
	listing.columns = looked_at.chars;
	sn_cqa_table_init(&listing.table);
	if (choice.loop && view.format == SN_FORMAT_TEXT)
		visit.each = print_page;
	status = sn_loop_choice_settle(&choice, &module, &meant, &err);
	if (!status && meant > 1 && visit.each == print_page)
		printf("%zu loops of the code come from %s:\n\n", meant, choice.loop);
	if (!status)
		sn_loop_visit_module(&visit, &module);
	if (!view.columns)
		take_headed(&view, visit.summary.calling > 0, &columns);
	if (!status && visit.summary.loops && visit.each == add_row)
		status =
			sn_table_write(&listing.table, &view, stdout, json_details, &listing, &err);
	if (status)
		code = sn_error_print(&err);
	else if (!visit.summary.loops)
		code = nothing_found(&choice, args->operands[0], visit.summary.undecoded_places);
	else if (visit.each == add_row && view.format == SN_FORMAT_TEXT)
		print_footer(&visit.summary, machine, shows_uncounted(&listing.table, &view));
	sn_table_free(&listing.table);
	sn_cqa_module_close(&module);
	sn_text_free(&columns);
	sn_text_free(&looked_at);
	return code;
}

static sn_status read_side(const char *path, const struct sn_machine *machine,
			   const struct sn_loop_choice *choice, struct sn_cqa_sides *out,
			   struct sn_error *err)
{
	struct sn_cqa_module module;
	sn_status status = sn_cqa_module_open(path, &module, err);

	if (status)
		return status;
	sn_loop_visit_warn(&module);
	sn_cqa_sides_read(out, &module, machine, choice);
	sn_cqa_module_close(&module);
	return SN_OK;
}

static sn_status check_compared(const struct sn_loop_choice *choice, struct sn_error *err)
{
	if (!choice->loop || choice->file)
		return SN_OK;
	return sn_error_set(err, SN_ERR_USAGE,
			    "cqa: '%s' is a loop of one binary; to compare two, name it by "
			    "--loop FILE:LINE or its --function",
			    choice->loop);
}

static int run_compare(const struct sn_args *args, const struct sn_machine *machine)
{
	struct sn_table_view view = { .schema = "sonde.cqa-compare/1" };
	struct sn_cqa_sides before = { 0 }, after = { 0 };
	struct sn_error err = { 0 };
	struct sn_loop_choice choice;
	char **paths = args->operands;

	if (read_choice(args, &choice, &err) || sn_args_table_view(args, &view, &err) ||
	    check_compared(&choice, &err) || read_side(paths[0], machine, &choice, &before, &err) ||
	    read_side(paths[1], machine, &choice, &after, &err))
		goto out;
	if (!before.items.count && !after.items.count) {
		sn_error_set(&err, SN_ERR_NO_DATA, "cqa: neither '%s' nor '%s' has such a loop",
			     paths[0], paths[1]);
		goto out;
	}
	sn_cqa_sides_pair(&before, &after);
	sn_cqa_compare_write(&before, &after, &view, machine, stdout, &err);
out:
	sn_cqa_sides_free(&before);
	sn_cqa_sides_free(&after);
	return err.status ? sn_error_print(&err) : SN_EXIT_OK;
}

/* The next loop needs the memory of the last one: to give it back in between costs a tenth. */
static void keep_memory(void)
{
	mallopt(M_TRIM_THRESHOLD, 1 << 28);
}

static int cqa_run(const struct sn_args *args)
{
	const char *arch = sn_args_value(args, "arch");
	const struct sn_machine *machine;
	struct sn_error err = { 0 };

	keep_memory();
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
		return run_compare(args, machine);
	sn_error_set(&err, SN_ERR_USAGE,
		     "cqa: give one BINARY, two to compare, or --blocks FILE; see 'sonde cqa -h'");
	return sn_error_print(&err);
}

static const struct sn_option cqa_options[] = {
	{ "blocks", 'b', "FILE",
	  "estimate blocks given as hex bytes, one a line; -: standard input", NULL },
	{ "arch", 'A', "NAME", "the machine to estimate for; native unless said", NULL },
	{ "unrolled", 'u', NULL, "blocks are repeated end to end, without a branch", NULL },
	{ "function", 0, "NAME", "only the loops of this function, or of that around address 0xN",
	  NULL },
	{ "loop", 'l', "LOOP",
	  "the page of this loop (id, label, FILE:LINE, or 0xN: the innermost around this link "
	  "address): assembly, bounds, what-if, advice",
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
		"an iteration costs if its data are in L1 (and in L2, L3, RAM), what limits it, "
		"and what it would cost if it were cleaned or vectorized. BINARY is a program, a "
		"shared object, an object file or an archive. Of two binaries the loops are "
		"compared.\n\n"
		"With --blocks, FILE holds one block of hex bytes a line (blanks are ignored; "
		"blank lines and lines with # print nothing). Each block is taken for a loop body "
		"that ends in its branch back to byte 0, or with --unrolled for code that is "
		"repeated end to end. A block that cannot be decoded gets an error in its object "
		"and the run goes on.",
	.options = cqa_options,
	.examples = cqa_examples,
	.run = cqa_run,
};
