#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "harness/tap.h"
#include "heap/heap.h"
#include "made_trace.h"

static char path[] = "/tmp/sonde-unit-heap.XXXXXX";

/* An experiment of one process, pid 7, whose trace has these pieces. */
static struct sn_experiment *experiment_of(const struct made_piece *const *pieces, size_t count)
{
	struct sn_experiment *e = sn_experiment_new("x");
	FILE *out = fdopen(mkstemp(path), "w");

	for (size_t i = 0; i < count; i++)
		fwrite(pieces[i]->bytes, 1, sn_trace_disk_bytes(pieces[i]->piece.committed_bytes),
		       out);
	fclose(out);
	sn_vec_push(&e->processes,
		    (struct sn_process){ .pid = 7, .host = "h", .end_ns = 1000000000 });
	sn_vec_push(&e->traces, (struct sn_trace_file){ path, "h" });
	for (uint32_t id = 1; id <= 3; id++)
		sn_vec_push(&e->trace_paths, (struct sn_trace_path){ 0, id, id - 1 });
	return e;
}

static struct sn_heap *heap_of(const struct made_piece *const *pieces, size_t count)
{
	struct sn_experiment *e = experiment_of(pieces, count);
	struct sn_heap *heap = NULL;
	struct sn_error err;

	tap_check(sn_heap_read(e, &heap, &err) == SN_OK, __FILE__, __LINE__, "reading");
	unlink(path);
	strcpy(path + strlen(path) - 6, "XXXXXX");
	sn_experiment_free(e);
	return heap;
}

static const struct sn_heap_sums *sums_of(const struct sn_heap *heap, uint32_t stack)
{
	static const struct sn_heap_sums none;

	for (size_t i = 0; i < heap->paths.count; i++)
		if (heap->paths.items[i].stack == stack)
			return &heap->paths.items[i].sums;
	return &none;
}

TEST(sums_peak_and_leaks_of_one_thread)
{
	struct made_piece made;
	const struct made_piece *pieces[] = { &made };
	struct sn_heap *heap;

	made_begin(&made, 1, 0, 1000000);
	made_event(&made, SN_HEAP_ALLOC, 1000100, 0x1000, 100, 1);
	made_event(&made, SN_HEAP_NEW, 1000200, 0x2000, 50, 2);
	made_event(&made, SN_HEAP_FREE, 1000300, 0x1000, 0, 0); /* not temporary: 2 came between */
	made_event(&made, SN_HEAP_ALLOC, 1000400, 0x1000, 70, 1);
	made_event(&made, SN_HEAP_FREE, 1000500, 0x1000, 0, 0); /* temporary */
	made_event(&made, SN_HEAP_FREE, 1000600, 0x9000, 0, 0); /* of a block before us */
	heap = heap_of(pieces, 1);
	CHECK(heap->is_traced);
	CHECK_INT(heap->total.allocations, 3);
	CHECK_INT(heap->total.bytes, 220);
	CHECK_INT(heap->total.frees, 2);
	CHECK_INT(heap->total.peak_bytes, 150);
	CHECK_INT(heap->unknown_frees, 1);
	CHECK_INT(sums_of(heap, 0)->allocations, 2);
	CHECK_INT(sums_of(heap, 0)->temporary, 1);
	CHECK_INT(sums_of(heap, 0)->peak_bytes, 100);
	CHECK_INT(sums_of(heap, 0)->leaked_count, 0);
	CHECK_INT(sums_of(heap, 1)->peak_bytes, 50);
	CHECK_INT(sums_of(heap, 1)->leaked_bytes, 50);
	sn_heap_free(heap);
}

/* One thread releases what another allocated; their pieces overlap in time, and lie in any order. */
TEST(threads_are_played_in_the_order_of_time)
{
	struct made_piece first, second;
	const struct made_piece *pieces[] = { &second, &first };
	struct sn_heap *heap;

	made_begin(&first, 1, 0, 0);
	made_begin(&second, 2, 1, 50);
	for (unsigned i = 0; i < 500; i++) {
		made_event(&first, SN_HEAP_ALLOC, 100 + 100 * i, 0x1000, 8, 1);
		made_event(&second, SN_HEAP_FREE, 150 + 100 * i, 0x1000, 0, 0);
	}
	heap = heap_of(pieces, 2);
	CHECK_INT(heap->total.allocations, 500);
	CHECK_INT(heap->total.frees, 500);
	CHECK_INT(heap->total.temporary, 500);
	CHECK_INT(heap->total.peak_bytes, 8);
	CHECK_INT(heap->unknown_frees, 0);
	sn_heap_free(heap);
}

/* Clocks of two processors differ: a block is there again before its release is told. */
TEST(a_release_that_comes_late_is_its_own_blocks)
{
	struct made_piece made;
	const struct made_piece *pieces[] = { &made };
	struct sn_heap *heap;

	made_begin(&made, 1, 0, 0);
	made_event(&made, SN_HEAP_ALLOC, 100, 0x1000, 8, 1);
	made_event(&made, SN_HEAP_ALLOC, 200, 0x1000, 9, 2);
	made_event(&made, SN_HEAP_FREE, 201, 0x1000, 0, 0);
	made_event(&made, SN_HEAP_FREE, 300, 0x1000, 0, 0);
	heap = heap_of(pieces, 1);
	CHECK_INT(heap->total.frees, 2);
	CHECK_INT(heap->total.leaked_count, 0);
	CHECK_INT(heap->unknown_frees, 0);
	sn_heap_free(heap);
}

/* A piece that was copied to disk, and lay live when the launcher was killed. */
TEST(a_piece_counts_once)
{
	struct made_piece made;
	const struct made_piece *pieces[] = { &made, &made };
	struct sn_heap *heap;

	made_begin(&made, 1, 0, 0);
	made_event(&made, SN_HEAP_ALLOC, 100, 0x1000, 8, 1);
	heap = heap_of(pieces, 2);
	CHECK_INT(heap->total.allocations, 1);
	sn_heap_free(heap);
}

TEST(pieces_of_nobody_are_damage)
{
	struct made_piece made;
	const struct made_piece *pieces[] = { &made };
	struct sn_heap *heap;

	made_begin(&made, 1, 0, 0);
	made_event(&made, SN_HEAP_ALLOC, 100, 0x1000, 8, 1);
	made.piece.pid = 8;
	heap = heap_of(pieces, 1);
	CHECK_INT(heap->total.allocations, 0);
	CHECK_INT(heap->damaged, 1);
	sn_heap_free(heap);
}

/* Two entries of one path, by two threads: one allocated, the other one released. */
TEST(sums_of_the_runtime_add_up_with_their_peak)
{
	struct made_piece first, second;
	const struct made_piece *pieces[] = { &second, &first };
	struct sn_heap_head *head = made_sums_begin(&first, 1, SN_HEAP_AGGREGATE);
	struct sn_heap *heap;

	made_sums_begin(&second, 2, SN_HEAP_OFF);
	head->peak_number = 5;
	head->peak_ns = 1500000;
	head->unknown_frees = 3;
	*made_entry(&first, 0) = (struct sn_heap_entry){
		.path = 1, .allocations = 10, .bytes = 1000, .at_peak = 900, .peak = 5
	};
	*made_entry(&second, 7) = (struct sn_heap_entry){ .path = 1,
							  .frees = 4,
							  .freed_bytes = 400,
							  .temporary = 2,
							  .at_peak = -100,
							  .peak = 5 };
	/* not changed since a peak before: it held at the newest what it holds now */
	*made_entry(&first, 1) = (struct sn_heap_entry){
		.path = 2, .is_new = 1, .allocations = 1, .bytes = 50, .at_peak = 1, .peak = 4
	};
	heap = heap_of(pieces, 2);
	CHECK(heap->is_traced && heap->mode == SN_HEAP_AGGREGATE && !heap->damaged);
	CHECK(sums_of(heap, 0)->allocations == 10 && sums_of(heap, 0)->frees == 4);
	CHECK(sums_of(heap, 0)->leaked_count == 6 && sums_of(heap, 0)->leaked_bytes == 600);
	CHECK(sums_of(heap, 0)->temporary == 2 && sums_of(heap, 0)->peak_bytes == 800);
	CHECK(sums_of(heap, 1)->peak_bytes == 50 && heap->total.peak_bytes == 850);
	CHECK(heap->peak_ns == 1500000 && heap->unknown_frees == 3);
	sn_heap_free(heap);
}

TEST(impossible_sums_are_damage)
{
	struct made_piece made;
	const struct made_piece *pieces[] = { &made };
	struct sn_heap *heap;

	made_sums_begin(&made, 1, SN_HEAP_AGGREGATE);
	*made_entry(&made, 0) = (struct sn_heap_entry){
		.path = 1, .allocations = 1, .bytes = 10, .frees = 2, .freed_bytes = 20
	};
	heap = heap_of(pieces, 1);
	CHECK(heap->damaged == 1 && heap->total.allocations == heap->total.frees);
	sn_heap_free(heap);
}

/* A block of a tenth of the interval stands for about ten such; one of a hundred intervals for itself. */
TEST(what_a_sample_meets_stands_for_more)
{
	struct made_piece head, made;
	const struct made_piece *pieces[] = { &head, &made };
	struct sn_heap *heap;
	uint64_t low, high;

	made_sums_begin(&head, 1, SN_HEAP_SAMPLE)->interval_bytes = 1000;
	made_begin(&made, 2, 0, 1000000);
	made_event(&made, SN_HEAP_ALLOC, 1000100, 0x1000, 100, 1);
	made_event(&made, SN_HEAP_ALLOC, 1000200, 0x2000, 100000, 2);
	made_event(&made, SN_HEAP_FREE, 1000300, 0x1000, 0, 0);
	made_event(&made, SN_HEAP_FREE, 1000400, 0x3000, 0, 0);
	heap = heap_of(pieces, 2);
	CHECK(heap->mode == SN_HEAP_SAMPLE && heap->interval_bytes == 1000);
	CHECK(sums_of(heap, 0)->samples == 1 && sums_of(heap, 0)->allocations == 11);
	CHECK(sums_of(heap, 0)->bytes == 1051 && sums_of(heap, 0)->frees == 11);
	CHECK(sums_of(heap, 1)->allocations == 1 && sums_of(heap, 1)->leaked_bytes == 100000);
	CHECK(heap->total.peak_bytes == 101051 && heap->unknown_frees == 0);
	sn_heap_interval(sums_of(heap, 0)->bytes, sums_of(heap, 0)->bytes_variance, &low, &high);
	CHECK(low > 100 && low < 300 && high > 5000 && high < 8000);
	sn_heap_interval(sums_of(heap, 1)->bytes, sums_of(heap, 1)->bytes_variance, &low, &high);
	CHECK(low == 100000 && high == 100000);
	sn_heap_free(heap);
}
