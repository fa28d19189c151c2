/**
 * Loops that wait actively (spin): a pass of theirs leaves nothing behind for the next one, so that
 * only another thread can end them.
 */
#ifndef SN_CODE_BUSY_WAIT_H
#define SN_CODE_BUSY_WAIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "code/structure.h"

/** Whether a loop of these bytes, the body in order of addresses, waits: it looks at memory, stores
 * nothing but by atomic instructions, calls nothing, and no register that it changes has a value
 * from the pass before; or it has PAUSE. False for bytes that are no code. */
bool sn_bytes_busy_wait(const uint8_t *bytes, size_t length);

/** The same of an innermost loop of up to 32 instructions; false for all others. */
bool sn_loop_busy_waits(const struct sn_structure *structure, const struct sn_loop *loop);

#endif
