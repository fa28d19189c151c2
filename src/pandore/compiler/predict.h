/**
 * The messages of one call of each phase, as the counting build counts them: the same generated code as
 * in the program, run without data (runtime/pandore.h, runtime/count.c).
 */
#ifndef SN_PANDORE_COMPILER_PREDICT_H
#define SN_PANDORE_COMPILER_PREDICT_H

#include "pandore/compiler/emit.h"

/** Writes the counting build, lets `options->count` run it, and adds the explanation, the remarks and the
 * expected messages of each phase to `out`. Where messages depend on data or on arguments, or counting
 * takes too long, it says so instead. */
void sn_pnd_predict(struct sn_pnd_emitter *em, struct sn_pnd_result *out);

#endif
