/**
 * What only data decides: numbers that are not known when a phase is called without its arrays. The
 * counting build (runtime/pandore.h) runs without them.
 */
#ifndef SN_PANDORE_COMPILER_DATA_H
#define SN_PANDORE_COMPILER_DATA_H

#include "pandore/compiler/ast.h"

/** Marks (`is_data`) the phase's scalars and replicated arrays that some assignment, or the caller,
 * gives a value that depends on arrays or on arguments which are no known constants. */
void sn_pnd_find_data(const struct sn_pnd_phase *phase);

/** Whether an expression's value depends on data. NULL does not. */
bool sn_pnd_reads_data(const struct sn_pnd_expr *e);

#endif
