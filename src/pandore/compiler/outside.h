/** Subscripts that leave their arrays, found by running a phase without data. */
#ifndef SN_PANDORE_COMPILER_OUTSIDE_H
#define SN_PANDORE_COMPILER_OUTSIDE_H

#include "pandore/compiler/emit.h"

/** Writes the checks of a phase's subscripts (pd_within, runtime/pandore.h) and notes each in em->subscripts. After
 * sn_pnd_find_data. */
void sn_pnd_emit_checks(struct sn_pnd_emitter *em, const struct sn_pnd_stmt *body);

#endif
