/*
 * A page is a shell from web/ with compressed columns put into it. Chunks are written as they are
 * filled, so that a large report needs little memory.
 */
#include "report/html/page.h"

#include <assert.h>
#include <string.h>
#include <zlib.h>

#include "base/alloc.h"
#include "base/vec.h"

extern const char sn_page_shell[], sn_page_shell_end[];

static const char *const kind_names[] = { "u8", "u16", "u32", "d32", "f64", "text" };

size_t sn_page_shell_length(void)
{
	return (size_t)(sn_page_shell_end - sn_page_shell);
}

static void write_bytes(struct sn_page *page, const char *bytes, size_t length)
{
	fwrite(bytes, 1, length, page->out); /* errors are found by sn_file_writer_commit */
	page->written_bytes += length;
}

/** Writes the part of the shell between two markers; "" stands for its beginning and its end. A
 * shell without its markers is a fault of the build; tests/end/report_page.py looks for it. */
static void write_shell_between(struct sn_page *page, const char *after, const char *before)
{
	const char *start = memmem(sn_page_shell, sn_page_shell_length(), after, strlen(after));
	const char *end = sn_page_shell_end;

	assert(start);
	start += strlen(after);
	if (*before)
		end = memmem(start, (size_t)(sn_page_shell_end - start), before, strlen(before));
	assert(end);
	write_bytes(page, start, (size_t)(end - start));
}

void sn_page_begin(struct sn_page *page, FILE *out, const char *title, const char *summary_html)
{
	struct sn_text escaped = { 0 };

	memset(page, 0, sizeof(*page));
	page->out = out;
	sn_text_add_html(&escaped, title);
	write_shell_between(page, "", "<!--TITLE-->");
	write_bytes(page, escaped.chars ? escaped.chars : "", escaped.length);
	write_shell_between(page, "<!--TITLE-->", "<!--SUMMARY-->");
	write_bytes(page, summary_html, strlen(summary_html));
	write_shell_between(page, "<!--SUMMARY-->", "<!--DATA-->");
	sn_text_free(&escaped);
}

void sn_page_chunk(struct sn_page *page, const char *name, size_t rows)
{
	page->chunk = name;
	page->rows = rows;
	sn_text_clear(&page->raw);
	sn_text_clear(&page->columns);
}

static void note_column(struct sn_page *page, const char *name, enum sn_page_column kind)
{
	sn_text_addf(&page->columns, "%s[\"%s\",\"%s\"]", page->columns.length ? "," : "", name,
		     kind_names[kind]);
}

/** Room for `count` more bytes of the chunk. */
static char *grow(struct sn_page *page, size_t count)
{
	struct sn_text *raw = &page->raw;
	size_t old = raw->length;

	if (raw->capacity - old < count + 1) {
		raw->capacity = old + count + 1 + raw->capacity / 2;
		raw->chars = sn_realloc_array(raw->chars, raw->capacity, 1);
	}
	raw->length += count;
	raw->chars[raw->length] = '\0';
	return raw->chars + old;
}

static void add_planes(struct sn_page *page, const void *values, size_t width, size_t rows)
{
	const unsigned char *bytes = values;
	char *out = grow(page, rows * width);

	for (size_t plane = 0; plane < width; plane++)
		for (size_t i = 0; i < rows; i++)
			*out++ = (char)bytes[i * width + plane];
}

void sn_page_add_u8(struct sn_page *page, const char *name, const uint8_t *values)
{
	note_column(page, name, SN_PAGE_U8);
	add_planes(page, values, 1, page->rows);
}

void sn_page_add_u32(struct sn_page *page, const char *name, const uint32_t *values)
{
	note_column(page, name, SN_PAGE_U32);
	add_planes(page, values, 4, page->rows);
}

void sn_page_add_d32(struct sn_page *page, const char *name, const uint32_t *values)
{
	uint32_t *steps = sn_realloc_array(NULL, page->rows + 1, sizeof(*steps));
	uint32_t before = 0;

	for (size_t i = 0; i < page->rows; i++) {
		uint32_t step = values[i] - before; /* modulo 2^32, so any value comes back */

		steps[i] = (step << 1) ^ (step & 0x80000000u ? 0xffffffffu : 0);
		before = values[i];
	}
	note_column(page, name, SN_PAGE_D32);
	add_planes(page, steps, 4, page->rows);
	sn_vec_release(steps);
}

void sn_page_add_f64(struct sn_page *page, const char *name, const double *values)
{
	note_column(page, name, SN_PAGE_F64);
	add_planes(page, values, 8, page->rows);
}

void sn_page_add_text(struct sn_page *page, const char *name, const char *const *texts,
		      const size_t *lengths)
{
	uint32_t *widths = sn_realloc_array(NULL, page->rows + 1, sizeof(*widths));

	for (size_t i = 0; i < page->rows; i++)
		widths[i] = (uint32_t)(!texts[i] ? 0 : lengths ? lengths[i] : strlen(texts[i]));
	note_column(page, name, SN_PAGE_TEXT);
	add_planes(page, widths, 4, page->rows);
	for (size_t i = 0; i < page->rows; i++)
		if (widths[i])
			memcpy(grow(page, widths[i]), texts[i], widths[i]);
	sn_vec_release(widths);
}

static sn_status compress_gzip(const struct sn_text *raw, struct sn_text *out, struct sn_error *err)
{
	z_stream stream = { 0 };
	size_t bound;

	if (raw->length > UINT32_MAX)
		return sn_error_set(err, SN_ERR_RANGE, "report: a chunk of %zu bytes is too large",
				    raw->length);
	if (deflateInit2(&stream, 6, Z_DEFLATED, 15 + 16, 9, Z_DEFAULT_STRATEGY) != Z_OK)
		return sn_error_set(err, SN_ERR_NOMEM, "report: zlib could not start");
	bound = deflateBound(&stream, raw->length);
	out->chars = sn_realloc_array(out->chars, bound + 1, 1);
	out->capacity = bound + 1;
	stream.next_in = (Bytef *)raw->chars;
	stream.avail_in = (uInt)raw->length;
	stream.next_out = (Bytef *)out->chars;
	stream.avail_out = (uInt)bound;
	deflate(&stream, Z_FINISH); /* one call is enough: the bound is a promise */
	out->length = stream.total_out;
	deflateEnd(&stream);
	return SN_OK;
}

static void write_base64(struct sn_page *page, const struct sn_text *bytes)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	char line[4096 * 4];
	size_t used = 0;

	for (size_t i = 0; i < bytes->length; i += 3) {
		size_t left = bytes->length - i;
		uint32_t b0 = (uint8_t)bytes->chars[i];
		uint32_t b1 = left > 1 ? (uint8_t)bytes->chars[i + 1] : 0;
		uint32_t b2 = left > 2 ? (uint8_t)bytes->chars[i + 2] : 0;
		uint32_t word = b0 << 16 | b1 << 8 | b2;

		line[used++] = digits[word >> 18];
		line[used++] = digits[word >> 12 & 63];
		line[used++] = left > 1 ? digits[word >> 6 & 63] : '=';
		line[used++] = left > 2 ? digits[word & 63] : '=';
		if (used == sizeof(line)) {
			write_bytes(page, line, used);
			used = 0;
		}
	}
	write_bytes(page, line, used);
}

sn_status sn_page_chunk_end(struct sn_page *page, struct sn_error *err)
{
	struct sn_text packed = { 0 }, tag = { 0 };
	sn_status status;

	grow(page, 0);
	status = compress_gzip(&page->raw, &packed, err);
	if (status != SN_OK)
		goto out;
	sn_text_addf(&tag, "<script type=\"application/x-sonde\" id=\"chunk-%s\">", page->chunk);
	write_bytes(page, tag.chars, tag.length);
	write_base64(page, &packed);
	write_bytes(page, "</script>\n", 10);
	sn_text_addf(&page->contents,
		     "%s{\"name\":\"%s\",\"rows\":%zu,\"raw_bytes\":%zu,\"bytes\":%zu,"
		     "\"columns\":[%s]}",
		     page->contents.length ? "," : "", page->chunk, page->rows, page->raw.length,
		     packed.length, page->columns.chars ? page->columns.chars : "");
out:
	sn_text_free(&packed);
	sn_text_free(&tag);
	return status;
}

void sn_page_add_json(struct sn_page *page, const char *id, const char *json)
{
	struct sn_text tag = { 0 };

	sn_text_addf(&tag, "<script type=\"application/json\" id=\"%s\">", id);
	write_bytes(page, tag.chars, tag.length);
	write_bytes(page, json, strlen(json));
	write_bytes(page, "</script>\n", 10);
	sn_text_free(&tag);
}

void sn_page_end(struct sn_page *page, void (*members)(struct sn_json *json, void *context),
		 void *context)
{
	char *chars = NULL;
	size_t length = 0;
	FILE *memory = open_memstream(&chars, &length);
	struct sn_json json = { .out = memory };
	struct sn_text toc = { 0 };

	if (!memory)
		sn_out_of_memory(4096);
	sn_json_object(&json);
	sn_json_member_string(&json, "schema", "sonde.page/1");
	members(&json, context);
	sn_json_close(&json);
	fclose(memory);
	/* The object's closing brace makes room for the list of chunks. */
	length = (size_t)(strrchr(chars, '}') - chars);
	sn_text_add(&toc, "<script type=\"application/json\" id=\"toc\">");
	sn_text_add_bytes(&toc, chars, length);
	sn_text_addf(&toc, ",\"chunks\":[%s]}</script>\n",
		     page->contents.chars ? page->contents.chars : "");
	write_bytes(page, toc.chars, toc.length);
	write_shell_between(page, "<!--DATA-->", "");
	sn_text_free(&toc);
	sn_text_free(&page->contents);
	sn_text_free(&page->raw);
	sn_text_free(&page->columns);
	sn_vec_release(chars);
}
