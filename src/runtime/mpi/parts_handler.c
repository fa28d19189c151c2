/*
 * What a call sent, posted and completed, from its arguments (by their positions in the standard) and from
 * its statuses. Nothing is evaluated before the call has succeeded: an argument that is wrong is the
 * library's to find.
 */
#include "runtime/mpi/mpi.h"

/* A call that is being noted. */
struct noted {
	struct sn_mpi_call *call;
	struct sn_mpi_thread *mpi;
	const struct sn_mpi_function *function;
};

#define ARGUMENT(index) (*sn_mpi_argument(n->call, index))

static inline const void *pointer(uint64_t word)
{
	return (const void *)(uintptr_t)word;
}

static int64_t count_of(const struct noted *n, unsigned index)
{
	uint64_t word = ARGUMENT(index);

	return n->function->is_large ? (int64_t)word : (int32_t)word;
}

static uint64_t bytes_of(const struct noted *n, unsigned count_at, unsigned type_at)
{
	int64_t count = count_of(n, count_at);

	return count > 0 ? (uint64_t)count * sn_mpi_type_bytes(n->mpi, ARGUMENT(type_at)) : 0;
}

static int32_t int_at(const struct noted *n, unsigned index)
{
	return (int32_t)ARGUMENT(index);
}

/* Rank and tag as the trace has them. */
static uint64_t rank_of(int32_t rank)
{
	return sn_trace_zigzag(rank == sn_mpi_library.any_source ? SN_MPI_ANY
			       : rank == sn_mpi_library.nobody	 ? SN_MPI_NOBODY
								 : rank);
}

static void put(const struct noted *n, uint8_t tag, const uint64_t *values, uint32_t count,
		const uint64_t *handle)
{
	sn_mpi_put(n->call->self, n->mpi, tag, values, count, handle);
}

static struct sn_mpi_comm *comm_at(const struct noted *n, unsigned index)
{
	return sn_mpi_comm_of(n->call->self, n->mpi, ARGUMENT(index));
}

/* ---- statuses ---- */

struct status {
	int32_t source, tag;
	uint64_t bytes;
	bool is_cancelled;
};

static struct status status_read(const uint8_t *at)
{
	struct status status;
	const struct sn_mpi_library *library = &sn_mpi_library;

	memcpy(&status.source, at + library->source_at, 4);
	memcpy(&status.tag, at + library->tag_at, 4);
	if (library->kind == SN_MPI_OPENMPI) {
		int32_t cancelled;
		memcpy(&cancelled, at + 12, 4);
		memcpy(&status.bytes, at + 16, 8);
		status.is_cancelled = cancelled != 0;
	} else {
		uint32_t low, high;
		memcpy(&low, at, 4);
		memcpy(&high, at + 4, 4);
		status.bytes = (uint64_t)(high >> 1) << 32 | low;
		status.is_cancelled = high & 1;
	}
	return status;
}

/* A receive that is over, or something that was waited for: the reader knows which. */
static void put_done(const struct noted *n, const uint8_t *at, const uint64_t *handle)
{
	struct status status = status_read(at);

	put(n, (uint8_t)(SN_MPI_DONE | (status.is_cancelled ? SN_MPI_IS_CANCELLED : 0)),
	    (uint64_t[]){ rank_of(status.source), sn_trace_zigzag(status.tag), status.bytes }, 3,
	    handle);
}

/* The status argument is the program's, or ours where it gave none. */
static void want_status(struct noted *n, unsigned index)
{
	uint64_t *argument = sn_mpi_argument(n->call, index);

	if (*argument == sn_mpi_library.status_ignore) {
		memset(n->call->status, 0, sizeof n->call->status);
		*argument = (uint64_t)(uintptr_t)n->call->status;
	}
	n->call->statuses = (uint8_t *)(uintptr_t)*argument;
}

/* Handles are copied, as the call overwrites them; behind them lies room for statuses. */
static void want_many(struct noted *n, unsigned count_at, unsigned requests_at,
		      unsigned statuses_at, bool is_single)
{
	struct sn_mpi_call *call = n->call;
	int32_t count = int_at(n, count_at);
	uint64_t *statuses = sn_mpi_argument(call, statuses_at);
	const void *requests = pointer(ARGUMENT(requests_at));
	uint64_t handles_bytes, statuses_bytes;
	uint8_t *memory;

	call->count = 0;
	if (count <= 0 || !requests)
		return;
	handles_bytes = (uint64_t)count * 8;
	statuses_bytes = is_single ? 0 : (uint64_t)count * sn_mpi_library.status_bytes;
	memory = sn_mpi_memory(n->mpi, handles_bytes + statuses_bytes);
	if (!memory) {
		sn_trace_lose(SN_TRACE_MPI);
		return;
	}
	for (int32_t i = 0; i < count; i++)
		((uint64_t *)memory)[i] = sn_mpi_handle_at(requests, (uint64_t)i);
	call->count = (uint32_t)count;
	if (is_single) {
		want_status(n, statuses_at);
		return;
	}
	if (*statuses == sn_mpi_library.status_ignore) {
		memset(memory + handles_bytes, 0, statuses_bytes);
		*statuses = (uint64_t)(uintptr_t)(memory + handles_bytes);
	}
	call->statuses = (uint8_t *)(uintptr_t)*statuses;
}

void sn_mpi_prepare(struct sn_mpi_call *call, struct sn_mpi_thread *mpi)
{
	struct noted noted = { call, mpi, &sn_mpi_functions[call->function] }, *n = &noted;

	call->count = 0;
	call->statuses = NULL;
	switch (n->function->meaning) {
	case SN_MPI_MEANS_RECV:
		want_status(n, 6);
		break;
	case SN_MPI_MEANS_SENDRECV:
		want_status(n, 11);
		break;
	case SN_MPI_MEANS_SENDRECV_REPLACE:
		want_status(n, 8);
		break;
	case SN_MPI_MEANS_PROBE:
		want_status(n, 3);
		break;
	case SN_MPI_MEANS_IPROBE:
	case SN_MPI_MEANS_MPROBE:
		want_status(n, 4);
		break;
	case SN_MPI_MEANS_IMPROBE:
		want_status(n, 5);
		break;
	case SN_MPI_MEANS_MRECV:
		call->handle = sn_mpi_handle_at(pointer(ARGUMENT(3)), 0);
		want_status(n, 4);
		break;
	case SN_MPI_MEANS_IMRECV:
		call->handle = sn_mpi_handle_at(pointer(ARGUMENT(3)), 0);
		break;
	case SN_MPI_MEANS_WAIT:
		call->handle = sn_mpi_handle_at(pointer(ARGUMENT(0)), 0);
		want_status(n, 1);
		break;
	case SN_MPI_MEANS_TEST:
		call->handle = sn_mpi_handle_at(pointer(ARGUMENT(0)), 0);
		want_status(n, 2);
		break;
	case SN_MPI_MEANS_START:
	case SN_MPI_MEANS_REQUEST_FREE:
	case SN_MPI_MEANS_CANCEL:
	case SN_MPI_MEANS_COMM_FREE:
		call->handle = sn_mpi_handle_at(pointer(ARGUMENT(0)), 0);
		break;
	case SN_MPI_MEANS_WAITALL:
		want_many(n, 0, 1, 2, false);
		break;
	case SN_MPI_MEANS_WAITANY:
	case SN_MPI_MEANS_TESTALL:
		want_many(n, 0, 1, 3, n->function->meaning == SN_MPI_MEANS_WAITANY);
		break;
	case SN_MPI_MEANS_WAITSOME:
	case SN_MPI_MEANS_TESTSOME:
		want_many(n, 0, 1, 4, false);
		break;
	case SN_MPI_MEANS_TESTANY:
		want_many(n, 0, 1, 4, true);
		break;
	default:
		break;
	}
}

/* ---- messages ---- */

/* A message to dest_at, tag_at; `request` NULL: the call's own. */
static void put_message(const struct noted *n, uint8_t tag, uint64_t bytes, unsigned peer_at,
			unsigned tag_at, unsigned comm_index, const uint64_t *request)
{
	struct sn_mpi_comm *comm;

	if (int_at(n, peer_at) == sn_mpi_library.nobody)
		return;
	comm = comm_at(n, comm_index);
	if (comm)
		put(n, tag,
		    (uint64_t[]){ rank_of(int_at(n, peer_at)), sn_trace_zigzag(int_at(n, tag_at)),
				  comm->id, bytes },
		    4, request);
}

static uint64_t request_at(const struct noted *n, unsigned index)
{
	return sn_mpi_handle_at(pointer(ARGUMENT(index)), 0);
}

static void note_plain(const struct noted *n, uint8_t tag, int request_index)
{
	uint64_t request = request_index >= 0 ? request_at(n, (unsigned)request_index) : 0;

	put_message(n, tag, bytes_of(n, 1, 2), 3, 4, 5, request_index >= 0 ? &request : NULL);
}

/* A receive of the call's own that has ended. */
static void note_received(const struct noted *n, unsigned source_at)
{
	if (int_at(n, source_at) != sn_mpi_library.nobody)
		put_done(n, n->call->statuses, NULL);
}

static void note_exchange(const struct noted *n, bool is_replacing, bool has_request)
{
	uint64_t request = 0, *handle = has_request ? &request : NULL;

	if (is_replacing) {
		uint64_t bytes = bytes_of(n, 1, 2);
		if (has_request)
			request = request_at(n, 8);
		put_message(n, SN_MPI_SEND, bytes, 3, 4, 7, handle);
		put_message(n, SN_MPI_RECV, bytes, 5, 6, 7, handle);
	} else {
		if (has_request)
			request = request_at(n, 11);
		put_message(n, SN_MPI_SEND, bytes_of(n, 1, 2), 3, 4, 10, handle);
		put_message(n, SN_MPI_RECV, bytes_of(n, 6, 7), 8, 9, 10, handle);
	}
	if (!has_request)
		note_received(n, is_replacing ? 5 : 8);
}

static void note_partitioned(const struct noted *n, uint8_t tag)
{
	uint64_t request = request_at(n, 8);
	int64_t bytes = (int64_t)bytes_of(n, 2, 3) * int_at(n, 1);

	put_message(n, (uint8_t)(tag | SN_MPI_IS_INIT | SN_MPI_IS_PARTITIONED), (uint64_t)bytes, 4,
		    5, 6, &request);
}

static void note_matched(const struct noted *n, bool has_request)
{
	uint64_t request = has_request ? request_at(n, 4) : 0;

	if (n->call->handle == sn_mpi_library.message_none)
		return;
	put(n, SN_MPI_MATCHED,
	    (uint64_t[]){ bytes_of(n, 1, 2), has_request, sn_trace_zigzag((int64_t)request) }, 3,
	    &n->call->handle);
	if (!has_request)
		put_done(n, n->call->statuses, NULL);
}

static void note_probe(const struct noted *n, int flag_at, int message_at)
{
	struct sn_mpi_comm *comm;
	struct status status;
	uint64_t message = 0;

	if (flag_at >= 0 && !*(const int *)pointer(ARGUMENT((unsigned)flag_at)))
		return;
	status = status_read(n->call->statuses);
	if (status.source == sn_mpi_library.nobody)
		return;
	comm = comm_at(n, 2);
	if (message_at >= 0)
		message = request_at(n, (unsigned)message_at);
	if (comm)
		put(n,
		    (uint8_t)(SN_MPI_PROBE |
			      (int_at(n, 0) == sn_mpi_library.any_source ? SN_MPI_IS_ANY : 0) |
			      (int_at(n, 1) == SN_MPI_ANY ? SN_MPI_IS_ANY_TAG : 0)),
		    (uint64_t[]){ rank_of(status.source), sn_trace_zigzag(status.tag), comm->id,
				  status.bytes },
		    4, message_at >= 0 ? &message : NULL);
}

/* ---- requests ---- */

static void note_one(const struct noted *n)
{
	if (n->call->handle != sn_mpi_library.request_null)
		put_done(n, n->call->statuses, &n->call->handle);
}

static void note_handle(const struct noted *n, uint8_t tag)
{
	put(n, tag, NULL, 0, &n->call->handle);
}

static const uint64_t *handles_of(const struct noted *n)
{
	return (const uint64_t *)n->mpi->memory;
}

static void note_index(const struct noted *n, int64_t index, uint64_t status)
{
	const uint64_t *handles = handles_of(n);

	if (index >= 0 && index < n->call->count && handles[index] != sn_mpi_library.request_null)
		put_done(n, n->call->statuses + status * sn_mpi_library.status_bytes,
			 &handles[index]);
}

static void note_all(const struct noted *n)
{
	for (uint32_t i = 0; i < n->call->count; i++)
		note_index(n, i, i);
}

static void note_some(const struct noted *n)
{
	int32_t done = *(const int32_t *)pointer(ARGUMENT(2));
	const int32_t *indices = pointer(ARGUMENT(3));

	for (int32_t i = 0; i < done && n->call->count; i++)
		note_index(n, indices[i], (uint64_t)i);
}

static void note_startall(const struct noted *n)
{
	int32_t count = int_at(n, 0);
	const void *requests = pointer(ARGUMENT(1));

	for (int32_t i = 0; i < count; i++) {
		uint64_t handle = sn_mpi_handle_at(requests, (uint64_t)i);
		put(n, SN_MPI_START, NULL, 0, &handle);
	}
}

static bool is_set(const struct noted *n, unsigned flag_at)
{
	return *(const int *)pointer(ARGUMENT(flag_at)) != 0;
}

/* ---- collectives ---- */

struct collective {
	const struct sn_mpi_comm *comm;
	int32_t root;	       /* -1: none */
	bool is_root, is_idle; /* is_idle: of a root's group that takes no part */
	uint64_t out, in;
};

/* One rank's part, and that of all, of counts. */
static uint64_t count_in(const struct noted *n, unsigned counts_at, int64_t index)
{
	const void *counts = pointer(ARGUMENT(counts_at));
	int64_t count = n->function->is_large ? ((const int64_t *)counts)[index]
					      : ((const int32_t *)counts)[index];

	return count > 0 ? (uint64_t)count : 0;
}

static uint64_t counts_sum(const struct noted *n, unsigned counts_at, int64_t count)
{
	uint64_t sum = 0;

	for (int64_t i = 0; i < count; i++)
		sum += count_in(n, counts_at, i);
	return sum;
}

static uint64_t typed_counts_sum(const struct noted *n, unsigned counts_at, unsigned types_at,
				 int64_t count)
{
	uint64_t sum = 0;

	for (int64_t i = 0; i < count; i++) {
		uint64_t elements = count_in(n, counts_at, i);
		if (elements)
			sum += elements *
			       sn_mpi_type_bytes(
				       n->mpi,
				       sn_mpi_handle_at(pointer(ARGUMENT(types_at)), (uint64_t)i));
	}
	return sum;
}

static uint64_t type_at(const struct noted *n, unsigned index)
{
	return sn_mpi_type_bytes(n->mpi, ARGUMENT(index));
}

static bool is_in_place(const struct noted *n, unsigned index)
{
	return ARGUMENT(index) == sn_mpi_library.in_place;
}

static void find_root(const struct noted *n, struct collective *c, unsigned root_at)
{
	int32_t root = int_at(n, root_at);

	if (c->comm->is_inter) {
		c->is_root = root == sn_mpi_library.root;
		c->is_idle = root == sn_mpi_library.nobody;
		c->root = root >= 0 ? root : -1;
	} else {
		c->root = root;
		c->is_root = root == c->comm->rank;
	}
}

/* To and from one root: `one_at` is the first of buffer, count, type of a rank's part, `all_at` that of the
 * root's; is_varying: the root has counts and displacements in place of one count. */
static void from_all(const struct noted *n, struct collective *c, unsigned one_at, unsigned all_at,
		     bool is_varying, unsigned root_at, uint64_t *one, uint64_t *all)
{
	unsigned type = all_at + (is_varying ? 3 : 2);
	uint64_t part = 0;

	find_root(n, c, root_at);
	if (c->is_idle)
		return;
	if (c->is_root) {
		*all = (is_varying ? counts_sum(n, all_at + 1, c->comm->peers)
				   : (uint64_t)count_of(n, all_at + 1) * (uint64_t)c->comm->peers) *
		       type_at(n, type);
		part = (is_varying ? count_in(n, all_at + 1, c->comm->is_inter ? 0 : c->comm->rank)
				   : (uint64_t)count_of(n, all_at + 1));
	}
	if (c->is_root && c->comm->is_inter)
		return; /* it has no part of its own */
	*one = c->is_root && is_in_place(n, one_at) ? part * type_at(n, type)
						    : bytes_of(n, one_at + 1, one_at + 2);
}

static void find_bytes(const struct noted *n, struct collective *c)
{
	int64_t size = c->comm->peers;

	switch (n->function->meaning) {
	case SN_MPI_MEANS_BCAST:
		find_root(n, c, 3);
		if (!c->is_idle)
			*(c->is_root ? &c->out : &c->in) = bytes_of(n, 1, 2);
		break;
	case SN_MPI_MEANS_GATHER:
		from_all(n, c, 0, 3, false, 6, &c->out, &c->in);
		break;
	case SN_MPI_MEANS_GATHERV:
		from_all(n, c, 0, 3, true, 7, &c->out, &c->in);
		break;
	case SN_MPI_MEANS_SCATTER:
		from_all(n, c, 3, 0, false, 6, &c->in, &c->out);
		break;
	case SN_MPI_MEANS_SCATTERV:
		from_all(n, c, 4, 0, true, 7, &c->in, &c->out);
		break;
	case SN_MPI_MEANS_ALLGATHER:
		c->in = bytes_of(n, 4, 5) * (uint64_t)size;
		c->out = is_in_place(n, 0) ? bytes_of(n, 4, 5) : bytes_of(n, 1, 2);
		break;
	case SN_MPI_MEANS_ALLGATHERV:
		c->in = counts_sum(n, 4, size) * type_at(n, 6);
		c->out = is_in_place(n, 0) ? count_in(n, 4, c->comm->rank) * type_at(n, 6)
					   : bytes_of(n, 1, 2);
		break;
	case SN_MPI_MEANS_ALLTOALL:
		c->in = bytes_of(n, 4, 5) * (uint64_t)size;
		c->out = is_in_place(n, 0) ? c->in : bytes_of(n, 1, 2) * (uint64_t)size;
		break;
	case SN_MPI_MEANS_ALLTOALLV:
		c->in = counts_sum(n, 5, size) * type_at(n, 7);
		c->out = is_in_place(n, 0) ? c->in : counts_sum(n, 1, size) * type_at(n, 3);
		break;
	case SN_MPI_MEANS_ALLTOALLW:
		c->in = typed_counts_sum(n, 5, 7, size);
		c->out = is_in_place(n, 0) ? c->in : typed_counts_sum(n, 1, 3, size);
		break;
	case SN_MPI_MEANS_REDUCE:
		find_root(n, c, 5);
		if (c->is_idle)
			break;
		if (!c->is_root || !c->comm->is_inter)
			c->out = bytes_of(n, 2, 3);
		if (c->is_root)
			c->in = bytes_of(n, 2, 3);
		break;
	case SN_MPI_MEANS_ALLREDUCE:
	case SN_MPI_MEANS_SCAN:
		c->in = c->out = bytes_of(n, 2, 3);
		break;
	case SN_MPI_MEANS_REDUCE_SCATTER:
		c->out = counts_sum(n, 2, c->comm->size) * type_at(n, 3);
		c->in = count_in(n, 2, c->comm->rank) * type_at(n, 3);
		break;
	case SN_MPI_MEANS_REDUCE_SCATTER_BLOCK:
		c->in = bytes_of(n, 2, 3);
		c->out = c->in * (uint64_t)c->comm->size;
		break;
	case SN_MPI_MEANS_NEIGHBOR_ALLGATHER:
		c->in = bytes_of(n, 4, 5) * (uint64_t)c->comm->sources;
		c->out = bytes_of(n, 1, 2);
		break;
	case SN_MPI_MEANS_NEIGHBOR_ALLGATHERV:
		c->in = counts_sum(n, 4, c->comm->sources) * type_at(n, 6);
		c->out = bytes_of(n, 1, 2);
		break;
	case SN_MPI_MEANS_NEIGHBOR_ALLTOALL:
		c->in = bytes_of(n, 4, 5) * (uint64_t)c->comm->sources;
		c->out = bytes_of(n, 1, 2) * (uint64_t)c->comm->destinations;
		break;
	case SN_MPI_MEANS_NEIGHBOR_ALLTOALLV:
		c->in = counts_sum(n, 5, c->comm->sources) * type_at(n, 7);
		c->out = counts_sum(n, 1, c->comm->destinations) * type_at(n, 3);
		break;
	case SN_MPI_MEANS_NEIGHBOR_ALLTOALLW:
		c->in = typed_counts_sum(n, 5, 7, c->comm->sources);
		c->out = typed_counts_sum(n, 1, 3, c->comm->destinations);
		break;
	default:
		break;
	}
}

static void put_collective(const struct noted *n, const struct collective *c, uint8_t flags,
			   const uint64_t *request)
{
	put(n, (uint8_t)(SN_MPI_COLLECTIVE | flags),
	    (uint64_t[]){ c->comm->id, (uint64_t)(int64_t)(c->root + 1), c->out, c->in }, 4,
	    request);
}

static void note_collective(const struct noted *n)
{
	unsigned at = (unsigned)n->function->comm_at;
	struct sn_mpi_comm *comm = comm_at(n, at);
	struct collective c = { .comm = comm, .root = -1 };
	bool has_request = n->function->form != SN_MPI_FORM_BLOCKING;
	uint64_t request = 0;

	if (!comm)
		return;
	if (n->function->meaning >= SN_MPI_MEANS_NEIGHBOR_ALLGATHER)
		sn_mpi_neighbours(comm, sn_mpi_handle(ARGUMENT(at)));
	find_bytes(n, &c);
	if (has_request)
		request = request_at(n, at + (n->function->form == SN_MPI_FORM_INIT ? 2 : 1));
	put_collective(n, &c, n->function->form == SN_MPI_FORM_INIT ? SN_MPI_IS_INIT : 0,
		       has_request ? &request : NULL);
}

/* A new communicator, and that those of the old one met. Those of a group only do not all meet. */
static void note_new_comm(const struct noted *n)
{
	unsigned out_at = (unsigned)n->function->new_comm_at;
	struct sn_mpi_comm *parent =
		n->function->comm_at >= 0 ? comm_at(n, (unsigned)n->function->comm_at) : NULL;
	bool all_meet = n->function->form == SN_MPI_FORM_BLOCKING &&
			n->call->function != SN_MPI_Comm_create_group &&
			n->call->function != SN_MPI_Comm_get_parent &&
			n->call->function != SN_MPI_Intercomm_create;
	const void *made = n->call->function == SN_MPIX_Comm_shrink ? pointer(ARGUMENT(1))
								    : pointer(ARGUMENT(out_at));

	if (parent && all_meet)
		put_collective(n, &(struct collective){ .comm = parent, .root = -1 }, 0, NULL);
	/* one that is not ready yet is met when it is used */
	if (n->function->form == SN_MPI_FORM_BLOCKING)
		sn_mpi_comm_made(n->call->self, n->mpi, sn_mpi_handle_at(made, 0), parent);
}

/* ---- one-sided and files ---- */

static void put_transfer(const struct noted *n, int32_t peer, uint64_t bytes, bool is_in)
{
	put(n, (uint8_t)(SN_MPI_TRANSFER | (is_in ? SN_MPI_IS_IN : 0)),
	    (uint64_t[]){ rank_of(peer), bytes }, 2, NULL);
}

static void note_transfer(const struct noted *n)
{
	int32_t none = sn_mpi_library.any_source;
	uint8_t meaning = n->function->meaning;

	switch (meaning) {
	case SN_MPI_MEANS_PUT:
	case SN_MPI_MEANS_GET:
		put_transfer(n, int_at(n, 3), bytes_of(n, 1, 2), meaning == SN_MPI_MEANS_GET);
		break;
	case SN_MPI_MEANS_GET_ACCUMULATE:
		put_transfer(n, int_at(n, 6), bytes_of(n, 1, 2), false);
		put_transfer(n, int_at(n, 6), bytes_of(n, 4, 5), true);
		break;
	case SN_MPI_MEANS_FETCH_AND_OP:
		put_transfer(n, int_at(n, 3), type_at(n, 2), false);
		put_transfer(n, int_at(n, 3), type_at(n, 2), true);
		break;
	case SN_MPI_MEANS_COMPARE_AND_SWAP:
		put_transfer(n, int_at(n, 4), type_at(n, 3), false);
		put_transfer(n, int_at(n, 4), type_at(n, 3), true);
		break;
	case SN_MPI_MEANS_FILE_READ:
	case SN_MPI_MEANS_FILE_WRITE:
		put_transfer(n, none, bytes_of(n, 2, 3), meaning == SN_MPI_MEANS_FILE_READ);
		break;
	default:
		put_transfer(n, none, bytes_of(n, 3, 4), meaning == SN_MPI_MEANS_FILE_READ_AT);
		break;
	}
}

/* ---- a call ---- */

static void note_parts(const struct noted *n)
{
	switch (n->function->meaning) {
	case SN_MPI_MEANS_SEND:
		note_plain(n, SN_MPI_SEND, -1);
		break;
	case SN_MPI_MEANS_ISEND:
		note_plain(n, SN_MPI_SEND, 6);
		break;
	case SN_MPI_MEANS_SEND_INIT:
		note_plain(n, SN_MPI_SEND | SN_MPI_IS_INIT, 6);
		break;
	case SN_MPI_MEANS_RECV:
		note_plain(n, SN_MPI_RECV, -1);
		note_received(n, 3);
		break;
	case SN_MPI_MEANS_IRECV:
		note_plain(n, SN_MPI_RECV, 6);
		break;
	case SN_MPI_MEANS_RECV_INIT:
		note_plain(n, SN_MPI_RECV | SN_MPI_IS_INIT, 6);
		break;
	case SN_MPI_MEANS_SENDRECV:
	case SN_MPI_MEANS_SENDRECV_REPLACE:
		note_exchange(n, n->function->meaning == SN_MPI_MEANS_SENDRECV_REPLACE, false);
		break;
	case SN_MPI_MEANS_ISENDRECV:
	case SN_MPI_MEANS_ISENDRECV_REPLACE:
		note_exchange(n, n->function->meaning == SN_MPI_MEANS_ISENDRECV_REPLACE, true);
		break;
	case SN_MPI_MEANS_PSEND_INIT:
		note_partitioned(n, SN_MPI_SEND);
		break;
	case SN_MPI_MEANS_PRECV_INIT:
		note_partitioned(n, SN_MPI_RECV);
		break;
	case SN_MPI_MEANS_START:
		note_handle(n, SN_MPI_START);
		break;
	case SN_MPI_MEANS_STARTALL:
		note_startall(n);
		break;
	case SN_MPI_MEANS_REQUEST_FREE:
		note_handle(n, SN_MPI_FREE);
		break;
	case SN_MPI_MEANS_CANCEL:
		note_handle(n, SN_MPI_CANCEL);
		break;
	case SN_MPI_MEANS_WAIT:
		note_one(n);
		break;
	case SN_MPI_MEANS_TEST:
		if (is_set(n, 1))
			note_one(n);
		break;
	case SN_MPI_MEANS_WAITALL:
		note_all(n);
		break;
	case SN_MPI_MEANS_TESTALL:
		if (is_set(n, 2))
			note_all(n);
		break;
	case SN_MPI_MEANS_WAITANY:
		note_index(n, *(const int32_t *)pointer(ARGUMENT(2)), 0);
		break;
	case SN_MPI_MEANS_TESTANY:
		if (is_set(n, 3))
			note_index(n, *(const int32_t *)pointer(ARGUMENT(2)), 0);
		break;
	case SN_MPI_MEANS_WAITSOME:
	case SN_MPI_MEANS_TESTSOME:
		note_some(n);
		break;
	case SN_MPI_MEANS_PROBE:
		note_probe(n, -1, -1);
		break;
	case SN_MPI_MEANS_IPROBE:
		note_probe(n, 3, -1);
		break;
	case SN_MPI_MEANS_MPROBE:
		note_probe(n, -1, 3);
		break;
	case SN_MPI_MEANS_IMPROBE:
		note_probe(n, 3, 4);
		break;
	case SN_MPI_MEANS_MRECV:
	case SN_MPI_MEANS_IMRECV:
		note_matched(n, n->function->meaning == SN_MPI_MEANS_IMRECV);
		break;
	case SN_MPI_MEANS_NEW_COMM:
		note_new_comm(n);
		break;
	case SN_MPI_MEANS_COMM_FREE:
		sn_mpi_comm_freed(n->call->self, n->mpi, n->call->handle);
		break;
	case SN_MPI_MEANS_INIT:
		sn_mpi_world_begins(n->call->self, n->mpi);
		break;
	default:
		if (n->function->meaning >= SN_MPI_MEANS_PUT &&
		    n->function->meaning != SN_MPI_MEANS_WIN_FENCE)
			note_transfer(n);
		else if (n->function->meaning >= SN_MPI_MEANS_BARRIER &&
			 n->function->meaning <= SN_MPI_MEANS_NEIGHBOR_ALLTOALLW)
			note_collective(n);
		break;
	}
}

void sn_mpi_note(struct sn_mpi_call *call, struct sn_mpi_thread *mpi, uint64_t end_tsc)
{
	struct noted noted = { call, mpi, &sn_mpi_functions[call->function] };

	if (!sn_mpi_put_call(call->self, mpi, call, end_tsc))
		return;
	if ((int32_t)call->result == 0)
		note_parts(&noted);
	sn_mpi_end_call(mpi);
}
