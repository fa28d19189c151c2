/* The tree of processes, by the pids of their parents on the same host. */
#include "profile/process_tree.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

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
