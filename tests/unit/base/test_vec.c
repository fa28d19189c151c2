#include "base/arena.h"
#include "base/vec.h"

#include <string.h>

#include "harness/tap.h"

TEST(names_in_a_vector_are_found)
{
	SN_VEC(struct {
		int number;
		char *name;
	})
	vec = { 0 };

	CHECK(!sn_vec_has_name(&vec, "a"));
	sn_vec_reserve(&vec, 2);
	vec.count = 2;
	vec.items[0].name = "a";
	vec.items[1].name = "bc";
	CHECK(sn_vec_has_name(&vec, "a"));
	CHECK(sn_vec_has_name(&vec, "bc"));
	CHECK(!sn_vec_has_name(&vec, "b"));
	sn_vec_free(&vec);
}

TEST(a_vector_grows)
{
	SN_VEC(int) vec = { 0 };

	for (int i = 0; i < 1000; i++)
		sn_vec_push(&vec, i);
	CHECK_INT(vec.count, 1000);
	CHECK_INT(vec.items[999], 999);
	CHECK_INT(sn_vec_last(&vec), 999);
	sn_vec_free(&vec);
	CHECK(vec.items == NULL);
}

TEST(arena_pieces_are_aligned_zeroed_and_stay)
{
	struct sn_arena arena = { 0 };
	char *first = sn_arena_strdup(&arena, "first");

	for (size_t i = 0; i < 5000; i++) {
		char *piece = sn_arena_alloc(&arena, i % 97, 1);

		REQUIRE(((uintptr_t)piece & 15) == 0);
		for (size_t k = 0; k < i % 97; k++)
			REQUIRE(piece[k] == 0);
		memset(piece, 0xff, i % 97);
	}
	CHECK_STRING(first, "first");
	CHECK_STRING(sn_arena_printf(&arena, "%d-%s", 7, "x"), "7-x");
	sn_arena_free(&arena);
}

TEST(a_pushed_value_may_look_at_the_vector)
{
	SN_VEC(size_t) counts = { 0 };

	for (size_t i = 0; i < 100; i++)
		sn_vec_push(&counts, counts.count ? sn_vec_last(&counts) + counts.count : 7);
	CHECK_INT(counts.items[0], 7);
	CHECK_INT(counts.items[1], 8);
	CHECK_INT(counts.items[99], 7 + 99 * 100 / 2);
	sn_vec_free(&counts);
}
