/** Runs of a program whose loops are copies: sonde vprof, decan and trace. */
#ifndef SN_CLI_LOOP_RUNS_H
#define SN_CLI_LOOP_RUNS_H

#include "cli/command.h"

#include "profile/analysis.h"
#include "record/record.h"

struct sn_loop_run {
	const char *command, *view; /* their names; NULL: nothing is said of it when it is over */
	const char *verb;	    /* what is done to loops; NULL: they are counted */
	uint32_t variants;	    /* bits (1 << enum sn_decan_variant), as in sn_rewriter_plan */
	uint32_t every;		    /* one in so many instances is timed; 0: found while running */
	uint32_t budget_percent;    /* of variants; 0: no limit */
	uint32_t threads;	    /* enum sn_variant_threads */
	uint64_t max_bytes;	    /* of data, where --max-size says nothing; 0: no limit */
	/* of chosen loops that lie in each other the one with most time of its own runs as a copy */
	bool is_one_of_nest;
	bool is_first_ours; /* set by sn_cli_loop_run: the first run goes where no second one comes */
};

/** Runs the operands, after a first run unless --from is there. Prints what went wrong; the exit code. */
int sn_cli_loop_run(const struct sn_args *args, const struct sn_loop_run *run);
/** --every K; 0 without it. */
sn_status sn_cli_every(const struct sn_args *args, uint32_t *every, struct sn_error *err);

/** The run with copies alone. `analysis` is the experiment's that says which loops are hot; `unless_said`
 * is the value of --loops without it; `into` is the folder of the new experiment (NULL: as the options
 * say). SN_ERR_NO_DATA: no loop can be counted; then nothing was run. */
sn_status sn_cli_loop_run_of(const struct sn_args *args, const struct sn_loop_run *run,
			     const struct sn_analysis *analysis, const char *unless_said,
			     const char *into, struct sn_record_result *result,
			     struct sn_error *err);

#endif
