/**
 * Blocks given as text whose cycles are measured on this host.
 */
#ifndef SN_CQA_CALIBRATE_TIMED_BLOCK_H
#define SN_CQA_CALIBRATE_TIMED_BLOCK_H

#include "base/vec.h"
#include "cqa/calibrate/trip.h"

/** A block to time, with its result. A block that was read with an error is never run. */
struct sn_timed_block {
	uint8_t *bytes; /* owned */
	size_t length;
	struct sn_timing_request request;
	struct sn_timing_result result;
	struct sn_error err;
};

typedef SN_VEC(struct sn_timed_block) sn_timed_blocks;

/** Reads a block from one line of hex. A block that may not or cannot be run has the reason in
 * `out->err`. */
void sn_timed_block_read(const struct sn_machine *machine, const char *hex, size_t length,
			 bool is_unrolled, struct sn_timed_block *out);
/** Adds one pass to the result. */
void sn_timed_block_run(struct sn_timed_block *block);
void sn_timed_block_free(struct sn_timed_block *block);

/** One block a line; blank lines and those with # are left out. Ends at a NUL. */
void sn_timed_blocks_read(const struct sn_machine *machine, const char *text, size_t length,
			  bool is_unrolled, sn_timed_blocks *out);
/** All blocks in turn, `passes` times, so that a disturbance hits one pass of several blocks. */
void sn_timed_blocks_run(sn_timed_blocks *blocks, unsigned passes);
void sn_timed_blocks_free(sn_timed_blocks *blocks);

#endif
