#include "experiment/accesses.h"
#include "experiment/decode.h"
#include "wire/accesses.h"

#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "harness/tap.h"
#include "wire/writer.h"

enum { CHUNKS = 8, T0 = 1000000, LOOP = 3 };

#define MARKER(kind, number) ((uint64_t)(kind) << SN_ACCESS_MARKER_SHIFT | (number))
#define LEAVE(line, left)    MARKER(SN_ACCESS_LEAVE, (line) << SN_ACCESS_LINE_SHIFT | (left))

/* A loop whose table has a group of two accesses, a line with two strided ones in two blocks, and a line
 * in which a strided one is followed by a group of one. */
static const struct {
	struct sn_access_table head;
	struct sn_access_site sites[6];
	struct sn_access_group groups[2];
	struct sn_access_line lines[2];
	struct sn_access_member members[4];
} table = {
	.head = { 6, 2, 2, 4 },
	.sites = { { 0x10, 0, 8, SN_ACCESS_READ },
		   { 0x14, 0, 4, SN_ACCESS_BOTH },
		   { 0x20, 8, 8, SN_ACCESS_READ },
		   { 0x24, -16, 16, SN_ACCESS_WRITE },
		   { 0x30, 4, 4, SN_ACCESS_READ },
		   { 0x34, 0, 8, SN_ACCESS_READ } },
	.groups = { { 0, 2 }, { 5, 1 } },
	.lines = { { 0, 2, 1, 1, 2 }, { 2, 2, -2, 0, 1 } },
	.members = { { 2, 0, 0 }, { 3, 0, 1 }, { 4, 0, 0 }, { 1, 1, 0 } },
};

struct run {
	struct sn_writer_file file;
	struct sn_writer writer;
	size_t length;
};

static void run_begin(struct run *run)
{
	struct sn_data_header *h;
	struct sn_record_access_table *record;
	uint32_t bytes = sizeof(*record) + sizeof(table);

	run->length = sn_data_file_bytes(CHUNKS);
	run->file = (struct sn_writer_file){ .base = aligned_alloc(4096, run->length) };
	memset(run->file.base, 0, run->length);
	atomic_store(&run->file.half_full, SN_CHUNK_NONE);
	h = (void *)run->file.base;
	h->magic = SN_DATA_MAGIC;
	h->version = SN_DATA_VERSION;
	h->header_bytes = SN_DATA_HEADER_BYTES;
	h->chunk_bytes = SN_DATA_CHUNK_BYTES;
	h->chunks_backed = h->chunks_max = CHUNKS;
	h->rank = -1;
	h->start_ns = h->process_start_ns = T0;
	h->start_realtime_ns = T0;
	run->writer = (struct sn_writer){ .file = &run->file, .tid = 100 };
	record = sn_writer_reserve(&run->writer, bytes, T0);
	*record = (struct sn_record_access_table){ .header = { SN_RECORD_ACCESS_TABLE, 0,
							       (uint16_t)bytes },
						   .loop = LOOP,
						   .total_bytes = sizeof(table) };
	memcpy(record->bytes, &table, sizeof(table));
	sn_writer_commit(&run->writer, bytes);
}

static void part(struct run *run, uint8_t flags, uint64_t number, const uint64_t *words,
		 uint32_t count)
{
	uint32_t bytes = (uint32_t)(sizeof(struct sn_record_accesses) + 8 * count);
	struct sn_record_accesses *record = sn_writer_reserve(&run->writer, bytes, T0);

	*record = (struct sn_record_accesses){ .header = { SN_RECORD_ACCESSES, flags,
							   (uint16_t)bytes },
					       .loop = LOOP,
					       .word_count = count,
					       .number = number,
					       .time_ns = T0 + 10 * (int64_t)number,
					       .end_ns = T0 + 10 * (int64_t)number + 5 };
	memcpy(record->words, words, 8 * (size_t)count);
	sn_writer_commit(&run->writer, bytes);
}

static struct sn_experiment *decode(struct run *run)
{
	struct sn_decoder decoder = { .experiment = sn_experiment_new("x") };

	sn_decode_data(&decoder, run->file.base, run->length, "x");
	sn_decoder_finish(&decoder);
	free(run->file.base);
	return decoder.experiment;
}

/* "pc address pc address ..." in the order of the walk */
static void check_walk(const struct sn_access_window *window, const char *want)
{
	struct sn_access_cursor cursor = { .window = window };
	struct sn_text text = { 0 };
	struct sn_access access;

	while (sn_access_next(&cursor, &access))
		sn_text_addf(&text, "%s%llx %llx", text.length ? " " : "",
			     (unsigned long long)access.link_addr,
			     (unsigned long long)access.address);
	CHECK_STRING(text.chars ? text.chars : "", want);
	sn_text_free(&text);
}

#define WHOLE (SN_ACCESS_FIRST | SN_ACCESS_LAST)
#define WINDOW(run, flags, number, ...)                                                            \
	do {                                                                                       \
		const uint64_t words[] = { __VA_ARGS__ };                                          \
		part(run, flags, number, words, sizeof(words) / sizeof(*words));                   \
	} while (0)

TEST(words_become_accesses_in_the_order_of_the_program)
{
	struct run run;
	struct sn_experiment *e;

	run_begin(&run);
	/* a group; a line passed twice and left in its first block */
	WINDOW(&run, WHOLE, 0, MARKER(SN_ACCESS_GROUP, 0), 0x1000, 0x2000,
	       MARKER(SN_ACCESS_ENTER, 0), 5, 0x3000, 0x4000, LEAVE(0, 1), 7);
	/* left in the block that makes the step */
	WINDOW(&run, WHOLE, 1, MARKER(SN_ACCESS_ENTER, 0), 5, 0x3000, 0x4000, LEAVE(0, 2), 7);
	/* a line with a group, two iterations of which the second is cut at the header */
	WINDOW(&run, WHOLE, 2, MARKER(SN_ACCESS_ENTER, 1), 9, 0x5000, MARKER(SN_ACCESS_GROUP, 1),
	       0x61, MARKER(SN_ACCESS_GROUP, 1), 0x62, LEAVE(1, SN_ACCESS_AT_HEADER), 5);
	e = decode(&run);
	REQUIRE(e->windows.count == 3);
	check_walk(&e->windows.items[0], "10 1000 14 2000 20 3000 24 4000 20 3008 24 3ff0 20 3010");
	CHECK_INT(e->windows.items[0].accesses, 7);
	CHECK_INT(e->windows.items[0].record_count, 4);
	CHECK(!e->windows.items[0].is_cut);
	check_walk(&e->windows.items[1], "20 3000 24 4000 20 3008 24 3ff0");
	check_walk(&e->windows.items[2], "30 5000 34 61 30 5004 34 62");
	CHECK_INT(e->windows.items[2].number, 2);
	CHECK_INT(e->windows.items[2].end_ns - e->windows.items[2].begin_ns, 5);
	sn_experiment_free(e);
}

TEST(parts_of_a_window_are_joined)
{
	struct run run;
	struct sn_experiment *e;

	run_begin(&run);
	WINDOW(&run, SN_ACCESS_FIRST, 4, MARKER(SN_ACCESS_GROUP, 0), 0x1000);
	WINDOW(&run, SN_ACCESS_LAST, 4, 0x2000);
	e = decode(&run);
	REQUIRE(e->windows.count == 1);
	check_walk(&e->windows.items[0], "10 1000 14 2000");
	CHECK(!e->windows.items[0].is_cut);
	sn_experiment_free(e);
}

TEST(what_is_missing_is_told)
{
	struct run run;
	struct sn_experiment *e;

	run_begin(&run);
	WINDOW(&run, WHOLE, 0, MARKER(SN_ACCESS_GROUP, 0), 0x1000); /* the second address */
	WINDOW(&run, WHOLE, 1, MARKER(SN_ACCESS_ENTER, 0), 5, 0x3000, 0x4000); /* the end of it */
	WINDOW(&run, WHOLE | SN_ACCESS_CUT, 2, MARKER(SN_ACCESS_GROUP, 1), 0x61);
	WINDOW(&run, WHOLE, 3, MARKER(SN_ACCESS_GROUP, 1), 0x61, MARKER(7, 1), 2);
	WINDOW(&run, SN_ACCESS_FIRST, 4, MARKER(SN_ACCESS_GROUP, 1), 0x61); /* no last part */
	WINDOW(&run, SN_ACCESS_FIRST, 5, MARKER(SN_ACCESS_GROUP, 1), 0x61);
	e = decode(&run);
	REQUIRE(e->windows.count == 6);
	for (size_t i = 0; i < 6; i++) {
		CHECK(e->windows.items[i].is_cut);
		check_walk(&e->windows.items[i], i < 2 ? "" : "34 61");
	}
	sn_experiment_free(e);
}

TEST(numbers_that_cannot_be_make_no_accesses)
{
	struct run run;
	struct sn_experiment *e;

	run_begin(&run);
	/* against the step; no whole number of steps; of another line */
	WINDOW(&run, WHOLE, 0, MARKER(SN_ACCESS_ENTER, 0), 5, 0x3000, 0x4000, LEAVE(0, 1), 3);
	WINDOW(&run, WHOLE, 1, MARKER(SN_ACCESS_ENTER, 1), 5, 0x3000, LEAVE(1, 1), 2);
	WINDOW(&run, WHOLE, 2, MARKER(SN_ACCESS_ENTER, 0), 5, 0x3000, 0x4000, LEAVE(1, 1), 7);
	/* more iterations than groups */
	WINDOW(&run, WHOLE, 3, MARKER(SN_ACCESS_ENTER, 1), 1ULL << 62, 0x5000, LEAVE(1, 1), 0);
	e = decode(&run);
	REQUIRE(e->windows.count == 4);
	for (size_t i = 0; i < 4; i++) {
		CHECK(e->windows.items[i].is_cut);
		CHECK(e->windows.items[i].accesses <= 1);
	}
	sn_experiment_free(e);
}
