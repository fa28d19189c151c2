/**
 * Levels of a report (ONE View): 1 is one run, sampled; 2 adds a run in which the hot loops are counted and
 * timed and the innermost ones have DL1; 3 adds a run with all variants of loops. Runs 2 and 3 lie in the
 * folder of the first (profile/companions.h).
 */
#ifndef SN_CLI_LEVELS_H
#define SN_CLI_LEVELS_H

#include "cli/command.h"
#include "cli/loop_choice.h"
#include "record/record.h"

/* For the option tables of run and analyze. */
#define SN_LEVEL_OPTIONS(WORDS)                                                                    \
	{ "level", 0, "N", WORDS, "1|2|3" }, SN_LOOP_CHOICE_OPTIONS("top:10"),                     \
	{                                                                                          \
		"budget", 0, "TIMES",                                                              \
			"all runs together take at most so many times what the first one takes "   \
			"(3x); what does not fit is left out, and said",                           \
			NULL                                                                       \
	}

/** --level, 1 to 3 (`otherwise` without it), and --budget; SN_ERR_USAGE: one of the other options cannot be had with it. */
sn_status sn_cli_levels_check(const struct sn_args *args, int otherwise, int *level,
			      struct sn_error *err);

/** One of these runs, in a rank of a launch (--step): into --output, by the loops of --from. Returns the exit code. */
int sn_cli_levels_step(const struct sn_args *args);

/** Records as sn_cli_record does, the user's run, and then what the level asks for. */
int sn_cli_levels_record(const struct sn_args *args, int level, struct sn_record_result *result);

/** Adds what the experiment in this folder lacks, with runs of the operands; the first of them is the user's.
 * Prints what it does and what went wrong. Returns the exit code. */
int sn_cli_levels_add(const struct sn_args *args, int level, const char *experiment);

#endif
