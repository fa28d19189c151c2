/*
 * One field: quoted where it must be. A field that begins like a formula gets an apostrophe first,
 * since spreadsheets run formulas that they find in CSV files.
 */
#include "base/csv.h"

#include <string.h>

void sn_csv_add(struct sn_text *line, const char *chars)
{
	struct sn_text clean = { 0 };

	if (*chars && strchr("=+-@\t\r", *chars))
		sn_text_add_char(&clean, '\'');
	sn_text_add_printable(&clean, chars, strlen(chars));
	if (!strpbrk(clean.chars, ",\"\n")) {
		sn_text_add(line, clean.chars);
	} else {
		sn_text_add_char(line, '"');
		for (const char *c = clean.chars; *c; c++) {
			if (*c == '"')
				sn_text_add_char(line, '"');
			sn_text_add_char(line, *c);
		}
		sn_text_add_char(line, '"');
	}
	sn_text_free(&clean);
}
