/* Collects the errors of one file of properties and prints them in the order of the file. */
#include "search/properties/diag.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/excerpt.h"
#include "base/text.h"

enum { MOST = 100 }; /* errors, and as many warnings */

/* One place has one error, and one warning. */
static bool is_known(const struct sn_prop_diags *diags, struct sn_prop_pos pos, bool is_warning)
{
	for (size_t i = 0; i < diags->items.count; i++)
		if (!memcmp(&diags->items.items[i].pos, &pos, sizeof(pos)) &&
		    diags->items.items[i].is_warning == is_warning)
			return true;
	return false;
}

__attribute__((format(printf, 4, 0))) static void add(struct sn_prop_diags *diags,
						      struct sn_prop_pos pos, bool is_warning,
						      const char *format, va_list args)
{
	struct sn_prop_diag diag = { .pos = pos,
				     .order = diags->items.count,
				     .is_warning = is_warning };
	char text[512];

	if (is_known(diags, pos, is_warning))
		return;
	*(is_warning ? &diags->warnings : &diags->errors) += 1;
	if ((is_warning ? diags->warnings : diags->errors) > MOST)
		return;
	vsnprintf(text, sizeof(text), format, args);
	diag.text = sn_arena_strdup(diags->arena, text);
	sn_vec_push(&diags->items, diag);
}

void sn_prop_report(struct sn_prop_diags *diags, struct sn_prop_pos pos, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	add(diags, pos, false, format, args);
	va_end(args);
}

void sn_prop_warn(struct sn_prop_diags *diags, struct sn_prop_pos pos, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	add(diags, pos, true, format, args);
	va_end(args);
}

static int by_place(const void *left, const void *right)
{
	const struct sn_prop_diag *a = left, *b = right;

	if (a->pos.line != b->pos.line)
		return a->pos.line < b->pos.line ? -1 : 1;
	if (a->pos.column != b->pos.column)
		return a->pos.column < b->pos.column ? -1 : 1;
	return a->order < b->order ? -1 : a->order > b->order;
}

void sn_prop_diags_print(struct sn_prop_diags *diags, const char *name, const char *chars,
			 size_t length, bool with_warnings, FILE *out)
{
	struct sn_text line = { 0 };

	if (diags->items.count)
		qsort(diags->items.items, diags->items.count, sizeof(*diags->items.items),
		      by_place);
	for (size_t i = 0; i < diags->items.count; i++) {
		const struct sn_prop_diag *d = &diags->items.items[i];

		if (d->is_warning && !with_warnings)
			continue;
		sn_text_clear(&line);
		sn_text_add_printable(&line, name, strlen(name));
		sn_text_addf(&line, ":%d:%d: %s: ", d->pos.line, d->pos.column,
			     d->is_warning ? "warning" : "error");
		sn_text_add_printable(&line, d->text, strlen(d->text));
		fprintf(out, "%s\n", line.chars);
		sn_excerpt_print(chars, length, d->pos.line, d->pos.column, out);
	}
	if (diags->errors > MOST)
		fprintf(out, "%s: %zu more errors\n", name, diags->errors - MOST);
	sn_text_free(&line);
}
