/* Layouts of arrays of two dimensions drawn at random, and who owns an element of them, by another way
 * than the library's. */
#ifndef PANDORE_TEST_LAYOUTS_H
#define PANDORE_TEST_LAYOUTS_H

#include "pandore/runtime/pandore.h"

static inline unsigned layout_random(unsigned *seed)
{
	*seed = *seed * 1103515245u + 12345u;
	return *seed >> 16;
}

/** `rows` x `columns` doubles, each node with at least one block where there are enough. */
static inline struct pd_array layout_draw(unsigned *seed, const char *name, long rows, long columns,
					  int nodes)
{
	struct pd_array a = { .name = name,
			      .element_bytes = sizeof(double),
			      .rank = 2,
			      .extent = { rows, columns },
			      .is_distributed = 1,
			      .mode = PD_INOUT };
	int is_swapped = layout_random(seed) % 2;

	a.is_wrapped = layout_random(seed) % 2;
	a.order[0] = is_swapped;
	a.order[1] = !is_swapped;
	a.block_count = 1;
	for (int d = 0; d < 2; d++) {
		a.block[d] = 1 + layout_random(seed) % a.extent[d];
		a.grid[d] = (a.extent[d] + a.block[d] - 1) / a.block[d];
		a.block_count *= a.grid[d];
	}
	a.per_node = (a.block_count + nodes - 1) / nodes;
	return a;
}

/** Blocks are counted through, the dimension order[0] slowest, and dealt out. */
static inline int layout_owner(const struct pd_array *a, long i, long j, int nodes)
{
	long at[2] = { i / a->block[0], j / a->block[1] };
	long block = at[a->order[0]] * a->grid[a->order[1]] + at[a->order[1]];

	return (int)(a->is_wrapped ? block % nodes : block / a->per_node);
}

#endif
