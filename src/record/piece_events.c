/* Counts events without knowing what they mean: the numbers behind each tag are skipped. */
#include "record/piece_events.h"

#include <stdbool.h>

#include "wire/entries.h"
#include "wire/heap.h"
#include "wire/io.h"
#include "wire/mpi.h"
#include "wire/openmp.h"
#include "wire/sync.h"

struct bytes {
	const uint8_t *next, *end;
};

/* LEB128 numbers (wire/trace.h). False: the bytes end before. */
static bool numbers_skip(struct bytes *bytes, uint64_t count)
{
	while (count && bytes->next < bytes->end)
		count -= *bytes->next++ < 128;
	return !count;
}

static bool number_read(struct bytes *bytes, uint64_t *out)
{
	*out = 0;
	for (unsigned shift = 0; shift < 64 && bytes->next < bytes->end; shift += 7) {
		*out |= (uint64_t)(*bytes->next & 127) << shift;
		if (*bytes->next++ < 128)
			return true;
	}
	return false;
}

static uint64_t heap_events(struct bytes bytes)
{
	static const uint8_t numbers[SN_HEAP_EVENTS] = {
		[SN_HEAP_ALLOC] = 4, [SN_HEAP_NEW] = 4, [SN_HEAP_FREE] = 2, [SN_HEAP_TIME] = 2
	};
	uint64_t events = 0;

	while (bytes.next < bytes.end) {
		uint8_t tag = *bytes.next++, kind = tag & SN_HEAP_KIND_MASK;

		if (kind == SN_HEAP_NONE || kind >= SN_HEAP_EVENTS ||
		    !numbers_skip(&bytes, numbers[kind] - (tag & SN_HEAP_SAME_PATH ? 1u : 0u)))
			break;
		events += kind != SN_HEAP_TIME;
	}
	return events;
}

/* Of a communicator there are three numbers for each run of ranks behind the others. */
static bool comm_skip(struct bytes *bytes)
{
	uint64_t runs;

	return numbers_skip(bytes, 5) && number_read(bytes, &runs) && runs < SN_TRACE_SLOT_BYTES &&
	       numbers_skip(bytes, 3 * runs);
}

static uint64_t mpi_events(struct bytes bytes)
{
	static const uint8_t numbers[SN_MPI_EVENTS] = {
		[SN_MPI_TIME] = 2,     [SN_MPI_SEND] = 4,	[SN_MPI_RECV] = 4,
		[SN_MPI_MATCHED] = 3,  [SN_MPI_DONE] = 3,	[SN_MPI_PROBE] = 4,
		[SN_MPI_TRANSFER] = 2, [SN_MPI_COLLECTIVE] = 4, [SN_MPI_COMM_FREE] = 1,
		[SN_MPI_WORLD] = 4,
	};
	uint64_t events = 0;

	while (bytes.next < bytes.end) {
		uint8_t tag = *bytes.next++, kind = tag & SN_MPI_KIND_MASK;
		bool is_whole;

		if (kind == SN_MPI_NONE || kind >= SN_MPI_EVENTS)
			break;
		if (kind == SN_MPI_CALL)
			is_whole = numbers_skip(&bytes, 3u + !(tag & SN_MPI_SAME_PATH) +
								!!(tag & SN_MPI_FAILED));
		else if (kind == SN_MPI_COMM)
			is_whole = comm_skip(&bytes);
		else
			is_whole =
				numbers_skip(&bytes, numbers[kind] + !!(tag & SN_MPI_HAS_HANDLE));
		if (!is_whole)
			break;
		events += kind == SN_MPI_CALL && !(tag & SN_MPI_GOES_ON);
	}
	return events;
}

static uint64_t heap_sums(const struct sn_trace_piece *piece, uint32_t count)
{
	const struct sn_heap_entry *entries = (const void *)(piece + 1);
	uint64_t events = 0;

	for (uint32_t i = 1; i < count; i++) /* the first is the head */
		events += entries[i].allocations + entries[i].frees;
	return events;
}

/* Calls that leave no event of their own. */
static uint64_t mpi_counts(const struct sn_trace_piece *piece, uint32_t bytes)
{
	const struct sn_mpi_counts *counts = (const void *)(piece + 1);
	uint64_t calls = 0;

	if (bytes < sizeof(*counts))
		return 0;
	for (uint32_t i = 0; i < SN_MPI_FUNCTION_COUNT; i++)
		calls += counts->functions[i].calls;
	return calls;
}

/* What an entry has counted; the types of each kind are its own. */
static uint64_t entry_events(uint32_t kind, const void *entry)
{
	const struct sn_sync_entry *sync = entry;
	const struct sn_io_entry *io = entry;
	const struct sn_openmp_entry *openmp = entry;

	switch (kind) {
	case SN_TRACE_SYNC:
		return sync->type == SN_SYNC_COUNT ? sync->count : sync->type == SN_SYNC_WAIT;
	case SN_TRACE_IO:
		return io->type == SN_IO_COUNT ? io->calls : 0;
	case SN_TRACE_OPENMP:
		return openmp->type == SN_OPENMP_REGION || openmp->type == SN_OPENMP_CONSTRUCT
			       ? openmp->count
			       : 0;
	default:
		return 0;
	}
}

static uint64_t entries_sum(const struct sn_trace_piece *piece, uint32_t count)
{
	const uint8_t *at = (const void *)(piece + 1);
	uint64_t events = 0;

	for (uint32_t i = 0; i < count; i++, at += SN_ENTRY_BYTES) {
		const struct sn_io_entry *io = (const void *)at;

		events += entry_events(piece->kind, at);
		if (piece->kind == SN_TRACE_IO && io->type == SN_IO_NAME) {
			/* its text takes entries */
			uint64_t text = (io->calls + SN_ENTRY_BYTES - 1) / SN_ENTRY_BYTES;

			if (text >= count - i)
				break;
			i += (uint32_t)text;
			at += text * SN_ENTRY_BYTES;
		}
	}
	return events;
}

uint64_t sn_piece_events(const struct sn_trace_piece *piece, uint32_t committed_bytes)
{
	const uint8_t *start = (const void *)(piece + 1);
	uint32_t bytes = committed_bytes - (uint32_t)sizeof(*piece);

	switch (piece->kind) {
	case SN_TRACE_HEAP:
		return heap_events((struct bytes){ start, start + bytes });
	case SN_TRACE_MPI:
		return mpi_events((struct bytes){ start, start + bytes });
	case SN_TRACE_MPI_COUNTS:
		return mpi_counts(piece, bytes);
	case SN_TRACE_HEAP_SUMS:
		return heap_sums(piece, bytes / SN_HEAP_ENTRY_BYTES);
	case SN_TRACE_SYNC:
	case SN_TRACE_IO:
	case SN_TRACE_OPENMP:
		return entries_sum(piece, bytes / SN_ENTRY_BYTES);
	default:
		return 0;
	}
}
