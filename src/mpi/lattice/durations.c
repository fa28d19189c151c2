/*
 * How long the work before a call took, and the call itself without its waiting. A rank that does the same
 * several times, between the same two places of the program, gets the median (of a call the lower quartile), and no more than it ran and was blocked: time
 * in which a thread had no CPU is the machine's. The samples of a rank say how long it ran; other threads of it count, too, so
 * of ranks with several threads less is left out.
 */
#include <assert.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/map.h"
#include "mpi/lattice/parts.h"

enum { MEDIAN_OF_LEAST = 4, SAMPLES_OF_LEAST = 16 };

/* What a rank did in some time: by its samples, and in calls that blocked it. */
struct spent {
	double wall_s, ran_s, blocked_s;
	uint64_t samples;
};

struct timed {
	uint64_t key;
	double seconds;
	uint32_t node;
	struct spent spent;
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

static void spent_add(struct spent *to, const struct spent *from)
{
	to->wall_s += from->wall_s;
	to->ran_s += from->ran_s;
	to->blocked_s += from->blocked_s;
	to->samples += from->samples;
}

/* The share of the time in which a CPU was there, or none was needed. */
static double share_with_cpu(const struct spent *spent)
{
	double share = spent->wall_s > 0 ? (spent->ran_s + spent->blocked_s) / spent->wall_s : 1;

	return spent->samples < SAMPLES_OF_LEAST || share > 1 ? 1 : share;
}

/* Where a moment of a process lies: in the work or the call of a node; NULL: after all. */
static struct spent *spent_at(const struct sn_mpi_nodes *nodes, struct spent *work,
			      struct spent *call, uint32_t thread, int64_t time_ns)
{
	uint32_t process =
		nodes->process_of[nodes->program->experiment->threads.items[thread].process];
	const struct sn_mpi_node *node =
		process == SN_NONE ? NULL : sn_mpi_node_at(nodes, process, time_ns);

	if (!node)
		return NULL;
	return &(time_ns <= node->t0_ns ? work : call)[node - nodes->items.items];
}

/* Of each node what was spent in its work and in its call. */
static void spent_find(const struct sn_mpi_nodes *nodes, struct spent *work, struct spent *call)
{
	const struct sn_experiment *e = nodes->program->experiment;
	struct spent *spent;

	for (size_t i = 0; i < e->samples.count; i++) {
		const struct sn_sample *sample = &e->samples.items[i];

		spent = spent_at(nodes, work, call, sample->thread, sample->time_ns);
		if (spent) {
			spent->ran_s += (double)sample->cpu_ns / 1e9;
			spent->samples++;
		}
	}
	for (size_t i = 0; i < e->waits.count; i++) {
		const struct sn_wait *wait = &e->waits.items[i];

		spent = spent_at(nodes, work, call, wait->thread, wait->time_ns);
		if (spent)
			spent->blocked_s += (double)wait->duration_ns / 1e9;
	}
	for (size_t i = 0; i < nodes->items.count; i++) {
		work[i].wall_s = nodes->items.items[i].work_s;
		call[i].wall_s = nodes->items.items[i].call_s;
	}
}

/* spent: by node. */
static void durations_settle(struct sn_mpi_nodes *nodes, struct timed *timed,
			     const struct spent *spent, bool of_work)
{
	size_t count = nodes->items.count;
	struct spent *of_process = sn_alloc_zeroed(nodes->process_count + 1, sizeof(*of_process));

	for (uint32_t i = 0; i < count; i++) {
		const struct sn_mpi_node *node = &nodes->items.items[i];

		timed[i] = of_work ? (struct timed){ node->work_key, node->work_s, i, spent[i] }
				   : (struct timed){ node->call_key, node->call_s, i, spent[i] };
		spent_add(&of_process[node->process], &spent[i]);
	}
	qsort(timed, count, sizeof(*timed), timed_compare);
	for (size_t first = 0, end; first < count; first = end) {
		struct spent together = { 0 };
		double median, share;

		for (end = first; end < count && timed[end].key == timed[first].key; end++)
			spent_add(&together, &timed[end].spent);
		/* a call without its waiting takes what it takes when nothing is in its way */
		median = timed[first + (end - first) / (of_work ? 2 : 4)].seconds;
		if (together.samples < SAMPLES_OF_LEAST)
			together = of_process[nodes->items.items[timed[first].node].process];
		share = share_with_cpu(&together);
		for (size_t i = first; i < end; i++) {
			struct sn_mpi_node *node = &nodes->items.items[timed[i].node];
			double whole = end - first >= MEDIAN_OF_LEAST ? median : timed[i].seconds;

			*(of_work ? &node->work_s : &node->call_s) = whole * share;
		}
	}
	free(of_process);
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
	size_t count = nodes->items.count + 1;
	struct timed *timed = sn_alloc_zeroed(count, sizeof(*timed));
	struct spent *work = sn_alloc_zeroed(count, sizeof(*work));
	struct spent *call = sn_alloc_zeroed(count, sizeof(*call));

	for (uint32_t p = 0; p < nodes->process_count; p++)
		for (uint32_t i = nodes->first[p]; i < nodes->first[p + 1]; i++)
			node_time(nodes, &nodes->items.items[i],
				  i > nodes->first[p] ? &nodes->items.items[i - 1] : NULL);
	spent_find(nodes, work, call);
	durations_settle(nodes, timed, work, true);
	durations_settle(nodes, timed, call, false);
	free(timed);
	free(work);
	free(call);
}
