/*
 * Receives from any source that could have met another message: one of another rank that fits, that was not received
 * before, and whose sending did not need that this receive was over. (Netzer and Miller, "Optimal tracing and
 * replay for debugging message-passing parallel programs", Supercomputing 1992, call that a message race.)
 */
#include <stdlib.h>

#include "base/alloc.h"
#include "base/map.h"
#include "mpi/lattice/parts.h"

/* How far after a receive a message that it could have met is looked for. */
enum { LOOK_AHEAD = 4096 };

struct finder {
	const struct sn_mpi_nodes *nodes;
	struct sn_mpi_order *order;
	uint32_t *seen; /* by process: the receive that has met one of its messages, + 1 */
};

static uint32_t posted_node(const struct sn_mpi_nodes *nodes, const struct sn_mpi_message *m)
{
	return m->posted == SN_NONE ? SN_NONE : nodes->end[m->posted];
}

/* By receiver, then as they were asked for; those that nobody asked for come last. */
static int asked_compare(const void *a, const void *b, void *context)
{
	const struct sn_mpi_nodes *nodes = context;
	const struct sn_mpi_message *x = &nodes->mpi->messages.items[*(const uint32_t *)a];
	const struct sn_mpi_message *y = &nodes->mpi->messages.items[*(const uint32_t *)b];
	uint32_t nx = posted_node(nodes, x), ny = posted_node(nodes, y);

	if (x->to != y->to)
		return x->to < y->to ? -1 : 1;
	if (nx != ny)
		return nx < ny ? -1 : 1;
	return (x > y) - (x < y);
}

static bool is_before(const struct finder *f, uint32_t node, uint32_t later)
{
	const struct sn_mpi_node *x = &f->nodes->items.items[node];
	const struct sn_mpi_node *y = &f->nodes->items.items[later];

	return sn_lattice_past(&f->order->execution->all, y->process,
			       later - f->nodes->first[y->process] + 1)[x->process] >
	       node - f->nodes->first[x->process];
}

static bool fits(const struct sn_mpi_message *receive, const struct sn_mpi_message *other)
{
	return other->sent != SN_NONE && other->state != SN_MPI_CANCELLED &&
	       other->comm == receive->comm && other->from != receive->from &&
	       (receive->is_any_tag || other->tag == receive->tag);
}

static void receive_judge(struct finder *f, const uint32_t *order, size_t at, size_t count)
{
	const struct sn_mpi_message *messages = f->nodes->mpi->messages.items;
	const struct sn_mpi_message *receive = &messages[order[at]];
	size_t end = count - at > LOOK_AHEAD ? at + LOOK_AHEAD : count;
	uint32_t mark = (uint32_t)at + 1, came;

	if (!receive->is_any_source || receive->received == SN_NONE || receive->sent == SN_NONE)
		return;
	f->order->wildcards++;
	came = f->nodes->end[receive->received];
	for (size_t i = at + 1; i < end && messages[order[i]].to == receive->to; i++) {
		const struct sn_mpi_message *other = &messages[order[i]];
		uint32_t sent;

		if (!fits(receive, other))
			continue;
		sent = f->nodes->begin[other->sent];
		uint32_t from = f->nodes->items.items[sent].process;

		if (f->seen[from] == mark)
			continue;
		f->seen[from] = mark;
		if (!is_before(f, came, sent))
			sn_vec_push(
				&f->order->races,
				(struct sn_lattice_race){ .receive = came,
							  .sent = f->nodes->begin[receive->sent],
							  .other = sent });
	}
}

void sn_mpi_races_find(const struct sn_mpi_nodes *nodes, struct sn_mpi_order *order)
{
	struct finder f = { .nodes = nodes, .order = order };
	size_t count = nodes->mpi->messages.count;
	uint32_t *sorted = sn_alloc_zeroed(count + 1, sizeof(*sorted));

	f.seen = sn_alloc_zeroed(nodes->process_count + 1, sizeof(*f.seen));
	for (uint32_t i = 0; i < count; i++)
		sorted[i] = i;
	qsort_r(sorted, count, sizeof(*sorted), asked_compare, (void *)nodes);
	for (size_t i = 0; i < count; i++)
		receive_judge(&f, sorted, i, count);
	free(f.seen);
	free(sorted);
}
