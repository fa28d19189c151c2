/* sonde decan: variants of loops, run in the place of the loops. */
#include <string.h>

#include "cli/loop_choice.h"
#include "cli/loop_runs.h"
#include "cli/record.h"
#include "whatif/variants.h"

/* "ls,fp": bits of variants. */
static sn_status read_variants(const struct sn_args *args, uint32_t *bits, struct sn_error *err)
{
	const char *at = sn_args_value(args, "variants");

	*bits = 0;
	if (!at) {
		*bits = (1u << SN_VARIANTS) - 1;
		return SN_OK;
	}
	for (;;) {
		size_t length = strcspn(at, ",");
		bool is_known = false;

		for (int v = 0; v < SN_VARIANTS; v++)
			if (strlen(sn_loop_variant_names[v]) == length &&
			    !strncmp(sn_loop_variant_names[v], at, length)) {
				*bits |= 1u << v;
				is_known = true;
			}
		if (!is_known)
			return sn_error_set(err, SN_ERR_USAGE,
					    "--variants takes a list of ls, fp, arith, dl1, fes "
					    "and pf, not '%.*s'",
					    (int)length, at);
		if (!at[length])
			break;
		at += length + 1;
	}
	/* ORIG always runs; without others it alone is asked for */
	*bits |= 1u << SN_VARIANT_ORIG;
	return SN_OK;
}

/* One of the option's values. */
static uint32_t threads_of(const struct sn_args *args)
{
	const char *word = sn_args_value(args, "threads");

	return !word || !strcmp(word, "each") ? SN_VARIANT_THREADS_EACH
	       : !strcmp(word, "one")	      ? SN_VARIANT_THREADS_ONE
					      : SN_VARIANT_THREADS_ALL;
}

static int decan_run(const struct sn_args *args)
{
	struct sn_loop_run run = {
		.command = "decan",
		.view = "variants",
		.needs_copies = "variants of loops, and nothing of what loops would gain",
		.threads = threads_of(args)
	};
	struct sn_error err;
	sn_status status = sn_cli_every(args, &run.every, &err);

	if (status == SN_OK)
		status = sn_cli_budget(args, 20, 1000, &run.budget_percent, &err);
	if (status == SN_OK)
		status = read_variants(args, &run.variants, &err);
	if (status != SN_OK) {
		sn_error_print(&err);
		return SN_EXIT_NOT_MEASURED;
	}
	if (run.every)
		run.budget_percent = 0;
	return sn_cli_loop_run(args, &run);
}

static const struct sn_option decan_options[] = {
	{ "variants", 0, "LIST",
	  "which of ls, fp, arith, dl1, fes and pf (all unless said); the loop as it is always runs",
	  NULL },
	SN_LOOP_CHOICE_OPTIONS("top:50"),
	{ "every", 0, "K", "a variant in one of K instances, whatever that costs", NULL },
	{ "budget", 0, "PERCENT", "CPU time that variants may add (20 unless said)", NULL },
	{ "threads", 0, "WHICH",
	  "variants of a loop run in each thread by turns of its own (unless said), in one thread beside the "
	  "loop as it is in the others, or in all threads at once: the same variant in the same instances",
	  "each|one|all" },
	SN_LOOP_RUN_OPTIONS,
	SN_RECORD_OPTIONS,
	{ 0 },
};

const struct sn_command sn_command_decan = {
	.name = "decan",
	.operands = "-- PROGRAM [ARGS...]",
	.summary =
		"Measures variants of loops in a running program: data in cache, arithmetic free",
	.description =
		"What would a hot loop gain if its data were in first-level cache, if its arithmetic or "
		"its memory accesses were free? Variants of it say so: LS has its loads and stores, FP or "
		"ARITH its arithmetic, DL1 all of it on data in cache, FES as many instructions that do "
		"nothing, PF prefetches. In some instances of the loop a variant runs first and is timed; "
		"then all registers come back, and the loop itself runs. No variant changes a byte of "
		"the program's memory: output and exit status stay what they were.\n\n"
		"A first run finds the hot loops by sampling (--from leaves it out). 'sonde show "
		"variants' shows what was measured, and what it means. Which variants a loop cannot have, "
		"and why, says 'sonde structure -l rewritable' without a run.",
	.options = decan_options,
	.examples =
		(const char *const[]){
			"sonde decan -- ./app -n 2000",
			"all variants of the 50 hottest loops; then: sonde show variants",
			"sonde decan --from @0 --variants dl1 --loops solve.c:41 -- ./app",
			"one variant of one loop, of a program recorded before",
			"sonde decan --launcher 'mpirun -n 4' -- ./app",
			"in each rank of an MPI program", NULL },
	.stops_at_operand = true,
	.run = decan_run,
};
