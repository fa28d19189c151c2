/** Comparing sets of runs of a command line: lists with colons between, or the configurations of a
 * campaign. */
#ifndef SN_CLI_SETS_H
#define SN_CLI_SETS_H

#include "cli/command.h"

/** Whether the operands are more than two sets, or one campaign. */
bool sn_cli_are_sets(const struct sn_args *args);

/** `sonde diff` of any number of sets, and --self. The exit code. */
int sn_cli_diff_sets(const struct sn_args *args);

/** What `sonde diff CAMPAIGN` has as its table, all rows, the first configuration being the reference.
 * SN_ERR_NO_DATA: fewer than two configurations have runs. Free the table unless it failed. */
sn_status sn_cli_campaign_compare(const char *campaign, struct sn_table *out, struct sn_error *err);

#endif
