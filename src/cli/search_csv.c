/* The rows of a search as CSV: those that `sonde show searched` has. */
#include <stdlib.h>
#include <string.h>

#include "base/csv.h"
#include "cli/search.h"
#include "views/view.h"

/* Tabs separate its words. */
static void line_print(char *line, FILE *out)
{
	struct sn_text text = { 0 };

	for (char *word = line; word;) {
		char *end = strchr(word, '\t');

		if (end)
			*end = '\0';
		sn_csv_add(&text, word);
		word = end ? end + 1 : NULL;
		sn_text_add(&text, word ? "," : "\n");
	}
	fputs(text.chars, out);
	sn_text_free(&text);
}

static void names_print(FILE *out)
{
	for (const struct sn_view *const *view = sn_views; *view; view++)
		if (!strcmp((*view)->name, "searched"))
			fprintf(out, "%s\n", (*view)->data_columns);
}

void sn_search_write_csv(const struct sn_search *search, FILE *out)
{
	char *rows = NULL, *rest = NULL, *line;
	size_t length = 0;
	FILE *memory = open_memstream(&rows, &length);

	if (!memory)
		return;
	sn_search_write_rows(search, memory);
	fclose(memory);
	names_print(out);
	line = strtok_r(rows, "\n", &rest); /* the version */
	while (line && (line = strtok_r(NULL, "\n", &rest)))
		line_print(line, out);
	free(rows);
}
