#include "base/words.h"

#include "harness/tap.h"

static struct sn_arena arena;

static struct sn_words split(const char *text, const char *separators)
{
	struct sn_words words = { 0 };
	struct sn_error err;

	REQUIRE(sn_words_split(text, separators, &arena, &words, &err) == SN_OK);
	return words;
}

TEST(blanks_separate)
{
	struct sn_words w = split("  -n 20\t./app ", "");

	REQUIRE(w.items.count == 3);
	CHECK_STRING(w.items.items[0], "-n");
	CHECK_STRING(w.items.items[1], "20");
	CHECK_STRING(w.items.items[2], "./app");
}

TEST(quotes_and_backslashes_keep_together)
{
	struct sn_words w = split("'a b' \"c \\\"d\\\" \\e\" f\\ g '' x\"y\"z $HOME", "");

	REQUIRE(w.items.count == 6);
	CHECK_STRING(w.items.items[0], "a b");
	CHECK_STRING(w.items.items[1], "c \"d\" \\e");
	CHECK_STRING(w.items.items[2], "f g");
	CHECK_STRING(w.items.items[3], "");
	CHECK_STRING(w.items.items[4], "xyz");
	CHECK_STRING(w.items.items[5], "$HOME"); /* nothing is expanded */
}

TEST(separators_stand_outside_quotes)
{
	struct sn_words w = split("1,2, '3,4'", ",");

	REQUIRE(w.items.count == 3);
	CHECK_STRING(w.items.items[2], "3,4");
}

TEST(nothing_gives_no_words)
{
	CHECK_INT(split("", "").items.count, 0);
	CHECK_INT(split(" \t", "").items.count, 0);
}

TEST(a_quote_that_does_not_end_is_told)
{
	struct sn_words words = { 0 };
	struct sn_error err;

	CHECK_INT(sn_words_split("a 'b", "", &arena, &words, &err), SN_ERR_USAGE);
	CHECK_STRING(err.sentence, "a quote (') does not end");
}
