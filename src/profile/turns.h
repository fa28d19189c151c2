/**
 * Active waiting of OpenMP's threads for their turn: to enter a critical section, an ordered block, or to have a
 * lock. The runtime's functions jump to where they spin and have no symbols, so they are in no stack; what is
 * called is told by the call instruction of the program.
 */
#ifndef SN_PROFILE_TURNS_H
#define SN_PROFILE_TURNS_H

#include "base/text.h"
#include "profile/profile.h"
#include "profile/structures.h"

struct sn_turns {
	double seconds;	      /* CPU time of all */
	double place_seconds; /* of the place with most of it */
	uint32_t caller,
		line; /* of that place: function, and line of the program; SN_NONE: not known */
	const char *called; /* what it calls: "GOMP_critical_start"; NULL: there is none */
};

/** By stack, 1 where it waits for its turn; NULL: none does. `structures` NULL: nothing is known. The caller frees. */
uint8_t *sn_turns_stacks(const struct sn_profile *profile, struct sn_structures *structures);
/** `structures` NULL: nothing is known. */
void sn_turns_find(const struct sn_profile *profile, struct sn_structures *structures,
		   struct sn_turns *out);
/** "critical section", "lock", "ordered block", "atomic update". */
const char *sn_turns_kind(const struct sn_turns *turns);
/** "crit (cr.c:8)" */
void sn_turns_add_place(const struct sn_program *program, const struct sn_turns *turns,
			struct sn_text *out);

#endif
