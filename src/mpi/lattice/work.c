/*
 * Where the work between two calls went: the function and line that most samples of it lie in, over all the times that
 * a rank did this work.
 */
#include <stdlib.h>

#include "base/alloc.h"
#include "base/map.h"
#include "mpi/lattice/parts.h"

struct seen {
	uint64_t key; /* of the work */
	struct sn_mpi_site site;
	uint64_t cpu_ns;
};

static int seen_compare(const void *a, const void *b)
{
	const struct seen *x = a, *y = b;

	if (x->key != y->key)
		return x->key < y->key ? -1 : 1;
	if (x->site.function != y->site.function)
		return x->site.function < y->site.function ? -1 : 1;
	return (x->site.line > y->site.line) - (x->site.line < y->site.line);
}

const struct sn_mpi_node *sn_mpi_node_at(const struct sn_mpi_nodes *nodes, uint32_t process,
					 int64_t time_ns)
{
	uint32_t low = nodes->first[process], high = nodes->first[process + 1];
	uint32_t end = high;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (nodes->items.items[middle].t1_ns < time_ns)
			low = middle + 1;
		else
			high = middle;
	}
	return low < end ? &nodes->items.items[low] : NULL;
}

static size_t samples_place(const struct sn_mpi_nodes *nodes, const struct sn_mpi_site *sites,
			    struct seen *seen)
{
	const struct sn_experiment *e = nodes->program->experiment;
	size_t count = 0;

	for (size_t i = 0; i < e->samples.count; i++) {
		const struct sn_sample *sample = &e->samples.items[i];
		uint32_t process = nodes->process_of[e->threads.items[sample->thread].process];
		const struct sn_mpi_node *node =
			process == SN_NONE ? NULL : sn_mpi_node_at(nodes, process, sample->time_ns);

		if (node && sample->time_ns <= node->t0_ns && sample->stack != SN_NONE &&
		    sites[sample->stack].function != SN_NONE)
			seen[count++] = (struct seen){ node->work_key, sites[sample->stack],
						       sample->cpu_ns };
	}
	if (count)
		qsort(seen, count, sizeof(*seen), seen_compare);
	return count;
}

/* Adds up equal ones, and leaves the heaviest of each work where `best` says, + 1. */
static void heaviest_find(struct seen *seen, size_t count, struct sn_map *best)
{
	for (size_t i = 0, end; i < count; i = end) {
		uint64_t *place = sn_map_put(best, seen[i].key, NULL);

		for (end = i + 1; end < count && seen_compare(&seen[i], &seen[end]) == 0; end++)
			seen[i].cpu_ns += seen[end].cpu_ns;
		if (!*place || seen[*place - 1].cpu_ns < seen[i].cpu_ns)
			*place = i + 1;
	}
}

void sn_mpi_work_sites_find(struct sn_mpi_nodes *nodes, const struct sn_mpi_site *sites)
{
	struct seen *seen =
		sn_alloc_zeroed(nodes->program->experiment->samples.count + 1, sizeof(*seen));
	size_t count = samples_place(nodes, sites, seen);
	struct sn_map best = { 0 };

	heaviest_find(seen, count, &best);
	for (size_t i = 0; i < nodes->items.count; i++) {
		const uint64_t *place = sn_map_get(&best, nodes->items.items[i].work_key);

		nodes->items.items[i].work_site =
			place ? seen[*place - 1].site : (struct sn_mpi_site){ SN_NONE, SN_NONE };
	}
	sn_map_free(&best);
	free(seen);
}
