/**
 * The name of the function that a copy or part belongs to. Known are gcc's clones (.constprop.0,
 * .isra.0), cold halves (.part.0, .cold), outlined regions (._omp_fn.1) and private copies
 * (.lto_priv.0), and LLVM's (.llvm.N, .omp_outlined).
 */
#ifndef SN_COMPARE_NAMES_H
#define SN_COMPARE_NAMES_H

#include "base/arena.h"

/** The length of "f" in "f.constprop.0", "f.isra.0.cold" and "f [clone .part.0]", as linkage names
 * and demanglers have them. The length of the whole name for any other. */
size_t sn_compare_own_length(const char *name);
/** The beginning of the name, of sn_compare_own_length, in the arena. */
const char *sn_compare_own_name(struct sn_arena *arena, const char *name);

#endif
