/* The bytes of a block that is given as text. */
#include "cqa/block/hex.h"

#include <string.h>

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

sn_status sn_hex_parse(const char *chars, size_t length, uint8_t *bytes, size_t *count,
		       struct sn_error *err)
{
	size_t room = *count, used = 0;
	int high = -1;

	for (size_t i = 0; i < length; i++) {
		int digit = hex_digit(chars[i]);

		if (is_blank(chars[i]))
			continue;
		if (digit < 0)
			return sn_error_set(err, SN_ERR_FORMAT,
					    "character %zu of the block is no hexadecimal digit",
					    i + 1);
		if (high < 0) {
			high = digit;
			continue;
		}
		if (used == room)
			return sn_error_set(err, SN_ERR_RANGE, "the block is longer than %zu bytes",
					    room);
		bytes[used++] = (uint8_t)(high << 4 | digit);
		high = -1;
	}
	if (high >= 0)
		return sn_error_set(err, SN_ERR_FORMAT,
				    "the block has an odd number of hexadecimal digits");
	*count = used;
	return SN_OK;
}

bool sn_hex_is_block(const char *line, size_t length)
{
	if (memchr(line, '#', length))
		return false;
	for (size_t i = 0; i < length; i++)
		if (!is_blank(line[i]))
			return true;
	return false;
}
