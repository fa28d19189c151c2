/**
 * Blocked time by what was called and who called it.
 */
#ifndef SN_PROFILE_WAIT_H
#define SN_PROFILE_WAIT_H

#include "profile/profile.h"

/** "lock", "condition", "join", "io", "poll", "sleep", "child", "other". */
const char *sn_wait_kind_name(enum sn_wait_kind kind);

/** The place where a stack leaves the program. It is the same for every wait of one stack. */
struct sn_call_site {
	uint32_t function; /* what was called: the outermost function of the library */
	uint32_t caller;   /* the nearest function of the program; SN_NONE: none on the path, or the
			      leaf */
	uint32_t line;	   /* where it calls; index of the program's lines or SN_NONE */
};
struct sn_call_site sn_call_site_of(const struct sn_program *program, uint32_t stack);

struct sn_wait_group {
	uint32_t kind;	   /* enum sn_wait_kind */
	uint32_t function; /* what was called: the outermost function of the library that blocked */
	uint32_t caller;   /* the nearest function of the program; SN_NONE: none on the path */
	uint32_t line;	   /* where it calls; index of the program's lines or SN_NONE */
	uint32_t stack;	   /* one that brings most of it */
	uint32_t threads;
	uint64_t waits, blocked_ns, max_ns;
	uint64_t stack_ns; /* of that stack */
};

struct sn_wait_groups {
	SN_VEC(struct sn_wait_group) items; /* longest first */
};

/** Groups the waits that pass the profile's filter. With `threads` (by index, non-zero: take it)
 * only the waits of these threads are taken; NULL: all. */
void sn_wait_groups_find(const struct sn_profile *profile, const uint8_t *threads,
			 struct sn_wait_groups *out);
void sn_wait_groups_free(struct sn_wait_groups *groups);

#endif
