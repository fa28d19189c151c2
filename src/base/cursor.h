/**
 * A bounds-checked read position over bytes we do not trust, little-endian.
 *
 * The first failure sticks: later reads return zero and leave `status` alone. So a parser may read
 * a whole record and check once. The cursor borrows the bytes; they must outlive it.
 */
#ifndef SN_BASE_CURSOR_H
#define SN_BASE_CURSOR_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct sn_cursor {
	const uint8_t *next, *end;
	sn_status status;
};

static inline struct sn_cursor sn_cursor_over(const void *bytes, size_t length)
{
	/* nothing at NULL is a cursor at its end */
	struct sn_cursor cur = { bytes, length ? (const uint8_t *)bytes + length : bytes, SN_OK };

	return cur;
}

static inline size_t sn_cursor_left(const struct sn_cursor *cur)
{
	return (size_t)(cur->end - cur->next);
}

/** Sets the cursor's status to SN_ERR_FORMAT (unless it failed before) and moves it to its end. */
void sn_cursor_fail(struct sn_cursor *cur);

uint8_t sn_cursor_u8(struct sn_cursor *cur);
uint16_t sn_cursor_u16(struct sn_cursor *cur);
uint32_t sn_cursor_u32(struct sn_cursor *cur);
uint64_t sn_cursor_u64(struct sn_cursor *cur);
/** LEB128 (DWARF 5, section 7.6). More than 64 bits is SN_ERR_RANGE. */
uint64_t sn_cursor_uleb128(struct sn_cursor *cur);
int64_t sn_cursor_sleb128(struct sn_cursor *cur);
/** The next `length` bytes, borrowed; NULL on failure (never for length 0). */
const uint8_t *sn_cursor_bytes(struct sn_cursor *cur, size_t length);
/** A zero-terminated string, borrowed; "" on failure. */
const char *sn_cursor_string(struct sn_cursor *cur);
void sn_cursor_skip(struct sn_cursor *cur, size_t length);

#endif
