/** Which values of a scalar live on: what makes a variable private to an iteration. */
#ifndef SN_PANDORE_COMPILER_LIVENESS_H
#define SN_PANDORE_COMPILER_LIVENESS_H

#include "pandore/compiler/ast.h"

/**
 * Whether no value of the scalar passes into or out of a region of a phase: each read in the region
 * comes after an assignment there, in the same iteration if the region is a loop, and no read
 * elsewhere sees a value that the region left. So each node may keep its own, or none.
 */
bool sn_pnd_is_private(const struct sn_pnd_stmt *phase_body, const struct sn_pnd_stmt *region,
		       const struct sn_pnd_var *var);

/** Reads and writes of a variable in a statement and all in it; NULL has none. */
int sn_pnd_count_uses(const struct sn_pnd_stmt *s, const struct sn_pnd_var *var);

/** Whether `inner` is `outer` or stands in it. */
bool sn_pnd_contains(const struct sn_pnd_stmt *outer, const struct sn_pnd_stmt *inner);

#endif
