/*
 * The aggregate mode: allocations are counted by call path where the sums lie, in the trace file, so that a
 * SIGKILL loses none; nothing grows with the number of events. What is alive is known by a table of words
 * that mirrors the heap's addresses, so a block is found by its address alone, without a lock.
 */
#include "runtime/heap/heap.h"

#include <sys/mman.h>

#include "runtime/core/pages.h"
#include "runtime/core/sys.h"
#include "wire/settings.h"

enum {
	/* threads share entries by their index, modulo this: each has most of them alone */
	SHARDS = 4,
	PIECES = SN_TRACE_SLOTS / 2,
	/* of an address: below 16 the two planes; a leaf mirrors 4 MB, a middle table 32 GB */
	GRAIN_BITS = 4,
	LEAF_BITS = 18,
	MIDDLE_BITS = 13,
	TOP_BITS = 47 - GRAIN_BITS - LEAF_BITS - MIDDLE_BITS,
	LEAF_BYTES = 8 << LEAF_BITS,
	MIDDLE_BYTES = 8 << MIDDLE_BITS,
	/* what a thread may keep from the process's sum: this part of the peak */
	PEAK_BITS = 10,
};

typedef _Atomic uint64_t word;
typedef _Atomic(word *) leaf_place;
typedef _Atomic(leaf_place *) middle_place;

struct sn_heap_sums {
	_Atomic(struct sn_heap_entry *) pieces[PIECES]; /* their first entry */
	_Atomic uint32_t entry_count;
	_Atomic uint32_t piece_lock;
	_Atomic int64_t held_bytes, peak_bytes;
	/* by shard, path and kind: an entry + 1 */
	_Atomic uint32_t entries[SHARDS][2 * SN_PATH_NODES];
	middle_place tops[2][1 << TOP_BITS];
};

/* ---- what is alive ---- */

/* A word of the table: there is a block, of operator new or not, of so many bytes, by a path. */
enum { WORD_IS_THERE = 1, WORD_IS_NEW = 2, WORD_PATH_SHIFT = 2, WORD_BYTES_SHIFT = 22 };
static const uint64_t word_bytes_most = (1ULL << (64 - WORD_BYTES_SHIFT)) - 1;

static uint64_t word_make(uint32_t path, bool is_new, uint64_t bytes)
{
	return (bytes < word_bytes_most ? bytes : word_bytes_most) << WORD_BYTES_SHIFT |
	       (uint64_t)(path & (SN_PATH_NODES - 1)) << WORD_PATH_SHIFT |
	       (is_new ? WORD_IS_NEW : 0) | WORD_IS_THERE;
}

static uint32_t word_path(uint64_t known)
{
	return (uint32_t)(known >> WORD_PATH_SHIFT) & (SN_PATH_NODES - 1);
}

/* Pages of small words: a huge one would take what most leaves never touch. NULL: there are none. */
static void *make_table(size_t bytes)
{
	if (sn_state->is_sealed)
		return NULL;
	void *table = sn_pages_wiped_in_children(bytes);

	if (table)
		SYS(madvise, table, bytes, MADV_NOHUGEPAGE);
	return table;
}

/* Threads may make the same table at once: the first one counts. */
#define TABLE_AT(place, bytes)                                                                     \
	({                                                                                         \
		__typeof__(atomic_load(place)) found = NULL, made = make_table(bytes);             \
		if (made && !atomic_compare_exchange_strong_explicit(place, &found, made,          \
								     memory_order_acq_rel,         \
								     memory_order_acquire))        \
			SYS(munmap, made, bytes);                                                  \
		found ? found : made;                                                              \
	})

/* The word of an address. NULL: no such block was noted, or there is no room (`is_made`). */
static word *word_at(const void *block, bool is_made)
{
	uint64_t at = (uint64_t)(uintptr_t)block;
	middle_place *top;
	leaf_place *middle;
	word *leaf;

	if (at & 7 || at >> 47)
		return NULL;
	top = &sn_heap_state->sums->tops[at >> 3 & 1][at >> (GRAIN_BITS + LEAF_BITS + MIDDLE_BITS)];
	middle = atomic_load_explicit(top, memory_order_acquire);
	if (__builtin_expect(!middle, 0) &&
	    !(is_made && (middle = TABLE_AT(top, MIDDLE_BYTES)) != NULL))
		return NULL;
	middle += at >> (GRAIN_BITS + LEAF_BITS) & ((1 << MIDDLE_BITS) - 1);
	leaf = atomic_load_explicit(middle, memory_order_acquire);
	if (__builtin_expect(!leaf, 0) &&
	    !(is_made && (leaf = TABLE_AT(middle, LEAF_BYTES)) != NULL))
		return NULL;
	return leaf + (at >> GRAIN_BITS & ((1 << LEAF_BITS) - 1));
}

/* ---- entries ---- */

/* A new piece of sums, which stays ours to the end of the process. NULL: there is no slot. */
static struct sn_trace_piece *take_piece(void)
{
	struct sn_trace_writer writer = { 0 };

	if (!sn_trace_take_slot(&writer, SN_TRACE_HEAP_SUMS, SN_TRACE_NO_THREAD))
		return NULL;
	memset(writer.piece + 1, 0, SN_TRACE_SLOT_BYTES - sizeof(*writer.piece));
	sn_trace_commit(&writer, (const uint8_t *)(writer.piece + 1) +
					 (SN_HEAP_ENTRIES + 1) * SN_HEAP_ENTRY_BYTES);
	return writer.piece;
}

/* The first entry of a piece that is to be there. One that a signal interrupts while it makes one is not waited
 * for. */
static __attribute__((noinline)) struct sn_heap_entry *make_piece(uint32_t which)
{
	struct sn_heap_sums *sums = sn_heap_state->sums;
	struct sn_heap_entry *first;

	for (int tries = 0; tries < 10000; tries++) {
		uint32_t is_held = 0;

		first = atomic_load_explicit(&sums->pieces[which], memory_order_acquire);
		if (first)
			return first;
		if (atomic_compare_exchange_weak_explicit(&sums->piece_lock, &is_held, 1,
							  memory_order_acquire,
							  memory_order_relaxed)) {
			first = atomic_load_explicit(&sums->pieces[which], memory_order_acquire);
			if (!first) {
				struct sn_trace_piece *piece = take_piece();

				first = piece ? (struct sn_heap_entry *)(piece + 1) + 1 : NULL;
				atomic_store_explicit(&sums->pieces[which], first,
						      memory_order_release);
			}
			atomic_store_explicit(&sums->piece_lock, 0, memory_order_release);
			return first;
		}
		__builtin_ia32_pause();
	}
	return NULL;
}

static struct sn_heap_entry *entry_at(uint32_t number)
{
	struct sn_heap_sums *sums = sn_heap_state->sums;
	uint32_t which = number / SN_HEAP_ENTRIES;
	struct sn_heap_entry *first;

	if (which >= PIECES)
		return NULL;
	first = atomic_load_explicit(&sums->pieces[which], memory_order_acquire);
	if (__builtin_expect(!first, 0) && !(first = make_piece(which)))
		return NULL;
	return first + number % SN_HEAP_ENTRIES;
}

/* The entry of a path. NULL: there is no room for it, and that was counted. */
static struct sn_heap_entry *entry_of(const struct sn_thread *self, uint32_t path, bool is_new)
{
	struct sn_heap_sums *sums = sn_heap_state->sums;
	_Atomic uint32_t *place = &sums->entries[self ? self->index % SHARDS : 0]
						[2 * (path & (SN_PATH_NODES - 1)) + is_new];
	uint32_t number = atomic_load_explicit(place, memory_order_acquire), none = 0;
	struct sn_heap_entry *entry;

	if (__builtin_expect(number != 0, 1))
		return entry_at(number - 1);
	number = atomic_fetch_add_explicit(&sums->entry_count, 1, memory_order_relaxed);
	entry = entry_at(number);
	if (!entry) {
		sn_trace_lose(SN_TRACE_HEAP);
		return NULL;
	}
	/* readers take both for one path's if another thread was first */
	entry->path = path;
	entry->is_new = is_new;
	atomic_compare_exchange_strong_explicit(place, &none, number + 1, memory_order_acq_rel,
						memory_order_relaxed);
	return entry;
}

#define ADD(counter, more) atomic_fetch_add_explicit(&(counter), more, memory_order_relaxed)
#define LOAD(counter)	   atomic_load_explicit(&(counter), memory_order_relaxed)
#define STORE(counter, to) atomic_store_explicit(&(counter), to, memory_order_relaxed)

/* What the entry held at the newest peak is kept before it changes. */
static void keep_peak(struct sn_heap_entry *entry)
{
	uint32_t peak = LOAD(sn_heap_state->head->peak_number);

	if (__builtin_expect(LOAD(entry->peak) == peak, 1))
		return;
	STORE(entry->at_peak, (int64_t)(LOAD(entry->bytes) - LOAD(entry->freed_bytes)));
	STORE(entry->peak, peak);
}

/* The process holds so much more. A thread keeps what is little to itself for a while. */
static void hold_more(struct sn_heap_thread *heap, int64_t bytes)
{
	struct sn_heap_sums *sums = sn_heap_state->sums;
	int64_t peak = LOAD(sums->peak_bytes), least = peak >> PEAK_BITS, held;

	if (heap) {
		bytes = heap->pending_bytes += bytes;
		if (bytes <= least && bytes >= -least)
			return;
		heap->pending_bytes = 0;
	}
	held = ADD(sums->held_bytes, bytes) + bytes;
	while (held > peak)
		if (atomic_compare_exchange_weak_explicit(&sums->peak_bytes, &peak, held,
							  memory_order_relaxed,
							  memory_order_relaxed)) {
			STORE(sn_heap_state->head->peak_ns, sn_now_ns());
			ADD(sn_heap_state->head->peak_number, 1);
			break;
		}
}

/* One event in many is measured, and has its pair of clocks kept. */
static uint64_t measure(uint32_t *left)
{
	return sn_trace_measures(left, SN_TRACE_MEASURED) ? __builtin_ia32_rdtsc() : 0;
}

static void measured(uint64_t begin_tsc, uint32_t left)
{
	struct sn_heap_head *head = sn_heap_state->head;
	uint64_t tsc;

	if (__builtin_expect(!begin_tsc, 1))
		return;
	sn_trace_count_cost(SN_TRACE_HEAP, __builtin_ia32_rdtsc() - begin_tsc,
			    sn_trace_stands_for(left, SN_TRACE_MEASURED));
	STORE(head->last_ns, sn_trace_now_ns(&tsc));
	STORE(head->last_tsc, tsc);
}

/* ---- events ---- */

static void count_allocation(const struct sn_thread *self, struct sn_heap_thread *heap,
			     const void *block, uint64_t bytes, uint32_t path, bool is_new)
{
	word *place = word_at(block, true);
	struct sn_heap_entry *entry;

	if (!place || !(entry = entry_of(self, path, is_new))) {
		if (!place)
			sn_trace_lose(SN_TRACE_HEAP);
		return;
	}
	STORE(*place, word_make(path, is_new, bytes));
	keep_peak(entry);
	ADD(entry->allocations, 1);
	ADD(entry->bytes, bytes);
	if (heap)
		heap->latest = block;
	hold_more(heap, (int64_t)bytes);
}

void sn_heap_sums_allocation(const uint64_t *frame, const void *block, uint64_t bytes,
			     enum sn_heap_event kind)
{
	struct sn_thread *self = sn_self;

	if (!self) {
		count_allocation(NULL, NULL, block, bytes, 0, kind == SN_HEAP_NEW);
		return;
	}
	struct sn_heap_thread *heap = sn_heap_thread_of(self);
	struct sn_heap_stream *stream = sn_heap_hold(self, heap, frame);
	if (!stream)
		return;
	uint64_t begin_tsc = measure(&stream->unmeasured);
	uint32_t path = stream == heap->streams ? sn_path_take(self, &heap->paths, frame) : 0;
	count_allocation(self, heap, block, bytes, path, kind == SN_HEAP_NEW);
	measured(begin_tsc, stream->unmeasured);
	sn_heap_let_go(stream);
}

uint64_t sn_heap_sums_take_out(const void *block)
{
	word *place = word_at(block, false);
	uint64_t known = place ? LOAD(*place) : 0;

	if (known)
		STORE(*place, 0);
	return known;
}

void sn_heap_sums_put_back(const void *block, uint64_t known)
{
	word *place = known ? word_at(block, false) : NULL;

	if (place)
		STORE(*place, known);
}

void sn_heap_sums_release(const void *block, uint64_t known)
{
	struct sn_thread *self = sn_self;
	struct sn_heap_thread *heap = self ? sn_heap_thread_of(self) : NULL;
	struct sn_heap_entry *entry;
	uint64_t begin_tsc;

	if (!known) {
		ADD(sn_heap_state->head->unknown_frees, 1);
		return;
	}
	begin_tsc = heap ? measure(&heap->unmeasured_frees) : 0;
	entry = entry_of(self, word_path(known), known & WORD_IS_NEW);
	if (!entry)
		return;
	keep_peak(entry);
	ADD(entry->frees, 1);
	ADD(entry->freed_bytes, known >> WORD_BYTES_SHIFT);
	if (heap && heap->latest == block) {
		ADD(entry->temporary, 1);
		heap->latest = NULL;
	}
	hold_more(heap, -(int64_t)(known >> WORD_BYTES_SHIFT));
	measured(begin_tsc, heap ? heap->unmeasured_frees : 0);
}

/* ---- set-up ---- */

bool sn_heap_sums_open(enum sn_heap_mode mode, uint64_t interval_bytes)
{
	struct sn_trace_piece *piece = take_piece();

	if (!piece)
		return false;
	if (mode == SN_HEAP_AGGREGATE &&
	    !(sn_heap_state->sums = make_table(sizeof(struct sn_heap_sums))))
		return false;
	sn_heap_state->head = (struct sn_heap_head *)(piece + 1);
	sn_heap_state->head->mode = mode;
	sn_heap_state->head->interval_bytes = interval_bytes;
	if (mode == SN_HEAP_AGGREGATE)
		STORE(sn_heap_state->sums->pieces[0],
		      (struct sn_heap_entry *)(sn_heap_state->head + 1));
	return true;
}
