/**
 * Callers and callees of one function, with attributed time.
 *
 * Where the function stands several times on a path (recursion), the outermost occurrence decides
 * the caller and the innermost the callee. So the callers' attributed times sum to the function's
 * inclusive time. The callees' do, too, with its exclusive time.
 */
#ifndef SN_PROFILE_CALLS_H
#define SN_PROFILE_CALLS_H

#include "profile/profile.h"

struct sn_call {
	uint32_t function; /* the other one; SN_NONE as caller: nothing above (thread start) */
	uint32_t line;	   /* index of the line of the call that brings most; SN_NONE: unknown */
	struct sn_weight attributed;
};

struct sn_calls {
	uint32_t function;
	SN_VEC(struct sn_call) callers, callees; /* largest attributed time first */
};

void sn_calls_find(const struct sn_profile *profile, uint32_t function, enum sn_time_kind kind,
		   struct sn_calls *out);
void sn_calls_free(struct sn_calls *calls);

#endif
