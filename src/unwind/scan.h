/**
 * The way out of a function that nothing describes, read from its own code: hand-written kernels.
 *
 * From the pc the code is followed to a return. On the way an account is kept of the stack pointer,
 * of the registers that survive calls, and of what is pushed and stored. At the return, the return
 * address lies where the stack pointer points. A register that was loaded on the way had its
 * caller's value where it was loaded from.
 *
 * Conditional branches are not taken at first. Where a path ends without a return (a loop without
 * an end, a jump through a register, bytes that are no instruction) the last branch is taken
 * instead. Calls leave the stack as they found it (System V ABI, AMD64 supplement, 3.2.1).
 */
#ifndef SN_UNWIND_SCAN_H
#define SN_UNWIND_SCAN_H

#include "unwind/cache.h"

enum { SN_UNWIND_SCAN_MAX = 8192 }; /* instructions looked at for one pc */

/** Fills `row`, flagged SCANNED. Rows of other pcs on the way that lead out the same way are kept
 *  in `cache` (may be NULL), so that the next one is short. False: no return was reached. */
bool sn_unwind_scan(const struct sn_unwind_module *module, uint64_t pc, bool is_exact,
		    uint32_t generation, struct sn_unwind_cache *cache,
		    struct sn_unwind_short_row *row);

#endif
