/**
 * Directed graphs in compressed rows and their loop nesting forest.
 *
 * Nothing recurses, and nothing takes longer than O(m log n). So a function of a million blocks is
 * as safe as one of ten.
 */
#ifndef SN_CODE_GRAPH_H
#define SN_CODE_GRAPH_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"

enum { SN_NODE_NONE = -1 };

/** Successors of node i: edges[first[i]] .. edges[first[i+1]-1]. Node 0 is the root; what it does
 * not reach is left alone. Borrowed. */
struct sn_graph {
	uint32_t node_count;
	const uint32_t *first; /* node_count + 1 */
	const uint32_t *edges;
};

/** Loop nesting forest (Havlak 1997, with Ramalingam's 1999 treatment of edges into loops, which
 * makes it almost linear). A natural loop is headed by the target of its back edges; an irreducible
 * region is headed by its entry that a depth-first walk, successors in order, meets first. */
struct sn_loop_forest {
	/* one entry a node */
	int32_t *header; /* innermost loop's header; for a header itself: the enclosing loop's; -1
			    none */
	bool *is_header;
	bool *is_irreducible; /* for headers */
	uint32_t *preorder;   /* depth-first number from 0; UINT32_MAX: not reached */
};
struct sn_loop_forest sn_graph_loops(const struct sn_graph *graph, struct sn_arena *arena);

#endif
