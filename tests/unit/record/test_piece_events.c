#include "record/piece_events.h"

#include <stdlib.h>
#include <string.h>

#include "harness/tap.h"
#include "wire/heap.h"
#include "wire/io.h"
#include "wire/mpi.h"
#include "wire/sync.h"

static union {
	struct sn_trace_piece piece;
	uint8_t bytes[SN_TRACE_SLOT_BYTES];
} slot;

static uint64_t events_of(enum sn_trace_kind kind, const void *bytes, size_t length)
{
	memset(&slot, 0, sizeof(slot));
	slot.piece.kind = kind;
	memcpy(slot.bytes + sizeof(slot.piece), bytes, length);
	return sn_piece_events(&slot.piece, (uint32_t)(sizeof(slot.piece) + length));
}

TEST(allocations_and_frees_are_counted_and_times_are_not)
{
	static const uint8_t bytes[] = {
		SN_HEAP_ALLOC,
		0x85,
		1,
		2,
		3,
		4, /* ticks, address, size, path */
		SN_HEAP_NEW | SN_HEAP_SAME_PATH,
		5,
		0x80,
		0x80,
		1,
		6, /* ticks, address, size */
		SN_HEAP_TIME,
		7,
		8, /* ticks, ns */
		SN_HEAP_FREE | SN_HEAP_UNALIGNED,
		9,
		10, /* ticks, address */
	};

	CHECK_INT(events_of(SN_TRACE_HEAP, bytes, sizeof(bytes)), 3);
	/* one that is cut short is none */
	CHECK_INT(events_of(SN_TRACE_HEAP, bytes, sizeof(bytes) - 1), 2);
	CHECK_INT(events_of(SN_TRACE_HEAP, bytes, 0), 0);
}

TEST(calls_of_mpi_are_counted_and_what_they_did_is_not)
{
	static const uint8_t bytes[] = {
		SN_MPI_WORLD,
		1,
		2,
		3,
		4,
		SN_MPI_COMM,
		1,
		2,
		3,
		4,
		5,
		2,
		1,
		1,
		1,
		2,
		2,
		2,
		SN_MPI_CALL,
		1,
		2,
		3,
		4,
		SN_MPI_SEND | SN_MPI_HAS_HANDLE,
		1,
		2,
		3,
		4,
		5,
		SN_MPI_CALL | SN_MPI_SAME_PATH | SN_MPI_FAILED,
		1,
		2,
		3,
		4,
		SN_MPI_CALL | SN_MPI_SAME_PATH | SN_MPI_GOES_ON,
		1,
		2,
		3, /* the one before, again */
		SN_MPI_START | SN_MPI_HAS_HANDLE,
		1,
		SN_MPI_TIME,
		1,
		2,
		SN_MPI_CALL | SN_MPI_SAME_PATH,
		1,
		2,
		3,
	};

	CHECK_INT(events_of(SN_TRACE_MPI, bytes, sizeof(bytes)), 3);
}

TEST(entries_count_what_they_have_counted)
{
	struct sn_io_entry io[] = {
		{ .type = SN_IO_COUNT, .calls = 1000 },
		{ .type = SN_IO_NAME, .calls = 70 }, /* bytes of the text, in two entries */
		{ .type = SN_IO_COUNT, .calls = 1 << 20 },
		{ .type = SN_IO_COUNT, .calls = 1 << 20 },
		{ .type = SN_IO_COUNT, .calls = 5 },
	};
	struct sn_sync_entry sync[] = {
		{ .type = SN_SYNC_TIME },
		{ .type = SN_SYNC_COUNT, .count = 30 },
		{ .type = SN_SYNC_WAIT },
		{ .type = SN_SYNC_RELEASE },
	};

	CHECK_INT(events_of(SN_TRACE_IO, io, sizeof(io)), 1005);
	CHECK_INT(events_of(SN_TRACE_SYNC, sync, sizeof(sync)), 31);
}
