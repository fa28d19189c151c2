/** CPU time of loops with the loops in them, without what they call: what variants of a loop are about, as they call nothing. */
#ifndef SN_WHATIF_NEST_TIME_H
#define SN_WHATIF_NEST_TIME_H

#include "profile/profile.h"

/** By the loop's number in the program; the caller frees it. */
struct sn_weight *sn_nest_time(const struct sn_profile *profile);

#endif
