/*
 * Evidence from traces of the heap: calls of the allocator by region and process. A call that
 * releases a block counts where the block was allocated: that is where the code would keep it.
 */
#include <math.h>

#include "heap/heap.h"
#include "search/evidence/sources.h"

enum { CALLS, GROWTH, COLUMNS };
static const char *const given[] = { [CALLS] = "heap_calls", [GROWTH] = "heap_growth", NULL };

static const char *const of_growth[] = { "heap_growth", NULL };

static void path_add(struct sn_recorded *r, const struct sn_heap_path *path, struct sn_value *value)
{
	const struct sn_stack_facts *facts =
		path->stack < r->profile->program->stack_count ? &r->stacks[path->stack] : NULL;

	value->keys[SN_KEY_PROCESS] = r->process_members[path->process];
	value->keys[SN_KEY_REGION] = SN_ALL;
	sn_tables_add(r->tables, value);
	for (uint32_t i = 0; facts && i < facts->count; i++) {
		value->keys[SN_KEY_REGION] = r->stack_regions.items[facts->first + i];
		sn_tables_add(r->tables, value);
	}
}

static bool is_growth_known(const struct sn_recorded *r, const struct sn_heap *heap)
{
	for (size_t i = 0; i < heap->paths.count; i++)
		if (isnan(heap->paths.items[i].growth_bytes_s))
			return false;
	return r->tables->phase_s >= SN_GROWTH_LEAST_S;
}

static void heap_collect(struct sn_recorded *r)
{
	struct sn_value value = { .samples = NAN, .error = NAN };
	uint32_t columns[COLUMNS];
	struct sn_heap *heap = NULL;
	bool has[COLUMNS];

	if ((!r->part && (r->profile->filter.from_ns || r->profile->filter.to_ns)) ||
	    sn_heap_read_within(r->profile->experiment, &r->profile->filter.spans, &heap, NULL) !=
		    SN_OK)
		return;
	value.source = sn_tables_source(r->tables, "heap");
	for (int k = 0; k < SN_KEYS; k++)
		value.keys[k] = SN_ALL;
	has[CALLS] = heap->is_traced;
	has[GROWTH] = heap->is_traced && !r->part && is_growth_known(r, heap);
	for (int c = 0; c < COLUMNS; c++) {
		columns[c] = sn_tables_column(r->tables, given[c], NULL);
		if (has[c])
			sn_tables_complete(r->tables, columns[c]);
	}
	for (size_t i = 0; heap->is_traced && i < heap->paths.count; i++) {
		const struct sn_heap_path *path = &heap->paths.items[i];

		if (r->process_members[path->process] == SN_ALL)
			continue;
		value.column = columns[CALLS];
		value.value = (double)(path->sums.allocations + path->sums.frees);
		/* a block that was met stands for as many releases as allocations */
		value.error = path->sums.samples
				      ? 2 * 1.96 * sqrt(fmax(0, path->sums.allocations_variance))
				      : NAN;
		path_add(r, path, &value);
		value.error = NAN;
		value.column = columns[GROWTH];
		value.value = path->growth_bytes_s;
		if (has[GROWTH] && value.value > 0)
			path_add(r, path, &value);
	}
	sn_heap_free(heap);
}

const struct sn_source sn_source_heap = {
	.name = "heap",
	.measures =
		"calls of the allocator and growth of what they leave, by region, exactly; where "
		"the allocator takes much time by a sample, with an error",
	.needs = "a run that was recorded with --heap",
	.of_long_runs = of_growth,
	.of_whole_runs = of_growth,
	.is_cut_by_time = true,
	.trace = SN_TRACE_HEAP,
	.monitored = SN_MONITOR_HEAP,
	.costs = "a tenth of a microsecond for each call of the allocator; of a sample some 5 ns",
	.option = "heap",
	.has_counts = true,
	.gives = given,
	.collect = heap_collect,
};
