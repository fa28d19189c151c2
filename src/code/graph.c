/*
 * Dominators by Lengauer and Tarjan's algorithm, loops by Havlak's nesting forest as corrected by
 * Ramalingam. Both walk with stacks of their own in place of recursion.
 */
#include "code/graph.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

/* ---- Lengauer and Tarjan's dominators ---- */

struct dominators {
	const struct sn_graph *graph;
	uint32_t *number; /* node -> depth-first number, UINT32_MAX not reached */
	uint32_t *vertex; /* number -> node; everything below is indexed by number */
	uint32_t *parent, *semi, *ancestor, *label, *idom;
	uint32_t *bucket, *bucket_next; /* lists of numbers, 0 = end (the root is in no bucket) */
	uint32_t *stack;
	uint32_t count;
};

static void number_nodes(struct dominators *d)
{
	const struct sn_graph *graph = d->graph;
	uint32_t *edge_at = sn_alloc_zeroed(graph->node_count, sizeof(*edge_at));
	uint32_t depth = 0;

	memset(d->number, 0xff, graph->node_count * sizeof(*d->number));
	d->stack[depth++] = 0;
	d->number[0] = 0;
	d->vertex[0] = 0;
	d->count = 1;
	edge_at[0] = graph->first[0];
	while (depth) {
		uint32_t node = d->stack[depth - 1], next;

		if (edge_at[node] == graph->first[node + 1]) {
			depth--;
			continue;
		}
		next = graph->edges[edge_at[node]++];
		if (d->number[next] != UINT32_MAX)
			continue;
		d->number[next] = d->count;
		d->vertex[d->count] = next;
		d->parent[d->count++] = d->number[node];
		edge_at[next] = graph->first[next];
		d->stack[depth++] = next;
	}
	free(edge_at);
}

/* Shortens the path above v and returns the number on it with the smallest semidominator. */
static uint32_t evaluate(struct dominators *d, uint32_t v)
{
	uint32_t depth = 0;

	if (d->ancestor[v] == UINT32_MAX)
		return v;
	for (uint32_t at = v; d->ancestor[d->ancestor[at]] != UINT32_MAX; at = d->ancestor[at])
		d->stack[depth++] = at;
	while (depth) {
		uint32_t at = d->stack[--depth], above = d->ancestor[at];

		if (d->semi[d->label[above]] < d->semi[d->label[at]])
			d->label[at] = d->label[above];
		d->ancestor[at] = d->ancestor[above];
	}
	return d->label[v];
}

static void compute_dominators(struct dominators *d, const uint32_t *pred_first,
			       const uint32_t *preds)
{
	for (uint32_t i = 0; i < d->count; i++) {
		d->semi[i] = d->label[i] = i;
		d->ancestor[i] = UINT32_MAX;
	}
	for (uint32_t w = d->count - 1; w > 0; w--) {
		uint32_t node = d->vertex[w], p = d->parent[w];

		for (uint32_t e = pred_first[node]; e < pred_first[node + 1]; e++) {
			uint32_t u;

			if (d->number[preds[e]] == UINT32_MAX)
				continue;
			u = evaluate(d, d->number[preds[e]]);
			if (d->semi[u] < d->semi[w])
				d->semi[w] = d->semi[u];
		}
		d->bucket_next[w] = d->bucket[d->semi[w]];
		d->bucket[d->semi[w]] = w;
		d->ancestor[w] = p;
		for (uint32_t v = d->bucket[p], next; v; v = next) {
			uint32_t u = evaluate(d, v);

			next = d->bucket_next[v];
			d->idom[v] = d->semi[u] < d->semi[v] ? u : p;
		}
		d->bucket[p] = 0;
	}
	for (uint32_t w = 1; w < d->count; w++)
		if (d->idom[w] != d->semi[w])
			d->idom[w] = d->idom[d->idom[w]];
}

static void predecessors(const struct sn_graph *graph, uint32_t **pred_first, uint32_t **preds)
{
	uint32_t edge_count = graph->first[graph->node_count];
	uint32_t *first = sn_alloc_zeroed((size_t)graph->node_count + 2, sizeof(*first));
	uint32_t *list = sn_alloc_zeroed((size_t)edge_count + 1, sizeof(*list));

	/* counted one further on, so that filling leaves first[] where it should be */
	for (uint32_t e = 0; e < edge_count; e++)
		first[graph->edges[e] + 2]++;
	for (uint32_t i = 2; i <= graph->node_count; i++)
		first[i] += first[i - 1];
	for (uint32_t i = 0; i < graph->node_count; i++)
		for (uint32_t e = graph->first[i]; e < graph->first[i + 1]; e++)
			list[first[graph->edges[e] + 1]++] = i;
	*pred_first = first;
	*preds = list;
}

int32_t *sn_graph_dominators(const struct sn_graph *graph, struct sn_arena *arena)
{
	uint32_t n = graph->node_count;
	int32_t *result = sn_arena_array(arena, int32_t, n);
	uint32_t *memory, *pred_first, *preds;
	struct dominators d = { .graph = graph };

	memset(result, 0xff, n * sizeof(*result));
	if (!n)
		return result;
	memory = sn_alloc_zeroed((size_t)n * 10, sizeof(*memory));
	uint32_t **const parts[] = { &d.number, &d.vertex, &d.parent, &d.semi,	      &d.ancestor,
				     &d.label,	&d.idom,   &d.bucket, &d.bucket_next, &d.stack };
	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++)
		*parts[i] = memory + (size_t)n * i;
	predecessors(graph, &pred_first, &preds);
	number_nodes(&d);
	compute_dominators(&d, pred_first, preds);
	for (uint32_t w = 1; w < d.count; w++)
		result[d.vertex[w]] = (int32_t)d.vertex[d.idom[w]];
	free(pred_first);
	free(preds);
	free(memory);
	return result;
}

bool sn_graph_dominates(const int32_t *dominators, uint32_t a, uint32_t b)
{
	for (int32_t at = (int32_t)b; at >= 0; at = dominators[at])
		if ((uint32_t)at == a)
			return true;
	return false;
}

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
