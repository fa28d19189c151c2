/* Which bytes of an array a node owns, packed in the order of its blocks. */
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

static size_t box_bytes(const struct pd_array *array, const struct box *box)
{
	size_t bytes = array->element_bytes;

	for (int d = 0; d < array->rank; d++)
		bytes *= (size_t)(box->last[d] - box->first[d] + 1);
	return bytes;
}

static size_t whole_bytes(const struct pd_array *array)
{
	size_t bytes = array->element_bytes;

	for (int d = 0; d < array->rank; d++)
		bytes *= (size_t)array->extent[d];
	return bytes;
}

size_t pd_part_bytes(const struct pd_array *array, int nodes, int node)
{
	size_t bytes = 0;
	struct box box;

	if (!array->is_distributed)
		return whole_bytes(array);
	for (long b = next_block(array, nodes, node, -1); b >= 0;
	     b = next_block(array, nodes, node, b)) {
		block_box(array, b, &box);
		bytes += box_bytes(array, &box);
	}
	return bytes;
}

/* Copies a box row by row; `packed` advances. The direction is `is_pack`. */
static char *copy_box(const struct pd_array *array, const struct box *box, char *storage,
		      char *packed, int is_pack)
{
	long at[PD_RANK_MAX];
	int last = array->rank - 1;
	size_t run = (size_t)(box->last[last] - box->first[last] + 1) * array->element_bytes;

	memcpy(at, box->first, sizeof(at));
	for (;;) {
		size_t offset = 0;
		int d;

		for (d = 0; d < array->rank; d++)
			offset = offset * (size_t)array->extent[d] + (size_t)at[d];
		offset *= array->element_bytes;
		memcpy(is_pack ? packed : storage + offset, is_pack ? storage + offset : packed,
		       run);
		packed += run;
		for (d = last; d-- > 0 && ++at[d] > box->last[d];)
			at[d] = box->first[d];
		if (d < 0)
			return packed;
	}
}

static void copy_part(const struct pd_array *array, int nodes, int node, char *storage,
		      char *packed, int is_pack)
{
	struct box box;

	if (!array->is_distributed) {
		size_t bytes = whole_bytes(array);

		memcpy(is_pack ? packed : storage, is_pack ? storage : packed, bytes);
		return;
	}
	for (long b = next_block(array, nodes, node, -1); b >= 0;
	     b = next_block(array, nodes, node, b)) {
		block_box(array, b, &box);
		packed = copy_box(array, &box, storage, packed, is_pack);
	}
}

void pd_part_pack(const struct pd_array *array, int nodes, int node, const void *storage,
		  void *packed)
{
	copy_part(array, nodes, node, (char *)(uintptr_t)storage, packed, 1);
}

void pd_part_unpack(const struct pd_array *array, int nodes, int node, void *storage,
		    const void *packed)
{
	copy_part(array, nodes, node, storage, (char *)(uintptr_t)packed, 0);
}
