/**
 * The clock profile of the kernel on all CPUs (record --kernel): a perf cpu-clock event on each, whose samples hold
 * the chain of the kernel's callers. What was sampled is one process `[kernel]` of an experiment; its threads are
 * the tasks on whose behalf the kernel ran. Idle CPUs are left out.
 *
 * Names come from /proc/kallsyms, which knows modules too. Those that samples met are written to
 * `kernel.symbols` in the experiment ("START SIZE name", as perf's maps).
 *
 * One thread of the caller uses it, and drains it at least every 20 ms.
 */
#ifndef SN_RECORD_KERNEL_H
#define SN_RECORD_KERNEL_H

#include <stdbool.h>

#include "base/error.h"

struct sn_kernel;

struct sn_kernel_options {
	bool with_user;	    /* time in user code of all processes, too: one row, by task */
	bool starts_paused; /* until sn_kernel_pause(kernel, false) */
	double rate_hz;	    /* above 0 */
	const char *folder; /* where the data file is made; borrowed, as all texts */
	const char *experiment;
	const char *host;
	int rank; /* -1: none */
	/** Called when the data file wants more space (see sn_feeder_feed). */
	void (*feed)(void *context);
	void *feed_context;
};

/** SN_ERR_UNSUPPORTED: the kernel refuses, hides its names or has none; the sentence says what would help. */
sn_status sn_kernel_open(const struct sn_kernel_options *options, struct sn_kernel **out,
			 struct sn_error *err);
void sn_kernel_drain(struct sn_kernel *kernel);
/** Stops and resumes sampling. */
void sn_kernel_pause(struct sn_kernel *kernel, bool is_paused);
/** Drains the rest, writes accounts and names, and closes. */
void sn_kernel_close(struct sn_kernel *kernel);

#endif
