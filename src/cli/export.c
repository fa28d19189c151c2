/* sonde export: an experiment in the format of another tool. */
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/text.h"
#include "cli/analysis_options.h"
#include "cli/command.h"
#include "exchange/export.h"
#include "profile/analysis.h"

static const struct sn_option export_options[] = {
	{ "to", 't', "FORMAT", "the format to write", "folded|speedscope|pprof|callgrind|chrome" },
	{ "output", 'o', "FILE", "write to FILE; '-' is standard output (else NAME.EXTENSION here)",
	  NULL },
	{ "loops", 0, NULL, "loops as frames of their own (folded, speedscope, chrome)", NULL },
	{ "wall", 'w', NULL, "blocked time too, not CPU time alone", NULL },
	{ "samples", 0, NULL, "weigh by number of samples, not by time (folded)", NULL },
	SN_FILTER_OPTIONS,
	{ 0 },
};

static const char *const export_examples[] = {
	"sonde export --to folded -o - | flamegraph.pl > flame.svg",
	"Draw a flame graph of the newest experiment.",
	"sonde export --to pprof sonde.app.1",
	"Write sonde.app.1.pb.gz, for 'pprof -http : sonde.app.1.pb.gz'.",
	"sonde export --to chrome --time 1.5-3",
	"Write a second and a half as a trace for chrome://tracing or Perfetto.",
	NULL,
};

static sn_status write_file(const struct sn_args *args, const struct sn_export_format *format,
			    const struct sn_analysis *analysis, struct sn_error *err)
{
	struct sn_export_options how = { .with_loops = sn_args_flag(args, "loops"),
					 .with_blocked = sn_args_flag(args, "wall"),
					 .count_samples = sn_args_flag(args, "samples") };
	const char *wanted = sn_args_value(args, "output");
	struct sn_file_writer writer;
	struct sn_text path = { 0 };
	sn_status status;

	if (wanted && !strcmp(wanted, "-"))
		return format->write(analysis->profile, &how, stdout, err);
	if (wanted)
		sn_text_add(&path, wanted);
	else
		sn_text_addf(&path, "%s.%s", analysis->experiment->name, format->extension);
	status = sn_file_writer_open(&writer, path.chars, err);
	if (status == SN_OK) {
		status = format->write(analysis->profile, &how, writer.out, err);
		if (status == SN_OK)
			status = sn_file_writer_commit(&writer, err);
		else
			sn_file_writer_abandon(&writer);
	}
	if (status == SN_OK)
		printf("%s\n", path.chars);
	sn_text_free(&path);
	return status;
}

static int export_run(const struct sn_args *args)
{
	const char *to = sn_args_value(args, "to");
	struct sn_analysis_arguments arguments = { 0 };
	struct sn_analysis *analysis = NULL;
	struct sn_error err;
	sn_status status;

	if (!to) {
		sn_warn("say what to write: --to folded, speedscope, pprof, callgrind or chrome");
		return SN_EXIT_USAGE;
	}
	if (args->operand_count > 1) {
		sn_warn("export takes one experiment; '%s' is too many", args->operands[1]);
		return SN_EXIT_USAGE;
	}
	status = sn_analysis_arguments_read(args, &arguments, &err);
	if (status == SN_OK)
		status = sn_cli_analysis_open(args->operand_count ? args->operands[0] : NULL,
					      &arguments.options, &analysis, &err);
	if (status == SN_OK)
		status = write_file(args, sn_export_find(to), analysis, &err);
	sn_analysis_free(analysis);
	sn_analysis_arguments_free(&arguments);
	return status == SN_OK ? SN_EXIT_OK : sn_error_print(&err);
}

const struct sn_command sn_command_export = {
	.name = "export",
	.operands = "[EXPERIMENT]",
	.summary = "Writes an experiment in the format of another tool",
	.description = "Writes call paths, lines or a timeline of EXPERIMENT (a folder; @0, the "
		       "newest here, is the default) for another tool to show.\n\n"
		       "folded: one line a call path, weights in microseconds of CPU time. "
		       "speedscope: the samples of each thread in order. pprof: call paths with "
		       "addresses, lines and inlined functions. callgrind: costs of lines and "
		       "calls, for KCachegrind; its call counts are samples, as sampling counts no "
		       "calls. chrome: what was on each thread's stack when, for chrome://tracing "
		       "and Perfetto.",
	.options = export_options,
	.examples = export_examples,
	.run = export_run,
};
