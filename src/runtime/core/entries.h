/**
 * Entries of a trace that are counted up where they lie (wire/entries.h): what collectors that write such
 * have in common. A thread has two streams of entries; the second is for a signal's handler that interrupts
 * the first.
 */
#ifndef SN_RUNTIME_CORE_ENTRIES_H
#define SN_RUNTIME_CORE_ENTRIES_H

#include <string.h>

#include "runtime/core/paths.h"
#include "runtime/core/trace.h"
#include "wire/entries.h"

enum {
	SN_ENTRY_INDEX = 1024, /* places of entries in a piece, which has 255: a power of two */
};

struct sn_entry_stream {
	struct sn_trace_writer writer;
	uint64_t holder; /* frame of the function that writes at the moment; 0: none */
	uint64_t time_tsc;
	uint32_t window;		/* of sn_state, that the piece is of */
	uint32_t unmeasured;		/* notes until one is measured */
	uint16_t index[SN_ENTRY_INDEX]; /* number of an entry in the piece; 0: none */
};

/** What a thread has of them; in scratch, the last member there. */
struct sn_entries {
	struct sn_entry_stream streams[2];
	struct sn_path_cache paths;
};

/** For a thread that begins. `begin`: of what is cleared with it in the collector's scratch. */
static inline void sn_entries_clear(void *begin, struct sn_entries *entries)
{
	memset(begin, 0, (size_t)((uint8_t *)entries->paths.frames - (uint8_t *)begin));
}

/** Both clocks, into the first entry of the piece, which the stream has. */
void sn_entries_put_time(struct sn_entry_stream *stream);
/** Copies an entry behind the others, in a new piece if need be. NULL: lost, counted. */
void *sn_entries_append(struct sn_entry_stream *stream, enum sn_trace_kind kind,
			const struct sn_thread *self, const void *entry);
/** Room for so many bytes behind the last entry, which are to be committed. NULL: lost, counted. */
void *sn_entries_reserve(struct sn_entry_stream *stream, enum sn_trace_kind kind,
			 const struct sn_thread *self, uint32_t bytes);
/** The thread ends: its pieces are the launcher's. */
void sn_entries_end_thread(struct sn_entries *entries);
/** The image ends, or the thread: the last pair of clocks, if the caller is that thread. */
void sn_entries_account(const struct sn_thread *thread, struct sn_entries *entries);

static inline void *sn_entry_at(const struct sn_entry_stream *stream, uint32_t number)
{
	return (uint8_t *)(stream->writer.piece + 1) + (size_t)number * SN_ENTRY_BYTES;
}

static inline uint16_t sn_entry_number(const struct sn_entry_stream *stream, const void *entry)
{
	return (uint16_t)(((const uint8_t *)entry - (const uint8_t *)(stream->writer.piece + 1)) /
			  SN_ENTRY_BYTES);
}

/** Another window of an agent's has begun: a new piece, whose begin says which. */
void sn_entries_begin_window(struct sn_entry_stream *stream);

/** The stream to write to, held from here on. NULL: both are at work; the event is lost, counted. */
static inline struct sn_entry_stream *sn_entries_hold(const struct sn_thread *self,
						      struct sn_entries *entries,
						      enum sn_trace_kind kind,
						      const uint64_t *frame)
{
	uint64_t at = (uint64_t)(uintptr_t)frame;

	for (unsigned i = 0; i < 2; i++) {
		struct sn_entry_stream *stream = &entries->streams[i];
		if (__builtin_expect(stream->holder != 0, 0)) {
			if (!sn_trace_is_abandoned(self, stream->holder, at))
				continue;
			entries->paths.frame_count = 0;
		}
		stream->holder = at;
		atomic_signal_fence(memory_order_seq_cst);
		if (__builtin_expect(stream->window != atomic_load_explicit(&sn_state->windows,
									    memory_order_relaxed),
				     0))
			sn_entries_begin_window(stream);
		return stream;
	}
	sn_trace_lose(kind);
	return NULL;
}

static inline void sn_entries_let_go(struct sn_entry_stream *stream)
{
	atomic_signal_fence(memory_order_seq_cst);
	stream->holder = 0;
}

/** When a note begins that is to be measured; 0: this one is not. */
static inline uint64_t sn_entries_measure(struct sn_entry_stream *stream, uint32_t every)
{
	return sn_trace_measures(&stream->unmeasured, every) ? __builtin_ia32_rdtsc() : 0;
}

/** The note is over; it stands for `times` such. */
static inline void sn_entries_measured(enum sn_trace_kind kind, uint64_t begin_tsc, uint64_t times)
{
	if (__builtin_expect(begin_tsc != 0, 0))
		sn_trace_count_cost(kind, __builtin_ia32_rdtsc() - begin_tsc, times);
}

/** The call path of a wrapper's caller; 0: none, in a handler that interrupted us. */
static inline uint32_t sn_entries_path(struct sn_thread *self, struct sn_entries *entries,
				       const struct sn_entry_stream *stream, const uint64_t *frame)
{
	return stream == entries->streams ? sn_path_take(self, &entries->paths, frame) : 0;
}

/** One instruction: a signal's handler may count the same entry. */
static inline void sn_entry_add(uint64_t *count, uint64_t more)
{
	__asm__ volatile("addq %1, %0" : "+m"(*count) : "er"(more) : "cc");
}

#endif
