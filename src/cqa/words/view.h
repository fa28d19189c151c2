/**
 * One loop's static quality as a page of text or JSON, and sums over a binary's loops.
 */
#ifndef SN_CQA_VIEW_H
#define SN_CQA_VIEW_H

#include "base/json.h"
#include "cqa/words/advice.h"

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
/** Paths of a loop as flow complexity counts them: what is more than can be told apart counts as
 *  one more than that, lest a single interpreter's loop drown all others. */
double sn_cqa_flow_paths(const struct sn_cqa_loop *result);
/** Mean number of paths in a loop (ONE View, section 6.1); NaN without loops. */
double sn_cqa_flow_complexity(const struct sn_cqa_summary *summary);
/** Share of memory accesses at a regular stride: zero and one element count 1, another constant
 *  one half, unknown or indirect 0 (ONE View, section 6.1, gives no formula). */
double sn_cqa_array_efficiency(const struct sn_cqa_summary *summary);

/** How a loop's page is to be. */
struct sn_cqa_page {
	bool without_head; /* the caller named the loop and the machine */
	double share;	   /* of CPU time, for what the program would gain; NaN or 0: unknown */
	const sn_advice_list *advice; /* NULL: the model's own */
};

/** The page of one loop. The result must still have its instructions. */
void sn_cqa_page_text(const struct sn_machine *machine, const struct sn_structure *structure,
		      struct sn_cqa_loop *result, const struct sn_cqa_page *how, FILE *out);
/** The member "memory_profile" of an open JSON object: `path machine date` of what was measured
 *  here, null for usual values. */
void sn_cqa_json_memory_profile(const struct sn_machine *machine, struct sn_json *json);
/** Members of an open JSON object: figures, "variants", "paths" and "advice". */
void sn_cqa_page_json(const struct sn_machine *machine, const struct sn_structure *structure,
		      struct sn_cqa_loop *result, const struct sn_cqa_page *how,
		      struct sn_json *json);

#endif
