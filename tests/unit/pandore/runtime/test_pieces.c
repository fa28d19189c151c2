/* Boxes of one message: what is there already is not sent twice, and no element is lost or added. */
#include "pandore/runtime/pieces.h"

#include <stdlib.h>
#include <string.h>

#include "pandore/runtime/pandore.h"
#include "harness/tap.h"

enum { EDGE = 12 };

static const struct pd_array array = { .rank = 2, .extent = { EDGE, EDGE } };

static struct pd_section box(long a, long b, long c, long d)
{
	return (struct pd_section){ .first = { a, c }, .last = { b, d }, .stride = { 1, 1 } };
}

static long add(struct pd_pieces *pieces, struct pd_section section)
{
	return pd_pieces_add(pieces, &array, &array, 0, &section);
}

TEST(a_box_that_is_there_adds_nothing)
{
	struct pd_pieces p = { 0 };

	CHECK_INT(add(&p, box(0, 3, 0, 3)), 16);
	CHECK_INT(add(&p, box(0, 3, 0, 3)), 0);
	CHECK_INT(add(&p, box(1, 2, 1, 1)), 0);
	CHECK_INT(add(&p, box(0, 4, 0, 3)), 4);
	CHECK_INT((int)p.count, 1);
	free(p.items);
}

TEST(the_offsets_of_a_stencil_are_one_border)
{
	struct pd_pieces p = { 0 };

	CHECK_INT(add(&p, box(3, 3, 0, 9)), 10);
	CHECK_INT(add(&p, box(3, 3, 1, 10)), 1);
	CHECK_INT(add(&p, box(3, 3, 2, 11)), 1);
	CHECK_INT((int)p.count, 1);
	/* a corner beside it is another box */
	CHECK_INT(add(&p, box(5, 5, 0, 0)), 1);
	CHECK_INT((int)p.count, 2);
	free(p.items);
}

TEST(arrays_are_kept_apart)
{
	struct pd_section s = box(0, 1, 0, 1);
	struct pd_pieces p = { 0 };

	CHECK_INT(pd_pieces_add(&p, "A", &array, 1, &s), 4);
	CHECK_INT(pd_pieces_add(&p, "B", &array, 2, &s), 4);
	CHECK_INT((int)p.count, 2);
	CHECK_INT(p.items[1].site, 2);
	free(p.items);
}

static long mark(const struct pd_section *s, char *into)
{
	long count = 0;

	for (long i = s->first[0]; i <= s->last[0]; i += s->stride[0])
		for (long j = s->first[1]; j <= s->last[1]; j += s->stride[1]) {
			into[i * EDGE + j]++;
			count++;
		}
	return count;
}

static struct pd_section any_box(unsigned *seed)
{
	struct pd_section s = { 0 };

	for (int d = 0; d < 2; d++) {
		*seed = *seed * 1103515245u + 12345u;
		s.stride[d] = 1 + (*seed >> 16) % 3;
		s.first[d] = (*seed >> 20) % 6;
		s.last[d] =
			s.first[d] +
			s.stride[d] * ((*seed >> 24) % ((EDGE - s.first[d] - 1) / s.stride[d] + 1));
	}
	return s;
}

TEST(random_boxes_hold_what_was_added_and_nothing_else)
{
	unsigned seed = 7;

	for (int turn = 0; turn < 2000; turn++) {
		char want[EDGE * EDGE] = { 0 }, got[EDGE * EDGE] = { 0 };
		struct pd_pieces p = { 0 };
		long counted = 0, held = 0;

		for (int i = 0; i < 5; i++) {
			struct pd_section s = any_box(&seed);

			mark(&s, want);
			counted += add(&p, s);
		}
		for (size_t i = 0; i < p.count; i++)
			held += mark(&p.items[i].section, got);
		REQUIRE(held == counted);
		for (int i = 0; i < EDGE * EDGE; i++)
			REQUIRE(!want[i] == !got[i]);
		free(p.items);
	}
}
