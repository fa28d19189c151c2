/*
 * Growing strings, and all that makes text safe to show: terminals (control and direction
 * characters), HTML, JSON and shells. Numbers are written here, too, as most of a large report is
 * numbers.
 */
#include "base/text.h"

#include <langinfo.h>
#include <math.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/vec.h"

static char *text_room(struct sn_text *text, size_t more)
{
	size_t needed = text->length + more + 1;

	if (text->capacity < needed)
		text->chars = sn_vec_grow(text->chars, &text->capacity, needed, 1);
	return text->chars + text->length;
}

void sn_text_add_bytes(struct sn_text *text, const char *bytes, size_t length)
{
	char *at = text_room(text, length);

	if (length)
		memcpy(at, bytes, length);
	at[length] = '\0';
	text->length += length;
}

void sn_text_add(struct sn_text *text, const char *chars)
{
	sn_text_add_bytes(text, chars, strlen(chars));
}

void sn_text_add_char(struct sn_text *text, char c)
{
	sn_text_add_bytes(text, &c, 1);
}

void sn_text_add_repeated(struct sn_text *text, char c, size_t count)
{
	char *at = text_room(text, count);

	memset(at, c, count);
	at[count] = '\0';
	text->length += count;
}

static void add_unsigned(struct sn_text *text, unsigned long long number, bool is_negative)
{
	char digits[24], *at = digits + sizeof(digits);

	do
		*--at = (char)('0' + number % 10);
	while (number /= 10);
	if (is_negative)
		*--at = '-';
	sn_text_add_bytes(text, at, (size_t)(digits + sizeof(digits) - at));
}

static void add_signed(struct sn_text *text, long long number)
{
	add_unsigned(text, number < 0 ? -(unsigned long long)number : (unsigned long long)number,
		     number < 0);
}

/* The length of one of %s %c %d %u %ld %lu %lld %llu %zu %% behind its '%'. 0: it is another one,
 * and no argument is taken. */
static size_t add_plain(struct sn_text *text, const char *conversion, va_list *args)
{
	size_t longs = strspn(conversion, "l"), size = conversion[0] == 'z' ? 1 : longs;
	const char *chars;

	if (longs > 2 || (size && conversion[size] != 'd' && conversion[size] != 'u') ||
	    (conversion[0] == 'z' && conversion[1] != 'u'))
		return 0;
	switch (conversion[size]) {
	case 'd':
		add_signed(text, longs == 2   ? va_arg(*args, long long)
				 : longs == 1 ? va_arg(*args, long)
					      : va_arg(*args, int));
		break;
	case 'u':
		add_unsigned(text,
			     conversion[0] == 'z' ? va_arg(*args, size_t)
			     : longs == 2	  ? va_arg(*args, unsigned long long)
			     : longs == 1	  ? va_arg(*args, unsigned long)
						  : va_arg(*args, unsigned),
			     false);
		break;
	case 's':
		chars = va_arg(*args, const char *);
		sn_text_add(text, chars ? chars : "(null)");
		break;
	case 'c':
		sn_text_add_char(text, (char)va_arg(*args, int));
		break;
	case '%':
		sn_text_add_char(text, '%');
		break;
	default:
		return 0;
	}
	return size + 1;
}

/* Most formats are names and numbers between fixed words; the C library takes five times as long
 * for them. From the first other conversion on it is the one that formats. */
void sn_text_addv(struct sn_text *text, const char *format, va_list args)
{
	va_list rest, again;
	int length;

	va_copy(rest, args);
	text_room(text, 0)[0] = '\0';
	while (*format) {
		size_t fixed = strcspn(format, "%"), taken;

		sn_text_add_bytes(text, format, fixed);
		format += fixed;
		if (!*format)
			break;
		taken = add_plain(text, format + 1, &rest);
		if (!taken)
			break;
		format += 1 + taken;
	}
	if (*format) {
		va_copy(again, rest);
		length = vsnprintf(NULL, 0, format, again);
		va_end(again);
		vsnprintf(text_room(text, (size_t)length), (size_t)length + 1, format, rest);
		text->length += (size_t)length;
	}
	va_end(rest);
}

void sn_text_addf(struct sn_text *text, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	sn_text_addv(text, format, args);
	va_end(args);
}

/* Three significant digits and a unit. */
void sn_text_add_count(struct sn_text *text, uint64_t count)
{
	char digits[32];
	int length = snprintf(digits, sizeof(digits), "%llu", (unsigned long long)count);

	for (int i = 0; i < length; i++) {
		if (i && (length - i) % 3 == 0)
			sn_text_add_char(text, ',');
		sn_text_add_char(text, digits[i]);
	}
}

void sn_text_add_counted(struct sn_text *text, uint64_t count, const char *noun)
{
	sn_text_addf(text, "%llu %s%s", (unsigned long long)count, noun, count == 1 ? "" : "s");
}

void sn_text_add_duration(struct sn_text *text, double seconds)
{
	static const char *const units[] = { "s", "ms", "µs", "ns" };
	double value = seconds;
	size_t unit = 0;

	while (unit < 3 && value != 0 && fabs(value) < 0.9995)
		value = seconds * pow(1000, (double)++unit);
	sn_text_addf(text, "%.*f %s",
		     fabs(value) < 9.995   ? 2
		     : fabs(value) < 99.95 ? 1
					   : 0,
		     value, units[unit]);
}

static void add_large(struct sn_text *text, double value)
{
	static const char *const names[] = { "million", "billion", "trillion" };
	double scaled = value / 1e6;
	size_t name = 0;

	while (name < 2 && fabs(scaled) >= 999.5) {
		scaled /= 1000;
		name++;
	}
	if (fabs(scaled) < 999.5)
		sn_text_addf(text, "%.3g %s", scaled, names[name]);
	else
		sn_text_addf(text, "%.0f %s", scaled, names[name]);
}

void sn_text_add_number(struct sn_text *text, double value)
{
	double size = fabs(value);

	if (!isfinite(value)) {
		sn_text_add(text, isnan(value) ? "?" : value > 0 ? "infinite" : "-infinite");
	} else if (size >= 999999.5) {
		add_large(text, value);
	} else if (size >= 999.5 || value == rint(value)) {
		sn_text_add(text, value <= -0.5 ? "-" : "");
		sn_text_add_count(text, (uint64_t)rint(size));
	} else if (size >= 0.001) {
		sn_text_addf(text, "%.4g", value);
	} else { /* three digits behind the noughts, as far as anybody counts those */
		int noughts = (int)fmin(12, ceil(-log10(size)) - 1);

		sn_text_addf(text, "%.*f", noughts + 3, value);
	}
}

static uint32_t utf8_decode(const char *bytes, size_t length)
{
	const uint8_t *u = (const uint8_t *)bytes;

	switch (length) {
	case 1:
		return u[0];
	case 2:
		return (u[0] & 0x1fu) << 6 | (u[1] & 0x3fu);
	case 3:
		return (u[0] & 0x0fu) << 12 | (u[1] & 0x3fu) << 6 | (u[2] & 0x3fu);
	default:
		return (u[0] & 0x07u) << 18 | (u[1] & 0x3fu) << 12 | (u[2] & 0x3fu) << 6 |
		       (u[3] & 0x3fu);
	}
}

const char *sn_base_name(const char *path)
{
	const char *slash = path ? strrchr(path, '/') : NULL;

	return slash && slash[1] ? slash + 1 : path;
}

bool sn_locale_is_utf8(void)
{
	return !strcmp(nl_langinfo(CODESET), "UTF-8");
}

size_t sn_utf8_length(const char *bytes, size_t available)
{
	static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	uint8_t lead = available ? (uint8_t)bytes[0] : 0x80;
	size_t length = lead < 0x80   ? 1
			: lead < 0xc2 ? 0
			: lead < 0xe0 ? 2
			: lead < 0xf0 ? 3
			: lead < 0xf5 ? 4
				      : 0;
	uint32_t point;

	if (!length || length > available)
		return 0;
	for (size_t i = 1; i < length; i++)
		if (((uint8_t)bytes[i] & 0xc0) != 0x80)
			return 0;
	point = utf8_decode(bytes, length);
	if (length > 1 &&
	    (point < least[length] || point > 0x10ffff || (point >= 0xd800 && point < 0xe000)))
		return 0;
	return length;
}

static bool point_is_wide(uint32_t p)
{
	return (p >= 0x1100 && p <= 0x115f) || (p >= 0x2e80 && p <= 0xa4cf) ||
	       (p >= 0xac00 && p <= 0xd7a3) || (p >= 0xf900 && p <= 0xfaff) ||
	       (p >= 0xfe30 && p <= 0xfe6f) || (p >= 0xff00 && p <= 0xff60) ||
	       (p >= 0x1f300 && p <= 0x1faff) || (p >= 0x20000 && p <= 0x3fffd);
}

size_t sn_utf8_columns(const char *chars)
{
	size_t left = strlen(chars), columns = 0;

	while (left) {
		size_t length = sn_utf8_length(chars, left);
		uint32_t p;

		if (!length)
			length = 1;
		p = utf8_decode(chars, length);
		if (!((p >= 0x300 && p <= 0x36f) || p == 0x200d || (p >= 0xfe00 && p <= 0xfe0f)))
			columns += point_is_wide(p) ? 2 : 1;
		chars += length;
		left -= length;
	}
	return columns;
}

/* What may stand behind a parameter list: qualifiers of member functions, a compiler's clones. */
static bool is_qualifier(const char *chars)
{
	static const char *const known[] = { "", " const", " volatile", " &", " &&", " const &" };

	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		if (!strcmp(chars, known[i]))
			return true;
	return sn_starts_with(chars, " [clone") || sn_starts_with(chars, " const [clone");
}

size_t sn_name_stem_length(const char *name)
{
	const char *end = strrchr(name, ')');
	size_t length = strlen(name);
	int open = 0;

	if (!end || !is_qualifier(end + 1))
		return length;
	for (const char *at = end; at >= name; at--) {
		open += *at == ')';
		open -= *at == '(';
		if (!open) {
			bool is_operator = at - name >= 8 && !strncmp(at - 8, "operator", 8);

			/* a remark is set apart by a blank, parameters are not */
			bool is_list = at > name && at[-1] != ' ' && !is_operator;

			return is_list ? (size_t)(at - name) : length;
		}
	}
	return length;
}

/* Bidirectional overrides can make a name read as something else on a terminal or a page. */
static bool point_is_deceptive(uint32_t p)
{
	return (p >= 0x80 && p < 0xa0) || (p >= 0x202a && p <= 0x202e) ||
	       (p >= 0x2066 && p <= 0x2069);
}

void sn_text_add_printable(struct sn_text *text, const char *bytes, size_t length)
{
	while (length) {
		size_t taken = sn_utf8_length(bytes, length);

		if (taken == 1 && ((uint8_t)*bytes < 0x20 || *bytes == 0x7f))
			taken = 0;
		if (taken > 1 && point_is_deceptive(utf8_decode(bytes, taken)))
			taken = 0;
		if (taken)
			sn_text_add_bytes(text, bytes, taken);
		else
			sn_text_addf(text, "\\x%02x", (uint8_t)*bytes);
		bytes += taken ? taken : 1;
		length -= taken ? taken : 1;
	}
	if (!text->chars)
		sn_text_add(text, "");
}

void sn_text_add_html(struct sn_text *text, const char *chars)
{
	struct sn_text clean = { 0 };

	sn_text_add_printable(&clean, chars, strlen(chars));
	for (const char *c = clean.chars; *c; c++) {
		switch (*c) {
		case '&':
			sn_text_add(text, "&amp;");
			break;
		case '<':
			sn_text_add(text, "&lt;");
			break;
		case '>':
			sn_text_add(text, "&gt;");
			break;
		case '"':
			sn_text_add(text, "&quot;");
			break;
		case '\'':
			sn_text_add(text, "&#39;");
			break;
		default:
			sn_text_add_char(text, *c);
		}
	}
	sn_text_free(&clean);
}

void sn_text_add_json(struct sn_text *text, const char *bytes, size_t length)
{
	sn_text_add_char(text, '"');
	while (length) {
		size_t taken = sn_utf8_length(bytes, length);
		uint32_t point = taken ? utf8_decode(bytes, taken) : 0xfffd;

		if (point == '"' || point == '\\')
			sn_text_addf(text, "\\%c", (char)point);
		else if (point == '\n')
			sn_text_add(text, "\\n");
		else if (point == '\t')
			sn_text_add(text, "\\t");
		else if (point < 0x20 || point == '<' || point == '>' || point == '&' ||
			 point == 0x7f || point == 0x2028 || point == 0x2029)
			sn_text_addf(text, "\\u%04x", point);
		else if (taken)
			sn_text_add_bytes(text, bytes, taken);
		else
			sn_text_add(text, "\xef\xbf\xbd");
		bytes += taken ? taken : 1;
		length -= taken ? taken : 1;
	}
	sn_text_add_char(text, '"');
}

void sn_text_add_shell_word(struct sn_text *text, const char *word)
{
	static const char safe[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
				   "%+,-./:=@_";

	if (*word && !word[strspn(word, safe)]) {
		sn_text_add(text, word);
		return;
	}
	sn_text_add_char(text, '\'');
	for (const char *c = word; *c; c++) {
		if (*c == '\'')
			sn_text_add(text, "'\\''");
		else
			sn_text_add_char(text, *c);
	}
	sn_text_add_char(text, '\'');
}

/* Most numbers have few decimals: those that are the double nearest to so many millionths, which is
 * what dividing gives. No two numbers of 15 digits or fewer have the same double, so this is the
 * shortest. Writing it costs a tenth. */
static bool add_millionths(struct sn_text *text, double value)
{
	enum { UNIT = 1000000, DECIMALS = 6, DIGITS = 24 };
	double scaled = rint(fabs(value) * UNIT);
	char digits[DIGITS], *first = digits + DIGITS, *end = digits + DIGITS;
	uint64_t rest;
	bool is_small = fabs(value) < 1e-4 && (value < 0 || value > 0 || signbit(value));

	if (!(scaled < 1e15) || scaled / UNIT != fabs(value) || is_small) /* 1e-05, -0 */
		return false;
	rest = (uint64_t)scaled;
	for (int place = 0; place <= DECIMALS || rest; place++, rest /= 10) {
		if (place == DECIMALS)
			*--first = '.';
		*--first = (char)('0' + rest % 10);
	}
	while (end[-1] == '0')
		end--;
	end -= end[-1] == '.';
	if (value < 0)
		*--first = '-';
	sn_text_add_bytes(text, first, (size_t)(end - first));
	return true;
}

void sn_text_add_double(struct sn_text *text, double value)
{
	char digits[40];

	if (!isfinite(value)) {
		sn_text_add(text, "null");
		return;
	}
	if (add_millionths(text, value))
		return;
	for (int precision = 15; precision <= 17; precision++) {
		snprintf(digits, sizeof(digits), "%.*g", precision, value);
		if (strtod(digits, NULL) == value)
			break;
	}
	sn_text_add(text, digits);
}

void sn_text_clear(struct sn_text *text)
{
	text->length = 0;
	if (text->chars)
		text->chars[0] = '\0';
}

void sn_text_free(struct sn_text *text)
{
	free(text->chars);
	*text = (struct sn_text){ 0 };
}

char *sn_text_take(struct sn_text *text)
{
	char *chars = text->chars ? text->chars : sn_strdup("");

	*text = (struct sn_text){ 0 };
	return chars;
}

bool sn_starts_with(const char *chars, const char *prefix)
{
	return !strncmp(chars, prefix, strlen(prefix));
}

bool sn_ends_with(const char *chars, const char *suffix)
{
	size_t length = strlen(chars), wanted = strlen(suffix);

	return length >= wanted && !strcmp(chars + length - wanted, suffix);
}
