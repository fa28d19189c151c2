/* Shortens texts that are too long for their column, so that what tells one row from another stays. */
#include <string.h>

#include "base/text.h"

enum { NAME_COLUMNS_LEAST = 24, ADDRESS_COLUMNS_MOST = 64 };

/* ", after NAME" of "<code at 0x5040, after NAME>+0x31", which the address says as well. */
static const char *neighbour(const char *chars, size_t *length)
{
	const char *after = strstr(chars, ", after "), *end = after ? strchr(after, '>') : NULL;

	*length = end ? (size_t)(end - after) : 0;
	return after;
}

bool sn_name_is_address(const char *name)
{
	return sn_starts_with(name, "<function at 0x") || sn_starts_with(name, "<code at 0x");
}

static bool is_address(const char *chars)
{
	size_t after;

	neighbour(chars, &after);
	return sn_name_is_address(chars) && strlen(chars) - after <= ADDRESS_COLUMNS_MOST;
}

size_t sn_text_columns_least(const char *chars)
{
	size_t after;

	neighbour(chars, &after);
	return is_address(chars) ? strlen(chars) - after : NAME_COLUMNS_LEAST;
}

static void replace(struct sn_text *text, size_t first, size_t end, const char *by)
{
	struct sn_text out = { 0 };

	sn_text_add_bytes(&out, text->chars, first);
	sn_text_add(&out, by);
	sn_text_add(&out, text->chars + end);
	sn_text_free(text);
	*text = out;
}

static void cut_middle(struct sn_text *text, size_t columns)
{
	size_t left = (columns - 2) * 2 / 3;

	if (text->length > columns)
		replace(text, left, text->length - (columns - 2 - left), "..");
}

/* ---- names of C++ ---- */

static int nesting(char c)
{
	return strchr("<({[", c) && c ? 1 : strchr(">)}]", c) && c ? -1 : 0;
}

/* The end of what opens at `at`, one behind; the text's end if it never closes. */
static size_t closing(const char *chars, size_t at)
{
	int depth = 0;

	do
		depth += nesting(chars[at]);
	while (chars[at] && chars[at++] && depth > 0);
	return at;
}

/* std::map<int, std::less<int> >::find: std::map<..>::find */
static void drop_arguments(struct sn_text *text)
{
	for (size_t at = 0; at < text->length; at++) {
		size_t end;

		if (text->chars[at] != '<' ||
		    (at >= 8 && !strncmp(text->chars + at - 8, "operator", 8)))
			continue;
		end = closing(text->chars, at);
		if (end - at <= 4 || text->chars[end - 1] != '>')
			continue;
		replace(text, at + 1, end - 1, "..");
		at += 3;
	}
}

/* Where the last blank (`separator` " ") or the next scope ("::") ends, outside of all brackets; 0:
 * none. */
static size_t end_of(const char *chars, const char *separator, bool is_last)
{
	size_t found = 0, length = strlen(separator);
	int depth = 0;

	for (size_t at = 0; chars[at] && (is_last || !found); at++) {
		depth += nesting(chars[at]);
		if (!depth && !strncmp(chars + at, separator, length) && chars[at + length])
			found = at + length;
	}
	return found;
}

/* A namespace without a name tells no function from another. */
static void drop_anonymous(struct sn_text *text)
{
	static const char anonymous[] = "(anonymous namespace)::";
	char *at;

	while ((at = strstr(text->chars, anonymous)) != NULL)
		replace(text, (size_t)(at - text->chars),
			(size_t)(at - text->chars) + strlen(anonymous), "");
}

static bool is_word(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '_';
}

/* a<b::c, d::e::f>::g: a<c, f>::g */
static void drop_scopes_of_arguments(struct sn_text *text)
{
	int depth = 0;

	for (size_t at = 0; at < text->length; at++) {
		size_t first = at;

		depth += nesting(text->chars[at]);
		if (depth <= 0 || strncmp(text->chars + at, "::", 2) != 0)
			continue;
		while (first > 0 && is_word(text->chars[first - 1]))
			first--;
		if (first == at)
			continue;
		replace(text, first, at + 2, "");
		at = first - 1;
	}
}

/* The length of " (FILE:LINE)" at the end of a name; 0: it ends otherwise. */
static size_t place_length(const struct sn_text *text)
{
	const char *blank = text->length ? memrchr(text->chars, ' ', text->length) : NULL;
	const char *line = text->length ? memrchr(text->chars, ':', text->length) : NULL;

	if (!blank || blank == text->chars || blank[1] != '(' || !line || line < blank ||
	    strcmp(line + 1 + strspn(line + 1, "0123456789"), ")") != 0)
		return 0;
	return strlen(blank);
}

static void elide_name(struct sn_text *text, size_t columns);

/* The place stays, and of the name its parameters go first. */
static void elide_placed_name(struct sn_text *text, size_t place, size_t columns)
{
	struct sn_text out = { 0 };

	sn_text_add_bytes(&out, text->chars, text->length - place);
	if (out.length > columns - place)
		replace(&out, sn_name_stem_length(out.chars), out.length, "");
	if (out.length > columns - place)
		elide_name(&out, columns - place);
	sn_text_add(&out, text->chars + text->length - place);
	sn_text_free(text);
	*text = out;
}

static void elide_name(struct sn_text *text, size_t columns)
{
	size_t result, scope, place = place_length(text);

	if (place && place + NAME_COLUMNS_LEAST / 2 <= columns) {
		elide_placed_name(text, place, columns);
		return;
	}
	if (place) { /* the name is worth more */
		replace(text, text->length - place, text->length, "");
		replace(text, sn_name_stem_length(text->chars), text->length, "");
	}
	drop_anonymous(text);
	drop_scopes_of_arguments(text);
	if (text->length <= columns)
		return;
	drop_arguments(text);
	result = strstr(text->chars, "operator") ? 0 : end_of(text->chars, " ", true);
	if (text->length > columns && result)
		replace(text, 0, result, "");
	while (text->length > columns && (scope = end_of(text->chars, "::", false)) != 0) {
		bool is_cut = sn_starts_with(text->chars, "..::");
		size_t next = is_cut ? end_of(text->chars + 4, "::", false) : scope;

		if (!next)
			break;
		replace(text, 0, is_cut ? 4 + next : next, "..::");
	}
	cut_middle(text, columns);
}

/* "f(int, void*) (a.c:3)": a name, and no sentence that ends with a place. 0: it is none, or there is no room for both. */
static size_t place_of_name(const struct sn_text *text, size_t columns)
{
	size_t place = place_length(text);
	struct sn_text name = { 0 };
	bool is_name;

	if (!place || place + NAME_COLUMNS_LEAST / 2 > columns)
		return 0;
	sn_text_add_bytes(&name, text->chars, text->length - place);
	is_name = !end_of(name.chars, " ", true);
	sn_text_free(&name);
	return is_name ? place : 0;
}

/* ---- paths, commands, chains of callers, sentences ---- */

/* The end is what differs: "../x86_64-linux-gnu/crt1.o". */
static void elide_path(struct sn_text *text, size_t columns)
{
	const char *end = text->chars + text->length - (columns - 2), *slash = strchr(end, '/');

	replace(text, 0, (size_t)((slash && slash[1] ? slash : end) - text->chars), "..");
}

void sn_text_elide_command(struct sn_text *text, size_t columns)
{
	size_t word = text->chars ? strcspn(text->chars, " ") : 0, rest;
	const char *slash = word ? memrchr(text->chars, '/', word) : NULL, *blank;

	if (text->length <= columns)
		return;
	if (slash)
		replace(text, 0, (size_t)(slash + 1 - text->chars), "");
	if (text->length <= columns)
		return;
	word = strcspn(text->chars, " ");
	if (word + 8 > columns) {
		cut_middle(text, columns);
		return;
	}
	rest = text->length - (columns - word - 3);
	blank = strchr(text->chars + rest, ' ');
	if (blank && blank[1])
		rest = (size_t)(blank - text->chars);
	replace(text, word, rest, " ..");
}

/* Callers go from the end, whole: "pthread_join < main < ..". */
static void elide_chain(struct sn_text *text, size_t columns)
{
	struct sn_text out = { 0 };
	const char *next = text->chars;

	while (next) {
		const char *end = strstr(next, " < ");
		struct sn_text name = { 0 };
		/* what comes behind needs room for a sign that it was there */
		size_t sign = end ? 5 : 0, joint = out.length ? 3 : 0, room;

		sn_text_add_bytes(&name, next, end ? (size_t)(end - next) : strlen(next));
		room = columns > out.length + joint + sign ? columns - out.length - joint - sign
							   : 0;
		if (name.length > room)
			replace(&name, sn_name_stem_length(name.chars), name.length, "");
		if (name.length > room && (room >= NAME_COLUMNS_LEAST || !out.length))
			elide_name(&name, room > 8 ? room : 8);
		if (out.length && name.length > room) {
			sn_text_add(&out, " < ..");
			next = NULL;
		} else {
			sn_text_add(&out, joint ? " < " : "");
			sn_text_add(&out, name.chars);
			next = end ? end + 3 : NULL;
		}
		sn_text_free(&name);
	}
	cut_middle(&out, columns);
	sn_text_free(text);
	*text = out;
}

static void elide_sentence(struct sn_text *text, size_t columns)
{
	size_t length = columns - 2;

	while (length > columns / 2 && text->chars[length] != ' ')
		length--;
	replace(text, length > columns / 2 ? length : columns - 2, text->length, "..");
}

void sn_text_elide(struct sn_text *text, size_t columns)
{
	size_t indent = text->length ? strspn(text->chars, " ") : 0;
	const char *blank;
	bool is_title;
	size_t place;

	/* a row of a tree keeps its depth */
	if (indent && indent + 8 <= columns) {
		struct sn_text rest = { 0 }, whole = { 0 };

		sn_text_add(&rest, text->chars + indent);
		sn_text_elide(&rest, columns - indent);
		sn_text_addf(&whole, "%*s%s", (int)indent, "", rest.chars);
		sn_text_free(&rest);
		sn_text_free(text);
		*text = whole;
		return;
	}
	if (columns < 8 || !text->length || text->length <= columns ||
	    text->length != sn_utf8_columns(text->chars))
		return;
	if (is_address(text->chars)) {
		size_t length;
		const char *after = neighbour(text->chars, &length);

		if (length)
			replace(text, (size_t)(after - text->chars),
				(size_t)(after - text->chars) + length, "");
		return;
	}
	if (strstr(text->chars, " < ")) {
		elide_chain(text, columns);
		return;
	}
	place = place_of_name(text, columns);
	if (place) {
		elide_placed_name(text, place, columns);
		return;
	}
	replace(text, sn_name_stem_length(text->chars), text->length, "");
	if (text->length <= columns)
		return;
	blank = strchr(text->chars, ' ');
	is_title = blank && blank > text->chars && blank[-1] == ':'; /* of a server's process */
	if (!is_title && blank && (*text->chars == '/' || strstr(text->chars, " -")))
		sn_text_elide_command(text, columns);
	else if (!is_title && (strstr(text->chars, "::") || strchr(text->chars, '<')))
		elide_name(text, columns);
	else if (blank)
		elide_sentence(text, columns);
	else if (strchr(text->chars, '/'))
		elide_path(text, columns);
	else
		cut_middle(text, columns);
}

/* Where two names differ, within which template arguments: the first of all brackets that are open
 * there. False: they do not differ, or not in arguments. */
static bool difference_find(const char *name, const char *other, size_t *at, size_t *open)
{
	size_t stem = sn_name_stem_length(name);
	int depth = 0;

	*open = 0;
	for (*at = 0; *at < stem && name[*at] == other[*at]; ++*at) {
		if (!depth && name[*at] == '<')
			*open = *at;
		depth += nesting(name[*at]);
	}
	return *at < stem && depth > 0 && name[*open] == '<';
}

void sn_text_elide_apart(struct sn_text *text, size_t columns, const char *other)
{
	enum { WORD_MOST = 12 };
	struct sn_text out = { 0 };
	size_t at, open, first, last, end, scope;

	if (columns < 16 || !difference_find(text->chars, other, &at, &open)) {
		sn_text_elide(text, columns);
		return;
	}
	for (first = at; first > open && is_word(text->chars[first - 1]);)
		first--;
	while (first < at + 2 && !is_word(text->chars[first]))
		first++;
	for (last = first; is_word(text->chars[last]) && last < first + WORD_MOST;)
		last++;
	for (scope = open; scope > 0 && is_word(text->chars[scope - 1]);)
		scope--;
	end = closing(text->chars, open);
	sn_text_add_bytes(&out, text->chars + scope, open - scope);
	sn_text_add(&out, "<");
	sn_text_add_bytes(&out, text->chars + first, last - first);
	sn_text_add(&out, "..>");
	sn_text_add_bytes(&out, text->chars + end, sn_name_stem_length(text->chars) - end);
	if (out.length > columns)
		replace(&out, 0, open - scope, "");
	cut_middle(&out, columns);
	sn_text_free(text);
	*text = out;
}

void sn_text_elide_among(struct sn_text *text, size_t columns, const char *const *others,
			 size_t count)
{
	struct sn_text whole = { 0 };
	bool is_apart = false;

	sn_text_add(&whole, text->chars);
	sn_text_elide(text, columns);
	for (size_t i = 0; i < count && !is_apart; i++) {
		struct sn_text other = { 0 };

		sn_text_add(&other, others[i]);
		sn_text_elide(&other, columns);
		is_apart = strcmp(whole.chars, others[i]) != 0 && !strcmp(other.chars, text->chars);
		sn_text_free(&other);
		if (is_apart) {
			sn_text_clear(text);
			sn_text_add(text, whole.chars);
			sn_text_elide_apart(text, columns, others[i]);
		}
	}
	sn_text_free(&whole);
}
