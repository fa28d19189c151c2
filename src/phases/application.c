/*
 * Shells, launchers, daemons and commands that a program runs are no part of the application. The
 * processes of one rank are judged among each other: the busiest is the application, its like
 * (the same program file) count with a hundredth of its work, others with a fifth.
 *
 * A rank is what the environment said when a process began. A process without one, above the
 * processes of one rank, is of that rank. It is a program that called MPI_Init without a launcher
 * (its children inherit what the MPI library set), or the launcher of a single rank, which does
 * little. A process above several ranks launched them.
 */
#include "phases/application.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/map.h"

enum { LIKE_PART = 100, OTHER_PART = 5, RANK_NONE = -1, RANK_LAUNCHER = -2 };

struct builder {
	const struct sn_experiment *experiment;
	uint64_t *cpu_ns;	/* by process, of what the filter lets through */
	int32_t *rank, *parent; /* by process; parent: a process, -1: none */
};

static void cpu_find(struct builder *b, const struct sn_profile *profile)
{
	const struct sn_experiment *e = b->experiment;

	for (size_t t = 0; t < e->threads.count; t++)
		if (e->threads.items[t].process < e->processes.count)
			b->cpu_ns[e->threads.items[t].process] += profile->threads[t].cpu_ns;
}

static bool is_parent(const struct sn_process *parent, const struct sn_process *child)
{
	return parent != child && parent->start_ns <= child->start_ns && parent->host &&
	       child->host && !strcmp(parent->host, child->host);
}

/* Process numbers are used again, and an exec keeps its: the latest that had begun. */
static void parents_find(struct builder *b)
{
	const struct sn_process *all = b->experiment->processes.items;
	size_t count = b->experiment->processes.count;
	int32_t *next = sn_alloc_zeroed(count + 1, sizeof(*next)); /* of the same number */
	struct sn_map first = { 0 }; /* number -> 1 + the last process that has it */

	for (size_t p = 0; p < count; p++) {
		uint64_t *slot = sn_map_put(&first, (uint32_t)all[p].pid, NULL);

		next[p] = (int32_t)*slot - 1;
		*slot = p + 1;
	}
	for (size_t p = 0; p < count; p++) {
		const uint64_t *slot = sn_map_get(&first, (uint32_t)all[p].parent_pid);
		int32_t above = slot ? (int32_t)*slot - 1 : -1;

		b->parent[p] = -1;
		for (; above >= 0; above = next[above])
			if (is_parent(&all[above], &all[p]) &&
			    (b->parent[p] < 0 || all[above].start_ns > all[b->parent[p]].start_ns))
				b->parent[p] = above;
	}
	sn_map_free(&first);
	free(next);
}

/* The ranks of those below; a damaged file may have a circle of parents. */
static void ranks_inherit(struct builder *b)
{
	const struct sn_experiment *e = b->experiment;

	for (size_t p = 0; p < e->processes.count; p++) {
		int32_t above = b->parent[p], rank = e->processes.items[p].rank;

		for (size_t steps = 0; rank >= 0 && above >= 0 && steps < e->processes.count;
		     steps++, above = b->parent[above]) {
			int32_t *slot = &b->rank[above];

			if (e->processes.items[above].rank < 0)
				*slot = *slot == RANK_NONE || *slot == rank ? rank : RANK_LAUNCHER;
		}
	}
}

/* By rank, the busiest of its processes; by RANK_NONE the busiest of all. */
static void busiest_find(const struct builder *b, struct sn_map *out)
{
	for (size_t p = 0; p < b->experiment->processes.count; p++) {
		const int32_t ranks[] = { b->rank[p], RANK_NONE };

		for (size_t i = 0; i < 2 && b->rank[p] != RANK_LAUNCHER; i++) {
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

	b.cpu_ns = sn_alloc_zeroed(count + 1, sizeof(*b.cpu_ns));
	b.rank = sn_alloc_zeroed(count + 1, sizeof(*b.rank));
	b.parent = sn_alloc_zeroed(count + 1, sizeof(*b.parent));
	cpu_find(&b, profile);
	for (size_t p = 0; p < count; p++)
		b.rank[p] =
			e->processes.items[p].rank >= 0 ? e->processes.items[p].rank : RANK_NONE;
	parents_find(&b);
	ranks_inherit(&b);
	busiest_find(&b, &busiest);
	for (size_t p = 0; p < count; p++)
		is_used[p] = b.rank[p] != RANK_LAUNCHER &&
			     counts(&b, p, *sn_map_get(&busiest, (uint32_t)b.rank[p]));
	sn_map_free(&busiest);
	free(b.cpu_ns);
	free(b.rank);
	free(b.parent);
	return is_used;
}
