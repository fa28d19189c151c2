/**
 * Sampling a process from outside: a process that runs already, or one that nothing can be loaded
 * into (static executables).
 *
 * Each thread carries a perf task-clock event whose samples hold the user registers and a copy of
 * the top of the stack. They are unwound here, by the code that the runtime uses (src/unwind/), and
 * written in the runtime's format (wire/data.h). New threads are followed through the kernel's
 * records of forks. This works for the owner of the process at perf_event_paranoid 2.
 *
 * Four things are missing here, and the experiment's warnings say so: waits with their stacks, what
 * threads did before they were seen, children, and (without the right to kernel samples) where
 * exactly system time went, which is attributed to the code that runs next.
 *
 * One thread of the caller uses it: it opens, polls sn_outside_fd together with its other
 * descriptors, and calls sn_outside_drain at least every 20 ms.
 */
#ifndef SN_RECORD_OUTSIDE_H
#define SN_RECORD_OUTSIDE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/types.h>

#include "base/error.h"
#include "wire/counters.h"

struct sn_outside;

struct sn_outside_options {
	pid_t pid;
	/** The process is the caller's child and stands before its exec: measuring begins with it.
	 */
	bool is_before_exec;
	bool starts_paused; /* sampling begins with sn_outside_pause(outside, false) */
	double rate_hz;	    /* 0: no samples, only the account */
	const struct sn_counter_spec *counters; /* of -e; borrowed */
	uint32_t counter_count;
	const char *folder; /* where the data file is made; borrowed */
	const char *host;
	int32_t rank; /* -1: none */
	/** Called when the data file wants more space (see sn_feeder_feed); may be NULL. */
	void (*feed)(void *context);
	void *feed_context;
};

/** Opens the events of all threads there are. SN_ERR_NOT_FOUND: no such process;
 *  SN_ERR_UNSUPPORTED: the kernel refuses, and the sentence says what would help. */
sn_status sn_outside_open(const struct sn_outside_options *options, struct sn_outside **out,
			  struct sn_error *err);

/** Begins to measure after the exec of a child that was opened before it. Not needed otherwise. */
sn_status sn_outside_begin(struct sn_outside *outside, struct sn_error *err);

/** Readable when there is something to drain. */
int sn_outside_fd(const struct sn_outside *outside);

/** Reads, unwinds and writes what there is. False: all threads have ended. */
bool sn_outside_drain(struct sn_outside *outside);

/** Stops and resumes sampling. */
void sn_outside_pause(struct sn_outside *outside, bool is_paused);

/**
 * Drains the rest, writes the accounts and closes. `wait_status` is what wait4 gave with `usage`,
 * or `usage` is NULL if the process is not the caller's or still runs.
 */
void sn_outside_close(struct sn_outside *outside, int wait_status, const struct rusage *usage);

#endif
