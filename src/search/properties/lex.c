/* From the bytes of a file of properties to tokens; a number takes its unit along. */
#include "search/properties/lex.h"

#include <ctype.h>
#include <locale.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/spelling.h"
#include "base/text.h"

struct lexer {
	struct sn_prop_file *file;
	const char *at, *end, *line_start;
	int line;
	sn_prop_token_vec *out;
};

static struct sn_prop_pos here(const struct lexer *lx)
{
	return (struct sn_prop_pos){ lx->line, (int)(lx->at - lx->line_start) + 1 };
}

static char peek(const struct lexer *lx, size_t ahead)
{
	return (size_t)(lx->end - lx->at) > ahead ? lx->at[ahead] : 0;
}

static void step(struct lexer *lx)
{
	if (*lx->at++ == '\n') {
		lx->line++;
		lx->line_start = lx->at;
	}
}

static bool is_word_start(char c)
{
	return isalpha((unsigned char)c) || c == '_';
}

static bool is_word_char(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

static void push(struct lexer *lx, struct sn_prop_token token)
{
	sn_vec_push(lx->out, token);
}

static const char *copy(struct lexer *lx, const char *from, const char *to)
{
	return sn_arena_strndup(&lx->file->arena, from, (size_t)(to - from));
}

/* ---- blanks and comments ---- */

static void comment_skip(struct lexer *lx)
{
	struct sn_prop_pos begin = here(lx);

	lx->at += 2;
	while (lx->at < lx->end && !(*lx->at == '*' && peek(lx, 1) == '/'))
		step(lx);
	if (lx->at >= lx->end)
		sn_prop_report(&lx->file->diags, begin, "this comment has no end; it needs '*/'");
	else
		lx->at += 2;
}

static void blanks_skip(struct lexer *lx)
{
	while (lx->at < lx->end) {
		if (*lx->at == ' ' || *lx->at == '\t' || *lx->at == '\r' || *lx->at == '\n')
			step(lx);
		else if (*lx->at == '/' && peek(lx, 1) == '/')
			while (lx->at < lx->end && *lx->at != '\n')
				lx->at++;
		else if (*lx->at == '/' && peek(lx, 1) == '*')
			comment_skip(lx);
		else
			return;
	}
}

/* ---- numbers ---- */

static const char *digits_end(const struct lexer *lx, const char *at)
{
	while (at < lx->end && isdigit((unsigned char)*at))
		at++;
	return at;
}

/* The end of digits [ "." digits ] [ e [sign] digits ]; ".." is no point. */
static const char *number_end(const struct lexer *lx)
{
	const char *at = digits_end(lx, lx->at), *digits;

	if (at + 1 < lx->end && *at == '.' && isdigit((unsigned char)at[1]))
		at = digits_end(lx, at + 1);
	if (at < lx->end && (*at == 'e' || *at == 'E')) {
		digits = at + 1;
		if (digits < lx->end && (*digits == '+' || *digits == '-'))
			digits++;
		if (digits < lx->end && isdigit((unsigned char)*digits))
			at = digits_end(lx, digits);
	}
	return at;
}

/* The unit that follows a number, with or without a blank: "s", "B", "B/s", "count", "samples". */
static const char *unit_read(struct lexer *lx)
{
	const char *at = lx->at, *word;
	struct sn_prop_unit unit;
	const char *text;

	while (at < lx->end && (*at == ' ' || *at == '\t'))
		at++;
	word = at;
	while (at < lx->end && is_word_char(*at))
		at++;
	text = copy(lx, word, at);
	if (at == word || isdigit((unsigned char)*word) || !sn_prop_unit_parse(text, &unit))
		return NULL;
	/* B/s without a blank is one unit */
	if (at + 1 < lx->end && at[0] == '/' && at[1] == 's' &&
	    (at + 2 == lx->end || !is_word_char(at[2]))) {
		at += 2;
		text = copy(lx, word, at);
	}
	lx->at = at;
	return text;
}

/* strtod, whichever decimal point the locale has. */
static double number_value(const char *text)
{
	static locale_t plain;

	if (!plain)
		plain = newlocale(LC_ALL_MASK, "C", NULL);
	return plain ? strtod_l(text, NULL, plain) : strtod(text, NULL);
}

/* "1 ms": what people write for a unit, and what it is in one of ours. */
static const struct {
	const char *word, *unit;
	double times;
} foreign_units[] = {
	{ "ms", "s", 1e-3 },	 { "us", "s", 1e-6 },	     { "ns", "s", 1e-9 },
	{ "sec", "s", 1 },	 { "seconds", "s", 1 },	     { "min", "s", 60 },
	{ "h", "s", 3600 },	 { "kB", "B", 1e3 },	     { "KB", "B", 1e3 },
	{ "MB", "B", 1e6 },	 { "GB", "B", 1e9 },	     { "KiB", "B", 1024 },
	{ "MiB", "B", 1 << 20 }, { "GiB", "B", 1 << 30 },    { "b", "B", 1 },
	{ "bytes", "B", 1 },	 { "sample", "samples", 1 }, { "counts", "count", 1 },
};

/* A unit that a word looks like; NULL: none. */
static const char *near_unit(const char *word)
{
	static const char *const units[] = { "samples", "count", "s", "B" };

	for (size_t i = 0; i < sizeof(units) / sizeof(*units); i++)
		if (!strcasecmp(word, units[i]) ||
		    (units[i][1] && sn_spelling_distance(word, units[i]) == 1))
			return units[i];
	return NULL;
}

/* The word behind a number, which is no unit: reported if one was meant. Other words of the language may stand there,
 * with a blank before them. */
static void foreign_unit_read(struct lexer *lx, struct sn_prop_token *token)
{
	const bool is_joined = is_word_start(peek(lx, 0));
	const struct lexer before = *lx;
	struct sn_prop_pos pos;
	const char *word, *near;

	while (peek(lx, 0) == ' ' || peek(lx, 0) == '\t')
		lx->at++;
	pos = here(lx);
	word = lx->at;
	while (is_word_start(*word) && lx->at < lx->end && is_word_char(*lx->at))
		lx->at++;
	word = copy(lx, word, lx->at);
	for (size_t i = 0; i < sizeof(foreign_units) / sizeof(*foreign_units); i++)
		if (!strcmp(word, foreign_units[i].word)) {
			token->number *= foreign_units[i].times;
			token->unit = foreign_units[i].unit;
			sn_prop_report(&lx->file->diags, pos,
				       "'%s' is no unit; %s %s is written %.12g %s", word,
				       token->text, word, token->number, token->unit);
			return;
		}
	near = *word ? near_unit(word) : NULL;
	if (!near && !is_joined) {
		*lx = before;
		return;
	}
	token->unit = near;
	sn_prop_report(&lx->file->diags, pos,
		       near ? "'%s' is no unit; did you mean '%s'?"
			    : "'%s' is no unit; the units are s, B, B/s, count, samples%.0s",
		       word, near ? near : "");
}

static void number_read(struct lexer *lx)
{
	struct sn_prop_token token = { .kind = SN_PTOK_NUMBER, .pos = here(lx) };
	const char *end = number_end(lx);

	token.text = copy(lx, lx->at, end);
	token.number = number_value(token.text);
	lx->at = end;
	if (!isfinite(token.number)) {
		sn_prop_report(&lx->file->diags, token.pos, "this number is too large");
		token.number = 0;
	}
	token.unit = unit_read(lx);
	if (!token.unit)
		foreign_unit_read(lx, &token);
	push(lx, token);
}

/* ---- strings, words, marks ---- */

static void string_read(struct lexer *lx)
{
	struct sn_prop_token token = { .kind = SN_PTOK_STRING, .pos = here(lx) };
	struct sn_text text = { 0 };

	step(lx);
	while (lx->at < lx->end && *lx->at != '"' && *lx->at != '\n') {
		char c = *lx->at;

		if (c == '\\' && lx->at + 1 < lx->end && lx->at[1] != '\n') {
			step(lx);
			c = *lx->at == 'n' ? '\n' : *lx->at == 't' ? '\t' : *lx->at;
		}
		if (c)
			sn_text_add_char(&text, c);
		step(lx);
	}
	if (peek(lx, 0) == '"')
		step(lx);
	else
		sn_prop_report(&lx->file->diags, token.pos,
			       "this text has no end on its line; it needs a '\"'");
	token.text = sn_arena_strdup(&lx->file->arena, text.chars ? text.chars : "");
	sn_text_free(&text);
	push(lx, token);
}

static void word_read(struct lexer *lx)
{
	struct sn_prop_token token = { .kind = SN_PTOK_WORD, .pos = here(lx) };
	const char *begin = lx->at;

	while (lx->at < lx->end && is_word_char(*lx->at))
		lx->at++;
	token.text = copy(lx, begin, lx->at);
	push(lx, token);
}

static void mark_read(struct lexer *lx)
{
	static const char *const marks[] = { "->", "..", "<=", ">=", "==", "!=", "(", ")",
					     "{",  "}",	 ";",  ":",  ",",  "=",	 "<", ">",
					     "+",  "-",	 "*",  "/",  ".",  "|" };
	struct sn_prop_token token = { .kind = SN_PTOK_MARK, .pos = here(lx) };

	for (size_t i = 0; i < sizeof(marks) / sizeof(*marks); i++) {
		size_t length = strlen(marks[i]);

		if ((size_t)(lx->end - lx->at) < length || memcmp(lx->at, marks[i], length) != 0)
			continue;
		token.text = marks[i];
		lx->at += length;
		push(lx, token);
		return;
	}
	if (*lx->at == '&') {
		while (peek(lx, 0) == '&')
			lx->at++;
		sn_prop_report(&lx->file->diags, token.pos, "'&' means nothing here; write 'and'");
		token.kind = SN_PTOK_WORD;
		token.text = "and";
		push(lx, token);
		return;
	}
	if (isprint((unsigned char)*lx->at))
		sn_prop_report(&lx->file->diags, token.pos, "'%c' means nothing here", *lx->at);
	else
		sn_prop_report(&lx->file->diags, token.pos,
			       "a byte that is no text (0x%02x); outside comments and texts only "
			       "plain ASCII is allowed",
			       (unsigned char)*lx->at);
	while (lx->at < lx->end && !isprint((unsigned char)*lx->at) && *lx->at != '\n' &&
	       *lx->at != '\t')
		lx->at++;
	if (lx->at < lx->end && (int)(lx->at - lx->line_start) + 1 == token.pos.column)
		lx->at++;
}

void sn_prop_lex(struct sn_prop_file *file, sn_prop_token_vec *out)
{
	struct lexer lx = { .file = file,
			    .at = file->chars,
			    .end = file->chars + file->length,
			    .line_start = file->chars,
			    .line = 1,
			    .out = out };

	for (blanks_skip(&lx); lx.at < lx.end; blanks_skip(&lx)) {
		if (is_word_start(*lx.at))
			word_read(&lx);
		else if (isdigit((unsigned char)*lx.at))
			number_read(&lx);
		else if (*lx.at == '"')
			string_read(&lx);
		else
			mark_read(&lx);
	}
	push(&lx, (struct sn_prop_token){ .kind = SN_PTOK_END, .pos = here(&lx), .text = "" });
}
