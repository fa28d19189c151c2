/**
 * One loop's static quality as a page of text or JSON.
 */
#ifndef SN_CQA_VIEW_H
#define SN_CQA_VIEW_H

#include "base/json.h"
#include "cqa/words/advice.h"

/** Options of a loop's page. */
struct sn_cqa_page {
	bool without_head;   /* the caller named the loop and the machine */
	bool without_advice; /* the caller has it elsewhere */
	double share;	     /* of CPU time, for what the program would gain; NaN or 0: unknown */
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
