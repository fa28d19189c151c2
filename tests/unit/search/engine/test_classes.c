/* Processes by severity: classes of known values, and sets as text. */
#include "search/engine/parts.h"

#include <stdlib.h>

#include "base/alloc.h"

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

static double spread_of(const double *values, size_t first, size_t end)
{
	double mean = 0, sum = 0;

	for (size_t i = first; i < end; i++)
		mean += values[i] / (double)(end - first);
	for (size_t i = first; i < end; i++)
		sum += (values[i] - mean) * (values[i] - mean);
	return sum;
}

static double spreads_of(const double *values, size_t count, const size_t *firsts, size_t classes)
{
	double sum = 0;

	for (size_t c = 0; c < classes; c++)
		sum += spread_of(values, firsts[c], c + 1 < classes ? firsts[c + 1] : count);
	return sum;
}

/* Against all divisions of 12 values into four classes, for 500 sets of values. */
TEST(no_division_is_better)
{
	uint64_t seed = 7;

	for (int round = 0; round < 500; round++) {
		double values[12] = { 0 }, best = 1e9;
		size_t firsts[SN_CLASSES_MAX];

		for (int i = 1; i < 12; i++) {
			seed = sn_hash_u64(seed);
			values[i] = values[i - 1] + (double)(seed % 1000) / 5000;
		}
		for (size_t a = 1; a < 10; a++)
			for (size_t b = a + 1; b < 11; b++)
				for (size_t c = b + 1; c < 12; c++) {
					const size_t some[] = { 0, a, b, c };
					double cost = spreads_of(values, 12, some, 4);

					best = cost < best ? cost : best;
				}
		if (sn_search_classes(values, 12, firsts) == 4)
			CHECK_REAL(spreads_of(values, 12, firsts, 4), best, 1e-9);
	}
}

/* 10^5 members: with all divisions looked at this would take minutes. */
TEST(many_members_are_divided_too)
{
	enum { MANY = 100000 };
	double *values = sn_alloc_zeroed(MANY, sizeof(*values));
	size_t firsts[SN_CLASSES_MAX];

	for (int i = 0; i < MANY; i++)
		values[i] = i < MANY / 4 ? 0.1 : 0.5;
	CHECK_INT(sn_search_classes(values, MANY, firsts), 2);
	CHECK_INT((int64_t)firsts[1], MANY / 4);
	free(values);
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
