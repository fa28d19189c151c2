#include <string.h>

#include "brute.h"
#include "harness/tap.h"
#include "pandore/lattice/online.h"

/* Are the graph's nodes, arcs, levels and out-degrees those of the brute count? */
static bool graph_agrees(struct sn_lattice_graph *graph, const struct brute *brute,
			 uint32_t processes)
{
	struct brute seen = { .cuts = sn_lattice_graph_node_count(graph) };
	const uint32_t *levels = sn_lattice_graph_levels(graph);
	bool holds;

	seen.levels = sn_alloc_zeroed(brute->event_count + 1, sizeof(uint64_t));
	seen.level_arcs = sn_alloc_zeroed(brute->event_count + 1, sizeof(uint64_t));
	for (uint32_t node = 0; node < seen.cuts; node++) {
		uint32_t degree = 0;

		for (uint32_t p = 0; p < processes; p++)
			degree += sn_lattice_graph_arcs(graph, node)[p] != SN_NODE_NONE;
		seen.arcs += degree;
		seen.levels[levels[node]]++;
		seen.level_arcs[levels[node]] += degree;
		seen.degrees[degree]++;
	}
	holds = seen.cuts == brute->cuts && seen.arcs == brute->arcs &&
		!memcmp(seen.levels, brute->levels, (brute->event_count + 1) * sizeof(uint64_t)) &&
		!memcmp(seen.level_arcs, brute->level_arcs,
			(brute->event_count + 1) * sizeof(uint64_t)) &&
		!memcmp(seen.degrees, brute->degrees, sizeof(seen.degrees));
	brute_free(&seen);
	return holds;
}

TEST(a_thousand_random_executions_agree_in_any_order_of_arrival)
{
	struct sn_random random;

	sn_random_seed(&random, 1);
	for (int round = 0; round < 1000; round++) {
		struct made made = made_any(&random);
		struct brute brute = brute_count(&made);
		struct sn_lattice_graph *graph = sn_lattice_graph_new(made.process_count, 0);

		made_shuffle(&made, &random);
		for (uint32_t e = 0; e < made.event_count; e++)
			REQUIRE(sn_lattice_graph_add(graph, made.events[e].process,
						     made.events[e].index, made.events[e].after,
						     made.events[e].after_count, NULL) == SN_OK);
		REQUIRE(sn_lattice_graph_pending(graph) == 0);
		REQUIRE(graph_agrees(graph, &brute, made.process_count));
		sn_lattice_graph_free(graph);
		brute_free(&brute);
		made_free(&made);
	}
}

TEST(the_graph_grows_with_the_events)
{
	struct sn_lattice_graph *graph = sn_lattice_graph_new(2, 0);
	struct sn_lattice_ref first = { 0, 0 };

	CHECK_INT(sn_lattice_graph_node_count(graph), 1);
	CHECK(sn_lattice_graph_add(graph, 1, 0, &first, 1, NULL) == SN_OK);
	CHECK_INT(sn_lattice_graph_node_count(graph), 1);
	CHECK_INT(sn_lattice_graph_pending(graph), 1);
	CHECK(sn_lattice_graph_add(graph, 0, 0, NULL, 0, NULL) == SN_OK);
	CHECK_INT(sn_lattice_graph_node_count(graph), 3);
	CHECK_INT(sn_lattice_graph_pending(graph), 0);
	CHECK(sn_lattice_graph_add(graph, 0, 1, NULL, 0, NULL) == SN_OK);
	CHECK_INT(sn_lattice_graph_node_count(graph), 5);
	CHECK_INT(sn_lattice_graph_add(graph, 0, 1, NULL, 0, NULL), SN_ERR_FORMAT);
	CHECK_INT(sn_lattice_graph_add(graph, 2, 0, NULL, 0, NULL), SN_ERR_FORMAT);
	sn_lattice_graph_free(graph);
}

TEST(a_node_limit_leaves_the_graph_as_it_was)
{
	struct sn_lattice_graph *graph = sn_lattice_graph_new(3, 20);
	struct sn_error err;
	sn_status status = SN_OK;

	for (uint32_t i = 0; i < 9 && status == SN_OK; i++)
		status = sn_lattice_graph_add(graph, i % 3, i / 3, NULL, 0, &err);
	CHECK_INT(status, SN_ERR_RANGE);
	CHECK_STRING(err.sentence, "the lattice has more than 20 cuts after 5 events");
	CHECK_INT(sn_lattice_graph_node_count(graph), 18);
	CHECK_INT(sn_lattice_graph_levels(graph)[17], 5);
	sn_lattice_graph_free(graph);
}
