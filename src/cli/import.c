/* sonde import: makes an experiment of files that perf or a program compiled with -pg wrote. */
#include <stdlib.h>
#include <string.h>

#include "cli/command.h"
#include "exchange/gmon.h"
#include "exchange/perf_data.h"
#include "record/record.h"

static const struct sn_option import_options[] = {
	{ "output", 'o', "FOLDER", "the experiment to make (else sonde.NAME.N here)", NULL },
	{ "label", 'L', "TEXT", "a name for people, shown in reports", NULL },
	{ "program", 'P', "FILE", "gmon: the program that wrote the snapshots", NULL },
	{ "interval", 'i', "S", "gmon: seconds between two snapshots (default 1)", NULL },
	{ "no-source", 0, NULL, "do not keep the text of source files", NULL },
	{ 0 },
};

static const char *const import_examples[] = {
	"perf record -g ./app && sonde import",
	"Make an experiment of ./perf.data; then sonde show, sonde report and the rest read it.",
	"perf record --call-graph dwarf ./app && sonde import perf.data",
	"The same with stacks unwound from copies, for programs without frame pointers.",
	"sonde import gmon --program ./app gmon.out.1 gmon.out.2 gmon.out.3",
	"Make an experiment of the gmon.out files that a -pg program left every second.",
	NULL,
};

/* sonde import gmon SNAPSHOT...: all of one run. */
static int gmon_run(const struct sn_args *args)
{
	struct sn_gmon_import how = { .program = sn_args_value(args, "program"),
				      .paths = (const char *const *)args->operands + 1,
				      .path_count = args->operand_count - 1,
				      .output = sn_args_value(args, "output"),
				      .label = sn_args_value(args, "label") };
	struct sn_record_options archive = { .without_source = sn_args_flag(args, "no-source") };
	struct sn_text folder = { 0 };
	struct sn_error err;
	uint64_t samples;
	double seconds;
	sn_status status = sn_args_real(args, "interval", 1, &seconds, &err);

	if (status == SN_OK && (!how.program || !how.path_count))
		status = sn_error_set(&err, SN_ERR_USAGE,
				      "import gmon: name the program that ran and its snapshots: "
				      "sonde import gmon --program ./app gmon.out.*");
	if (status == SN_OK && !(seconds >= 1e-3 && seconds <= 1e6))
		status = sn_error_set(&err, SN_ERR_USAGE,
				      "--interval takes seconds from 0.001 to 1e6");
	if (status == SN_OK) {
		how.interval_ns = (int64_t)(seconds * 1e9 + 0.5);
		status = sn_gmon_import(&how, &folder, &samples, &err);
	}
	if (status == SN_OK) {
		sn_record_extracts(folder.chars, &archive);
		printf("%s: %llu samples\n", folder.chars, (unsigned long long)samples);
	}
	sn_text_free(&folder);
	return status == SN_OK ? SN_EXIT_OK : sn_error_print(&err);
}

static int import_run(const struct sn_args *args)
{
	const char *path = args->operand_count ? args->operands[0] : "perf.data";
	struct sn_perf_import how = { .output = sn_args_value(args, "output"),
				      .label = sn_args_value(args, "label") };
	struct sn_record_options archive = { .without_source = sn_args_flag(args, "no-source") };
	struct sn_perf_import_result result;
	struct sn_error err;
	sn_status status;

	if (args->operand_count && !strcmp(path, "gmon"))
		return gmon_run(args);
	if (args->operand_count > 1) {
		sn_warn("import takes one file; '%s' is too many", args->operands[1]);
		return SN_EXIT_USAGE;
	}
	status = sn_perf_import(path, &how, &result, &err);
	if (status == SN_OK) {
		for (size_t i = 0; i < result.warnings.count; i++)
			sn_warn("%s", result.warnings.items[i]);
		sn_record_extracts(result.path.chars, &archive);
		printf("%s: %llu samples\n", result.path.chars, (unsigned long long)result.samples);
	}
	sn_vec_free_owned(&result.warnings);
	sn_text_free(&result.path);
	return status == SN_OK ? SN_EXIT_OK : sn_error_print(&err);
}

const struct sn_command sn_command_import = {
	.name = "import",
	.operands = "[FILE | gmon SNAPSHOT...]",
	.summary = "Makes an experiment of what perf record or a -pg program wrote",
	.description =
		"Reads FILE (./perf.data if none is named) and writes an experiment with the same "
		"samples, so that every view, report and export works on it. Stacks are taken as "
		"perf recorded them (-g), or unwound from the registers and stack copies of "
		"--call-graph dwarf. Kernel frames are left out: their time belongs to the "
		"function that entered the kernel. Programs and libraries must be the ones that "
		"ran; others are told by their build-id and left without names.\n\n"
		"'import gmon' reads gmon.out files, each with the totals since the start of one "
		"run of a program compiled with -pg, in the order in which they were written: "
		"ticks become samples, and 'sonde phases' has the exact counts of calls in every "
		"interval.",
	.options = import_options,
	.examples = import_examples,
	.run = import_run,
};
