/**
 * The Standard Intermediate Representation: XML in the elements and the namespace of PTF's sir.xsd.
 */
#ifndef SN_SEARCH_SIR_SIR_H
#define SN_SEARCH_SIR_SIR_H

#include <stdio.h>

#include "code/structure.h"
#include "code/variables.h"

/** Writes the module's structure, of which everything is prepared. `variables` may be NULL: no
 *  debug information, and so no arrays. */
void sn_sir_write(struct sn_structure *structure, const struct sn_variables *variables, FILE *out);

#endif
