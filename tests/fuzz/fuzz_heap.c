/* Traces of the heap: whatever the bytes are, reading ends, and what it gives is sound. */
#include "heap/heap.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

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
	int fd = memfd_create("trace", MFD_CLOEXEC);
	struct sn_experiment *e = sn_experiment_new("x");
	struct sn_heap *heap;
	struct sn_error err;
	char path[64];

	if (fd < 0 || write(fd, bytes, length) != (ssize_t)length)
		abort();
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	sn_vec_push(&e->processes, (struct sn_process){ .pid = 7, .host = "h", .end_ns = 1000 });
	sn_vec_push(&e->traces, (struct sn_trace_file){ path, "h" });
	sn_vec_push(&e->trace_paths, (struct sn_trace_path){ 0, 1, 0 });
	if (sn_heap_read(e, &heap, &err) == SN_OK) {
		check(heap);
		sn_heap_free(heap);
	}
	sn_experiment_free(e);
	close(fd);
	return 0;
}
