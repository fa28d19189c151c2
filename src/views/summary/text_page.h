/**
 * Writing a page of text line by line: cells, sentences over several lines, parts that are set off.
 */
#ifndef SN_VIEWS_TEXT_PAGE_H
#define SN_VIEWS_TEXT_PAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "base/terminal.h"
#include "base/text.h"

struct sn_summary;

/* Bytes of a line that are set off. */
struct sn_text_span {
	size_t from, to;
	const char *style;
};

enum { SN_SPANS_MAX = 8 };

/* Of the line in work, in order; its bytes hold no escapes, so that widths are right. */
struct sn_text_spans {
	struct sn_text_span items[SN_SPANS_MAX];
	size_t count;
};

struct sn_text_page {
	const struct sn_summary *summary;
	FILE *out;
	bool is_utf8;
	unsigned width;
	const struct sn_style *style;
	struct sn_text_spans *spans;
};

/** Notes that bytes [from, to) of the line in work have a style; in order of their place. */
void sn_page_set_off(const struct sn_text_page *page, size_t from, size_t to, const char *style);
/** Adds printable text in exactly so many columns: cut (sn_text_elide), or padded. */
void sn_page_add_cell(struct sn_text *line, const char *chars, size_t columns);
/** Writes the line and clears it. What does not fit is cut at the right. */
void sn_page_put_line(const struct sn_text_page *page, struct sn_text *line);
/** Writes the line as a heading. */
void sn_page_put_heading(const struct sn_text_page *page, struct sn_text *line);
/** Writes a sentence over as many lines as it needs, all but the first set in as far as `first` is
 * long. */
void sn_page_put_wrapped(const struct sn_text_page *page, struct sn_text *line, const char *first,
			 const char *text);
/** Writes a line of facts, none of which may be cut off. */
void sn_page_put_facts(const struct sn_text_page *page, struct sn_text *line);

#endif
