/* One pass over the bytes of a line; the first thing that is not plain ends it. */
#include "pandore/lattice/read_plain.h"

#include <math.h>
#include <string.h>

enum { DIGITS_MAX = 15, POWER_MAX = 22 }; /* what a double holds exactly: 10^15, 10^22 */

struct scan {
	const char *at, *end;
};

static void skip_blanks(struct scan *s)
{
	while (s->at < s->end && (*s->at == ' ' || *s->at == '\t' || *s->at == '\r'))
		s->at++;
}

static bool take(struct scan *s, char wanted)
{
	skip_blanks(s);
	if (s->at == s->end || *s->at != wanted)
		return false;
	s->at++;
	return true;
}

static bool is_digit(const struct scan *s)
{
	return s->at < s->end && *s->at >= '0' && *s->at <= '9';
}

/* Digits without a leading zero, DIGITS_MAX at most. */
static bool take_digits(struct scan *s, uint64_t *out, unsigned *count)
{
	const char *first = s->at;

	for (; is_digit(s); s->at++, ++*count) {
		if (*count == DIGITS_MAX)
			return false;
		*out = *out * 10 + (uint64_t)(*s->at - '0');
	}
	return s->at > first;
}

static bool take_whole(struct scan *s, uint32_t *out)
{
	uint64_t value = 0;
	unsigned digits = 0;
	bool is_zero;

	skip_blanks(s);
	is_zero = s->at < s->end && *s->at == '0';
	if (!take_digits(s, &value, &digits) || (is_zero && digits > 1) || value > UINT32_MAX / 2)
		return false;
	if (s->at < s->end && (*s->at == '.' || *s->at == 'e' || *s->at == 'E'))
		return false;
	*out = (uint32_t)value;
	return true;
}

/* A quotient of two exact numbers is rounded once, so it is the nearest double (Clinger, How to read floating point
 * numbers accurately, PLDI 1990). */
static bool take_seconds(struct scan *s, double *out)
{
	static const double POWERS[] = { 1e0, 1e1, 1e2,	 1e3,  1e4,  1e5,  1e6,	 1e7,
					 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15 };
	uint64_t value = 0;
	unsigned digits = 0, before;
	bool is_zero;

	skip_blanks(s);
	is_zero = s->at < s->end && *s->at == '0';
	if (!take_digits(s, &value, &digits) || (is_zero && digits > 1))
		return false;
	before = digits;
	if (s->at < s->end && *s->at == '.') {
		s->at++;
		if (!take_digits(s, &value, &digits))
			return false;
	}
	if (s->at < s->end && (*s->at == 'e' || *s->at == 'E'))
		return false;
	*out = (double)value / POWERS[digits - before];
	return true;
}

/* Printable ASCII without escapes, at most SN_PLAIN_CHARS_MAX - 1 of it. */
static bool take_chars(struct scan *s, char *out)
{
	size_t length = 0;

	if (!take(s, '"'))
		return false;
	for (; s->at < s->end && *s->at != '"'; s->at++) {
		if (*s->at < ' ' || *s->at > '~' || *s->at == '\\' ||
		    length == SN_PLAIN_CHARS_MAX - 1)
			return false;
		out[length++] = *s->at;
	}
	out[length] = 0;
	return take(s, '"');
}

static bool take_after(struct scan *s, struct sn_plain_event *out)
{
	struct sn_lattice_event *event = &out->event;

	if (!take(s, '['))
		return false;
	event->after = out->after;
	if (take(s, ']'))
		return true;
	do {
		struct sn_lattice_ref *ref = &out->after[event->after_count];

		if (event->after_count == SN_PLAIN_LIST_MAX || !take(s, '[') ||
		    !take_whole(s, &ref->process) || !take(s, ',') || !take_whole(s, &ref->index) ||
		    !take(s, ']'))
			return false;
		event->after_count++;
	} while (take(s, ','));
	return take(s, ']');
}

static bool take_clock(struct scan *s, struct sn_plain_event *out)
{
	struct sn_lattice_event *event = &out->event;

	if (!take(s, '['))
		return false;
	do {
		if (event->clock_count == SN_PLAIN_LIST_MAX ||
		    !take_whole(s, &out->clock[event->clock_count]))
			return false;
		event->clock_count++;
	} while (take(s, ','));
	event->clock = out->clock;
	return take(s, ']');
}

static bool take_truth(struct scan *s, bool *out)
{
	skip_blanks(s);
	*out = s->at < s->end && *s->at == 't';
	for (const char *c = *out ? "true" : "false"; *c; c++, s->at++)
		if (s->at == s->end || *s->at != *c)
			return false;
	return true;
}

enum key { PROCESS, INDEX, LINE, LABEL, FILE_NAME, DURATION, START, OBSERVED, AFTER, CLOCK, KEYS };

static enum key take_key(struct scan *s)
{
	static const char *const NAMES[KEYS] = { "process", "index",	  "line",    "label",
						 "file",    "duration_s", "start_s", "observed",
						 "after",   "clock" };
	const char *first;
	size_t length;

	if (!take(s, '"'))
		return KEYS;
	first = s->at;
	while (s->at < s->end && *s->at != '"')
		s->at++;
	length = (size_t)(s->at - first);
	if (!take(s, '"') || !take(s, ':'))
		return KEYS;
	for (int k = 0; k < KEYS; k++)
		if (strlen(NAMES[k]) == length && !memcmp(NAMES[k], first, length))
			return (enum key)k;
	return KEYS;
}

static bool take_value(struct scan *s, enum key key, struct sn_plain_event *out)
{
	struct sn_lattice_event *event = &out->event;

	switch (key) {
	case PROCESS:
		return take_whole(s, &event->process);
	case INDEX:
		return take_whole(s, &event->index);
	case LINE:
		return take_whole(s, &event->line);
	case LABEL:
		event->label = out->label;
		return take_chars(s, out->label);
	case FILE_NAME:
		event->file = out->file;
		return take_chars(s, out->file);
	case DURATION:
		return take_seconds(s, &event->duration_s);
	case START:
		return take_seconds(s, &event->start_s);
	case OBSERVED:
		return take_truth(s, &event->is_observed);
	case AFTER:
		return take_after(s, out);
	case CLOCK:
		return take_clock(s, out);
	default:
		return false;
	}
}

bool sn_plain_event_read(const char *line, size_t length, struct sn_plain_event *out)
{
	struct scan s = { line, line + length };
	unsigned seen = 0;

	out->event =
		(struct sn_lattice_event){ .is_observed = true, .duration_s = NAN, .start_s = NAN };
	if (!take(&s, '{'))
		return false;
	do {
		enum key key = take_key(&s);

		if (key == KEYS || seen & 1U << key || !take_value(&s, key, out))
			return false;
		seen |= 1U << key;
	} while (take(&s, ','));
	if (!take(&s, '}'))
		return false;
	skip_blanks(&s);
	return s.at == s.end && seen & 1U << PROCESS && seen & 1U << INDEX;
}
