/*
 * The graph: arrivals wait for their past; an event that is taken copies the part of the graph
 * above its past.
 */
#include "pandore/lattice/online.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/map.h"

/* An event that has arrived. */
struct arrival {
	uint32_t process, index;
	size_t deps_first;
	uint32_t deps_count;
	uint32_t missing;      /* dependencies not taken yet */
	uint32_t node;	       /* the cut "its past with itself"; SN_NODE_NONE until it is taken */
	uint32_t first_waiter; /* in `waiters`, + 1; 0: none */
};

struct waiter {
	uint32_t arrival, next; /* + 1; 0: the end */
};

struct sn_lattice_graph {
	uint32_t process_count, node_limit, node_count;
	uint32_t *arcs;	   /* node_capacity * P */
	uint32_t *scratch; /* node_capacity; old node -> its copy, copy -> its old node */
	size_t node_capacity;
	bool is_full;
	struct sn_map numbers; /* (process, index) -> arrival */
	struct sn_map absent;  /* (process, index) not arrived -> first waiter + 1 */
	SN_VEC(struct arrival) arrivals;
	SN_VEC(struct sn_lattice_ref) deps;
	SN_VEC(struct waiter) waiters;
	SN_VEC(uint32_t) ready; /* arrivals that can be taken */
	uint32_t taken_count;
	/* Clocks of the taken events, P numbers each, by arrival. */
	SN_VEC(uint32_t) clocks;
};

static uint64_t key_of(uint32_t process, uint32_t index)
{
	return (uint64_t)process << 32 | index;
}

/* Room for twice the nodes: no allocation is made inside the copying loop. */
static void reserve_nodes(struct sn_lattice_graph *graph, size_t needed)
{
	size_t capacity = graph->node_capacity ? graph->node_capacity : 256;

	if (needed <= graph->node_capacity)
		return;
	while (capacity < needed)
		capacity += capacity / 2;
	graph->arcs =
		sn_realloc_array(graph->arcs, capacity, graph->process_count * sizeof(uint32_t));
	graph->scratch = sn_realloc_array(graph->scratch, capacity, sizeof(uint32_t));
	graph->node_capacity = capacity;
}

struct sn_lattice_graph *sn_lattice_graph_new(uint32_t process_count, uint32_t node_limit)
{
	struct sn_lattice_graph *graph = sn_alloc_zeroed(1, sizeof(*graph));

	graph->process_count = process_count;
	graph->node_limit = node_limit ? node_limit : SN_NODE_NONE - 1;
	reserve_nodes(graph, 1);
	memset(graph->arcs, 0xff, process_count * sizeof(uint32_t));
	graph->scratch[0] = 0;
	graph->node_count = 1;
	return graph;
}

void sn_lattice_graph_free(struct sn_lattice_graph *graph)
{
	if (!graph)
		return;
	free(graph->arcs);
	free(graph->scratch);
	sn_map_free(&graph->numbers);
	sn_map_free(&graph->absent);
	sn_vec_free(&graph->arrivals);
	sn_vec_free(&graph->deps);
	sn_vec_free(&graph->waiters);
	sn_vec_free(&graph->ready);
	sn_vec_free(&graph->clocks);
	free(graph);
}

/* ---- Taking an event ------------------------------------------------------------------------ */

static const struct arrival *taken_event(const struct sn_lattice_graph *graph, uint32_t process,
					 uint32_t index)
{
	return &graph->arrivals.items[*sn_map_get(&graph->numbers, key_of(process, index))];
}

static void raise_clock(struct sn_lattice_graph *graph, uint32_t *clock, uint32_t process,
			uint32_t index)
{
	const struct arrival *other = taken_event(graph, process, index);
	const uint32_t *by = graph->clocks.items +
			     (size_t)(other - graph->arrivals.items) * graph->process_count;

	for (uint32_t q = 0; q < graph->process_count; q++)
		clock[q] = clock[q] > by[q] ? clock[q] : by[q];
}

/* The clock of an event and the node of its past without itself: from its predecessor's node, along
 * any arcs towards the clock. Over all events of a process these walks add up to n arcs at most. */
static uint32_t find_start(struct sn_lattice_graph *graph, uint32_t number, uint32_t *cut)
{
	const struct arrival *event = &graph->arrivals.items[number];
	uint32_t *clock = graph->clocks.items + (size_t)number * graph->process_count, node = 0;

	memset(clock, 0, graph->process_count * sizeof(uint32_t));
	memset(cut, 0, graph->process_count * sizeof(uint32_t));
	if (event->index) {
		raise_clock(graph, clock, event->process, event->index - 1);
		memcpy(cut, clock, graph->process_count * sizeof(uint32_t));
		node = taken_event(graph, event->process, event->index - 1)->node;
	}
	for (uint32_t d = 0; d < event->deps_count; d++) {
		const struct sn_lattice_ref *dep = &graph->deps.items[event->deps_first + d];

		raise_clock(graph, clock, dep->process, dep->index);
	}
	for (uint32_t q = 0; q < graph->process_count; q++) {
		if (cut[q] >= clock[q])
			continue;
		if (graph->arcs[(size_t)node * graph->process_count + q] == SN_NODE_NONE)
			continue; /* must wait for another; come back to it below */
		node = graph->arcs[(size_t)node * graph->process_count + q];
		cut[q]++;
		q = UINT32_MAX; /* from the first process again */
	}
	clock[event->process] = event->index + 1;
	return node;
}

/* Copies the cuts from `start` upward, each with an arc of process p to its copy. Breadth-first:
 * the copies are numbered in the order in which their originals are met. */
static bool copy_above(struct sn_lattice_graph *graph, uint32_t start, uint32_t p)
{
	uint32_t processes = graph->process_count, base = graph->node_count, next = base + 1;

	reserve_nodes(graph, (size_t)base + 1);
	graph->scratch[start] = base;
	graph->scratch[base] = start;
	for (uint32_t copy = base; copy < next; copy++) {
		uint32_t original = graph->scratch[copy];
		const uint32_t *from;
		uint32_t *to;

		if (next + processes > graph->node_capacity)
			reserve_nodes(graph, (size_t)next + processes);
		from = graph->arcs + (size_t)original * processes;
		to = graph->arcs + (size_t)copy * processes;
		for (uint32_t q = 0; q < processes; q++) {
			uint32_t above = from[q];

			if (above == SN_NODE_NONE) {
				to[q] = SN_NODE_NONE;
				continue;
			}
			/* A copy made now is numbered from `base` on; older marks are smaller. */
			if (graph->scratch[above] < base) {
				graph->scratch[above] = next;
				graph->scratch[next] = above;
				next++;
			}
			to[q] = graph->scratch[above];
		}
		if (next > graph->node_limit)
			return false;
	}
	graph->node_count = next;
	for (uint32_t copy = base; copy < next; copy++)
		graph->arcs[(size_t)graph->scratch[copy] * processes + p] = copy;
	return true;
}

static sn_status take_event(struct sn_lattice_graph *graph, uint32_t number, struct sn_error *err)
{
	uint32_t *cut = sn_alloc_zeroed(graph->process_count, sizeof(uint32_t)), start;
	struct arrival *event = &graph->arrivals.items[number];

	sn_vec_reserve(&graph->clocks, graph->arrivals.count * graph->process_count);
	start = find_start(graph, number, cut);
	free(cut);
	event->node = graph->node_count;
	if (!copy_above(graph, start, event->process)) {
		graph->is_full = true;
		event->node = SN_NODE_NONE;
		return sn_error_set(err, SN_ERR_RANGE,
				    "the lattice has more than %u cuts after %u events",
				    graph->node_limit, graph->taken_count);
	}
	graph->taken_count++;
	for (uint32_t w = event->first_waiter; w; w = graph->waiters.items[w - 1].next) {
		uint32_t waiting = graph->waiters.items[w - 1].arrival;

		if (--graph->arrivals.items[waiting].missing == 0)
			sn_vec_push(&graph->ready, waiting);
	}
	return SN_OK;
}

/* ---- Arrivals ------------------------------------------------------------------------------- */

/* Notes that `number` waits for event (process, index), arrived or not, if it is not taken yet. */
static void wait_for(struct sn_lattice_graph *graph, uint32_t number, uint32_t process,
		     uint32_t index)
{
	const uint64_t *known = sn_map_get(&graph->numbers, key_of(process, index));
	uint32_t *first = NULL;
	uint64_t *absent;

	if (known && graph->arrivals.items[*known].node != SN_NODE_NONE)
		return;
	graph->arrivals.items[number].missing++;
	if (known) {
		first = &graph->arrivals.items[*known].first_waiter;
		sn_vec_push(&graph->waiters, (struct waiter){ number, *first });
		*first = (uint32_t)graph->waiters.count;
		return;
	}
	absent = sn_map_put(&graph->absent, key_of(process, index), NULL);
	sn_vec_push(&graph->waiters, (struct waiter){ number, (uint32_t)*absent });
	*absent = graph->waiters.count;
}

static sn_status check_arrival(const struct sn_lattice_graph *graph, uint32_t process,
			       uint32_t index, const struct sn_lattice_ref *after,
			       size_t after_count, struct sn_error *err)
{
	if (graph->is_full)
		return sn_error_set(err, SN_ERR_RANGE, "the lattice has more than %u cuts",
				    graph->node_limit);
	if (process >= graph->process_count)
		return sn_error_set(err, SN_ERR_FORMAT, "process %u is unknown", process);
	if (sn_map_get(&graph->numbers, key_of(process, index)))
		return sn_error_set(err, SN_ERR_FORMAT, "event %u of process %u was given before",
				    index, process);
	for (size_t i = 0; i < after_count; i++)
		if (after[i].process >= graph->process_count)
			return sn_error_set(
				err, SN_ERR_FORMAT,
				"event %u of process %u depends on the unknown process %u", index,
				process, after[i].process);
	return SN_OK;
}

sn_status sn_lattice_graph_add(struct sn_lattice_graph *graph, uint32_t process, uint32_t index,
			       const struct sn_lattice_ref *after, size_t after_count,
			       struct sn_error *err)
{
	sn_status status = check_arrival(graph, process, index, after, after_count, err);
	uint32_t number = (uint32_t)graph->arrivals.count;
	const uint64_t *absent;

	if (status != SN_OK)
		return status;
	absent = sn_map_get(&graph->absent, key_of(process, index));
	sn_vec_push(&graph->arrivals,
		    (struct arrival){ .process = process,
				      .index = index,
				      .deps_first = graph->deps.count,
				      .deps_count = (uint32_t)after_count,
				      .node = SN_NODE_NONE,
				      .first_waiter = absent ? (uint32_t)*absent : 0 });
	*sn_map_put(&graph->numbers, key_of(process, index), NULL) = number;
	for (size_t i = 0; i < after_count; i++) {
		sn_vec_push(&graph->deps, after[i]);
		wait_for(graph, number, after[i].process, after[i].index);
	}
	if (index)
		wait_for(graph, number, process, index - 1);
	if (graph->arrivals.items[number].missing == 0)
		sn_vec_push(&graph->ready, number);
	while (graph->ready.count && status == SN_OK)
		status = take_event(graph, graph->ready.items[--graph->ready.count], err);
	return status;
}

uint32_t sn_lattice_graph_pending(const struct sn_lattice_graph *graph)
{
	return (uint32_t)graph->arrivals.count - graph->taken_count;
}

uint32_t sn_lattice_graph_node_count(const struct sn_lattice_graph *graph)
{
	return graph->node_count;
}

const uint32_t *sn_lattice_graph_arcs(const struct sn_lattice_graph *graph, uint32_t node)
{
	return graph->arcs + (size_t)node * graph->process_count;
}

const uint32_t *sn_lattice_graph_levels(struct sn_lattice_graph *graph)
{
	graph->scratch[0] = 0;
	for (uint32_t node = 0; node < graph->node_count; node++)
		for (uint32_t p = 0; p < graph->process_count; p++) {
			uint32_t above = sn_lattice_graph_arcs(graph, node)[p];

			if (above != SN_NODE_NONE)
				graph->scratch[above] = graph->scratch[node] + 1;
		}
	return graph->scratch;
}

sn_status sn_lattice_graph_add_order(struct sn_lattice_graph *graph,
				     const struct sn_lattice_order *order, struct sn_error *err)
{
	uint32_t rank_count = order->event_count + 1;
	uint32_t *first = sn_alloc_zeroed((size_t)rank_count + 1, sizeof(uint32_t));
	struct sn_lattice_ref *events = sn_alloc((size_t)rank_count * sizeof(*events));
	struct sn_lattice_ref *waits = sn_alloc((order->process_count + 1) * sizeof(*waits));
	sn_status status = SN_OK;

	for (uint32_t p = 0; p < order->process_count; p++)
		for (uint32_t c = 1; c <= order->counts[p]; c++)
			first[sn_lattice_order_rank(order, p, c) + 1]++;
	for (uint32_t k = 0; k < rank_count; k++)
		first[k + 1] += first[k];
	for (uint32_t p = 0; p < order->process_count; p++)
		for (uint32_t c = 1; c <= order->counts[p]; c++)
			events[first[sn_lattice_order_rank(order, p, c)]++] =
				(struct sn_lattice_ref){ p, c };
	for (uint32_t e = 0; e < order->event_count && status == SN_OK; e++) {
		uint32_t count =
			sn_lattice_order_waits(order, events[e].process, events[e].index, waits);

		for (uint32_t w = 0; w < count; w++)
			waits[w].index--; /* numbers from 1 become indices */
		status = sn_lattice_graph_add(graph, events[e].process, events[e].index - 1, waits,
					      count, err);
	}
	free(first);
	free(events);
	free(waits);
	return status;
}
