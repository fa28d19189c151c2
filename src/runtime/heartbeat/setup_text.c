/*
 * Growing text without stdio: numbers, JSON and CSV escapes, and complaints to standard error.
 * Where memory runs out, the text says that it is short.
 */
#include "runtime/heartbeat/parts.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void beat_text_add(struct beat_text *text, const char *chars, size_t length)
{
	if (text->capacity - text->length < length) {
		size_t capacity = 2 * text->capacity + length + 4096;
		char *grown = realloc(text->chars, capacity);

		if (!grown) {
			text->is_short = true;
			return;
		}
		text->chars = grown;
		text->capacity = capacity;
	}
	memcpy(text->chars + text->length, chars, length);
	text->length += length;
}

void beat_text_string(struct beat_text *text, const char *chars)
{
	beat_text_add(text, chars, strlen(chars));
}

void beat_text_uint(struct beat_text *text, uint64_t value)
{
	char digits[20];
	size_t first = sizeof(digits);

	do
		digits[--first] = (char)('0' + value % 10);
	while (value /= 10);
	beat_text_add(text, digits + first, sizeof(digits) - first);
}

void beat_text_seconds(struct beat_text *text, uint64_t ns)
{
	char digits[10] = ".000000000";
	uint64_t rest = ns % 1000000000;

	beat_text_uint(text, ns / 1000000000);
	for (unsigned i = 9; i > 0; i--, rest /= 10)
		digits[i] = (char)('0' + rest % 10);
	beat_text_add(text, digits, sizeof(digits));
}

void beat_complain(const char *what, const char *value, const char *why)
{
	struct beat_text line = { 0 };

	beat_text_string(&line, "sonde-heartbeat: ");
	beat_text_string(&line, what);
	beat_text_string(&line, " ");
	beat_text_json(&line, value, strlen(value));
	beat_text_string(&line, why);
	beat_text_string(&line, "\n");
	if (line.length && !line.is_short)
		(void)!write(STDERR_FILENO, line.chars, line.length);
	free(line.chars);
}

/* Length of the valid UTF-8 sequence (RFC 3629, section 4), 0 if it is none. */
static size_t utf8_length(const unsigned char *c, size_t left)
{
	size_t length = c[0] < 0x80   ? 1
			: c[0] < 0xc2 ? 0
			: c[0] < 0xe0 ? 2
			: c[0] < 0xf0 ? 3
			: c[0] < 0xf5 ? 4
				      : 0;

	if (length > left)
		return 0;
	for (size_t i = 1; i < length; i++)
		if ((c[i] & 0xc0) != 0x80)
			return 0;
	if ((c[0] == 0xe0 && c[1] < 0xa0) || (c[0] == 0xed && c[1] > 0x9f) ||
	    (c[0] == 0xf0 && c[1] < 0x90) || (c[0] == 0xf4 && c[1] > 0x8f))
		return 0;
	return length;
}

static void add_escaped(struct beat_text *text, unsigned char c)
{
	static const char hex[] = "0123456789abcdef";
	char escape[6] = { '\\', 'u', '0', '0', hex[c >> 4], hex[c & 15] };

	if (c == '"' || c == '\\') {
		char pair[2] = { '\\', (char)c };

		beat_text_add(text, pair, 2);
	} else {
		beat_text_add(text, escape, 6);
	}
}

void beat_text_json(struct beat_text *text, const char *chars, size_t length)
{
	beat_text_add(text, "\"", 1);
	for (size_t i = 0; i < length;) {
		const unsigned char *c = (const unsigned char *)chars + i;
		size_t n = utf8_length(c, length - i);

		if (n == 0)
			beat_text_string(text, "\\ufffd");
		else if (n == 1 && (*c < 0x20 || *c == 0x7f || *c == '"' || *c == '\\'))
			add_escaped(text, *c);
		else
			beat_text_add(text, (const char *)c, n);
		i += n ? n : 1;
	}
	beat_text_add(text, "\"", 1);
}

/* An apostrophe disarms what a spreadsheet would take for a formula; one that could be taken for
 * ours gets another, so that readers can undo it. */
void beat_text_csv(struct beat_text *text, const char *chars, size_t length)
{
	static const char formula[] = "=+-@\t\r";

	beat_text_add(text, "\"", 1);
	if (length &&
	    (strchr(formula, chars[0]) ||
	     (chars[0] == '\'' && length > 1 && (chars[1] == '\'' || strchr(formula, chars[1])))))
		beat_text_add(text, "'", 1);
	for (size_t i = 0; i < length;) {
		size_t n = utf8_length((const unsigned char *)chars + i, length - i);

		if (chars[i] == '"')
			beat_text_add(text, "\"", 1);
		if (n)
			beat_text_add(text, chars + i, n);
		else
			beat_text_string(text, "\xef\xbf\xbd");
		i += n ? n : 1;
	}
	beat_text_add(text, "\"", 1);
}
