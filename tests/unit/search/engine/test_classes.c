/* Processes by severity: classes of known values, and sets as text. */
#include "search/engine/parts.h"

#include "harness/tap.h"

TEST(what_is_alike_is_one_class)
{
	const double values[] = { 0.30, 0.31, 0.32, 0.33 };
	size_t firsts[SN_CLASSES_MAX];

	CHECK_INT(sn_search_classes(values, 4, firsts), 1);
	CHECK_INT(firsts[0], 0);
}

TEST(an_outlier_has_a_class_of_its_own)
{
	const double values[] = { 0.10, 0.10, 0.11, 0.12, 0.90 };
	size_t firsts[SN_CLASSES_MAX];

	CHECK_INT(sn_search_classes(values, 5, firsts), 2);
	CHECK_INT(firsts[1], 4);
}

TEST(there_are_at_most_four_classes)
{
	double values[100];
	size_t firsts[SN_CLASSES_MAX];

	for (int i = 0; i < 100; i++)
		values[i] = i / 100.0;
	CHECK_INT(sn_search_classes(values, 100, firsts), 4);
	for (int c = 0; c < 4; c++) /* of equal steps the best division is into equal parts */
		CHECK_INT(firsts[c], 25 * c);
	CHECK_INT(sn_search_classes(values, 1, firsts), 1);
}

TEST(sets_are_ranges)
{
	const struct sn_member members[] = {
		{ .id = "0" }, { .id = "1" }, { .id = "2" }, { .id = "7" }, { .id = "x" }
	};
	const uint32_t some[] = { 3, 0, 2, 1, 1 }, named[] = { 4, 0 };
	struct sn_text text = { 0 };

	sn_search_set_print(members, some, 5, &text);
	CHECK_STRING(text.chars, "0-2,7");
	sn_text_clear(&text);
	sn_search_set_print(members, named, 2, &text);
	CHECK_STRING(text.chars, "x,0");
	sn_text_free(&text);
}
