/* Sums by site, and trees of a site's callers. */
#include "heap/sites.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/map.h"
#include "base/text.h"
#include "profile/site.h"

/* ---- sums ---- */

static void sums_add(struct sn_heap_sums *to, const struct sn_heap_sums *from)
{
	to->allocations += from->allocations;
	to->bytes += from->bytes;
	to->frees += from->frees;
	to->leaked_count += from->leaked_count;
	to->leaked_bytes += from->leaked_bytes;
	to->peak_bytes += from->peak_bytes;
	to->temporary += from->temporary;
	to->samples += from->samples;
	to->allocations_variance += from->allocations_variance;
	to->bytes_variance += from->bytes_variance;
	to->leaked_variance += from->leaked_variance;
	to->peak_variance += from->peak_variance;
}

/* Nodes of a tree before it is put in order; `parent` counts places, + 1. */
struct builder {
	struct sn_heap_sites nodes;
	struct sn_map index; /* of parent, place and kind -> place + 1 */
};

static uint64_t node_key(uint32_t parent, const struct sn_site *place, bool is_new)
{
	uint64_t where = (uint64_t)place->function << 32 | place->line;

	return sn_hash_pair(where, (uint64_t)parent << 1 | is_new);
}

static uint32_t node_add(struct builder *builder, uint32_t parent, const struct sn_site *place,
			 bool is_new, const struct sn_heap_sums *sums)
{
	uint64_t *found = sn_map_put(&builder->index, node_key(parent, place, is_new), NULL);

	if (!*found) {
		uint32_t depth = parent ? builder->nodes.items.items[parent - 1].depth + 1 : 0;

		sn_vec_push(&builder->nodes.items,
			    (struct sn_heap_site){ .function = place->function,
						   .line = place->line,
						   .is_new = is_new,
						   .parent = parent,
						   .depth = depth });
		*found = builder->nodes.items.count;
	}
	sums_add(&builder->nodes.items.items[*found - 1].sums, sums);
	return (uint32_t)*found;
}

static struct sn_heap_sites build(const struct sn_program *program, const struct sn_heap *heap,
				  bool has_callers)
{
	struct builder builder = { 0 };
	struct sn_site_path places = { 0 };

	for (size_t i = 0; i < heap->paths.count; i++) {
		const struct sn_heap_path *path = &heap->paths.items[i];
		size_t count;
		uint32_t node = 0;

		sn_site_path_read(program, path->stack, !has_callers, &places);
		/* without callers the site alone: those that it is inlined into are callers, too */
		count = has_callers ? places.items.count : 1;
		for (size_t p = 0; p < count; p++)
			node = node_add(&builder, node, &places.items.items[p], path->is_new,
					&path->sums);
	}
	sn_vec_free(&places.items);
	sn_map_free(&builder.index);
	return builder.nodes;
}

struct sn_heap_sites sn_heap_sites_of(const struct sn_program *program, const struct sn_heap *heap)
{
	return build(program, heap, false);
}

/* ---- the order of a tree ---- */

struct order {
	const struct sn_heap_site *nodes;
	sn_heap_measure measure;
};

/* By parent, the larger first, then as they were met. */
static int nodes_compare(const void *a, const void *b, void *context)
{
	const struct order *order = context;
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	uint64_t mx = order->measure(&order->nodes[x].sums),
		 my = order->measure(&order->nodes[y].sums);

	if (order->nodes[x].parent != order->nodes[y].parent)
		return order->nodes[x].parent < order->nodes[y].parent ? -1 : 1;
	if (mx != my)
		return mx > my ? -1 : 1;
	return (x > y) - (x < y);
}

struct sn_heap_sites sn_heap_tree_of(const struct sn_program *program, const struct sn_heap *heap,
				     sn_heap_measure measure, double least_share)
{
	struct sn_heap_sites all = build(program, heap, true), kept = { 0 };
	size_t count = all.items.count;
	struct order order = { all.items.items, measure };
	uint32_t *sorted = sn_alloc_zeroed(count + 1, sizeof(*sorted));
	uint32_t *first = sn_alloc_zeroed(count + 2, sizeof(*first)); /* child of a node */
	double least = least_share * (double)measure(&heap->total);
	SN_VEC(uint64_t) waiting = { 0 }; /* node << 32 | its parent's row */

	for (uint32_t i = 0; i < count; i++)
		sorted[i] = i;
	qsort_r(sorted, count, sizeof(*sorted), nodes_compare, &order);
	for (size_t i = count; i-- > 0;)
		first[all.items.items[sorted[i]].parent] = (uint32_t)i + 1;
	for (uint32_t parent = 0, row = 0;;) {
		size_t begin = first[parent], end = begin;

		/* pushed from the last, so that the largest is taken next */
		while (begin && end <= count && all.items.items[sorted[end - 1]].parent == parent)
			end++;
		for (size_t i = end; begin && i-- > begin;) {
			const struct sn_heap_site *node = &all.items.items[sorted[i - 1]];

			if (parent == 0 || (double)measure(&node->sums) >= least)
				sn_vec_push(&waiting, (uint64_t)sorted[i - 1] << 32 | row);
		}
		if (!waiting.count)
			break;
		uint64_t next = waiting.items[--waiting.count];
		struct sn_heap_site site = all.items.items[next >> 32];

		site.parent = (uint32_t)next;
		sn_vec_push(&kept.items, site);
		parent = (uint32_t)(next >> 32) + 1;
		row = (uint32_t)kept.items.count;
	}
	sn_vec_free(&waiting);
	free(sorted);
	free(first);
	sn_heap_sites_free(&all);
	return kept;
}

void sn_heap_sites_free(struct sn_heap_sites *sites)
{
	sn_vec_free(&sites->items);
}

void sn_heap_add_size(struct sn_text *text, uint64_t bytes)
{
	static const char *const units[] = { "bytes", "kB", "MB", "GB", "TB" };
	double value = (double)bytes;
	size_t unit = 0;

	for (; value >= 9999.5 && unit + 1 < sizeof(units) / sizeof(*units); unit++)
		value /= 1000;
	sn_text_addf(text, "%.*f %s", unit && value < 100 ? 1 : 0, value, units[unit]);
}
