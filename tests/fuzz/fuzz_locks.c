/* Traces of locks: whatever the bytes are, reading ends, and what it gives is sound. */
#include "locks/locks.h"

#include "fuzz/trace_program.h"

static void check(const struct sn_locks *locks)
{
	uint64_t acquisitions = 0, contended = 0;

	for (size_t i = 0; i < locks->uses.count; i++) {
		acquisitions += locks->uses.items[i].acquisitions;
		contended += locks->uses.items[i].contended;
		if (locks->uses.items[i].object >= locks->objects.count)
			abort();
	}
	if (acquisitions != locks->acquisitions || contended != locks->contended)
		abort();
	for (size_t i = 0; i < locks->blames.count; i++)
		if (locks->blames.items[i].object >= locks->objects.count)
			abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
	struct trace_experiment t;
	struct sn_program *program;
	struct sn_locks *locks;
	struct sn_error err;

	trace_experiment_make(&t, bytes, length);
	for (int32_t tid = 1; tid <= 3; tid++)
		sn_vec_push(&t.experiment->threads,
			    (struct sn_thread){ .tid = tid, .name = "t", .end_ns = 1000 });
	program = trace_program(&t);
	if (sn_locks_read(program, &locks, &err) == SN_OK) {
		check(locks);
		sn_locks_free(locks);
	}
	sn_program_free(program);
	trace_experiment_free(&t);
	return 0;
}
