/*
 * How long the work before a call took, and the call itself without its waiting. A rank that does the same
 * several times, between the same two places of the program, gets the median: a thread that lost its CPU in one of them is
 * no slower rank.
 */
#include <assert.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/map.h"
#include "mpi/lattice/parts.h"

enum { MEDIAN_OF_LEAST = 4 };

struct timed {
	uint64_t key;
	double seconds;
	uint32_t node;
};

static int timed_compare(const void *a, const void *b)
{
	const struct timed *x = a, *y = b;

	if (x->key != y->key)
		return x->key < y->key ? -1 : 1;
	if (x->seconds < y->seconds || x->seconds > y->seconds)
		return x->seconds < y->seconds ? -1 : 1;
	return (x->node > y->node) - (x->node < y->node);
}

static void medians_set(struct sn_mpi_nodes *nodes, struct timed *timed, bool of_work)
{
	size_t count = nodes->items.count;

	for (uint32_t i = 0; i < count; i++) {
		const struct sn_mpi_node *node = &nodes->items.items[i];

		timed[i] = of_work ? (struct timed){ node->work_key, node->work_s, i }
				   : (struct timed){ node->call_key, node->call_s, i };
	}
	qsort(timed, count, sizeof(*timed), timed_compare);
	for (size_t first = 0, end; first < count; first = end) {
		double median;

		for (end = first + 1; end < count && timed[end].key == timed[first].key;)
			end++;
		median = timed[first + (end - first) / 2].seconds;
		for (size_t i = first; i < end && end - first >= MEDIAN_OF_LEAST; i++)
			*(of_work ? &nodes->items.items[timed[i].node].work_s
				  : &nodes->items.items[timed[i].node].call_s) = median;
	}
}

static uint64_t place_of(const struct sn_mpi *mpi, const struct sn_mpi_node *node)
{
	const struct sn_mpi_event *event;

	if (!node)
		return 1;
	if (node->label)
		return sn_hash_u64((uint64_t)(uintptr_t)node->label);
	assert(node->event < mpi->events.count && mpi->events.items);
	event = &mpi->events.items[node->event];
	return sn_hash_u64((uint64_t)event->stack << 32 | event->function);
}

/* What happens around MPI_Init and MPI_Finalize is the launcher's work, and no rank's. */
static bool begins_or_ends(const struct sn_mpi_event *event)
{
	enum sn_mpi_meaning meaning = sn_mpi_function_meaning(event->function);

	return meaning == SN_MPI_MEANS_INIT || meaning == SN_MPI_MEANS_FINALIZE;
}

/* A call with two nodes spends its work in the first, and its own time in the second. */
static void node_time(struct sn_mpi_nodes *nodes, struct sn_mpi_node *node,
		      const struct sn_mpi_node *before)
{
	const struct sn_mpi_event *event =
		node->event == SN_NONE ? NULL : &nodes->mpi->events.items[node->event];
	bool is_second = before && event && before->event == node->event;
	int64_t work_ns = before && !is_second ? node->t0_ns - before->t1_ns : 0;
	int64_t call_ns =
		event && !node->is_begin ? event->t1_ns - event->t0_ns - event->wait_ns : 0;
	uint64_t here = place_of(nodes->mpi, node) ^ sn_hash_u64(node->process + 1ULL);

	if (event && begins_or_ends(event))
		work_ns = call_ns = 0;
	if (event && event->is_open) /* it waited until the run was over */
		call_ns = 0;
	node->work_s = work_ns > 0 ? (double)work_ns / 1e9 : 0;
	node->call_s = call_ns > 0 ? (double)call_ns / 1e9 : 0;
	node->call_key = sn_hash_u64(here ^ node->is_begin);
	node->work_key = sn_hash_u64(here ^ is_second) ^ place_of(nodes->mpi, before) * 3;
}

void sn_mpi_durations_set(struct sn_mpi_nodes *nodes)
{
	struct timed *timed = sn_alloc_zeroed(nodes->items.count + 1, sizeof(*timed));

	for (uint32_t p = 0; p < nodes->process_count; p++)
		for (uint32_t i = nodes->first[p]; i < nodes->first[p + 1]; i++)
			node_time(nodes, &nodes->items.items[i],
				  i > nodes->first[p] ? &nodes->items.items[i - 1] : NULL);
	medians_set(nodes, timed, true);
	medians_set(nodes, timed, false);
	free(timed);
}
