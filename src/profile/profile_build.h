/** \file
 * What a profile is computed from, while it is computed: shared by the three files that do it. */
#ifndef SONDE_PROFILE_PROFILE_BUILD_H
#define SONDE_PROFILE_PROFILE_BUILD_H

#include "profile/displaced.h"
#include "profile/profile.h"

/* Entities that divide the time among them, so that a sample has exactly one (or none). */
enum sn_partition { BY_FUNCTION, BY_LOOP, BY_LINE, BY_MODULE, BY_CATEGORY, PARTITIONS };

/* What the leaf of a stack belongs to. */
struct sn_leaf {
	uint32_t of[PARTITIONS]; /* SN_NONE: none */
	uint32_t system_category;
};

struct sn_builder {
	struct sn_profile *profile;
	const struct sn_program *program;
	const struct sn_experiment *experiment;
	struct sn_leaf *leaves;
	uint32_t partition_size[PARTITIONS];
	uint64_t *transitions[PARTITIONS];
	uint64_t pairs;
	double sum_of_squares;
	struct sn_displaced displaced;
	uint64_t observed_ns;	      /* of observations, without remainders */
	uint64_t *thread_stack_ns;    /* by stack, of the thread in work */
	uint64_t *thread_observed_ns; /* the same of observations alone */
	uint8_t *thread_stack_seen;
	/* by stack: of threads that were never seen, known to lie below its leaf and no closer */
	uint64_t *unplaced_ns;
	uint64_t all_unplaced_ns;
	SN_VEC(uint32_t) touched;
	uint64_t remainder_ns; /* user time of the thread in work that no observation stands for */
	uint64_t filtered_ns;  /* of that thread, in stacks that do not pass the filter */
	uint16_t remainder_cpu;
	struct sn_weight *system_stacks; /* by stack: the part spent in the kernel */
};

/** Which stacks and threads pass the profile's filter; SN_ERR_NOT_FOUND names what the experiment
 * has not. */
sn_status sn_profile_filter(struct sn_profile *profile, struct sn_error *err);

/** Whether a sample's thread and time pass the filter. */
bool sn_profile_is_in_range(const struct sn_profile *profile, const struct sn_sample *sample);

/** Deviation of the entities of one partition over `threads` threads. Needs the thread times. */
void sn_profile_spread(struct sn_builder *b, enum sn_partition p, uint32_t threads);

/** 95 % intervals of the shares of the entities of one partition. Needs the sums. */
void sn_profile_intervals(struct sn_builder *b, enum sn_partition p);

#endif
