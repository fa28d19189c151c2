/** Why loops have no variant that was measured, by the CPU time that they have: what figures such as `speedup_dl1` do not rest on. */
#ifndef SN_WHATIF_REFUSALS_H
#define SN_WHATIF_REFUSALS_H

#include "profile/profile.h"
#include "profile/structures.h"

struct sn_refusal {
	const char *reason; /* "it moves the stack pointer" ... */
	double share;	    /* of CPU time, in loops that have it */
	size_t loops;
};

struct sn_refusals {
	struct sn_arena arena;
	const char *
		run; /* why the run that was to have variants has none; NULL: it has, or there was no such run */
	SN_VEC(struct sn_refusal) items; /* most time first */
};

/** Of the loops with 0.5 % of CPU time or more that have no measured variant. `structures` may be NULL: nothing is known
 * then. Free with sn_refusals_free. */
void sn_refusals_find(const struct sn_profile *profile, struct sn_structures *structures,
		      struct sn_refusals *out);
void sn_refusals_free(struct sn_refusals *refusals);

#endif
