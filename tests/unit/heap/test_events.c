#include "harness/tap.h"
#include "heap/parts.h"
#include "made_trace.h"

static uint32_t length_of(const struct made_piece *made)
{
	return made->piece.committed_bytes;
}

TEST(events_come_back_as_they_were_written)
{
	static const uint64_t addresses[] = { 0x7f0000001230, 0x7f0000001240, 0x10,
					      0x7ffffffffff8, 0x7f0000001231, 0xfffffffffffffff0 };
	static const uint64_t sizes[] = { 0, 1, 127, 128, UINT64_MAX };
	struct made_piece made;
	struct sn_heap_reader reader;
	struct sn_heap_event_read event;
	uint64_t tsc = 1000;

	made_begin(&made, 1, 0, tsc);
	for (unsigned i = 0; i < 60; i++)
		made_event(&made,
			   i % 3 == 2 ? SN_HEAP_FREE
			   : i % 2    ? SN_HEAP_NEW
				      : SN_HEAP_ALLOC,
			   tsc += i * i * i, addresses[i % 6], sizes[i % 5], i / 7 * 1000);
	sn_heap_reader_open(&reader, &made.piece, length_of(&made));
	tsc = 1000;
	for (unsigned i = 0; i < 60; i++) {
		REQUIRE(sn_heap_reader_next(&reader, &event));
		CHECK_INT(event.tsc, tsc += i * i * i);
		CHECK(event.address == addresses[i % 6]);
		if (i % 3 == 2) {
			CHECK_INT(event.kind, SN_HEAP_FREE);
			continue;
		}
		CHECK_INT(event.kind, i % 2 ? SN_HEAP_NEW : SN_HEAP_ALLOC);
		CHECK(event.bytes == sizes[i % 5]);
		CHECK_INT(event.path, i / 7 * 1000);
	}
	CHECK(!sn_heap_reader_next(&reader, &event));
	CHECK(!reader.is_damaged);
}

TEST(an_event_has_at_most_so_many_bytes)
{
	struct made_piece made;
	uint8_t *before;

	made_begin(&made, 1, 0, 0);
	made_event(&made, SN_HEAP_FREE, 0, 0x7fffffffffff, 0, 0);
	before = made.end;
	made_event(&made, SN_HEAP_ALLOC, UINT64_MAX, 1ULL << 63, UINT64_MAX, UINT32_MAX);
	CHECK(made.end - before <= SN_HEAP_EVENT_MAX);
}

/* Wherever a piece is cut, and whatever its bytes are, reading ends. */
TEST(cut_and_damaged_pieces_end)
{
	struct made_piece made, changed;
	struct sn_heap_reader reader;
	struct sn_heap_event_read event;
	unsigned count;

	made_begin(&made, 1, 0, 5);
	for (unsigned i = 0; i < 40; i++)
		made_event(&made, i % 2 ? SN_HEAP_FREE : SN_HEAP_ALLOC, 5 + i * 1000,
			   0x1000 + i * 16, i, i);
	for (uint32_t bytes = sizeof(made.piece); bytes <= length_of(&made); bytes++) {
		sn_heap_reader_open(&reader, &made.piece, bytes);
		for (count = 0; sn_heap_reader_next(&reader, &event); count++)
			;
		CHECK(count <= 40);
	}
	for (uint32_t at = sizeof(made.piece); at < length_of(&made); at++) {
		for (unsigned bit = 0; bit < 8; bit++) {
			changed = made;
			changed.bytes[at] ^= (uint8_t)(1u << bit);
			sn_heap_reader_open(&reader, &changed.piece, length_of(&made));
			for (count = 0; sn_heap_reader_next(&reader, &event); count++)
				;
			CHECK(count <= length_of(&made));
		}
	}
}
