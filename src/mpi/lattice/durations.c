/*
 * How long the work before a call took, and the call itself without its waiting. A rank that does the same
 * several times, between the same two places of the program, gets the median (of a call the lower quartile), less the share in
 * which its thread neither ran nor was blocked: that it had no CPU is the machine's affair. Samples say how long it ran;
 * where they are too few, the kernel's account of the whole thread says how much of its life it waited for a CPU.
 */
#include <assert.h>
#include <math.h>
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

	return share > 1 ? 1 : share;
}

/* What is spent in which nodes. */
struct spender {
	const struct sn_mpi_nodes *nodes;
	const uint32_t *first_thread; /* by process of the experiment */
	struct spent *work, *call;    /* by node */
};

static bool is_its_thread(const struct spender *s, const struct sn_mpi_node *node, uint32_t thread)
{
	uint32_t process = s->nodes->program->experiment->threads.items[thread].process;
	uint32_t number =
		node->event == SN_NONE ? 0 : s->nodes->mpi->events.items[node->event].thread;

	return thread == s->first_thread[process] + number;
}

/* The call of a node; NULL: it is a label, or where a call with two nodes begins. */
static const struct sn_mpi_event *call_of(const struct sn_mpi_nodes *nodes,
					  const struct sn_mpi_node *node)
{
	return node->event == SN_NONE || node->is_begin ? NULL
							: &nodes->mpi->events.items[node->event];
}

/* The node that has the time of the call in which a moment of this node is. */
static const struct sn_mpi_node *with_call(const struct sn_mpi_nodes *nodes,
					   const struct sn_mpi_node *node, int64_t time_ns)
{
	const struct sn_mpi_node *end = nodes->items.items + nodes->first[node->process + 1];

	if (!node->is_begin || time_ns <= node->t0_ns)
		return node;
	for (const struct sn_mpi_node *other = node + 1; other < end; other++)
		if (other->event == node->event)
			return other;
	return node;
}

/* The node of a thread at a moment; NULL: after all, or of another thread. */
static const struct sn_mpi_node *node_of(const struct spender *s, uint32_t thread, int64_t time_ns)
{
	uint32_t process =
		s->nodes->process_of[s->nodes->program->experiment->threads.items[thread].process];
	const struct sn_mpi_node *node =
		process == SN_NONE ? NULL : sn_mpi_node_at(s->nodes, process, time_ns);

	return node && is_its_thread(s, node, thread) ? with_call(s->nodes, node, time_ns) : NULL;
}

static bool is_in_call(const struct spender *s, const struct sn_mpi_node *node, int64_t time_ns)
{
	const struct sn_mpi_event *call = call_of(s->nodes, node);

	return call && time_ns > call->t0_ns;
}

static struct spent *spent_of(const struct spender *s, const struct sn_mpi_node *node,
			      int64_t time_ns)
{
	return &(is_in_call(s, node, time_ns) ? s->call : s->work)[node - s->nodes->items.items];
}

static void waits_add(const struct spender *s)
{
	const struct sn_experiment *e = s->nodes->program->experiment;

	for (size_t i = 0; i < e->waits.count; i++) {
		const struct sn_wait *wait = &e->waits.items[i];
		const struct sn_mpi_node *node = node_of(s, wait->thread, wait->time_ns);
		double left_s;

		if (!node)
			continue;
		left_s = (double)((is_in_call(s, node, wait->time_ns) ? node->t1_ns : node->t0_ns) -
				  wait->time_ns) /
			 1e9;
		spent_of(s, node, wait->time_ns)->blocked_s +=
			fmin((double)wait->duration_ns / 1e9, left_s);
	}
}

static uint32_t *first_threads(const struct sn_experiment *e)
{
	uint32_t *first = sn_alloc_zeroed(e->processes.count + 1, sizeof(*first));

	for (uint32_t t = (uint32_t)e->threads.count; t-- > 0;)
		first[e->threads.items[t].process] = t;
	return first;
}

/* Of each node what its thread spent in its work and in its call. */
static void spent_find(const struct sn_mpi_nodes *nodes, struct spent *work, struct spent *call)
{
	const struct sn_experiment *e = nodes->program->experiment;
	uint32_t *first = first_threads(e);
	struct spender s = { nodes, first, work, call };

	for (size_t i = 0; i < e->samples.count; i++) {
		const struct sn_sample *sample = &e->samples.items[i];
		const struct sn_mpi_node *node = node_of(&s, sample->thread, sample->time_ns);

		if (node) {
			struct spent *spent = spent_of(&s, node, sample->time_ns);

			spent->ran_s += (double)sample->cpu_ns / 1e9;
			spent->samples++;
		}
	}
	waits_add(&s);
	for (size_t i = 0; i < nodes->items.count; i++) {
		const struct sn_mpi_event *event = call_of(nodes, &nodes->items.items[i]);

		assert(nodes->items.items);
		work[i].wall_s = nodes->items.items[i].work_s;
		if (event) /* with its waiting, in which it may run, too */
			call[i].wall_s = (double)(event->t1_ns - event->t0_ns) / 1e9;
	}
	free(first);
}

static double share_of_process(const struct spent *spent, double of_life)
{
	return spent->samples >= SAMPLES_OF_LEAST ? share_with_cpu(spent) : of_life;
}

/* By process of the execution: the share of its life in which its first thread did not wait for a CPU. */
static double *shares_of_life(const struct sn_mpi_nodes *nodes)
{
	const struct sn_experiment *e = nodes->program->experiment;
	double *shares = sn_alloc_zeroed(nodes->process_count + 1, sizeof(*shares));

	for (uint32_t p = 0; p < nodes->process_count; p++)
		shares[p] = 1;
	for (size_t t = e->threads.count; t-- > 0;) {
		const struct sn_time_account *account = &e->threads.items[t].account;
		uint32_t process = nodes->process_of[e->threads.items[t].process];
		bool is_known =
			account->wait_cpu_ns > 0 && account->wait_cpu_ns < account->elapsed_ns;

		if (process != SN_NONE)
			shares[process] = is_known ? 1 - (double)account->wait_cpu_ns /
								     (double)account->elapsed_ns
						   : 1;
	}
	return shares;
}

/* spent: by node. */
static void durations_settle(struct sn_mpi_nodes *nodes, struct timed *timed,
			     const struct spent *spent, bool of_work)
{
	size_t count = nodes->items.count;
	struct spent *of_process = sn_alloc_zeroed(nodes->process_count + 1, sizeof(*of_process));
	double *of_life = shares_of_life(nodes);

	for (uint32_t i = 0; i < count; i++) {
		const struct sn_mpi_node *node = &nodes->items.items[i];

		timed[i] = of_work ? (struct timed){ node->work_key, node->work_s, i, spent[i] }
				   : (struct timed){ node->call_key, node->call_s, i, spent[i] };
		spent_add(&of_process[node->process], &spent[i]);
	}
	qsort(timed, count, sizeof(*timed), timed_compare);
	for (size_t first = 0, end; first < count; first = end) {
		uint32_t process = nodes->items.items[timed[first].node].process;
		struct spent together = { 0 };
		double typical, share;
		bool is_repeated;

		for (end = first; end < count && timed[end].key == timed[first].key; end++)
			spent_add(&together, &timed[end].spent);
		is_repeated = end - first >= MEDIAN_OF_LEAST;
		/* a call without its waiting takes what it takes when nothing is in its way */
		typical = timed[first + (end - first) / (of_work ? 2 : 4)].seconds;
		share = together.samples >= SAMPLES_OF_LEAST
				? share_with_cpu(&together)
				: share_of_process(&of_process[process], of_life[process]);
		if (of_work && is_repeated && together.samples >= SAMPLES_OF_LEAST) {
			/* who had no CPU now and then is above the median, who lacked it always is not */
			typical = fmin(typical, share * together.wall_s / (double)(end - first));
			share = 1;
		}
		for (size_t i = first; i < end; i++) {
			struct sn_mpi_node *node = &nodes->items.items[timed[i].node];

			*(of_work ? &node->work_s : &node->call_s) =
				(is_repeated ? typical : timed[i].seconds) * share;
		}
	}
	free(of_life);
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
