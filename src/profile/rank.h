/**
 * The one ranking of loops: "#N", the loops table, the summary and the reports follow it.
 */
#ifndef SN_PROFILE_RANK_H
#define SN_PROFILE_RANK_H

#include "profile/profile.h"

/** Indices of the loops that took time: source loops by what their parts (peel, main, tail) took
 * together, the parts of each side by side, hottest first. The caller frees. */
uint32_t *sn_rank_loops(const struct sn_profile *profile, bool with_runtime_loops, size_t *count);

#endif
