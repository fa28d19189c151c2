/*
 * sonde ./app: record, then a one-page answer on standard error and the page in the experiment.
 * Standard output stays the program's own.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "cli/analysis_options.h"
#include "cli/campaign.h"
#include "cli/levels.h"
#include "cli/record.h"
#include "profile/analysis.h"
#include "profile/launchers.h"
#include "views/summary/summary.h"
#include "report/model/model.h"
#include "report/html/html.h"

/* Standard output is the target's alone: `sonde run env` prints there what `env` prints. */
static void summary_print(const struct sn_summary *summary)
{
	fputs("\n", stderr);
	sn_summary_print(summary, stderr, sn_locale_is_utf8(), 0);
}

static void answer_alone(struct sn_analysis *analysis)
{
	struct sn_summary *summary = sn_summary_of(analysis->profile, analysis->structures,
						   sn_analysis_machine(analysis));

	summary_print(summary);
	sn_summary_free(summary);
}

/* The answer comes before the page is made, and is the page's own. */
static void answer_with_page(struct sn_analysis *analysis, bool is_quiet)
{
	static const struct sn_report_options what = { .has_details = true };
	struct sn_report *report = sn_report_begin(analysis);
	struct sn_text path = { 0 };
	struct sn_error err;

	if (!is_quiet)
		summary_print(report->summary);
	sn_text_addf(&path, "%s/report.html", analysis->experiment->path);
	if (sn_report_complete(report, &what, &err) == SN_OK &&
	    sn_report_write_html(report, path.chars, false, &err) == SN_OK)
		fprintf(stderr, "page: %s\n", path.chars);
	else
		sn_error_print(&err);
	sn_text_free(&path);
	sn_report_free(report);
}

/* --repeat N: a campaign of one configuration; what else was asked for of one recording is not had. */
static int repeat_run(const struct sn_args *args)
{
	static const char *const known[] = { "repeat", "level",	  "output",  "quiet",	 "no-page",
					     "loops",  "exclude", "threads", "launcher", "ranks" };
	struct sn_campaign_wishes wishes = { .repeat = sn_args_value(args, "repeat"),
					     .level = sn_args_value(args, "level"),
					     .loops = sn_args_value(args, "loops"),
					     .exclude = sn_args_value(args, "exclude"),
					     .launcher = sn_args_value(args, "launcher"),
					     .ranks = sn_args_value(args, "ranks"),
					     .threads = sn_args_value(args, "threads"),
					     .command = args->operands };
	struct sn_error err;

	for (size_t i = 0; i < args->given_count; i++) {
		const char *name = args->command->options[args->given[i].option].name;
		bool is_known = false;

		for (size_t k = 0; k < sizeof(known) / sizeof(*known); k++)
			is_known |= !strcmp(name, known[k]);
		if (is_known)
			continue;
		sn_error_set(&err, SN_ERR_USAGE,
			     "--repeat runs a campaign, which has no --%s; leave one of both away",
			     name);
		sn_error_print(&err);
		return SN_EXIT_NOT_MEASURED;
	}
	if (!args->operand_count) {
		sn_error_set(&err, SN_ERR_USAGE, "what shall be run? sonde run --repeat N PROGRAM");
		sn_error_print(&err);
		return SN_EXIT_NOT_MEASURED;
	}
	return sn_cli_campaign_of(&wishes, args);
}

/* What is of campaigns alone: a recording is started by whoever starts the program. Each run of a campaign is held against
 * the ranks that were asked for, so these are to be said. */
static sn_status repeat_options_check(const struct sn_args *args, struct sn_error *err)
{
	static const char *const names[] = { "launcher", "ranks", "threads" };

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (sn_args_value(args, names[i]) && !sn_args_value(args, "repeat"))
			return sn_error_set(err, SN_ERR_USAGE,
					    "--%s is for --repeat N; one run under a launcher is "
					    "'mpirun -n 4 sonde record ./app'",
					    names[i]);
	if (sn_launcher_is_of_mpi(sn_args_value(args, "launcher")) && !sn_args_value(args, "ranks"))
		return sn_error_set(err, SN_ERR_USAGE,
				    "how many ranks does '%s' start? --ranks N says it, and each "
				    "run is held against it",
				    sn_args_value(args, "launcher"));
	return SN_OK;
}

static int run_run(const struct sn_args *args)
{
	struct sn_analysis_options options = { .arch = sn_args_value(args, "arch") };
	const struct sn_machine *machine;
	struct sn_record_result result;
	struct sn_analysis *analysis;
	struct sn_error err;
	int code, level;

	if (sn_cli_levels_check(args, 1, &level, &err) != SN_OK ||
	    repeat_options_check(args, &err) != SN_OK) {
		sn_error_print(&err);
		return SN_EXIT_NOT_MEASURED;
	}
	if (sn_args_value(args, "repeat"))
		return repeat_run(args);
	if (options.arch && sn_machine_find(options.arch, &machine, &err) != SN_OK) {
		sn_error_print(&err); /* before the program runs, not after it */
		return SN_EXIT_NOT_MEASURED;
	}
	code = sn_cli_levels_record(args, level, &result);
	signal(SIGPIPE, SIG_IGN); /* `sonde ./app 2>&1 | head` still gets its page */

	/* In an MPI launch every rank runs this; the page is made once, of all, by sonde report. */
	if (result.experiment_path.chars && result.rank >= 0) {
		if (result.rank == 0 && !sn_args_flag(args, "quiet"))
			fprintf(stderr, "sonde: %s; when all ranks have ended: sonde report %s\n",
				result.experiment_path.chars, result.experiment_path.chars);
	} else if (result.experiment_path.chars) {
		if (sn_cli_analysis_open(result.experiment_path.chars, &options, &analysis, &err) ==
		    SN_OK) {
			if (!sn_args_flag(args, "no-page"))
				answer_with_page(analysis, sn_args_flag(args, "quiet"));
			else if (!sn_args_flag(args, "quiet"))
				answer_alone(analysis);
			sn_analysis_free(analysis);
		} else {
			sn_error_print(&err);
		}
	}
	sn_text_free(&result.experiment_path);
	sn_cli_end_as_rank(&result);
	return code;
}

static const struct sn_option run_options[] = {
	SN_LEVEL_OPTIONS(
		"1 (unless said): one run; 2: instances of hot loops, and data in first-level "
		"cache; 3: all variants, too (sonde analyze)"),
	SN_RECORD_OPTIONS,
	SN_ARCH_OPTION,
	{ "no-page", 0, NULL, "do not write the HTML page", NULL },
	{ "repeat", 0, "N", "run N times, as a campaign (sonde campaign status)", NULL },
	{ "launcher", 0, "COMMAND",
	  "with --repeat: mpirun, srun, 'sbatch [OPTIONS]', or a launcher's words", NULL },
	{ "ranks", 0, "N", "with --repeat: MPI ranks of each run, verified (mpirun unless said)",
	  NULL },
	{ "threads", 0, "N", "with --repeat: OMP_NUM_THREADS of each run, verified", NULL },
	{ 0 },
};

const struct sn_command sn_command_run = {
	.name = "run",
	.operands = "-- PROGRAM [ARGS...]",
	.summary = "Records a program, prints a one-page answer and writes the page",
	.description =
		"What 'sonde ./app' does: sonde record, then the summary (sonde show summary) on "
		"standard error, then the page (sonde report) as report.html in the experiment. "
		"Standard output is the program's alone, and the exit status is the program's.",
	.options = run_options,
	.examples =
		(const char *const[]){ "sonde run ./app -n 2000", "or shorter: sonde ./app -n 2000",
				       "sonde run --level 3 ./app -n 2000",
				       "four runs: what loops wait for, and what would help",
				       "sonde run --label before -- make -j2",
				       "everything that make starts",
				       "sonde run --repeat 5 --ranks 4 -- ./app",
				       "five runs of mpirun -n 4", NULL },
	.stops_at_operand = true,
	.run = run_run,
};
