/* Events of the heap: encoded, and written to the thread's trace. */
#include "runtime/heap/heap.h"

static struct sn_heap_state off;
struct sn_heap_state *sn_heap_state = &off;

/* A reader needs pairs of ticks and ns: the first soon, for short runs, then every 0.1 s. */
static const uint64_t time_gap_first = 1u << 20, time_gap_most = 1u << 28;

__thread struct sn_heap_nest sn_heap_nest;

/* ---- a stream ---- */

static bool begin_piece(struct sn_heap_stream *stream, uint32_t thread_index)
{
	if (!sn_trace_take_slot(&stream->writer, SN_TRACE_HEAP, thread_index))
		return false;
	stream->last_tsc = stream->time_tsc = stream->writer.piece->base_tsc;
	stream->last_address = 0;
	stream->last_path = 0;
	if (!stream->time_gap)
		stream->time_gap = time_gap_first;
	return true;
}

/* Ticks since the event before. What came in between by a signal may be later. */
static uint64_t ticks_since(struct sn_heap_stream *stream, uint64_t tsc)
{
	uint64_t ticks = tsc > stream->last_tsc ? tsc - stream->last_tsc : 0;

	stream->last_tsc += ticks;
	return ticks;
}

static uint8_t *put_time(struct sn_heap_stream *stream, uint8_t *at)
{
	uint64_t tsc;
	int64_t now_ns = sn_trace_now_ns(&tsc);

	*at++ = SN_HEAP_TIME;
	at = sn_trace_put(at, ticks_since(stream, tsc));
	at = sn_trace_put(at, (uint64_t)(now_ns - stream->writer.piece->base_ns));
	stream->time_tsc = tsc;
	if (stream->time_gap < time_gap_most)
		stream->time_gap *= 2;
	return at;
}

static inline uint8_t *put_head(struct sn_heap_stream *stream, uint8_t *at, uint8_t tag,
				uint64_t tsc, uint64_t address)
{
	uint8_t unaligned;
	uint64_t difference = sn_heap_difference(address, stream->last_address, &unaligned);

	*at++ = tag | unaligned;
	at = sn_trace_put(at, ticks_since(stream, tsc));
	stream->last_address = address;
	return sn_trace_put(at, difference);
}

/* Where the next event goes; NULL: it is lost, and counted. */
static inline uint8_t *make_room(struct sn_heap_stream *stream, uint32_t thread_index, uint64_t tsc)
{
	uint8_t *at = sn_trace_room(&stream->writer, 2 * SN_HEAP_EVENT_MAX);

	if (__builtin_expect(!at, 0)) {
		if (!begin_piece(stream, thread_index))
			return NULL;
		at = sn_trace_room(&stream->writer, 2 * SN_HEAP_EVENT_MAX);
		if (!at)
			return NULL;
	}
	if (__builtin_expect(tsc - stream->time_tsc > stream->time_gap && tsc > stream->time_tsc,
			     0))
		at = put_time(stream, at);
	return at;
}

static inline void write_allocation(struct sn_heap_stream *stream, uint32_t thread_index,
				    const void *block, uint64_t bytes, uint32_t path,
				    enum sn_heap_event kind, uint64_t tsc)
{
	uint8_t *at = make_room(stream, thread_index, tsc);
	bool is_same;

	if (!at)
		return;
	is_same = path == stream->last_path;
	at = put_head(stream, at, (uint8_t)(kind | (is_same ? SN_HEAP_SAME_PATH : 0)), tsc,
		      (uint64_t)(uintptr_t)block);
	at = sn_trace_put(at, bytes);
	if (!is_same)
		at = sn_trace_put(at, path);
	stream->last_path = path;
	sn_trace_commit(&stream->writer, at);
}

static inline void write_release(struct sn_heap_stream *stream, uint32_t thread_index,
				 const void *block, uint64_t tsc)
{
	uint8_t *at = make_room(stream, thread_index, tsc);

	if (at)
		sn_trace_commit(&stream->writer, put_head(stream, at, SN_HEAP_FREE, tsc,
							  (uint64_t)(uintptr_t)block));
}

/* ---- who writes ---- */

inline struct sn_heap_stream *sn_heap_hold(struct sn_thread *self, struct sn_heap_thread *heap,
					   const uint64_t *frame)
{
	uint64_t at = (uint64_t)(uintptr_t)frame;

	for (unsigned i = 0; i < 2; i++) {
		struct sn_heap_stream *stream = &heap->streams[i];
		if (stream->holder && !sn_trace_is_abandoned(self, stream->holder, at))
			continue;
		if (stream->holder)
			heap->paths.frame_count = 0;
		stream->holder = at;
		atomic_signal_fence(memory_order_seq_cst);
		return stream;
	}
	sn_trace_lose(SN_TRACE_HEAP);
	return NULL;
}

/* One event in many is measured, from `tsc` on, with what reading the counter costs. */
static inline void let_go(struct sn_heap_stream *stream, uint64_t tsc)
{
	if (sn_trace_measures(&stream->unmeasured, SN_TRACE_MEASURED))
		sn_trace_count_cost(SN_TRACE_HEAP, __builtin_ia32_rdtsc() - tsc,
				    sn_trace_stands_for(stream->unmeasured, SN_TRACE_MEASURED));
	sn_heap_let_go(stream);
}

/* Threads that are none of ours share one stream. One that cannot have it soon loses its event: the
 * holder may be what a signal interrupted. */
static struct sn_heap_stream *hold_stray(void)
{
	for (int tries = 0; tries < 1000; tries++) {
		uint32_t is_held = 0;
		if (atomic_compare_exchange_weak_explicit(&sn_heap_state->stray_lock, &is_held, 1,
							  memory_order_acquire,
							  memory_order_relaxed))
			return &sn_heap_state->stray;
		__builtin_ia32_pause();
	}
	sn_trace_lose(SN_TRACE_HEAP);
	return NULL;
}

static void let_stray_go(void)
{
	atomic_store_explicit(&sn_heap_state->stray_lock, 0, memory_order_release);
}

static __attribute__((noinline)) void note_stray(const void *block, uint64_t bytes,
						 enum sn_heap_event kind, uint64_t tsc)
{
	struct sn_heap_stream *stream = hold_stray();

	if (!stream)
		return;
	if (kind == SN_HEAP_FREE)
		write_release(stream, SN_TRACE_NO_THREAD, block, tsc);
	else
		write_allocation(stream, SN_TRACE_NO_THREAD, block, bytes, 0, kind, tsc);
	let_stray_go();
}

/* Not before what came before it has happened: the block is ours. */
static inline uint64_t ticks_after(void)
{
	uint32_t low, high;

	__asm__ volatile("lfence\n\trdtsc" : "=a"(low), "=d"(high)::"memory");
	return (uint64_t)high << 32 | low;
}

static void trace_allocation(const uint64_t *frame, const void *block, uint64_t bytes,
			     enum sn_heap_event kind)
{
	struct sn_thread *self = sn_self;
	uint64_t tsc = ticks_after();

	if (!self) {
		note_stray(block, bytes, kind, tsc);
		return;
	}
	struct sn_heap_thread *heap = sn_heap_thread_of(self);
	struct sn_heap_stream *stream = sn_heap_hold(self, heap, frame);
	if (!stream)
		return;
	uint32_t path = stream == heap->streams ? sn_path_take(self, &heap->paths, frame) : 0;
	write_allocation(stream, self->index, block, bytes, path, kind, tsc);
	let_go(stream, tsc);
}

static void trace_release(const uint64_t *frame, const void *block, uint64_t tsc)
{
	struct sn_thread *self = sn_self;

	if (!self) {
		note_stray(block, 0, SN_HEAP_FREE, tsc);
		return;
	}
	struct sn_heap_stream *stream = sn_heap_hold(self, sn_heap_thread_of(self), frame);
	if (!stream)
		return;
	write_release(stream, self->index, block, tsc);
	let_go(stream, tsc);
}

/* ---- by mode ---- */

void sn_heap_note_allocation(const uint64_t *frame, const void *block, uint64_t bytes,
			     enum sn_heap_event kind)
{
	sn_heap_nest.noted[sn_heap_nest.noted_count++ % SN_HEAP_NOTED] = block;
	if (sn_trace_is_off(SN_TRACE_HEAP))
		return;
	switch (sn_heap_state->mode) {
	case SN_HEAP_AGGREGATE:
		sn_heap_sums_allocation(frame, block, bytes, kind);
		break;
	case SN_HEAP_SAMPLE:
		if (__builtin_expect(sn_heap_sample_meets(bytes), 0) && sn_heap_sample_keep(block))
			trace_allocation(frame, block, bytes, kind);
		break;
	default:
		trace_allocation(frame, block, bytes, kind);
	}
}

void sn_heap_note_release(const uint64_t *frame, const void *block)
{
	if (sn_trace_is_off(SN_TRACE_HEAP))
		return;
	switch (sn_heap_state->mode) {
	case SN_HEAP_AGGREGATE:
		sn_heap_sums_release(block, sn_heap_sums_take_out(block));
		break;
	case SN_HEAP_SAMPLE:
		if (__builtin_expect(sn_heap_sample_knows(block), 0) &&
		    sn_heap_sample_take_out(block))
			trace_release(frame, block, __builtin_ia32_rdtsc());
		break;
	default:
		trace_release(frame, block, __builtin_ia32_rdtsc());
	}
}

void sn_heap_release_begin(const void *block, struct sn_heap_release *release)
{
	release->tsc = __builtin_ia32_rdtsc();
	release->block = 0;
	if (sn_heap_state->mode == SN_HEAP_AGGREGATE)
		release->block = sn_heap_sums_take_out(block);
	else if (sn_heap_state->mode == SN_HEAP_SAMPLE)
		release->block = sn_heap_sample_knows(block);
}

void sn_heap_release_end(const uint64_t *frame, const void *block,
			 const struct sn_heap_release *release, bool is_released)
{
	if (sn_trace_is_off(
		    SN_TRACE_HEAP)) /* an agent has events alone, of which each is told by itself */
		return;
	switch (sn_heap_state->mode) {
	case SN_HEAP_AGGREGATE:
		if (is_released)
			sn_heap_sums_release(block, release->block);
		else
			sn_heap_sums_put_back(block, release->block);
		break;
	case SN_HEAP_SAMPLE:
		if (is_released && release->block && sn_heap_sample_take_out(block))
			trace_release(frame, block, release->tsc);
		break;
	default:
		if (is_released)
			trace_release(frame, block, release->tsc);
	}
}

/* ---- the collector ---- */

static void begin_thread(struct sn_thread *thread, enum sn_thread_origin origin)
{
	struct sn_heap_thread *heap = sn_heap_thread_of(thread);

	(void)origin;
	if (sn_heap_is_on())
		memset(heap, 0, offsetof(struct sn_heap_thread, paths.frames));
}

/* What the thread does from here on is a stray's. */
static void end_thread(struct sn_thread *self, int64_t now_ns)
{
	struct sn_heap_thread *heap = sn_heap_thread_of(self);

	(void)now_ns;
	if (!sn_heap_is_on())
		return;
	for (unsigned i = 0; i < 2; i++)
		sn_trace_give_slot(&heap->streams[i].writer);
}

struct sn_collector sn_heap_collector = {
	.name = "heap",
	.scratch_bytes = sizeof(struct sn_heap_thread),
	.load = sn_heap_load,
	.install = sn_heap_install,
	.thread_begin = begin_thread,
	.thread_end = end_thread,
};
