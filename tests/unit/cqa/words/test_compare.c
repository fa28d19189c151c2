/* Loops of two builds, made by hand: which are taken for the same, and how they are compared. */
#include "cqa/words/compare.h"

#include <math.h>
#include <string.h>

#include "harness/tap.h"

static void add(struct sn_cqa_sides *sides, const char *function, const char *label, double cycles)
{
	struct sn_cqa_side side = { .cycles = cycles,
				    .function = sn_arena_strdup(&sides->arena, function),
				    .label = sn_arena_strdup(&sides->arena, label) };

	side.code = sides->items.count + 1 + (uint64_t)(cycles * 1000);
	sn_vec_push(&sides->items, side);
}

/* The label of the counterpart; "": there is none. */
static const char *other_of(const struct sn_cqa_sides *sides, size_t i)
{
	const struct sn_cqa_side *other = sides->items.items[i].other;

	return other ? other->label : "";
}

TEST(loops_of_one_name_are_the_same_loop)
{
	struct sn_cqa_sides before = { 0 }, after = { 0 };

	add(&before, "f", "f.c:1", 4);
	add(&before, "f", "f.c:9", 5);
	add(&before, "g", "f.c:1", 6);
	add(&after, "g", "f.c:1", 3);
	add(&after, "f", "f.c:9", 5);
	add(&after, "f", "f.c:1", 2);
	sn_cqa_sides_pair(&before, &after);
	CHECK(before.items.items[0].other == &after.items.items[2]);
	CHECK(before.items.items[1].other == &after.items.items[1]);
	CHECK(before.items.items[2].other == &after.items.items[0]);
	CHECK(after.items.items[0].other == &before.items.items[2]);
	sn_cqa_sides_free(&before);
	sn_cqa_sides_free(&after);
}

TEST(loops_that_moved_are_taken_in_order_if_as_many_are_left)
{
	struct sn_cqa_sides before = { 0 }, after = { 0 };

	add(&before, "f", "f.c:1", 4);
	add(&before, "f", "f.c:9", 5);
	add(&before, "g", "f.c:20", 5);
	add(&after, "f", "f.c:2", 4);
	add(&after, "f", "f.c:10", 4);
	add(&after, "g", "f.c:21", 4);
	add(&after, "g", "f.c:25", 4);
	sn_cqa_sides_pair(&before, &after);
	CHECK_STRING(other_of(&before, 0), "f.c:2");
	CHECK_STRING(other_of(&before, 1), "f.c:10");
	/* one loop of g became two: nothing says which it is */
	CHECK_STRING(other_of(&before, 2), "");
	CHECK_STRING(other_of(&after, 2), "");
	CHECK_STRING(other_of(&after, 3), "");
	sn_cqa_sides_free(&before);
	sn_cqa_sides_free(&after);
}

TEST(the_same_work_is_compared)
{
	struct sn_cqa_side scalar = { .cycles = 4, .unroll = 1, .flops = 2, .code = 1 };
	struct sn_cqa_side vector = { .cycles = 6, .unroll = 4, .flops = 8, .code = 2 };
	struct sn_cqa_side same = { .cycles = 2, .unroll = 1, .flops = 2, .code = 1 };
	struct sn_cqa_side odd = { .cycles = 2, .code = 3 };
	const char *by = NULL;

	CHECK_REAL(sn_cqa_sides_speedup(&scalar, &vector, &by), 4 / 1.5, 1e-9);
	CHECK_STRING(by, "iterations");
	CHECK_REAL(sn_cqa_sides_speedup(&scalar, &same, &by), 2, 1e-9);
	CHECK_STRING(by, "same code");
	vector.unroll = 0;
	CHECK_REAL(sn_cqa_sides_speedup(&scalar, &vector, &by), 2 / 0.75, 1e-9);
	CHECK_STRING(by, "FLOP");
	by = NULL;
	CHECK(isnan(sn_cqa_sides_speedup(&scalar, &odd, &by)));
	CHECK(by == NULL);
}

TEST(verdicts_count_each_loop_once)
{
	struct sn_cqa_sides before = { 0 }, after = { 0 };
	struct sn_table_view view = { .schema = "sonde.cqa-compare/1" };
	const struct sn_machine *machine;
	struct sn_error err = { 0 };
	char *text;
	size_t length;
	FILE *out = open_memstream(&text, &length);

	REQUIRE(sn_machine_find("cascadelake", &machine, &err) == SN_OK);
	add(&before, "f", "f.c:1", 4);
	add(&before, "g", "g.c:1", 4);
	add(&before, "h", "h.c:1", 4);
	add(&after, "f", "f.c:1", 2);
	add(&after, "g", "g.c:1", 8);
	add(&after, "i", "i.c:1", 8);
	for (size_t i = 0; i < 3; i++)
		before.items.items[i].unroll = after.items.items[i].unroll = 1;
	sn_cqa_sides_pair(&before, &after);
	CHECK_INT(sn_cqa_compare_write(&before, &after, &view, machine, out, &err), SN_OK);
	fclose(out);
	CHECK(strstr(text, "1 faster, 1 slower, 0 the same") != NULL);
	CHECK(strstr(text, "without a counterpart: 1 before, 1 after") != NULL);
	free(text);
	sn_cqa_sides_free(&before);
	sn_cqa_sides_free(&after);
}
