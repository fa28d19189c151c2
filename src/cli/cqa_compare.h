/**
 * Before and after: the loops of two builds side by side.
 */
#ifndef SN_CLI_CQA_COMPARE_H
#define SN_CLI_CQA_COMPARE_H

#include "cli/command.h"
#include "machine/machine.h"

/** `sonde cqa BEFORE AFTER`; returns the exit code. */
int sn_cqa_compare(const struct sn_args *args, const struct sn_machine *machine);

#endif
