/* Numbers as a reader of the page sees them: seconds, percent, counts. */
#include "report/html/words.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static char *with_digits(char words[64], double value, const char *unit)
{
	int decimals = value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2;

	snprintf(words, 64, "%.*f %s", decimals, value, unit);
	return words;
}

char *sn_words_seconds(char words[64], int64_t ns)
{
	double value = (double)ns;

	if (ns < 0)
		return strcpy(words, "-");
	if (ns == 0)
		return strcpy(words, "0 s");
	if (value < 1e3)
		return with_digits(words, value, "ns");
	if (value < 999.5e3)
		return with_digits(words, value / 1e3, "µs");
	if (value < 999.5e6)
		return with_digits(words, value / 1e6, "ms");
	return with_digits(words, value / 1e9, "s");
}

char *sn_words_percent(char words[64], double share)
{
	if (!(share >= 0))
		return strcpy(words, "-");
	if (share > 0 && share < 0.0005)
		return strcpy(words, "<0.1 %");
	snprintf(words, 64, "%.1f %%", share * 100);
	return words;
}

char *sn_words_count(char words[64], uint64_t count)
{
	char digits[32];
	size_t length, at = 0;

	snprintf(digits, sizeof(digits), "%" PRIu64, count);
	length = strlen(digits);
	for (size_t i = 0; i < length; i++) {
		if (i && (length - i) % 3 == 0)
			words[at++] = ',';
		words[at++] = digits[i];
	}
	words[at] = '\0';
	return words;
}
