/**
 * Which loops shall run as copies, by a first run, and the plans for them.
 */
#ifndef SN_WHATIF_PLANS_H
#define SN_WHATIF_PLANS_H

#include "base/text.h"
#include "profile/profile.h"

/** The plan of one module. */
struct sn_module_plan {
	const char *id; /* the module's identity; borrowed from the experiment */
	struct sn_text bytes;
};

struct sn_loop_plans {
	SN_VEC(struct sn_module_plan) modules;
	size_t loops; /* that will be counted */
	/* sampled loops that were asked for and are not in a plan, hottest first, with why */
	SN_VEC(struct sn_loop_refusal {
		uint32_t loop; /* of the program */
		const char *why;
	})
	refusals;
	/* of all CPU time the share with the leaf in a loop that is counted */
	double covered_share;
};

/**
 * Plans for the loops that `which` names: "top:N" (the N hottest), "all" (every loop of the program
 * and of every module that samples met), or a loop as sn_find_loop takes it is the caller's
 * business: `only` (SN_NONE: none) is its number. `variants` as sn_rewriter_plan takes it.
 * SN_ERR_USAGE for another word.
 */
sn_status sn_loop_plans_make(const struct sn_profile *profile, const char *which, uint32_t only,
			     uint32_t variants, struct sn_loop_plans *out, struct sn_error *err);
void sn_loop_plans_free(struct sn_loop_plans *plans);

#endif
