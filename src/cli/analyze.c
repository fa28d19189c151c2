/* sonde analyze: what a report of level 2 or 3 needs, added to an experiment. */
#include <stdio.h>

#include "base/text.h"
#include "cli/levels.h"
#include "cli/record.h"

static int analyze_run(const struct sn_args *args)
{
	const char *from = sn_args_value(args, "from");
	struct sn_record_result result = { 0 };
	struct sn_error err;
	int level, code;
	sn_status status;

	if (sn_args_value(args, "step"))
		return sn_cli_levels_step(args);
	status = sn_cli_levels_check(args, 2, &level, &err);
	if (status == SN_OK && level == 1)
		status = sn_error_set(&err, SN_ERR_USAGE,
				      "level 1 is 'sonde record' alone: --level takes 2 or 3");
	if (status == SN_OK && !args->operand_count)
		status = sn_error_set(&err, SN_ERR_USAGE,
				      "what shall be run? sonde analyze --level 2 -- PROGRAM ARGS");
	if (status == SN_OK && sn_args_value(args, "launcher") && !from)
		status = sn_error_set(
			&err, SN_ERR_USAGE,
			"--launcher adds to an experiment of a launch: srun -n 4 sonde record -o E "
			"./app, then sonde analyze --from E --launcher 'srun -n 4' -- ./app");
	if (status == SN_OK && from && sn_args_value(args, "output"))
		status = sn_error_set(
			&err, SN_ERR_USAGE,
			"--from adds to an experiment that is there: -o goes without it");
	if (status != SN_OK) {
		sn_error_print(&err);
		return SN_EXIT_NOT_MEASURED;
	}
	code = from ? sn_cli_levels_add(args, level, from)
		    : sn_cli_levels_record(args, level, &result);
	if (result.experiment_path.chars)
		from = result.experiment_path.chars;
	if (from && code != SN_EXIT_NOT_MEASURED && !sn_args_flag(args, "quiet"))
		fprintf(stderr, "sonde: %s; sonde show loop '#1' %s\n", from, from);
	sn_text_free(&result.experiment_path);
	return code;
}

static const struct sn_option analyze_options[] = {
	SN_LEVEL_OPTIONS("2 (unless said): instances of loops, and data in first-level cache; 3: "
			 "all variants of loops, too"),
	{ "from", 0, "EXPERIMENT",
	  "add to this experiment of the same program; without it the program runs once more, first",
	  NULL },
	{ "launcher", 0, "COMMAND",
	  "start the program by this, such as 'srun -n 4': each rank is measured, on any host",
	  NULL },
	{ "step", 0, "STEP", "of a rank that --launcher starts: the run that it is part of", NULL },
	SN_RECORD_OPTIONS,
	{ 0 },
};

const struct sn_command sn_command_analyze = {
	.name = "analyze",
	.operands = "-- PROGRAM [ARGS...]",
	.summary = "Runs a program again for what its hot loops do: instances, variants, accesses",
	.description =
		"Sampling says which loops are hot. Level 2 runs the program again with the ten hottest "
		"loops as copies that count and time their instances, and measures what the innermost "
		"ones would gain from data in first-level cache. Level 3 runs it once more with all "
		"variants of 'sonde decan'. These runs lie in the folder of the experiment: 'sonde show "
		"loop', 'show instances', 'show variants' and 'sonde report' have all of it side by "
		"side.\n\n"
		"The program that is run is the one given here, never one named in an experiment. All runs "
		"read the same standard input. The first run made is yours: its output is shown, its exit "
		"status returned. What the others write to standard output and standard error is kept in their "
		"folders (stdout.txt, stderr.txt) and compared with it; a difference is said.",
	.options = analyze_options,
	.examples =
		(const char *const[]){
			"sonde analyze --level 3 -- ./app -n 2000",
			"four runs; the same with a summary and the page: sonde run --level 3 ./app",
			"sonde analyze --level 2 --from @0 --loops cumulated:80 -- ./app -n 2000",
			"add to the newest experiment, for the loops with 80 % of CPU time",
			"sonde analyze --from @0 --launcher 'srun -n 4' -- ./app -n 2000",
			"the same for four ranks, wherever srun starts them", NULL },
	.stops_at_operand = true,
	.run = analyze_run,
};
