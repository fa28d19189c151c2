/* Sums by call path that the runtime counted itself (wire/heap.h), from pieces that may be damaged. */
#include <stdlib.h>

#include "base/alloc.h"
#include "base/map.h"
#include "heap/parts.h"
#include "wire/settings.h"

static const uint64_t interval_most = 1ULL << 40;

/* The head of a process's first piece; NULL: this is another one. */
static const struct sn_heap_head *head_of(const struct sn_trace_item *item)
{
	const struct sn_heap_head *head = (const void *)(item->piece + 1);

	if (item->bytes < sizeof(*item->piece) + sizeof(*head) ||
	    (head->mode != SN_HEAP_AGGREGATE && head->mode != SN_HEAP_SAMPLE))
		return NULL;
	return head;
}

static struct sn_trace_instant last_instant(const struct sn_trace_item *item)
{
	const struct sn_heap_head *head = head_of(item);

	if (!head || head->last_ns <= item->piece->base_ns ||
	    head->last_tsc <= item->piece->base_tsc)
		return (struct sn_trace_instant){ item->piece->base_tsc, item->piece->base_ns };
	return (struct sn_trace_instant){ head->last_tsc, head->last_ns };
}

static struct sn_heap_aggregate_path *path_at(struct sn_heap_aggregate *a, struct sn_map *index,
					      uint32_t process, const struct sn_heap_entry *entry)
{
	bool is_new = entry->is_new & 1;
	uint64_t key = (uint64_t)process << 33 | (uint64_t)entry->path << 1 | is_new;
	uint64_t *place = sn_map_put(index, key, NULL);

	if (!*place) {
		sn_vec_push(&a->paths, (struct sn_heap_aggregate_path){ .process = process,
									.id = entry->path,
									.is_new = is_new });
		*place = a->paths.count;
	}
	return &a->paths.items[*place - 1];
}

/* A damaged file may say that more was released than allocated. */
static void entry_add(struct sn_heap_aggregate_path *path, const struct sn_heap_entry *entry,
		      uint32_t peak_number)
{
	struct sn_heap_sums *sums = &path->sums;
	int64_t held = (int64_t)((uint64_t)entry->bytes - (uint64_t)entry->freed_bytes);

	sums->allocations += entry->allocations;
	sums->bytes += entry->bytes;
	sums->frees += entry->frees;
	sums->temporary += entry->temporary;
	path->held_bytes = (int64_t)((uint64_t)path->held_bytes + (uint64_t)held);
	path->at_peak = (int64_t)((uint64_t)path->at_peak +
				  (uint64_t)(entry->peak == peak_number ? entry->at_peak : held));
}

static void entries_read(struct sn_heap_aggregate *a, struct sn_map *index,
			 const struct sn_trace_item *item)
{
	const struct sn_heap_entry *entries = (const void *)(item->piece + 1);
	size_t count = (item->bytes - sizeof(*item->piece)) / sizeof(*entries);

	for (size_t i = 1; i < count; i++)
		if (entries[i].allocations || entries[i].frees)
			entry_add(path_at(a, index, item->process, &entries[i]), &entries[i],
				  a->processes[item->process].peak_number);
}

static void heads_read(struct sn_heap_aggregate *a, const struct sn_trace_pieces *pieces)
{
	for (size_t i = 0; i < pieces->items.count; i++) {
		const struct sn_trace_item *item = &pieces->items.items[i];
		const struct sn_heap_head *head = head_of(item);

		if (head)
			a->processes[item->process] = (struct sn_heap_aggregate_process){
				.mode = head->mode,
				.peak_number = head->peak_number,
				.interval_bytes = head->interval_bytes == 0 ? 1
						  : head->interval_bytes < interval_most
							  ? head->interval_bytes
							  : interval_most,
				.unknown_frees = head->unknown_frees,
				.peak_ns = head->peak_ns,
			};
	}
}

/* Sums that cannot be: a damaged file's. */
static uint64_t sums_make_sound(struct sn_heap_aggregate *a)
{
	uint64_t damaged = 0;

	for (size_t i = 0; i < a->paths.count; i++) {
		struct sn_heap_aggregate_path *path = &a->paths.items[i];
		struct sn_heap_sums *sums = &path->sums;

		if (sums->frees > sums->allocations || sums->temporary > sums->frees ||
		    path->held_bytes < 0 || (uint64_t)path->held_bytes > sums->bytes) {
			damaged++;
			sums->frees = sums->allocations;
			sums->temporary = 0;
			path->held_bytes = 0;
		}
		/* an entry that another thread changed at the peak's moment may be off by a block */
		if (path->at_peak < 0 || (uint64_t)path->at_peak > sums->bytes)
			path->at_peak = 0;
		sums->leaked_count = sums->allocations - sums->frees;
		sums->leaked_bytes = (uint64_t)path->held_bytes;
	}
	return damaged;
}

sn_status sn_heap_aggregate_read(const struct sn_experiment *e, struct sn_heap_aggregate *out,
				 struct sn_error *err)
{
	struct sn_trace_pieces pieces;
	struct sn_map index = { 0 };
	sn_status status = sn_trace_pieces_open(&pieces, e, SN_TRACE_HEAP_SUMS, last_instant, err);

	*out = (struct sn_heap_aggregate){ 0 };
	if (status != SN_OK)
		return status;
	out->processes = sn_alloc_zeroed(e->processes.count + 1, sizeof(*out->processes));
	heads_read(out, &pieces);
	for (size_t i = 0; i < pieces.items.count; i++)
		if (pieces.items.items[i].bytes >= sizeof(struct sn_trace_piece))
			entries_read(out, &index, &pieces.items.items[i]);
	out->damaged = sums_make_sound(out); /* pieces that are damaged the trace's reader counts */
	for (uint32_t p = 0; p < e->processes.count; p++)
		out->processes[p].ns_per_tick = pieces.clocks[p].ns_per_tick;
	sn_map_free(&index);
	sn_trace_pieces_close(&pieces);
	return SN_OK;
}

void sn_heap_aggregate_free(struct sn_heap_aggregate *a)
{
	free(a->processes);
	sn_vec_free(&a->paths);
}
