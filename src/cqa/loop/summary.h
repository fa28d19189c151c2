/** Sums over the loops of a binary. */
#ifndef SN_CQA_LOOP_SUMMARY_H
#define SN_CQA_LOOP_SUMMARY_H

#include "cqa/loop/loop.h"

enum { SN_CQA_REASONS_MAX = 4 };
/** Loops without figures. */
struct sn_cqa_reason {
	const char *sentence; /* sn_cqa_loop.not_analysed; NULL: no more of them */
	size_t loops;
};

/** Sums over loops, every loop weighing the same (a profile weighs them in the report). */
struct sn_cqa_summary {
	size_t loops, analysed;
	double paths;		  /* sum: flow complexity is paths / analysed */
	size_t unions;		  /* with too many paths to tell apart */
	size_t calling;		  /* functions, whose time is in no figure */
	double regular, accesses; /* array access efficiency is regular / accesses */
	size_t estimated_instructions, instructions;
	size_t undecoded_places;    /* of the functions, added by the caller */
	size_t lacking;		    /* loops that need extensions which the machine lacks */
	unsigned lacked_extensions; /* all that these need (cqa/block/extensions.h) */
	struct sn_cqa_reason reasons[SN_CQA_REASONS_MAX];
};
void sn_cqa_summary_add(struct sn_cqa_summary *summary, const struct sn_cqa_loop *result);
/** The number of paths of a loop as flow complexity counts them. More than can be told apart counts
 * as one more than that, so that one interpreter's loop does not outweigh all others. */
double sn_cqa_flow_paths(const struct sn_cqa_loop *result);
/** Mean number of paths in a loop (ONE View, section 6.1); NaN without loops. */
double sn_cqa_flow_complexity(const struct sn_cqa_summary *summary);
/** Share of memory accesses at a regular stride: zero and one element count 1, another constant
 *  one half, unknown or indirect 0 (ONE View, section 6.1, gives no formula). */
double sn_cqa_array_efficiency(const struct sn_cqa_summary *summary);

#endif
