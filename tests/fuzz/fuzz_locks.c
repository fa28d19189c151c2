/* Traces of locks: whatever the bytes are, reading ends, and what it gives is sound. */
#include "critical/critical.h"
#include "locks/chains.h"

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

/* A moment of a wait is in one chain at most. */
static void check_chains(const struct sn_locks *locks)
{
	struct sn_lock_chains chains;
	uint64_t waited_ns = 0, chained_ns = 0;

	for (size_t i = 0; i < locks->waits.count; i++)
		if (locks->waits.items[i].released_ns > locks->waits.items[i].t0_ns)
			waited_ns += (uint64_t)(locks->waits.items[i].released_ns -
						locks->waits.items[i].t0_ns);
	sn_lock_chains_find(locks, NULL, &chains);
	for (size_t i = 0; i < chains.items.count; i++) {
		const struct sn_lock_chain *chain = &chains.items.items[i];

		chained_ns += chain->wait_ns;
		if (chain->link_count < 2 || chain->waits == 0 ||
		    chain->first_link + chain->link_count > chains.links.count)
			abort();
	}
	for (size_t i = 0; i < chains.links.count; i++)
		if (chains.links.items[i].object != SN_NONE &&
		    chains.links.items[i].object >= locks->objects.count)
			abort();
	if (chained_ns != chains.chained_ns || chained_ns > waited_ns)
		abort();
	sn_lock_chains_free(&chains);
}

/* Blocking calls, polls among them, wherever they lie. */
static void add_waits(struct sn_experiment *e, const uint8_t *bytes, size_t length)
{
	for (size_t i = 0; i + 2 < length && i < 48; i += 3)
		sn_vec_push(&e->waits, (struct sn_wait){ .time_ns = bytes[i] * 5,
							 .duration_ns = bytes[i + 1] * 3,
							 .thread = bytes[i + 2] / 16 % 3,
							 .kind = bytes[i + 2] % SN_WAIT_KINDS });
	sn_experiment_sort(e);
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
		check_chains(locks);
		t.experiment->elapsed_ns = 1200;
		add_waits(t.experiment, bytes, length);
		check_path(program, locks);
		sn_locks_free(locks);
	}
	sn_program_free(program);
	trace_experiment_free(&t);
	return 0;
}
