/**
 * Records of loop instances: what a thread did in a loop that runs as a copy (wire/plan.h). Unlike the
 * others of wire/data.h they change after they were written: the copy counts in them.
 */
#ifndef SN_WIRE_INSTANCES_H
#define SN_WIRE_INSTANCES_H

#include "wire/data.h"

/** What one thread did in one loop. It is counted where it stands, by the loop's own code (wire/plan.h),
 *  so it is true at any moment, after SIGKILL, too. */
struct sn_record_instances {
	struct sn_record_header header;
	uint32_t stack;	  /* of one frame: the loop's header */
	uint64_t entries; /* instances, those that are not over included */
	uint64_t exits;
	/* iterations, or steps of the induction variable (a sum in which those of instances that are
	 * not over lack the end) */
	uint64_t sum;
	uint64_t last_entry; /* the induction variable when the last instance began */
	int64_t step;	     /* of the induction variable; 0: `sum` is iterations */
	uint32_t loop;	     /* index in the process */
	uint32_t countdown;  /* entries until one is timed */
	uint32_t is_open;    /* one is being timed */
	uint32_t every;	     /* 0: found while running */
	uint64_t open_tsc, open_sum, open_stack_pointer, open_number;
	uint64_t timed, timed_cycles;
	uint64_t left; /* timed ones that did not come to an exit: longjmp, exceptions */
};

/** By which call path a thread came to a loop. Not every instance is looked at: one stands for all since the
 *  one before, and only of those that were looked at the time is known. */
struct sn_record_caller {
	struct sn_record_header header;
	uint32_t stack; /* as in INSTANCES */
	uint32_t path;	/* SN_RECORD_PATH: its leaf is the loop's header; 0: not known */
	uint32_t reserved;
	uint64_t instances; /* that it stands for */
	uint64_t looked_at; /* of them */
	uint64_t timed, iterations, cycles;
};

/** How often a thread came to the basic blocks of a function that runs as a copy; a function of more than
 *  SN_RECORD_BLOCKS_MAX has several of these. It changes as INSTANCES does. */
struct sn_record_blocks {
	struct sn_record_header header;
	uint32_t stack; /* of one frame: the first of these blocks */
	uint32_t loop;	/* index in the process */
	uint32_t count;
	struct sn_block_count {
		int32_t offset; /* of the block, from the first */
		uint32_t instructions;
		uint64_t executions;
	} blocks[];
};

enum { SN_RECORD_BLOCKS_MAX = 128 };

enum { SN_BUCKET_SAMPLES = 31, SN_BUCKET_EXPONENT_ONE = 5 };
/** In a sample's `iterations`: those of other instances of the loop (recursion, a handler) are among them. */
#define SN_SAMPLE_HOLDS_OTHERS (1ULL << 63)

/** Timed instances of a thread in a loop whose cycles an iteration are between two powers of two; of
 *  them some, spread evenly over the run. */
struct sn_record_bucket {
	struct sn_record_header header;
	uint32_t stack;	   /* as in INSTANCES */
	uint32_t exponent; /* 2^(exponent - 5) <= cycles an iteration < 2^(exponent - 4) */
	uint32_t sample_count;
	uint64_t timed, iterations, cycles; /* cycles of the time-stamp counter */
	uint64_t sample_every;		    /* of the timed ones, from the first, is in `samples` */
	struct {
		uint64_t number, cycles; /* of the loop's instances in the thread, from 0 */
		uint64_t iterations;
	} samples[SN_BUCKET_SAMPLES];
};

/** A BUCKET as it is written: with the fewest and the most iterations of all its instances. 0: none was timed yet. Records of
 * older versions are a struct sn_record_bucket alone. */
struct sn_record_timed {
	struct sn_record_bucket bucket;
	uint64_t iterations_min,
		iterations_max; /* with SN_SAMPLE_HOLDS_OTHERS in the latter, if one does */
};

#endif
