/*
 * Evidence from traces of the heap: calls of the allocator by region and process. A call that
 * releases a block counts where the block was allocated: that is where the code would keep it.
 */
#include <math.h>

#include "heap/heap.h"
#include "search/evidence/sources.h"

static void path_add(struct sn_recorded *r, const struct sn_heap_path *path, struct sn_value *value)
{
	const struct sn_stack_facts *facts =
		path->stack < r->profile->program->stack_count ? &r->stacks[path->stack] : NULL;

	value->value = (double)(path->sums.allocations + path->sums.frees);
	value->keys[SN_KEY_PROCESS] = r->process_members[path->process];
	value->keys[SN_KEY_REGION] = SN_ALL;
	sn_tables_add(r->tables, value);
	for (uint32_t i = 0; facts && i < facts->count; i++) {
		value->keys[SN_KEY_REGION] = r->stack_regions.items[facts->first + i];
		sn_tables_add(r->tables, value);
	}
}

static void heap_collect(struct sn_recorded *r)
{
	struct sn_value value = { .samples = NAN, .error = NAN };
	struct sn_heap *heap = NULL;

	if (r->profile->filter.from_ns || r->profile->filter.to_ns ||
	    sn_heap_read(r->profile->experiment, &heap, NULL) != SN_OK)
		return;
	value.source = sn_tables_source(r->tables, "heap");
	value.column = sn_tables_column(r->tables, "heap_calls", NULL);
	for (int k = 0; k < SN_KEYS; k++)
		value.keys[k] = SN_ALL;
	if (heap->is_traced)
		sn_tables_complete(r->tables, value.column);
	for (size_t i = 0; heap->is_traced && i < heap->paths.count; i++)
		if (r->process_members[heap->paths.items[i].process] != SN_ALL)
			path_add(r, &heap->paths.items[i], &value);
	sn_heap_free(heap);
}

static const char *const given[] = { "heap_calls", NULL };

const struct sn_source sn_source_heap = {
	.name = "heap",
	.measures = "calls of the allocator by region, exactly",
	.needs = "a run that was recorded with --heap; no filter by time",
	.costs = "a tenth of a microsecond for each call of the allocator",
	.option = "heap",
	.gives = given,
	.collect = heap_collect,
};
