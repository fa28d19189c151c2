/* sonde vprof: the instances of loops, counted by running the loops as copies. */
#include "cli/loop_choice.h"
#include "cli/loop_runs.h"
#include "cli/record.h"

enum { BUDGET_PERCENT = 5, BUDGET_MOST = 100 };

static int vprof_run(const struct sn_args *args)
{
	struct sn_loop_run run = { .command = "vprof",
				   .view = "instances",
				   .needs_copies =
					   "instances of loops, with their iterations and cycles" };
	struct sn_error err;
	sn_status status = sn_cli_every(args, &run.every, &err);

	if (status == SN_OK)
		status =
			sn_cli_budget(args, BUDGET_PERCENT, BUDGET_MOST, &run.budget_percent, &err);
	if (status != SN_OK) {
		sn_error_print(&err);
		return SN_EXIT_NOT_MEASURED;
	}
	return sn_cli_loop_run(args, &run);
}

static const struct sn_option vprof_options[] = {
	SN_LOOP_CHOICE_OPTIONS("top:50"),
	{ "every", 0, "K", "time one of K instances; unless said, as many as the budget allows",
	  NULL },
	{ "budget", 0, "PERCENT",
	  "CPU time that timing instances may add (5 unless said), and looking for their call paths as "
	  "much again; all are counted, whatever that costs",
	  NULL },
	SN_LOOP_RUN_OPTIONS,
	SN_RECORD_OPTIONS,
	{ 0 },
};

const struct sn_command sn_command_vprof = {
	.name = "vprof",
	.operands = "-- PROGRAM [ARGS...]",
	.summary = "Counts and times the instances of loops in a running program",
	.description =
		"How often is each hot loop entered, how many iterations has it, and how long does "
		"one take? A first run finds the hot loops by sampling (--from leaves it out); a "
		"second one runs them as copies that count themselves, in the unchanged program: "
		"'sonde show instances' shows what they counted.\n\n"
		"Instances and iterations are exact; cycles are those of the instances that were "
		"timed. Where instances are so short that counting them takes what the budget has, timing "
		"has a tenth of it. Standard input is the same for both runs, and the second one's output is the "
		"program's. What cannot be counted is said, with the reason; 'sonde structure -l "
		"rewritable' says it without a run.",
	.options = vprof_options,
	.examples =
		(const char *const[]){
			"sonde vprof -- ./app -n 2000",
			"the 50 hottest loops; then: sonde show instances",
			"sonde vprof --from @0 --loops solve.c:41 --every 1 -- ./app",
			"every instance of one loop, of a program recorded before",
			"sonde vprof --launcher 'mpirun -n 4' -- ./app",
			"each rank of an MPI program", NULL },
	.stops_at_operand = true,
	.run = vprof_run,
};
