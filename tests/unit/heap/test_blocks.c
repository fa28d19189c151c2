#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "harness/tap.h"
#include "heap/blocks.h"
#include "made_trace.h"

static char path[] = "/tmp/sonde-unit-blocks.XXXXXX";

/* One process, pid 7, with one piece of a trace; ticks are ns. */
static struct sn_experiment *experiment_of(const struct made_piece *made)
{
	struct sn_experiment *e = sn_experiment_new("x");
	FILE *out = fdopen(mkstemp(path), "w");

	fwrite(made->bytes, 1, sn_trace_disk_bytes(made->piece.committed_bytes), out);
	fclose(out);
	sn_vec_push(&e->processes,
		    (struct sn_process){ .pid = 7, .host = "h", .end_ns = 1000000000 });
	sn_vec_push(&e->traces, (struct sn_trace_file){ path, "h" });
	for (uint32_t id = 1; id <= 3; id++)
		sn_vec_push(&e->trace_paths, (struct sn_trace_path){ 0, id, 10 * id });
	return e;
}

static struct sn_heap_blocks *blocks_of(const struct made_piece *made, uint64_t first,
					uint64_t last)
{
	struct sn_experiment *e = experiment_of(made);
	struct sn_heap_blocks *blocks = NULL;
	sn_heap_ranges ranges = { 0 };
	struct sn_error err;

	/* in disorder, and twice */
	sn_vec_push(&ranges, (struct sn_heap_range){ 1, first, last });
	sn_vec_push(&ranges, (struct sn_heap_range){ 0, first, last });
	sn_vec_push(&ranges, (struct sn_heap_range){ 0, first, first });
	tap_check(sn_heap_blocks_read(e, &ranges, &blocks, &err) == SN_OK, __FILE__, __LINE__,
		  "reading");
	sn_vec_free(&ranges);
	unlink(path);
	strcpy(path + strlen(path) - 6, "XXXXXX");
	sn_experiment_free(e);
	return blocks;
}

TEST(blocks_are_told_by_place_and_time)
{
	struct made_piece made;
	const struct sn_heap_lived *block;
	struct sn_heap_blocks *blocks;
	uint64_t first, last;
	int64_t begin, end;

	made_begin(&made, 1, 0, 1000000);
	made_event(&made, SN_HEAP_ALLOC, 1001000, 0x1000, 0x100, 1);
	made_event(&made, SN_HEAP_ALLOC, 1002000, 0x2000, 0x4000, 2);
	made_event(&made, SN_HEAP_FREE, 1003000, 0x1000, 0, 0);
	made_event(&made, SN_HEAP_NEW, 1004000, 0x1000, 0x40, 3);
	made_event(&made, SN_HEAP_ALLOC, 1005000, 0x9000, 0x10, 1); /* nobody asks for it */
	blocks = blocks_of(&made, 0x1020, 0x2fff);
	REQUIRE(blocks && blocks->items.count == 3);
	begin = blocks->items.items[0].begin_ns;
	end = blocks->items.items[0].end_ns;
	CHECK(begin < end && end < blocks->items.items[1].begin_ns);
	block = sn_heap_block_at(blocks, 0, 0x1020, begin, begin, &first, &last);
	REQUIRE(block && block->stack == 10);
	CHECK_INT(first, 0x1000);
	CHECK_INT(last, 0x10ff);
	block = sn_heap_block_at(blocks, 0, 0x1020, INT64_MAX - 1, INT64_MAX - 1, &first, &last);
	REQUIRE(block && block->stack == 30);
	CHECK_INT(last, 0x103f);
	/* between the two: the one that comes until then */
	CHECK(!sn_heap_block_at(blocks, 0, 0x1020, end, end, &first, &last));
	block = sn_heap_block_at(blocks, 0, 0x1020, end, INT64_MAX - 1, &first, &last);
	CHECK(block && block->stack == 30);
	/* before both: the first that comes */
	block = sn_heap_block_at(blocks, 0, 0x1020, begin - 1, INT64_MAX - 1, &first, &last);
	CHECK(block && block->stack == 10);
	CHECK(!sn_heap_block_at(blocks, 0, 0x1020, begin - 1, begin - 1, &first, &last));
	/* far within a large one, beside all of them, and in another process */
	block = sn_heap_block_at(blocks, 0, 0x5fff, INT64_MAX - 1, INT64_MAX - 1, &first, &last);
	CHECK(block && block->stack == 20 && first == 0x2000 && last == 0x5fff);
	CHECK(!sn_heap_block_at(blocks, 0, 0x1800, end, INT64_MAX - 1, &first, &last));
	CHECK(first == 0x1100 && last == 0x1fff);
	CHECK(!sn_heap_block_at(blocks, 1, 0x1020, begin, begin, &first, &last));
	sn_heap_blocks_free(blocks);
}

TEST(a_lost_release_ends_with_the_next_block)
{
	struct made_piece made;
	struct sn_heap_blocks *blocks;

	made_begin(&made, 1, 0, 1000000);
	made_event(&made, SN_HEAP_ALLOC, 1001000, 0x1000, 0x100, 1);
	made_event(&made, SN_HEAP_ALLOC, 1002000, 0x1000, 0x200, 2);
	blocks = blocks_of(&made, 0x1000, 0x1000);
	REQUIRE(blocks && blocks->items.count == 2);
	CHECK(blocks->items.items[0].end_ns == blocks->items.items[1].begin_ns);
	CHECK(blocks->items.items[1].end_ns == INT64_MAX);
	sn_heap_blocks_free(blocks);
}

/* Clocks of processors differ: the next block at an address is told of before the release of the one before it. */
TEST(a_release_that_comes_late_is_not_of_the_next_block)
{
	struct made_piece made;
	struct sn_heap_blocks *blocks;

	made_begin(&made, 1, 0, 1000000);
	made_event(&made, SN_HEAP_ALLOC, 1001000, 0x1000, 0x100, 1);
	made_event(&made, SN_HEAP_ALLOC, 1002000, 0x1000, 0x200, 2);
	made_event(&made, SN_HEAP_FREE, 1003000, 0x1000, 0, 0);
	made_event(&made, SN_HEAP_FREE, 1009000, 0x1000, 0, 0);
	blocks = blocks_of(&made, 0x1000, 0x1000);
	REQUIRE(blocks && blocks->items.count == 2);
	CHECK(blocks->items.items[0].end_ns == blocks->items.items[1].begin_ns);
	/* 7,000 ticks, where the first lived for 1,000 */
	CHECK(blocks->items.items[1].end_ns - blocks->items.items[1].begin_ns >
	      5 * (blocks->items.items[1].begin_ns - blocks->items.items[0].begin_ns));
	CHECK(blocks->items.items[1].end_ns != INT64_MAX);
	sn_heap_blocks_free(blocks);
}
