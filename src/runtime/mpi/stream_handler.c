/* Events of MPI: encoded, and written to the thread's trace. */
#include <sys/mman.h>

#include "runtime/mpi/mpi.h"

/* A reader needs pairs of ticks and ns: the first soon, for short runs, then every 0.1 s. */
static const uint64_t time_gap_first = 1u << 20, time_gap_most = 1u << 28;

static bool begin_piece(struct sn_thread *self, struct sn_mpi_stream *stream)
{
	if (!sn_trace_take_slot(&stream->writer, SN_TRACE_MPI, self->index))
		return false;
	stream->last_tsc = stream->time_tsc = stream->writer.piece->base_tsc;
	stream->last_path = 0;
	stream->last_handle = 0;
	if (!stream->time_gap)
		stream->time_gap = time_gap_first;
	return true;
}

static uint8_t *put_time(struct sn_mpi_stream *stream, uint8_t *at)
{
	uint64_t tsc;
	int64_t now_ns = sn_trace_now_ns(&tsc);

	*at++ = SN_MPI_TIME;
	at = sn_trace_put(at, tsc - stream->last_tsc);
	at = sn_trace_put(at, (uint64_t)(now_ns - stream->writer.piece->base_ns));
	stream->last_tsc = stream->time_tsc = tsc;
	if (stream->time_gap < time_gap_most)
		stream->time_gap *= 2;
	return at;
}

/* Times within a piece may lie before its base, as a call is written when it has ended. */
static uint8_t *put_head(struct sn_mpi_stream *stream, uint8_t *at, uint8_t flags)
{
	bool is_same = stream->path == stream->last_path;

	if (is_same)
		flags |= SN_MPI_SAME_PATH;
	if (stream->error)
		flags |= SN_MPI_FAILED;
	*at++ = (uint8_t)(SN_MPI_CALL | flags);
	at = sn_trace_put(at, stream->function);
	at = sn_trace_put(at, sn_trace_zigzag((int64_t)(stream->begin_tsc - stream->last_tsc)));
	at = sn_trace_put(at, stream->end_tsc - stream->begin_tsc);
	if (!is_same)
		at = sn_trace_put(at, stream->path);
	if (stream->error)
		at = sn_trace_put(at, stream->error);
	stream->last_tsc = stream->end_tsc;
	stream->last_path = stream->path;
	return at;
}

/* Room for an event; in a new piece the call is told again. NULL: there is none. */
static uint8_t *make_room(struct sn_thread *self, struct sn_mpi_stream *stream, uint32_t bytes)
{
	uint8_t *at = sn_trace_room(&stream->writer, bytes);

	if (__builtin_expect(at != NULL, 1))
		return at;
	if (!begin_piece(self, stream))
		return NULL;
	at = sn_trace_room(&stream->writer, bytes + SN_MPI_EVENT_MAX);
	if (stream->is_in_call) {
		at = put_head(stream, at, SN_MPI_GOES_ON);
		sn_trace_commit(&stream->writer, at);
	}
	return at;
}

bool sn_mpi_put_call(struct sn_thread *self, struct sn_mpi_thread *mpi,
		     const struct sn_mpi_call *call, uint64_t end_tsc)
{
	struct sn_mpi_stream *stream = &mpi->stream;
	uint8_t *at;

	stream->is_in_call = false;
	at = make_room(self, stream, 4 * SN_MPI_EVENT_MAX);
	if (!at)
		return false;
	if (__builtin_expect(
		    end_tsc - stream->time_tsc > stream->time_gap && end_tsc > stream->time_tsc, 0))
		at = put_time(stream, at);
	stream->function = call->function;
	stream->path = call->path;
	stream->begin_tsc = call->begin_tsc;
	stream->end_tsc = end_tsc;
	stream->error = (uint32_t)call->result;
	sn_trace_commit(&stream->writer, put_head(stream, at, 0));
	stream->is_in_call = true;
	return true;
}

void sn_mpi_end_call(struct sn_mpi_thread *mpi)
{
	mpi->stream.is_in_call = false;
}

void sn_mpi_put(struct sn_thread *self, struct sn_mpi_thread *mpi, uint8_t tag,
		const uint64_t *values, uint32_t count, const uint64_t *handle)
{
	uint8_t *at = make_room(self, &mpi->stream, 1 + 10 * (count + 1));

	if (!at)
		return;
	*at++ = (uint8_t)(tag | (handle ? SN_MPI_HAS_HANDLE : 0));
	for (uint32_t i = 0; i < count; i++)
		at = sn_trace_put(at, values[i]);
	if (handle) {
		at = sn_trace_put(at,
				  sn_trace_zigzag((int64_t)(*handle - mpi->stream.last_handle)));
		mpi->stream.last_handle = *handle;
	}
	sn_trace_commit(&mpi->stream.writer, at);
}

uint8_t *sn_mpi_memory(struct sn_mpi_thread *mpi, uint64_t bytes)
{
	long at;

	if (bytes <= mpi->memory_bytes)
		return mpi->memory;
	bytes = (bytes + bytes / 2 + 65535) & ~65535ULL;
	if (sn_state->is_sealed)
		return NULL;
	at = SYS(mmap, NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (at < 0 && at > -4096)
		return NULL;
	if (mpi->memory)
		SYS(munmap, mpi->memory, mpi->memory_bytes);
	mpi->memory = (uint8_t *)at;
	mpi->memory_bytes = bytes;
	return mpi->memory;
}

struct sn_mpi_counts *sn_mpi_counts_of(struct sn_thread *self, struct sn_mpi_thread *mpi)
{
	struct sn_trace_writer *writer = &mpi->counts_writer;

	if (mpi->counts)
		return mpi->counts;
	if (writer->is_starved || !sn_trace_take_slot(writer, SN_TRACE_MPI_COUNTS, self->index))
		return NULL;
	mpi->counts = (struct sn_mpi_counts *)(writer->piece + 1);
	memset(mpi->counts, 0, sizeof *mpi->counts);
	mpi->counts->function_count = SN_MPI_FUNCTION_COUNT;
	sn_trace_commit(writer, (const uint8_t *)(mpi->counts + 1));
	return mpi->counts;
}
