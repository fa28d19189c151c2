/** What the compile options bring that a unit lacks, in rows of the view `compile`. */
#ifndef SN_VIEWS_COMPILE_H
#define SN_VIEWS_COMPILE_H

#include "base/table.h"
#include "base/text.h"

/** Speed-up of the whole run in elapsed time; NaN: not known. A value, or else both bounds, are known; of a
 * value that is measured so roughly that it has no upper bound, `high` is not. */
struct sn_compile_gain {
	double value, low, high;
	const char *source; /* "static" or "measured"; lives forever */
	const char *from;   /* the configuration that has the options; NULL: none */
};

/** Sets it in a row of a table in which the view's columns begin at column `first`. */
void sn_compile_set_gain(struct sn_table *table, size_t row, size_t first,
			 const struct sn_compile_gain *gain);

/** Leaves units out that have next to no time, and those of other than the program's own code that no option would make
 * faster; says so in a sentence. All stay where none would. Says also where options were not recorded. */
void sn_compile_tidy(struct sn_table *table, size_t first, struct sn_text *sentence);

#endif
