/* The blocks of a tar file: fields of fixed places, numbers as octal text. */
#include "experiment/tar.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

/* Where the fields of a header lie, and how long they are. */
enum {
	NAME = 0,
	NAME_BYTES = 100,
	MODE = 100,
	OWNER = 108,
	GROUP = 116,
	SIZE = 124,
	SIZE_BYTES = 12,
	TIME = 136,
	SUM = 148,
	SUM_BYTES = 8,
	TYPE = 156,
	MAGIC = 257,
	PREFIX = 345,
	PREFIX_BYTES = 155,
};

static const uint64_t size_most_octal = UINT64_C(077777777777);

/* ---- writing ---- */

static unsigned sum_of(const uint8_t *block)
{
	unsigned sum = 0;

	for (int i = 0; i < SN_TAR_BLOCK; i++)
		sum += i >= SUM && i < SUM + SUM_BYTES ? ' ' : block[i];
	return sum;
}

static void octal_put(uint8_t *field, int digits, uint64_t value)
{
	while (digits--) {
		field[digits] = (uint8_t)('0' + (value & 7));
		value >>= 3;
	}
}

static void block_add(struct sn_text *out, const char *name, uint64_t size, char type,
		      unsigned mode)
{
	uint8_t block[SN_TAR_BLOCK] = { 0 };

	memcpy(block + NAME, name, strnlen(name, NAME_BYTES));
	octal_put(block + MODE, 7, mode);
	octal_put(block + OWNER, 7, 0);
	octal_put(block + GROUP, 7, 0);
	octal_put(block + SIZE, 11, size);
	octal_put(block + TIME, 11, 0);
	block[TYPE] = (uint8_t)type;
	memcpy(block + MAGIC, "ustar\00000", 8);
	octal_put(block + SUM, 6, sum_of(block));
	block[SUM + 7] = ' ';
	sn_text_add_bytes(out, (const char *)block, sizeof(block));
}

/* "LENGTH KEY=VALUE\n", where the length counts its own digits. */
static void pax_add(struct sn_text *out, const char *key, const char *value)
{
	size_t rest = strlen(key) + strlen(value) + 3, length = rest + 1;

	while (length != rest + (size_t)snprintf(NULL, 0, "%zu", length))
		length = rest + (size_t)snprintf(NULL, 0, "%zu", length);
	sn_text_addf(out, "%zu %s=%s\n", length, key, value);
}

void sn_tar_add_header(struct sn_text *out, const char *path, uint64_t size, bool is_folder)
{
	struct sn_text records = { 0 }, named = { 0 };
	char digits[24];

	sn_text_addf(&named, "%s%s", path, is_folder ? "/" : "");
	if (named.length > NAME_BYTES)
		pax_add(&records, "path", named.chars);
	if (size > size_most_octal) {
		snprintf(digits, sizeof(digits), "%llu", (unsigned long long)size);
		pax_add(&records, "size", digits);
	}
	if (records.length) {
		block_add(out, "pax", records.length, 'x', 0644);
		sn_text_add_bytes(out, records.chars, records.length);
		for (size_t i = sn_tar_padding(records.length); i; i--)
			sn_text_add_bytes(out, "", 1);
	}
	block_add(out, named.chars, size > size_most_octal ? 0 : size, is_folder ? '5' : '0',
		  is_folder ? 0755 : 0644);
	sn_text_free(&records);
	sn_text_free(&named);
}

/* ---- reading ---- */

static bool octal_get(const uint8_t *field, int bytes, uint64_t *out)
{
	int i = 0;

	*out = 0;
	if (field[0] & 0x80) { /* GNU tar: binary, the highest byte first */
		if (field[0] != 0x80 || field[1] || field[2] || field[3])
			return false;
		for (i = 4; i < bytes; i++)
			*out = *out << 8 | field[i];
		return *out <= INT64_MAX;
	}
	while (i < bytes && field[i] == ' ')
		i++;
	for (; i < bytes && field[i] >= '0' && field[i] <= '7'; i++)
		*out = *out << 3 | (uint64_t)(field[i] - '0');
	return i == bytes || field[i] == ' ' || !field[i];
}

static enum sn_tar_kind kind_of(uint8_t type)
{
	switch (type) {
	case '\0':
	case '0':
		return SN_TAR_FILE;
	case '5':
		return SN_TAR_FOLDER;
	case 'x':
		return SN_TAR_PAX;
	case 'g':
		return SN_TAR_PAX_GLOBAL;
	case 'L':
		return SN_TAR_LONG_PATH;
	case '1':
	case '2':
	case 'K':
		return SN_TAR_LINK;
	case '3':
	case '4':
	case '6':
		return SN_TAR_DEVICE;
	default:
		return SN_TAR_OTHER;
	}
}

static bool is_zeros(const uint8_t *block)
{
	for (int i = 0; i < SN_TAR_BLOCK; i++)
		if (block[i])
			return false;
	return true;
}

bool sn_tar_read_header(const uint8_t block[SN_TAR_BLOCK], struct sn_tar_header *out)
{
	const char *chars = (const char *)block;
	int prefix = 0;
	uint64_t sum;

	*out = (struct sn_tar_header){ .kind = SN_TAR_END };
	if (is_zeros(block))
		return true;
	if (!octal_get(block + SUM, SUM_BYTES, &sum) || sum != sum_of(block) ||
	    !octal_get(block + SIZE, SIZE_BYTES, &out->size))
		return false;
	out->kind = kind_of(block[TYPE]);
	/* GNU tar has other fields where the prefix is, and "ustar  " as its magic */
	if (!memcmp(chars + MAGIC, "ustar", 6))
		prefix = (int)strnlen(chars + PREFIX, PREFIX_BYTES);
	snprintf(out->path, sizeof(out->path), "%.*s%s%.*s", prefix, chars + PREFIX,
		 prefix ? "/" : "", NAME_BYTES, chars + NAME);
	return true;
}

static bool size_read(const char *digits, const char *end, uint64_t *out)
{
	if (digits == end)
		return false;
	for (*out = 0; digits < end; digits++)
		if (*digits < '0' || *digits > '9' || *out > (uint64_t)INT64_MAX / 10 - 1)
			return false;
		else
			*out = *out * 10 + (uint64_t)(*digits - '0');
	return true;
}

bool sn_tar_read_pax(const char *bytes, size_t length, char **path, uint64_t *size)
{
	while (length && *bytes) {
		const char *space = memchr(bytes, ' ', length), *equals, *end, *value;
		uint64_t record;

		if (!space || !size_read(bytes, space, &record) || record > length ||
		    record < (size_t)(space - bytes) + 3)
			return false;
		end = bytes + record - 1;
		equals = memchr(space, '=', (size_t)(end - space));
		if (*end != '\n' || !equals)
			return false;
		value = equals + 1;
		if (equals - space == 5 && !memcmp(space, " path", 5)) {
			if (memchr(value, '\0', (size_t)(end - value)))
				return false;
			free(*path);
			*path = sn_strndup(value, (size_t)(end - value));
		} else if (equals - space == 5 && !memcmp(space, " size", 5) &&
			   !size_read(value, end, size)) {
			return false;
		}
		bytes += record;
		length -= record;
	}
	return true;
}
