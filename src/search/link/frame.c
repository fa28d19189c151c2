/* Frames to bytes and back. What is read was sent by another process, or lay on a disk. */
#include "search/link/frame.h"

#include <string.h>

enum { AT_CRC = 40 };

uint32_t sn_crc32c(uint32_t crc, const void *bytes, size_t length)
{
	static uint32_t table[256];
	const uint8_t *at = bytes;

	if (!table[1])
		for (uint32_t i = 256; i-- > 0;) { /* entry 1 last: then all are there */
			uint32_t value = i;

			for (int bit = 0; bit < 8; bit++)
				value = value & 1 ? value >> 1 ^ 0x82f63b78u : value >> 1;
			table[i] = value;
		}
	crc = ~crc;
	for (size_t i = 0; i < length; i++)
		crc = crc >> 8 ^ table[(crc ^ at[i]) & 0xff];
	return ~crc;
}

/* ---- writing ---- */

static void number_add(struct sn_text *out, uint64_t value, int bytes)
{
	char little[8];

	for (int i = 0; i < bytes; i++)
		little[i] = (char)(value >> 8 * i);
	sn_text_add_bytes(out, little, (size_t)bytes);
}

void sn_body_u16(struct sn_text *out, uint16_t value)
{
	number_add(out, value, 2);
}

void sn_body_u32(struct sn_text *out, uint32_t value)
{
	number_add(out, value, 4);
}

void sn_body_u64(struct sn_text *out, uint64_t value)
{
	number_add(out, value, 8);
}

void sn_body_double(struct sn_text *out, double value)
{
	uint64_t bits;

	memcpy(&bits, &value, sizeof(bits));
	number_add(out, bits, 8);
}

void sn_body_string(struct sn_text *out, const char *chars)
{
	number_add(out, chars != NULL, 1);
	if (chars)
		sn_text_add_bytes(out, chars, strlen(chars) + 1);
}

void sn_link_frame_add(struct sn_text *out, const struct sn_link_frame *frame)
{
	size_t begin = out->length;
	uint32_t crc;

	number_add(out, SN_LINK_MAGIC, 4);
	number_add(out, frame->version ? frame->version : SN_LINK_VERSION, 2);
	number_add(out, frame->type, 2);
	number_add(out, frame->flags, 4);
	number_add(out, frame->agent, 4);
	number_add(out, frame->epoch, 4);
	number_add(out, frame->length, 4);
	number_add(out, frame->number, 8);
	number_add(out, frame->ack, 8);
	number_add(out, 0, 8);
	if (frame->length)
		sn_text_add_bytes(out, (const char *)frame->body, frame->length);
	crc = sn_crc32c(0, out->chars + begin, out->length - begin);
	for (int i = 0; i < 4; i++)
		out->chars[begin + AT_CRC + (size_t)i] = (char)(crc >> 8 * i);
}

/* ---- reading ---- */

double sn_body_read_double(struct sn_cursor *cur)
{
	uint64_t bits = sn_cursor_u64(cur);
	double value;

	memcpy(&value, &bits, sizeof(value));
	return value;
}

const char *sn_body_read_string(struct sn_cursor *cur)
{
	return sn_cursor_u8(cur) ? sn_cursor_string(cur) : NULL;
}

static bool is_understood(uint16_t version)
{
	return version && version + 1 >= SN_LINK_VERSION && version <= SN_LINK_VERSION + 1;
}

uint16_t sn_link_version(uint16_t low, uint16_t high, uint16_t other_low, uint16_t other_high)
{
	uint16_t both = high < other_high ? high : other_high;

	return both >= low && both >= other_low ? both : 0;
}

static bool is_whole(const uint8_t *head, size_t bytes, uint32_t crc)
{
	static const uint8_t none[4] = { 0 };
	uint32_t got = sn_crc32c(0, head, AT_CRC);

	got = sn_crc32c(got, none, sizeof(none));
	return sn_crc32c(got, head + AT_CRC + 4, bytes - AT_CRC - 4) == crc;
}

sn_status sn_link_frame_read(struct sn_cursor *cur, struct sn_link_frame *out)
{
	struct sn_cursor at = *cur;
	struct sn_link_frame f;
	uint32_t magic = sn_cursor_u32(&at), crc;

	f.version = sn_cursor_u16(&at);
	f.type = sn_cursor_u16(&at);
	f.flags = sn_cursor_u32(&at);
	f.agent = sn_cursor_u32(&at);
	f.epoch = sn_cursor_u32(&at);
	f.length = sn_cursor_u32(&at);
	f.number = sn_cursor_u64(&at);
	f.ack = sn_cursor_u64(&at);
	crc = sn_cursor_u32(&at);
	sn_cursor_u32(&at);
	if (at.status != SN_OK || magic != SN_LINK_MAGIC || !is_understood(f.version) ||
	    f.length > SN_LINK_BODY_MOST)
		return SN_ERR_FORMAT;
	f.body = sn_cursor_bytes(&at, f.length);
	if (!f.body || !is_whole(cur->next, SN_LINK_HEAD + (size_t)f.length, crc))
		return SN_ERR_FORMAT;
	*cur = at;
	*out = f;
	return SN_OK;
}

bool sn_link_frame_seek(struct sn_cursor *cur)
{
	static const char magic[] = { 'S', 'A', 'C', '2' };
	const uint8_t *next;

	if (sn_cursor_left(cur) <= sizeof(magic))
		return false;
	next = memmem(cur->next + 1, sn_cursor_left(cur) - 1, magic, sizeof(magic));
	if (next)
		cur->next = next;
	return next != NULL;
}
