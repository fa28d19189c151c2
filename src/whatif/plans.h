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
	size_t loops;	 /* that will be counted; or functions */
	size_t entries;	 /* in the plans, which processes take over: of loops as many */
	size_t left_out; /* that no sample met and a process has no room for (SN_PLAN_LOOPS_MAX) */
	/* sampled loops that were asked for and are not in a plan, hottest first, with why */
	SN_VEC(struct sn_loop_refusal {
		uint32_t loop;	/* of the program; or a function of it. SN_NONE: no sample met it */
		char label[96]; /* then its label, cut short */
		const char *why;
	})
	refusals;
	/* of all CPU time the share with the leaf in a loop that is counted */
	double covered_share;
};

struct sn_loop_numbers {
	uint32_t *items; /* of the program */
	size_t count, capacity;
};

/** Loops of the program's structure that no sample met. */
struct sn_unmet_loops {
	struct sn_unmet_loop {
		uint32_t module; /* of the experiment */
		uint64_t header_link_addr;
	} * items;
	size_t count, capacity;
};

/** Which loops shall run as copies. */
struct sn_loop_choice {
	struct sn_loop_numbers loops; /* hottest first */
	struct sn_unmet_loops unmet;  /* that were named */
	const char *
		program; /* the file that will run, which may be the program's under another name; NULL: it has its own */
	bool is_all; /* and those of these modules, and of the program, that no sample met */
	struct sn_loop_numbers excluded;
	struct sn_unmet_loops unmet_excluded;
};
void sn_loop_choice_free(struct sn_loop_choice *choice);
/** Leaves out each loop that shares a nest with one that has more time of its own. */
void sn_loop_choice_keep_one_of_nest(const struct sn_profile *profile,
				     struct sn_loop_choice *choice);

/** Plans for the chosen loops. `variants` as sn_rewriter_plan takes it. */
void sn_loop_plans_make(const struct sn_profile *profile, const struct sn_loop_choice *choice,
			uint32_t variants, struct sn_loop_plans *out);
/** Plans that count the basic blocks of functions: of those that samples met, hottest modules first, then, as far as there
 * is room, of all others of the program's file and of modules that samples met. `loops` and `refusals` are of functions. */
void sn_function_plans_make(const struct sn_profile *profile, struct sn_loop_plans *out);
/** A module's file as it was run, which the caller frees in any case; why it cannot be had, or NULL. */
const char *sn_plan_image_open(const struct sn_module *module, struct sn_image **image);
void sn_loop_plans_free(struct sn_loop_plans *plans);

#endif
