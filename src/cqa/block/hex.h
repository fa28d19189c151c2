/** Code that is given as hexadecimal digits. */
#ifndef SN_CQA_BLOCK_HEX_H
#define SN_CQA_BLOCK_HEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/** Hex of one line (either case, blanks ignored) to bytes; `*count` in: room, out: bytes.
 * SN_ERR_FORMAT for what is no whole byte, SN_ERR_RANGE for more than there is room for. */
sn_status sn_hex_parse(const char *chars, size_t length, uint8_t *bytes, size_t *count,
		       struct sn_error *err);

/** Of a file of blocks: not a blank line, nor one with a #. */
bool sn_hex_is_block(const char *line, size_t length);

#endif
