/* Flow graphs of lines with branches, and what bounds executions of them. */
#include "search/online/rows.h"

#include <stdarg.h>
#include <string.h>

#include "harness/tap.h"

enum { BLOCKS_MOST = 8, BLOCK_BYTES = 16, BEGIN = 0x1000 };

/* Block i is at BEGIN + 16 i; the function begins with block 0. */
struct graph {
	struct sn_function function;
	struct sn_block blocks[BLOCKS_MOST];
	uint32_t successors[4 * BLOCKS_MOST];
	struct sn_range range;
	struct sn_loop loop;
};

static uint64_t addr_of(uint32_t block)
{
	return BEGIN + block * BLOCK_BYTES;
}

/* Edges as digits: "01 12 20" are 0 to 1, 1 to 2 and 2 to 0. */
static void graph_make(struct graph *g, uint32_t count, const char *edges)
{
	*g = (struct graph){ .range = { BEGIN, addr_of(count) } };
	g->function = (struct sn_function){ .link_addr = BEGIN,
					    .ranges = &g->range,
					    .range_count = 1,
					    .blocks = g->blocks,
					    .block_count = count,
					    .successors = g->successors,
					    .loops = &g->loop,
					    .has_code = true,
					    .has_lines = true };
	for (uint32_t b = 0; b < count; b++) {
		struct sn_block *block = &g->blocks[b];

		*block = (struct sn_block){ .link_addr = addr_of(b),
					    .size_bytes = BLOCK_BYTES,
					    .loop = -1,
					    .first_successor = g->function.successor_count };
		for (const char *at = edges; at; at = strchr(at, ' ') ? strchr(at, ' ') + 1 : NULL)
			if ((uint32_t)(at[0] - '0') == b) {
				g->successors[g->function.successor_count++] =
					(uint32_t)(at[1] - '0');
				block->successor_count++;
			}
		if (!block->successor_count)
			block->flags = SN_BLOCK_RETURNS;
	}
}

static void loop_make(struct graph *g, uint32_t header, uint32_t first, uint32_t last)
{
	g->function.loop_count = 1;
	g->loop = (struct sn_loop){ .function = &g->function,
				    .parent = -1,
				    .depth = 1,
				    .header_link_addr = addr_of(header),
				    .inline_index = -1 };
	for (uint32_t b = first; b <= last; b++)
		g->blocks[b].loop = 0;
}

/* Whether what is left of rows in these blocks is in those, in order; "-": there is no choice. */
static bool are_bound(const struct graph *g, const struct sn_loop *loop, const char *blocks,
		      const char *wanted)
{
	sn_addresses rows = { 0 };
	bool is_there, is_same;

	for (; *blocks; blocks++)
		sn_vec_push(&rows, addr_of((uint32_t)(*blocks - '0')) + 4);
	is_there = sn_rows_bound(&g->function, loop, &rows);
	is_same = is_there ? rows.count == strlen(wanted) : !strcmp(wanted, "-");
	for (size_t i = 0; is_there && is_same && i < rows.count; i++)
		is_same = rows.items[i] == addr_of((uint32_t)(wanted[i] - '0')) + 4;
	sn_vec_free(&rows);
	return is_same;
}

TEST(what_decides_bounds_a_line_wherever_it_lies)
{
	struct graph g;

	/* 3 decides between 1 and 2, both lead to 4 */
	graph_make(&g, 5, "03 31 32 14 24");
	CHECK(are_bound(&g, NULL, "123", "3"));
	CHECK(are_bound(&g, NULL, "1234", "3"));
	/* the same in a loop, where 1 leads to 3 by the jump back only */
	graph_make(&g, 6, "03 31 32 14 24 43 45");
	loop_make(&g, 3, 1, 4);
	CHECK(are_bound(&g, &g.loop, "123", "3"));
}

TEST(alternatives_that_nothing_decides_bound_it_together)
{
	struct graph g;

	/* the test, 0, is an earlier line's */
	graph_make(&g, 4, "01 02 13 23");
	CHECK(are_bound(&g, NULL, "12", "12"));
	CHECK(are_bound(&g, NULL, "123", "12"));
	graph_make(&g, 5, "01 12 13 21 31 14");
	loop_make(&g, 1, 1, 3);
	CHECK(are_bound(&g, &g.loop, "23", "23"));
}

TEST(what_leads_to_another_one_in_any_case_is_not_counted_beside_it)
{
	struct graph g;

	/* 1 always leads to 2, which 0 leads to as well */
	graph_make(&g, 4, "01 02 12 23");
	CHECK(are_bound(&g, NULL, "12", "2"));
	/* 0 to 1 or 2; 1 to 3 or 4; 2 to 3 or 4: rows in 1, 3 and 4 */
	graph_make(&g, 6, "01 02 13 14 23 24 35 45");
	CHECK(are_bound(&g, NULL, "134", "34"));
}

TEST(an_execution_that_cannot_be_told_from_two_is_refused)
{
	struct graph g;

	/* 1 leads to 2 or past it, and 0 to 2 alone */
	graph_make(&g, 4, "01 02 12 13 23");
	CHECK(are_bound(&g, NULL, "12", "-"));
	/* an iteration may end behind 1 */
	graph_make(&g, 5, "01 12 13 23 21 31 34");
	loop_make(&g, 1, 1, 3);
	CHECK(are_bound(&g, &g.loop, "23", "-"));
}

TEST(what_only_exceptions_lead_to_begins_no_execution)
{
	struct graph g;

	graph_make(&g, 4, "01 13 23");
	g.blocks[2].flags |= SN_BLOCK_ENTRY;
	CHECK(are_bound(&g, NULL, "12", "1"));
	CHECK(are_bound(&g, NULL, "2", "2"));
	/* unless a jump may lead there */
	g.blocks[0].flags |= SN_BLOCK_UNRESOLVED;
	CHECK(are_bound(&g, NULL, "12", "12"));
}

TEST(a_region_with_two_entries_is_entered_at_either)
{
	struct graph g;

	/* 1 and 2 lead to each other, and 0 to both */
	graph_make(&g, 4, "01 02 12 21 13");
	loop_make(&g, 1, 1, 2);
	g.loop.is_irreducible = true;
	CHECK(are_bound(&g, &g.loop, "1", "1"));
	CHECK(are_bound(&g, &g.loop, "12", "-"));
}
