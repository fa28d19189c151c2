/*
 * Clocks of several hosts. No message arrives before it was sent, and nobody leaves a barrier before the last
 * has come: so what host A calls the least time from an event of B to one of its own bounds how far their
 * clocks are apart, in one direction. With bounds in both directions the middle is taken, and half the
 * distance is the error. The hosts' own idea of the time (CLOCK_REALTIME) is where this begins.
 */
#include <stdlib.h>

#include "base/alloc.h"
#include "mpi/parts.h"

enum { DOMAINS_MOST = 4096 };

struct aligner {
	struct sn_mpi_build *build;
	uint32_t count;
	int64_t *least; /* [from * count + to]; INT64_MAX: nothing went that way */
	int64_t *shift_ns, *error_ns;
	bool *is_set;
};

static uint32_t domain_of(const struct aligner *a, uint32_t event)
{
	return a->build->domains[a->build->mpi->events.items[event].process];
}

static void bound(struct aligner *a, uint32_t from, uint32_t to, int64_t ns)
{
	int64_t *least = &a->least[from * a->count + to];

	if (from != to && ns < *least)
		*least = ns;
}

static void messages_bound(struct aligner *a)
{
	const struct sn_mpi *mpi = a->build->mpi;

	for (size_t i = 0; i < mpi->messages.count; i++) {
		const struct sn_mpi_message *m = &mpi->messages.items[i];

		if (m->sent != SN_NONE && m->received != SN_NONE)
			bound(a, domain_of(a, m->sent), domain_of(a, m->received),
			      mpi->events.items[m->received].t1_ns -
				      mpi->events.items[m->sent].t0_ns);
	}
}

static bool all_wait(const struct sn_mpi_operation *operation)
{
	return operation->is_whole && (operation->meaning == SN_MPI_MEANS_BARRIER ||
				       operation->meaning == SN_MPI_MEANS_ALLREDUCE ||
				       operation->meaning == SN_MPI_MEANS_ALLGATHER ||
				       operation->meaning == SN_MPI_MEANS_ALLTOALL);
}

static void operations_bound(struct aligner *a)
{
	const struct sn_mpi *mpi = a->build->mpi;

	for (size_t i = 0; i < mpi->operations.count; i++) {
		const struct sn_mpi_operation *o = &mpi->operations.items[i];

		if (!all_wait(o))
			continue;
		for (uint32_t x = 0; x < o->part_count; x++)
			for (uint32_t y = 0; y < o->part_count; y++) {
				const struct sn_mpi_part *left =
					&mpi->parts.items[o->first_part + y];
				uint32_t entered = mpi->parts.items[o->first_part + x].entered;

				if (left->done != SN_NONE)
					bound(a, domain_of(a, entered), domain_of(a, left->done),
					      mpi->events.items[left->done].t1_ns -
						      mpi->events.items[entered].t0_ns);
			}
	}
}

/* From the domains that are set to those that have bounds with one of them, the surest first. */
static bool next_set(struct aligner *a)
{
	uint32_t best_from = 0, best_to = 0;
	int64_t best_error = INT64_MAX;

	for (uint32_t from = 0; from < a->count; from++)
		for (uint32_t to = 0; to < a->count; to++) {
			int64_t there = a->least[from * a->count + to];
			int64_t back = a->least[to * a->count + from];

			if (!a->is_set[from] || a->is_set[to] || there == INT64_MAX ||
			    back == INT64_MAX)
				continue;
			if (a->error_ns[from] + (there + back) / 2 < best_error) {
				best_error = a->error_ns[from] + (there + back) / 2;
				best_from = from;
				best_to = to;
			}
		}
	if (best_error == INT64_MAX)
		return false;
	a->is_set[best_to] = true;
	a->error_ns[best_to] = best_error > 0 ? best_error : 0;
	a->shift_ns[best_to] = a->shift_ns[best_from] + (a->least[best_to * a->count + best_from] -
							 a->least[best_from * a->count + best_to]) /
								2;
	return true;
}

static void shift_all(struct aligner *a)
{
	struct sn_mpi *mpi = a->build->mpi;

	for (size_t i = 0; i < mpi->events.count; i++) {
		int64_t shift = a->shift_ns[domain_of(a, (uint32_t)i)];

		mpi->events.items[i].t0_ns += shift;
		mpi->events.items[i].t1_ns += shift;
	}
	for (size_t p = 0; p < a->build->experiment->processes.count; p++)
		mpi->shifts_ns[p] = a->shift_ns[a->build->domains[p]];
	for (uint32_t d = 0; d < a->count; d++) {
		if (!a->is_set[d])
			mpi->is_aligned = false;
		else if (a->error_ns[d] > mpi->clock_error_ns)
			mpi->clock_error_ns = a->error_ns[d];
	}
}

void sn_mpi_align(struct sn_mpi_build *build)
{
	struct aligner a = { .build = build, .count = build->domain_count };

	build->mpi->host_count = build->domain_count;
	build->mpi->is_aligned = build->domain_count < DOMAINS_MOST;
	if (build->domain_count < 2 || !build->mpi->is_aligned)
		return;
	a.least = sn_alloc_zeroed((size_t)a.count * a.count, sizeof(*a.least));
	a.shift_ns = sn_alloc_zeroed(a.count, sizeof(*a.shift_ns));
	a.error_ns = sn_alloc_zeroed(a.count, sizeof(*a.error_ns));
	a.is_set = sn_alloc_zeroed(a.count, sizeof(*a.is_set));
	for (size_t i = 0; i < (size_t)a.count * a.count; i++)
		a.least[i] = INT64_MAX;
	messages_bound(&a);
	operations_bound(&a);
	a.is_set[0] = true;
	while (next_set(&a))
		;
	shift_all(&a);
	free(a.least);
	free(a.shift_ns);
	free(a.error_ns);
	free(a.is_set);
}
