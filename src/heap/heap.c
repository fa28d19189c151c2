/*
 * Plays the events of all traces in the order of time, and sums them by call path.
 *
 * Pieces are runs that are in order; a binary heap of those that have begun gives the next event. The
 * peak needs no second reading: what a path held at the greatest sum so far is kept when the path next
 * changes. If it has not changed since, it is what it holds now.
 */
#include "heap/heap.h"

#include <math.h>
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

/* Counts of a sample are in these parts while they are added up. */
enum { COUNT_PARTS = 4096 };

/* Of a process's life, from its start to its end. */
enum { FIFTHS = 5 };

/* What a path holds, and held at the peak. */
struct holding {
	uint64_t bytes, at_peak;
	uint64_t least[FIFTHS]; /* that it held in each, up to `fifth` */
	uint32_t fifth;		/* it last changed in; FIFTHS: the process has ended */
	double variance, variance_at_peak;
	uint32_t peak; /* at_peak is of this peak; of a later one it is still `bytes` */
};

struct process_state {
	struct sn_heap_live live;
	struct sn_map path_index;	 /* id * 2 + is_new -> index in the heap's paths + 1 */
	uint32_t latest_id, latest_path; /* the look-up before */
	uint32_t pieces_left;
	bool is_over; /* its end has passed; what it writes after that counts, too */
	uint32_t fifth;
};

struct player {
	const struct sn_experiment *experiment;
	const struct sn_spans *windows; /* in which events count */
	bool counts;			/* so the present one does */
	struct sn_heap *heap;
	struct sn_heap_aggregate aggregate;
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

/* ---- what an event stands for ---- */

static const double bytes_most = 9e18; /* whatever a damaged file says */

struct weight {
	uint64_t count, bytes;
	double variance; /* of the bytes */
};

/* A block of so many bytes is met with the probability p = 1 - exp(-bytes / interval), so one that was met stands
 * for 1/p such. In a trace each is itself. */
static struct weight weight_of(const struct player *player, uint32_t process, uint64_t bytes)
{
	double p, each;

	if (player->aggregate.processes[process].mode != SN_HEAP_SAMPLE)
		return (struct weight){ 1, bytes, 0 };
	each = (double)(bytes ? bytes : 1);
	p = -expm1(-each / (double)player->aggregate.processes[process].interval_bytes);
	return (struct weight){ (uint64_t)(COUNT_PARTS / p + 0.5),
				(uint64_t)fmin(each / p + 0.5, bytes_most),
				each * each * (1 - p) / (p * p) };
}

/* ---- what is held ---- */

static struct holding *holding_change(struct player *player, uint32_t path)
{
	struct holding *holding = &player->holdings.items[path];
	uint32_t fifth = player->processes[player->heap->paths.items[path].process].fifth;

	while (holding->fifth < fifth)
		if (++holding->fifth < FIFTHS)
			holding->least[holding->fifth] = holding->bytes;
	if (holding->peak != player->peak) {
		holding->at_peak = holding->bytes;
		holding->variance_at_peak = holding->variance;
		holding->peak = player->peak;
	}
	return holding;
}

static void hold(struct player *player, uint32_t path, const struct weight *weight, double time_ns)
{
	struct sn_heap *heap = player->heap;
	struct holding *holding = holding_change(player, path);

	holding->bytes += weight->bytes;
	holding->variance += weight->variance;
	player->held_bytes += weight->bytes;
	if (player->held_bytes <= heap->total.peak_bytes)
		return;
	heap->total.peak_bytes = player->held_bytes;
	heap->peak_ns = (int64_t)time_ns;
	player->peak++;
}

static void let_go(struct player *player, uint32_t path, const struct weight *weight)
{
	struct holding *holding = holding_change(player, path);

	holding->bytes -= weight->bytes;
	if (holding->fifth < FIFTHS && holding->bytes < holding->least[holding->fifth])
		holding->least[holding->fifth] = holding->bytes;
	holding->variance -= weight->variance;
	player->held_bytes -= weight->bytes;
}

/* ---- events ---- */

static void release_count(struct player *player, uint32_t process,
			  const struct sn_heap_block *block)
{
	struct sn_heap_sums *sums = &player->heap->paths.items[block->path].sums;
	struct weight weight = weight_of(player, process, block->bytes);

	sums->frees += player->counts ? weight.count : 0;
	if (player->threads.items[block->thread].latest == block->address)
		sums->temporary += weight.count;
	let_go(player, block->path, &weight);
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
	struct weight weight = weight_of(player, cursor->process, event->bytes);
	bool is_owed = false;

	if (!event->address)
		return;
	if (block) {
		release_count(player, cursor->process, block);
		is_owed = !player->pieces.lost;
	} else {
		block = sn_heap_live_add(live, event->address);
	}
	block->bytes = event->bytes;
	block->path = path;
	block->thread = cursor->thread;
	block->is_owed = is_owed;
	sums->allocations += player->counts ? weight.count : 0;
	sums->bytes += weight.bytes;
	sums->bytes_variance += weight.variance;
	if (weight.bytes && event->bytes) /* of one size, blocks vary as their bytes do */
		sums->allocations_variance +=
			weight.variance / ((double)event->bytes * (double)event->bytes);
	sums->samples += player->heap->mode == SN_HEAP_SAMPLE;
	player->threads.items[cursor->thread].latest = event->address;
	hold(player, path, &weight, cursor->time_ns);
}

/* The child of a fork releases copies of its parent's blocks: they are neither its own nor unknown. */
static void release_play(struct player *player, const struct cursor *cursor)
{
	struct sn_heap_live *live = &player->processes[cursor->process].live;
	struct sn_heap_block *block = sn_heap_live_find(live, cursor->event.address);

	if (!block) {
		/* of a sample: another block that was met had the address, and its events were lost */
		player->heap->unknown_frees +=
			player->heap->mode != SN_HEAP_SAMPLE &&
			!player->experiment->processes.items[cursor->process].is_of_fork;
		return;
	}
	if (block->is_owed) {
		block->is_owed = false;
		return;
	}
	release_count(player, cursor->process, block);
	if (player->threads.items[block->thread].latest == block->address)
		player->threads.items[block->thread].latest = 0;
	sn_heap_live_remove(live, block);
}

/* What a process still held is left behind; with it, it holds no more. */
static void process_end(struct player *player, uint32_t process)
{
	struct process_state *state = &player->processes[process];

	state->fifth = FIFTHS; /* what it gives back now is not given back */
	for (size_t i = 0; i < state->live.capacity; i++) {
		const struct sn_heap_block *block = &state->live.blocks[i];
		struct sn_heap_sums *sums;
		struct weight weight;

		if (!block->address)
			continue;
		sums = &player->heap->paths.items[block->path].sums;
		weight = weight_of(player, process, block->bytes);
		sums->leaked_count += weight.count;
		sums->leaked_bytes += weight.bytes;
		sums->leaked_variance += weight.variance;
		let_go(player, block->path, &weight);
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

static void fifth_find(struct player *player, uint32_t process, double time_ns)
{
	const struct sn_process *p = &player->experiment->processes.items[process];
	struct process_state *state = &player->processes[process];
	double life_ns = (double)(p->end_ns - p->start_ns);

	while (state->fifth < FIFTHS - 1 &&
	       time_ns - (double)p->start_ns > life_ns / FIFTHS * (state->fifth + 1))
		state->fifth++;
}

static void play(struct player *player)
{
	struct cursor *cursor;

	while ((cursor = earliest(player))) {
		ends_until(player, cursor->time_ns);
		fifth_find(player, cursor->process, cursor->time_ns);
		player->counts = sn_spans_have(player->windows, (int64_t)cursor->time_ns);
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

/* ---- sums that the runtime counted ---- */

/* The process that held most at its own peak; SN_NONE: there is none. */
static uint32_t largest_process(const struct player *player)
{
	const struct sn_heap_aggregate *a = &player->aggregate;
	uint64_t *peaks = sn_alloc_zeroed(player->experiment->processes.count + 1, sizeof(*peaks));
	uint32_t largest = SN_NONE;

	for (size_t i = 0; i < a->paths.count; i++)
		peaks[a->paths.items[i].process] += (uint64_t)a->paths.items[i].at_peak;
	for (uint32_t p = 0; p < player->experiment->processes.count; p++)
		if (a->processes[p].mode == SN_HEAP_AGGREGATE &&
		    (largest == SN_NONE || peaks[p] > peaks[largest]))
			largest = p;
	free(peaks);
	return largest;
}

static void aggregate_take(struct player *player)
{
	const struct sn_heap_aggregate *a = &player->aggregate;
	const struct sn_experiment *e = player->experiment;
	uint32_t largest = largest_process(player);
	struct sn_heap *heap = player->heap;

	for (size_t i = 0; i < a->paths.count; i++) {
		const struct sn_heap_aggregate_path *from = &a->paths.items[i];
		uint32_t path = path_add(player, from->process, from->id, from->is_new);
		struct sn_heap_sums *sums = &heap->paths.items[path].sums;

		*sums = from->sums;
		heap->has_several |= from->process != a->paths.items[0].process;
		if (from->process == largest)
			sums->peak_bytes = (uint64_t)from->at_peak;
		heap->total.peak_bytes += sums->peak_bytes;
	}
	for (uint32_t p = 0; p < e->processes.count; p++)
		if (!e->processes.items[p].is_of_fork)
			heap->unknown_frees += a->processes[p].unknown_frees;
	if (largest != SN_NONE && a->processes[largest].peak_ns)
		heap->peak_ns =
			a->processes[largest].peak_ns + e->processes.items[largest].clock_offset_ns;
	heap->damaged += a->damaged;
}

/* How the heap was recorded: of several launches in one folder, as the first one says. */
static void mode_find(struct player *player)
{
	struct sn_heap *heap = player->heap;

	heap->mode = SN_HEAP_TRACE;
	for (size_t p = 0; p < player->experiment->processes.count; p++) {
		const struct sn_heap_aggregate_process *process = &player->aggregate.processes[p];

		if (process->mode == SN_HEAP_OFF)
			continue;
		heap->is_traced = true;
		heap->mode = process->mode;
		heap->interval_bytes = process->interval_bytes;
		return;
	}
}

/* ---- totals ---- */

static void counts_round(struct sn_heap_sums *sums, bool is_within)
{
	uint64_t allocations = (sums->allocations + COUNT_PARTS / 2) / COUNT_PARTS;

	sums->frees = (sums->frees + COUNT_PARTS / 2) / COUNT_PARTS;
	sums->leaked_count = (sums->leaked_count + COUNT_PARTS / 2) / COUNT_PARTS;
	sums->temporary = (sums->temporary + COUNT_PARTS / 2) / COUNT_PARTS;
	/* in windows blocks of others are released, too */
	sums->allocations = is_within ? allocations : sums->frees + sums->leaked_count;
}

static double growth_of(const struct player *player, uint32_t process,
			const struct holding *holding, double leaked_variance)
{
	const struct sn_process *p = &player->experiment->processes.items[process];
	double life_s = (double)(p->end_ns - p->start_ns) / 1e9;

	if (holding->fifth < FIFTHS || !(life_s > 0)) /* it held nothing at the end */
		return 0;
	for (int i = 2; i < FIFTHS; i++)
		if (holding->least[i] <= holding->least[i - 1])
			return 0;
	/* of a sample what is held goes up and down by chance, too */
	if ((double)(holding->least[FIFTHS - 1] - holding->least[1]) <=
	    1.96 * sqrt(fmax(leaked_variance, 0)))
		return 0;
	return (double)(holding->least[FIFTHS - 1] - holding->least[1]) /
	       (life_s / FIFTHS * (FIFTHS - 2));
}

static void sums_finish(struct player *player, size_t path)
{
	uint32_t process = player->heap->paths.items[path].process;
	struct sn_heap_sums *sums = &player->heap->paths.items[path].sums;
	const struct holding *holding;

	if (player->aggregate.processes[process].mode == SN_HEAP_AGGREGATE) {
		player->heap->paths.items[path].growth_bytes_s = NAN;
		return;
	}
	player->heap->paths.items[path].growth_bytes_s =
		growth_of(player, process, &player->holdings.items[path], sums->leaked_variance);
	holding = holding_change(player, (uint32_t)path);
	sums->peak_bytes = holding->at_peak;
	/* what was added and taken away again leaves a rounding error */
	sums->peak_variance = fmax(holding->variance_at_peak, 0);
	if (sums->samples)
		counts_round(sums, player->windows->count > 0);
}

static void totals_sum(struct player *player)
{
	struct sn_heap *heap = player->heap;

	for (size_t i = 0; i < heap->paths.count; i++) {
		const struct sn_heap_sums *sums = &heap->paths.items[i].sums;

		sums_finish(player, i);
		heap->total.allocations += sums->allocations;
		heap->total.bytes += sums->bytes;
		heap->total.frees += sums->frees;
		heap->total.leaked_count += sums->leaked_count;
		heap->total.leaked_bytes += sums->leaked_bytes;
		heap->total.temporary += sums->temporary;
		heap->total.samples += sums->samples;
		heap->total.allocations_variance += sums->allocations_variance;
		heap->total.bytes_variance += sums->bytes_variance;
		heap->total.leaked_variance += sums->leaked_variance;
		heap->total.peak_variance += sums->peak_variance;
	}
	heap->lost = player->pieces.lost;
	heap->damaged += player->pieces.damaged;
	for (size_t p = 0; p < player->experiment->processes.count; p++) {
		/* an aggregate has no events that tell how long a tick is */
		if (player->aggregate.processes[p].mode != SN_HEAP_OFF)
			player->pieces.clocks[p].ns_per_tick =
				player->aggregate.processes[p].ns_per_tick;
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
	const struct sn_spans all = { 0 };

	return sn_heap_read_within(experiment, &all, out, err);
}

sn_status sn_heap_read_within(const struct sn_experiment *experiment,
			      const struct sn_spans *windows, struct sn_heap **out,
			      struct sn_error *err)
{
	struct player player = { .experiment = experiment,
				 .windows = windows,
				 .heap = sn_alloc_zeroed(1, sizeof(*player.heap)) };
	sn_status status = sn_trace_pieces_open(&player.pieces, experiment, SN_TRACE_HEAP,
						sn_heap_last_instant, err);

	if (status != SN_OK) {
		sn_heap_free(player.heap);
		return status;
	}
	status = sn_heap_aggregate_read(experiment, &player.aggregate, err);
	if (status != SN_OK) {
		sn_trace_pieces_close(&player.pieces);
		sn_heap_free(player.heap);
		return status;
	}
	player.heap->is_traced = player.pieces.is_traced;
	mode_find(&player);
	player_open(&player);
	play(&player);
	aggregate_take(&player);
	totals_sum(&player);
	sn_heap_aggregate_free(&player.aggregate);
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

void sn_heap_interval(uint64_t estimate, double variance, uint64_t *low, uint64_t *high)
{
	static const double z = 1.96;
	double x = (double)estimate, count, centre, half;

	*low = *high = estimate;
	if (!estimate || variance <= 0)
		return;
	/* as many blocks of one weight would have this variance; the score interval of a Poisson count */
	count = x * x / variance;
	centre = count + z * z / 2;
	half = z * sqrt(count + z * z / 4);
	*low = (uint64_t)fmin(fmax(centre - half, 0) * x / count, bytes_most);
	*high = (uint64_t)fmin((centre + half) * x / count, bytes_most);
}

void sn_heap_free(struct sn_heap *heap)
{
	if (!heap)
		return;
	sn_vec_free(&heap->paths);
	free(heap);
}
