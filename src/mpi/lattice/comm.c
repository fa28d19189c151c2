/* Messages and broadcasts by rank and function. */
#include "mpi/lattice/comm.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/map.h"
#include "mpi/sites.h"

struct adder {
	const struct sn_program *program;
	const struct sn_mpi *mpi;
	struct sn_comm_profile *profile;
	struct sn_map index;	   /* of traffic + 1 */
	struct sn_mpi_site *sites; /* by stack */
	const char **names;	   /* of functions or paths, by stack */
};

static struct sn_mpi_site site_at(const struct adder *a, uint32_t event)
{
	uint32_t stack = event == SN_NONE ? SN_NONE : a->mpi->events.items[event].stack;

	return stack == SN_NONE ? (struct sn_mpi_site){ SN_NONE, SN_NONE } : a->sites[stack];
}

static const char *name_at(const struct adder *a, uint32_t event)
{
	uint32_t stack = a->mpi->events.items[event].stack;

	return stack == SN_NONE ? "unknown" : a->names[stack];
}

static const char *name_make(struct adder *a, uint32_t stack, bool by_path)
{
	uint32_t function = a->sites[stack].function;
	struct sn_text path = { 0 };
	const char *name = NULL;

	if (!by_path)
		return function == SN_NONE ? "unknown" : a->program->functions.items[function].name;
	sn_mpi_path_add(&path, a->program, stack);
	if (path.length)
		name = sn_arena_strdup(&a->profile->arena, path.chars);
	sn_text_free(&path);
	return name ? name : "unknown";
}

static int line_of(const struct adder *a, struct sn_mpi_site site)
{
	return site.line == SN_NONE ? 0 : (int)a->program->lines.items[site.line].line;
}

static void traffic_add(struct adder *a, bool is_broadcast, uint32_t sent, uint32_t received,
			int32_t from, int32_t to, uint64_t bytes)
{
	struct sn_mpi_site source = site_at(a, sent);
	const char *source_name = name_at(a, sent), *target_name = name_at(a, received);
	const struct sn_mpi_event *event = &a->mpi->events.items[received];
	uint64_t key =
		sn_hash_u64(sn_hash_bytes(source_name, strlen(source_name)) ^ source.line) ^
		sn_hash_u64(sn_hash_bytes(target_name, strlen(target_name)) << 1 | is_broadcast) *
			3 ^
		sn_hash_u64((uint64_t)(uint32_t)from << 32 | (uint32_t)to) * 5;
	uint64_t *place = sn_map_put(&a->index, key, NULL);
	struct sn_comm_traffic *traffic;

	if (!*place) {
		sn_vec_push(&a->profile->traffic,
			    (struct sn_comm_traffic){ .line = line_of(a, source),
						      .zone = -1,
						      .is_broadcast = is_broadcast,
						      .source = source_name,
						      .target = target_name,
						      .from = from,
						      .to = to });
		*place = a->profile->traffic.count;
	}
	traffic = &a->profile->traffic.items[*place - 1];
	traffic->messages++;
	traffic->bytes += bytes;
	if (event->waited_for == sent)
		traffic->wait_s += (double)event->wait_ns / 1e9;
}

static void broadcast_add(struct adder *a, const struct sn_mpi_operation *operation)
{
	const struct sn_mpi_part *parts = a->mpi->parts.items + operation->first_part;
	uint32_t sent = SN_NONE;

	for (uint32_t i = 0; i < operation->part_count; i++)
		if (parts[i].rank == operation->root)
			sent = parts[i].entered;
	for (uint32_t i = 0; i < operation->part_count && sent != SN_NONE; i++)
		if (parts[i].rank != operation->root && parts[i].done != SN_NONE)
			traffic_add(a, true, sent, parts[i].done, operation->root, parts[i].rank,
				    parts[i].bytes_in);
}

/* After the messages: what a rank waited for them is known then. */
static void ranks_time(struct adder *a)
{
	const struct sn_mpi *mpi = a->mpi;

	for (size_t i = 0, end; i < mpi->events.count; i = end) {
		uint32_t process = mpi->events.items[i].process;
		int64_t last_ns = 0, wait_ns = 0;
		double for_messages_s;

		for (end = i; end < mpi->events.count && mpi->events.items[end].process == process;
		     end++) {
			wait_ns += mpi->events.items[end].wait_ns;
			if (mpi->events.items[end].t1_ns > last_ns)
				last_ns = mpi->events.items[end].t1_ns;
		}
		if (mpi->ranks[process] < 0)
			continue;
		for_messages_s = sn_comm_node_wait_s(a->profile, mpi->ranks[process]);
		sn_vec_push(
			&a->profile->phase_times,
			(struct sn_comm_phase_time){
				.node = mpi->ranks[process],
				.calls = 1,
				.run_s = (double)(last_ns - mpi->events.items[i].t1_ns) / 1e9,
				.other_wait_s = fmax(0, (double)wait_ns / 1e9 - for_messages_s) });
	}
}

sn_status sn_mpi_comm_profile_of(const struct sn_program *program, const struct sn_mpi *mpi,
				 bool by_path, struct sn_comm_profile **out, struct sn_error *err)
{
	struct adder a = { .program = program, .mpi = mpi };

	if (!mpi->is_traced || !mpi->rank_count)
		return sn_error_set(
			err, SN_ERR_NO_DATA,
			"comm: '%s' has no trace of MPI: record it with 'mpirun -n N sonde "
			"record --mpi ./program'",
			program->experiment->name);
	a.profile = sn_alloc_zeroed(1, sizeof(*a.profile));
	a.profile->program = program->experiment->name;
	a.profile->source = program->experiment->program;
	a.profile->scheme = "MPI";
	a.profile->backend = "mpi";
	a.profile->nodes = mpi->rank_count;
	a.profile->is_of_ranks = true;
	sn_vec_push(&a.profile->phases, "run");
	a.sites = sn_alloc_zeroed((size_t)program->stack_count + 1, sizeof(*a.sites));
	a.names = sn_alloc_zeroed((size_t)program->stack_count + 1, sizeof(*a.names));
	for (uint32_t s = 0; s < program->stack_count; s++) {
		a.sites[s] = sn_mpi_site_of(program, s);
		a.names[s] = name_make(&a, s, by_path);
	}
	for (size_t i = 0; i < mpi->messages.count; i++) {
		const struct sn_mpi_message *m = &mpi->messages.items[i];

		if (m->state == SN_MPI_RECEIVED && m->sent != SN_NONE && m->received != SN_NONE)
			traffic_add(&a, false, m->sent, m->received, m->from, m->to, m->bytes);
	}
	for (size_t i = 0; i < mpi->operations.count; i++)
		if (mpi->operations.items[i].meaning == SN_MPI_MEANS_BCAST)
			broadcast_add(&a, &mpi->operations.items[i]);
	ranks_time(&a);
	sn_map_free(&a.index);
	free(a.sites);
	sn_vec_release(a.names);
	*out = a.profile;
	return SN_OK;
}
