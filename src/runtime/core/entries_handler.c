/* Entries of a trace: appended to the thread's piece, which begins with a pair of clocks. */
#include "runtime/core/entries.h"

void sn_entries_put_time(struct sn_entry_stream *stream)
{
	struct sn_entry_time *time = sn_entry_at(stream, 0);
	int64_t now_ns = sn_now_ns();

	/* a reader that comes between takes it for none */
	atomic_store_explicit(&time->type, SN_ENTRY_NONE, memory_order_relaxed);
	atomic_thread_fence(memory_order_release);
	time->tsc = stream->time_tsc = __builtin_ia32_rdtsc();
	time->ns = (uint64_t)now_ns;
	time->tid = sn_self ? (uint32_t)sn_self->tid : 0;
	time->creator = sn_self ? sn_self->creator_index : 0;
	atomic_store_explicit(&time->type, SN_ENTRY_TIME, memory_order_release);
}

void *sn_entries_reserve(struct sn_entry_stream *stream, enum sn_trace_kind kind,
			 const struct sn_thread *self, uint32_t bytes)
{
	uint8_t *at = sn_trace_room(&stream->writer, bytes);

	if (__builtin_expect(at != NULL, 1))
		return at;
	if (!sn_trace_take_slot(&stream->writer, kind, self ? self->index : SN_TRACE_NO_THREAD))
		return NULL;
	memset(stream->index, 0, sizeof stream->index);
	at = sn_trace_room(&stream->writer, SN_ENTRY_BYTES);
	memset(at, 0, SN_ENTRY_BYTES);
	sn_entries_put_time(stream);
	sn_trace_commit(&stream->writer, at + SN_ENTRY_BYTES);
	return sn_trace_room(&stream->writer, bytes);
}

void sn_entries_begin_window(struct sn_entry_stream *stream)
{
	stream->window = atomic_load_explicit(&sn_state->windows, memory_order_relaxed);
	if (!stream->writer.piece)
		return;
	sn_entries_put_time(stream);
	sn_trace_give_slot(&stream->writer);
}

void *sn_entries_append(struct sn_entry_stream *stream, enum sn_trace_kind kind,
			const struct sn_thread *self, const void *entry)
{
	uint8_t *at = sn_entries_reserve(stream, kind, self, SN_ENTRY_BYTES);

	if (!at)
		return NULL;
	memcpy(at, entry, SN_ENTRY_BYTES);
	sn_trace_commit(&stream->writer, at + SN_ENTRY_BYTES);
	return at;
}

void sn_entries_end_thread(struct sn_entries *entries)
{
	for (unsigned i = 0; i < 2; i++) {
		if (entries->streams[i].writer.piece)
			sn_entries_put_time(&entries->streams[i]);
		sn_trace_give_slot(&entries->streams[i].writer);
	}
}

void sn_entries_account(const struct sn_thread *thread, struct sn_entries *entries)
{
	struct sn_entry_stream *stream = &entries->streams[0];

	if (thread == sn_self && !stream->holder && stream->writer.piece)
		sn_entries_put_time(stream);
}
