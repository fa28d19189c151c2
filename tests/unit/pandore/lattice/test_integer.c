#include <math.h>
#include <string.h>

#include "base/stats.h"
#include "harness/tap.h"
#include "pandore/lattice/integer.h"

static const char *decimal(const uint64_t *number, unsigned limbs)
{
	static struct sn_text text;

	sn_text_clear(&text);
	sn_limbs_add_decimal(&text, number, limbs);
	return text.chars;
}

TEST(carries_go_through_every_width)
{
	for (unsigned limbs = 1; limbs <= 6; limbs++) {
		uint64_t number[6], one[6] = { 1 }, zero[6] = { 0 };

		memset(number, 0xff, sizeof(number));
		number[limbs - 1] = 0;
		sn_limbs_add(number, one, 1, limbs);
		CHECK_INT(number[limbs - 1], 1);
		for (unsigned l = 0; l + 1 < limbs; l++)
			CHECK_INT(number[l], 0);
		sn_limbs_subtract(number, one, 1, limbs);
		CHECK_INT(number[limbs - 1], 0);
		if (limbs > 1)
			CHECK(number[0] == UINT64_MAX);
		sn_limbs_subtract(zero, one, 1, limbs);
		CHECK(zero[limbs - 1] == UINT64_MAX); /* wraps */
	}
}

TEST(differences_summed_up_are_shifted_sums)
{
	struct sn_random random;

	sn_random_seed(&random, 1);
	for (unsigned limbs = 1; limbs <= 5; limbs++) {
		uint64_t from[5 * 5], steps[20 * 5] = { 0 }, got[20 * 5] = { 0 },
						 want[20 * 5] = { 0 };

		for (size_t i = 0; i < sizeof(from) / sizeof(*from); i++)
			from[i] = sn_random_u64(&random);
		sn_limbs_add(steps + 3 * limbs, from, 5, limbs);
		sn_limbs_subtract(steps + 10 * limbs, from, 5, limbs);
		sn_limbs_add_running(got, steps, 20, limbs);
		for (unsigned shift = 3; shift < 10; shift++)
			sn_limbs_add(want + shift * limbs, from, 5, limbs);
		CHECK(!memcmp(got, want, 20 * limbs * sizeof(uint64_t)));
	}
}

TEST(decimals_have_every_digit)
{
	uint64_t number[4] = { 0 }, next[4];

	CHECK_STRING(decimal(number, 4), "0");
	number[0] = 1;
	for (int i = 0; i < 50; i++) {
		memset(next, 0, sizeof(next));
		sn_limbs_add_times(next, number, 10, 1, 4);
		memcpy(number, next, sizeof(number));
	}
	CHECK_STRING(decimal(number, 4), "100000000000000000000000000000000000000000000000000");
	CHECK_REAL(sn_limbs_log10(number, 4), 50, 1e-12);
	CHECK_REAL(sn_limbs_double(number, 4) / 1e50, 1, 1e-12);
	CHECK_REAL(sn_limbs_ratio(number, number, 4), 1, 0);
	number[0] = UINT64_MAX;
	CHECK_STRING(decimal(number, 1), "18446744073709551615");
	memset(number, 0xff, sizeof(number));
	CHECK_STRING(decimal(number, 2), "340282366920938463463374607431768211455");
}

TEST(ratios_hold_beyond_the_range_of_doubles)
{
	uint64_t large[40] = { 0 }, half[40] = { 0 };

	large[39] = 2;
	half[39] = 1;
	CHECK(isinf(sn_limbs_double(large, 40)));
	CHECK_REAL(sn_limbs_ratio(half, large, 40), 0.5, 1e-15);
	CHECK_REAL(sn_limbs_log10(half, 40), 39 * 64 * log10(2), 1e-9);
}
