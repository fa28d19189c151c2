/** Runs of a program whose loops are copies: sonde vprof, decan and trace. */
#ifndef SN_CLI_LOOP_RUNS_H
#define SN_CLI_LOOP_RUNS_H

#include "cli/command.h"

#include "profile/analysis.h"
#include "record/record.h"
#include "record/written.h"

/* For the option tables of these commands. */
#define SN_LOOP_RUN_OPTIONS                                                                        \
	{ "from", 0, "EXPERIMENT",                                                                 \
	  "an experiment of the same program says which loops are hot; no first run", NULL },      \
		{ "launcher", 0, "COMMAND",                                                        \
		  "start the program by this, such as 'mpirun -n 4': each rank is measured",       \
		  NULL },                                                                          \
	{                                                                                          \
		"keep-text", 0, NULL,                                                              \
			"write nothing into the code of the program: it is sampled, and what "     \
			"cannot be had so is said",                                                \
			NULL                                                                       \
	}

struct sn_loop_run {
	const char *command, *view; /* their names; NULL: nothing is said of it when it is over */
	const char *verb;	    /* what is done to loops; NULL: they are counted */
	const char *needs_copies;   /* what the command cannot give without them */
	uint32_t variants;	    /* bits (1 << enum sn_decan_variant), as in sn_rewriter_plan */
	uint32_t every;		    /* one in so many instances is timed; 0: found while running */
	uint32_t budget_percent;    /* of variants; 0: no limit */
	uint32_t threads;	    /* enum sn_variant_threads */
	uint64_t max_bytes;	    /* of data, where --max-size says nothing; 0: no limit */
	/* of chosen loops that lie in each other the one with most time of its own runs as a copy */
	bool is_one_of_nest;
	bool of_functions; /* the blocks of functions are counted, and no loops */
	bool without_heap; /* allocations are not traced, where accesses are recorded */
	struct sn_written
		*written; /* the program's output and error are its; NULL: they are ours */
	/* The two are set by sn_cli_loop_run: */
	int first_code;	    /* the first run's exit code, 128 + a signal's number; 0 without one */
	bool is_first_ours; /* the first run goes where no second one comes */
};

/** Says that runs ("the first run", "runs 2 and 3") wrote other things than the one that was shown, and where these are kept. */
void sn_cli_say_written(const char *runs, const char *what, const char *kept);

/** Runs the operands, after a first run unless --from is there. Prints what went wrong; the exit code. */
int sn_cli_loop_run(const struct sn_args *args, const struct sn_loop_run *run);
/** What can be said of this run before it begins; its loops, as the experiment has them. SN_ERR_NO_DATA: none
 * can be counted; then `*code` is the exit code: the program's, if it failed in the first run and has no sample. */
sn_status sn_cli_loop_run_foresee(const struct sn_args *args, const struct sn_loop_run *run,
				  const struct sn_analysis *analysis, int *code,
				  struct sn_error *err);
/** After --keep-text: what the experiment has, and what it lacks. */
void sn_cli_loop_run_kept(const struct sn_args *args, const struct sn_loop_run *run,
			  const char *path);
/** sn_cli_loop_run with --launcher: each start is one of the launcher, whose ranks are commands of their own. */
int sn_cli_loop_run_launched(const struct sn_args *args, const struct sn_loop_run *run);
/** Starts `LAUNCHER sonde COMMAND ... MORE --from FROM --output INTO -- OPERANDS`, with the words of --launcher and what else of the
 * command line each rank's command needs. `more`: one further option; NULL: none. `*code` gets the launcher's exit code. */
sn_status sn_cli_launch(const struct sn_args *args, const char *command, const char *more,
			const char *from, const char *into, int *code, struct sn_error *err);
/** --every K; 0 without it. */
sn_status sn_cli_every(const struct sn_args *args, uint32_t *every, struct sn_error *err);
/** --budget, in percent of CPU time, from 1 to `most`; `otherwise` without it. SN_ERR_USAGE. */
sn_status sn_cli_budget(const struct sn_args *args, uint32_t otherwise, uint32_t most,
			uint32_t *percent, struct sn_error *err);

/** The run with copies alone. `analysis` is the experiment's that says which loops are hot; `unless_said`
 * is the value of --loops without it; `into` is the folder of the new experiment (NULL: as the options
 * say). SN_ERR_NO_DATA: no loop can be counted; then nothing was run. */
sn_status sn_cli_loop_run_of(const struct sn_args *args, const struct sn_loop_run *run,
			     const struct sn_analysis *analysis, const char *unless_said,
			     const char *into, struct sn_record_result *result,
			     struct sn_error *err);

#endif
