/** Numbers and small files where libc must not be called. Safe in handlers. */
#ifndef SN_RUNTIME_CORE_PARSE_H
#define SN_RUNTIME_CORE_PARSE_H

#include <fcntl.h>
#include <stdint.h>

#include "runtime/core/sys.h"

/** Skips blanks, reads digits, and moves `*text` behind them. */
static inline uint64_t sn_parse_number(const char **text)
{
	uint64_t value = 0;

	while (**text == ' ' || **text == '\t' || **text == '\n')
		(*text)++;
	while (**text >= '0' && **text <= '9')
		value = value * 10 + (uint64_t)(*(*text)++ - '0');
	return value;
}

/** Hexadecimal digits, none skipped before them; moves `*at` behind them. */
static inline uint64_t sn_parse_hex(const char **at)
{
	uint64_t value = 0;

	for (;; (*at)++) {
		unsigned digit = (unsigned char)**at;

		if (digit - '0' < 10)
			digit -= '0';
		else if ((digit | 32) - 'a' < 6)
			digit = (digit | 32) - 'a' + 10;
		else
			return value;
		value = value << 4 | digit;
	}
}

/** Decimal digits and a final zero; gives where the zero is. */
static inline char *sn_format_number(char *out, uint64_t value)
{
	char digits[20];
	int count = 0;

	do
		digits[count++] = (char)('0' + value % 10);
	while (value /= 10);
	while (count)
		*out++ = digits[--count];
	*out = '\0';
	return out;
}

static inline char *sn_copy_text(char *out, const char *text)
{
	while (*text)
		*out++ = *text++;
	*out = '\0';
	return out;
}

static inline long sn_read_file_raw(const char *path, char *out, size_t out_bytes)
{
	long fd = SYS(openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC), length = 0;

	if (fd >= 0) {
		length = SYS(read, fd, out, out_bytes - 1);
		SYS(close, fd);
	}
	out[length > 0 ? length : 0] = '\0';
	return length > 0 ? length : 0;
}

#endif
