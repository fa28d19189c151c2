/**
 * Which elements have to move before a loop nest may run: regular sections of a source array, for
 * each ordered pair of nodes, in closed form from block bounds and affine subscripts.
 *
 * The library packs and sends them. Sections may hold more than is read (hulls of several loops, whole dimensions for subscripts that are not
 * affine). Every section is inside its array, and a value too many is merely current.
 */
#ifndef PANDORE_SECTIONS_H
#define PANDORE_SECTIONS_H

struct pd_array;

enum { PD_LOOPS_MAX = 8, PD_DIMENSIONS_MAX = 8 };

/** A reference to `source` in a statement that assigns to `target` (0: executed by every node),
 *  within `loop_count` loops. A subscript is base + sum of coefficient * counter. */
struct pd_moves {
	int site;
	const struct pd_array *source, *target;
	int loop_count;
	unsigned source_whole, target_whole; /* dimensions whose subscript is not affine */
	long source_coef[PD_DIMENSIONS_MAX][PD_LOOPS_MAX];
	long target_coef[PD_DIMENSIONS_MAX][PD_LOOPS_MAX];
};

/** Values of a counter: low, low + step, ... up to high; step is positive. */
struct pd_range {
	long low, high, step;
};

struct pd_section {
	int from, to; /* nodes; to -1: all others */
	long first[PD_DIMENSIONS_MAX], last[PD_DIMENSIONS_MAX], stride[PD_DIMENSIONS_MAX];
};

/** Visits every section that moves between different nodes, in one order on all nodes. */
void pd_sections(const struct pd_moves *moves, const long *target_base, const long *source_base,
		 const struct pd_range *loops, int nodes,
		 void (*visit)(const struct pd_section *section, void *context), void *context);

long pd_section_count(const struct pd_section *section, int rank);

/**
 * The spans of a loop's counter within one block of dimension `d` of the array it assigns, in the
 * loop's order. `known[e]` is the subscript in dimension e, or PD_UNKNOWN where a deeper loop or
 * this one decides it.
 */
#define PD_UNKNOWN (-0x7fffffffffffL)
struct pd_spans {
	const struct pd_array *array;
	int dimension, nodes;
	long coef, offset, next, end, step; /* end inclusive; step may be negative */
	long known[PD_DIMENSIONS_MAX];
	long first, last; /* the current span */
	int owner;	  /* of the span, if all is known */
};

/** The next span that node `me` owns some of (me -1: any span). 0 at the end. */
int pd_span_next(struct pd_spans *spans, int me);

#endif
