/* The tree of processes, by the pids of their parents on the same host. */
#include "profile/process_tree.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/map.h"

enum { NONE = UINT32_MAX };

struct tree {
	const struct sn_experiment *experiment;
	uint32_t *first_child, *last_child, *next; /* by process */
};

static bool is_of(const struct sn_process *process, const struct sn_process *other, int32_t pid)
{
	return other->pid == pid && strcmp(process->host, other->host) == 0;
}

/* The last image of that pid that stands before: an experiment's processes are in order of start.
 */
static uint32_t find_before(const struct sn_experiment *e, uint32_t p, int32_t pid)
{
	for (uint32_t q = p; q-- > 0;)
		if (is_of(&e->processes.items[p], &e->processes.items[q], pid))
			return q;
	return NONE;
}

/* An image that was run by exec has the parent of the process's first image. */
static uint32_t parent_of(const struct sn_experiment *e, uint32_t p)
{
	uint32_t first = p, before;

	while ((before = find_before(e, first, e->processes.items[p].pid)) != NONE)
		first = before;
	return find_before(e, first, e->processes.items[first].parent_pid);
}

static void add_child(struct tree *tree, uint32_t parent, uint32_t child)
{
	if (tree->first_child[parent] == NONE)
		tree->first_child[parent] = child;
	else
		tree->next[tree->last_child[parent]] = child;
	tree->last_child[parent] = child;
}

void sn_process_tree(const struct sn_experiment *e, struct sn_process_place *out)
{
	uint32_t count = (uint32_t)e->processes.count, done = 0;
	size_t bytes = (count + 1) * sizeof(uint32_t);
	/* one more than there are processes: the root of all */
	struct tree tree = { e, sn_alloc(bytes), sn_alloc(bytes), sn_alloc(bytes) };
	uint32_t *parents = sn_alloc(bytes), depth = 0;

	memset(tree.first_child, 0xff, bytes);
	memset(tree.next, 0xff, bytes);
	for (uint32_t p = 0; p < count; p++) {
		uint32_t parent = parent_of(e, p);

		parents[p] = parent == NONE ? count : parent;
		add_child(&tree, parents[p], p);
	}
	/* parents stand before their children, so the walk ends */
	for (uint32_t at = tree.first_child[count]; at != NONE;) {
		out[done++] = (struct sn_process_place){ at, depth };
		if (tree.first_child[at] != NONE) {
			at = tree.first_child[at];
			depth++;
			continue;
		}
		while (at != count && tree.next[at] == NONE) {
			at = parents[at];
			depth -= at != count;
		}
		at = at == count ? NONE : tree.next[at];
	}
	free(tree.first_child);
	free(tree.last_child);
	free(tree.next);
	free(parents);
}

/* ---- ranks ---- */

static bool is_parent(const struct sn_process *parent, const struct sn_process *child)
{
	return parent != child && parent->start_ns <= child->start_ns && parent->host &&
	       child->host && !strcmp(parent->host, child->host);
}

void sn_process_parents(const struct sn_experiment *experiment, int32_t *parents)
{
	const struct sn_process *all = experiment->processes.items;
	size_t count = experiment->processes.count;
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

		parents[p] = -1;
		for (; above >= 0; above = next[above])
			if (is_parent(&all[above], &all[p]) &&
			    (parents[p] < 0 || all[above].start_ns > all[parents[p]].start_ns))
				parents[p] = above;
	}
	sn_map_free(&first);
	free(next);
}

/* Those above inherit; a damaged file may have a circle of parents. */
void sn_process_ranks(const struct sn_experiment *e, const int32_t *parents, int32_t *ranks)
{
	for (size_t p = 0; p < e->processes.count; p++)
		ranks[p] = e->processes.items[p].rank >= 0 ? e->processes.items[p].rank
							   : SN_PROCESS_RANK_NONE;
	for (size_t p = 0; p < e->processes.count; p++) {
		int32_t above = parents[p], rank = e->processes.items[p].rank;

		for (size_t steps = 0; rank >= 0 && above >= 0 && steps < e->processes.count;
		     steps++, above = parents[above]) {
			int32_t *slot = &ranks[above];

			if (e->processes.items[above].rank < 0)
				*slot = *slot == SN_PROCESS_RANK_NONE || *slot == rank
						? rank
						: SN_PROCESS_RANK_LAUNCHER;
		}
	}
}
