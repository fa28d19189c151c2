/*
 * Loops by Havlak's nesting forest as corrected by Ramalingam. It walks with a stack of its own in
 * place of recursion.
 */
#include "code/graph.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

/* ---- loop nesting forest ---- */

struct edge_list {
	uint32_t from, to;
	uint32_t next; /* index + 1 of the next in its list, 0 = end */
};

struct nesting {
	const struct sn_graph *graph;
	struct sn_loop_forest *forest;
	uint32_t *order; /* preorder number -> node */
	uint32_t *tree_parent;
	uint32_t *back;	 /* node -> list of back edges to it */
	uint32_t *cross; /* node -> list of cross and forward edges whose deepest common tree
			    ancestor it is */
	uint32_t *extra; /* node -> list of further predecessors (edges moved to representatives) */
	uint32_t *set;	 /* union-find: node -> representative of its collapsed loop */
	uint32_t *unmarked; /* union-find over headers: the nearest enclosing one not yet
			       irreducible */
	uint32_t *seen;	    /* node -> header + 1 that put it on its worklist last */
	uint32_t *stack;
	struct edge_list *lists;
	uint32_t list_count, reached;
};

static uint32_t find(uint32_t *set, uint32_t node)
{
	while (set[node] != node) {
		set[node] = set[set[node]];
		node = set[node];
	}
	return node;
}

static void list_add(struct nesting *n, uint32_t *head, uint32_t from, uint32_t to)
{
	struct edge_list *edge = &n->lists[n->list_count++];

	edge->from = from;
	edge->to = to;
	edge->next = *head;
	*head = n->list_count;
}

/* Depth-first walk: numbers, tree, and each other edge filed under the node where it matters. While
 * it runs, `set` joins finished nodes to their parents, which gives the common ancestor of a cross
 * edge at once. */
static void walk(struct nesting *n)
{
	enum { OPEN = 1, DONE = 2 };
	const struct sn_graph *graph = n->graph;
	uint32_t *edge_at = sn_alloc_zeroed(graph->node_count, sizeof(*edge_at));
	uint8_t *state = sn_alloc_zeroed(graph->node_count, 1);
	uint32_t depth = 1;

	n->stack[0] = 0;
	state[0] = OPEN;
	edge_at[0] = graph->first[0];
	n->forest->preorder[0] = 0;
	n->order[n->reached++] = 0;
	while (depth) {
		uint32_t node = n->stack[depth - 1], to;

		if (edge_at[node] == graph->first[node + 1]) {
			state[node] = DONE;
			if (--depth)
				n->set[node] = n->stack[depth - 1];
			continue;
		}
		to = graph->edges[edge_at[node]++];
		if (state[to] == OPEN) {
			list_add(n, &n->back[to], node, to);
		} else if (state[to] == DONE) {
			list_add(n, &n->cross[find(n->set, to)], node, to);
		} else {
			state[to] = OPEN;
			edge_at[to] = graph->first[to];
			n->tree_parent[to] = node;
			n->forest->preorder[to] = n->reached;
			n->order[n->reached++] = to;
			n->stack[depth++] = to;
		}
	}
	free(edge_at);
	free(state);
}

/* All loops found so far around `node` can be entered there. */
static void mark_irreducible(struct nesting *n, uint32_t node)
{
	int32_t header = n->forest->header[node];

	while (header >= 0) {
		uint32_t at = find(n->unmarked, (uint32_t)header);

		n->forest->is_irreducible[at] = true;
		header = n->forest->header[at];
		if (header >= 0)
			n->unmarked[at] = (uint32_t)header;
	}
}

static uint32_t push_member(struct nesting *n, uint32_t header, uint32_t node, uint32_t depth)
{
	uint32_t member = find(n->set, node);

	if (member == header || n->seen[member] == header + 1)
		return depth;
	n->seen[member] = header + 1;
	n->stack[depth] = member;
	return depth + 1;
}

static void find_loop(struct nesting *n, uint32_t header)
{
	uint32_t depth = 0, member_count = 0;
	uint32_t *members = n->stack; /* taken ones stay below the open ones */

	for (uint32_t e = n->back[header]; e; e = n->lists[e - 1].next) {
		n->forest->is_header[header] = true;
		depth = push_member(n, header, n->lists[e - 1].from, depth);
	}
	while (member_count < depth) {
		uint32_t member = members[member_count++];

		depth = push_member(n, header, n->tree_parent[member], depth);
		for (uint32_t e = n->extra[member]; e; e = n->lists[e - 1].next)
			depth = push_member(n, header, n->lists[e - 1].from, depth);
	}
	for (uint32_t i = 0; i < member_count; i++) {
		n->set[members[i]] = header;
		n->forest->header[members[i]] = (int32_t)header;
	}
}

struct sn_loop_forest sn_graph_loops(const struct sn_graph *graph, struct sn_arena *arena)
{
	uint32_t count = graph->node_count;
	struct sn_loop_forest forest = {
		.header = sn_arena_array(arena, int32_t, count),
		.is_header = sn_arena_array(arena, bool, count),
		.is_irreducible = sn_arena_array(arena, bool, count),
		.preorder = sn_arena_array(arena, uint32_t, count),
	};
	struct nesting n = { .graph = graph, .forest = &forest };
	uint32_t *memory;

	memset(forest.header, 0xff, count * sizeof(*forest.header));
	memset(forest.preorder, 0xff, count * sizeof(*forest.preorder));
	if (!count)
		return forest;
	memory = sn_alloc_zeroed((size_t)count * 9, sizeof(*memory));
	uint32_t **const parts[] = { &n.order, &n.tree_parent, &n.back, &n.cross, &n.extra,
				     &n.set,   &n.unmarked,    &n.seen, &n.stack };
	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++)
		*parts[i] = memory + (size_t)count * i;
	/* each edge is filed once by the walk and at most once more as an extra predecessor */
	n.lists = sn_alloc_zeroed((size_t)graph->first[count] * 2 + 1, sizeof(*n.lists));
	for (uint32_t i = 0; i < count; i++)
		n.set[i] = n.unmarked[i] = i;
	walk(&n);
	for (uint32_t i = 0; i < count; i++)
		n.set[i] = i;
	for (uint32_t i = n.reached; i-- > 0;) {
		uint32_t node = n.order[i];

		for (uint32_t e = n.cross[node], next; e; e = next) {
			uint32_t to = n.lists[e - 1].to;

			next = n.lists[e - 1].next;
			list_add(&n, &n.extra[find(n.set, to)], find(n.set, n.lists[e - 1].from),
				 to);
			mark_irreducible(&n, to);
		}
		find_loop(&n, node);
	}
	free(n.lists);
	free(memory);
	return forest;
}
