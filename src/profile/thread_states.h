/**
 * The states of threads by function: where they computed, waited for a CPU, and blocked.
 *
 * User and system time are those of the samples. A traced call's time belongs to the function of the
 * program that made it. Two figures the kernel has by thread only: how long it waited for a CPU, and how
 * long it blocked beside traced calls. They are placed by gaps: between two samples of a thread more wall
 * time passed than CPU time and traced waits, so what the second sample met was delayed. Each gap takes
 * its part of the thread's figure, so that a thread's states add up to the kernel's account of it.
 */
#ifndef SN_PROFILE_THREAD_STATES_H
#define SN_PROFILE_THREAD_STATES_H

#include "profile/profile.h"

enum sn_state_kind {
	SN_STATE_USER,
	SN_STATE_SYSTEM,
	SN_STATE_WAIT_CPU, /* ready to run, and no CPU was free */
	SN_STATE_LOCK,	   /* locks, conditions, barriers, semaphores, joins */
	SN_STATE_IO,
	SN_STATE_POLL,
	SN_STATE_SLEEP,
	SN_STATE_CHILD,
	SN_STATE_OTHER_WAIT, /* blocked, in calls that are not traced, or that are of no other kind */
	SN_STATES,
};

struct sn_function_states {
	uint32_t function; /* of the program; SN_NONE: time that could not be placed */
	uint64_t ns[SN_STATES];
	uint64_t total_ns;
};

struct sn_thread_states {
	SN_VEC(struct sn_function_states) items; /* most time first */
	uint64_t ns[SN_STATES];			 /* of all */
	/* threads whose waiting the kernel did not tell: they add none to WAIT_CPU and OTHER_WAIT
	 * beside what is traced */
	uint32_t threads_unknown;
};

/** Of the samples and waits that pass the profile's filter. The caller frees. */
void sn_thread_states_find(const struct sn_profile *profile, struct sn_thread_states *out);
void sn_thread_states_free(struct sn_thread_states *states);

#endif
