/*
 * Reads messages of C compilers and linkers for calls of functions that are nowhere, and turns
 * them into findings at the place in the Pandore source.
 */
#include "pandore/compiler/host_errors.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/spelling.h"
#include "base/text.h"

enum { NAME_MAX_BYTES = 128 };

static bool is_name(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

/* "...WHAT NAME'": the name behind WHAT and a quote, of whichever form. */
static bool name_after(const char *line, size_t length, const char *what, char *name)
{
	const char *at = memmem(line, length, what, strlen(what)), *end = line + length;
	size_t n = 0;

	if (!at)
		return false;
	at += strlen(what);
	while (at < end && !is_name(*at))
		at++;
	while (at + n < end && is_name(at[n]) && n + 1 < NAME_MAX_BYTES)
		n++;
	memcpy(name, at, n);
	name[n] = 0;
	return n > 0;
}

/* The column of a word in a line of a source; 0: it is not there. */
static int column_of(const struct sn_pnd_file *file, int line, const char *word)
{
	const char *at = file->chars, *end = at + file->length, *start;
	size_t length = strlen(word);

	for (int n = 1; n < line && at < end; n++) {
		const char *newline = memchr(at, '\n', (size_t)(end - at));

		at = newline ? newline + 1 : end;
	}
	for (start = at; at < end && *at != '\n'; at++)
		if ((size_t)(end - at) >= length && !memcmp(at, word, length) &&
		    (at == start || !is_name(at[-1])) &&
		    (at + length == end || !is_name(at[length])))
			return (int)(at - start) + 1;
	return 0;
}

/* A place "FILE:LINE:" of a source in a message; linkers write whole paths before it. */
static bool place_in(const struct sn_pnd_diags *diags, const char *line, size_t length,
		     const char *word, struct sn_pnd_pos *out)
{
	for (size_t f = 0; f < diags->files.count; f++) {
		const struct sn_pnd_file *file = &diags->files.items[f];
		const char *at = memmem(line, length, file->name, strlen(file->name));
		int number = at ? atoi(at + strlen(file->name) + 1) : 0, column;

		if (!at || at[strlen(file->name)] != ':' || (at > line && is_name(at[-1])))
			continue;
		column = column_of(file, number, word);
		if (!column)
			continue;
		*out = (struct sn_pnd_pos){ (int)f, number, column };
		return true;
	}
	return false;
}

/* Linkers without line numbers: the compiler has seen the call, too, if there is no prototype. */
static bool place_of_call(const struct sn_pnd_diags *diags, const char *said, const char *name,
			  struct sn_pnd_pos *out)
{
	char found[NAME_MAX_BYTES];

	for (const char *line = said; *line;) {
		size_t length = strcspn(line, "\n");

		if (name_after(line, length, " function ", found) && !strcmp(found, name) &&
		    place_in(diags, line, length, name, out))
			return true;
		line += length + (line[length] == '\n');
	}
	return false;
}

static void report(struct sn_pnd_diags *diags, struct sn_pnd_pos pos, const char *name,
		   const char *const *phases, size_t phase_count)
{
	const char *near = NULL;

	for (size_t i = 0; i < phase_count && !near; i++)
		if (sn_spelling_is_near(name, phases[i]))
			near = phases[i];
	if (near)
		sn_pnd_report(diags, pos, 12,
			      "'%s' is neither a phase nor a function of this program; did you "
			      "mean the phase '%s'?",
			      name, near);
	else
		sn_pnd_report(diags, pos, 12,
			      "'%s' is neither a phase nor a function of this program; define it, "
			      "or name the file or library that has it (after the source; options "
			      "of the C compiler after --)",
			      name);
}

bool sn_pnd_explain_host_errors(struct sn_pnd_diags *diags, const char *said,
				const char *const *phases, size_t phase_count)
{
	bool is_explained = true, is_any = false;

	for (const char *line = said; *line;) {
		size_t length = strcspn(line, "\n");
		char name[NAME_MAX_BYTES];
		struct sn_pnd_pos pos;

		if (name_after(line, length, "undefined reference to ", name)) {
			bool is_placed = place_in(diags, line, length, name, &pos) ||
					 place_of_call(diags, said, name, &pos);

			if (is_placed)
				report(diags, pos, name, phases, phase_count);
			is_any |= is_placed;
			is_explained &= is_placed;
		} else if (memmem(line, length, "error: ", 7) &&
			   !memmem(line, length, "ld returned", 11) &&
			   !memmem(line, length, "linker command failed", 21)) {
			is_explained = false;
		}
		line += length + (line[length] == '\n');
	}
	return is_any && is_explained;
}
