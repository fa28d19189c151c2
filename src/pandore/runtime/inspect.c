/* Inspector and executor: lists of elements that move, made by running the iterations once. */
#include <stdlib.h>
#include <string.h>

#include "pandore/runtime/runtime.h"

struct list {
	char *storage;
	size_t element_bytes;
	int site;      /* the reference that asked first */
	long *offsets; /* of elements; sorted and made unique before they move */
	size_t count, unique, capacity;
};

/* The lists of one message, an array each. Those behind `count` keep their memory. */
struct lists {
	struct list *items;
	size_t count, capacity;
};

static const struct pd_array *inspected;
static char *inspected_storage;
static int inspected_site;
static struct lists *outgoing, *incoming; /* by node */

static struct list *list_of(struct lists *lists)
{
	struct list *list;

	for (size_t i = 0; i < lists->count; i++)
		if (lists->items[i].storage == inspected_storage)
			return &lists->items[i];
	if (lists->count == lists->capacity) {
		size_t capacity = lists->capacity ? lists->capacity * 2 : 2;

		lists->items = realloc(lists->items, capacity * sizeof(*lists->items));
		if (!lists->items)
			pd_die_out_of_memory();
		memset(lists->items + lists->capacity, 0,
		       (capacity - lists->capacity) * sizeof(*lists->items));
		lists->capacity = capacity;
	}
	list = &lists->items[lists->count++];
	list->storage = inspected_storage;
	list->element_bytes = inspected->element_bytes;
	list->site = inspected_site;
	list->count = list->unique = 0;
	return list;
}

static void add(struct lists *lists, long offset)
{
	struct list *list = list_of(lists);

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

static int is_sorted(const struct list *list)
{
	for (size_t i = 1; i < list->count; i++)
		if (list->offsets[i - 1] >= list->offsets[i])
			return 0;
	return 1;
}

static void make_unique(struct list *list)
{
	size_t kept = 0;

	if (is_sorted(list))
		return;
	qsort(list->offsets, list->count, sizeof(long), by_offset);
	for (size_t i = 0; i < list->count; i++)
		if (!kept || list->offsets[kept - 1] != list->offsets[i])
			list->offsets[kept++] = list->offsets[i];
	list->count = kept;
}

void pd_inspect_begin(const struct pd_array *array, int site, void *storage)
{
	size_t nodes = (size_t)pd_state.program->nodes;

	if (!outgoing) {
		outgoing = pd_alloc_zeroed(nodes, sizeof(*outgoing));
		incoming = pd_alloc_zeroed(nodes, sizeof(*incoming));
	}
	inspected = array;
	inspected_site = site;
	inspected_storage = storage;
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

void pd_inspect_end(void)
{
	for (int node = 0; node < pd_state.program->nodes; node++)
		for (int is_out = 0; is_out < 2; is_out++) {
			struct lists *lists = is_out ? &outgoing[node] : &incoming[node];

			for (size_t i = 0; i < lists->count; i++) {
				struct list *list = &lists->items[i];

				make_unique(list);
				if (is_out)
					pd_measure_bytes(list->site, node,
							 (list->count - list->unique) *
								 list->element_bytes);
				list->unique = list->count;
			}
		}
}

/* ---- what pd_move() sends and receives ---- */

static struct lists *lists_of(int node, int is_out)
{
	return !outgoing ? NULL : is_out ? &outgoing[node] : &incoming[node];
}

size_t pd_listed_bytes(int node, int is_out)
{
	const struct lists *lists = lists_of(node, is_out);
	size_t bytes = 0;

	for (size_t i = 0; lists && i < lists->count; i++)
		bytes += lists->items[i].count * lists->items[i].element_bytes;
	return bytes;
}

int pd_listed_site(int node, int is_out)
{
	const struct lists *lists = lists_of(node, is_out);

	return lists && lists->count ? lists->items[0].site : 0;
}

void pd_listed_pack(int node, char *bytes)
{
	struct lists *lists = lists_of(node, 1);

	for (size_t i = 0; lists && i < lists->count; i++) {
		const struct list *list = &lists->items[i];
		size_t size = list->element_bytes;

		for (size_t k = 0; k < list->count; k++, bytes += size)
			memcpy(bytes, list->storage + (size_t)list->offsets[k] * size, size);
	}
	if (lists)
		lists->count = 0;
}

void pd_listed_unpack(int node, const char *bytes)
{
	struct lists *lists = lists_of(node, 0);

	for (size_t i = 0; lists && i < lists->count; i++) {
		const struct list *list = &lists->items[i];
		size_t size = list->element_bytes;

		for (size_t k = 0; k < list->count; k++, bytes += size)
			memcpy(list->storage + (size_t)list->offsets[k] * size, bytes, size);
	}
	if (lists)
		lists->count = 0;
}
