/*
 * The order in which processes are fixed decides how many states a count has: processes that wait
 * for each other should be neighbours. This is Cuthill and McKee's ordering of the graph of waits,
 * from an end of the graph.
 */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "pandore/lattice/states.h"

/* Who waits for whom between the cuts, as a matrix over positions in `active`. */
static uint8_t *neighbours(const struct sn_lattice_order *order, const uint32_t *a,
			   const uint32_t *b, const uint32_t *active, uint32_t count)
{
	uint8_t *linked = sn_alloc_zeroed((size_t)count * count, 1);
	uint32_t *position = sn_alloc_zeroed(order->process_count, sizeof(uint32_t));
	struct sn_lattice_ref *waits = sn_alloc(order->process_count * sizeof(*waits));

	for (uint32_t i = 0; i < count; i++)
		position[active[i]] = i;
	for (uint32_t i = 0; i < count; i++)
		for (uint32_t c = a[active[i]] + 1; c <= b[active[i]]; c++) {
			uint32_t waited = sn_lattice_order_waits(order, active[i], c, waits);

			for (uint32_t w = 0; w < waited; w++) {
				uint32_t q = waits[w].process, j = position[q];

				if (waits[w].index > a[q])
					linked[(size_t)i * count + j] =
						linked[(size_t)j * count + i] = 1;
			}
		}
	free(position);
	free(waits);
	return linked;
}

static uint32_t degree_of(const uint8_t *linked, uint32_t count, uint32_t i)
{
	uint32_t degree = 0;

	for (uint32_t j = 0; j < count; j++)
		degree += linked[(size_t)i * count + j];
	return degree;
}

/* The unvisited process of least degree; among `of`'s neighbours, or (of == count) among all. */
static uint32_t next_process(const uint8_t *linked, const uint32_t *degrees, const uint8_t *visited,
			     uint32_t count, uint32_t of)
{
	uint32_t best = count;

	for (uint32_t j = 0; j < count; j++) {
		if (visited[j] || (of < count && !linked[(size_t)of * count + j]))
			continue;
		if (best == count || degrees[j] < degrees[best])
			best = j;
	}
	return best;
}

/* Breadth-first from `start` over what is not visited; fills `queue`, returns how many. */
static uint32_t sweep(const uint8_t *linked, const uint32_t *degrees, uint8_t *visited,
		      uint32_t count, uint32_t start, uint32_t *queue)
{
	uint32_t taken = 0, queued = 0, next;

	queue[queued++] = start;
	visited[start] = 1;
	while (taken < queued) {
		while ((next = next_process(linked, degrees, visited, count, queue[taken])) <
		       count) {
			visited[next] = 1;
			queue[queued++] = next;
		}
		taken++;
	}
	return queued;
}

void sn_states_arrange(const struct sn_lattice_order *order, const uint32_t *a, const uint32_t *b,
		       uint32_t *active, uint32_t count)
{
	uint8_t *linked, *visited, *trial;
	uint32_t *degrees, *queue, *sorted, placed = 0, start;

	if (count < 3)
		return;
	linked = neighbours(order, a, b, active, count);
	visited = sn_alloc_zeroed(count, 1);
	trial = sn_alloc_zeroed(count, 1);
	degrees = sn_alloc_zeroed(count, sizeof(uint32_t));
	queue = sn_alloc_zeroed(count, sizeof(uint32_t));
	sorted = sn_alloc_zeroed(count, sizeof(uint32_t));
	for (uint32_t i = 0; i < count; i++)
		degrees[i] = degree_of(linked, count, i);
	while (placed < count) {
		start = next_process(linked, degrees, visited, count, count);
		/* The last one reached from anywhere lies at an end of the graph: start there. */
		memcpy(trial, visited, count);
		start = queue[placed - 1 +
			      sweep(linked, degrees, trial, count, start, queue + placed)];
		placed += sweep(linked, degrees, visited, count, start, queue + placed);
	}
	for (uint32_t i = 0; i < count; i++)
		sorted[count - 1 - i] = active[queue[i]];
	memcpy(active, sorted, count * sizeof(uint32_t));
	free(linked);
	free(visited);
	free(trial);
	free(degrees);
	free(queue);
	free(sorted);
}
