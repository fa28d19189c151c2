#include "harness/tap.h"

#include <math.h>
#include <stdlib.h>

#include "report/html/words.h"

TEST(seconds_have_three_digits_and_a_unit_that_fits)
{
	char words[64];

	CHECK_STRING(sn_words_seconds(words, 0), "0 s");
	CHECK_STRING(sn_words_seconds(words, 1234), "1.23 µs");
	CHECK_STRING(sn_words_seconds(words, 12345678), "12.3 ms");
	CHECK_STRING(sn_words_seconds(words, 999499999), "999 ms");
	CHECK_STRING(sn_words_seconds(words, 999600000), "1.00 s");
	CHECK_STRING(sn_words_seconds(words, 123456789012), "123 s");
}

TEST(unknown_is_a_dash_and_never_zero)
{
	char words[64];

	CHECK_STRING(sn_words_seconds(words, -1), "-");
	CHECK_STRING(sn_words_percent(words, NAN), "-");
	CHECK_STRING(sn_words_percent(words, -0.1), "-");
}

TEST(small_shares_are_not_called_zero)
{
	char words[64];

	CHECK_STRING(sn_words_percent(words, 0), "0.0 %");
	CHECK_STRING(sn_words_percent(words, 0.0001), "<0.1 %");
	CHECK_STRING(sn_words_percent(words, 0.5), "50.0 %");
}

TEST(counts_are_grouped)
{
	char words[64];

	CHECK_STRING(sn_words_count(words, 0), "0");
	CHECK_STRING(sn_words_count(words, 999), "999");
	CHECK_STRING(sn_words_count(words, 1000), "1,000");
	CHECK_STRING(sn_words_count(words, UINT64_MAX), "18,446,744,073,709,551,615");
}
