/* Inspector and executor: lists of elements that move, made by running the iterations once. */
#include <stdlib.h>
#include <string.h>

#include "pandore/runtime/runtime.h"

struct offsets {
	long *items;
	size_t count, capacity;
};

struct list {
	char *storage;
	size_t element_bytes;
	int site;		 /* the reference that asked first */
	struct offsets elements; /* sorted, each once */
	size_t unique;		 /* of them, how many are measured */
};

/* The lists of one message, an array each. Those behind `count` keep their memory. */
struct lists {
	struct list *items;
	size_t count, capacity;
};

enum { KEY_MAX = 16, MISSES_MAX = 4 };

/* What one inspection has listed, by node, and what it depends on. */
struct pd_kept {
	int is_known, misses; /* misses: since the lists were of use */
	const struct pd_array *array;
	struct pd_array layout;
	int site;
	char *storage;
	long key[KEY_MAX];
	int key_count;
	struct offsets *outgoing, *incoming;
};

static struct pd_kept unkept, *current;	  /* unkept: of inspections that are not kept */
static struct lists *outgoing, *incoming; /* of the next messages, by node */

static struct list *list_of(struct lists *lists, const struct pd_kept *kept)
{
	struct list *list;

	for (size_t i = 0; i < lists->count; i++)
		if (lists->items[i].storage == kept->storage)
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
	list->storage = kept->storage;
	list->element_bytes = kept->array->element_bytes;
	list->site = kept->site;
	list->elements.count = list->unique = 0;
	return list;
}

static void make_space(struct offsets *o, size_t count)
{
	if (o->count + count <= o->capacity)
		return;
	o->capacity = (o->count + count) * 2 + 64;
	o->items = realloc(o->items, o->capacity * sizeof(long));
	if (!o->items)
		pd_die_out_of_memory();
}

static void add(struct offsets *o, long offset)
{
	if (o->count && o->items[o->count - 1] == offset)
		return;
	make_space(o, 1);
	o->items[o->count++] = offset;
}

static int by_offset(const void *left, const void *right)
{
	const long *a = left, *b = right;

	return *a < *b ? -1 : *a > *b;
}

static int is_sorted(const struct offsets *o)
{
	for (size_t i = 1; i < o->count; i++)
		if (o->items[i - 1] >= o->items[i])
			return 0;
	return 1;
}

static void make_unique(struct offsets *o)
{
	size_t kept = 0;

	if (is_sorted(o))
		return;
	qsort(o->items, o->count, sizeof(long), by_offset);
	for (size_t i = 0; i < o->count; i++)
		if (!kept || o->items[kept - 1] != o->items[i])
			o->items[kept++] = o->items[i];
	o->count = kept;
}

static void begin(struct pd_kept *kept, const struct pd_array *array, int site, void *storage)
{
	size_t nodes = (size_t)pd_state.program->nodes;

	if (!outgoing) {
		outgoing = pd_alloc_zeroed(nodes, sizeof(*outgoing));
		incoming = pd_alloc_zeroed(nodes, sizeof(*incoming));
	}
	if (!kept->outgoing) {
		kept->outgoing = pd_alloc_zeroed(nodes, sizeof(*kept->outgoing));
		kept->incoming = pd_alloc_zeroed(nodes, sizeof(*kept->incoming));
	}
	for (size_t node = 0; node < nodes; node++)
		kept->outgoing[node].count = kept->incoming[node].count = 0;
	kept->is_known = 0;
	kept->array = array;
	kept->layout = *array;
	kept->site = site;
	kept->storage = storage;
	current = kept;
}

void pd_inspect_begin(const struct pd_array *array, int site, void *storage)
{
	begin(&unkept, array, site, storage);
}

void pd_inspect(int to, const long *subscripts)
{
	const struct pd_array *a = current->array;
	int nodes = pd_state.program->nodes, me = pd_state.me;
	long block = 0, offset = 0;
	int from;

	for (int k = 0; k < a->rank; k++) {
		int d = a->order[k];

		block = block * a->grid[d] + subscripts[d] / a->block[d];
	}
	from = (int)(a->is_wrapped ? block % nodes : block / a->per_node);
	if (from == to || (from != me && to != me && to >= 0))
		return;
	for (int d = 0; d < a->rank; d++)
		offset = offset * a->extent[d] + subscripts[d];
	if (from != me)
		add(&current->incoming[from], offset);
	else
		for (int node = 0; node < nodes; node++)
			if (node != me && (to < 0 || to == node))
				add(&current->outgoing[node], offset);
}

/* Adds what was listed to the next message to a node, or from it. */
static void merge(const struct pd_kept *kept, int node, int is_out)
{
	const struct offsets *o = is_out ? &kept->outgoing[node] : &kept->incoming[node];
	struct list *list;

	if (!o->count)
		return;
	list = list_of(is_out ? &outgoing[node] : &incoming[node], kept);
	make_space(&list->elements, o->count);
	memcpy(list->elements.items + list->elements.count, o->items, o->count * sizeof(long));
	list->elements.count += o->count;
	make_unique(&list->elements);
	if (is_out)
		pd_measure_bytes(list->site, node,
				 (list->elements.count - list->unique) * list->element_bytes);
	list->unique = list->elements.count;
}

static void merge_all(const struct pd_kept *kept)
{
	for (int node = 0; node < pd_state.program->nodes; node++) {
		merge(kept, node, 0);
		merge(kept, node, 1);
	}
}

void pd_inspect_end(void)
{
	for (int node = 0; node < pd_state.program->nodes; node++) {
		make_unique(&current->incoming[node]);
		make_unique(&current->outgoing[node]);
	}
	merge_all(current);
	current->is_known = current != &unkept;
}

/* ---- lists that are kept ---- */

/* Of one array at two times: sizes and the number of nodes may have changed. */
static int is_same_layout(const struct pd_array *a, const struct pd_array *b)
{
	for (int d = 0; d < PD_RANK_MAX; d++)
		if (a->extent[d] != b->extent[d] || a->block[d] != b->block[d] ||
		    a->grid[d] != b->grid[d] || a->order[d] != b->order[d])
			return 0;
	return a->block_count == b->block_count && a->per_node == b->per_node &&
	       a->is_distributed == b->is_distributed && a->is_wrapped == b->is_wrapped;
}

static int is_same(const struct pd_kept *kept, const struct pd_array *array, const void *storage,
		   const long *key, int count)
{
	return kept->is_known && kept->array == array && kept->storage == storage &&
	       is_same_layout(&kept->layout, array) && kept->key_count == count &&
	       !memcmp(kept->key, key, (size_t)count * sizeof(*key));
}

int pd_inspect_again(struct pd_kept **kept, const struct pd_array *array, int site, void *storage,
		     const long *key, int count)
{
	if (pd_state.program->is_counting) { /* one process is all nodes */
		pd_inspect_begin(array, site, storage);
		return 0;
	}
	if (!*kept)
		*kept = pd_alloc_zeroed(1, sizeof(**kept));
	if (is_same(*kept, array, storage, key, count)) {
		(*kept)->misses = 0;
		merge_all(*kept);
		return 1;
	}
	if (count > KEY_MAX || (*kept)->misses == MISSES_MAX) {
		pd_inspect_begin(array, site, storage);
		return 0;
	}
	(*kept)->misses++;
	begin(*kept, array, site, storage);
	memcpy((*kept)->key, key, (size_t)count * sizeof(*key));
	(*kept)->key_count = count;
	return 0;
}

/* When arrays changed last, by their addresses. */
static struct version {
	const void *storage;
	long number;
} * versions;
static size_t version_count, version_capacity;

static struct version *version_of(const void *storage)
{
	for (size_t i = 0; i < version_count; i++)
		if (versions[i].storage == storage)
			return &versions[i];
	if (version_count == version_capacity) {
		version_capacity = version_capacity ? version_capacity * 2 : 16;
		versions = realloc(versions, version_capacity * sizeof(*versions));
		if (!versions)
			pd_die_out_of_memory();
	}
	versions[version_count] = (struct version){ storage, 0 };
	return &versions[version_count++];
}

long pd_version(const void *storage)
{
	return version_of(storage)->number;
}

void pd_changed(const void *storage)
{
	static long number;

	version_of(storage)->number = ++number;
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
		bytes += lists->items[i].elements.count * lists->items[i].element_bytes;
	return bytes;
}

int pd_listed_site(int node, int is_out)
{
	const struct lists *lists = lists_of(node, is_out);

	return lists && lists->count ? lists->items[0].site : 0;
}

/* Copies what is listed to a message (`to`) or from it (`from`, and `to` is NULL), neighbours at once. */
static void copy_listed(struct lists *lists, char *to, const char *from)
{
	for (size_t i = 0; lists && i < lists->count; i++) {
		const struct list *list = &lists->items[i];
		const long *offsets = list->elements.items;
		size_t size = list->element_bytes;

		for (size_t k = 0, run; k < list->elements.count; k += run) {
			char *place = list->storage + (size_t)offsets[k] * size;

			for (run = 1; k + run < list->elements.count &&
				      offsets[k + run] == offsets[k] + (long)run;)
				run++;
			memcpy(to ? to : place, to ? place : from, run * size);
			to = to ? to + run * size : NULL;
			from = to ? NULL : from + run * size;
		}
	}
	if (lists)
		lists->count = 0;
}

void pd_listed_pack(int node, char *bytes)
{
	copy_listed(lists_of(node, 1), bytes, NULL);
}

void pd_listed_unpack(int node, const char *bytes)
{
	copy_listed(lists_of(node, 0), NULL, bytes);
}

void pd_listed_forget(int node)
{
	if (outgoing)
		outgoing[node].count = incoming[node].count = 0;
}
