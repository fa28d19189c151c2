/**
 * One loop's static quality as a page of text or JSON, and sums over a binary's loops.
 */
#ifndef SN_CQA_VIEW_H
#define SN_CQA_VIEW_H

#include "base/json.h"
#include "cqa/advice.h"

/** Sums over loops, every loop weighing the same (a profile weighs them in the report). */
struct sn_cqa_summary {
	size_t loops, analysed;
	double paths;		  /* sum: flow complexity is paths / analysed */
	double regular, accesses; /* array access efficiency is regular / accesses */
	size_t estimated_instructions, instructions;
};
void sn_cqa_summary_add(struct sn_cqa_summary *summary, const struct sn_cqa_loop *result);
/** Mean number of paths in a loop (ONE View, section 6.1); NaN without loops. */
double sn_cqa_flow_complexity(const struct sn_cqa_summary *summary);
/** Share of memory accesses at a regular stride: zero and one element count 1, another constant
 *  one half, unknown or indirect 0 (ONE View, section 6.1, gives no formula). */
double sn_cqa_array_efficiency(const struct sn_cqa_summary *summary);

/** The page of one loop. */
void sn_cqa_page_text(const struct sn_machine *machine, const struct sn_structure *structure,
		      struct sn_cqa_loop *result, FILE *out);
/** Members "paths" and "advice" of an open JSON object. */
void sn_cqa_page_json(const struct sn_machine *machine, const struct sn_structure *structure,
		      struct sn_cqa_loop *result, struct sn_json *json);

#endif
