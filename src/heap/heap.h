/**
 * The heap of an experiment, from its traces (wire/trace.h): what each call path allocated, released,
 * left behind, and held when the program held most. docs/method/heap.md has the definitions.
 *
 * Traces are read once, in the order of time over all threads and processes; memory is needed for the
 * blocks that are alive.
 */
#ifndef SN_HEAP_HEAP_H
#define SN_HEAP_HEAP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/span.h"
#include "experiment/experiment.h"
#include "wire/settings.h"

/** Counts are exact but for what `lost` says; of a sample they are estimates, with the variance of their
 *  bytes. Bytes are those that were requested. */
struct sn_heap_sums {
	uint64_t allocations, bytes;
	uint64_t frees;			     /* of these blocks, wherever that was */
	uint64_t leaked_count, leaked_bytes; /* never released until the process ended */
	uint64_t peak_bytes; /* alive when the sum over all processes was greatest */
	uint64_t temporary;  /* released before their thread's next allocation */
	uint64_t samples;    /* blocks that were met; 0: it is no sample */
	double allocations_variance, bytes_variance, leaked_variance, peak_variance;
};

struct sn_heap_path {
	uint32_t process;
	uint32_t stack; /* its leaf is the call; SN_NONE: none was taken */
	bool is_new;	/* operator new; else malloc and its kin */
	/* Bytes a second by which what it holds grew from the second fifth of its process's life to the last, if the least
	 * that it held grew from each fifth to the next; else 0. Of sums that the runtime counted it is not known: NaN. */
	double growth_bytes_s;
	struct sn_heap_sums sums;
};

struct sn_heap {
	bool is_traced; /* else all is zero: nobody asked for it */
	enum sn_heap_mode mode;
	bool has_several;	 /* more than one process allocated */
	uint64_t interval_bytes; /* of a sample: one of so many allocated bytes is met */
	SN_VEC(struct sn_heap_path) paths;
	struct sn_heap_sums total;
	/* time of the experiment; 0: nothing was allocated. Of sums that the runtime counted the peak is that of the
	 * process that held most */
	int64_t peak_ns;
	uint64_t unknown_frees; /* of blocks that were there before us, or came past us */
	uint64_t lost;		/* events that were counted and not kept */
	int64_t overhead_ns;	/* what tracing took in the target */
	uint64_t damaged;	/* pieces that could not be read to their end */
};

/** Reads the traces. Damage is counted, no error; SN_ERR_IO: a file cannot be read. The caller frees. */
sn_status sn_heap_read(const struct sn_experiment *experiment, struct sn_heap **out,
		       struct sn_error *err);
/** The same, and of events only those that lie in windows of an agent's (wire/monitor.h), where it had the heap on, count as
 *  allocations and frees. What blocks there are is known of these windows alone: peaks, leaks and growth mean nothing. */
sn_status sn_heap_read_within(const struct sn_experiment *experiment,
			      const struct sn_spans *windows, struct sn_heap **out,
			      struct sn_error *err);
void sn_heap_free(struct sn_heap *heap);

/** The 95 % interval of an estimate, of bytes or blocks, with this variance. */
void sn_heap_interval(uint64_t estimate, double variance, uint64_t *low, uint64_t *high);

#endif
