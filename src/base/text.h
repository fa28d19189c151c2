/**
 * A growing string. Zero-initialised it is empty. `chars` is NULL until something was added, and
 * zero-terminated from then on.
 */
#ifndef SN_BASE_TEXT_H
#define SN_BASE_TEXT_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sn_text {
	char *chars;
	size_t length, capacity;
};

void sn_text_add(struct sn_text *text, const char *chars);
void sn_text_add_bytes(struct sn_text *text, const char *bytes, size_t length);
void sn_text_add_char(struct sn_text *text, char c);
void sn_text_add_repeated(struct sn_text *text, char c, size_t count);
/** Seconds for people: "1.25 ms", three digits, from ns to s. */
void sn_text_add_duration(struct sn_text *text, double seconds);
/** A number for people, never with an exponent: "6.1 million", "12,345", "0.25"; three or four digits of what is no
 *  whole number, and three from a million on. */
void sn_text_add_number(struct sn_text *text, double value);
/** Adds a count with its thousands set apart: "1,234,567". */
void sn_text_add_count(struct sn_text *text, uint64_t count);
/** Adds "1 call", "2 calls": `noun` has its plural by an s. */
void sn_text_add_counted(struct sn_text *text, uint64_t count, const char *noun);
__attribute__((format(printf, 2, 3))) void sn_text_addf(struct sn_text *text, const char *format,
							...);
__attribute__((format(printf, 2, 0))) void sn_text_addv(struct sn_text *text, const char *format,
							va_list args);
/** Adds bytes for a terminal: control bytes, ESC, DEL, C1 controls and invalid UTF-8 appear as
 * \xNN. */
void sn_text_add_printable(struct sn_text *text, const char *bytes, size_t length);
/** Adds text for HTML and its quoted attributes: & < > " ' are escaped, control bytes replaced. */
void sn_text_add_html(struct sn_text *text, const char *chars);
/** A quoted JSON string. Invalid UTF-8 becomes U+FFFD; < > & and U+2028/9 are escaped, so that the
 *  result may stand inside an HTML script element. */
void sn_text_add_json(struct sn_text *text, const char *bytes, size_t length);
/** A word as a POSIX shell would need it: as it is if that is safe, else in single quotes. */
void sn_text_add_shell_word(struct sn_text *text, const char *word);
/** The shortest decimal that reads back as the same double; NaN and infinities become null. */
void sn_text_add_double(struct sn_text *text, double value);
void sn_text_clear(struct sn_text *text);
void sn_text_free(struct sn_text *text);

/** Returns the string, which the caller then owns and frees. Never NULL. */
char *sn_text_take(struct sn_text *text);

/** Whether the locale's encoding is UTF-8. */
bool sn_locale_is_utf8(void);
/** Length of the valid UTF-8 sequence at `bytes` (1 to 4), or 0 if it is none. */
size_t sn_utf8_length(const char *bytes, size_t available);
/** Columns that printable UTF-8 takes on a terminal, by the C library's wcwidth-free rule:
 *  combining marks 0, East Asian wide 2, all else 1. */
size_t sn_utf8_columns(const char *chars);

/** The part of a path behind its last slash; all of it if there is none. NULL for NULL. */
const char *sn_base_name(const char *path);
/** Length of a C++ name up to its parameter list: 13 for "a::b<(c)0>::d(int, e (*)()) const". All
 * of it for what has none. */
size_t sn_name_stem_length(const char *name);
/** Whether it is an address in place of a name, "<function at 0x3b00>": it tells nothing without its module, as
 *  two libraries may have a function there. Also of a loop's label that begins so. */
bool sn_name_is_address(const char *name);
/** The least number of columns that sn_text_elide leaves a name. All columns for a name that is an
 * address with its digits ("<function at 0x1a0>+0x138"), else 24. */
size_t sn_text_columns_least(const char *chars);
/**
 * Shortens what takes more than so many columns, so that what tells it from its neighbours stays
 * (base/elide.c), with ".." where something was left out:
 *
 *   a name of C++      parameters, scopes within template arguments, these arguments, result and
 *                      outer scopes go, in this order
 *   a path             its beginning goes
 *   a command          the program's folder goes, then arguments from the first on
 *   "a < b < c"        callers go whole, from the last on
 *   a sentence         its last words go, and so of "nginx: worker process"
 *   any other name     its middle goes
 *
 * Only plain one-column text is cut, and nothing to fewer than eight columns; of a name that is an
 * address only ", after NAME" goes.
 */
void sn_text_elide(struct sn_text *text, size_t columns);
/** The same for what is known to be a command, whatever its arguments look like: the program's own name
 * and the last arguments, "cc1plus .. t.cpp -o t.s". */
void sn_text_elide_command(struct sn_text *text, size_t columns);
/** Shortens a name of C++ that sn_text_elide makes equal to `other`: of the template arguments that
 * tell the two apart the first that differs stays, "Sorter<double..>::run". Where they differ
 * elsewhere it is shortened as ever. */
void sn_text_elide_apart(struct sn_text *text, size_t columns, const char *other);
/** sn_text_elide, or sn_text_elide_apart where another of these texts would look the same. */
void sn_text_elide_among(struct sn_text *text, size_t columns, const char *const *others,
			 size_t count);

bool sn_starts_with(const char *chars, const char *prefix);
bool sn_ends_with(const char *chars, const char *suffix);

#endif
