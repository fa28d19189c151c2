/**
 * The lattice as an explicit graph, built while events arrive (Diehl, Jard, Rampon, "Reachability
 * analysis on distributed executions", TAPSOFT 1993).
 *
 * Events may arrive in any order; one whose past is not complete is kept until it is. When event e
 * is taken, the cuts that contain its past are copied with e added: the new nodes are found by
 * walking from the cut "past of e without e", and each costs its arcs. A node takes 4 P bytes for
 * its arcs (the node reached by the next event of each process) and 4 of scratch. Node 0 is the
 * empty cut, and every arc leads to a larger number.
 */
#ifndef SN_LATTICE_ONLINE_H
#define SN_LATTICE_ONLINE_H

#include "pandore/lattice/execution.h"

enum { SN_NODE_NONE = UINT32_MAX };

struct sn_lattice_graph;

/** `node_limit`: nodes at most; 0: as many as 32-bit numbers allow. */
struct sn_lattice_graph *sn_lattice_graph_new(uint32_t process_count, uint32_t node_limit);
void sn_lattice_graph_free(struct sn_lattice_graph *graph);

/**
 * Event `index` (from 0) of `process` has happened, directly after `after` (its own predecessor is
 * implied). SN_ERR_FORMAT if it arrived before or names an unknown process; SN_ERR_RANGE if the
 * node limit is reached: the graph then stays as it was before the event that was too much, and
 * takes no more.
 */
sn_status sn_lattice_graph_add(struct sn_lattice_graph *graph, uint32_t process, uint32_t index,
			       const struct sn_lattice_ref *after, size_t after_count,
			       struct sn_error *err);

/** Events that wait for others which have not arrived. */
uint32_t sn_lattice_graph_pending(const struct sn_lattice_graph *graph);
uint32_t sn_lattice_graph_node_count(const struct sn_lattice_graph *graph);
/** The arcs of a node: P node numbers, SN_NODE_NONE where the process cannot act. */
const uint32_t *sn_lattice_graph_arcs(const struct sn_lattice_graph *graph, uint32_t node);
/** Levels of all nodes (events in each cut), valid until the next event is added. */
const uint32_t *sn_lattice_graph_levels(struct sn_lattice_graph *graph);

/** Adds every event of an order, in an order in which they can happen. */
sn_status sn_lattice_graph_add_order(struct sn_lattice_graph *graph,
				     const struct sn_lattice_order *order, struct sn_error *err);

#endif
