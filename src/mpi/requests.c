/*
 * Follows requests: what a Wait completes was begun elsewhere. Calls are played in the order in which they
 * returned; the library gives the handle of a request that is over to another one. A message that was probed
 * and taken (MPI_Mprobe) is known by its handle until it is received.
 */
#include <assert.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "mpi/parts.h"

enum what { SENDS, RECEIVES, TAKES_PART };

/* What a request stands for: up to a send and a receive (MPI_Isendrecv). */
struct request {
	uint64_t handle;
	uint32_t process;
	bool is_persistent, is_over;
	struct {
		enum what what;
		/* of a persistent one, how each start begins; else what was begun */
		uint32_t template, begun; /* indices; SN_NONE */
	} sides[2];
	uint32_t side_count;
	uint32_t starts;
	uint32_t older; /* of the same handle, still to be completed; index + 1 */
};

struct follower {
	struct sn_mpi_build *build;
	SN_VEC(struct request) requests;
	struct sn_map newest; /* process and handle -> request + 1 */
	SN_VEC(struct sn_mpi_end) templates;
	/* persistent collective operations: what, the how manieth of its communicator, its root */
	SN_VEC(struct sn_mpi_part) part_templates;
	SN_VEC(uint64_t) part_numbers;
	SN_VEC(int32_t) part_roots;
	struct sn_map messages; /* process and handle of a message -> taken + 1 */
	struct sn_map
		probed; /* process -> its last probe of any source, till it is received; taken + 1 */
	SN_VEC(struct sn_mpi_end) taken;
	struct sn_map sequence; /* communicator and process -> operations so far */
	uint32_t open_receive;	/* of the call that is played; SN_NONE */
};

static uint64_t handle_key(uint32_t process, uint64_t handle)
{
	return sn_hash_u64(handle) ^ sn_hash_u64(process + 1ULL) * 7;
}

static const struct sn_mpi_event *event_of(const struct follower *f, const struct sn_mpi_deed *deed)
{
	return &f->build->mpi->events.items[deed->event];
}

/* ---- requests ---- */

static struct request *request_add(struct follower *f, uint32_t process, uint64_t handle)
{
	uint64_t *place = sn_map_put(&f->newest, handle_key(process, handle), NULL);
	uint32_t older = (uint32_t)*place;

	while (older && f->requests.items[older - 1].is_over)
		older = f->requests.items[older - 1].older;
	/* one of a call that is both a send and a receive */
	sn_vec_push(&f->requests,
		    (struct request){ .handle = handle, .process = process, .older = older });
	*place = f->requests.count;
	return &f->requests.items[f->requests.count - 1];
}

/* The oldest that is not over; NULL: none that we know. */
static struct request *request_find(struct follower *f, uint32_t process, uint64_t handle)
{
	const uint64_t *place = sn_map_get(&f->newest, handle_key(process, handle));
	struct request *found = NULL;

	for (uint32_t at = place ? (uint32_t)*place : 0; at; at = f->requests.items[at - 1].older) {
		assert(f->requests.items && at <= f->requests.count);
		if (!f->requests.items[at - 1].is_over)
			found = &f->requests.items[at - 1];
	}
	return found;
}

static struct request *request_of_call(struct follower *f, const struct sn_mpi_deed *deed)
{
	const struct sn_mpi_deed *before = deed - 1;
	bool is_second = before >= f->build->deeds.items && before->event == deed->event &&
			 before->has_handle && before->handle == deed->handle &&
			 before->kind == SN_MPI_SEND && deed->kind == SN_MPI_RECV;
	uint32_t process = event_of(f, deed)->process;

	return is_second ? request_find(f, process, deed->handle)
			 : request_add(f, process, deed->handle);
}

static void side_add(struct request *request, enum what what, uint32_t template, uint32_t begun)
{
	uint32_t at = request->side_count < 2 ? request->side_count++ : 1;

	request->sides[at].what = what;
	request->sides[at].template = template;
	request->sides[at].begun = begun;
	request->is_persistent |= template != SN_NONE;
}

/* ---- ends of messages ---- */

static struct sn_mpi_end end_make(const struct follower *f, const struct sn_mpi_deed *deed)
{
	const struct sn_mpi_event *event = event_of(f, deed);
	const struct sn_mpi_local_comm *comm =
		sn_mpi_local_comm(f->build, event->process, deed->values[2]);
	int64_t peer = sn_mpi_signed(deed->values[0]);
	int32_t own = f->build->mpi->ranks[event->process];
	struct sn_mpi_end end = { .world = f->build->mpi->worlds[event->process],
				  .tag = (int32_t)sn_mpi_signed(deed->values[1]),
				  .comm = comm ? comm->comm : SN_NONE,
				  .local_comm = (uint32_t)deed->values[2],
				  .is_partitioned = deed->flags & SN_MPI_IS_PARTITIONED,
				  .bytes = deed->values[3],
				  .order_ns = event->t0_ns,
				  .event = deed->event,
				  .done = SN_NONE };
	int32_t other = comm ? sn_mpi_world_rank(comm, peer) : -1;

	end.from = deed->kind == SN_MPI_SEND ? own : other;
	end.to = deed->kind == SN_MPI_SEND ? other : own;
	end.is_any_source = deed->kind == SN_MPI_RECV && peer == SN_MPI_ANY;
	end.is_any_tag = deed->kind == SN_MPI_RECV && end.tag == SN_MPI_ANY;
	end.is_known = deed->kind == SN_MPI_SEND || (peer >= 0 && end.tag != SN_MPI_ANY);
	return end;
}

static uint32_t end_begin(struct follower *f, enum what what, struct sn_mpi_end end)
{
	if (what == SENDS) {
		end.sequence = (uint32_t)f->build->sends.count;
		sn_vec_push(&f->build->sends, end);
		f->build->mpi->events.items[end.event].bytes_out += end.bytes;
		f->build->mpi->events.items[end.event].messages++;
		return end.sequence;
	}
	end.sequence = (uint32_t)f->build->receives.count;
	sn_vec_push(&f->build->receives, end);
	return end.sequence;
}

static uint64_t *probed_of(struct follower *f, uint32_t process)
{
	return sn_map_put(&f->probed, sn_hash_u64(process + 1ULL), NULL);
}

/* A receive of what a probe of any source has found could have met what the probe could have found. */
static void probed_take(struct follower *f, uint32_t process, struct sn_mpi_end *receive)
{
	uint64_t *place = probed_of(f, process);
	const struct sn_mpi_end *probe = *place ? &f->taken.items[*place - 1] : NULL;

	if (!probe || probe->comm != receive->comm || probe->from != receive->from ||
	    (!receive->is_any_tag && probe->tag != receive->tag))
		return;
	receive->is_any_source = true;
	receive->is_any_tag |= probe->is_any_tag;
	*place = 0;
}

static void message_play(struct follower *f, const struct sn_mpi_deed *deed)
{
	enum what what = deed->kind == SN_MPI_SEND ? SENDS : RECEIVES;
	struct sn_mpi_end end = end_make(f, deed);
	uint32_t begun;

	if (deed->flags & SN_MPI_IS_INIT) {
		sn_vec_push(&f->templates, end);
		side_add(request_of_call(f, deed), what, (uint32_t)f->templates.count - 1, SN_NONE);
		return;
	}
	if (what == RECEIVES)
		probed_take(f, event_of(f, deed)->process, &end);
	begun = end_begin(f, what, end);
	if (deed->has_handle)
		side_add(request_of_call(f, deed), what, SN_NONE, begun);
	else if (what == SENDS)
		f->build->sends.items[begun].done = deed->event;
	else
		f->open_receive = begun;
}

/* A receive is over: now it is known from whom, and how much. */
static void receive_end(struct follower *f, uint32_t receive, const struct sn_mpi_deed *done)
{
	struct sn_mpi_end *end = &f->build->receives.items[receive];
	struct sn_mpi_event *event = &f->build->mpi->events.items[done->event];
	const struct sn_mpi_local_comm *comm =
		sn_mpi_local_comm(f->build, event->process, end->local_comm);
	int64_t source = sn_mpi_signed(done->values[0]);

	end->done = done->event;
	if (done->flags & SN_MPI_IS_CANCELLED) {
		end->is_cancelled = true;
		return;
	}
	if (comm && source >= 0)
		end->from = sn_mpi_world_rank(comm, source);
	end->tag = (int32_t)sn_mpi_signed(done->values[1]);
	end->bytes = done->values[2];
	end->is_known = true;
	event->bytes_in += end->bytes;
	event->messages++;
}

/* ---- messages that were probed and taken ---- */

static void probe_play(struct follower *f, const struct sn_mpi_deed *deed)
{
	enum sn_mpi_meaning meaning = sn_mpi_function_meaning(event_of(f, deed)->function);
	struct sn_mpi_end end = end_make(f, deed);

	end.from = -1;
	end.to = f->build->mpi->ranks[event_of(f, deed)->process];
	end.is_known = true;
	const struct sn_mpi_local_comm *comm =
		sn_mpi_local_comm(f->build, event_of(f, deed)->process, deed->values[2]);
	if (comm)
		end.from = sn_mpi_world_rank(comm, sn_mpi_signed(deed->values[0]));
	end.is_partitioned = false; /* no such flag of a probe */
	end.is_any_source = deed->flags & SN_MPI_IS_ANY;
	end.is_any_tag = deed->flags & SN_MPI_IS_ANY_TAG;
	if (meaning == SN_MPI_MEANS_PROBE || meaning == SN_MPI_MEANS_MPROBE)
		sn_vec_push(&f->build->probes, end);
	if (!deed->has_handle && !(deed->flags & SN_MPI_IS_ANY))
		return;
	sn_vec_push(&f->taken, end);
	if (!deed->has_handle) {
		*probed_of(f, event_of(f, deed)->process) = f->taken.count;
		return;
	}
	*sn_map_put(&f->messages, handle_key(event_of(f, deed)->process, deed->handle), NULL) =
		f->taken.count;
}

/* Its place among other receives is where it was taken; it is posted where it is received. */
static void matched_play(struct follower *f, const struct sn_mpi_deed *deed)
{
	uint32_t process = event_of(f, deed)->process, begun;
	const uint64_t *place = sn_map_get(&f->messages, handle_key(process, deed->handle));
	struct sn_mpi_end end;

	if (!place)
		return;
	assert(f->taken.items && *place <= f->taken.count);
	end = f->taken.items[*place - 1];
	end.event = deed->event;
	begun = end_begin(f, RECEIVES, end);
	if (deed->values[1])
		side_add(request_add(f, process, (uint64_t)sn_mpi_signed(deed->values[2])),
			 RECEIVES, SN_NONE, begun);
	else
		f->open_receive = begun;
}

/* ---- collective operations ---- */

static struct sn_mpi_part part_make(const struct follower *f, const struct sn_mpi_deed *deed)
{
	const struct sn_mpi_event *event = event_of(f, deed);
	const struct sn_mpi_local_comm *comm =
		sn_mpi_local_comm(f->build, event->process, deed->values[0]);

	/* the operation is its communicator and root until they are matched */
	return (struct sn_mpi_part){ .operation = comm ? comm->comm : SN_NONE,
				     .rank = f->build->mpi->ranks[event->process],
				     .entered = deed->event,
				     .done = SN_NONE,
				     .bytes_out = deed->values[2],
				     .bytes_in = deed->values[3] };
}

static uint32_t part_begin(struct follower *f, struct sn_mpi_part part, int32_t root, uint64_t nth)
{
	struct sn_mpi_event *event = &f->build->mpi->events.items[part.entered];
	struct sn_mpi_meeting meeting = { .comm = part.operation,
					  .nth = nth,
					  .root = root,
					  .part = (uint32_t)f->build->mpi->parts.count };

	event->bytes_out += part.bytes_out;
	event->bytes_in += part.bytes_in;
	sn_vec_push(&f->build->mpi->parts, part);
	if (part.operation != SN_NONE)
		sn_vec_push(&f->build->meetings, meeting);
	return meeting.part;
}

/* How many operations this rank has done on the communicator before. */
static uint64_t sequence_next(struct follower *f, const struct sn_mpi_part *part, bool is_init)
{
	uint32_t process = f->build->mpi->events.items[part->entered].process;
	uint64_t key = sn_hash_u64((uint64_t)part->operation << 1 | is_init) ^
		       sn_hash_u64(process + 1ULL) * 3;

	return (*sn_map_put(&f->sequence, key, NULL))++;
}

/* The n-th start of the m-th persistent operation of a communicator. */
static uint64_t persistent_nth(uint64_t init, uint64_t start)
{
	return 1ULL << 63 | init << 31 | (start & INT32_MAX);
}

static int32_t root_of(const struct follower *f, const struct sn_mpi_deed *deed)
{
	const struct sn_mpi_local_comm *comm =
		sn_mpi_local_comm(f->build, event_of(f, deed)->process, deed->values[0]);

	return comm && deed->values[1] ? sn_mpi_world_rank(comm, (int64_t)deed->values[1] - 1) : -1;
}

static void collective_play(struct follower *f, const struct sn_mpi_deed *deed)
{
	struct sn_mpi_part part = part_make(f, deed);
	bool is_init = deed->flags & SN_MPI_IS_INIT;
	uint64_t nth = sequence_next(f, &part, is_init);
	uint32_t begun;

	if (is_init) {
		sn_vec_push(&f->part_templates, part);
		sn_vec_push(&f->part_numbers, nth);
		sn_vec_push(&f->part_roots, root_of(f, deed));
		side_add(request_add(f, event_of(f, deed)->process, deed->handle), TAKES_PART,
			 (uint32_t)f->part_templates.count - 1, SN_NONE);
		return;
	}
	begun = part_begin(f, part, root_of(f, deed), nth);
	if (deed->has_handle)
		side_add(request_add(f, event_of(f, deed)->process, deed->handle), TAKES_PART,
			 SN_NONE, begun);
	else
		f->build->mpi->parts.items[begun].done = deed->event;
}

/* ---- requests that start and end ---- */

static void start_play(struct follower *f, const struct sn_mpi_deed *deed)
{
	struct request *request = request_find(f, event_of(f, deed)->process, deed->handle);

	for (uint32_t i = 0; request && i < request->side_count; i++) {
		uint32_t template = request->sides[i].template;

		if (template == SN_NONE)
			continue;
		if (request->sides[i].what == TAKES_PART) {
			struct sn_mpi_part part = f->part_templates.items[template];

			part.entered = deed->event;
			request->sides[i].begun = part_begin(
				f, part, f->part_roots.items[template],
				persistent_nth(f->part_numbers.items[template], request->starts));
		} else {
			struct sn_mpi_end end = f->templates.items[template];

			end.event = deed->event;
			end.order_ns = event_of(f, deed)->t0_ns;
			request->sides[i].begun = end_begin(f, request->sides[i].what, end);
		}
	}
	if (request)
		request->starts++;
}

static void side_end(struct follower *f, enum what what, uint32_t begun,
		     const struct sn_mpi_deed *done)
{
	if (begun == SN_NONE)
		return;
	if (what == RECEIVES) {
		receive_end(f, begun, done);
	} else if (what == SENDS) {
		f->build->sends.items[begun].done = done->event;
		f->build->sends.items[begun].is_cancelled = done->flags & SN_MPI_IS_CANCELLED;
	} else {
		f->build->mpi->parts.items[begun].done = done->event;
	}
}

static void done_play(struct follower *f, const struct sn_mpi_deed *deed)
{
	struct request *request;

	if (!deed->has_handle) {
		side_end(f, RECEIVES, f->open_receive, deed);
		f->open_receive = SN_NONE;
		return;
	}
	request = request_find(f, event_of(f, deed)->process, deed->handle);
	for (uint32_t i = 0; request && i < request->side_count; i++) {
		side_end(f, request->sides[i].what, request->sides[i].begun, deed);
		request->sides[i].begun = SN_NONE;
	}
	if (request && !request->is_persistent)
		request->is_over = true;
}

static void free_play(struct follower *f, const struct sn_mpi_deed *deed)
{
	struct request *request = request_find(f, event_of(f, deed)->process, deed->handle);

	if (request)
		request->is_over = true;
}

static void deed_play(struct follower *f, const struct sn_mpi_deed *deed)
{
	switch (deed->kind) {
	case SN_MPI_SEND:
	case SN_MPI_RECV:
		message_play(f, deed);
		break;
	case SN_MPI_MATCHED:
		matched_play(f, deed);
		break;
	case SN_MPI_DONE:
		done_play(f, deed);
		break;
	case SN_MPI_START:
		start_play(f, deed);
		break;
	case SN_MPI_FREE:
		free_play(f, deed);
		break;
	case SN_MPI_PROBE:
		probe_play(f, deed);
		break;
	case SN_MPI_COLLECTIVE:
		collective_play(f, deed);
		break;
	case SN_MPI_TRANSFER: {
		struct sn_mpi_event *event = &f->build->mpi->events.items[deed->event];

		*(deed->flags & SN_MPI_IS_IN ? &event->bytes_in : &event->bytes_out) +=
			deed->values[1];
		break;
	}
	default:
		break;
	}
}

/* Deeds by process and by when their call returned. */
static int order_compare(const void *a, const void *b, void *context)
{
	const struct sn_mpi_build *build = context;
	const struct sn_mpi_deed *x = &build->deeds.items[*(const uint32_t *)a];
	const struct sn_mpi_deed *y = &build->deeds.items[*(const uint32_t *)b];
	const struct sn_mpi_event *ex = &build->mpi->events.items[x->event];
	const struct sn_mpi_event *ey = &build->mpi->events.items[y->event];

	if (ex->process != ey->process)
		return ex->process < ey->process ? -1 : 1;
	if (ex->t1_ns != ey->t1_ns)
		return ex->t1_ns < ey->t1_ns ? -1 : 1;
	return (x > y) - (x < y);
}

static bool is_in_order(const struct sn_mpi_build *build, const uint32_t *order, size_t count)
{
	for (size_t i = 1; i < count; i++)
		if (order_compare(&order[i - 1], &order[i], (void *)build) > 0)
			return false;
	return true;
}

void sn_mpi_requests_follow(struct sn_mpi_build *build)
{
	struct follower follower = { .build = build, .open_receive = SN_NONE };
	size_t count = build->deeds.count;
	uint32_t *order = sn_alloc_zeroed(count + 1, sizeof(*order));

	for (size_t i = 0; i < count; i++)
		order[i] = (uint32_t)i;
	if (!is_in_order(build, order, count))
		qsort_r(order, count, sizeof(*order), order_compare, build);
	for (size_t i = 0; i < count; i++) {
		const struct sn_mpi_deed *deed = &build->deeds.items[order[i]];

		if (i && deed->event != build->deeds.items[order[i - 1]].event)
			follower.open_receive = SN_NONE;
		deed_play(&follower, deed);
	}
	free(order);
	sn_vec_free(&follower.requests);
	sn_map_free(&follower.newest);
	sn_vec_free(&follower.templates);
	sn_vec_free(&follower.part_templates);
	sn_vec_free(&follower.part_numbers);
	sn_vec_free(&follower.part_roots);
	sn_map_free(&follower.messages);
	sn_map_free(&follower.probed);
	sn_vec_free(&follower.taken);
	sn_map_free(&follower.sequence);
}
