/**
 * Sums into replicated scalars without moving what is added: the running values pass from owner to owner
 * in the order of the loop, so that they are those of the sequential program, bit for bit.
 */
#ifndef SN_PANDORE_COMPILER_CHAINS_H
#define SN_PANDORE_COMPILER_CHAINS_H

#include "pandore/compiler/nest.h"

/** Finds the loops that become chains, sets their `is_chain`, and gives what they assign to the owners of
 * an element that they read. Private scalars must be known. */
void sn_nest_find_chains(struct sn_nest *nest);

/** The scalars that a chain passes on: writes up to `room` of them, returns how many there are. */
int sn_nest_chained(const struct sn_nest *nest, int loop, const struct sn_pnd_var **out, int room);

#endif
