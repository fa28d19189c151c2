/** The page of two sets of runs, for `sonde diff --format html` and `sonde report A B`. */
#ifndef SN_CLI_DIFF_H
#define SN_CLI_DIFF_H

#include "cli/command.h"

/**
 * Compares the experiments that the operands name (as `sonde diff` reads them), writes the page and
 * prints its name. The page goes to --output, or into the last experiment of side B as
 * compare.html. The arguments must have SN_FILTER_OPTIONS, `output` and `force`.
 */
sn_status sn_diff_write_page(const struct sn_args *args, double false_alarm_rate,
			     bool *has_findings, struct sn_error *err);

#endif
