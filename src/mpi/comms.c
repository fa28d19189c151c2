/*
 * Communicators. Each rank numbers its own; two are the same if they have the same ranks in the same order,
 * come from the same communicator, and are the same one in the order of such ones. Creating one is
 * collective, so all its ranks have it in that order.
 */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/arena.h"
#include "mpi/parts.h"

static uint64_t local_key(uint32_t process, uint64_t id)
{
	return (uint64_t)process << 40 ^ id;
}

const struct sn_mpi_local_comm *sn_mpi_local_comm(const struct sn_mpi_build *build,
						  uint32_t process, uint64_t id)
{
	const uint64_t *found = sn_map_get(&build->comm_index, local_key(process, id));

	return found ? &build->comms.items[*found - 1] : NULL;
}

int32_t sn_mpi_world_rank(const struct sn_mpi_local_comm *comm, int64_t rank)
{
	const int32_t *ranks = comm->is_inter ? comm->remote.items : comm->ranks.items;
	size_t count = comm->is_inter ? comm->remote.count : comm->ranks.count;

	return rank >= 0 && (uint64_t)rank < count ? ranks[rank] : -1;
}

static uint64_t ranks_hash(const int32_t *ranks, size_t count)
{
	return count ? sn_hash_bytes(ranks, count * sizeof(*ranks)) : 1;
}

/* What makes it this one, but for how many such there were before. The sides of an intercommunicator see it
 * from two parents, and each its own ranks first. */
static uint64_t identity(const struct sn_mpi_build *build, const struct sn_mpi_local_comm *comm)
{
	uint64_t own = ranks_hash(comm->ranks.items, comm->ranks.count);
	uint64_t world = sn_hash_u64(build->mpi->worlds[comm->process] + 1ULL);
	const struct sn_mpi_local_comm *parent;

	if (comm->is_inter)
		return world ^ own ^ ranks_hash(comm->remote.items, comm->remote.count);
	parent = comm->parent ? sn_mpi_local_comm(build, comm->process, comm->parent - 1) : NULL;
	return world ^ own * 3 ^
	       sn_hash_u64(parent && parent->comm != SN_NONE ? parent->comm + 2ULL : 1);
}

static uint32_t comm_add(struct sn_mpi *mpi, const struct sn_mpi_local_comm *local)
{
	int32_t *ranks = sn_arena_array(&mpi->arena, int32_t, local->ranks.count + 1);

	if (local->ranks.count)
		memcpy(ranks, local->ranks.items, local->ranks.count * sizeof(*ranks));
	sn_vec_push(&mpi->comms, (struct sn_mpi_comm_of){ ranks, (uint32_t)local->ranks.count,
							  local->is_inter });
	return (uint32_t)mpi->comms.count - 1;
}

/* They are in the order of their process, and of their making in it: parents come first. */
void sn_mpi_comms_join(struct sn_mpi_build *build)
{
	struct sn_map known = { 0 }, before = { 0 };

	for (size_t i = 0; i < build->comms.count; i++) {
		struct sn_mpi_local_comm *comm = &build->comms.items[i];

		comm->comm = SN_NONE;
		*sn_map_put(&build->comm_index, local_key(comm->process, comm->id), NULL) = i + 1;
	}
	for (size_t i = 0; i < build->comms.count; i++) {
		struct sn_mpi_local_comm *comm = &build->comms.items[i];
		uint64_t what = identity(build, comm);
		uint64_t nth = ++*sn_map_put(
			&before, what ^ sn_hash_u64(0x636f6d6dULL << 32 | comm->process), NULL);
		uint64_t *place = sn_map_put(&known, what ^ sn_hash_u64(nth << 8), NULL);

		if (!*place)
			*place = comm_add(build->mpi, comm) + 1ULL;
		comm->comm = (uint32_t)*place - 1;
	}
	sn_map_free(&known);
	sn_map_free(&before);
}
