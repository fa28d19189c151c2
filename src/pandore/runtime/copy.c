/* Which bytes of an array a node owns, as runs in the order of its blocks. */
#include <stdlib.h>
#include <string.h>

#include "pandore/runtime/runtime.h"

struct box {
	long first[PD_RANK_MAX], last[PD_RANK_MAX]; /* inclusive */
};

static void block_box(const struct pd_array *array, long block, struct box *out)
{
	for (int k = array->rank - 1; k >= 0; k--) {
		int d = array->order[k];
		long coordinate = block % array->grid[d];

		block /= array->grid[d];
		out->first[d] = coordinate * array->block[d];
		out->last[d] = out->first[d] + array->block[d] - 1;
		if (out->last[d] >= array->extent[d])
			out->last[d] = array->extent[d] - 1;
	}
}

/* The next block of `node` after `block` (-1: the first), or -1. */
static long next_block(const struct pd_array *array, int nodes, int node, long block)
{
	long next;

	if (array->is_wrapped)
		next = block < 0 ? node : block + nodes;
	else
		next = block < 0 ? node * array->per_node : block + 1;
	if (next >= array->block_count ||
	    (!array->is_wrapped && next >= (node + 1) * array->per_node))
		return -1;
	return next;
}

static size_t whole_bytes(const struct pd_array *array)
{
	size_t bytes = array->element_bytes;

	for (int d = 0; d < array->rank; d++)
		bytes *= (size_t)array->extent[d];
	return bytes;
}

static void add_run(struct pd_runs *runs, char *place, size_t bytes)
{
	struct pd_run *last = runs->count ? &runs->items[runs->count - 1] : NULL;

	runs->bytes += bytes;
	if (last && last->place + last->bytes == place) {
		last->bytes += bytes;
		return;
	}
	if (runs->count == runs->capacity) {
		runs->capacity = runs->capacity ? runs->capacity * 2 : 64;
		runs->items = realloc(runs->items, runs->capacity * sizeof(*runs->items));
		if (!runs->items)
			pd_die_out_of_memory();
	}
	runs->items[runs->count++] = (struct pd_run){ place, bytes };
}

/* The rows of a box. */
static void add_box(struct pd_runs *runs, const struct pd_array *array, const struct box *box,
		    char *storage)
{
	long at[PD_RANK_MAX];
	int last = array->rank - 1;
	size_t bytes = (size_t)(box->last[last] - box->first[last] + 1) * array->element_bytes;

	memcpy(at, box->first, sizeof(at));
	for (;;) {
		size_t offset = 0;
		int d;

		for (d = 0; d < array->rank; d++)
			offset = offset * (size_t)array->extent[d] + (size_t)at[d];
		add_run(runs, storage + offset * array->element_bytes, bytes);
		for (d = last; d-- > 0 && ++at[d] > box->last[d];)
			at[d] = box->first[d];
		if (d < 0)
			return;
	}
}

void pd_part_runs(const struct pd_array *array, int nodes, int node, void *storage,
		  struct pd_runs *runs)
{
	struct box box;

	runs->count = runs->bytes = 0;
	if (!array->is_distributed) {
		add_run(runs, storage, whole_bytes(array));
		return;
	}
	for (long b = next_block(array, nodes, node, -1); b >= 0;
	     b = next_block(array, nodes, node, b)) {
		block_box(array, b, &box);
		add_box(runs, array, &box, storage);
	}
}
