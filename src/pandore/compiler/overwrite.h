/** OUT arrays whose old values no node needs. */
#ifndef SN_PANDORE_COMPILER_OVERWRITE_H
#define SN_PANDORE_COMPILER_OVERWRITE_H

#include "pandore/compiler/ast.h"

/** Whether the phase surely writes every element of this OUT array before it reads any. This is
 * seen for loops with constant bounds around an assignment whose subscripts are their counters. */
bool sn_pnd_is_overwritten(const struct sn_pnd_phase *phase, const struct sn_pnd_var *var);

/** Whether the statement or one in it assigns the variable or an element of it; NULL does not. */
bool sn_pnd_assigns(const struct sn_pnd_stmt *s, const struct sn_pnd_var *var);

/** Whether a break, continue or return stands in the statement; NULL has none. */
bool sn_pnd_has_jump(const struct sn_pnd_stmt *s);

#endif
