/*
 * Collects findings, drops those that repeat another one, and prints the rest in the order of the
 * source, each with its line and a caret.
 */
#include "pandore/compiler/diag.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/excerpt.h"
#include "base/text.h"

enum { FINDINGS_MAX = 200 };

static bool is_warning(int code)
{
	return code == 11 || code == 14 || code == 15;
}

/* Does a statement end between two columns of a line? Then what follows is read afresh. */
static bool is_statement_between(const struct sn_pnd_diags *diags, struct sn_pnd_pos pos, int from,
				 int to)
{
	size_t length = 0, first = (size_t)(from < to ? from : to) - 1;
	size_t last = (size_t)(from < to ? to : from) - 1;
	const struct sn_pnd_file *file = &diags->files.items[pos.file];
	const char *line = sn_excerpt_line(file->chars, file->length, pos.line, &length);

	for (size_t i = first; line && i < last && i < length; i++)
		if (line[i] == ';' || line[i] == '{' || line[i] == '}')
			return true;
	return false;
}

static bool repeats(const struct sn_pnd_diags *diags, const struct sn_pnd_diag *old,
		    const struct sn_pnd_diag *diag)
{
	if (old->pos.file != diag->pos.file || old->pos.line != diag->pos.line ||
	    old->code != diag->code || old->severity != diag->severity)
		return false;
	if (old->pos.column == diag->pos.column)
		return true;
	if (diag->code == 0)
		return !is_statement_between(diags, diag->pos, old->pos.column, diag->pos.column);
	return !strcmp(old->text, diag->text);
}

static bool is_known(const struct sn_pnd_diags *diags, const struct sn_pnd_diag *diag)
{
	for (size_t i = 0; i < diags->items.count; i++)
		if (repeats(diags, &diags->items.items[i], diag))
			return true;
	return false;
}

__attribute__((format(printf, 5, 0))) static void add(struct sn_pnd_diags *diags,
						      struct sn_pnd_pos pos,
						      enum sn_pnd_severity severity, int code,
						      const char *format, va_list args)
{
	struct sn_pnd_diag diag = { .pos = pos, .severity = severity, .code = code };
	char text[512];

	diag.order = diags->items.count;
	if (severity == SN_PND_ERROR)
		diags->errors++;
	vsnprintf(text, sizeof(text), format, args);
	diag.text = text;
	if (diags->items.count >= FINDINGS_MAX || is_known(diags, &diag))
		return;
	diag.text = sn_arena_strdup(diags->arena, text);
	sn_vec_push(&diags->items, diag);
}

void sn_pnd_report(struct sn_pnd_diags *diags, struct sn_pnd_pos pos, int code, const char *format,
		   ...)
{
	va_list args;

	va_start(args, format);
	add(diags, pos, is_warning(code) ? SN_PND_WARNING : SN_PND_ERROR, code, format, args);
	va_end(args);
}

void sn_pnd_remark(struct sn_pnd_diags *diags, struct sn_pnd_pos pos, int code, const char *format,
		   ...)
{
	va_list args;

	va_start(args, format);
	add(diags, pos, SN_PND_REMARK, code, format, args);
	va_end(args);
}

static int by_place(const void *left, const void *right)
{
	const struct sn_pnd_diag *a = left, *b = right;

	if (a->pos.file != b->pos.file)
		return a->pos.file < b->pos.file ? -1 : 1;
	if (a->pos.line != b->pos.line)
		return a->pos.line < b->pos.line ? -1 : 1;
	if (a->pos.column != b->pos.column)
		return a->pos.column < b->pos.column ? -1 : 1;
	return a->order < b->order ? -1 : a->order > b->order;
}

void sn_pnd_diags_print(struct sn_pnd_diags *diags, FILE *out, bool with_remarks)
{
	static const char *const words[] = { "error", "warning", "remark" };
	struct sn_text line = { 0 };

	if (diags->items.count)
		qsort(diags->items.items, diags->items.count, sizeof(*diags->items.items),
		      by_place);
	for (size_t i = 0; i < diags->items.count; i++) {
		const struct sn_pnd_diag *d = &diags->items.items[i];
		const struct sn_pnd_file *file = &diags->files.items[d->pos.file];

		if (d->severity == SN_PND_REMARK && !with_remarks)
			continue;
		sn_text_clear(&line);
		sn_text_add_printable(&line, file->name, strlen(file->name));
		sn_text_addf(&line, ":%d:%d: %s: ", d->pos.line, d->pos.column, words[d->severity]);
		if (d->severity == SN_PND_REMARK)
			sn_text_addf(&line, "R%d: ", d->code);
		else
			sn_text_addf(&line, "P%02d: ", d->code);
		sn_text_add_printable(&line, d->text, strlen(d->text));
		fprintf(out, "%s\n", line.chars);
		sn_excerpt_print(file->chars, file->length, d->pos.line, d->pos.column, out);
	}
	sn_text_free(&line);
}

void sn_pnd_diags_clear(struct sn_pnd_diags *diags)
{
	diags->items.count = diags->errors = 0;
}

void sn_pnd_diags_free(struct sn_pnd_diags *diags)
{
	sn_vec_free(&diags->files);
	sn_vec_free(&diags->items);
}
