/**
 * Writing a trace (wire/trace.h): a thread's writer owns one slot at a time. For collectors whose
 * events are too many for the data file.
 */
#ifndef SN_RUNTIME_CORE_TRACE_H
#define SN_RUNTIME_CORE_TRACE_H

#include "runtime/core/runtime.h"
#include "wire/trace.h"

/** Belongs to one thread, and is not reentrant. All zero: nothing written yet. */
/* ticks of the time-stamp counter */
enum {
	SN_TRACE_COST_MOST = 100000,
	SN_TRACE_MEASURED = 251,
	/* (chosen; 0.2 us) what an event costs beyond its readings is no part of what a long one takes: of a walk
	 * through a deep stack, of a system call that names a file */
	SN_TRACE_UNSEEN_MOST = 500,
};

struct sn_trace_writer {
	struct sn_trace_piece *piece; /* NULL: none, or none to be had */
	uint32_t used_bytes;
	uint32_t slot;
	uint32_t starved_backed, starved_given_back; /* when there was no slot */
	bool is_starved;
};

/** Set-up, also in the child of a fork: this kind is traced. Makes the file, unless another collector has. False: there is no
 *  room for it. */
bool sn_trace_open(enum sn_data_origin origin, enum sn_trace_kind kind);
/** A new piece. False: there is no slot, and that was counted as `kind`'s loss of an event. */
bool sn_trace_take_slot(struct sn_trace_writer *writer, enum sn_trace_kind kind,
			uint32_t thread_index);
/** The piece is complete: the launcher takes it. */
void sn_trace_give_slot(struct sn_trace_writer *writer);

/** CLOCK_MONOTONIC, and the time-stamp counter at that moment, although a thread may lose its CPU between the
 *  two readings. */
int64_t sn_trace_now_ns(uint64_t *tsc);

static inline struct sn_trace_header *sn_trace_header(void)
{
	return sn_state->trace;
}

/** What an event costs, in tenths of what passes from the first reading of the counter in the wrapper to the last: the call, the
 *  wait for what came before, and lines that leave the caches are not in it (bench/RESULTS.md, "Side by side on one CPU"). */
static inline uint64_t sn_trace_whole_tenths(enum sn_trace_kind kind)
{
	return kind == SN_TRACE_HEAP   ? 11
	       : kind == SN_TRACE_SYNC ? 13
	       : kind == SN_TRACE_MPI  ? 14
				       : 15;
}

/** Whether the cost of this event is measured: one in `every`, a prime, so that of events that take turns (a free after each malloc)
 *  each kind is met. `left` is the stream's, 0 at first. A thread's first event is measured for itself alone: it takes what the
 *  others find ready (a piece of the trace, pages that nobody has touched). */
static inline bool sn_trace_measures(uint32_t *left, uint32_t every)
{
	if (__builtin_expect(*left > 1, 1)) {
		--*left;
		return false;
	}
	*left = *left ? every : every / 2;
	return true;
}

/** How many events the one stands for that has just been measured. */
static inline uint32_t sn_trace_stands_for(uint32_t left, uint32_t every)
{
	return left == every / 2 ? 1 : every;
}

/** Of one event that stands for `times`. One that took very long was itself interrupted. */
static inline void sn_trace_count_cost(enum sn_trace_kind kind, uint64_t ticks, uint64_t times)
{
	uint64_t unseen = ticks * (sn_trace_whole_tenths(kind) - 10) / 10;

	unseen = unseen < SN_TRACE_UNSEEN_MOST ? unseen : SN_TRACE_UNSEEN_MOST;
	ticks = ticks < SN_TRACE_COST_MOST ? (ticks + unseen) * times : 0;
	atomic_fetch_add_explicit(&sn_trace_header()->ticks[kind], ticks, memory_order_relaxed);
	atomic_fetch_add_explicit(&sn_header()->trace_ticks, ticks, memory_order_relaxed);
}

/** Whether an agent has this kind off, although it is traced (wire/monitor.h). */
static inline bool sn_trace_is_off(enum sn_trace_kind kind)
{
	return atomic_load_explicit(&sn_state->traces_off, memory_order_relaxed) >> kind & 1;
}

static inline void sn_trace_lose(enum sn_trace_kind kind)
{
	atomic_fetch_add_explicit(&sn_trace_header()->lost[kind], 1, memory_order_relaxed);
}

/** Whether a function of ours that was writing has been left by longjmp: its frame lies no further out
 * than that of the one that writes now, and both are on the thread's own stack. */
static inline bool sn_trace_is_abandoned(const struct sn_thread *self, uint64_t holder,
					 uint64_t frame)
{
	uint64_t bytes = self->stack_end - self->stack_start;

	return holder <= frame && holder - self->stack_start < bytes &&
	       frame - self->stack_start < bytes;
}

/** Where the next event goes, with room for `bytes`. NULL: a new piece is to be taken. */
static inline uint8_t *sn_trace_room(const struct sn_trace_writer *writer, uint32_t bytes)
{
	return __builtin_expect(writer->piece != NULL, 1) &&
			       writer->used_bytes + bytes <= SN_TRACE_SLOT_BYTES
		       ? (uint8_t *)writer->piece + writer->used_bytes
		       : NULL;
}

/** The event ends at `end`. */
static inline void sn_trace_commit(struct sn_trace_writer *writer, const uint8_t *end)
{
	writer->used_bytes = (uint32_t)(end - (const uint8_t *)writer->piece);
	atomic_store_explicit(&writer->piece->committed_bytes, writer->used_bytes,
			      memory_order_release);
}

#endif
