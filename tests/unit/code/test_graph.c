#include <stdlib.h>
#include <string.h>

#include "base/stats.h"
#include "code/graph.h"
#include "harness/tap.h"

enum { NODES_MAX = 24, EDGES_MAX = 72 };

struct random_graph {
	uint32_t first[NODES_MAX + 1], edges[EDGES_MAX];
	struct sn_graph graph;
};

static void graph_make(struct random_graph *g, struct sn_random *random)
{
	uint32_t count = 0, n = 1 + (uint32_t)sn_random_below(random, NODES_MAX);

	for (uint32_t i = 0; i < n; i++) {
		g->first[i] = count;
		for (uint64_t k = sn_random_below(random, 4); k; k--)
			g->edges[count++] = (uint32_t)sn_random_below(random, n);
	}
	g->first[n] = count;
	g->graph = (struct sn_graph){ n, g->first, g->edges };
}

/* nodes reached from `from` without passing `without`, where allowed[] (may be NULL) */
static void reach(const struct sn_graph *graph, uint32_t from, int without, const bool *allowed,
		  bool *reached)
{
	uint32_t stack[NODES_MAX], depth = 0;

	memset(reached, 0, NODES_MAX);
	if ((int)from == without)
		return;
	reached[from] = true;
	stack[depth++] = from;
	while (depth) {
		uint32_t node = stack[--depth];

		for (uint32_t e = graph->first[node]; e < graph->first[node + 1]; e++) {
			uint32_t to = graph->edges[e];

			if ((int)to == without || reached[to] || (allowed && !allowed[to]))
				continue;
			reached[to] = true;
			stack[depth++] = to;
		}
	}
}

/* a dominates b: without a, b is not reached */
static bool dominates(const struct sn_graph *graph, uint32_t a, uint32_t b)
{
	bool reached[NODES_MAX];

	reach(graph, 0, (int)a, NULL, reached);
	return !reached[b];
}

static bool in_loop(const struct sn_loop_forest *forest, uint32_t node, uint32_t header)
{
	if (node == header)
		return true;
	for (int32_t at = forest->header[node]; at >= 0; at = forest->header[at])
		if ((uint32_t)at == header)
			return true;
	return false;
}

/* Every loop of the forest, against its definition: nodes that can go to the header and be reached
 * from it inside of the loop; entered elsewhere only if flagged; reducible ones are the natural
 * loop. */
static int loop_faults(const struct sn_graph *graph, const struct sn_loop_forest *forest,
		       uint32_t header)
{
	bool body[NODES_MAX] = { 0 }, from_header[NODES_MAX], reached[NODES_MAX];
	bool other_entry = false;
	int bad = 0;

	for (uint32_t i = 0; i < graph->node_count; i++)
		body[i] = in_loop(forest, i, header);
	reach(graph, header, -1, body, from_header);
	reach(graph, 0, -1, NULL, reached);
	for (uint32_t i = 0; i < graph->node_count; i++) {
		bool back[NODES_MAX];

		if (body[i]) {
			reach(graph, i, -1, body, back);
			bad += !from_header[i] || !back[header];
			continue;
		}
		for (uint32_t e = graph->first[i]; e < graph->first[i + 1]; e++)
			other_entry |=
				reached[i] && body[graph->edges[e]] && graph->edges[e] != header;
	}
	bad += other_entry != forest->is_irreducible[header];
	return bad;
}

TEST(loops_of_random_graphs_match_their_definition)
{
	struct sn_random random;
	int bad = 0, loops = 0, irreducible = 0;

	sn_random_seed(&random, 2);
	for (int round = 0; round < 20000; round++) {
		struct sn_arena arena = { 0 };
		struct random_graph g;
		struct sn_loop_forest forest;

		graph_make(&g, &random);
		forest = sn_graph_loops(&g.graph, &arena);
		for (uint32_t i = 0; i < g.graph.node_count; i++) {
			if (forest.preorder[i] == UINT32_MAX)
				continue;
			if (forest.is_header[i]) {
				loops++;
				irreducible += forest.is_irreducible[i];
				bad += loop_faults(&g.graph, &forest, i);
			}
			/* every edge to a dominator is a back edge of a loop that holds its source
			 */
			for (uint32_t e = g.first[i]; e < g.first[i + 1]; e++)
				if (dominates(&g.graph, g.edges[e], i))
					bad += !forest.is_header[g.edges[e]] ||
					       !in_loop(&forest, i, g.edges[e]);
		}
		sn_arena_free(&arena);
	}
	CHECK_INT(bad, 0);
	CHECK(loops > 10000);
	CHECK(irreducible > 1000 && irreducible < loops);
}

/* a ladder of nested loops: the worst that recursion or walking up nests could meet */
TEST(a_million_nested_loops_take_no_time)
{
	enum { N = 1000000 };
	uint32_t *first = calloc(2 * N + 1, sizeof(*first)), *edges = calloc(4 * N, sizeof(*edges));
	struct sn_graph graph = { 2 * N, first, edges };
	struct sn_arena arena = { 0 };
	struct sn_loop_forest forest;
	uint32_t count = 0;

	for (uint32_t i = 0; i < 2 * N; i++) {
		first[i] = count;
		if (i + 1 < 2 * N)
			edges[count++] = i + 1;
		if (i >= N)
			edges[count++] = 2 * N - 1 - i; /* back to its mirror image */
	}
	first[2 * N] = count;
	forest = sn_graph_loops(&graph, &arena);
	CHECK(forest.is_header[0] && forest.is_header[N - 1]);
	CHECK_INT(forest.header[N - 1], N - 2);
	CHECK_INT(forest.header[2 * N - 1], 0);
	CHECK(!forest.is_irreducible[17]);
	sn_arena_free(&arena);
	free(first);
	free(edges);
}
