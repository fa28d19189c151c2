/**
 * The lines and inlined subroutines that DWARF has of one function: lines.c gathers them,
 * line_table.c makes one table of them.
 */
#ifndef SN_CODE_LINE_TABLE_H
#define SN_CODE_LINE_TABLE_H

#include "base/vec.h"
#include "code/structure_parts.h"

struct sn_inline_range {
	struct sn_range range;
	uint32_t inlined; /* index in the function's inlines */
};

/** The lines and inlined subroutines that lines.c gathers for one function. */
struct sn_gathered_lines {
	uint32_t function;
	SN_VEC(struct sn_inline) inlines;
	SN_VEC(struct sn_inline_range) ranges;
	SN_VEC(struct sn_line) lines;
	struct sn_unit *unit;
	bool has_declaration;
};

/** Lines and inlined subroutines become rows of the function, each within one inlined subroutine;
 * equal neighbours become one. */
void sn_gathered_lines_finish(struct sn_structure *structure, struct sn_gathered_lines *from);
void sn_gathered_lines_free(struct sn_gathered_lines *gathered);

/** Compares two ranges by their first address, for qsort. */
int sn_ranges_by_address(const void *a, const void *b);

#endif
