/*
 * Lines of the summary's page. A line is built in a buffer without escapes, so that widths are right;
 * what is set off in it is kept apart and put in when the line is written.
 */
#include "views/summary/text_page.h"

#include <string.h>

void sn_page_set_off(const struct sn_text_page *page, size_t from, size_t to, const char *style)
{
	if (page->spans->count < SN_SPANS_MAX && style[0])
		page->spans->items[page->spans->count++] = (struct sn_text_span){ from, to, style };
}

/* Printable text in exactly `columns` columns: cut in the middle, or padded. */
void sn_page_add_cell(struct sn_text *line, const char *chars, size_t columns)
{
	struct sn_text safe = { 0 };
	size_t width;

	sn_text_add_printable(&safe, chars, strlen(chars));
	sn_text_elide(&safe, columns);
	width = safe.chars ? sn_utf8_columns(safe.chars) : 0;
	if (safe.chars)
		sn_text_add(line, safe.chars);
	if (width < columns)
		sn_text_add_repeated(line, ' ', columns - width);
	sn_text_free(&safe);
}

static void write_spans(const struct sn_text_page *page, const char *chars, size_t length)
{
	size_t at = 0;

	for (size_t i = 0; i < page->spans->count; i++) {
		const struct sn_text_span *span = &page->spans->items[i];
		size_t from = span->from < length ? span->from : length;
		size_t to = span->to < length ? span->to : length;

		if (from >= to)
			continue;
		fwrite(chars + at, 1, from - at, page->out);
		fprintf(page->out, "%s%.*s%s", span->style, (int)(to - from), chars + from,
			page->style->off);
		at = to;
	}
	fwrite(chars + at, 1, length - at, page->out);
	page->spans->count = 0;
}

/* What does not fit is cut at the right, at a character's border. */
void sn_page_put_line(const struct sn_text_page *page, struct sn_text *line)
{
	size_t end = line->length, columns = 0, at = 0;

	while (end && line->chars[end - 1] == ' ')
		end--;
	while (at < end && columns < page->width) {
		size_t length = sn_utf8_length(line->chars + at, end - at);

		at += length ? length : 1;
		columns++;
	}
	write_spans(page, line->chars ? line->chars : "", at < end ? at : end);
	fputc('\n', page->out);
	sn_text_clear(line);
}

void sn_page_put_heading(const struct sn_text_page *page, struct sn_text *line)
{
	sn_page_set_off(page, 0, line->length, page->style->strong);
	sn_page_put_line(page, line);
}

/* The bytes of `text` that fit into so many columns, up to a blank if its second half has one. */
static size_t bytes_that_fit(const char *text, size_t columns)
{
	size_t length = strlen(text), at = 0, blank = 0;

	for (size_t column = 0; at < length && column < columns; column++) {
		size_t bytes = sn_utf8_length(text + at, length - at);

		if (text[at] == ' ' && column > columns / 2)
			blank = at;
		at += bytes ? bytes : 1;
	}
	return at == length || text[at] == ' ' || !blank ? at : blank;
}

/* A sentence over as many lines as it needs, broken at blanks. */
void sn_page_put_wrapped(const struct sn_text_page *page, struct sn_text *line, const char *first,
			 const char *text)
{
	struct sn_text safe = { 0 };
	size_t indent = sn_utf8_columns(first),
	       room = page->width > indent + 20 ? page->width - indent : 60;
	const char *at;

	sn_text_add_printable(&safe, text, strlen(text));
	at = safe.chars ? safe.chars : "";
	sn_text_add(line, first);
	do {
		size_t cut = bytes_that_fit(at, room);

		sn_text_add_bytes(line, at, cut);
		sn_page_put_line(page, line);
		at += cut;
		at += *at == ' ';
		if (*at)
			sn_text_add_repeated(line, ' ', indent);
	} while (*at);
	sn_text_free(&safe);
}

/* A line of facts, none of which may be cut off. */
void sn_page_put_facts(const struct sn_text_page *page, struct sn_text *line)
{
	struct sn_text facts = *line;
	size_t indent = facts.chars ? strspn(facts.chars, " ") : 0;

	*line = (struct sn_text){ 0 };
	sn_page_put_wrapped(page, line, indent ? " " : "", facts.chars ? facts.chars + indent : "");
	sn_text_free(&facts);
}
