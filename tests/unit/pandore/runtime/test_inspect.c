/* Listed elements: the iterations are run once, and what each node needs of others arrives. */
#include "nodes.h"

static void move_elements(const struct case_of *c, double (*source)[COLUMNS])
{
	long at[2];

	pd_inspect_begin(&c->source, 0, source);
	for (long turn = 0; turn < 2; turn++) /* twice the same, and not in order */
		for (long i = c->high - 1; i >= c->low; i--)
			for (long j = c->low; j < c->high; j++)
				if (read_by(c, i, j, at))
					pd_inspect(layout_owner(&c->target, i, j, NODES), at);
	pd_inspect_end();
	pd_move();
}

TEST(each_node_gets_its_elements_and_no_more)
{
	run_cases();
}
