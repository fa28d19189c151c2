/**
 * Several executions side by side, one row each: which distribution leaves most to do at once.
 */
#ifndef SN_LATTICE_COMPARE_H
#define SN_LATTICE_COMPARE_H

#include "base/table.h"
#include "pandore/lattice/lattice.h"

/** Fills a table (schema sonde.lattice-comparison/1) that the caller writes and frees. What is not
 *  known exactly is left unknown. */
void sn_lattice_compare(const struct sn_lattice_answer *answers, size_t count,
			struct sn_table *table);

#endif
