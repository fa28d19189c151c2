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

/** How a chain's scalar follows from parts of the loop that run at the same time, each from the value before
 * the loop: it is that of the first part whose scalar `decided_by` is larger, or smaller, than all before. */
struct sn_nest_extreme {
	int decided_by; /* among the chain's scalars; itself, or the one whose condition assigns it, too */
	bool is_largest;
};

/** Whether all scalars of a chain are largest or smallest values ("if (e > d) d = e;"), or are assigned with
 * one, and each node's part of the loop is one piece of it. Comparisons are strict and values of one type, so that parts give
 * the bits of the whole, whatever is equal or no number. `out`: one a scalar, in the order of sn_nest_chained. */
bool sn_nest_find_extremes(const struct sn_nest *nest, int loop, struct sn_nest_extreme *out);

/** Whether the nodes run their parts of a chain one after the other, each with the values of the one before. */
bool sn_nest_is_in_turns(const struct sn_nest *nest, int loop);

/** The scalars that a chain passes on: writes up to `room` of them, returns how many there are. */
int sn_nest_chained(const struct sn_nest *nest, int loop, const struct sn_pnd_var **out, int room);

#endif
