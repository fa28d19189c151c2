/**
 * Loop fission (Allen and Kennedy, "Optimizing Compilers for Modern Architectures", 2001, 2.4; there "loop
 * distribution"): a loop that assigns both elements of distributed arrays and scalars that every node keeps
 * becomes two. The one of the elements can then be divided over the nodes.
 */
#ifndef SN_PANDORE_COMPILER_FISSION_H
#define SN_PANDORE_COMPILER_FISSION_H

#include "pandore/compiler/ast.h"

/**
 * Splits the loops of all phases where no dependence forbids it and the elements' part is divided only then.
 * `may_reassociate` is that of the plans to come; `mark` is the number of plans so far. Statements get new
 * ids in the order of the text.
 */
void sn_pnd_split_loops(struct sn_pnd_program *program, bool may_reassociate, unsigned *mark);

#endif
