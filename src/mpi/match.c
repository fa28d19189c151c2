/*
 * Sends and receives become messages: between two ranks, on one communicator and with one tag, the n-th
 * message that was sent is the n-th that was asked for (MPI does not let them overtake each other). Whom a
 * wildcard met is known from its status. The n-th operation of a communicator is one for all its ranks.
 */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "mpi/parts.h"

static int compare_u64(uint64_t x, uint64_t y)
{
	return (x > y) - (x < y);
}

/* By channel, then in order. */
static int channel_compare(const struct sn_mpi_end *x, const struct sn_mpi_end *y)
{
	if (x->world != y->world)
		return compare_u64(x->world, y->world);
	if (x->from != y->from)
		return x->from < y->from ? -1 : 1;
	if (x->to != y->to)
		return x->to < y->to ? -1 : 1;
	if (x->comm != y->comm)
		return compare_u64(x->comm, y->comm);
	if (x->tag != y->tag)
		return x->tag < y->tag ? -1 : 1;
	return (int)x->is_partitioned - (int)y->is_partitioned;
}

static int end_compare(const void *a, const void *b)
{
	const struct sn_mpi_end *x = a, *y = b;
	int by_channel = channel_compare(x, y);

	if (by_channel)
		return by_channel;
	if (x->order_ns != y->order_ns)
		return x->order_ns < y->order_ns ? -1 : 1;
	return compare_u64(x->sequence, y->sequence);
}

static bool is_matchable(const struct sn_mpi_end *end)
{
	return !end->is_cancelled && end->from >= 0 && end->to >= 0 && end->comm != SN_NONE;
}

static void message_add(struct sn_mpi *mpi, const struct sn_mpi_end *send,
			const struct sn_mpi_end *receive)
{
	const struct sn_mpi_end *any = send ? send : receive;
	struct sn_mpi_message message = { .from = any->from,
					  .to = any->to,
					  .tag = any->tag,
					  .comm = any->comm,
					  .is_partitioned = any->is_partitioned,
					  .bytes = send ? send->bytes : receive->bytes,
					  .sent = SN_NONE,
					  .sent_done = SN_NONE,
					  .posted = SN_NONE,
					  .received = SN_NONE };

	message.state = !send		     ? SN_MPI_UNSENT
			: send->is_cancelled ? SN_MPI_CANCELLED
			: receive	     ? SN_MPI_RECEIVED
					     : SN_MPI_UNRECEIVED;
	if (send) {
		message.sent = send->event;
		message.sent_done = send->done;
	}
	if (receive) {
		message.posted = receive->event;
		message.received = receive->done;
		message.is_any_source = receive->is_any_source;
		message.is_any_tag = receive->is_any_tag;
	}
	sn_vec_push(&mpi->messages, message);
}

/* A receive that nobody answered is no message, unless it came. */
static void receive_alone(struct sn_mpi *mpi, const struct sn_mpi_end *receive)
{
	if (receive->is_known && receive->done != SN_NONE && !receive->is_cancelled)
		message_add(mpi, NULL, receive);
}

/* The probes from `*next` on that found this message: the first one of the channel that nobody had asked for
 * before. Those that an earlier message has answered are behind `*next`. */
static void probes_answer(struct sn_mpi_build *build, const struct sn_mpi_end *send,
			  const struct sn_mpi_end *receive, size_t *next)
{
	const struct sn_mpi_end *probes = build->probes.items;
	size_t count = build->probes.count;

	while (*next < count && channel_compare(&probes[*next], send) < 0)
		++*next;
	while (*next < count && channel_compare(&probes[*next], send) == 0 &&
	       (!receive || receive->order_ns >= probes[*next].order_ns))
		sn_vec_push(&build->mpi->probes,
			    (struct sn_mpi_probe){ probes[(*next)++].event, send->event });
}

static void ends_match(struct sn_mpi_build *build)
{
	struct sn_mpi_end *sends = build->sends.items, *receives = build->receives.items;
	size_t s = 0, r = 0, probe = 0;

	if (build->probes.count)
		qsort(build->probes.items, build->probes.count, sizeof(*build->probes.items),
		      end_compare);
	if (build->sends.count)
		qsort(sends, build->sends.count, sizeof(*sends), end_compare);
	if (build->receives.count)
		qsort(receives, build->receives.count, sizeof(*receives), end_compare);
	while (s < build->sends.count || r < build->receives.count) {
		const struct sn_mpi_end *send = s < build->sends.count ? &sends[s] : NULL;
		const struct sn_mpi_end *receive = r < build->receives.count ? &receives[r] : NULL;
		int order = !send ? 1 : !receive ? -1 : channel_compare(send, receive);

		if (send && (order < 0 || (order == 0 && !is_matchable(send)))) {
			if (is_matchable(send))
				probes_answer(build, send, NULL, &probe);
			message_add(build->mpi, send, NULL);
			s++;
		} else if (receive && (order > 0 || !receive->is_known || !is_matchable(receive))) {
			receive_alone(build->mpi, receive);
			r++;
		} else {
			probes_answer(build, send, receive, &probe);
			message_add(build->mpi, send, receive);
			s++;
			r++;
		}
	}
}

static int message_compare(const void *a, const void *b, void *context)
{
	const struct sn_mpi_message *x = a, *y = b;
	const struct sn_mpi_event *events = context;
	uint32_t ex = x->sent != SN_NONE ? x->sent : x->posted;
	uint32_t ey = y->sent != SN_NONE ? y->sent : y->posted;

	if (events[ex].t0_ns != events[ey].t0_ns)
		return events[ex].t0_ns < events[ey].t0_ns ? -1 : 1;
	if (ex != ey)
		return ex < ey ? -1 : 1;
	if (x->to != y->to)
		return x->to < y->to ? -1 : 1;
	return (x->tag > y->tag) - (x->tag < y->tag);
}

/* ---- operations ---- */

static int meeting_compare(const void *a, const void *b)
{
	const struct sn_mpi_meeting *x = a, *y = b;

	if (x->comm != y->comm)
		return compare_u64(x->comm, y->comm);
	if (x->nth != y->nth)
		return compare_u64(x->nth, y->nth);
	return compare_u64(x->part, y->part);
}

static enum sn_mpi_meaning part_meaning(const struct sn_mpi *mpi, const struct sn_mpi_part *part)
{
	return sn_mpi_function_meaning(mpi->events.items[part->entered].function);
}

/* Ranks of one operation call the same function, or those that mean the same: MPI_Bcast and MPI_Ibcast do not
 * match, so nothing but an error of the program's, or a rank whose events were lost, makes them differ. */
static void operation_add(struct sn_mpi *mpi, const struct sn_mpi_meeting *meetings, size_t count,
			  const struct sn_mpi_part *unordered)
{
	struct sn_mpi_operation operation = { .comm = meetings[0].comm,
					      .root = meetings[0].root,
					      .first_part = (uint32_t)mpi->parts.count,
					      .part_count = (uint32_t)count,
					      .is_whole = count ==
							  mpi->comms.items[meetings[0].comm].size };

	for (size_t i = 0; i < count; i++) {
		struct sn_mpi_part part = unordered[meetings[i].part];
		enum sn_mpi_meaning meaning = part_meaning(mpi, &part);

		if (i == 0)
			operation.meaning = (uint8_t)meaning;
		else if (meaning != operation.meaning)
			operation.is_whole = false;
		part.operation = (uint32_t)mpi->operations.count;
		sn_vec_push(&mpi->parts, part);
	}
	sn_vec_push(&mpi->operations, operation);
}

static void parts_match(struct sn_mpi_build *build)
{
	struct sn_mpi *mpi = build->mpi;
	struct sn_mpi_part *unordered = mpi->parts.items;
	size_t count = build->meetings.count;
	const struct sn_mpi_meeting *meetings = build->meetings.items;

	mpi->parts.items = NULL;
	mpi->parts.count = mpi->parts.capacity = 0;
	if (count)
		qsort(build->meetings.items, count, sizeof(*build->meetings.items),
		      meeting_compare);
	for (size_t i = 0, end; i < count; i = end) {
		for (end = i + 1; end < count && meetings[end].comm == meetings[i].comm &&
				  meetings[end].nth == meetings[i].nth;)
			end++;
		operation_add(mpi, &meetings[i], end - i, unordered);
	}
	free(unordered);
}

void sn_mpi_match(struct sn_mpi_build *build)
{
	ends_match(build);
	if (build->mpi->messages.count)
		qsort_r(build->mpi->messages.items, build->mpi->messages.count,
			sizeof(*build->mpi->messages.items), message_compare,
			build->mpi->events.items);
	parts_match(build);
}
