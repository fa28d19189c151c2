/**
 * Makes a loop body that is given as bytes run a chosen number of times. It finds which registers
 * must start with which values, so that the closing branch is taken that often. It also decides
 * which code may be run at all.
 */
#ifndef SN_CQA_TRIP_H
#define SN_CQA_TRIP_H

#include "cqa/block/insn.h"
#include "machine/timing.h"

/**
 * Fills a timing request for the block (a loop unless `is_unrolled`). SN_ERR_UNSUPPORTED, with a
 * sentence, if the block may not be run: it has system calls, interrupts, privileged instructions,
 * or jumps out of it. The same if its trip count cannot be set: the last instruction must branch
 * back to byte 0 on a register that moves by a constant step.
 */
sn_status sn_trip_plan(const struct sn_machine *machine, const uint8_t *bytes, size_t length,
		       bool is_unrolled, struct sn_timing_request *out, struct sn_error *err);

#endif
