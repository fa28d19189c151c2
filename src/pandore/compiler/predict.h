/**
 * Predicting the messages of one call of a phase. Its control flow is interpreted with the integers
 * that every node knows; values of distributed data stay unknown.
 */
#ifndef SN_PANDORE_COMPILER_PREDICT_H
#define SN_PANDORE_COMPILER_PREDICT_H

#include "pandore/compiler/emit.h"

/** Adds the explanation, the remarks and the expected messages of each phase to `out`. Where control
 *  flow or subscripts depend on data or on arguments, or would take too long, it says so instead. */
void sn_pnd_predict(struct sn_pnd_emitter *em, struct sn_pnd_result *out);

#endif
