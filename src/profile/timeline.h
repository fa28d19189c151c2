/**
 * Thread x time: how the CPU time of each thread and interval divides into classes.
 */
#ifndef SN_PROFILE_TIMELINE_H
#define SN_PROFILE_TIMELINE_H

#include "profile/profile.h"

struct sn_timeline {
	int64_t from_ns, to_ns;
	uint32_t bin_count, row_count, class_count;
	uint32_t *threads; /* by row: index of the experiment's thread */
	uint32_t *cpu_us;  /* [(row * bin_count + bin) * class_count + class] */
	uint32_t *wait_us; /* [row * bin_count + bin]: blocked, by the traced calls */
	uint32_t *samples; /* [row * bin_count + bin]: observations */
};

/** Makes the timeline. Classes are the categories, unless `class_of` is given: it maps a sample to
 * 0 .. class_count-1. A sample's time lies before its stamp, and is spread over the bins that it
 * covers. Threads without time in the profile have no row. The caller frees. */
struct sn_timeline *
sn_timeline_new(const struct sn_profile *profile, uint32_t bin_count, uint32_t class_count,
		uint32_t (*class_of)(void *context, const struct sn_sample *sample), void *context);
void sn_timeline_free(struct sn_timeline *timeline);

#endif
