/*
 * The distance counts inserted, missing, changed and swapped neighbouring letters (optimal string
 * alignment). One mistake makes a short name a likely one, two make a long one.
 */
#include "base/spelling.h"

#include <string.h>
#include <strings.h>

enum { LENGTH_MAX = 63 };

static size_t least(size_t a, size_t b)
{
	return a < b ? a : b;
}

size_t sn_spelling_distance(const char *a, const char *b)
{
	size_t rows[3][LENGTH_MAX + 1], m = strlen(a), n = strlen(b);
	size_t *before = rows[0], *last = rows[1], *now = rows[2];

	if (m > LENGTH_MAX || n > LENGTH_MAX)
		return strcmp(a, b) ? (m > n ? m : n) : 0;
	for (size_t j = 0; j <= n; j++)
		last[j] = j;
	for (size_t i = 1; i <= m; i++) {
		size_t *free_row = before;

		now[0] = i;
		for (size_t j = 1; j <= n; j++) {
			now[j] = least(last[j - 1] + (a[i - 1] != b[j - 1]),
				       least(last[j], now[j - 1]) + 1);
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
				now[j] = least(now[j], before[j - 2] + 1);
		}
		before = last;
		last = now;
		now = free_row;
	}
	return last[n];
}

bool sn_spelling_is_near(const char *written, const char *name)
{
	size_t length = strlen(written), other = strlen(name);

	if (length < 2 || other < 2 || !strcmp(written, name))
		return false;
	return !strcasecmp(written, name) ||
	       sn_spelling_distance(written, name) <= (least(length, other) > 5 ? 2 : 1);
}

bool sn_spelling_is_nearer(const char *written, const char *name, const char *best)
{
	return sn_spelling_is_near(written, name) &&
	       (!best || sn_spelling_distance(written, name) < sn_spelling_distance(written, best));
}
