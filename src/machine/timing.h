/**
 * Times a piece of machine code on this host, without hardware counters.
 *
 * The code runs in a child of its own, under a seccomp filter that allows only mapping memory and
 * leaving, with limits on time and memory. Every page that it touches is given to it.
 *
 * Time is the difference between a long and a short run, in core cycles. The time-stamp counter is
 * compared with a chain of dependent additions that is timed in the same repetition, so the
 * changing clock cancels.
 */
#ifndef SN_MACHINE_TIMING_H
#define SN_MACHINE_TIMING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

enum {
	SN_TIMING_CODE_MAX = 4096,
	SN_TIMING_PASSES_MAX = 32,
	SN_TIMING_OWN_BYTES =
		40960, /* memory that a run may touch and still find in the first level */
};

/** Whether any number of pages may be one page of memory without cost. False on AMD, whose
 * first-level cache picks its way by the virtual address: each page is memory of its own there. */
bool sn_timing_shares_pages(void);

struct sn_timing_request {
	const uint8_t *code;
	size_t length;
	bool is_loop; /* the code branches back to its start, `trips` times in all; else it is
			 copied */
	/* loop: general registers that make it run trips_short and trips_long times; else only the
	 * first row counts. rsp is set by the harness unless `sets_rsp`. */
	uint64_t registers_short[16], registers_long[16];
	unsigned trips_short, trips_long; /* iterations, or copies */
	unsigned repetitions;		  /* 0: 60 */
};

/** The value that a register gets if nothing else decides it. All values are distinct, far apart
 * and 32 bits wide. */
uint64_t sn_timing_register(unsigned number);

/** Registers of a request all set to their defaults, trips and repetitions to usual values. */
void sn_timing_request_init(struct sn_timing_request *request, const uint8_t *code, size_t length);

/**
 * Makes one measurement: core cycles per iteration (copy), from the 20th percentiles of the
 * repetitions. SN_ERR_UNSUPPORTED if the code cannot be run here: it faulted, used an instruction
 * that this processor lacks, made a system call, or took too long. The sentence says which.
 */
sn_status sn_timing_run(const struct sn_timing_request *request, double *cycles,
			struct sn_error *err);

struct sn_timing_result {
	double cycles; /* the lowest pass, or the lowest of those that agree */
	double passes[SN_TIMING_PASSES_MAX];
	unsigned pass_count;
	bool is_stable; /* the two lowest passes agree within 5 %, or more than half do */
};

/** Adds one measurement to a result and decides anew. */
void sn_timing_result_add(struct sn_timing_result *result, double cycles);

/** Core cycles per tick of the time-stamp counter now (a few milliseconds). */
double sn_timing_cycles_per_tick(void);

#endif
