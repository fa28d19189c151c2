/*
 * Prints a line of source so that the caret stands under its column: tabs stay tabs in both lines,
 * and what a terminal must not see is escaped in one and as wide in the other.
 */
#include "base/excerpt.h"

#include <stdbool.h>
#include <string.h>

#include "base/text.h"

enum { SHOWN_COLUMNS_MAX = 400 };

const char *sn_excerpt_line(const char *chars, size_t length, int line, size_t *line_length)
{
	const char *at = chars, *end = chars + length;
	const char *stop;

	for (int n = 1; n < line && at < end; n++) {
		stop = memchr(at, '\n', (size_t)(end - at));
		if (!stop)
			return NULL;
		at = stop + 1;
	}
	stop = at < end ? memchr(at, '\n', (size_t)(end - at)) : NULL;
	*line_length = (size_t)((stop ? stop : end) - at);
	return at;
}

/* Adds a piece of source as a terminal may see it, or as many blanks; tabs stay tabs in both, so
 * that a caret stands under its column. */
static void add_source(struct sn_text *text, const char *bytes, size_t length, bool is_blank)
{
	while (length) {
		const char *tab = memchr(bytes, '\t', length);
		size_t run = tab ? (size_t)(tab - bytes) : length;
		struct sn_text piece = { 0 };

		sn_text_add_printable(&piece, bytes, run);
		if (is_blank && piece.chars)
			sn_text_add_repeated(text, ' ', sn_utf8_columns(piece.chars));
		else if (piece.chars)
			sn_text_add(text, piece.chars);
		sn_text_free(&piece);
		if (tab)
			sn_text_add_char(text, '\t');
		bytes += run + (tab ? 1 : 0);
		length -= run + (tab ? 1 : 0);
	}
}

void sn_excerpt_print(const char *chars, size_t chars_length, int line_number, int column,
		      FILE *out)
{
	struct sn_text shown = { 0 };
	size_t length = 0, before = (size_t)column - 1;
	const char *line = sn_excerpt_line(chars, chars_length, line_number, &length);

	if (!line || length > SHOWN_COLUMNS_MAX)
		return;
	if (length && line[length - 1] == '\r')
		length--;
	sn_text_add(&shown, "    ");
	add_source(&shown, line, length, false);
	sn_text_add(&shown, "\n    ");
	add_source(&shown, line, before < length ? before : length, true);
	if (before > length)
		sn_text_add_repeated(&shown, ' ', before - length);
	sn_text_add(&shown, "^\n");
	fputs(shown.chars, out);
	sn_text_free(&shown);
}
