/*
 * Pairs allocations and releases of a trace, of those blocks alone that somebody asks about: other programs allocate a
 * thousand million times.
 */
#include "heap/blocks.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/map.h"
#include "heap/parts.h"

struct event {
	uint32_t process, path;
	bool is_release;
	uint64_t address, bytes;
	int64_t time_ns;
};

struct reader {
	const struct sn_experiment *experiment;
	const sn_heap_ranges *ranges;
	struct sn_trace_pieces pieces;
	SN_VEC(struct event) events;
	struct sn_map wanted; /* hash of a process and an address -> 1 */
	struct sn_map stack_of;
	struct sn_heap_blocks *out;
};

/* ---- what is asked about ---- */

static int ranges_compare(const void *a, const void *b)
{
	const struct sn_heap_range *x = a, *y = b;

	if (x->process != y->process)
		return x->process < y->process ? -1 : 1;
	return x->first < y->first ? -1 : x->first > y->first;
}

static void ranges_join(sn_heap_ranges *ranges)
{
	size_t kept = 0;

	if (ranges->count)
		qsort(ranges->items, ranges->count, sizeof(*ranges->items), ranges_compare);
	for (size_t i = 0; i < ranges->count; i++) {
		struct sn_heap_range *to = kept ? &ranges->items[kept - 1] : NULL;
		const struct sn_heap_range *from = &ranges->items[i];

		if (!to || to->process != from->process || from->first > to->last)
			ranges->items[kept++] = *from;
		else if (from->last > to->last)
			to->last = from->last;
	}
	ranges->count = kept;
}

static bool meets(const sn_heap_ranges *ranges, uint32_t process, uint64_t address, uint64_t bytes)
{
	size_t low = 0, high = ranges->count;

	/* the first range that ends behind the block's begin */
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const struct sn_heap_range *range = &ranges->items[middle];

		if (range->process < process ||
		    (range->process == process && range->last < address))
			low = middle + 1;
		else
			high = middle;
	}
	return low < ranges->count && ranges->items[low].process == process &&
	       (ranges->items[low].first <= address || ranges->items[low].first - address < bytes);
}

/* ---- events ---- */

static uint64_t key_of(uint32_t process, uint64_t address)
{
	return sn_hash_u64(address ^ (uint64_t)process << 48);
}

static void take(struct reader *r, const struct sn_trace_item *item,
		 const struct sn_heap_event_read *event)
{
	struct event to = { .process = item->process,
			    .path = event->path,
			    .address = event->address,
			    .bytes = event->bytes,
			    .is_release = event->kind == SN_HEAP_FREE,
			    .time_ns = (int64_t)sn_trace_time_ns(&r->pieces.clocks[item->process],
								 event->tsc) };

	sn_vec_push(&r->events, to);
}

/* First allocations, then releases of what was allocated: in which order they lie is not known before. */
static void pieces_read(struct reader *r, bool is_release)
{
	for (size_t i = 0; i < r->pieces.items.count; i++) {
		const struct sn_trace_item *item = &r->pieces.items.items[i];
		struct sn_heap_event_read event;
		struct sn_heap_reader reader;

		sn_heap_reader_open(&reader, item->piece, item->bytes);
		while (sn_heap_reader_next(&reader, &event)) {
			if (event.kind == SN_HEAP_TIME ||
			    (event.kind == SN_HEAP_FREE) != is_release || !event.address)
				continue;
			if (is_release) {
				if (sn_map_get(&r->wanted, key_of(item->process, event.address)))
					take(r, item, &event);
			} else if (meets(r->ranges, item->process, event.address,
					 event.bytes ? event.bytes : 1)) {
				sn_map_put(&r->wanted, key_of(item->process, event.address), NULL);
				take(r, item, &event);
			}
		}
	}
}

static int events_compare(const void *a, const void *b)
{
	const struct event *x = a, *y = b;

	if (x->process != y->process)
		return x->process < y->process ? -1 : 1;
	if (x->address != y->address)
		return x->address < y->address ? -1 : 1;
	if (x->time_ns != y->time_ns)
		return x->time_ns < y->time_ns ? -1 : 1;
	return (int)y->is_release - (int)x->is_release;
}

/* A block at an address where one lives: the release of that one was lost, or comes later, as clocks of processors
 * may differ by a little. */
static void pair(struct reader *r)
{
	struct sn_heap_lived *open = NULL;
	bool is_owed = false; /* the release of the block before the open one is still to come */

	if (r->events.count)
		qsort(r->events.items, r->events.count, sizeof(*r->events.items), events_compare);
	for (size_t i = 0; i < r->events.count; i++) {
		const struct event *event = &r->events.items[i];
		const uint64_t *stack;

		if (open && (open->process != event->process || open->address != event->address))
			open = NULL;
		if (event->is_release && open && is_owed) {
			is_owed = false;
			continue;
		}
		if (open)
			open->end_ns = event->time_ns;
		is_owed = open && !r->pieces.lost;
		open = NULL;
		if (event->is_release)
			continue;
		stack = sn_map_get(&r->stack_of, (uint64_t)event->process << 32 | event->path);
		sn_vec_push(&r->out->items, (struct sn_heap_lived){
						    .process = event->process,
						    .stack = stack ? (uint32_t)*stack : SN_NONE,
						    .address = event->address,
						    .bytes = event->bytes ? event->bytes : 1,
						    .begin_ns = event->time_ns,
						    .end_ns = INT64_MAX,
					    });
		open = &sn_vec_last(&r->out->items);
	}
}

static void reaches_find(struct sn_heap_blocks *blocks)
{
	for (size_t i = 0; i < blocks->items.count; i++) {
		struct sn_heap_lived *block = &blocks->items.items[i];

		if (__builtin_add_overflow(block->address, block->bytes, &block->reach))
			block->reach = UINT64_MAX;
		if (i && block[-1].process == block->process && block[-1].reach > block->reach)
			block->reach = block[-1].reach;
	}
}

sn_status sn_heap_blocks_read(const struct sn_experiment *experiment, sn_heap_ranges *ranges,
			      struct sn_heap_blocks **out, struct sn_error *err)
{
	struct reader r = { .experiment = experiment, .ranges = ranges };
	sn_status status = SN_OK;

	*out = NULL;
	if (!ranges->count || !sn_trace_has(experiment, SN_TRACE_HEAP))
		return SN_OK;
	ranges_join(ranges);
	status = sn_trace_pieces_open(&r.pieces, experiment, SN_TRACE_HEAP, sn_heap_last_instant,
				      err);
	if (status != SN_OK)
		return status;
	for (size_t i = 0; i < experiment->trace_paths.count; i++) {
		const struct sn_trace_path *path = &experiment->trace_paths.items[i];

		*sn_map_put(&r.stack_of, (uint64_t)path->process << 32 | path->id, NULL) =
			path->stack;
	}
	r.out = sn_alloc_zeroed(1, sizeof(*r.out));
	pieces_read(&r, false);
	pieces_read(&r, true);
	pair(&r);
	reaches_find(r.out);
	*out = r.out;
	sn_trace_pieces_close(&r.pieces);
	sn_map_free(&r.wanted);
	sn_map_free(&r.stack_of);
	sn_vec_free(&r.events);
	return SN_OK;
}

void sn_heap_blocks_free(struct sn_heap_blocks *blocks)
{
	if (!blocks)
		return;
	sn_vec_free(&blocks->items);
	free(blocks);
}

/* ---- questions ---- */

/* How many blocks begin at the address or before it, processes before its own included. */
static size_t begun(const struct sn_heap_blocks *blocks, uint32_t process, uint64_t address)
{
	size_t low = 0, high = blocks->items.count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const struct sn_heap_lived *block = &blocks->items.items[middle];

		if (block->process < process ||
		    (block->process == process && block->address <= address))
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

const struct sn_heap_lived *sn_heap_block_at(const struct sn_heap_blocks *blocks, uint32_t process,
					     uint64_t address, int64_t time_ns, int64_t until_ns,
					     uint64_t *first, uint64_t *last)
{
	const struct sn_heap_lived *items = blocks->items.items, *found = NULL;
	size_t end = begun(blocks, process, address);
	bool is_between = true;

	*first = 0;
	*last = UINT64_MAX;
	if (end < blocks->items.count && items[end].process == process)
		*last = items[end].address - 1;
	for (size_t i = end; i-- > 0 && items[i].process == process;) {
		const struct sn_heap_lived *block = &items[i];

		if (block->reach <= address) {
			*first = block->reach;
			break;
		}
		if (address - block->address >= block->bytes)
			continue;
		is_between = false;
		if (block->begin_ns <= time_ns && time_ns < block->end_ns) {
			found = block;
			break;
		}
		if (block->begin_ns <= until_ns && time_ns < block->end_ns &&
		    (!found || block->begin_ns < found->begin_ns))
			found = block;
	}
	if (found) {
		*first = found->address;
		*last = found->address + found->bytes - 1;
	} else if (!is_between) {
		*first = *last = address; /* a block of another time */
	}
	return found;
}
