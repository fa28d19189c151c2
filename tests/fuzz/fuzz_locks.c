/* Traces of locks: whatever the bytes are, reading ends, and what it gives is sound. */
#include "critical/critical.h"

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
	acquisitions = contended = 0;
	for (size_t i = 0; i < locks->parts.count; i++) {
		acquisitions += locks->parts.items[i].acquisitions;
		contended += locks->parts.items[i].contended;
	}
	if (acquisitions != locks->acquisitions || contended != locks->contended)
		abort();
}

/* The path over these threads has no gap. */
static void check_path(const struct sn_program *program, const struct sn_locks *locks)
{
	struct sn_critical *critical = sn_critical_of(program, NULL, locks);
	int64_t at = program->experiment->elapsed_ns;

	for (size_t i = 0; i < critical->pieces.count; i++) {
		if (critical->pieces.items[i].t1_ns != at || critical->pieces.items[i].t0_ns >= at)
			abort();
		at = critical->pieces.items[i].t0_ns;
	}
	if (critical->pieces.count && at != 0)
		abort();
	for (int kind = 0; kind < SN_CRITICAL_KINDS; kind++)
		if (sn_critical_halved_ns(critical, kind, 0) < -1)
			abort();
	sn_critical_free(critical);
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
		t.experiment->elapsed_ns = 1200;
		check_path(program, locks);
		sn_locks_free(locks);
	}
	sn_program_free(program);
	trace_experiment_free(&t);
	return 0;
}
