/* Sections between nodes: what each needs arrives, and nothing else does. */
#include "nodes.h"

static void move_elements(const struct case_of *c, double (*source)[COLUMNS])
{
	const struct pd_moves moves = { .source = &c->source,
					.target = &c->target,
					.loop_count = 2,
					.source_coef = { { 1, 0 }, { 0, 1 } },
					.target_coef = { { 1, 0 }, { 0, 1 } } };
	const struct pd_range loops[] = { { c->low, c->high - 1, 1 }, { c->low, c->high - 1, 1 } };
	const long zero[] = { 0, 0 };

	pd_exchange(&moves, source, zero, c->away, loops);
	pd_exchange(&moves, source, zero, c->away, loops); /* asked twice, sent once */
	pd_move();
}

TEST(each_node_gets_its_sections_and_no_more)
{
	run_cases();
}
