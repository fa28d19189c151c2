#include "base/intern.h"
#include <stdio.h>
#include "base/map.h"
#include "harness/tap.h"

TEST(a_map_keeps_what_was_put)
{
	struct sn_map map = { 0 };
	bool is_new;

	for (uint64_t i = 0; i < 10000; i++)
		*sn_map_put(&map, i * 7919, NULL) = i;
	CHECK_INT(map.count, 10000);
	for (uint64_t i = 0; i < 10000; i++)
		REQUIRE(sn_map_get(&map, i * 7919) && *sn_map_get(&map, i * 7919) == i);
	CHECK(sn_map_get(&map, 1) == NULL);
	CHECK_INT(*sn_map_put(&map, 0, &is_new), 0);
	CHECK(!is_new);
	sn_map_free(&map);
}

TEST(equal_strings_have_one_number)
{
	struct sn_interner in = { 0 };
	char name[16];

	CHECK_INT(sn_intern_find(&in, "x", 1), UINT32_MAX);
	for (int i = 0; i < 1000; i++) {
		int length = snprintf(name, sizeof(name), "f%d", i);

		CHECK_INT(sn_intern(&in, name, (size_t)length), i);
	}
	CHECK_INT(sn_intern_string(&in, "f500"), 500);
	CHECK_STRING(sn_interned_chars(&in, 999), "f999");
	CHECK_INT(sn_intern(&in, "a\0b", 3), 1000);
	CHECK_INT(sn_intern(&in, "a\0c", 3), 1001);
	sn_interner_free(&in);
}

TEST(pairs_have_hashes_of_their_own)
{
	struct sn_map map = { 0 };
	bool is_new;

	for (uint64_t a = 0; a < 100; a++)
		for (uint64_t b = 0; b < 100; b++) {
			sn_map_put(&map, sn_hash_pair(a, b), &is_new);
			REQUIRE(is_new);
		}
	sn_map_free(&map);
}

TEST(values_add_up)
{
	struct sn_map map = { 0 };

	CHECK_INT(sn_map_sum(&map), 0);
	for (uint64_t i = 1; i <= 100; i++)
		*sn_map_put(&map, i, NULL) = i;
	CHECK_INT(sn_map_sum(&map), 5050);
	sn_map_free(&map);
}
