/**
 * Cycles of a pass whose data come from L2, L3 or RAM (docs/method/cqa.md, Memory levels).
 */
#ifndef SN_CQA_LEVELS_H
#define SN_CQA_LEVELS_H

#include "cqa/loop/loop.h"

/** Fills `level_cycles` and `moved_cycles` of a path whose estimate and metrics are there, from the
 *  streams of its block. */
void sn_cqa_levels_estimate(const struct sn_machine *machine,
			    const struct sn_bandwidths *bandwidths,
			    const struct sn_streams *streams, struct sn_cqa_path *path,
			    struct sn_arena *arena);

/** Raises the ports bound of a path whose estimate and metrics are there, if its non-temporal
 * stores need longer. They go to memory wherever the other data are, so they can bound the figure
 * for L1. */
void sn_cqa_add_past_caches(const struct sn_machine *machine,
			    const struct sn_bandwidths *bandwidths, struct sn_cqa_path *path);

/** Cycles of an independent access of one line, each `stride_bytes` (64 and more) from the last.
 * Between the strides that were measured it is interpolated by the logarithm. Multiples of a page
 * count as a page. */
double sn_level_access_cycles(const struct sn_bandwidths *bandwidths, enum sn_level level,
			      double stride_bytes);

#endif
