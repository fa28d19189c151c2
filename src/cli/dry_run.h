/** record --dry-run. */
#ifndef SN_CLI_DRY_RUN_H
#define SN_CLI_DRY_RUN_H

#include <stdio.h>

#include "record/record.h"

/** Says what a recording with these options would measure. Returns the exit code. */
int sn_cli_dry_run(const struct sn_record_options *options, FILE *out);

#endif
