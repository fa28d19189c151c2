/*
 * Plays the events of all traces in the order of time, and sums them by call path.
 *
 * Pieces are runs that are in order; a binary heap of those that have begun gives the next event. The
 * peak needs no second reading: what a path held at the greatest sum so far is kept when the path next
 * changes. If it has not changed since, it is what it holds now.
 */
#include "heap/heap.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/map.h"
#include "heap/parts.h"

/* A piece that is being read, at its next event. */
struct cursor {
	double time_ns;
	struct sn_heap_event_read event;
	struct sn_heap_reader reader;
	uint32_t process, thread; /* thread: index in player.threads */
};

struct thread_state {
	uint64_t latest; /* address of its latest allocation */
};

/* What a path holds, and held at the peak. */
struct holding {
	uint64_t bytes, at_peak;
	uint32_t peak; /* at_peak is of this peak; of a later one it is still `bytes` */
};

struct process_state {
	struct sn_heap_live live;
	struct sn_map path_index;	 /* id * 2 + is_new -> index in the heap's paths + 1 */
	uint32_t latest_id, latest_path; /* the look-up before */
	uint32_t pieces_left;
	bool is_over; /* its end has passed; what it writes after that counts, too */
};

struct player {
	const struct sn_experiment *experiment;
	struct sn_heap *heap;
	struct sn_trace_pieces pieces;
	struct process_state *processes;
	struct sn_map thread_index; /* process and thread -> index + 1 */
	SN_VEC(struct thread_state) threads;
	SN_VEC(struct holding) holdings; /* by path */
	SN_VEC(struct cursor) cursors;	 /* a heap, the earliest first */
	size_t next_piece;
	uint64_t held_bytes; /* by all processes */
	uint32_t peak;
	struct sn_map stack_of; /* process and id of a path -> stack + 1 */
	uint32_t *end_order;	/* processes by their ends */
	size_t next_end;
};

/* ---- paths ---- */

static uint64_t site_key(uint32_t process, uint32_t id)
{
	return (uint64_t)process << 32 | id;
}

static uint32_t path_add(struct player *player, uint32_t process, uint32_t id, bool is_new)
{
	const uint64_t *stack = sn_map_get(&player->stack_of, site_key(process, id));

	sn_vec_push(&player->heap->paths,
		    (struct sn_heap_path){ .process = process,
					   .stack = stack ? (uint32_t)*stack - 1 : SN_NONE,
					   .is_new = is_new });
	sn_vec_push(&player->holdings, (struct holding){ 0 });
	return (uint32_t)player->heap->paths.count - 1;
}

static uint32_t path_of(struct player *player, uint32_t process, uint32_t id, bool is_new)
{
	struct process_state *state = &player->processes[process];
	uint32_t key = id << 1 | is_new;
	uint64_t *place;

	if (state->latest_id == key + 1)
		return state->latest_path;
	place = sn_map_put(&state->path_index, key, NULL);
	if (!*place)
		*place = path_add(player, process, id, is_new) + 1;
	state->latest_id = key + 1;
	return state->latest_path = (uint32_t)*place - 1;
}

/* ---- what is held ---- */

static struct holding *holding_change(struct player *player, uint32_t path)
{
	struct holding *holding = &player->holdings.items[path];

	if (holding->peak != player->peak) {
		holding->at_peak = holding->bytes;
		holding->peak = player->peak;
	}
	return holding;
}

static void hold(struct player *player, uint32_t path, uint64_t bytes, double time_ns)
{
	struct sn_heap *heap = player->heap;

	holding_change(player, path)->bytes += bytes;
	player->held_bytes += bytes;
	if (player->held_bytes <= heap->total.peak_bytes)
		return;
	heap->total.peak_bytes = player->held_bytes;
	heap->peak_ns = (int64_t)time_ns;
	player->peak++;
}

static void let_go(struct player *player, uint32_t path, uint64_t bytes)
{
	holding_change(player, path)->bytes -= bytes;
	player->held_bytes -= bytes;
}

/* ---- events ---- */

static void release_count(struct player *player, const struct sn_heap_block *block)
{
	struct sn_heap_sums *sums = &player->heap->paths.items[block->path].sums;

	sums->frees++;
	sums->temporary += player->threads.items[block->thread].latest == block->address;
	let_go(player, block->path, block->bytes);
}

/* A block at an address where one lives: its release was lost, or comes later, as clocks of processors
 * may differ by a little. */
static void allocation_play(struct player *player, const struct cursor *cursor)
{
	const struct sn_heap_event_read *event = &cursor->event;
	struct sn_heap_live *live = &player->processes[cursor->process].live;
	struct sn_heap_block *block = sn_heap_live_find(live, event->address);
	uint32_t path = path_of(player, cursor->process, event->path, event->kind == SN_HEAP_NEW);
	struct sn_heap_sums *sums = &player->heap->paths.items[path].sums;
	bool is_owed = false;

	if (!event->address)
		return;
	if (block) {
		release_count(player, block);
		is_owed = !player->pieces.lost;
	} else {
		block = sn_heap_live_add(live, event->address);
	}
	block->bytes = event->bytes;
	block->path = path;
	block->thread = cursor->thread;
	block->is_owed = is_owed;
	sums->allocations++;
	sums->bytes += event->bytes;
	player->threads.items[cursor->thread].latest = event->address;
	hold(player, path, event->bytes, cursor->time_ns);
}

/* The child of a fork releases copies of its parent's blocks: they are neither its own nor unknown. */
static void release_play(struct player *player, const struct cursor *cursor)
{
	struct sn_heap_live *live = &player->processes[cursor->process].live;
	struct sn_heap_block *block = sn_heap_live_find(live, cursor->event.address);

	if (!block) {
		player->heap->unknown_frees +=
			!player->experiment->processes.items[cursor->process].is_of_fork;
		return;
	}
	if (block->is_owed) {
		block->is_owed = false;
		return;
	}
	release_count(player, block);
	if (player->threads.items[block->thread].latest == block->address)
		player->threads.items[block->thread].latest = 0;
	sn_heap_live_remove(live, block);
}

/* What a process still held is left behind; with it, it holds no more. */
static void process_end(struct player *player, uint32_t process)
{
	struct process_state *state = &player->processes[process];

	for (size_t i = 0; i < state->live.capacity; i++) {
		const struct sn_heap_block *block = &state->live.blocks[i];
		struct sn_heap_sums *sums;

		if (!block->address)
			continue;
		sums = &player->heap->paths.items[block->path].sums;
		sums->leaked_count++;
		sums->leaked_bytes += block->bytes;
		let_go(player, block->path, block->bytes);
	}
	sn_heap_live_free(&state->live);
	sn_map_free(&state->path_index);
}

/* ---- the order of time ---- */

static void sift_down(struct player *player, size_t at)
{
	struct cursor *cursors = player->cursors.items, moving = cursors[at];
	size_t count = player->cursors.count;

	for (;;) {
		size_t child = 2 * at + 1;

		if (child >= count)
			break;
		if (child + 1 < count && cursors[child + 1].time_ns < cursors[child].time_ns)
			child++;
		if (cursors[child].time_ns >= moving.time_ns)
			break;
		cursors[at] = cursors[child];
		at = child;
	}
	cursors[at] = moving;
}

static void sift_up(struct player *player, size_t at)
{
	struct cursor *cursors = player->cursors.items, moving = cursors[at];

	while (at && moving.time_ns < cursors[(at - 1) / 2].time_ns) {
		cursors[at] = cursors[(at - 1) / 2];
		at = (at - 1) / 2;
	}
	cursors[at] = moving;
}

/* To the next event that is one of the heap's. False: the piece is over. */
static bool cursor_move(struct player *player, struct cursor *cursor)
{
	while (sn_heap_reader_next(&cursor->reader, &cursor->event)) {
		if (cursor->event.kind == SN_HEAP_TIME)
			continue;
		cursor->time_ns = sn_trace_time_ns(&player->pieces.clocks[cursor->process],
						   cursor->event.tsc);
		return true;
	}
	player->heap->damaged += cursor->reader.is_damaged;
	return false;
}

static uint32_t thread_of(struct player *player, const struct sn_trace_item *item)
{
	uint64_t *place = sn_map_put(&player->thread_index,
				     site_key(item->process, item->piece->thread_index), NULL);

	if (!*place) {
		sn_vec_push(&player->threads, (struct thread_state){ 0 });
		*place = player->threads.count;
	}
	return (uint32_t)*place - 1;
}

static void ends_until(struct player *player, double time_ns)
{
	const struct sn_process *processes = player->experiment->processes.items;

	while (player->next_end < player->experiment->processes.count &&
	       (double)processes[player->end_order[player->next_end]].end_ns < time_ns) {
		uint32_t process = player->end_order[player->next_end++];

		player->processes[process].is_over = true;
		if (!player->processes[process].pieces_left)
			process_end(player, process);
	}
}

static void piece_end(struct player *player, uint32_t process)
{
	struct process_state *state = &player->processes[process];

	if (--state->pieces_left == 0 && state->is_over)
		process_end(player, process);
}

static void piece_begin(struct player *player, const struct sn_trace_item *item)
{
	struct cursor cursor = { .process = item->process, .thread = thread_of(player, item) };

	sn_heap_reader_open(&cursor.reader, item->piece, item->bytes);
	if (!cursor_move(player, &cursor)) {
		piece_end(player, item->process);
		return;
	}
	sn_vec_push(&player->cursors, cursor);
	sift_up(player, player->cursors.count - 1);
}

static double piece_time_ns(const struct player *player, size_t piece)
{
	const struct sn_trace_item *item = &player->pieces.items.items[piece];

	return sn_trace_time_ns(&player->pieces.clocks[item->process], item->piece->base_tsc);
}

/* The earliest event of all; NULL: there is none. */
static struct cursor *earliest(struct player *player)
{
	while (player->next_piece < player->pieces.items.count &&
	       (!player->cursors.count ||
		piece_time_ns(player, player->next_piece) <= player->cursors.items[0].time_ns))
		piece_begin(player, &player->pieces.items.items[player->next_piece++]);
	return player->cursors.count ? &player->cursors.items[0] : NULL;
}

static void play(struct player *player)
{
	struct cursor *cursor;

	while ((cursor = earliest(player))) {
		ends_until(player, cursor->time_ns);
		if (cursor->event.kind == SN_HEAP_FREE)
			release_play(player, cursor);
		else
			allocation_play(player, cursor);
		if (!cursor_move(player, cursor)) {
			uint32_t process = cursor->process;

			*cursor = player->cursors.items[--player->cursors.count];
			piece_end(player, process);
		}
		if (player->cursors.count > 1)
			sift_down(player, 0);
	}
	for (uint32_t p = 0; p < player->experiment->processes.count; p++)
		process_end(player, p);
}

/* ---- all of it ---- */

static int ends_compare(const void *a, const void *b, void *context)
{
	const struct sn_process *processes = context;
	int64_t x = processes[*(const uint32_t *)a].end_ns;
	int64_t y = processes[*(const uint32_t *)b].end_ns;

	return (x > y) - (x < y);
}

static void player_open(struct player *player)
{
	const struct sn_experiment *e = player->experiment;
	size_t count = e->processes.count;

	player->processes = sn_alloc_zeroed(count + 1, sizeof(*player->processes));
	player->end_order = sn_alloc_zeroed(count + 1, sizeof(*player->end_order));
	for (uint32_t p = 0; p < count; p++)
		player->end_order[p] = p;
	qsort_r(player->end_order, count, sizeof(*player->end_order), ends_compare,
		e->processes.items);
	for (size_t i = 0; i < player->pieces.items.count; i++)
		player->processes[player->pieces.items.items[i].process].pieces_left++;
	for (size_t i = 0; i < e->trace_paths.count; i++) {
		const struct sn_trace_path *path = &e->trace_paths.items[i];

		*sn_map_put(&player->stack_of, site_key(path->process, path->id), NULL) =
			(uint64_t)path->stack + 1;
	}
}

static void totals_sum(struct player *player)
{
	struct sn_heap *heap = player->heap;

	for (size_t i = 0; i < heap->paths.count; i++) {
		struct sn_heap_sums *sums = &heap->paths.items[i].sums;

		sums->peak_bytes = holding_change(player, (uint32_t)i)->at_peak;
		heap->total.allocations += sums->allocations;
		heap->total.bytes += sums->bytes;
		heap->total.frees += sums->frees;
		heap->total.leaked_count += sums->leaked_count;
		heap->total.leaked_bytes += sums->leaked_bytes;
		heap->total.temporary += sums->temporary;
	}
	heap->lost = player->pieces.lost;
	heap->damaged += player->pieces.damaged;
	for (size_t p = 0; p < player->experiment->processes.count; p++) {
		int64_t ns = sn_trace_overhead_ns(&player->pieces, (uint32_t)p);

		if (ns >= 0)
			heap->overhead_ns += ns;
		else
			heap->damaged++;
	}
}

sn_status sn_heap_read(const struct sn_experiment *experiment, struct sn_heap **out,
		       struct sn_error *err)
{
	struct player player = { .experiment = experiment,
				 .heap = sn_alloc_zeroed(1, sizeof(*player.heap)) };
	sn_status status = sn_trace_pieces_open(&player.pieces, experiment, SN_TRACE_HEAP,
						sn_heap_last_instant, err);

	if (status != SN_OK) {
		sn_heap_free(player.heap);
		return status;
	}
	player.heap->is_traced = player.pieces.is_traced;
	player_open(&player);
	play(&player);
	totals_sum(&player);
	free(player.processes);
	free(player.end_order);
	sn_map_free(&player.thread_index);
	sn_map_free(&player.stack_of);
	sn_vec_free(&player.threads);
	sn_vec_free(&player.holdings);
	sn_vec_free(&player.cursors);
	sn_trace_pieces_close(&player.pieces);
	*out = player.heap;
	return SN_OK;
}

void sn_heap_free(struct sn_heap *heap)
{
	if (!heap)
		return;
	sn_vec_free(&heap->paths);
	free(heap);
}
