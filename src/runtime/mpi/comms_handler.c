/*
 * Communicators by their handles, and sizes of types. A communicator is told of when it is made, or when it is
 * first met: its ranks in MPI_COMM_WORLD, by functions of MPI that are local.
 */
#include "runtime/mpi/mpi.h"

typedef int (*comm_int)(uint64_t, int *);
typedef int (*comm_handle)(uint64_t, uint64_t *);
typedef int (*free_handle)(uint64_t *);
typedef int (*translate)(uint64_t, int, const int *, uint64_t, int *);
typedef int (*neighbours_count)(uint64_t, int *, int *, int *);
typedef int (*graph_count)(uint64_t, int, int *);
typedef int (*type_size)(uint64_t, long long *);

#define FREED UINT64_MAX

/* ---- the table ---- */

static struct sn_mpi_comm *find(struct sn_mpi_thread *mpi, uint64_t handle)
{
	uint64_t at = handle * 0x9e3779b97f4a7c15ULL >> 52;

	if (mpi->last_comm && mpi->last_comm->handle == handle + 1)
		return mpi->last_comm;
	for (uint32_t probe = 0; probe < SN_MPI_COMMS; probe++) {
		struct sn_mpi_comm *comm = &sn_mpi_state->comms[(at + probe) % SN_MPI_COMMS];
		uint64_t found = atomic_load_explicit(&comm->handle, memory_order_acquire);
		if (found == 0)
			return NULL;
		if (found == handle + 1)
			return mpi->last_comm = comm;
	}
	return NULL;
}

/* A place for a handle that is not there; several threads may make communicators at once. */
static struct sn_mpi_comm *take_place(uint64_t handle)
{
	uint64_t at = handle * 0x9e3779b97f4a7c15ULL >> 52;

	for (uint32_t probe = 0; probe < SN_MPI_COMMS; probe++) {
		struct sn_mpi_comm *comm = &sn_mpi_state->comms[(at + probe) % SN_MPI_COMMS];
		uint64_t found = atomic_load_explicit(&comm->handle, memory_order_relaxed);
		if ((found == 0 || found == FREED) &&
		    atomic_compare_exchange_strong(&comm->handle, &found, FREED - 1))
			return comm;
	}
	return NULL;
}

/* ---- the ranks of a group in the world ---- */

/* As runs: first, stride, how many. */
static uint32_t put_runs(uint64_t *out, const int *ranks, uint32_t count, uint32_t runs_most,
			 uint32_t *run_count)
{
	uint32_t at = 0, runs = 0;

	while (at < count && runs < runs_most) {
		uint32_t length = 1;
		int64_t stride = at + 1 < count ? (int64_t)ranks[at + 1] - ranks[at] : 1;

		while (at + length < count &&
		       (int64_t)ranks[at + length] - ranks[at + length - 1] == stride)
			length++;
		out[3 * runs] = sn_trace_zigzag(ranks[at]);
		out[3 * runs + 1] = sn_trace_zigzag(stride);
		out[3 * runs + 2] = length;
		at += length;
		runs++;
	}
	*run_count = runs;
	return at;
}

enum { RUNS_MOST = 64 };

static void put_members(struct sn_thread *self, struct sn_mpi_thread *mpi,
			const struct sn_mpi_comm *comm, uint32_t parent, const int *ranks,
			uint32_t count, bool is_remote)
{
	uint32_t at = 0;

	do {
		uint64_t values[6 + 3 * RUNS_MOST];
		uint32_t runs;

		values[0] = comm->id;
		values[1] = parent;
		values[2] = sn_trace_zigzag(comm->rank);
		values[3] = count;
		values[4] = at;
		at += put_runs(values + 6, ranks + at, count - at, RUNS_MOST, &runs);
		values[5] = runs;
		sn_mpi_put(self, mpi,
			   (uint8_t)(SN_MPI_COMM | (comm->is_inter ? SN_MPI_IS_INTER : 0) |
				     (is_remote ? SN_MPI_IS_REMOTE : 0)),
			   values, 6 + 3 * runs, NULL);
	} while (at < count);
}

static void tell_group(struct sn_thread *self, struct sn_mpi_thread *mpi,
		       const struct sn_mpi_comm *comm, uint32_t parent, uint64_t group,
		       uint64_t world, uint32_t count, bool is_remote)
{
	int *ranks = (int *)sn_mpi_memory(mpi, 2ULL * count * sizeof(int));
	int *in_world = ranks ? ranks + count : NULL;

	if (!ranks)
		return;
	for (uint32_t i = 0; i < count; i++)
		ranks[i] = (int)i;
	if (SN_MPI_REAL(MPI_Group_translate_ranks, translate)(group, (int)count, ranks, world,
							      in_world) == 0) {
		/* of another MPI_COMM_WORLD */
		for (uint32_t i = 0; i < count; i++)
			if (in_world[i] < 0)
				in_world[i] = -1;
		put_members(self, mpi, comm, parent, in_world, count, is_remote);
	}
}

static void tell(struct sn_thread *self, struct sn_mpi_thread *mpi, const struct sn_mpi_comm *comm,
		 uint64_t handle, uint32_t parent)
{
	uint64_t group = 0, world = 0;

	if (SN_MPI_REAL(MPI_Comm_group, comm_handle)(sn_mpi_library.world, &world) != 0)
		return;
	if (SN_MPI_REAL(MPI_Comm_group, comm_handle)(handle, &group) == 0) {
		tell_group(self, mpi, comm, parent, group, world, (uint32_t)comm->size, false);
		SN_MPI_REAL(MPI_Group_free, free_handle)(&group);
	}
	if (comm->is_inter &&
	    SN_MPI_REAL(MPI_Comm_remote_group, comm_handle)(handle, &group) == 0) {
		tell_group(self, mpi, comm, parent, group, world, (uint32_t)comm->peers, true);
		SN_MPI_REAL(MPI_Group_free, free_handle)(&group);
	}
	SN_MPI_REAL(MPI_Group_free, free_handle)(&world);
}

static struct sn_mpi_comm *add(struct sn_thread *self, struct sn_mpi_thread *mpi, uint64_t handle,
			       uint32_t parent)
{
	struct sn_mpi_comm *comm = take_place(handle);
	int rank = -1, size = 0, is_inter = 0;

	if (!comm) {
		sn_warn("more than 4000 communicators at a time: MPI messages in others were not "
			"traced");
		return NULL;
	}
	SN_MPI_REAL(MPI_Comm_rank, comm_int)(handle, &rank);
	SN_MPI_REAL(MPI_Comm_size, comm_int)(handle, &size);
	SN_MPI_REAL(MPI_Comm_test_inter, comm_int)(handle, &is_inter);
	comm->id = atomic_fetch_add_explicit(&sn_mpi_state->next_comm, 1, memory_order_relaxed);
	comm->rank = rank;
	comm->size = comm->peers = size;
	comm->is_inter = is_inter != 0;
	comm->sources = comm->destinations = -1;
	if (is_inter) {
		SN_MPI_REAL(MPI_Comm_remote_size, comm_int)(handle, &size);
		comm->peers = size;
	}
	atomic_store_explicit(&comm->handle, handle + 1, memory_order_release);
	tell(self, mpi, comm, handle, parent);
	return mpi->last_comm = comm;
}

struct sn_mpi_comm *sn_mpi_comm_of(struct sn_thread *self, struct sn_mpi_thread *mpi, uint64_t word)
{
	uint64_t handle = sn_mpi_handle(word);
	struct sn_mpi_comm *comm = find(mpi, handle);

	if (__builtin_expect(comm != NULL, 1))
		return comm;
	return handle == sn_mpi_library.comm_null ? NULL : add(self, mpi, handle, 0);
}

void sn_mpi_comm_made(struct sn_thread *self, struct sn_mpi_thread *mpi, uint64_t handle,
		      const struct sn_mpi_comm *parent)
{
	if (handle == sn_mpi_library.comm_null)
		return;
	sn_mpi_comm_freed(self, mpi, handle); /* of one that was freed past us */
	add(self, mpi, handle, parent ? parent->id + 1 : 0);
}

void sn_mpi_comm_freed(struct sn_thread *self, struct sn_mpi_thread *mpi, uint64_t handle)
{
	struct sn_mpi_comm *comm = find(mpi, handle);
	uint64_t id;

	if (!comm)
		return;
	id = comm->id;
	mpi->last_comm = NULL;
	atomic_store_explicit(&comm->handle, FREED, memory_order_release);
	sn_mpi_put(self, mpi, SN_MPI_COMM_FREE, &id, 1, NULL);
}

void sn_mpi_world_begins(struct sn_thread *self, struct sn_mpi_thread *mpi)
{
	struct sn_mpi_comm *world = sn_mpi_comm_of(self, mpi, sn_mpi_library.world);
	int level = 0;

	if (!world)
		return;
	SN_MPI_REAL(MPI_Query_thread, int (*)(int *))(&level);
	sn_mpi_put(self, mpi, SN_MPI_WORLD,
		   (uint64_t[]){ (uint64_t)world->rank, (uint64_t)world->size, sn_mpi_library.kind,
				 (uint64_t)level },
		   4, NULL);
	atomic_store_explicit(&sn_mpi_state->is_ready, 1, memory_order_release);
}

void sn_mpi_neighbours(struct sn_mpi_comm *comm, uint64_t handle)
{
	int dimensions = 0, in = 0, out = 0, weighted, topology = 0;

	if (comm->sources >= 0)
		return;
	/* the topology tells which of these may be asked; where there is none, it is of no kind */
	if (SN_MPI_REAL(MPI_Topo_test, comm_int)(handle, &topology) != 0)
		topology = 0;
	if (topology == sn_mpi_library.cartesian) {
		if (SN_MPI_REAL(MPI_Cartdim_get, comm_int)(handle, &dimensions) == 0)
			in = out = 2 * dimensions;
	} else if (topology == sn_mpi_library.graph) {
		if (SN_MPI_REAL(MPI_Graph_neighbors_count, graph_count)(handle, comm->rank, &in) ==
		    0)
			out = in;
	} else if (topology == sn_mpi_library.distributed_graph &&
		   SN_MPI_REAL(MPI_Dist_graph_neighbors_count, neighbours_count)(handle, &in, &out,
										 &weighted) != 0) {
		in = out = 0;
	}
	comm->sources = in;
	comm->destinations = out;
}

/* ---- types ---- */

uint64_t sn_mpi_type_bytes(struct sn_mpi_thread *mpi, uint64_t word)
{
	uint64_t handle = sn_mpi_handle(word);
	struct sn_mpi_type *type =
		&mpi->types[(handle * 0x9e3779b97f4a7c15ULL >> 60) % SN_MPI_TYPES];
	uint32_t generation =
		atomic_load_explicit(&sn_mpi_state->type_generation, memory_order_relaxed) + 1;
	long long bytes = 0;

	if (__builtin_expect(type->handle == handle && type->generation == generation, 1))
		return type->bytes;
	if (SN_MPI_REAL(MPI_Type_size_x, type_size)(handle, &bytes) != 0 || bytes < 0)
		bytes = 0;
	type->handle = handle;
	type->generation = generation;
	type->bytes = (uint64_t)bytes;
	return type->bytes;
}
