/*
 * Shells, launchers, daemons and commands that a program runs are no part of the application. The
 * processes of one rank are judged among each other: the busiest is the application, its like
 * (the same program file) count with a hundredth of its work, others with a fifth.
 *
 * A rank is what the environment said when a process began; those above have theirs by
 * sn_process_ranks. The launcher of a single rank does little.
 */
#include "phases/application.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/map.h"
#include "profile/process_tree.h"

enum { LIKE_PART = 100, OTHER_PART = 5 };

struct builder {
	const struct sn_experiment *experiment;
	uint64_t *cpu_ns; /* by process, of what the filter lets through */
	int32_t *rank;	  /* by process */
};

static void cpu_find(struct builder *b, const struct sn_profile *profile)
{
	const struct sn_experiment *e = b->experiment;

	for (size_t t = 0; t < e->threads.count; t++)
		if (e->threads.items[t].process < e->processes.count)
			b->cpu_ns[e->threads.items[t].process] += profile->threads[t].cpu_ns;
}

/* By rank, the busiest of its processes; by SN_PROCESS_RANK_NONE the busiest of all. */
static void busiest_find(const struct builder *b, struct sn_map *out)
{
	for (size_t p = 0; p < b->experiment->processes.count; p++) {
		const int32_t ranks[] = { b->rank[p], SN_PROCESS_RANK_NONE };

		for (size_t i = 0; i < 2 && b->rank[p] != SN_PROCESS_RANK_LAUNCHER; i++) {
			bool is_new;
			uint64_t *slot = sn_map_put(out, (uint32_t)ranks[i], &is_new);

			if (is_new || b->cpu_ns[p] > b->cpu_ns[*slot])
				*slot = p;
		}
	}
}

static bool counts(const struct builder *b, size_t process, size_t busiest)
{
	const char *program = b->experiment->processes.items[process].program;
	const char *main_program = b->experiment->processes.items[busiest].program;
	bool is_like = program && main_program && !strcmp(program, main_program);

	return b->cpu_ns[process] >= b->cpu_ns[busiest] / (is_like ? LIKE_PART : OTHER_PART);
}

uint8_t *sn_application_processes(const struct sn_profile *profile)
{
	const struct sn_experiment *e = profile->experiment;
	size_t count = e->processes.count;
	struct builder b = { .experiment = e };
	struct sn_map busiest = { 0 };
	uint8_t *is_used = sn_alloc_zeroed(count + 1, 1);
	int32_t *parents;

	b.cpu_ns = sn_alloc_zeroed(count + 1, sizeof(*b.cpu_ns));
	b.rank = sn_alloc_zeroed(count + 1, sizeof(*b.rank));
	parents = sn_alloc_zeroed(count + 1, sizeof(*parents));
	cpu_find(&b, profile);
	sn_process_parents(e, parents);
	sn_process_ranks(e, parents, b.rank);
	busiest_find(&b, &busiest);
	for (size_t p = 0; p < count; p++)
		is_used[p] = b.rank[p] != SN_PROCESS_RANK_LAUNCHER &&
			     counts(&b, p, *sn_map_get(&busiest, (uint32_t)b.rank[p]));
	sn_map_free(&busiest);
	free(b.cpu_ns);
	free(b.rank);
	free(parents);
	return is_used;
}
