/* Names of code, as users write them. */
#include "causal/names.h"

#include <string.h>

#include "harness/tap.h"

static sn_status parse(const char *word, struct sn_causal_choice *choice)
{
	struct sn_error err;

	return sn_causal_choice_parse(word, choice, &err);
}

TEST(a_function_goes_by_its_name_up_to_the_parameters)
{
	CHECK_INT(sn_causal_function_match("a::f(int)", "_ZN1a1fEi", "a::f(int)"), SN_CAUSAL_MATCH);
	CHECK_INT(sn_causal_function_match("a::f(int)", "_ZN1a1fEi", "_ZN1a1fEi"), SN_CAUSAL_MATCH);
	CHECK_INT(sn_causal_function_match("a::f(int)", "_ZN1a1fEi", "a::f"), SN_CAUSAL_MATCH);
	CHECK_INT(sn_causal_function_match("a::f(int)", NULL, "f"), SN_CAUSAL_NO_MATCH);
	CHECK_INT(sn_causal_function_match("f.constprop.0", NULL, "f"), SN_CAUSAL_CLONE);
	CHECK_INT(sn_causal_function_match("f._omp_fn.0", NULL, "f"), SN_CAUSAL_NO_MATCH);
	CHECK_INT(sn_causal_function_match("f(int)", NULL, ""), SN_CAUSAL_NO_MATCH);
}

static bool is_unscoped(const char *own, const char *wanted)
{
	size_t length;
	const char *last = sn_causal_unscoped(own, &length);

	return length == strlen(wanted) && !strncmp(last, wanted, length);
}

TEST(scopes_are_told_from_a_name)
{
	CHECK(is_unscoped("f", "f"));
	CHECK(is_unscoped("a::f(b::c)", "f"));
	CHECK(is_unscoped("a<b::c, d(*)(e::g)>::f(int)", "f"));
	CHECK(is_unscoped("(anonymous namespace)::f(int)", "f"));
	CHECK(is_unscoped("", ""));
}

TEST(a_rank_is_a_number)
{
	CHECK(sn_causal_is_rank("#1") && sn_causal_is_rank("#12"));
	CHECK(!sn_causal_is_rank("#") && !sn_causal_is_rank("1") && !sn_causal_is_rank("#1a"));
}

TEST(lists_have_a_number_or_five)
{
	struct sn_causal_choice choice;

	CHECK(parse("loops", &choice) == SN_OK && choice.kind == SN_CAUSAL_CHOICE_LOOPS);
	CHECK_INT(choice.count, 5);
	CHECK(parse("functions:1", &choice) == SN_OK && choice.kind == SN_CAUSAL_CHOICE_FUNCTIONS);
	CHECK_INT(choice.count, 1);
	CHECK(parse("lines:1024", &choice) == SN_OK && choice.kind == SN_CAUSAL_CHOICE_LINES);
	CHECK_INT(choice.count, 1024);
	CHECK(parse("regions", &choice) == SN_OK && choice.kind == SN_CAUSAL_CHOICE_REGIONS);
}

TEST(numbers_that_are_none_are_refused)
{
	static const char *const words[] = {
		"loops:0",    "loops:-1",   "loops:",
		"loops:1025", "lines:x",    "functions:3x",
		"loops: 3",   "regions:+1", "loops:99999999999999999999"
	};
	struct sn_causal_choice choice;

	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		CHECK(parse(words[i], &choice) == SN_ERR_USAGE);
}

TEST(other_words_are_names)
{
	struct sn_causal_choice choice;

	CHECK(parse("loops_of_mine", &choice) == SN_OK && choice.kind == SN_CAUSAL_CHOICE_NAME);
	CHECK(parse("lines::read", &choice) == SN_OK && choice.kind == SN_CAUSAL_CHOICE_NAME);
	CHECK(!strcmp(choice.name, "lines::read"));
	CHECK(parse("lock:guard", &choice) == SN_OK && choice.kind == SN_CAUSAL_CHOICE_LOCK);
	CHECK(!strcmp(choice.name, "guard"));
	CHECK(parse("lock:", &choice) == SN_ERR_USAGE);
}

TEST(words_end_at_commas_outside_of_brackets)
{
	char list[] = "loops:3,f(int, char),g<a, b>(c),<code at 0x10, after h>,a::operator<(b, "
		      "c),operator()(x, y),operator,(x, y),,last";
	static const char *const words[] = {
		"loops:3",
		"f(int, char)",
		"g<a, b>(c)",
		"<code at 0x10, after h>",
		"a::operator<(b, c)",
		"operator()(x, y)",
		"operator,(x, y)",
		"",
		"last",
	};
	char *next = list;

	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++) {
		const char *word = sn_causal_next_word(&next);

		CHECK(word && !strcmp(word, words[i]));
	}
	CHECK(!sn_causal_next_word(&next));
}

TEST(lines_are_known_by_how_their_path_ends)
{
	CHECK(sn_causal_is_line("/src/a.c", 41, "a.c:41"));
	CHECK(sn_causal_is_line("/src/a.c", 41, "src/a.c:41"));
	CHECK(sn_causal_is_line("/src/a.c", 41, "a.c:41-57")); /* a loop's label */
	CHECK(!sn_causal_is_line("/src/a.c", 42, "a.c:41"));
	CHECK(!sn_causal_is_line("/src/a.c", 41, "b.c:41"));
	CHECK(!sn_causal_is_line(NULL, 41, "a.c:41"));
	CHECK(sn_causal_looks_like_line("a.c:41"));
	CHECK(!sn_causal_looks_like_line("ns::f"));
	CHECK(!sn_causal_looks_like_line(":4"));
	CHECK(!sn_causal_looks_like_line("turn"));
}
