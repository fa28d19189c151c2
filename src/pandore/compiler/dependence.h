/**
 * Dependences between the writes and the reads of a nest, and what they allow.
 */
#ifndef SN_PANDORE_COMPILER_DEPENDENCE_H
#define SN_PANDORE_COMPILER_DEPENDENCE_H

#include "pandore/compiler/nest.h"

/** Sets ref->level and ref->is_local: the outermost place of its messages that no true dependence
 * forbids. The tests are the GCD test and bounds of affine forms (Banerjee, "Dependence Analysis
 * for Supercomputing", 1988). A dependence that they cannot exclude is taken to be there. */
void sn_nest_place(const struct sn_nest *nest, struct sn_nest_ref *ref);

/** Sets how each loop is run, and moves messages to the starts of spans where loops are pipelined.
 */
void sn_nest_choose_modes(struct sn_nest *nest);

/** Whether one node owns the targets of two assignments, whatever the counters; both are distributed.
 */
bool sn_nest_has_one_owner(const struct sn_nest_assign *a, const struct sn_nest_assign *b);

/** An access of an element in a nest. In one iteration reads with an order come before the write with it. */
struct sn_nest_access {
	const struct sn_affine *subs; /* one a dimension */
	int rank, loop, order;
	bool is_write;
};

/** Whether the second access may touch, later than the first one in the sequential order, the same element of
 * the array that both access. */
bool sn_nest_may_follow(const struct sn_nest *nest, const struct sn_nest_access *first,
			const struct sn_nest_access *then);

/** An owned if (an index) that messages would have to stand in, where not all nodes come by; -1 if
 * there is none. */
int sn_nest_find_obstacle(const struct sn_nest *nest);

#endif
