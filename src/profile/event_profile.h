/**
 * The profile of a counter that overflowed (record -e): as that of CPU time, with events in place of
 * nanoseconds. So every code view of CPU time is one of events, too.
 */
#ifndef SN_PROFILE_EVENT_PROFILE_H
#define SN_PROFILE_EVENT_PROFILE_H

#include "base/json.h"
#include "base/text.h"
#include "profile/profile.h"

struct sn_event_profile {
	struct sn_experiment
		experiment; /* that of the program, with overflows as samples: not to be freed */
	struct sn_program program;  /* likewise */
	struct sn_profile *profile; /* its cpu_ns are events, its samples overflows */
};

/** The number of an event of the experiment by its name; SN_ERR_NOT_FOUND names those that there are. */
sn_status sn_event_find(const struct sn_experiment *experiment, const char *name, uint32_t *out,
			struct sn_error *err);

/** As sn_profile_new; the caller frees. */
sn_status sn_event_profile_new(const struct sn_program *program, const struct sn_filter *filter,
			       uint32_t event, struct sn_event_profile **out, struct sn_error *err);
void sn_event_profile_free(struct sn_event_profile *event);

/** The member "events": what is sampled of each, and what the kernel counted. */
void sn_event_write_json(const struct sn_experiment *experiment, struct sn_json *json);
/** "page-faults: 1000 sampled, one in 1; the kernel counted 1004 in all processes" */
void sn_event_add_words(const struct sn_experiment *experiment, uint32_t event,
			struct sn_text *out);

#endif
