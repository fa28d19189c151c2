/*
 * Cuts bytes into tokens: names, numbers, strings, punctuation. Comments and continued lines
 * vanish here; columns stay those of the file.
 */
#include "pandore/compiler/scan.h"

#include <ctype.h>
#include <string.h>

#include "base/text.h"

struct sn_pnd_scanner sn_pnd_scanner_over(struct sn_pnd_diags *diags, int file)
{
	const struct sn_pnd_file *f = &diags->files.items[file];

	return (struct sn_pnd_scanner){
		.diags = diags, .chars = f->chars, .length = f->length, .pos = { file, 1, 1 }
	};
}

static int peek(const struct sn_pnd_scanner *s, size_t ahead)
{
	return s->at + ahead < s->length ? (unsigned char)s->chars[s->at + ahead] : -1;
}

static void advance(struct sn_pnd_scanner *s)
{
	if (s->chars[s->at++] == '\n') {
		s->pos.line++;
		s->pos.column = 1;
	} else {
		s->pos.column++;
	}
}

static void advance_by(struct sn_pnd_scanner *s, size_t count)
{
	while (count-- && s->at < s->length)
		advance(s);
}

/* Length of a line that goes on: backslash, newline. */
static size_t continuation(const struct sn_pnd_scanner *s)
{
	if (peek(s, 0) != '\\')
		return 0;
	if (peek(s, 1) == '\n')
		return 2;
	return peek(s, 1) == '\r' && peek(s, 2) == '\n' ? 3 : 0;
}

static void skip_block_comment(struct sn_pnd_scanner *s)
{
	struct sn_pnd_pos start = s->pos;

	advance_by(s, 2);
	while (peek(s, 0) >= 0 && !(peek(s, 0) == '*' && peek(s, 1) == '/'))
		advance(s);
	if (peek(s, 0) < 0)
		sn_pnd_report(s->diags, start, 0, "this comment has no end; close it with */");
	s->diags->is_cut |= peek(s, 0) < 0;
	advance_by(s, 2);
}

static void skip_line_comment(struct sn_pnd_scanner *s)
{
	while (peek(s, 0) >= 0 && peek(s, 0) != '\n') {
		size_t more = continuation(s);

		advance_by(s, more ? more : 1);
	}
}

/* Stops on a token, the end, or (in a directive) the line's end. */
static void skip_blanks(struct sn_pnd_scanner *s, bool in_directive)
{
	for (;;) {
		int c = peek(s, 0);
		size_t more = continuation(s);

		if (more)
			advance_by(s, more);
		else if (c == '/' && peek(s, 1) == '*')
			skip_block_comment(s);
		else if (c == '/' && peek(s, 1) == '/')
			skip_line_comment(s);
		else if (c == '\n' ? !in_directive : (c == ' ' || (c >= '\t' && c <= '\r')))
			advance(s);
		else
			return;
	}
}

static bool is_name(int c)
{
	return c == '_' || (c >= 0 && c < 128 && isalnum(c));
}

static bool starts_number(const struct sn_pnd_scanner *s)
{
	int c = peek(s, 0);

	return (c >= '0' && c <= '9') || (c == '.' && peek(s, 1) >= '0' && peek(s, 1) <= '9');
}

static size_t digits(const struct sn_pnd_scanner *s, size_t n, bool hex)
{
	while (peek(s, n) >= 0 && (hex ? isxdigit(peek(s, n)) : isdigit(peek(s, n))))
		n++;
	return n;
}

/* The end of u, l or ll, in either order; LL, but not lL. */
static size_t integer_suffix(const struct sn_pnd_scanner *s, size_t n)
{
	bool is_unsigned = (peek(s, n) | 32) == 'u';

	n += is_unsigned;
	if ((peek(s, n) | 32) == 'l')
		n += peek(s, n + 1) == peek(s, n) ? 2 : 1;
	return n + (!is_unsigned && (peek(s, n) | 32) == 'u');
}

/* The longest valid constant (C11 6.4.4.1, 6.4.4.2); `*bad` when letters stick to its end. */
static size_t number_length(const struct sn_pnd_scanner *s, enum sn_pnd_token_kind *kind, bool *bad)
{
	bool hex = peek(s, 0) == '0' && (peek(s, 1) | 32) == 'x', real = false;
	size_t n = digits(s, hex ? 2 : 0, hex);
	bool octal_fault = false;

	if (hex && n == 2)
		*bad = true;
	if (peek(s, n) == '.') {
		real = true;
		n = digits(s, n + 1, hex);
	}
	if ((peek(s, n) | 32) == (hex ? 'p' : 'e')) {
		size_t e = n + 1;

		if (peek(s, e) == '+' || peek(s, e) == '-')
			e++;
		n = digits(s, e, false);
		*bad |= n == e;
		real = true;
	} else if (hex && real) {
		*bad = true;
	}
	if (real) {
		if ((peek(s, n) | 32) == 'f' || (peek(s, n) | 32) == 'l')
			n++;
	} else {
		size_t first = n;

		n = integer_suffix(s, n);
		for (size_t i = 1; !hex && peek(s, 0) == '0' && i < first; i++)
			octal_fault |= peek(s, i) > '7';
	}
	*bad |= octal_fault || is_name(peek(s, n)) || peek(s, n) == '.';
	while (is_name(peek(s, n)) || peek(s, n) == '.')
		n++;
	*kind = real ? SN_TOK_REAL : SN_TOK_INT;
	return n;
}

static size_t quoted_length(struct sn_pnd_scanner *s, char quote)
{
	size_t n = 1;

	while (peek(s, n) >= 0 && peek(s, n) != quote && peek(s, n) != '\n')
		n += peek(s, n) == '\\' && peek(s, n + 1) >= 0 ? 2 : 1;
	if (peek(s, n) != quote) {
		sn_pnd_report(s->diags, s->pos, 0, "this %s has no end",
			      quote == '"' ? "string" : "character constant");
		return s->at + n > s->length ? s->length - s->at : n;
	}
	return n + 1;
}

static size_t is_punct_char(int c)
{
	return c > 0 && strchr("+-*/%<>=!&|^~?:;,.()[]{}#", c) ? 1 : 0;
}

/* All that are longer than one character go on with one of a few. */
static size_t punct_length(const struct sn_pnd_scanner *s)
{
	static const char *const longest[] = { "<<=", ">>=", "...", "++", "--", "+=", "-=", "*=",
					       "/=",  "%=",  "&=",  "|=", "^=", "<<", ">>", "<=",
					       ">=",  "==",  "!=",  "&&", "||", "->", "##" };

	if (peek(s, 1) <= 0 || !strchr("<>.+-=&|#", peek(s, 1)))
		return is_punct_char(peek(s, 0));
	for (size_t i = 0; i < sizeof(longest) / sizeof(*longest); i++) {
		size_t n = strlen(longest[i]);

		if (s->length - s->at >= n && !memcmp(s->chars + s->at, longest[i], n))
			return n;
	}
	return is_punct_char(peek(s, 0));
}

static uint32_t punct_code(const char *chars, size_t length)
{
	uint32_t code = 0;

	for (size_t i = 0; i < length; i++)
		code |= (uint32_t)(unsigned char)chars[i] << (8 * i);
	return code;
}

/* Most tokens are one character: these share their text. */
static const char *text_of(const struct sn_pnd_scanner *s, size_t length)
{
	static char single[128][2];
	unsigned char c = (unsigned char)s->chars[s->at];

	if (length != 1 || c >= 128)
		return sn_arena_strndup(s->diags->arena, s->chars + s->at, length);
	single[c][0] = (char)c;
	return single[c];
}

struct sn_pnd_token sn_pnd_scan(struct sn_pnd_scanner *s, bool in_directive)
{
	struct sn_pnd_token token = { .kind = SN_TOK_OTHER };
	bool bad = false;
	int c;

	skip_blanks(s, in_directive);
	token.pos = s->pos;
	token.offset = s->at;
	c = peek(s, 0);
	if (c < 0 || (in_directive && c == '\n')) {
		token.kind = SN_TOK_END;
		token.text = "";
		return token;
	}
	if (starts_number(s)) {
		token.length = number_length(s, &token.kind, &bad);
	} else if (is_name(c)) {
		token.kind = SN_TOK_IDENT;
		while (is_name(peek(s, token.length)))
			token.length++;
	} else if (c == '"' || c == '\'') {
		token.kind = c == '"' ? SN_TOK_STRING : SN_TOK_CHAR;
		token.length = quoted_length(s, (char)c);
	} else if ((token.length = punct_length(s)) > 0) {
		token.kind = SN_TOK_PUNCT;
		token.punct = punct_code(s->chars + s->at, token.length);
	} else {
		token.length = 1;
	}
	token.text = text_of(s, token.length);
	if (bad)
		sn_pnd_report(s->diags, token.pos, 0, "'%.40s' is not a valid number", token.text);
	advance_by(s, token.length);
	return token;
}

const char *sn_pnd_scan_rest(struct sn_pnd_scanner *s)
{
	struct sn_text rest = { 0 };
	const char *kept;

	while (peek(s, 0) >= 0 && peek(s, 0) != '\n') {
		size_t more = continuation(s);

		if (more) {
			advance_by(s, more);
			sn_text_add_char(&rest, ' ');
		} else if (peek(s, 0) == '/' && peek(s, 1) == '*') {
			skip_block_comment(s);
			sn_text_add_char(&rest, ' ');
		} else if (peek(s, 0) == '/' && peek(s, 1) == '/') {
			skip_line_comment(s);
		} else if (peek(s, 0) == '"' || peek(s, 0) == '\'') {
			size_t n = quoted_length(s, (char)peek(s, 0));

			sn_text_add_bytes(&rest, s->chars + s->at, n);
			advance_by(s, n);
		} else {
			sn_text_add_char(&rest, s->chars[s->at]);
			advance(s);
		}
	}
	kept = sn_arena_strdup(s->diags->arena, rest.chars ? rest.chars : "");
	sn_text_free(&rest);
	return kept;
}
