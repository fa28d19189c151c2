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
	uint32_t stack; /* of one frame: the loop's header */
	uint64_t
		entries_near; /* instances when `turn` was set last, or some before: sn_instances_entries */
	uint64_t turn;	/* sn_instances_turn */
	uint64_t exits; /* with SN_INSTANCES_OPEN while one is being timed */
	/* iterations, or steps of the induction variable (a sum in which those of instances that are
	 * not over lack the end) */
	uint64_t sum;
	/* what `sum` lacks of the last instance if that has no exit: the induction variable when it began. 0 where an exit adds
	 * all that there was */
	uint64_t last_entry;
	int64_t step;	/* of the induction variable; 0: `sum` is iterations */
	uint32_t loop;	/* index in the process */
	uint32_t every; /* 0: found while running */
	/* 1: `sum` lacks the iterations of those that are not over, and is whole else */
	uint32_t is_apart, reserved;
	uint64_t open_tsc, open_sum, open_stack_pointer, open_number;
	uint64_t timed, timed_cycles;
	uint64_t left; /* timed ones that did not come to an exit: longjmp, exceptions */
};

/** `exits`: an instance is being timed. */
#define SN_INSTANCES_OPEN (1ULL << 63)

/** `turn`, which one instruction of an entry changes: the lower half is how many entries are left until one is timed (with a
 *  sign: a handler's instance may come in between), the upper half what the number of entries is then, modulo 2^32. */
static inline uint64_t sn_instances_turn(uint64_t entries, int32_t left)
{
	return (uint64_t)((uint32_t)entries + (uint32_t)left) << 32 | (uint32_t)left;
}

/** How many instances there were, those that are not over included. */
static inline uint64_t sn_instances_entries(const struct sn_record_instances *record)
{
	uint64_t turn = record->turn;
	uint32_t entries = (uint32_t)(turn >> 32) - (uint32_t)turn;

	return record->entries_near +
	       (uint64_t)(int64_t)(int32_t)(entries - (uint32_t)record->entries_near);
}

static inline uint64_t sn_instances_exits(const struct sn_record_instances *record)
{
	return record->exits & ~SN_INSTANCES_OPEN;
}

static inline int sn_instances_is_open(const struct sn_record_instances *record)
{
	return record->exits >> 63 != 0;
}

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
