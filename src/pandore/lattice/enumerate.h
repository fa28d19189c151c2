/**
 * Visits every cut of a lattice, in lexical order, in memory that does not grow with their number.
 *
 * Processes are fixed one after the other. Those that are fixed leave each of the others an
 * interval. Every choice inside all intervals leads to a whole cut, so nothing is tried in vain.
 * The order is that of Garg's lexical enumeration; docs/method/lattice.md has the intervals. This
 * is for lattices that are small enough to visit: checks of predicates, pictures, tests of the
 * counts.
 */
#ifndef SN_LATTICE_ENUMERATE_H
#define SN_LATTICE_ENUMERATE_H

#include "pandore/lattice/execution.h"

/**
 * One call for each choice of all processes but the last: the cuts (cut[0] .. cut[P-2], c) for c in
 * first .. last. `cut` has P numbers, the last one undefined; borrowed for the call. Returning
 * false ends the visit.
 */
typedef bool (*sn_lattice_visit)(void *context, const uint32_t *cut, uint32_t first, uint32_t last);

/** True if every cut was visited. */
bool sn_lattice_enumerate(const struct sn_lattice_order *order, sn_lattice_visit visit,
			  void *context);

/** Visits every cut one by one, whole, with its level. Slower, simpler to use. */
typedef bool (*sn_lattice_visit_cut)(void *context, const uint32_t *cut, uint32_t level);
bool sn_lattice_enumerate_cuts(const struct sn_lattice_order *order, sn_lattice_visit_cut visit,
			       void *context);

/** Events possible next in a cut. */
uint32_t sn_lattice_out_degree(const struct sn_lattice_order *order, const uint32_t *cut);

#endif
