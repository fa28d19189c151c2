/* sonde export: an experiment in the format of another tool. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/text.h"
#include "cli/analysis_options.h"
#include "cli/command.h"
#include "exchange/export.h"
#include "profile/analysis.h"

static const struct sn_option export_options[] = {
	{ "to", 't', "FORMAT", "the format to write",
	  "folded|speedscope|pprof|callgrind|chrome|otf2" },
	{ "output", 'o', "FILE",
	  "write to FILE (otf2: a new folder); '-' is standard output (else NAME.EXTENSION here)",
	  NULL },
	{ "loops", 0, NULL, "loops as frames of their own (folded, speedscope, chrome, otf2)",
	  NULL },
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
	"sonde export --to otf2 && otf2-print sonde.app.1.otf2/traces.otf2",
	"Write a trace of MPI calls, messages and functions for Vampir and its kin.",
	NULL,
};

/* It stands under its name when it is whole. */
static sn_status write_folder(const struct sn_export_format *format,
			      const struct sn_analysis *analysis,
			      const struct sn_export_options *how, const char *path,
			      struct sn_error *err)
{
	struct sn_text temporary = { 0 };
	mode_t mask = umask(0);
	sn_status status;

	umask(mask);
	if (!access(path, F_OK))
		return sn_error_set(err, SN_ERR_IO,
				    "'%s' is there already; remove it or name another with -o",
				    path);
	sn_text_addf(&temporary, "%s.XXXXXX", path);
	if (!mkdtemp(temporary.chars)) {
		status = sn_error_errno(err, "cannot make the folder '%s'", path);
		sn_text_free(&temporary);
		return status;
	}
	status = format->write_folder(analysis->profile, how, temporary.chars, err);
	if (status == SN_OK &&
	    (chmod(temporary.chars, 0777 & ~mask) || rename(temporary.chars, path)))
		status = sn_error_errno(err, "cannot make the folder '%s'", path);
	if (status != SN_OK)
		sn_file_remove_folder(AT_FDCWD, temporary.chars);
	sn_text_free(&temporary);
	return status;
}

static sn_status write_stream(const struct sn_export_format *format,
			      const struct sn_analysis *analysis,
			      const struct sn_export_options *how, const char *path,
			      struct sn_error *err)
{
	struct sn_file_writer writer;
	sn_status status = sn_file_writer_open(&writer, path, err);

	if (status != SN_OK)
		return status;
	status = format->write(analysis->profile, how, writer.out, err);
	if (status == SN_OK)
		return sn_file_writer_commit(&writer, err);
	sn_file_writer_abandon(&writer);
	return status;
}

static sn_status write_file(const struct sn_args *args, const struct sn_export_format *format,
			    const struct sn_analysis *analysis, struct sn_error *err)
{
	struct sn_export_options how = { .with_loops = sn_args_flag(args, "loops"),
					 .with_blocked = sn_args_flag(args, "wall"),
					 .count_samples = sn_args_flag(args, "samples") };
	const char *wanted = sn_args_value(args, "output");
	struct sn_text path = { 0 };
	sn_status status;

	if (wanted && !strcmp(wanted, "-"))
		return format->write(analysis->profile, &how, stdout, err);
	if (wanted)
		sn_text_add(&path, wanted);
	else
		sn_text_addf(&path, "%s.%s", analysis->experiment->name, format->extension);
	status = format->write_folder ? write_folder(format, analysis, &how, path.chars, err)
				      : write_stream(format, analysis, &how, path.chars, err);
	if (status == SN_OK)
		printf("%s\n", path.chars);
	sn_text_free(&path);
	return status;
}

static int export_run(const struct sn_args *args)
{
	const char *to = sn_args_value(args, "to"), *wanted = sn_args_value(args, "output");
	struct sn_analysis_arguments arguments = { 0 };
	struct sn_analysis *analysis = NULL;
	struct sn_error err;
	sn_status status;

	if (!to) {
		sn_warn("say what to write: --to folded, speedscope, pprof, callgrind, chrome or otf2");
		return SN_EXIT_USAGE;
	}
	if (sn_export_find(to)->write_folder && wanted && !strcmp(wanted, "-")) {
		sn_warn("%s is a folder, which standard output cannot take; name one with -o", to);
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
		       "and Perfetto. otf2: a folder with MPI calls, messages and collective "
		       "operations (record --mpi) and what was on each thread's stack, in the Open "
		       "Trace Format 2, for Vampir and its kin; it needs libotf2.",
	.options = export_options,
	.examples = export_examples,
	.run = export_run,
};
