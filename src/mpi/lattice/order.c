/*
 * Calls of MPI and labels become events of an execution. A rank's events follow each other by time; a message's sending
 * comes before the call in which it was received; in a collective operation the parts come first that the
 * others need.
 */
#include "mpi/lattice/order.h"

#include <math.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "mpi/lattice/parts.h"

enum { LETS_GO = 1, WAITS = 2 }; /* what a call is to others */

struct dependency {
	uint32_t later, earlier; /* events of MPI */
};

struct builder {
	struct sn_mpi_nodes nodes;
	const struct sn_mpi_points *points;
	struct sn_mpi_order *order;
	SN_VEC(struct dependency) dependencies;
	uint8_t *roles; /* by event of MPI */
	uint32_t *dependency_first;
	struct sn_lattice_ref *after; /* of a node; as many as any has */
	struct sn_mpi_site *sites;    /* by stack */
};

/* ---- processes ---- */

static int rank_compare(const void *a, const void *b, void *context)
{
	const struct sn_mpi *mpi = context;
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	if (mpi->worlds[x] != mpi->worlds[y])
		return mpi->worlds[x] < mpi->worlds[y] ? -1 : 1;
	return (mpi->ranks[x] > mpi->ranks[y]) - (mpi->ranks[x] < mpi->ranks[y]);
}

static void processes_number(struct builder *b)
{
	const struct sn_mpi *mpi = b->nodes.mpi;
	uint32_t count = (uint32_t)b->nodes.program->experiment->processes.count;

	b->nodes.process_of = sn_alloc_zeroed(count + 1, sizeof(*b->nodes.process_of));
	for (uint32_t p = 0; p < count; p++) {
		b->nodes.process_of[p] = SN_NONE;
		if (mpi->ranks[p] >= 0)
			sn_vec_push(&b->order->ranks, p);
	}
	if (b->order->ranks.count)
		qsort_r(b->order->ranks.items, b->order->ranks.count,
			sizeof(*b->order->ranks.items), rank_compare, (void *)mpi);
	b->nodes.process_count = (uint32_t)b->order->ranks.count;
	for (uint32_t i = 0; i < b->nodes.process_count; i++)
		b->nodes.process_of[b->order->ranks.items[i]] = i;
}

/* ---- who comes before whom ---- */

static void comes_before(struct builder *b, uint32_t earlier, uint32_t later)
{
	if (earlier == SN_NONE || later == SN_NONE || earlier == later)
		return;
	if (b->nodes.process_of[b->nodes.mpi->events.items[earlier].process] == SN_NONE ||
	    b->nodes.process_of[b->nodes.mpi->events.items[later].process] == SN_NONE)
		return;
	sn_vec_push(&b->dependencies, (struct dependency){ later, earlier });
	b->roles[earlier] |= LETS_GO;
	b->roles[later] |= WAITS;
}

static uint32_t position_of(const struct sn_mpi_comm_of *comm, int32_t rank)
{
	for (uint32_t i = 0; i < comm->size; i++)
		if (comm->ranks[i] == rank)
			return i;
	return comm->size;
}

static bool needs(const struct sn_mpi *mpi, const struct sn_mpi_operation *operation,
		  enum sn_mpi_pattern pattern, const struct sn_mpi_part *part,
		  const struct sn_mpi_part *other)
{
	const struct sn_mpi_comm_of *comm = &mpi->comms.items[operation->comm];

	switch (pattern) {
	case SN_MPI_ALL_TO_ALL:
		return true;
	case SN_MPI_ALL_TO_ROOT:
		return part->rank == operation->root;
	case SN_MPI_ROOT_TO_ALL:
		return other->rank == operation->root;
	case SN_MPI_BEFORE_TO_AFTER:
		return position_of(comm, other->rank) < position_of(comm, part->rank);
	default:
		return false;
	}
}

static void operation_order(struct builder *b, const struct sn_mpi_operation *operation)
{
	const struct sn_mpi *mpi = b->nodes.mpi;
	enum sn_mpi_pattern pattern = sn_mpi_pattern_of(mpi, operation);
	const struct sn_mpi_part *parts = mpi->parts.items + operation->first_part;

	if (pattern == SN_MPI_NO_PATTERN)
		return;
	for (uint32_t i = 0; i < operation->part_count; i++)
		for (uint32_t j = 0; j < operation->part_count; j++)
			if (i != j && needs(mpi, operation, pattern, &parts[i], &parts[j]))
				comes_before(b, parts[j].entered, parts[i].done);
}

static void dependencies_find(struct builder *b)
{
	const struct sn_mpi *mpi = b->nodes.mpi;

	for (size_t i = 0; i < mpi->messages.count; i++)
		if (mpi->messages.items[i].state == SN_MPI_RECEIVED)
			comes_before(b, mpi->messages.items[i].sent,
				     mpi->messages.items[i].received);
	for (size_t i = 0; i < mpi->operations.count; i++)
		operation_order(b, &mpi->operations.items[i]);
}

/* ---- nodes ---- */

static bool only_asks(enum sn_mpi_meaning meaning)
{
	return meaning == SN_MPI_MEANS_IPROBE || meaning == SN_MPI_MEANS_IMPROBE ||
	       (meaning >= SN_MPI_MEANS_TEST && meaning <= SN_MPI_MEANS_TESTSOME);
}

/* Tests by which something ended. */
static void tests_mark(const struct sn_mpi *mpi, uint8_t *has_ended)
{
	for (size_t i = 0; i < mpi->messages.count; i++) {
		const struct sn_mpi_message *m = &mpi->messages.items[i];

		if (m->received != SN_NONE)
			has_ended[m->received] = 1;
		if (m->sent_done != SN_NONE)
			has_ended[m->sent_done] = 1;
	}
	for (size_t i = 0; i < mpi->parts.count; i++)
		if (mpi->parts.items[i].done != SN_NONE)
			has_ended[mpi->parts.items[i].done] = 1;
}

static void call_add(struct builder *b, uint32_t number, bool has_ended)
{
	const struct sn_mpi_event *event = &b->nodes.mpi->events.items[number];
	struct sn_mpi_node node = { .process = b->nodes.process_of[event->process],
				    .event = number,
				    .t0_ns = event->t0_ns,
				    .t1_ns = event->t1_ns,
				    .sequence = 2 * number + 1 };

	if (node.process == SN_NONE)
		return;
	/* what happens around them is the launcher's work, and no rank's */
	if (sn_mpi_function_meaning(event->function) == SN_MPI_MEANS_INIT)
		node.t0_ns = event->t1_ns;
	if (sn_mpi_function_meaning(event->function) == SN_MPI_MEANS_FINALIZE)
		node.t1_ns = event->t0_ns;
	node.is_idle = !has_ended && only_asks(sn_mpi_function_meaning(event->function));
	node.time_ns = b->roles[number] == LETS_GO ? event->t0_ns : event->t1_ns;
	if (b->roles[number] == (LETS_GO | WAITS)) {
		struct sn_mpi_node begin = node;

		begin.is_begin = true;
		begin.time_ns = event->t0_ns;
		begin.sequence--;
		sn_vec_push(&b->nodes.items, begin);
	}
	sn_vec_push(&b->nodes.items, node);
}

/* The call of MPI that a process was in at a time; NULL: in none. Events of a process lie together, by thread and begin. */
static const struct sn_mpi_event *call_at(const struct sn_mpi *mpi, uint32_t process, int64_t t_ns)
{
	size_t low = 0, high = mpi->events.count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const struct sn_mpi_event *event = &mpi->events.items[middle];

		if (event->process < process || (event->process == process && event->t0_ns <= t_ns))
			low = middle + 1;
		else
			high = middle;
	}
	if (low == 0 || mpi->events.items[low - 1].process != process ||
	    mpi->events.items[low - 1].t1_ns <= t_ns)
		return NULL;
	return &mpi->events.items[low - 1];
}

/* A label was not written inside of a call; where clocks say so, it belongs to the nearer end. */
static void labels_add(struct builder *b)
{
	const struct sn_experiment *e = b->nodes.program->experiment;

	for (size_t i = 0; i < e->packets.count; i++) {
		const struct sn_packet *packet = &e->packets.items[i];
		const struct sn_mpi_event *call;
		struct sn_mpi_node node = { .process = b->nodes.process_of[packet->process],
					    .event = SN_NONE,
					    .label = packet->label,
					    .time_ns = packet->time_ns,
					    .sequence = UINT32_MAX };

		if (node.process == SN_NONE || packet->kind != SN_PACKET_LABEL || !packet->label)
			continue;
		call = call_at(b->nodes.mpi, packet->process, packet->time_ns);
		if (call) {
			bool is_late = call->t1_ns - node.time_ns < node.time_ns - call->t0_ns;

			node.time_ns = is_late ? call->t1_ns : call->t0_ns - 1;
		}
		node.t0_ns = node.t1_ns = node.time_ns;
		sn_vec_push(&b->nodes.items, node);
	}
}

static int node_compare(const void *a, const void *b)
{
	const struct sn_mpi_node *x = a, *y = b;

	if (x->process != y->process)
		return x->process < y->process ? -1 : 1;
	if (x->time_ns != y->time_ns)
		return x->time_ns < y->time_ns ? -1 : 1;
	return (x->sequence > y->sequence) - (x->sequence < y->sequence);
}

static bool are_in_order(const struct sn_mpi_nodes *nodes)
{
	for (size_t i = 1; i < nodes->items.count; i++)
		if (node_compare(&nodes->items.items[i - 1], &nodes->items.items[i]) > 0)
			return false;
	return true;
}

static void nodes_index(struct sn_mpi_nodes *nodes)
{
	uint32_t at = 0;

	for (uint32_t p = 0; p <= nodes->process_count; p++) {
		while (at < nodes->items.count && nodes->items.items[at].process < p)
			at++;
		nodes->first[p] = at;
	}
	for (uint32_t i = 0; i < nodes->items.count; i++) {
		const struct sn_mpi_node *node = &nodes->items.items[i];

		if (node->event == SN_NONE)
			continue;
		if (nodes->begin[node->event] == SN_NONE)
			nodes->begin[node->event] = i;
		nodes->end[node->event] = i;
	}
}

static void nodes_make(struct builder *b)
{
	struct sn_mpi_nodes *nodes = &b->nodes;
	const struct sn_mpi *mpi = nodes->mpi;
	uint8_t *has_ended = sn_alloc_zeroed(mpi->events.count + 1, 1);

	tests_mark(mpi, has_ended);
	for (uint32_t i = 0; i < mpi->events.count; i++)
		call_add(b, i, has_ended[i]);
	free(has_ended);
	labels_add(b);
	if (!are_in_order(nodes))
		qsort(nodes->items.items, nodes->items.count, sizeof(*nodes->items.items),
		      node_compare);
	nodes->first = sn_alloc_zeroed(nodes->process_count + 1, sizeof(*nodes->first));
	nodes->begin = sn_alloc_zeroed(mpi->events.count + 1, sizeof(*nodes->begin));
	nodes->end = sn_alloc_zeroed(mpi->events.count + 1, sizeof(*nodes->end));
	for (size_t i = 0; i < mpi->events.count; i++)
		nodes->begin[i] = nodes->end[i] = SN_NONE;
	nodes_index(nodes);
}

/* ---- the execution ---- */

/* Dependencies by the later event. */
static void dependencies_sort(struct builder *b)
{
	size_t events = b->nodes.mpi->events.count, count = b->dependencies.count;
	struct dependency *sorted = sn_alloc_zeroed(count + 1, sizeof(*sorted));
	uint32_t *first = sn_alloc_zeroed(events + 2, sizeof(*first)), most = 0;

	for (size_t i = 0; i < count; i++)
		first[b->dependencies.items[i].later + 1]++;
	for (size_t i = 0; i < events; i++) {
		most = first[i + 1] > most ? first[i + 1] : most;
		first[i + 1] += first[i];
	}
	for (size_t i = 0; i < count; i++)
		sorted[first[b->dependencies.items[i].later]++] = b->dependencies.items[i];
	for (size_t i = events + 1; i > 0; i--)
		first[i] = first[i - 1];
	first[0] = 0;
	sn_vec_free(&b->dependencies);
	b->dependencies.items = sorted;
	b->dependencies.count = b->dependencies.capacity = count;
	b->dependency_first = first;
	b->after = sn_alloc_zeroed((size_t)most + 1, sizeof(*b->after));
}

static size_t after_of(const struct builder *b, const struct sn_mpi_node *node)
{
	size_t count = 0;

	if (node->event == SN_NONE || node->is_begin)
		return 0;
	for (uint32_t i = b->dependency_first[node->event];
	     i < b->dependency_first[node->event + 1]; i++) {
		uint32_t earlier = b->nodes.begin[b->dependencies.items[i].earlier];
		uint32_t process = b->nodes.items.items[earlier].process;

		if (process != node->process)
			b->after[count++] =
				(struct sn_lattice_ref){ process,
							 earlier - b->nodes.first[process] };
	}
	return count;
}

static void sites_find(struct builder *b)
{
	uint32_t count = b->nodes.program->stack_count;

	b->sites = sn_alloc_zeroed(count + 1, sizeof(*b->sites));
	for (uint32_t s = 0; s < count; s++)
		b->sites[s] = sn_mpi_site_of(b->nodes.program, s);
}

static void node_give(struct builder *b, uint32_t number, const char *zone,
		      struct sn_execution_builder *out)
{
	const struct sn_mpi_node *node = &b->nodes.items.items[number];
	const struct sn_mpi_event *call =
		node->label ? NULL : &b->nodes.mpi->events.items[node->event];
	struct sn_mpi_site site = call && call->stack != SN_NONE
					  ? b->sites[call->stack]
					  : (struct sn_mpi_site){ SN_NONE, SN_NONE };
	struct sn_lattice_event event = {
		.process = node->process,
		.index = number - b->nodes.first[node->process],
		.is_observed = sn_mpi_points_have(b->points, b->nodes.program, b->nodes.mpi, node,
						  site, zone),
		.label = call ? sn_mpi_function_name(call->function) : node->label,
		.duration_s = node->work_s + node->call_s,
		.start_s = ((double)node->t0_ns - node->work_s * 1e9) / 1e9,
		.after = b->after,
		.after_count = after_of(b, node),
	};

	if (site.line != SN_NONE) {
		event.file = b->nodes.program->lines.items[site.line].file;
		event.line = b->nodes.program->lines.items[site.line].line;
	}
	if (node->work_s > node->call_s && node->work_site.function != SN_NONE) {
		event.work_label = b->nodes.program->functions.items[node->work_site.function].name;
		if (node->work_site.line != SN_NONE) {
			event.work_file = b->nodes.program->lines.items[node->work_site.line].file;
			event.work_line = b->nodes.program->lines.items[node->work_site.line].line;
		}
	}
	sn_execution_builder_add(out, &event);
}

static sn_status execution_make(struct builder *b, struct sn_error *err)
{
	struct sn_execution_builder out = { .process_count = b->nodes.process_count };
	sn_status status;

	for (uint32_t p = 0; p < b->nodes.process_count; p++) {
		const char *zone = NULL;

		for (uint32_t i = b->nodes.first[p]; i < b->nodes.first[p + 1]; i++) {
			if (b->nodes.items.items[i].label)
				zone = b->nodes.items.items[i].label;
			node_give(b, i, zone, &out);
		}
	}
	status = sn_execution_build(&out, &b->order->execution, err);
	sn_execution_builder_free(&out);
	if (status != SN_OK) {
		sn_execution_free(b->order->execution);
		b->order->execution = NULL;
	}
	return status;
}

static void waits_sum(struct builder *b)
{
	const struct sn_mpi *mpi = b->nodes.mpi;

	b->order->measured_wait_s =
		sn_alloc_zeroed(b->nodes.process_count + 1, sizeof(*b->order->measured_wait_s));
	for (size_t i = 0; i < mpi->events.count; i++) {
		uint32_t process = b->nodes.process_of[mpi->events.items[i].process];

		if (process != SN_NONE)
			b->order->measured_wait_s[process] +=
				(double)mpi->events.items[i].wait_ns / 1e9;
	}
}

static void builder_free(struct builder *b)
{
	sn_vec_free(&b->nodes.items);
	sn_vec_free(&b->dependencies);
	free(b->nodes.process_of);
	free(b->nodes.first);
	free(b->nodes.begin);
	free(b->nodes.end);
	free(b->roles);
	free(b->dependency_first);
	free(b->after);
	free(b->sites);
}

sn_status sn_mpi_order_make(const struct sn_program *program, const struct sn_mpi *mpi,
			    const struct sn_mpi_points *points, struct sn_mpi_order *out,
			    struct sn_error *err)
{
	struct builder b = { .nodes = { .program = program, .mpi = mpi },
			     .points = points,
			     .order = out };
	sn_status status;

	*out = (struct sn_mpi_order){ 0 };
	if (!mpi->is_traced || !mpi->rank_count)
		return sn_error_set(err, SN_ERR_NO_DATA,
				    "'%s' has no trace of MPI: record it with 'mpirun -n N sonde "
				    "record --mpi ./program'",
				    program->experiment->name);
	b.roles = sn_alloc_zeroed(mpi->events.count + 1, 1);
	processes_number(&b);
	dependencies_find(&b);
	dependencies_sort(&b);
	nodes_make(&b);
	sn_mpi_durations_set(&b.nodes);
	sites_find(&b);
	sn_mpi_work_sites_find(&b.nodes, b.sites);
	waits_sum(&b);
	status = execution_make(&b, err);
	if (status == SN_OK)
		sn_mpi_races_find(&b.nodes, out);
	builder_free(&b);
	if (status != SN_OK)
		sn_mpi_order_free(out);
	return status;
}

void sn_mpi_order_free(struct sn_mpi_order *order)
{
	sn_execution_free(order->execution);
	sn_vec_free(&order->races);
	sn_vec_free(&order->ranks);
	free(order->measured_wait_s);
	*order = (struct sn_mpi_order){ 0 };
}
