/*
 * The events of an OTF2 trace, thread by thread. MPI calls begin and end when they did; functions begin
 * and end where observations (samples, MPI calls, blocking calls) stop agreeing on them. What a sample saw
 * within an MPI call is left out: the call is one region.
 */
#include <stdlib.h>

#include "base/alloc.h"
#include "exchange/otf2_parts.h"

/* ---- what MPI calls did ---- */

static bool has_event(const struct sn_otf2_trace *t, uint32_t index)
{
	const struct sn_profile *profile = t->profile;
	const struct sn_mpi_event *event;

	if (index == SN_NONE)
		return false;
	event = &t->mpi->events.items[index];
	return event->t0_ns >= profile->from_ns && event->t0_ns < profile->to_ns &&
	       (event->stack == SN_NONE || profile->stack_passes[event->stack]);
}

static void deed_add(struct sn_otf2_trace *t, uint32_t event, enum sn_otf2_deed_kind kind,
		     size_t index)
{
	sn_vec_push(&t->deeds, (struct sn_otf2_deed){ event, (uint32_t)index, kind });
}

static void message_add(struct sn_otf2_trace *t, size_t index)
{
	const struct sn_mpi_message *m = &t->mpi->messages.items[index];

	if (m->state == SN_MPI_CANCELLED)
		return;
	if (has_event(t, m->sent) && m->to >= 0) {
		bool is_one = m->sent == m->sent_done;

		deed_add(t, m->sent, is_one ? SN_OTF2_SEND : SN_OTF2_ISEND, index);
		if (!is_one && has_event(t, m->sent_done))
			deed_add(t, m->sent_done, SN_OTF2_SEND_COMPLETE, index);
	}
	if (has_event(t, m->received) && m->from >= 0) {
		bool is_one = m->posted == m->received || !has_event(t, m->posted);

		if (!is_one)
			deed_add(t, m->posted, SN_OTF2_RECEIVE_REQUEST, index);
		deed_add(t, m->received, is_one ? SN_OTF2_RECEIVE : SN_OTF2_IRECEIVE, index);
	}
}

static void part_add(struct sn_otf2_trace *t, size_t index)
{
	const struct sn_mpi_part *part = &t->mpi->parts.items[index];
	bool is_one = part->entered == part->done;

	if (!has_event(t, part->entered) || !has_event(t, part->done) ||
	    t->mpi->comms.items[t->mpi->operations.items[part->operation].comm].is_inter)
		return;
	deed_add(t, part->entered, is_one ? SN_OTF2_COLLECTIVE_BEGIN : SN_OTF2_COLLECTIVE_REQUEST,
		 index);
	deed_add(t, part->done, is_one ? SN_OTF2_COLLECTIVE_END : SN_OTF2_COLLECTIVE_COMPLETE,
		 index);
}

static int deed_compare(const void *a, const void *b)
{
	const struct sn_otf2_deed *x = a, *y = b;

	if (x->event != y->event)
		return x->event < y->event ? -1 : 1;
	if (x->kind != y->kind)
		return x->kind < y->kind ? -1 : 1;
	return (x->index > y->index) - (x->index < y->index);
}

static uint32_t world_of(const struct sn_otf2_trace *t, uint32_t event)
{
	uint32_t world =
		event == SN_NONE ? SN_NONE : t->mpi->worlds[t->mpi->events.items[event].process];

	return world == SN_NONE ? 0 : world;
}

static uint64_t rank_key(uint32_t comm, int32_t rank)
{
	return (uint64_t)comm << 32 | (uint32_t)rank;
}

/* Which world a communicator is of, by one who used it. */
static void comm_worlds_find(struct sn_otf2_trace *t)
{
	const struct sn_mpi *mpi = t->mpi;

	for (size_t p = 0; p < t->profile->experiment->processes.count; p++)
		if (mpi->worlds[p] != SN_NONE && mpi->worlds[p] >= t->world_count)
			t->world_count = mpi->worlds[p] + 1;
	for (size_t i = 0; i < mpi->messages.count; i++) {
		const struct sn_mpi_message *m = &mpi->messages.items[i];

		t->comm_worlds[m->comm] = world_of(t, m->sent != SN_NONE ? m->sent : m->received);
	}
	for (size_t i = 0; i < mpi->parts.count; i++)
		t->comm_worlds[mpi->operations.items[mpi->parts.items[i].operation].comm] =
			world_of(t, mpi->parts.items[i].entered);
}

/* References, without gaps: worlds first, then the other communicators. The first of a world that has its
 * ranks in order is the world's own. */
static void comms_number(struct sn_otf2_trace *t)
{
	const struct sn_mpi *mpi = t->mpi;
	bool *has_own = sn_alloc_zeroed(t->world_count + 1, sizeof(*has_own));
	uint32_t next = t->world_count;

	for (uint32_t c = 0; c < mpi->comms.count; c++) {
		const struct sn_mpi_comm_of *comm = &mpi->comms.items[c];
		bool is_world = !comm->is_inter && !has_own[t->comm_worlds[c]] && comm->size;

		for (uint32_t r = 0; r < comm->size && !comm->is_inter; r++) {
			*sn_map_put(&t->comm_ranks, rank_key(c, comm->ranks[r]), NULL) = r + 1ULL;
			is_world &= comm->ranks[r] == (int32_t)r;
		}
		has_own[t->comm_worlds[c]] |= is_world;
		t->comm_references[c] = is_world || comm->is_inter ? t->comm_worlds[c] : next++;
	}
	free(has_own);
}

/* The rank in a communicator of a rank of its world; SN_NONE: it has none there. */
static uint32_t comm_rank(const struct sn_otf2_trace *t, uint32_t comm, int32_t world_rank)
{
	const uint64_t *found;

	if (t->mpi->comms.items[comm].is_inter) /* told in the world's ranks */
		return world_rank < 0 ? SN_NONE : (uint32_t)world_rank;
	found = sn_map_get(&t->comm_ranks, rank_key(comm, world_rank));
	return found ? (uint32_t)(*found - 1) : SN_NONE;
}

void sn_otf2_deeds_gather(struct sn_otf2_trace *t)
{
	size_t comm_count = t->mpi->comms.count;

	t->comm_worlds = sn_alloc_zeroed(comm_count + 1, sizeof(*t->comm_worlds));
	t->comm_references = sn_alloc_zeroed(comm_count + 1, sizeof(*t->comm_references));
	comm_worlds_find(t);
	comms_number(t);
	for (size_t i = 0; i < t->mpi->messages.count; i++)
		message_add(t, i);
	for (size_t i = 0; i < t->mpi->parts.count; i++)
		part_add(t, i);
	if (t->deeds.count)
		qsort(t->deeds.items, t->deeds.count, sizeof(*t->deeds.items), deed_compare);
}

/* ---- a thread ---- */

struct lane {
	struct sn_otf2_trace *trace;
	OTF2_EvtWriter *writer;
	OTF2_ErrorCode code;
	struct sn_frames frames, open; /* of this observation; begun and not ended */
	int64_t now_ns;		       /* up to here the thread is told */
	int64_t shift_ns;	       /* of samples, to the clock of MPI events */
	size_t deed;		       /* the next one, of any event from here on */
};

static uint64_t stamp(struct lane *lane, int64_t ns)
{
	int64_t time = ns + lane->trace->bias_ns;
	uint64_t stamp = time > 0 ? (uint64_t)time : 0;

	if (stamp > lane->trace->last_ns)
		lane->trace->last_ns = stamp;
	return stamp;
}

static void keep(struct lane *lane, OTF2_ErrorCode code)
{
	if (lane->code == OTF2_SUCCESS)
		lane->code = code;
}

static void enter(struct lane *lane, uint32_t frame, int64_t ns)
{
	keep(lane, lane->trace->otf2->EvtWriter_Enter(lane->writer, NULL, stamp(lane, ns),
						      sn_otf2_region(lane->trace, frame)));
}

static void leave(struct lane *lane, uint32_t frame, int64_t ns)
{
	keep(lane, lane->trace->otf2->EvtWriter_Leave(lane->writer, NULL, stamp(lane, ns),
						      sn_otf2_region(lane->trace, frame)));
}

static void close_to(struct lane *lane, size_t depth, int64_t ns)
{
	while (lane->open.count > depth)
		leave(lane, lane->open.items[--lane->open.count], ns);
}

/* What is open becomes the frames of this observation. */
static void frames_open(struct lane *lane, int64_t ns)
{
	size_t same = 0;

	while (same < lane->open.count && same < lane->frames.count &&
	       lane->open.items[same] == lane->frames.items[same])
		same++;
	close_to(lane, same, ns);
	for (size_t i = same; i < lane->frames.count; i++) {
		enter(lane, lane->frames.items[i], ns);
		sn_vec_push(&lane->open, lane->frames.items[i]);
	}
}

/* A thread was in a stack from one time to another, as far as it is not told yet. */
static void observe(struct lane *lane, uint32_t stack, int64_t from_ns, int64_t to_ns)
{
	const struct sn_program *program = lane->trace->profile->program;

	if (to_ns <= lane->now_ns)
		return;
	sn_frames_of_stack(program, sn_stack_number(program, stack),
			   lane->trace->options->with_loops, &lane->frames);
	frames_open(lane, from_ns > lane->now_ns ? from_ns : lane->now_ns);
	lane->now_ns = to_ns;
}

/* ---- MPI calls ---- */

static void message_write(struct lane *lane, const struct sn_otf2_deed *deed, uint64_t time)
{
	const struct sn_otf2_trace *t = lane->trace;
	const struct sn_otf2 *otf2 = t->otf2;
	const struct sn_mpi_message *m = &t->mpi->messages.items[deed->index];
	uint64_t request = 2ULL * deed->index;
	OTF2_CommRef comm = t->comm_references[m->comm];
	uint32_t to = comm_rank(t, m->comm, m->to);
	uint32_t from = comm_rank(t, m->comm, m->from);
	uint32_t tag = (uint32_t)m->tag;

	if (deed->kind == SN_OTF2_SEND)
		keep(lane,
		     otf2->EvtWriter_MpiSend(lane->writer, NULL, time, to, comm, tag, m->bytes));
	else if (deed->kind == SN_OTF2_ISEND)
		keep(lane, otf2->EvtWriter_MpiIsend(lane->writer, NULL, time, to, comm, tag,
						    m->bytes, request));
	else if (deed->kind == SN_OTF2_SEND_COMPLETE)
		keep(lane, otf2->EvtWriter_MpiIsendComplete(lane->writer, NULL, time, request));
	else if (deed->kind == SN_OTF2_RECEIVE_REQUEST)
		keep(lane, otf2->EvtWriter_MpiIrecvRequest(lane->writer, NULL, time, request + 1));
	else if (deed->kind == SN_OTF2_RECEIVE)
		keep(lane,
		     otf2->EvtWriter_MpiRecv(lane->writer, NULL, time, from, comm, tag, m->bytes));
	else
		keep(lane, otf2->EvtWriter_MpiIrecv(lane->writer, NULL, time, from, comm, tag,
						    m->bytes, request + 1));
}

static OTF2_CollectiveOp operation_of(enum sn_mpi_meaning meaning)
{
	switch (meaning) {
	case SN_MPI_MEANS_BARRIER:
		return OTF2_COLLECTIVE_OP_BARRIER;
	case SN_MPI_MEANS_BCAST:
		return OTF2_COLLECTIVE_OP_BCAST;
	case SN_MPI_MEANS_GATHER:
		return OTF2_COLLECTIVE_OP_GATHER;
	case SN_MPI_MEANS_GATHERV:
		return OTF2_COLLECTIVE_OP_GATHERV;
	case SN_MPI_MEANS_SCATTER:
		return OTF2_COLLECTIVE_OP_SCATTER;
	case SN_MPI_MEANS_SCATTERV:
		return OTF2_COLLECTIVE_OP_SCATTERV;
	case SN_MPI_MEANS_ALLGATHER:
	case SN_MPI_MEANS_NEIGHBOR_ALLGATHER:
		return OTF2_COLLECTIVE_OP_ALLGATHER;
	case SN_MPI_MEANS_ALLGATHERV:
	case SN_MPI_MEANS_NEIGHBOR_ALLGATHERV:
		return OTF2_COLLECTIVE_OP_ALLGATHERV;
	case SN_MPI_MEANS_ALLTOALL:
	case SN_MPI_MEANS_NEIGHBOR_ALLTOALL:
		return OTF2_COLLECTIVE_OP_ALLTOALL;
	case SN_MPI_MEANS_ALLTOALLV:
	case SN_MPI_MEANS_NEIGHBOR_ALLTOALLV:
		return OTF2_COLLECTIVE_OP_ALLTOALLV;
	case SN_MPI_MEANS_ALLTOALLW:
	case SN_MPI_MEANS_NEIGHBOR_ALLTOALLW:
		return OTF2_COLLECTIVE_OP_ALLTOALLW;
	case SN_MPI_MEANS_REDUCE:
		return OTF2_COLLECTIVE_OP_REDUCE;
	case SN_MPI_MEANS_ALLREDUCE:
		return OTF2_COLLECTIVE_OP_ALLREDUCE;
	case SN_MPI_MEANS_SCAN:
		return OTF2_COLLECTIVE_OP_SCAN;
	case SN_MPI_MEANS_REDUCE_SCATTER:
		return OTF2_COLLECTIVE_OP_REDUCE_SCATTER;
	case SN_MPI_MEANS_REDUCE_SCATTER_BLOCK:
		return OTF2_COLLECTIVE_OP_REDUCE_SCATTER_BLOCK;
	case SN_MPI_MEANS_COMM_FREE:
		return OTF2_COLLECTIVE_OP_DESTROY_HANDLE;
	default:
		return OTF2_COLLECTIVE_OP_CREATE_HANDLE;
	}
}

static void part_write(struct lane *lane, const struct sn_otf2_deed *deed, uint64_t time)
{
	const struct sn_otf2_trace *t = lane->trace;
	const struct sn_mpi_part *part = &t->mpi->parts.items[deed->index];
	const struct sn_mpi_operation *operation = &t->mpi->operations.items[part->operation];
	OTF2_CollectiveOp op = operation_of(operation->meaning);
	OTF2_CommRef comm = t->comm_references[operation->comm];
	uint32_t root = comm_rank(t, operation->comm, operation->root);
	uint64_t request = 2ULL * t->mpi->messages.count + deed->index;

	if (deed->kind == SN_OTF2_COLLECTIVE_BEGIN)
		keep(lane, t->otf2->EvtWriter_MpiCollectiveBegin(lane->writer, NULL, time));
	else if (deed->kind == SN_OTF2_COLLECTIVE_REQUEST)
		keep(lane, t->otf2->EvtWriter_NonBlockingCollectiveRequest(lane->writer, NULL, time,
									   request));
	else if (deed->kind == SN_OTF2_COLLECTIVE_END)
		keep(lane,
		     t->otf2->EvtWriter_MpiCollectiveEnd(lane->writer, NULL, time, op, comm, root,
							 part->bytes_out, part->bytes_in));
	else
		keep(lane, t->otf2->EvtWriter_NonBlockingCollectiveComplete(
				   lane->writer, NULL, time, op, comm, root, part->bytes_out,
				   part->bytes_in, request));
}

static void deed_write(struct lane *lane, const struct sn_otf2_deed *deed, int64_t ns)
{
	uint64_t time = stamp(lane, ns);

	switch ((enum sn_otf2_deed_kind)deed->kind) {
	case SN_OTF2_COLLECTIVE_BEGIN:
	case SN_OTF2_COLLECTIVE_REQUEST:
	case SN_OTF2_COLLECTIVE_END:
	case SN_OTF2_COLLECTIVE_COMPLETE:
		part_write(lane, deed, time);
		break;
	default:
		message_write(lane, deed, time);
	}
}

/* The program's functions around an MPI call: wrappers within the library are the call. */
static void call_frames(struct lane *lane, uint32_t stack)
{
	const struct sn_program *program = lane->trace->profile->program;

	sn_frames_of_stack(program, sn_stack_number(program, stack),
			   lane->trace->options->with_loops, &lane->frames);
	for (size_t i = 0; i < lane->frames.count; i++) {
		uint32_t frame = lane->frames.items[i];
		uint32_t module = sn_frame_is_loop(program, frame)
					  ? SN_NONE
					  : program->functions.items[frame].module;

		if (module != SN_NONE && (program->module_classes[module] == SN_MODULE_CLASS_MPI ||
					  program->module_classes[module] == SN_MODULE_CLASS_SONDE))
			lane->frames.count = i;
	}
}

static void call_write(struct lane *lane, uint32_t number)
{
	const struct sn_otf2_trace *t = lane->trace;
	const struct sn_mpi_event *event = &t->mpi->events.items[number];
	uint32_t region = sn_frame_count(t->profile->program) + event->function;
	int64_t t0_ns = event->t0_ns > lane->now_ns ? event->t0_ns : lane->now_ns;
	int64_t t1_ns = event->t1_ns > t0_ns ? event->t1_ns : t0_ns;

	if (event->stack != SN_NONE) { /* else what was open is all that is known */
		call_frames(lane, event->stack);
		frames_open(lane, t0_ns);
	}
	enter(lane, region, t0_ns);
	while (lane->deed < t->deeds.count && t->deeds.items[lane->deed].event < number)
		lane->deed++;
	for (; lane->deed < t->deeds.count && t->deeds.items[lane->deed].event == number;
	     lane->deed++) {
		const struct sn_otf2_deed *deed = &t->deeds.items[lane->deed];

		deed_write(lane, deed, deed->kind < SN_OTF2_AT_END ? t0_ns : t1_ns);
	}
	leave(lane, region, t1_ns);
	lane->now_ns = t1_ns;
}

/* ---- all threads ---- */

struct cursors {
	size_t sample, wait, event; /* of the thread that is written, or the next one */
};

static void sample_write(struct lane *lane, const struct sn_sample *sample)
{
	int64_t time_ns = sample->time_ns + lane->shift_ns;

	if (!(sample->flags & SN_SAMPLE_REMAINDER) && /* time, but nobody looked where */
	    sn_profile_has_sample(lane->trace->profile, sample))
		observe(lane, sample->stack, time_ns - (int64_t)sample->cpu_ns, time_ns);
}

static void wait_write(struct lane *lane, const struct sn_wait *wait)
{
	int64_t time_ns = wait->time_ns + lane->shift_ns;

	if (lane->trace->options->with_blocked &&
	    sn_profile_wait_ns(lane->trace->profile, wait) > 0)
		observe(lane, wait->stack, time_ns, time_ns + (int64_t)wait->duration_ns);
}

static bool is_of_thread(const struct sn_mpi_event *event, uint32_t process, uint32_t number)
{
	return event->process == process && event->thread == number;
}

/* In the order of time; a sample is seen at its end, the other two begin. */
static void thread_write(struct lane *lane, struct cursors *at, uint32_t number, uint32_t thread)
{
	const struct sn_experiment *e = lane->trace->profile->experiment;
	const struct sn_mpi *mpi = lane->trace->mpi;
	uint32_t process = e->threads.items[thread].process;

	for (;;) {
		const struct sn_sample *sample =
			at->sample < e->samples.count ? &e->samples.items[at->sample] : NULL;
		const struct sn_wait *wait =
			at->wait < e->waits.count ? &e->waits.items[at->wait] : NULL;
		const struct sn_mpi_event *event =
			at->event < mpi->events.count ? &mpi->events.items[at->event] : NULL;
		int64_t sample_ns = sample && sample->thread == thread
					    ? sample->time_ns + lane->shift_ns
					    : INT64_MAX;
		int64_t wait_ns =
			wait && wait->thread == thread ? wait->time_ns + lane->shift_ns : INT64_MAX;
		int64_t event_ns =
			event && is_of_thread(event, process, number) ? event->t0_ns : INT64_MAX;

		if (sample_ns == INT64_MAX && wait_ns == INT64_MAX && event_ns == INT64_MAX)
			break;
		if (event_ns <= sample_ns && event_ns <= wait_ns) {
			if (lane->trace->profile->thread_passes[thread] &&
			    has_event(lane->trace, (uint32_t)at->event))
				call_write(lane, (uint32_t)at->event);
			at->event++;
		} else if (wait_ns <= sample_ns) {
			wait_write(lane, wait);
			at->wait++;
		} else {
			sample_write(lane, sample);
			at->sample++;
		}
	}
	close_to(lane, 0, lane->now_ns);
}

/* The first event of a thread, or of one behind it: threads are not in the order of processes. */
static size_t first_event(const struct sn_mpi *mpi, uint32_t process, uint32_t number)
{
	size_t low = 0, high = mpi->events.count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const struct sn_mpi_event *event = &mpi->events.items[middle];

		if (event->process < process ||
		    (event->process == process && event->thread < number))
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static size_t first_deed(const struct sn_otf2_trace *t, size_t event)
{
	size_t low = 0, high = t->deeds.count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (t->deeds.items[middle].event < event)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

sn_status sn_otf2_events_write(struct sn_otf2_trace *t, struct sn_error *err)
{
	const struct sn_experiment *e = t->profile->experiment;
	struct lane lane = { .trace = t };
	struct cursors at = { 0 };
	OTF2_ErrorCode code = t->otf2->Archive_OpenEvtFiles(t->archive);
	uint32_t number = 0;

	for (uint32_t i = 0; code == OTF2_SUCCESS && i < e->threads.count; i++) {
		uint32_t process = e->threads.items[i].process;

		number = i && e->threads.items[i - 1].process == process ? number + 1 : 0;
		at.event = first_event(t->mpi, process, number);
		lane.deed = first_deed(t, at.event);
		lane.writer = t->otf2->Archive_GetEvtWriter(t->archive, i);
		if (!lane.writer) {
			code = OTF2_ERROR_INVALID;
			break;
		}
		lane.now_ns = INT64_MIN / 2;
		lane.shift_ns = t->mpi->shifts_ns ? t->mpi->shifts_ns[process] : 0;
		lane.code = OTF2_SUCCESS;
		thread_write(&lane, &at, number, i);
		keep(&lane, t->otf2->EvtWriter_GetNumberOfEvents(lane.writer, &t->event_counts[i]));
		keep(&lane, t->otf2->Archive_CloseEvtWriter(t->archive, lane.writer));
		code = lane.code;
	}
	sn_frames_free(&lane.frames);
	sn_frames_free(&lane.open);
	if (code == OTF2_SUCCESS)
		code = t->otf2->Archive_CloseEvtFiles(t->archive);
	return code == OTF2_SUCCESS ? SN_OK : sn_otf2_failed(t, code, err);
}
