/**
 * Names as people write them: C++ (Itanium), Rust (legacy and v0), D, and Fortran modules.
 */
#ifndef SN_CODE_DEMANGLE_H
#define SN_CODE_DEMANGLE_H

#include <stdbool.h>

#include "base/text.h"

/** Adds the demangled name and returns true; false, with nothing added, if it is not mangled.
 *  "_ZN2ns1fEi.cold" gives "ns::f(int) [clone .cold]"; "__grid_MOD_step" (gfortran) and
 *  "grid_mp_step_" (Intel) give "grid::step". A symbol version ("@GLIBC_2.2") is left off. */
bool sn_demangle(const char *linkage_name, struct sn_text *out);

#endif
