/** Which arrays of the host may stay on the nodes between phases. */
#ifndef SN_PANDORE_COMPILER_STAYS_H
#define SN_PANDORE_COMPILER_STAYS_H

#include "pandore/compiler/ast.h"

/**
 * Finds the host's arrays whose every use is an element, an argument of a phase, or a call that does
 * not keep the address. The generated program writes these uses with pd_look() and pd_stay(), so the
 * library knows when the host looks. Fills program->looks, in the order of the tokens.
 *
 * Also finds loops of main() in which the host does nothing that can be seen from outside but call
 * phases, for program->ahead.
 */
void sn_pnd_find_staying(struct sn_pnd_program *program);

#endif
