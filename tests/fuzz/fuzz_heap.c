/* Traces of the heap: whatever the bytes are, reading ends, and what it gives is sound. */
#include "heap/heap.h"

#include "fuzz/trace_experiment.h"

static void check(const struct sn_heap *heap)
{
	struct sn_heap_sums sum = { 0 };

	for (size_t i = 0; i < heap->paths.count; i++) {
		const struct sn_heap_sums *s = &heap->paths.items[i].sums;

		if (s->allocations != s->frees + s->leaked_count || s->temporary > s->frees)
			abort();
		sum.allocations += s->allocations;
		sum.peak_bytes += s->peak_bytes;
	}
	if (sum.allocations != heap->total.allocations || sum.peak_bytes != heap->total.peak_bytes)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
	struct trace_experiment t;
	struct sn_heap *heap;
	struct sn_error err;

	trace_experiment_make(&t, bytes, length);
	sn_vec_push(&t.experiment->trace_paths, (struct sn_trace_path){ 0, 1, 0 });
	if (sn_heap_read(t.experiment, &heap, &err) == SN_OK) {
		check(heap);
		sn_heap_free(heap);
	}
	trace_experiment_free(&t);
	return 0;
}
