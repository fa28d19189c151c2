/* Units: their names, and what products and quotients of them are called. */
#include <stdio.h>
#include <string.h>

#include "search/properties/syntax.h"

static const struct {
	const char *name;
	struct sn_prop_unit unit;
} atoms[] = { { "s", { 1, 0, 0 } },
	      { "B", { 0, 1, 0 } },
	      { "samples", { 0, 0, 1 } },
	      { "count", { 0, 0, 0 } },
	      { "1", { 0, 0, 0 } } };

static bool atom_parse(const char *text, size_t length, struct sn_prop_unit *out)
{
	for (size_t i = 0; i < sizeof(atoms) / sizeof(*atoms); i++)
		if (strlen(atoms[i].name) == length && !memcmp(text, atoms[i].name, length)) {
			*out = atoms[i].unit;
			return true;
		}
	return false;
}

bool sn_prop_unit_parse(const char *text, struct sn_prop_unit *out)
{
	const char *slash = strchr(text, '/');
	struct sn_prop_unit above, below = { 0 };

	if (!atom_parse(text, slash ? (size_t)(slash - text) : strlen(text), &above) ||
	    (slash && !atom_parse(slash + 1, strlen(slash + 1), &below)))
		return false;
	out->seconds = (int8_t)(above.seconds - below.seconds);
	out->bytes = (int8_t)(above.bytes - below.bytes);
	out->samples = (int8_t)(above.samples - below.samples);
	return true;
}

/* The factors with a positive (or negative) power, joined by blanks. */
static size_t powers_print(struct sn_prop_unit unit, int sign, char *text, size_t room)
{
	const int powers[] = { unit.seconds * sign, unit.bytes * sign, unit.samples * sign };
	size_t length = 0;

	text[0] = 0;
	for (size_t i = 0; i < 3; i++) {
		if (powers[i] <= 0)
			continue;
		length += (size_t)snprintf(text + length, room - length,
					   powers[i] > 1 ? "%s%s^%d" : "%s%s", length ? " " : "",
					   atoms[i].name, powers[i]);
	}
	return length;
}

const char *sn_prop_unit_print(struct sn_prop_unit unit, char text[SN_PROP_UNIT_TEXT])
{
	char above[SN_PROP_UNIT_TEXT / 2 - 2], below[SN_PROP_UNIT_TEXT / 2 - 2];
	size_t has_above = powers_print(unit, 1, above, sizeof(above));
	size_t has_below = powers_print(unit, -1, below, sizeof(below));

	if (!has_above && !has_below)
		snprintf(text, SN_PROP_UNIT_TEXT, "a plain number");
	else
		snprintf(text, SN_PROP_UNIT_TEXT, "%s%s%s", has_above ? above : "1",
			 has_below ? "/" : "", below);
	return text;
}
