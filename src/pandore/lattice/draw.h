/**
 * Pictures of lattices.
 *
 * Up to `exact_cuts` cuts every cut is drawn with its arcs: for two processes as a grid with one
 * direction a process (the paper's Figure 2), for more by levels from left to right. Larger
 * lattices are drawn as a silhouette: cuts per level, on a logarithmic scale, coloured by
 * parallelism. Colours say how many events are possible next, from rust (one) to teal (every
 * process can act).
 */
#ifndef SN_LATTICE_DRAW_H
#define SN_LATTICE_DRAW_H

#include <stdio.h>

#include "pandore/lattice/lattice.h"

enum { SN_DRAW_EXACT_CUTS = 5000 };

/** One picture, the answers one below the other. */
void sn_lattice_draw_svg(const struct sn_lattice_answer *answers, size_t count, uint32_t exact_cuts,
			 FILE *out);

/** The graph in Graphviz' language. SN_ERR_UNSUPPORTED if there are more than `exact_cuts` cuts. */
sn_status sn_lattice_draw_dot(const struct sn_lattice_answer *answer, uint32_t exact_cuts,
			      FILE *out, struct sn_error *err);

#endif
