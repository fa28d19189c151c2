/* Slots of the trace: a writer takes a free one, fills it, and leaves it to the launcher. */
#include "runtime/core/trace.h"

int64_t sn_trace_now_ns(uint64_t *tsc)
{
	enum { TRIES = 4, TICKS_CLOSE = 2000 /* a microsecond or less; a reading takes 100 */ };
	int64_t now_ns = 0;

	for (int i = 0; i < TRIES; i++) {
		uint64_t before = __builtin_ia32_rdtsc();
		now_ns = sn_now_ns();
		*tsc = __builtin_ia32_rdtsc();
		if (*tsc - before < TICKS_CLOSE)
			break;
	}
	return now_ns;
}

static bool try_slot(struct sn_trace_header *header, uint32_t slot)
{
	uint32_t state = SN_TRACE_FREE;

	return atomic_load_explicit(&header->states[slot], memory_order_relaxed) == SN_TRACE_FREE &&
	       atomic_compare_exchange_strong_explicit(&header->states[slot], &state,
						       SN_TRACE_OWNED, memory_order_acquire,
						       memory_order_relaxed);
}

/* UINT32_MAX: there is none. */
static uint32_t find_slot(struct sn_trace_header *header, uint32_t backed)
{
	uint32_t first = atomic_load_explicit(&header->hint, memory_order_relaxed);

	for (uint32_t i = 0; i < backed; i++) {
		uint32_t slot = (first + i) % backed;
		if (try_slot(header, slot)) {
			atomic_store_explicit(&header->hint, slot + 1, memory_order_relaxed);
			return slot;
		}
	}
	return UINT32_MAX;
}

/* Nothing has changed since there was no slot: so there is none now. */
static bool is_hopeless(const struct sn_trace_writer *writer, const struct sn_trace_header *header,
			uint32_t backed, uint32_t given_back)
{
	return atomic_load_explicit(&header->is_closed, memory_order_relaxed) ||
	       (writer->is_starved && writer->starved_backed == backed &&
		writer->starved_given_back == given_back);
}

bool sn_trace_take_slot(struct sn_trace_writer *writer, enum sn_trace_kind kind,
			uint32_t thread_index)
{
	struct sn_trace_header *header = sn_trace_header();
	uint32_t backed = atomic_load_explicit(&header->slots_backed, memory_order_acquire);
	uint32_t given_back = atomic_load_explicit(&header->given_back, memory_order_acquire);
	uint32_t slot = UINT32_MAX;

	sn_trace_give_slot(writer);
	if (!is_hopeless(writer, header, backed, given_back))
		slot = find_slot(header, backed);
	writer->is_starved = slot == UINT32_MAX;
	if (writer->is_starved) {
		writer->starved_backed = backed;
		writer->starved_given_back = given_back;
		sn_trace_lose(kind);
		return false;
	}
	struct sn_trace_piece *piece = (void *)((uint8_t *)header + sn_trace_slot_offset(slot));
	/* of the piece before nothing may be taken for one of this */
	atomic_store_explicit(&piece->committed_bytes, 0, memory_order_relaxed);
	atomic_thread_fence(memory_order_release);
	piece->magic = SN_TRACE_PIECE_MAGIC;
	piece->number = atomic_fetch_add_explicit(&header->next_piece, 1, memory_order_relaxed);
	piece->pid = header->pid;
	piece->sequence = header->sequence;
	piece->thread_index = thread_index;
	piece->kind = kind;
	uint64_t tsc;
	piece->base_ns = sn_trace_now_ns(&tsc);
	piece->base_tsc = tsc;
	writer->piece = piece;
	writer->slot = slot;
	sn_trace_commit(writer, (const uint8_t *)(piece + 1));
	return true;
}

void sn_trace_give_slot(struct sn_trace_writer *writer)
{
	if (!writer->piece)
		return;
	atomic_store_explicit(&sn_trace_header()->states[writer->slot], SN_TRACE_FULL,
			      memory_order_release);
	writer->piece = NULL;
}
