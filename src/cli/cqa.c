#include <string.h>

#include "base/file.h"
#include "cli/command.h"
#include "cqa/cqa.h"

static int run_blocks(const struct sn_args *args, const struct sn_machine *machine)
{
	struct sn_file_view view = { 0 };
	struct sn_error err = { 0 };
	const char *format = sn_args_value(args, "format");

	if (args->operand_count) {
		sn_error_set(&err, SN_ERR_USAGE,
			     "cqa: --blocks reads its file and takes no BINARY");
		return sn_error_print(&err);
	}
	if (format && strcmp(format, "jsonl") != 0) {
		sn_error_set(&err, SN_ERR_USAGE, "cqa: --blocks prints --format jsonl only");
		return sn_error_print(&err);
	}
	if (sn_file_map(sn_args_value(args, "blocks"), &view, &err))
		return sn_error_print(&err);
	sn_cqa_blocks_print(machine, view.bytes, view.length, sn_args_flag(args, "unrolled"),
			    stdout);
	sn_file_unmap(&view);
	return SN_EXIT_OK;
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
	sn_error_set(&err, SN_ERR_USAGE, "cqa: give --blocks FILE");
	return sn_error_print(&err);
}

static const struct sn_option cqa_options[] = {
	{ "blocks", 'b', "FILE", "estimate blocks given as hex bytes, one a line", NULL },
	{ "arch", 'A', "NAME", "the machine to estimate for; native unless said", NULL },
	{ "unrolled", 'u', NULL, "blocks are repeated end to end, without a branch", NULL },
	{ "format", 'f', "FORMAT", "how to print: text, csv, json or jsonl",
	  "text|csv|json|jsonl" },
	{ 0 },
};

static const char *const cqa_examples[] = {
	"sonde cqa --blocks loops.hex --arch cascadelake --format jsonl",
	"estimates each block of the file as a loop body",
	NULL,
};

const struct sn_command sn_command_cqa = {
	.name = "cqa",
	.operands = "[BINARY]",
	.summary = "Static quality of loops: cycles, what limits them, what would help",
	.description =
		"Estimates, without running it, how many core cycles an iteration of a loop costs, "
		"and what limits it.\n\n"
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
