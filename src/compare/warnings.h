/**
 * Warnings on sets of runs that are hard to compare: an experiment that is there twice, programs
 * that have little in common.
 */
#ifndef SN_COMPARE_WARNINGS_H
#define SN_COMPARE_WARNINGS_H

#include "compare/compare.h"

/** Adds sentences to the comparison's warnings, once its rows are there. */
void sn_compare_warn(struct sn_comparison *comparison, const struct sn_compare_run *a,
		     const struct sn_compare_run *b, const struct sn_compare_options *options);

#endif
