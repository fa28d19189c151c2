/* Inspector and executor: lists of elements that move, made by running the iterations once. */
#include <stdlib.h>
#include <string.h>

#include "pandore/runtime/runtime.h"

struct list {
	long *offsets; /* of elements; sorted and made unique before they move */
	size_t count, capacity;
};

static const struct pd_array *inspected;
static struct list *outgoing, *incoming; /* by node */
static char *packed;
static size_t packed_bytes;

static void add(struct list *list, long offset)
{
	if (list->count && list->offsets[list->count - 1] == offset)
		return;
	if (list->count == list->capacity) {
		list->capacity = list->capacity ? list->capacity * 2 : 64;
		list->offsets = realloc(list->offsets, list->capacity * sizeof(long));
		if (!list->offsets)
			pd_die_out_of_memory();
	}
	list->offsets[list->count++] = offset;
}

static int by_offset(const void *left, const void *right)
{
	const long *a = left, *b = right;

	return *a < *b ? -1 : *a > *b;
}

static void make_unique(struct list *list)
{
	size_t kept = 0;

	if (!list->count)
		return;
	qsort(list->offsets, list->count, sizeof(long), by_offset);
	for (size_t i = 0; i < list->count; i++)
		if (!kept || list->offsets[kept - 1] != list->offsets[i])
			list->offsets[kept++] = list->offsets[i];
	list->count = kept;
}

void pd_inspect_begin(const struct pd_array *array)
{
	size_t nodes = (size_t)pd_state.program->nodes;

	if (!outgoing) {
		outgoing = pd_alloc_zeroed(nodes, sizeof(*outgoing));
		incoming = pd_alloc_zeroed(nodes, sizeof(*incoming));
	}
	inspected = array;
}

void pd_inspect(int to, const long *subscripts)
{
	int nodes = pd_state.program->nodes, me = pd_state.me;
	long block = 0, offset = 0;
	int from;

	for (int k = 0; k < inspected->rank; k++) {
		int d = inspected->order[k];

		block = block * inspected->grid[d] + subscripts[d] / inspected->block[d];
	}
	from = (int)(inspected->is_wrapped ? block % nodes : block / inspected->per_node);
	if (from == to || (from != me && to != me && to >= 0))
		return;
	for (int d = 0; d < inspected->rank; d++)
		offset = offset * inspected->extent[d] + subscripts[d];
	if (from != me)
		add(&incoming[from], offset);
	else
		for (int node = 0; node < nodes; node++)
			if (node != me && (to < 0 || to == node))
				add(&outgoing[node], offset);
}

static char *packed_for(size_t bytes)
{
	if (bytes > packed_bytes) {
		packed_bytes = bytes * 2;
		packed = realloc(packed, packed_bytes);
		if (!packed)
			pd_die_out_of_memory();
	}
	return packed;
}

void pd_inspect_end(int site, void *storage)
{
	size_t size = inspected->element_bytes;
	char *elements = storage;

	for (int to = 0; to < pd_state.program->nodes; to++) {
		struct list *list = &outgoing[to];
		char *bytes = packed_for(list->count * size + 1);

		make_unique(list);
		for (size_t i = 0; i < list->count; i++)
			memcpy(bytes + i * size, elements + (size_t)list->offsets[i] * size, size);
		if (list->count)
			pd_measured_send(site, to, bytes, list->count * size);
		list->count = 0;
	}
	for (int from = 0; from < pd_state.program->nodes; from++) {
		struct list *list = &incoming[from];
		char *bytes = packed_for(list->count * size + 1);

		make_unique(list);
		if (list->count)
			pd_measured_receive(site, from, bytes, list->count * size);
		for (size_t i = 0; i < list->count; i++)
			memcpy(elements + (size_t)list->offsets[i] * size, bytes + i * size, size);
		list->count = 0;
	}
}
