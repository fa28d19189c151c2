/* Puts the data into the page's shell, at the marks that it has for them. */
#include "pandore/page/page.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

extern const char sn_pandore_shell[], sn_pandore_shell_end[];

/* Writes the shell from `*at` up to a marker, and moves `*at` behind it. */
static void write_to(FILE *out, const char **at, const char *marker)
{
	const char *end = memmem(*at, (size_t)(sn_pandore_shell_end - *at), marker, strlen(marker));

	assert(end); /* else make_shell.py has lost it */
	fwrite(*at, 1, (size_t)(end - *at), out);
	*at = end + strlen(marker);
}

static void write_page(const struct sn_pandore_page *page, const char *graphs, FILE *out)
{
	const char *at = sn_pandore_shell;
	struct sn_text title = { 0 };

	sn_text_add_html(&title, page->title);
	write_to(out, &at, "<!--TITLE-->");
	fputs(title.chars ? title.chars : "", out);
	write_to(out, &at, "<!--BODY-->");
	fprintf(out, "<header class=\"head\"><h1>%s</h1></header>\n",
		title.chars ? title.chars : "");
	fputs(graphs, out);
	if (page->condition)
		sn_page_condition_body(page->condition, out);
	sn_page_lattice_body(page, out);
	write_to(out, &at, "<!--DATA-->");
	if (page->profile_count)
		sn_page_comm_data(page, out);
	if (page->answer_count)
		sn_page_lattice_data(page, out);
	fwrite(at, 1, (size_t)(sn_pandore_shell_end - at), out);
	sn_text_free(&title);
}

/* The graphs are made first: they are what can fail, and a page begun cannot be taken back. */
sn_status sn_pandore_page_write(const struct sn_pandore_page *page, FILE *out, struct sn_error *err)
{
	char *graphs = NULL;
	size_t length = 0;
	FILE *memory = open_memstream(&graphs, &length);
	sn_status status = SN_OK;

	if (!memory)
		return sn_error_errno(err, "cannot get memory for a page");
	if (page->profile_count)
		status = sn_page_comm_body(page, memory, err);
	fclose(memory);
	if (status == SN_OK)
		write_page(page, graphs, out);
	free(graphs);
	return status;
}
