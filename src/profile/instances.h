/**
 * Instances of loops: what all threads counted, by loop, and their timings in buckets.
 */
#ifndef SN_PROFILE_INSTANCES_H
#define SN_PROFILE_INSTANCES_H

#include "base/text.h"
#include "profile/profile.h"

/** A timed instance, and where. */
struct sn_instance {
	uint32_t thread; /* of the experiment */
	struct sn_loop_timing timing;
	double cycles_per_iteration;
	double weight; /* so many timed instances it stands for */
};

/** Cycles are of the time-stamp counter, per iteration. Figures of spread are NaN without timings. */
struct sn_instance_bucket {
	int exponent; /* cycles an iteration are 2^exponent up to twice that */
	uint64_t timed;
	uint64_t timed_cycles, timed_iterations;
	struct sn_instance
		*kept; /* by cycles an iteration; some of the timed, spread over the run */
	size_t kept_count;
	/* known where some are kept and none holds others; the least and the most are of all that were timed (in older
	 * experiments of the kept) */
	uint64_t iterations_min, iterations_median, iterations_max;
	bool holds_others; /* one of them holds other instances of the loop */
	bool is_too_short; /* half of the instances take less than a reading of the counter: no median */
	bool is_apart; /* few and long beside the loop's others: they may have been interrupted */
	uint64_t share_cycles; /* of the timed ones, without buckets that are apart */
	double cycles_min, cycles_median, cycles_max, cycles_mean, cycles_deviation;
	double stability; /* (median - least) / least */
};

struct sn_instances {
	uint32_t loop;	 /* of the program */
	uint32_t thread; /* of the experiment that counted; SN_NONE: all together */
	uint64_t instances, open, iterations;
	bool has_iterations;
	uint64_t
		uncounted; /* open instances whose iterations are not in `iterations`: at work when the run ended, or left by a handler */
	/* open ones that longjmp, an exception or the end of a thread has left; known where each instance was to be timed,
	 * or none is open */
	uint64_t aborted;
	bool has_aborted;
	struct sn_instance_bucket all; /* its exponent is of no meaning */
	struct sn_instance_bucket *buckets;
	size_t bucket_count;
};

struct sn_instances_list {
	struct sn_arena arena;
	const struct sn_profile *counted; /* of the run that counted: timings name its threads */
	struct sn_instances *items;	  /* most CPU time first */
	size_t count;
};

/** Whether iterations_min to iterations_max are known. */
static inline bool sn_instances_have_iterations(const struct sn_instance_bucket *bucket)
{
	return bucket->kept_count && !bucket->holds_others;
}

/** "0.5-1": cycles an iteration, from and up to. */
void sn_instance_bucket_name(int exponent, struct sn_text *out);

/** Of the threads that pass the profile's filter; where another run of the program counted
 * (profile/companions.h), of all its threads. */
void sn_instances_find(const struct sn_profile *profile, struct sn_instances_list *out);
/** The same for each thread apart, in the order of threads for each loop. */
void sn_instances_find_by_thread(const struct sn_profile *profile, struct sn_instances_list *out);
void sn_instances_free(struct sn_instances_list *list);

#endif
