/** Comparing sets of runs of a command line: lists with colons between, or the configurations of a
 * campaign. */
#ifndef SN_CLI_SETS_H
#define SN_CLI_SETS_H

#include "cli/command.h"

/** Whether the operands are more than two sets, or one campaign. */
bool sn_cli_are_sets(const struct sn_args *args);

/** `sonde diff` of any number of sets, and --self. The exit code. */
int sn_cli_diff_sets(const struct sn_args *args);

#endif
