/* Listed elements: the iterations are run once, and what each node needs of others arrives. */
#include "nodes.h"

static int forget; /* the lists of the last case, whatever it was */

static void list_and_move(const struct case_of *c, double (*source)[COLUMNS], int expected)
{
	static struct pd_kept *kept;
	const long key[] = { c->low, c->high, c->away[0], c->away[1], pd_version(c), forget };
	int is_known = pd_inspect_again(&kept, &c->source, 0, source, key, 6);

	if (is_known != expected)
		pd_die("lists known: %d", is_known);
	if (is_known) {
		pd_move();
		return;
	}
	for (long turn = 0, at[2]; turn < 2; turn++) /* twice the same, and not in order */
		for (long i = c->high - 1; i >= c->low; i--)
			for (long j = c->low; j < c->high; j++)
				if (read_by(c, i, j, at))
					pd_inspect(layout_owner(&c->target, i, j, NODES), at);
	pd_inspect_end();
	pd_move();
}

static void move_elements(const struct case_of *c, double (*source)[COLUMNS])
{
	/* twice to have them kept, once more after a change of what decides them */
	for (int turn = 0; turn < 3; turn++) {
		if (turn == 2)
			pd_changed(c);
		list_and_move(c, source, turn == 1);
	}
	forget++;
}

TEST(each_node_gets_its_elements_and_no_more)
{
	run_cases();
}
