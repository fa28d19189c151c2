/**
 * How far the static model's estimates were off for a core: data/machines/errors.tsv.
 */
#ifndef SN_MACHINE_ERRORS_H
#define SN_MACHINE_ERRORS_H

#include "base/stats.h"

/** The factor by which the model's ratio of two loops' times may be wrong, by the name of a machine
 * (as in --arch): in 95 of 100 pairs of loops it was off by no more, either way. Above 1. A machine
 * that was never measured has the figure of the row "*": of a core's model before its measurements
 * were put in. */
double sn_machine_ratio_error(const char *machine);

/** A speed-up of the static model from `low` to `high` (by where the data may lie), widened by that
 * factor. What is no speed-up stays as it is, and no end falls below 1; NaN stays NaN. */
struct sn_interval sn_machine_speedup_interval(const char *machine, double low, double high);

#endif
