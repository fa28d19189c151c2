/**
 * The bytes of a report page: the shell (markup, style, program; web/dist/report.html) and chunks
 * of columns between its two halves. docs/format/report-page.md describes the result.
 *
 * A chunk is a table by columns. Each column is split into byte planes (all lowest bytes first,
 * then all second bytes, ...), the columns are concatenated, compressed with gzip and written as
 * base64 inside a script element that no browser executes. The order of calls is begin, { chunk,
 * column..., chunk_end }..., end.
 */
#ifndef SN_REPORT_HTML_PAGE_H
#define SN_REPORT_HTML_PAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "base/text.h"

enum sn_page_column {
	SN_PAGE_U8,
	SN_PAGE_U16,
	SN_PAGE_U32,
	SN_PAGE_D32,  /* 32 bits, stored as zigzag difference to the row before */
	SN_PAGE_F64,  /* 64 bits; whole numbers are exact to 2^53 */
	SN_PAGE_TEXT, /* lengths as U32, then all bytes (UTF-8) */
};

struct sn_page {
	FILE *out;
	struct sn_text contents; /* the table of contents so far: a JSON array's members */
	struct sn_text raw;	 /* the open chunk's planes */
	struct sn_text columns;
	const char *chunk;
	size_t rows;
	uint64_t written_bytes;
};

/** Writes the shell's first half, with `title` and `summary_html` (markup, shown before any data
 * and without JavaScript) in their places. */
void sn_page_begin(struct sn_page *page, FILE *out, const char *title, const char *summary_html);

void sn_page_chunk(struct sn_page *page, const char *name, size_t rows);
/* One column of the open chunk; `values` has one value a row. */
void sn_page_add_u8(struct sn_page *page, const char *name, const uint8_t *values);
void sn_page_add_u32(struct sn_page *page, const char *name, const uint32_t *values);
void sn_page_add_d32(struct sn_page *page, const char *name, const uint32_t *values);
void sn_page_add_f64(struct sn_page *page, const char *name, const double *values);
/** `lengths` may be NULL: the texts end in zero. A NULL text is empty. */
void sn_page_add_text(struct sn_page *page, const char *name, const char *const *texts,
		      const size_t *lengths);
sn_status sn_page_chunk_end(struct sn_page *page, struct sn_error *err);

/** An element with JSON text of its own; `json` is written as it is. */
void sn_page_add_json(struct sn_page *page, const char *id, const char *json);

/** Writes the table of contents (an object that `members` may add to) and the second half. */
void sn_page_end(struct sn_page *page, void (*members)(struct sn_json *json, void *context),
		 void *context);

/** Ends the writing of a page. A page that browsers would fail on is refused, else it is put in its
 * place. `status` is that of writing so far. The writer is freed in any case. */
sn_status sn_report_page_commit(const struct sn_page *page, struct sn_file_writer *writer,
				bool is_forced, sn_status status, struct sn_error *err);

/** Length in bytes of the shell alone. */
size_t sn_page_shell_length(void);

#endif
