/** The condition of a counted loop as a bound of its counter. */
#ifndef SN_PANDORE_COMPILER_BOUNDS_H
#define SN_PANDORE_COMPILER_BOUNDS_H

#include "pandore/compiler/ast.h"

/** The condition is counter <= end + adjust, or counter >= end + adjust. */
struct sn_pnd_bound {
	const struct sn_pnd_expr *end; /* does not name the counter */
	int64_t adjust;
	bool is_upper;
};

/** Solves a comparison whose sides are sums of the counter, times a constant, and what does not name it.
 * False if it is none, or its arithmetic is unsigned. New expressions are the arena's. */
bool sn_pnd_read_bound(struct sn_arena *arena, const struct sn_pnd_expr *condition,
		       const struct sn_pnd_var *counter, struct sn_pnd_bound *out);

#endif
