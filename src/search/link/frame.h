/**
 * Frames (wire/link.h) as bytes, read without trust.
 */
#ifndef SN_SEARCH_LINK_FRAME_H
#define SN_SEARCH_LINK_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cursor.h"
#include "base/text.h"
#include "wire/link.h"

struct sn_link_frame {
	uint16_t version, type;
	uint32_t flags, agent, epoch;
	uint64_t number, ack;
	const uint8_t *body; /* borrowed */
	uint32_t length;
};

/** CRC-32C (Castagnoli; RFC 3720, appendix B.4) of bytes, after those that gave `crc` (0: none). */
uint32_t sn_crc32c(uint32_t crc, const void *bytes, size_t length);

/** Adds a frame to bytes. Version 0 is this sonde's. */
void sn_link_frame_add(struct sn_text *out, const struct sn_link_frame *frame);
/** The next frame of a message; its body lies in the message. SN_ERR_FORMAT: it is cut short or damaged, or
 *  of no version that is understood. The cursor is then where it was. */
sn_status sn_link_frame_read(struct sn_cursor *cur, struct sn_link_frame *out);
/** Moves on to where the next frame may begin, at least one byte; false: there is none. */
bool sn_link_frame_seek(struct sn_cursor *cur);

/** The highest version that two peers have in common; 0: none. */
uint16_t sn_link_version(uint16_t low, uint16_t high, uint16_t other_low, uint16_t other_high);

/** Bodies are made of these, and read by sn_cursor; a number behind the body's end is read as 0. */
void sn_body_u16(struct sn_text *out, uint16_t value);
void sn_body_u32(struct sn_text *out, uint32_t value);
void sn_body_u64(struct sn_text *out, uint64_t value);
void sn_body_double(struct sn_text *out, double value);
/** A string or NULL. */
void sn_body_string(struct sn_text *out, const char *chars);
double sn_body_read_double(struct sn_cursor *cur);
/** "" if it is cut; NULL as it was. Borrowed. */
const char *sn_body_read_string(struct sn_cursor *cur);

#endif
