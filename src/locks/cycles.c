/*
 * Circles of threads that wait for each other.
 *
 * Hung: when the process ended, each thread of the circle was waiting for what the next one held.
 *
 * Possible: one thread took b while it held a, another took a while it held b (or so around a longer
 * circle). That counts if the threads can overlap, in this run or another: neither is done with it before the other
 * one is made, or has joined it. It does not count where both held one more lock, the same, outermost.
 */
#include <math.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "locks/order.h"
#include "locks/parts.h"

enum { LONGEST = 8, CYCLES_MAX = 1000, STEPS_MAX = 2000000 };

static void part_add(struct sn_lock_reader *reader, uint32_t cycle,
		     const struct sn_lock_event *event, bool is_hung)
{
	sn_vec_push(&reader->locks->cycles, (struct sn_lock_cycle_part){ .cycle = cycle,
									 .object = event->object,
									 .process = event->process,
									 .tid = event->tid,
									 .site = event->site,
									 .is_hung = is_hung });
}

static uint64_t thread_key(uint32_t process, uint32_t tid)
{
	return (uint64_t)process << 32 | tid;
}

/* ---- hung ---- */

static uint32_t hung_find(struct sn_lock_reader *reader)
{
	struct sn_map waiting = { 0 }; /* thread -> its open wait + 1 */
	uint8_t *is_seen =
		sn_alloc_zeroed(reader->waits.count + 1, 1); /* 1: on this walk; 2: done */
	uint32_t cycles = 0;

	for (size_t i = 0; i < reader->waits.count; i++)
		if (reader->waits.items[i].is_open)
			*sn_map_put(&waiting,
				    thread_key(reader->waits.items[i].process,
					       (uint32_t)reader->waits.items[i].tid),
				    NULL) = i + 1;
	for (size_t start = 0; start < reader->waits.count; start++) {
		size_t at = start;
		const uint64_t *next;

		if (!reader->waits.items[start].is_open || is_seen[start])
			continue;
		for (;;) {
			const struct sn_lock_event *wait = &reader->waits.items[at];

			is_seen[at] = 1;
			next = wait->entry->holder
				       ? sn_map_get(&waiting,
						    thread_key(wait->process, wait->entry->holder))
				       : NULL;
			if (!next || is_seen[*next - 1])
				break;
			at = *next - 1;
		}
		if (next && is_seen[*next - 1] == 1) {
			size_t first = *next - 1, part = first;

			cycles++;
			do {
				const struct sn_lock_event *wait = &reader->waits.items[part];

				part_add(reader, cycles, wait, true);
				part = *sn_map_get(&waiting,
						   thread_key(wait->process, wait->entry->holder)) -
				       1;
			} while (part != first);
		}
		for (size_t i = 0; i < reader->waits.count; i++)
			is_seen[i] = is_seen[i] ? 2 : 0;
	}
	sn_map_free(&waiting);
	free(is_seen);
	return cycles;
}

/* ---- possible ---- */

/* An order with the object that was held, and when its thread did so first and last. */
struct edge {
	const struct sn_lock_event *event;
	uint32_t from, to; /* objects */
	struct sn_lock_span span;
};

struct finder {
	struct sn_lock_reader *reader;
	struct sn_lock_order *order;
	struct edge *edges; /* by process, then `from` */
	size_t count;
	const struct edge *path[LONGEST];
	size_t length;
	uint32_t cycles;
	uint64_t steps;
	struct sn_map known; /* a hash of the orders of a cycle's objects */
};

static int edges_compare(const void *a, const void *b)
{
	const struct edge *x = a, *y = b;

	if (x->event->process != y->event->process)
		return x->event->process < y->event->process ? -1 : 1;
	if (x->from != y->from)
		return x->from < y->from ? -1 : 1;
	if (x->to != y->to)
		return x->to < y->to ? -1 : 1;
	if (x->event->tid != y->event->tid)
		return x->event->tid < y->event->tid ? -1 : 1;
	return (x->event->begin_ns > y->event->begin_ns) -
	       (x->event->begin_ns < y->event->begin_ns);
}

/* Whether the step may be taken beside all before it. */
static bool may_overlap(const struct finder *finder, const struct edge *edge)
{
	for (size_t i = 0; i < finder->length; i++) {
		const struct edge *other = finder->path[i];

		if (other->event->tid == edge->event->tid || other->to == edge->to ||
		    (edge->event->entry->gate &&
		     edge->event->entry->gate == other->event->entry->gate) ||
		    !sn_lock_can_overlap(finder->order, &edge->span, &other->span))
			return false;
	}
	return true;
}

static void cycle_add(struct finder *finder)
{
	uint64_t key = 0;
	bool is_new;

	for (size_t i = 0; i < finder->length; i++)
		key += sn_hash_u64((uint64_t)finder->path[i]->from << 32 | finder->path[i]->to);
	sn_map_put(&finder->known, key ^ finder->path[0]->event->process, &is_new);
	if (!is_new || finder->cycles >= CYCLES_MAX)
		return;
	finder->cycles++;
	for (size_t i = 0; i < finder->length; i++)
		part_add(finder->reader, finder->cycles, finder->path[i]->event, false);
}

/* A circle that hung is no further one that may. */
static void hung_are_known(struct finder *finder)
{
	const struct sn_lock_cycle_part *parts = finder->reader->locks->cycles.items;
	size_t count = finder->reader->locks->cycles.count;

	for (size_t first = 0, end; first < count; first = end) {
		uint64_t key = 0;

		for (end = first; end < count && parts[end].cycle == parts[first].cycle; end++)
			;
		for (size_t i = first; i < end; i++)
			key += sn_hash_u64((uint64_t)parts[i].object << 32 |
					   parts[i + 1 < end ? i + 1 : first].object);
		sn_map_put(&finder->known, key ^ parts[first].process, NULL);
	}
}

static size_t first_from(const struct finder *finder, uint32_t process, uint32_t from)
{
	size_t low = 0, high = finder->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const struct edge *edge = &finder->edges[middle];

		if (edge->event->process < process ||
		    (edge->event->process == process && edge->from < from))
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Circles that begin with the least of their objects, each once. */
static void follow(struct finder *finder, uint32_t process, uint32_t first, uint32_t from)
{
	for (size_t i = first_from(finder, process, from); i < finder->count; i++) {
		const struct edge *edge = &finder->edges[i];

		if (edge->event->process != process || edge->from != from ||
		    finder->steps++ > STEPS_MAX || finder->cycles >= CYCLES_MAX)
			return;
		if (edge->to < first || !may_overlap(finder, edge))
			continue;
		finder->path[finder->length++] = edge;
		if (edge->to == first && finder->length > 1)
			cycle_add(finder);
		else if (edge->to != first && finder->length < LONGEST)
			follow(finder, process, first, edge->to);
		finder->length--;
	}
}

static void edges_make(struct finder *finder)
{
	const struct sn_lock_reader *reader = finder->reader;
	const struct sn_experiment *e = reader->program->experiment;
	struct sn_map lives = { 0 }, objects = { 0 };

	for (size_t t = 0; t < e->threads.count; t++)
		*sn_map_put(
			&lives,
			thread_key(e->threads.items[t].process, (uint32_t)e->threads.items[t].tid),
			NULL) = t + 1;
	for (size_t i = 0; i < reader->orders.count; i++)
		*sn_map_put(&objects,
			    reader->orders.items[i].entry->object ^
				    sn_hash_u64(reader->orders.items[i].process),
			    NULL) = reader->orders.items[i].object + 1;
	for (size_t i = 0; i < reader->orders.count; i++) {
		const struct sn_lock_event *order = &reader->orders.items[i];
		const uint64_t *held =
			sn_map_get(&objects, order->entry->held ^ sn_hash_u64(order->process));
		const uint64_t *thread =
			sn_map_get(&lives, thread_key(order->process, (uint32_t)order->tid));

		if (!held || !thread || *held - 1 == order->object)
			continue; /* no circle leads through what is only held */
		finder->edges[finder->count++] = (struct edge){
			.event = order,
			.from = (uint32_t)*held - 1,
			.to = order->object,
			.span = { (uint32_t)*thread - 1, (int64_t)order->begin_ns,
				  (int64_t)order->end_ns },
		};
	}
	sn_map_free(&lives);
	sn_map_free(&objects);
}

void sn_locks_find_cycles(struct sn_lock_reader *reader)
{
	struct finder finder = { .reader = reader, .cycles = hung_find(reader) };

	finder.edges = sn_alloc_zeroed(reader->orders.count + 1, sizeof(*finder.edges));
	finder.order = sn_lock_order_new(reader);
	edges_make(&finder);
	hung_are_known(&finder);
	if (finder.count)
		qsort(finder.edges, finder.count, sizeof(*finder.edges), edges_compare);
	for (size_t i = 0; i < finder.count; i++) {
		const struct edge *edge = &finder.edges[i];

		if (i && edge[-1].event->process == edge->event->process &&
		    edge[-1].from == edge->from)
			continue;
		follow(&finder, edge->event->process, edge->from, edge->from);
	}
	sn_lock_order_free(finder.order);
	free(finder.edges);
	sn_map_free(&finder.known);
}
