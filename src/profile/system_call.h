/**
 * What the kernel did in a sample of system time: a system call, by number, or a page fault. This
 * is concluded from the machine code at the sample's pc. Symbols of the kernel are not used.
 */
#ifndef SN_PROFILE_SYSTEM_CALL_H
#define SN_PROFILE_SYSTEM_CALL_H

#include "profile/profile.h"
#include "profile/structures.h"

/** "write" of 1; NULL if there is none of this number. */
const char *sn_system_call_name(uint64_t number);

enum sn_system_kind {
	SN_SYSTEM_CALL,
	SN_SYSTEM_FAULT,  /* no call: a page fault, seldom an interrupt that took long */
	SN_SYSTEM_UNSEEN, /* time without an observation */
	SN_SYSTEM_SONDE,  /* what measuring asks the kernel for */
	SN_SYSTEM_UNKNOWN /* the machine code could not be had */
};
/** "call", "fault", "unseen", "sonde", "unknown". */
const char *sn_system_kind_name(enum sn_system_kind kind);

/** The kind of a stack's system time. With `structures` NULL it is unknown. */
enum sn_system_kind sn_system_kind_of(const struct sn_program *program,
				      struct sn_structures *structures, uint32_t stack);

/** System time by what it was for and who asked for it. */
struct sn_system_group {
	enum sn_system_kind kind;
	int64_t number;	   /* of a call; -1: not known */
	uint32_t function; /* as in sn_call_site (wait.h) */
	uint32_t caller, line;
	uint64_t system_ns, samples;
};

struct sn_system_groups {
	SN_VEC(struct sn_system_group) items; /* longest first */
};

/** Groups the system time of the samples that pass the profile's filter. `structures` have the
 * code. */
void sn_system_groups_find(const struct sn_profile *profile, struct sn_structures *structures,
			   struct sn_system_groups *out);
void sn_system_groups_free(struct sn_system_groups *groups);

#endif
