/* The order of processes. */
#include "experiment/order.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

/* The kernel says in ticks when a process began, so one may seem to have begun before the image that started it. It has
 * not; images that came when it was at work already, and older processes of the parent's number, are not meant. */
static void starts_order(struct sn_experiment *e)
{
	enum { TICK_NS = 10000000, GENERATIONS_MOST = 16 };
	bool has_moved = true;

	for (int n = 0; n < GENERATIONS_MOST && has_moved; n++) {
		has_moved = false;
		for (size_t i = 0; i < e->processes.count; i++) {
			struct sn_process *child = &e->processes.items[i];

			for (size_t k = 0; k < e->processes.count; k++) {
				const struct sn_process *parent = &e->processes.items[k];

				if (parent->pid != child->parent_pid || i == k ||
				    child->start_ns > parent->start_ns ||
				    parent->start_ns >= child->started_by_ns ||
				    parent->start_ns - child->start_ns > 2 * TICK_NS ||
				    strcmp(parent->host, child->host) != 0)
					continue;
				child->start_ns = parent->start_ns + 1;
				has_moved = true;
			}
		}
	}
}

static int processes_compare(const void *a, const void *b, void *context)
{
	const struct sn_process *processes = context;
	const struct sn_process *x = &processes[*(const uint32_t *)a];
	const struct sn_process *y = &processes[*(const uint32_t *)b];

	if (x->rank != y->rank)
		return x->rank < y->rank ? -1 : 1;
	if (x->start_ns != y->start_ns)
		return x->start_ns < y->start_ns ? -1 : 1;
	return (x->pid > y->pid) - (x->pid < y->pid);
}

void sn_processes_order(struct sn_experiment *e)
{
	size_t n = e->processes.count;
	uint32_t *order = sn_alloc_zeroed(n, sizeof(*order));
	uint32_t *place = sn_alloc_zeroed(n, sizeof(*place));
	struct sn_process *sorted = sn_alloc_zeroed(n, sizeof(*sorted));

	starts_order(e);
	for (uint32_t i = 0; i < n; i++)
		order[i] = i;
	qsort_r(order, n, sizeof(*order), processes_compare, e->processes.items);
	for (uint32_t i = 0; i < n; i++) {
		place[order[i]] = i;
		sorted[i] = e->processes.items[order[i]];
		sorted[i].index = i;
	}
	if (n)
		memcpy(e->processes.items, sorted, n * sizeof(*sorted));
	for (size_t i = 0; i < e->threads.count; i++)
		e->threads.items[i].process = place[e->threads.items[i].process];
	for (size_t i = 0; i < e->mappings.count; i++)
		e->mappings.items[i].process = place[e->mappings.items[i].process];
	for (size_t i = 0; i < e->stacks.count; i++)
		e->stacks.items[i].process = place[e->stacks.items[i].process];
	for (size_t i = 0; i < e->packets.count; i++)
		e->packets.items[i].process = place[e->packets.items[i].process];
	for (size_t i = 0; i < e->trace_paths.count; i++)
		e->trace_paths.items[i].process = place[e->trace_paths.items[i].process];
	for (size_t i = 0; i < e->sequences.count; i++)
		e->sequences.items[i].process = place[e->sequences.items[i].process];
	free(order);
	free(place);
	free(sorted);
}
