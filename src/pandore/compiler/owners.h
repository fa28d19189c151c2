/** Who executes what is not an assignment to a distributed element: private scalars and ifs. */
#ifndef SN_PANDORE_COMPILER_OWNERS_H
#define SN_PANDORE_COMPILER_OWNERS_H

#include "pandore/compiler/nest.h"

/** Gives private scalars the target of those who use them, and conditions to the owners of what
 * their branches assign. Ifs with `is_refused` stay everybody's. Returns an if (an index) that has
 * to be refused, too, before the nest can be planned again; -1: none. */
int sn_nest_find_owners(struct sn_nest *nest);

#endif
