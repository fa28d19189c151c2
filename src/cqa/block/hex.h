/** Code that is given as hexadecimal digits. */
#ifndef SN_CQA_BLOCK_HEX_H
#define SN_CQA_BLOCK_HEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/** Turns the hex digits of one line (either case, blanks ignored) into bytes. `*count` is the room
 * on entry and the number of bytes on return. SN_ERR_FORMAT for what is no whole byte, SN_ERR_RANGE
 * for more than there is room for. */
sn_status sn_hex_parse(const char *chars, size_t length, uint8_t *bytes, size_t *count,
		       struct sn_error *err);

/** Whether a line of a file of blocks holds a block: it is not blank and has no #. */
bool sn_hex_is_block(const char *line, size_t length);

#endif
