#include "harness/tap.h"

#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "report/html/html_parts.h"
#include "report/html/page.h"

static void no_members(struct sn_json *json, void *context)
{
	(void)json;
	(void)context;
}

/** A page with one chunk of one column. */
static char *make_page(void (*add)(struct sn_page *page), size_t rows)
{
	char *chars = NULL;
	size_t length = 0;
	FILE *out = open_memstream(&chars, &length);
	struct sn_page page;

	sn_page_begin(&page, out, "a <title>", "<h1>summary</h1>");
	sn_page_chunk(&page, "one", rows);
	add(&page);
	CHECK(sn_page_chunk_end(&page, NULL) == SN_OK);
	sn_page_end(&page, no_members, NULL);
	fclose(out);
	return chars;
}

static void add_numbers(struct sn_page *page)
{
	static const uint32_t values[] = { 5, 4, 0xffffffff, 0 };

	sn_page_add_d32(page, "n", values);
}

TEST(a_page_is_the_shell_with_title_summary_and_data)
{
	char *page = make_page(add_numbers, 4);

	CHECK(strstr(page, "<title>a &lt;title&gt;</title>"));
	CHECK(strstr(page, "<h1>summary</h1>"));
	CHECK(strstr(page, "id=\"chunk-one\">H4sI")); /* gzip's magic in base64 */
	CHECK(strstr(page, "\"name\":\"one\",\"rows\":4,\"raw_bytes\":16"));
	CHECK(strstr(page, "[\"n\",\"d32\"]"));
	CHECK(!strstr(page, "<!--DATA-->"));
	CHECK(strlen(page) > sn_page_shell_length() - 64);
	free(page);
}

static void add_nothing(struct sn_page *page)
{
	sn_page_add_text(page, "t", NULL, NULL);
}

TEST(a_chunk_may_be_empty)
{
	char *page = make_page(add_nothing, 0);

	CHECK(strstr(page, "\"rows\":0,\"raw_bytes\":0"));
	free(page);
}

TEST(the_static_part_escapes_names_and_has_no_style_attributes)
{
	struct sn_report report = { .experiment = "<x>", .arguments = "\"a\" & 'b'" };
	struct sn_text out = { 0 };

	sn_vec_push(&report.warnings, "</script><script>");
	sn_report_add_static_html(&report, &out);
	CHECK(strstr(out.chars, "&lt;x&gt;"));
	CHECK(strstr(out.chars, "&lt;/script&gt;&lt;script&gt;"));
	CHECK(!strstr(out.chars, "style="));
	CHECK(!strstr(out.chars, "<script"));
	sn_vec_free(&report.warnings);
	sn_text_free(&out);
}
