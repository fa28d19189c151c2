/* Reads all pieces: calls become events, what they did deeds. Then these are put together. */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/arena.h"
#include "mpi/parts.h"

/* What one thread wrote, in order: its pieces, then the call that it died in. */
struct source {
	uint32_t process, thread;
	uint64_t number;
	const struct sn_trace_item *item;   /* NULL: */
	const struct sn_mpi_counts *counts; /* whose open call it is */
};

struct gatherer {
	struct sn_mpi_build *build;
	struct sn_trace_pieces pieces, counts;
	SN_VEC(struct source) sources;
	struct sn_map stack_of;	       /* process and id of a path -> stack + 1 */
	struct sn_trace_clock *clocks; /* by process: one for all of a host */
};

/* ---- clocks ---- */

/* Clocks of one host agree this well; those that do not are of hosts that share a name. */
static const double same_clock_ns = 10e6;

/* The time-stamp counter is one for all processors of a host, so all its processes tell time by the clock of
 * the one that ran longest. */
static void clocks_join(struct gatherer *g)
{
	const struct sn_experiment *e = g->build->experiment;
	size_t count = e->processes.count;
	uint32_t *leaders = sn_alloc_zeroed(count + 1, sizeof(*leaders));
	bool *are_used = sn_alloc_zeroed(count + 1, sizeof(*are_used));

	for (size_t i = 0; i < g->pieces.items.count; i++)
		are_used[g->pieces.items.items[i].process] = true;
	g->clocks = sn_alloc_zeroed(count + 1, sizeof(*g->clocks));
	for (uint32_t p = 0; p < count; p++) {
		const struct sn_trace_clock *own = &g->pieces.clocks[p];
		uint32_t domain = 0;

		g->clocks[p] = *own;
		if (!are_used[p])
			continue;
		for (; domain < g->build->domain_count; domain++) {
			const struct sn_process *leader = &e->processes.items[leaders[domain]];
			double told =
				sn_trace_time_ns(&g->pieces.clocks[leaders[domain]], own->base_tsc);
			if (!strcmp(leader->host, e->processes.items[p].host) &&
			    fabs(told - (double)own->base_ns) < same_clock_ns)
				break;
		}
		if (domain == g->build->domain_count)
			leaders[g->build->domain_count++] = p;
		else if (e->processes.items[p].end_ns - e->processes.items[p].start_ns >
			 e->processes.items[leaders[domain]].end_ns -
				 e->processes.items[leaders[domain]].start_ns)
			leaders[domain] = p;
		g->build->domains[p] = domain;
	}
	for (uint32_t p = 0; p < count; p++)
		if (are_used[p])
			g->clocks[p] = g->pieces.clocks[leaders[g->build->domains[p]]];
	free(are_used);
	free(leaders);
}

static int64_t time_of(const struct gatherer *g, uint32_t process, uint64_t tsc)
{
	return (int64_t)sn_trace_time_ns(&g->clocks[process], tsc);
}

/* ---- events and deeds ---- */

static uint32_t stack_of(const struct gatherer *g, uint32_t process, uint32_t path)
{
	const uint64_t *found =
		path ? sn_map_get(&g->stack_of, (uint64_t)process << 32 | path) : NULL;

	return found ? (uint32_t)*found - 1 : SN_NONE;
}

static bool is_of_last(const struct sn_mpi *mpi, const struct source *source, int64_t t0_ns)
{
	const struct sn_mpi_event *last =
		mpi->events.count ? &mpi->events.items[mpi->events.count - 1] : NULL;

	return last && last->process == source->process && last->thread == source->thread &&
	       last->t0_ns == t0_ns;
}

static void event_add(struct gatherer *g, const struct source *source,
		      const struct sn_mpi_record *record)
{
	int64_t t0_ns = time_of(g, source->process, record->begin_tsc);

	if (record->flags & SN_MPI_GOES_ON && is_of_last(g->build->mpi, source, t0_ns))
		return;
	sn_vec_push(&g->build->mpi->events,
		    (struct sn_mpi_event){ .t0_ns = t0_ns,
					   .t1_ns = time_of(g, source->process, record->end_tsc),
					   .process = source->process,
					   .thread = source->thread,
					   .stack = stack_of(g, source->process, record->path),
					   .function = (uint16_t)(record->function & UINT16_MAX),
					   .error = (int32_t)record->error,
					   .waited_for = SN_NONE });
}

static void open_event_add(struct gatherer *g, const struct source *source)
{
	const struct sn_mpi_counts *counts = source->counts;
	int64_t t0_ns = time_of(g, source->process, counts->begin_tsc);
	int64_t end_ns = g->build->experiment->processes.items[source->process].end_ns;

	sn_vec_push(&g->build->mpi->events,
		    (struct sn_mpi_event){ .t0_ns = t0_ns,
					   .t1_ns = end_ns > t0_ns ? end_ns : t0_ns,
					   .process = source->process,
					   .thread = source->thread,
					   .stack = stack_of(g, source->process, counts->path),
					   .function = (uint16_t)(counts->open - 1),
					   .is_open = true,
					   .waited_for = SN_NONE });
}

/* Ranks that come in several events are in order; one that says less than it has is damaged. */
static void ranks_read(struct sn_mpi_local_comm *comm, const struct sn_mpi_record *record,
		       uint64_t *damaged)
{
	enum { RANKS_MOST = 1 << 22 };
	const uint8_t *next = record->runs;
	bool is_remote = record->flags & SN_MPI_IS_REMOTE;
	size_t have = is_remote ? comm->remote.count : comm->ranks.count;
	uint64_t room = record->values[3] < RANKS_MOST ? record->values[3] : RANKS_MOST;

	if (record->values[4] != have) {
		++*damaged;
		return;
	}
	for (uint64_t i = 0; i < record->run_count; i++) {
		uint64_t first = 0, stride = 0, length = 0;

		sn_trace_number(&next, record->runs_end, &first);
		sn_trace_number(&next, record->runs_end, &stride);
		sn_trace_number(&next, record->runs_end, &length);
		for (uint64_t k = 0; k < length && have < room; k++, have++) {
			int32_t rank = (int32_t)((uint64_t)sn_trace_unzigzag(first) +
						 k * (uint64_t)sn_trace_unzigzag(stride));
			if (is_remote)
				sn_vec_push(&comm->remote, rank);
			else
				sn_vec_push(&comm->ranks, rank);
		}
	}
}

static void comm_read(struct gatherer *g, const struct source *source,
		      const struct sn_mpi_record *record)
{
	struct sn_mpi_build *build = g->build;
	uint64_t key = (uint64_t)source->process << 40 ^ record->values[0];
	uint64_t *place = sn_map_put(&build->comm_index, key, NULL);

	if (!*place) {
		sn_vec_push(&build->comms,
			    (struct sn_mpi_local_comm){
				    .process = source->process,
				    .id = (uint32_t)record->values[0],
				    .parent = (uint32_t)record->values[1],
				    .own_rank = (int32_t)sn_mpi_signed(record->values[2]),
				    .is_inter = record->flags & SN_MPI_IS_INTER,
				    .comm = SN_NONE });
		*place = build->comms.count;
	}
	ranks_read(&build->comms.items[*place - 1], record, &build->mpi->damaged);
}

static void world_read(struct gatherer *g, const struct source *source,
		       const struct sn_mpi_record *record)
{
	struct sn_mpi *mpi = g->build->mpi;
	enum { RANKS_MOST = 1 << 22 };

	if (record->values[0] >= RANKS_MOST)
		return;
	mpi->ranks[source->process] = (int32_t)record->values[0];
	if (mpi->rank_count <= mpi->ranks[source->process])
		mpi->rank_count = mpi->ranks[source->process] + 1;
	g->build->world_ns[source->process] =
		mpi->events.count ? mpi->events.items[mpi->events.count - 1].t1_ns : 0;
}

static void deed_add(struct gatherer *g, const struct source *source,
		     const struct sn_mpi_record *record)
{
	struct sn_mpi *mpi = g->build->mpi;
	struct sn_mpi_deed deed = { .event = (uint32_t)mpi->events.count - 1,
				    .kind = record->kind,
				    .flags = record->flags,
				    .has_handle = record->has_handle,
				    .handle = record->handle };

	/* of a piece whose call was lost */
	if (!mpi->events.count || mpi->events.items[deed.event].process != source->process ||
	    mpi->events.items[deed.event].thread != source->thread) {
		mpi->damaged++;
		return;
	}
	memcpy(deed.values, record->values, sizeof(deed.values));
	sn_vec_push(&g->build->deeds, deed);
}

static void piece_read(struct gatherer *g, const struct source *source)
{
	struct sn_mpi_reader reader;
	struct sn_mpi_record record = { 0 };

	sn_mpi_reader_open(&reader, source->item);
	while (sn_mpi_reader_next(&reader, &record)) {
		switch (record.kind) {
		case SN_MPI_CALL:
			event_add(g, source, &record);
			break;
		case SN_MPI_COMM:
			comm_read(g, source, &record);
			break;
		case SN_MPI_WORLD:
			world_read(g, source, &record);
			break;
		case SN_MPI_TIME:
		case SN_MPI_COMM_FREE:
			break;
		default:
			deed_add(g, source, &record);
			break;
		}
	}
	g->build->mpi->damaged += reader.is_damaged;
}

/* ---- counts ---- */

static const struct sn_mpi_counts *counts_of(const struct sn_trace_item *item)
{
	const struct sn_mpi_counts *counts = (const void *)(item->piece + 1);
	size_t bytes = item->bytes - sizeof(*item->piece);

	if (bytes < offsetof(struct sn_mpi_counts, functions) ||
	    counts->function_count > SN_MPI_FUNCTION_COUNT ||
	    bytes < offsetof(struct sn_mpi_counts, functions) +
			    counts->function_count * sizeof(counts->functions[0]))
		return NULL;
	return counts;
}

static void counts_read(struct gatherer *g, const struct sn_trace_item *item)
{
	const struct sn_mpi_counts *counts = counts_of(item);

	if (!counts) {
		g->build->mpi->damaged++;
		return;
	}
	for (uint32_t f = 0; f < counts->function_count; f++) {
		double ns =
			(double)counts->functions[f].ticks * g->clocks[item->process].ns_per_tick;

		if (counts->functions[f].calls)
			sn_vec_push(&g->build->mpi->counts,
				    (struct sn_mpi_count){
					    item->process, (uint16_t)f, counts->functions[f].calls,
					    ns >= 0 && ns < 1e18 ? (int64_t)ns : 0 });
	}
	if (counts->open && counts->open <= SN_MPI_FUNCTION_COUNT)
		sn_vec_push(&g->sources, (struct source){ .process = item->process,
							  .thread = item->piece->thread_index,
							  .number = UINT64_MAX,
							  .counts = counts });
}

/* ---- all of it ---- */

static int source_compare(const void *a, const void *b)
{
	const struct source *x = a, *y = b;

	if (x->process != y->process)
		return x->process < y->process ? -1 : 1;
	if (x->thread != y->thread)
		return x->thread < y->thread ? -1 : 1;
	return (x->number > y->number) - (x->number < y->number);
}

static void gather(struct gatherer *g)
{
	const struct sn_experiment *e = g->build->experiment;

	for (size_t i = 0; i < e->trace_paths.count; i++) {
		const struct sn_trace_path *path = &e->trace_paths.items[i];

		*sn_map_put(&g->stack_of, (uint64_t)path->process << 32 | path->id, NULL) =
			(uint64_t)path->stack + 1;
	}
	clocks_join(g);
	for (size_t i = 0; i < g->counts.items.count; i++)
		counts_read(g, &g->counts.items.items[i]);
	for (size_t i = 0; i < g->pieces.items.count; i++) {
		const struct sn_trace_item *item = &g->pieces.items.items[i];

		sn_vec_push(&g->sources, (struct source){ .process = item->process,
							  .thread = item->piece->thread_index,
							  .number = item->piece->number,
							  .item = item });
	}
	if (g->sources.count)
		qsort(g->sources.items, g->sources.count, sizeof(*g->sources.items),
		      source_compare);
	for (size_t i = 0; i < g->sources.count; i++) {
		if (g->sources.items[i].item)
			piece_read(g, &g->sources.items[i]);
		else
			open_event_add(g, &g->sources.items[i]);
	}
}

/* Programs that ran one after the other in one experiment, and those that were spawned, have worlds of their
 * own: a rank that is taken begins another. */
static void worlds_tell_apart(struct sn_mpi_build *build)
{
	struct sn_mpi *mpi = build->mpi;
	size_t count = build->experiment->processes.count;
	struct sn_map taken = { 0 };
	uint32_t world = 0;

	for (size_t done = 0; done < count; done++) {
		uint32_t next = SN_NONE;
		bool is_new;

		for (uint32_t p = 0; p < count; p++)
			if (mpi->ranks[p] >= 0 && mpi->worlds[p] == SN_NONE &&
			    (next == SN_NONE || build->world_ns[p] < build->world_ns[next]))
				next = p;
		if (next == SN_NONE)
			break;
		sn_map_put(&taken, (uint64_t)world << 32 | (uint32_t)mpi->ranks[next], &is_new);
		if (!is_new)
			sn_map_put(&taken, (uint64_t)++world << 32 | (uint32_t)mpi->ranks[next],
				   NULL);
		mpi->worlds[next] = world;
	}
	sn_map_free(&taken);
}

static int comm_compare(const void *a, const void *b)
{
	const struct sn_mpi_local_comm *x = a, *y = b;

	if (x->process != y->process)
		return x->process < y->process ? -1 : 1;
	return (x->id > y->id) - (x->id < y->id);
}

static void put_together(struct sn_mpi_build *build)
{
	worlds_tell_apart(build);
	if (build->comms.count)
		qsort(build->comms.items, build->comms.count, sizeof(*build->comms.items),
		      comm_compare);
	sn_mpi_comms_join(build);
	sn_mpi_requests_follow(build);
	sn_mpi_match(build);
	sn_mpi_align(build);
	sn_mpi_waits_find(build->mpi);
}

static void build_free(struct sn_mpi_build *build)
{
	for (size_t i = 0; i < build->comms.count; i++) {
		sn_vec_free(&build->comms.items[i].ranks);
		sn_vec_free(&build->comms.items[i].remote);
	}
	sn_vec_free(&build->comms);
	sn_vec_free(&build->deeds);
	sn_vec_free(&build->sends);
	sn_vec_free(&build->receives);
	sn_vec_free(&build->probes);
	sn_vec_free(&build->meetings);
	sn_map_free(&build->comm_index);
	free(build->world_ns);
	free(build->domains);
}

static struct sn_mpi *mpi_new(size_t process_count)
{
	struct sn_mpi *mpi = sn_alloc_zeroed(1, sizeof(*mpi));

	mpi->ranks = sn_alloc_zeroed(process_count + 1, sizeof(*mpi->ranks));
	mpi->worlds = sn_alloc_zeroed(process_count + 1, sizeof(*mpi->worlds));
	mpi->shifts_ns = sn_alloc_zeroed(process_count + 1, sizeof(*mpi->shifts_ns));
	for (size_t p = 0; p < process_count; p++) {
		mpi->ranks[p] = -1;
		mpi->worlds[p] = SN_NONE;
	}
	return mpi;
}

static void totals_set(struct gatherer *g)
{
	struct sn_mpi *mpi = g->build->mpi;

	mpi->is_traced = g->pieces.is_traced;
	mpi->lost = g->pieces.lost + g->counts.lost;
	mpi->damaged += g->pieces.damaged + g->counts.damaged;
	for (uint32_t p = 0; p < g->build->experiment->processes.count; p++) {
		int64_t ns = sn_trace_overhead_ns(&g->pieces, p);

		mpi->overhead_ns += ns > 0 ? ns : 0;
	}
}

sn_status sn_mpi_read(const struct sn_experiment *experiment, struct sn_mpi **out,
		      struct sn_error *err)
{
	size_t count = experiment->processes.count;
	struct sn_mpi_build build = { .experiment = experiment, .mpi = mpi_new(count) };
	struct gatherer g = { .build = &build };
	sn_status status =
		sn_trace_pieces_open(&g.pieces, experiment, SN_TRACE_MPI, sn_mpi_last_instant, err);

	if (status == SN_OK) {
		status = sn_trace_pieces_open(&g.counts, experiment, SN_TRACE_MPI_COUNTS,
					      sn_mpi_last_instant, err);
		if (status != SN_OK)
			sn_trace_pieces_close(&g.pieces);
	}
	if (status != SN_OK) {
		sn_mpi_free(build.mpi);
		return status;
	}
	build.world_ns = sn_alloc_zeroed(count + 1, sizeof(*build.world_ns));
	build.domains = sn_alloc_zeroed(count + 1, sizeof(*build.domains));
	gather(&g);
	put_together(&build);
	totals_set(&g);
	*out = build.mpi;
	build_free(&build);
	sn_vec_free(&g.sources);
	sn_map_free(&g.stack_of);
	free(g.clocks);
	sn_trace_pieces_close(&g.counts);
	sn_trace_pieces_close(&g.pieces);
	return SN_OK;
}

void sn_mpi_free(struct sn_mpi *mpi)
{
	if (!mpi)
		return;
	sn_vec_free(&mpi->events);
	sn_vec_free(&mpi->messages);
	sn_vec_free(&mpi->operations);
	sn_vec_free(&mpi->parts);
	sn_vec_free(&mpi->probes);
	sn_vec_free(&mpi->endings);
	sn_vec_free(&mpi->comms);
	sn_vec_free(&mpi->counts);
	free(mpi->ranks);
	free(mpi->worlds);
	free(mpi->shifts_ns);
	sn_arena_free(&mpi->arena);
	free(mpi);
}
