/* sonde count: how often functions and instructions are executed, counted by running the functions as copies. */
#include "cli/loop_runs.h"
#include "cli/record.h"

static int count_run(const struct sn_args *args)
{
	const struct sn_loop_run run = {
		.command = "count",
		.view = "counts",
		.of_functions = true,
		.needs_copies = "counts of calls and instructions",
	};

	return sn_cli_loop_run(args, &run);
}

static const struct sn_option count_options[] = {
	SN_LOOP_RUN_OPTIONS,
	SN_RECORD_OPTIONS,
	{ 0 },
};

const struct sn_command sn_command_count = {
	.name = "count",
	.operands = "-- PROGRAM [ARGS...]",
	.summary = "Counts calls of functions and executed instructions in a running program",
	.description =
		"How often is each function called, and how many instructions does it execute? A first "
		"run finds the modules that matter by sampling (--from leaves it out); a second one runs "
		"the functions of the program, and of those libraries of its own and of mathematics that "
		"samples met, as copies that count each of their basic blocks, in the unchanged program: "
		"'sonde show counts' has the functions, '--by block' their blocks.\n\n"
		"Counts are exact, by thread and process, and need no counters of the processor. They are "
		"of the code that was copied: the C library, runtimes, and functions that are refused, "
		"with the reason, have none. A program runs about three times as long so. Standard input "
		"is the same for both runs, and the second one's output is the program's.",
	.options = count_options,
	.examples =
		(const char *const[]){
			"sonde count -- ./app -n 2000",
			"calls and instructions of each function; then: sonde show counts",
			"sonde count --from @0 -- ./app -n 2000",
			"of a program that was recorded before",
			"sonde count --launcher 'mpirun -n 4' -- ./app",
			"each rank of an MPI program", NULL },
	.stops_at_operand = true,
	.run = count_run,
};
