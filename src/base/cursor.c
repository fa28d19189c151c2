/*
 * Every read asks for its bytes first: what is not there fails the cursor and reads as zero.
 * LEB128 numbers of more than 64 bits are an error of their own.
 */
#include "base/cursor.h"

#include <string.h>

void sn_cursor_fail(struct sn_cursor *cur)
{
	if (cur->status == SN_OK)
		cur->status = SN_ERR_FORMAT;
	cur->next = cur->end;
}

const uint8_t *sn_cursor_bytes(struct sn_cursor *cur, size_t length)
{
	const uint8_t *bytes = cur->next;

	if (cur->status != SN_OK || length > sn_cursor_left(cur)) {
		sn_cursor_fail(cur);
		return NULL;
	}
	cur->next += length;
	return bytes;
}

void sn_cursor_skip(struct sn_cursor *cur, size_t length)
{
	(void)sn_cursor_bytes(cur, length);
}

static uint64_t little_endian(struct sn_cursor *cur, size_t length)
{
	const uint8_t *bytes = sn_cursor_bytes(cur, length);
	uint64_t value = 0;

	if (bytes)
		memcpy(&value, bytes, length);
	return value;
}

uint8_t sn_cursor_u8(struct sn_cursor *cur)
{
	return (uint8_t)little_endian(cur, 1);
}

uint16_t sn_cursor_u16(struct sn_cursor *cur)
{
	return (uint16_t)little_endian(cur, 2);
}

uint32_t sn_cursor_u32(struct sn_cursor *cur)
{
	return (uint32_t)little_endian(cur, 4);
}

uint64_t sn_cursor_u64(struct sn_cursor *cur)
{
	return little_endian(cur, 8);
}

static uint64_t leb128(struct sn_cursor *cur, unsigned *shift, uint8_t *last)
{
	uint64_t value = 0;

	*shift = 0;
	do {
		*last = sn_cursor_u8(cur);
		if (*shift < 64)
			value |= (uint64_t)(*last & 0x7f) << *shift;
		else if (cur->status == SN_OK && (*last & 0x7f) != 0 && (*last & 0x7f) != 0x7f) {
			cur->status = SN_ERR_RANGE;
			cur->next = cur->end;
		}
		*shift += 7;
	} while (*last & 0x80);
	return value;
}

uint64_t sn_cursor_uleb128(struct sn_cursor *cur)
{
	unsigned shift;
	uint8_t last;
	uint64_t value = leb128(cur, &shift, &last);

	return cur->status == SN_OK ? value : 0;
}

int64_t sn_cursor_sleb128(struct sn_cursor *cur)
{
	unsigned shift;
	uint8_t last;
	uint64_t value = leb128(cur, &shift, &last);

	if (shift < 64 && (last & 0x40))
		value |= ~(uint64_t)0 << shift;
	return cur->status == SN_OK ? (int64_t)value : 0;
}

const char *sn_cursor_string(struct sn_cursor *cur)
{
	const uint8_t *zero = cur->status == SN_OK && sn_cursor_left(cur)
				      ? memchr(cur->next, 0, sn_cursor_left(cur))
				      : NULL;
	const char *chars = (const char *)cur->next;

	if (!zero) {
		sn_cursor_fail(cur);
		return "";
	}
	cur->next = zero + 1;
	return chars;
}
