/*
 * Who waited for whom: the time in a call before another rank did what the call needs. docs/method/mpi.md
 * defines each kind. A call that has several reasons has the one that kept it longest.
 */
#include <stdlib.h>

#include "base/alloc.h"
#include "mpi/parts.h"

/* The event was waiting from its begin until `until_ns`, when `other` began. */
static void wait_set(struct sn_mpi *mpi, uint32_t event, int64_t until_ns, enum sn_mpi_wait kind,
		     uint32_t other)
{
	struct sn_mpi_event *e = &mpi->events.items[event];
	int64_t end_ns = until_ns < e->t1_ns ? until_ns : e->t1_ns;

	if (end_ns - e->t0_ns <= e->wait_ns)
		return;
	e->wait_ns = end_ns - e->t0_ns;
	e->wait = (uint8_t)kind;
	e->waited_for = other;
}

static const struct sn_mpi_event *event_at(const struct sn_mpi *mpi, uint32_t event)
{
	return &mpi->events.items[event];
}

/* ---- messages ---- */

/* By the rank that received, then by when. */
static int reception_compare(const void *a, const void *b, void *context)
{
	const struct sn_mpi *mpi = context;
	const struct sn_mpi_message *x = &mpi->messages.items[*(const uint32_t *)a];
	const struct sn_mpi_message *y = &mpi->messages.items[*(const uint32_t *)b];
	const struct sn_mpi_event *ex = event_at(mpi, x->received);
	const struct sn_mpi_event *ey = event_at(mpi, y->received);

	if (ex->process != ey->process)
		return ex->process < ey->process ? -1 : 1;
	if (ex->t1_ns != ey->t1_ns)
		return ex->t1_ns < ey->t1_ns ? -1 : 1;
	return (x > y) - (x < y);
}

/* From the last reception to the first: a message that was sent before the one that is waited for, and is
 * received by a later call, could have been received first. */
static void receptions_judge(struct sn_mpi *mpi, const uint32_t *order, size_t count)
{
	int64_t earliest_ns = INT64_MAX, pending_ns = INT64_MAX;
	uint32_t process = SN_NONE, event = SN_NONE;

	for (size_t i = count; i-- > 0;) {
		const struct sn_mpi_message *m = &mpi->messages.items[order[i]];
		int64_t sent_ns = event_at(mpi, m->sent)->t0_ns;

		if (event_at(mpi, m->received)->process != process) {
			process = event_at(mpi, m->received)->process;
			earliest_ns = pending_ns = INT64_MAX;
			event = m->received;
		}
		if (m->received != event) {
			event = m->received;
			earliest_ns = pending_ns < earliest_ns ? pending_ns : earliest_ns;
			pending_ns = INT64_MAX;
		}
		wait_set(mpi, m->received, sent_ns,
			 earliest_ns < sent_ns ? SN_MPI_WRONG_ORDER : SN_MPI_LATE_SENDER, m->sent);
		if (sent_ns < pending_ns)
			pending_ns = sent_ns;
	}
}

/* One that went on after the receiver had asked was waiting for that. When the sending was over within a call that
 * also receives is not known: if it waits about as long for a message of the same rank, that rank came late. */
static void sending_judge(struct sn_mpi *mpi, const struct sn_mpi_message *m)
{
	const struct sn_mpi_event *done, *posted;

	if (m->sent_done == SN_NONE || m->posted == SN_NONE)
		return;
	done = event_at(mpi, m->sent_done);
	posted = event_at(mpi, m->posted);
	if (done->t1_ns <= posted->t0_ns)
		return;
	if (done->waited_for != SN_NONE &&
	    event_at(mpi, done->waited_for)->process == posted->process &&
	    done->wait_ns >= (posted->t0_ns - done->t0_ns) / 2)
		return;
	wait_set(mpi, m->sent_done, posted->t0_ns, SN_MPI_LATE_RECEIVER, m->posted);
}

static void messages_judge(struct sn_mpi *mpi)
{
	uint32_t *order = sn_alloc_zeroed(mpi->messages.count + 1, sizeof(*order));
	size_t count = 0;

	for (size_t i = 0; i < mpi->messages.count; i++)
		if (mpi->messages.items[i].sent != SN_NONE &&
		    mpi->messages.items[i].received != SN_NONE)
			order[count++] = (uint32_t)i;
	qsort_r(order, count, sizeof(*order), reception_compare, mpi);
	receptions_judge(mpi, order, count);
	free(order);
	for (size_t i = 0; i < mpi->probes.count; i++)
		wait_set(mpi, mpi->probes.items[i].event,
			 event_at(mpi, mpi->probes.items[i].sent)->t0_ns, SN_MPI_LATE_SENDER,
			 mpi->probes.items[i].sent);
	for (size_t i = 0; i < mpi->messages.count; i++)
		sending_judge(mpi, &mpi->messages.items[i]);
}

/* ---- collective operations ---- */

enum sn_mpi_pattern sn_mpi_pattern_of(const struct sn_mpi *mpi,
				      const struct sn_mpi_operation *operation)
{
	if (mpi->comms.items[operation->comm].is_inter)
		return SN_MPI_NO_PATTERN;
	switch (operation->meaning) {
	case SN_MPI_MEANS_BARRIER:
	case SN_MPI_MEANS_ALLGATHER:
	case SN_MPI_MEANS_ALLGATHERV:
	case SN_MPI_MEANS_ALLTOALL:
	case SN_MPI_MEANS_ALLTOALLV:
	case SN_MPI_MEANS_ALLTOALLW:
	case SN_MPI_MEANS_ALLREDUCE:
	case SN_MPI_MEANS_REDUCE_SCATTER:
	case SN_MPI_MEANS_REDUCE_SCATTER_BLOCK:
	case SN_MPI_MEANS_NEW_COMM:
		return SN_MPI_ALL_TO_ALL;
	case SN_MPI_MEANS_GATHER:
	case SN_MPI_MEANS_GATHERV:
	case SN_MPI_MEANS_REDUCE:
		return SN_MPI_ALL_TO_ROOT;
	case SN_MPI_MEANS_BCAST:
	case SN_MPI_MEANS_SCATTER:
	case SN_MPI_MEANS_SCATTERV:
		return SN_MPI_ROOT_TO_ALL;
	case SN_MPI_MEANS_SCAN:
		return SN_MPI_BEFORE_TO_AFTER;
	default:
		return SN_MPI_NO_PATTERN;
	}
}

static enum sn_mpi_wait kind_of(const struct sn_mpi_operation *operation,
				enum sn_mpi_pattern pattern)
{
	if (operation->meaning == SN_MPI_MEANS_BARRIER)
		return SN_MPI_WAIT_AT_BARRIER;
	return pattern == SN_MPI_ALL_TO_ROOT   ? SN_MPI_EARLY_REDUCE
	       : pattern == SN_MPI_ROOT_TO_ALL ? SN_MPI_LATE_BROADCAST
					       : SN_MPI_WAIT_AT_NXN;
}

/* The part that entered last, of those that are or are not the root's; NULL: none. */
static const struct sn_mpi_part *last_of(const struct sn_mpi *mpi,
					 const struct sn_mpi_operation *operation, bool with_root,
					 bool with_others)
{
	const struct sn_mpi_part *last = NULL;

	for (uint32_t i = 0; i < operation->part_count; i++) {
		const struct sn_mpi_part *part = &mpi->parts.items[operation->first_part + i];

		if (!(part->rank == operation->root ? with_root : with_others))
			continue;
		if (!last ||
		    event_at(mpi, part->entered)->t0_ns > event_at(mpi, last->entered)->t0_ns)
			last = part;
	}
	return last;
}

static void part_wait(struct sn_mpi *mpi, const struct sn_mpi_part *part,
		      const struct sn_mpi_part *last, enum sn_mpi_wait kind)
{
	if (part->done != SN_NONE && last && last != part)
		wait_set(mpi, part->done, event_at(mpi, last->entered)->t0_ns, kind, last->entered);
}

static uint32_t position_of(const struct sn_mpi_comm_of *comm, int32_t rank)
{
	for (uint32_t i = 0; i < comm->size; i++)
		if (comm->ranks[i] == rank)
			return i;
	return comm->size;
}

/* A rank's part of a scan needs the ranks before it. */
static void scan_judge(struct sn_mpi *mpi, const struct sn_mpi_operation *operation)
{
	const struct sn_mpi_comm_of *comm = &mpi->comms.items[operation->comm];
	const struct sn_mpi_part **by_position =
		sn_alloc_zeroed(comm->size + 1, sizeof(*by_position));
	const struct sn_mpi_part *last = NULL;

	for (uint32_t i = 0; i < operation->part_count; i++) {
		const struct sn_mpi_part *part = &mpi->parts.items[operation->first_part + i];

		by_position[position_of(comm, part->rank)] = part;
	}
	for (uint32_t i = 0; i < comm->size; i++) {
		if (!by_position[i])
			continue;
		part_wait(mpi, by_position[i], last, SN_MPI_WAIT_AT_NXN);
		if (!last || event_at(mpi, by_position[i]->entered)->t0_ns >
				     event_at(mpi, last->entered)->t0_ns)
			last = by_position[i];
	}
	free(by_position);
}

static void operation_judge(struct sn_mpi *mpi, const struct sn_mpi_operation *operation)
{
	enum sn_mpi_pattern pattern = sn_mpi_pattern_of(mpi, operation);
	enum sn_mpi_wait kind = kind_of(operation, pattern);
	const struct sn_mpi_part *last;

	if (pattern == SN_MPI_NO_PATTERN || !operation->is_whole)
		return;
	if (pattern == SN_MPI_BEFORE_TO_AFTER) {
		scan_judge(mpi, operation);
		return;
	}
	last = last_of(mpi, operation, pattern != SN_MPI_ALL_TO_ROOT,
		       pattern != SN_MPI_ROOT_TO_ALL);
	for (uint32_t i = 0; i < operation->part_count; i++) {
		const struct sn_mpi_part *part = &mpi->parts.items[operation->first_part + i];
		bool is_root = part->rank == operation->root;

		if (pattern == SN_MPI_ALL_TO_ALL || is_root == (pattern == SN_MPI_ALL_TO_ROOT))
			part_wait(mpi, part, last, kind);
	}
}

/* ---- the end of MPI ---- */

static int ending_compare(const void *a, const void *b)
{
	const struct sn_mpi_ending *x = a, *y = b;

	if (x->world != y->world)
		return x->world < y->world ? -1 : 1;
	return (x->event > y->event) - (x->event < y->event);
}

/* The standard lets a rank leave MPI_Finalize before others come. So ranks waited for each other if none did. */
static bool has_met(const struct sn_mpi *mpi, const struct sn_mpi_ending *endings, size_t count,
		    uint32_t *last)
{
	int64_t left_ns = INT64_MAX;

	*last = endings[0].event;
	for (size_t i = 0; i < count; i++) {
		const struct sn_mpi_event *event = event_at(mpi, endings[i].event);

		left_ns = event->t1_ns < left_ns ? event->t1_ns : left_ns;
		if (event->t0_ns > event_at(mpi, *last)->t0_ns)
			*last = endings[i].event;
	}
	return count > 1 && left_ns > event_at(mpi, *last)->t0_ns;
}

/* Keeps the endings of worlds whose ranks met, and sets their waiting. */
static void endings_judge(struct sn_mpi *mpi)
{
	struct sn_mpi_ending *endings = mpi->endings.items;
	size_t kept = 0;

	for (size_t first = 0, end; first < mpi->endings.count; first = end) {
		uint32_t last;

		for (end = first + 1;
		     end < mpi->endings.count && endings[end].world == endings[first].world;)
			end++;
		if (!has_met(mpi, &endings[first], end - first, &last))
			continue;
		for (size_t i = first; i < end; i++) {
			if (endings[i].event != last)
				wait_set(mpi, endings[i].event, event_at(mpi, last)->t0_ns,
					 SN_MPI_WAIT_AT_BARRIER, last);
			endings[kept++] = endings[i];
		}
	}
	mpi->endings.count = kept;
}

static void endings_find(struct sn_mpi *mpi)
{
	for (size_t i = 0; i < mpi->events.count; i++) {
		const struct sn_mpi_event *event = &mpi->events.items[i];

		if (sn_mpi_function_meaning(event->function) == SN_MPI_MEANS_FINALIZE &&
		    mpi->worlds[event->process] != SN_NONE)
			sn_vec_push(
				&mpi->endings,
				(struct sn_mpi_ending){ mpi->worlds[event->process], (uint32_t)i });
	}
	if (mpi->endings.count)
		qsort(mpi->endings.items, mpi->endings.count, sizeof(*mpi->endings.items),
		      ending_compare);
	endings_judge(mpi);
}

void sn_mpi_waits_find(struct sn_mpi *mpi)
{
	messages_judge(mpi);
	endings_find(mpi);
	for (size_t i = 0; i < mpi->operations.count; i++)
		operation_judge(mpi, &mpi->operations.items[i]);
}
