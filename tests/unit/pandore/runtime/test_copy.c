/* A node's part of an array as runs of bytes: all parts together are the array, each byte once. */
#include <stdlib.h>
#include <string.h>

#include "harness/tap.h"
#include "layouts.h"
#include "pandore/runtime/runtime.h"

enum { ROWS = 9, COLUMNS = 7, NODES_MAX = 5, DRAWS = 300 };

TEST(the_parts_of_all_nodes_are_the_array)
{
	static double storage[ROWS][COLUMNS];
	struct pd_runs runs = { 0 };
	unsigned seed = 7;

	for (int draw = 0; draw < DRAWS; draw++) {
		int nodes = 1 + draw % NODES_MAX, wrong = 0;
		struct pd_array a = layout_draw(&seed, "A", ROWS, COLUMNS, nodes);

		memset(storage, 0, sizeof(storage));
		for (int node = 0; node < nodes; node++) {
			size_t bytes = 0;

			pd_part_runs(&a, nodes, node, storage, &runs);
			for (size_t r = 0; r < runs.count; r++) {
				double *place = (double *)(void *)runs.items[r].place;

				bytes += runs.items[r].bytes;
				for (size_t k = 0; k < runs.items[r].bytes / sizeof(double); k++)
					place[k] += node + 1;
			}
			CHECK_INT(runs.bytes, bytes);
		}
		for (int i = 0; i < ROWS; i++)
			for (int j = 0; j < COLUMNS; j++)
				wrong += storage[i][j] != layout_owner(&a, i, j, nodes) + 1;
		CHECK_INT(wrong, 0);
	}
	free(runs.items);
}

TEST(what_lies_together_is_one_run)
{
	static double storage[8][4];
	struct pd_array a = { .element_bytes = sizeof(double),
			      .rank = 2,
			      .extent = { 8, 4 },
			      .is_distributed = 1,
			      .block_count = 4,
			      .per_node = 2,
			      .block = { 2, 4 },
			      .grid = { 4, 1 },
			      .order = { 0, 1 } };
	struct pd_runs runs = { 0 };

	pd_part_runs(&a, 2, 1, storage, &runs);
	CHECK_INT(runs.count, 1);
	CHECK_INT(runs.bytes, sizeof(storage) / 2);
	CHECK(runs.items[0].place == (char *)storage[4]);
	a.is_wrapped = 1;
	pd_part_runs(&a, 2, 1, storage, &runs);
	CHECK_INT(runs.count, 2);
	CHECK(runs.items[1].place == (char *)storage[6]);
	free(runs.items);
}

TEST(a_replicated_array_is_whole_everywhere)
{
	static double storage[3][5];
	struct pd_array a = { .element_bytes = sizeof(double), .rank = 2, .extent = { 3, 5 } };
	struct pd_runs runs = { 0 };

	for (int node = 0; node < 3; node++) {
		pd_part_runs(&a, 3, node, storage, &runs);
		CHECK_INT(runs.count, 1);
		CHECK_INT(runs.bytes, sizeof(storage));
	}
	free(runs.items);
}
