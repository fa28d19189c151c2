/**
 * Loops that wait actively (spin). An iteration of such a loop leaves nothing behind for the next
 * one, so only another thread can end it.
 */
#ifndef SN_CODE_BUSY_WAIT_H
#define SN_CODE_BUSY_WAIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "code/structure.h"

/** Whether a loop whose body is these bytes, in the order of addresses, waits. It does if it has
 * PAUSE. It also does if it reads memory, stores nothing but by atomic instructions, calls nothing,
 * and changes no register whose value the next iteration reads, but for counters, which it steps by a
 * constant and only compares: a wait whose patience ends. False for bytes that are no code. */
bool sn_bytes_busy_wait(const uint8_t *bytes, size_t length);

/** The same of an innermost loop of up to 32 instructions; false for all others. */
bool sn_loop_busy_waits(const struct sn_structure *structure, const struct sn_loop *loop);

#endif
