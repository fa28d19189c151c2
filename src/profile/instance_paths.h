/**
 * Instances of loops by call path: how often each was entered by whom, and what it took then.
 */
#ifndef SN_PROFILE_INSTANCE_PATHS_H
#define SN_PROFILE_INSTANCE_PATHS_H

#include "profile/profile.h"

struct sn_instance_path {
	uint32_t loop; /* of the program that is asked about */
	/* outermost first, the last is the loop's own; of the program that counted. NULL: it is not known */
	const uint32_t *functions;
	size_t function_count;
	uint64_t instances; /* those of a loop's paths add up to the loop's */
	bool is_estimated;  /* not every instance was looked at */
	uint64_t looked_at, timed, timed_iterations, timed_cycles;
};

struct sn_instance_paths {
	struct sn_arena arena;
	const struct sn_profile *counted;
	/* loop by loop, in the order of their numbers; in it most instances first, what is not known last */
	struct sn_instance_path *items;
	size_t count;
};

/** Of the loops whose call paths were looked at, in all threads that pass the filter (as sn_instances_find).
 * The caller frees. */
void sn_instance_paths_find(const struct sn_profile *profile, struct sn_instance_paths *out);
void sn_instance_paths_free(struct sn_instance_paths *paths);

#endif
