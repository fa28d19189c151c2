/**
 * Which loops of different builds are one loop of the source. Compilers put the same loop at ranges of lines that
 * differ by a line or so (heat.c:12-13 by one, heat.c:13 by another), and make several of it (on
 * vectors, and the rest): in one function, file and depth, a range is another one if it lies in it and has at
 * least half of its lines.
 */
#ifndef SN_COMPARE_RANGES_H
#define SN_COMPARE_RANGES_H

#include <stdint.h>

#include "base/intern.h"
#include "base/vec.h"
#include "compare/compare.h"

/** Zero-initialised it is empty. Borrows the texts of the runs. */
struct sn_ranges {
	struct sn_interner keys;
	SN_VEC(struct sn_compare_entry) loops; /* by key number */
	uint32_t *joined; /* by key number: that of the loop which it is; NULL: not joined yet */
};

/** Adds one entry; only loops with lines count. */
void sn_ranges_add_entry(struct sn_ranges *ranges, const struct sn_compare_entry *entry);
/** Adds the loops of a run. Those of the reference come first: their lines stay. */
void sn_ranges_add(struct sn_ranges *ranges, const struct sn_compare_run *run);
/** To be called when all runs were added. */
void sn_ranges_join(struct sn_ranges *ranges);
/** The entry, a loop's with the name and lines of the loop that it is. */
struct sn_compare_entry sn_ranges_entry(const struct sn_ranges *ranges,
					const struct sn_compare_entry *entry);
void sn_ranges_free(struct sn_ranges *ranges);

#endif
