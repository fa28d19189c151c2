/* sonde trace: the addresses of loops' accesses to memory, recorded by copies of the loops. */
#include "cli/loop_choice.h"
#include "cli/loop_runs.h"
#include "cli/record.h"
#include "rewrite/rewrite.h"

enum { BUDGET_PERCENT = 20, BUDGET_MOST = 1000 };

/* (chosen) twenty minutes of a thread's windows within the budget */
static const uint64_t bytes_most = 1000000000;

static int trace_run(const struct sn_args *args)
{
	struct sn_loop_run run = { .command = "trace",
				   .view = "caches",
				   .needs_copies = "accesses to memory, and no misses of caches",
				   .verb = "traced",
				   .variants = SN_REWRITER_RECORDER | SN_REWRITER_INNERMOST,
				   .max_bytes = bytes_most,
				   .without_heap = sn_args_flag(args, "no-heap"),
				   .is_one_of_nest = true };
	struct sn_error err;
	sn_status status = sn_cli_every(args, &run.every, &err);

	if (status == SN_OK)
		status =
			sn_cli_budget(args, BUDGET_PERCENT, BUDGET_MOST, &run.budget_percent, &err);
	if (status != SN_OK) {
		sn_error_print(&err);
		return SN_EXIT_NOT_MEASURED;
	}
	if (run.every)
		run.budget_percent = 0;
	return sn_cli_loop_run(args, &run);
}

static const struct sn_option trace_options[] = {
	SN_LOOP_CHOICE_OPTIONS("top:50"),
	{ "every", 0, "K", "record one of K instances, whole, whatever that costs; 1: all of them",
	  NULL },
	{ "budget", 0, "PERCENT", "CPU time that recording may add (20 unless said)", NULL },
	{ "no-heap", 0, NULL, "do not trace allocations: blocks of the heap have no names", NULL },
	SN_LOOP_RUN_OPTIONS,
	SN_RECORD_OPTIONS,
	{ 0 },
};

const struct sn_command sn_command_trace = {
	.name = "trace",
	.operands = "-- PROGRAM [ARGS...]",
	.summary = "Records the addresses of loops' memory accesses in a running program",
	.description =
		"Which places in memory does a hot loop read and write, and in which order? In some "
		"instances of the loop (windows) a copy of it runs that records the address of every "
		"access; the program does what it did, byte for byte. Accesses that move by a constant "
		"are noted once an instance, the others one by one.\n\n"
		"A first run finds the hot loops by sampling (--from leaves it out). Of loops that lie "
		"in each other the one with most time is traced; --loops names another. Unless --every is "
		"given, windows are as many as the budget allows, spread over the run, and a long one is "
		"cut. Data end at 1000 MB, or what --max-size says; from then on loops are only counted. "
		"All instances are counted: 'sonde show instances' shows how many there were. A loop "
		"that calls functions is refused.",
	.options = trace_options,
	.examples =
		(const char *const[]){
			"sonde trace -- ./app -n 2000",
			"windows of the 50 hottest loops; then: sonde show caches",
			"sonde trace --from @0 --loops solve.c:41 --every 1 -- ./app",
			"every access of one loop, of a program recorded before",
			"sonde trace --launcher 'mpirun -n 4' -- ./app",
			"each rank of an MPI program", NULL },
	.stops_at_operand = true,
	.run = trace_run,
};
