/* What libdeflate unpacks, if it is here, is what zlib unpacks; and both see damage. */
#include "code/inflate.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "harness/tap.h"

enum { LENGTH = 300000 };

static uint8_t plain[LENGTH], packed[2 * LENGTH];

/* Text that repeats itself, noise, and zeros. */
static size_t pack(void)
{
	uLongf length = sizeof(packed);
	uint64_t state = 5;

	for (size_t i = 0; i < LENGTH; i++) {
		state = state * UINT64_C(6364136223846793005) + 1442695040888963407;
		plain[i] = i < LENGTH / 3 ? (uint8_t) "a line of code; "[i % 16 ^ (i / 999 & 3)]
			   : i < 2 * LENGTH / 3 ? (uint8_t)(state >> 56)
						: 0;
	}
	REQUIRE(compress2(packed, &length, plain, LENGTH, 6) == Z_OK);
	return length;
}

typedef bool (*inflate_function)(const uint8_t *, size_t, uint8_t *, size_t);

static void check(inflate_function unpack)
{
	size_t length = pack();
	uint8_t *out = malloc(LENGTH + 1);

	REQUIRE(out);
	memset(out, 1, LENGTH);
	CHECK(unpack(packed, length, out, LENGTH) && !memcmp(out, plain, LENGTH));
	CHECK(!unpack(packed, length, out, LENGTH - 1));
	CHECK(!unpack(packed, length, out, LENGTH + 1));
	for (size_t cut = 0; cut < length; cut += length / 50)
		CHECK(!unpack(packed, cut, out, LENGTH));
	for (size_t at = 0; at < length; at += length / 50) {
		packed[at] ^= 4;
		CHECK(!unpack(packed, length, out, LENGTH));
		packed[at] ^= 4;
	}
	free(out);
}

TEST(what_is_packed_comes_back_and_damage_is_seen)
{
	check(sn_inflate);
}

TEST(by_zlib_alone_the_same)
{
	check(sn_inflate_zlib);
}

/* libdeflate leaves out a stored block that has no room as a whole, as the noise here: that is told. */
static void check_first(inflate_function unpack, bool with_noise)
{
	size_t length = pack();
	uint8_t *out = malloc(LENGTH + SN_INFLATE_SLACK);

	REQUIRE(out);
	for (size_t wanted = 1; wanted + SN_INFLATE_SLACK < LENGTH; wanted += LENGTH / 50) {
		memset(out, 1, LENGTH);
		if (unpack(packed, length, out, wanted))
			CHECK(!memcmp(out, plain, wanted));
		else
			CHECK(!with_noise && wanted + SN_INFLATE_SLACK > LENGTH / 3);
		CHECK(!unpack(packed, length / 100, out, LENGTH / 2));
	}
	free(out);
}

TEST(the_first_bytes_of_what_is_packed)
{
	check_first(sn_inflate_first, false);
}

TEST(the_first_bytes_by_zlib_alone)
{
	check_first(sn_inflate_first_zlib, true);
}
