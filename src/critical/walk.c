/*
 * Walks back from the lane that ended last. Where a call waited for another lane, the path goes on there, at
 * the moment when that one did what was waited for; what the waiting lane did before is not on the path. At
 * its begin a lane leads to the one that made it.
 */
#include <stdlib.h>

#include "base/alloc.h"
#include "critical/parts.h"

const char *sn_critical_kind_name(enum sn_critical_kind kind)
{
	static const char *const names[SN_CRITICAL_KINDS] = {
		[SN_CRITICAL_COMPUTE] = "compute",   [SN_CRITICAL_MPI] = "mpi",
		[SN_CRITICAL_SYNC] = "sync",	     [SN_CRITICAL_IO] = "io",
		[SN_CRITICAL_POLL] = "poll",	     [SN_CRITICAL_SLEEP] = "sleep",
		[SN_CRITICAL_OTHER] = "other",	     [SN_CRITICAL_NO_CPU] = "no_cpu",
		[SN_CRITICAL_UNTRACED] = "untraced", [SN_CRITICAL_START] = "start",
		[SN_CRITICAL_END] = "end",
	};

	return kind < SN_CRITICAL_KINDS ? names[kind] : "unknown";
}

enum sn_critical_kind sn_critical_kind_of(enum sn_wait_kind kind)
{
	static const enum sn_critical_kind kinds[SN_WAIT_KINDS] = {
		[SN_WAIT_LOCK] = SN_CRITICAL_SYNC,   [SN_WAIT_CONDITION] = SN_CRITICAL_SYNC,
		[SN_WAIT_JOIN] = SN_CRITICAL_SYNC,   [SN_WAIT_CHILD] = SN_CRITICAL_SYNC,
		[SN_WAIT_IO] = SN_CRITICAL_IO,	     [SN_WAIT_POLL] = SN_CRITICAL_POLL,
		[SN_WAIT_SLEEP] = SN_CRITICAL_SLEEP, [SN_WAIT_OTHER] = SN_CRITICAL_OTHER,
	};

	return kind < SN_WAIT_KINDS ? kinds[kind] : SN_CRITICAL_OTHER;
}

static void piece_add(struct sn_critical *critical, uint32_t lane, int64_t t0, int64_t t1,
		      enum sn_critical_kind kind, uint32_t call)
{
	const struct sn_critical_lane *of = &critical->graph->lanes.items[lane];
	struct sn_critical_piece piece = {
		.t0_ns = t0,
		.t1_ns = t1,
		.kind = kind,
		.process = of->process,
		.thread = call != SN_NONE ? critical->calls.items[call].thread : of->thread,
		.call = call,
	};

	if (t1 > critical->graph->e->elapsed_ns)
		piece.t1_ns = critical->graph->e->elapsed_ns;
	if (piece.t1_ns > t0)
		sn_vec_push(&critical->pieces, piece);
}

/* The first call of the lane that ends at t or later. */
static uint32_t call_at(const struct sn_critical *critical, uint32_t lane, int64_t t)
{
	uint32_t low = critical->graph->lanes.items[lane].first_call;
	uint32_t high = critical->graph->lanes.items[lane].last_call;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (critical->calls.items[middle].t1_ns < t)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* What the lane did in [t0, t1): its calls, and what lies between. */
static void stretch_add(struct sn_critical *critical, uint32_t lane, int64_t t0, int64_t t1)
{
	uint32_t first = critical->graph->lanes.items[lane].first_call;
	uint32_t end = critical->graph->lanes.items[lane].last_call;
	uint32_t at = call_at(critical, lane, t1), next = SN_NONE;

	if (at < end && critical->calls.items[at].t0_ns < t1)
		at++;
	else if (at < end)
		next = at; /* what it did ended in this call */
	while (at-- > first && t1 > t0) {
		const struct sn_critical_call *call = &critical->calls.items[at];
		int64_t begin = call->t0_ns > t0 ? call->t0_ns : t0;
		int64_t stop = call->t1_ns < t1 ? call->t1_ns : t1;

		if (stop <= t0)
			break;
		piece_add(critical, lane, stop, t1, SN_CRITICAL_COMPUTE, next);
		piece_add(critical, lane, begin, stop, call->kind, at);
		t1 = begin;
		next = at;
	}
	piece_add(critical, lane, t0, t1, SN_CRITICAL_COMPUTE, next);
}

/* The last wait of the lane that was over before t; NULL: there is none. */
static const struct sn_critical_wait *wait_before(const struct sn_critical_graph *graph,
						  uint32_t lane, int64_t t)
{
	uint32_t first = graph->lanes.items[lane].first_wait, low = first;
	uint32_t high = graph->lanes.items[lane].last_wait;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (graph->waits.items[middle].released_ns < t)
			low = middle + 1;
		else
			high = middle;
	}
	return low > first ? &graph->waits.items[low - 1] : NULL;
}

static void walk(struct sn_critical *critical)
{
	const struct sn_critical_graph *graph = critical->graph;
	uint32_t lane = graph->root;
	int64_t t = graph->end_ns;

	piece_add(critical, lane, t, graph->e->elapsed_ns, SN_CRITICAL_END, SN_NONE);
	for (;;) {
		const struct sn_critical_wait *wait = wait_before(graph, lane, t);
		const struct sn_critical_lane *at = &graph->lanes.items[lane];
		int64_t start = at->start_ns < 0 ? 0 : at->start_ns < t ? at->start_ns : t;

		if (wait && wait->released_ns >= start) {
			stretch_add(critical, lane, wait->released_ns, t);
			t = wait->released_ns;
			lane = wait->by;
			continue;
		}
		stretch_add(critical, lane, start, t);
		/* a maker began before: so this ends */
		if (at->maker == SN_NONE) {
			piece_add(critical, lane, 0, start, SN_CRITICAL_START, SN_NONE);
			return;
		}
		t = start;
		lane = at->maker;
	}
}

struct sn_critical *sn_critical_of(const struct sn_program *program, const struct sn_mpi *mpi,
				   const struct sn_locks *locks)
{
	struct sn_critical *critical = sn_alloc_zeroed(1, sizeof(*critical));

	critical->graph = sn_alloc_zeroed(1, sizeof(*critical->graph));
	critical->graph->e = program->experiment;
	sn_critical_gather(critical, program, mpi, locks);
	sn_critical_moments_gather(critical->graph);
	if (critical->graph->root != SN_NONE)
		walk(critical);
	return critical;
}

void sn_critical_free(struct sn_critical *critical)
{
	if (!critical)
		return;
	sn_vec_free(&critical->pieces);
	sn_vec_free(&critical->calls);
	sn_vec_free(&critical->graph->lanes);
	sn_vec_free(&critical->graph->waits);
	sn_vec_free(&critical->graph->members);
	sn_vec_free(&critical->graph->bounds);
	sn_vec_free(&critical->graph->moments);
	sn_vec_free(&critical->graph->ends);
	free(critical->graph->sites);
	free(critical->graph);
	free(critical);
}
