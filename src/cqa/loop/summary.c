/* Figures of a whole binary: each loop weighs the same. */
#include "cqa/loop/summary.h"

#include <math.h>
#include <string.h>

static void add_reason(struct sn_cqa_summary *summary, const char *sentence)
{
	for (unsigned i = 0; i < SN_CQA_REASONS_MAX; i++) {
		struct sn_cqa_reason *reason = &summary->reasons[i];

		if (reason->sentence && strcmp(reason->sentence, sentence) != 0)
			continue;
		reason->sentence = sentence;
		reason->loops++;
		return;
	}
}

void sn_cqa_summary_add(struct sn_cqa_summary *summary, const struct sn_cqa_loop *result)
{
	const struct sn_cqa_metrics *m;

	summary->loops++;
	if (result->not_analysed) {
		add_reason(summary, result->not_analysed);
		return;
	}
	m = &result->paths[result->main_path].metrics;
	summary->analysed++;
	summary->paths += sn_cqa_flow_paths(result);
	summary->calling += result->has_calls;
	summary->lacking += result->lacked_extensions != 0;
	summary->lacked_extensions |= result->lacked_extensions;
	summary->unions += result->is_union && result->path_total;
	summary->regular += m->strides[SN_STRIDE_ZERO] + m->strides[SN_STRIDE_UNIT] +
			    0.5 * m->strides[SN_STRIDE_N];
	for (unsigned i = 0; i < SN_STRIDE_COUNT; i++)
		summary->accesses += m->strides[i];
	summary->estimated_instructions += result->estimated_instructions;
	summary->instructions += m->instructions;
}

double sn_cqa_flow_paths(const struct sn_cqa_loop *result)
{
	if (!result->path_total)
		return result->path_count;
	return result->path_total > SN_CQA_PATHS_MAX ? SN_CQA_PATHS_MAX + 1
						     : (double)result->path_total;
}

double sn_cqa_flow_complexity(const struct sn_cqa_summary *summary)
{
	return summary->analysed ? summary->paths / (double)summary->analysed : NAN;
}

double sn_cqa_array_efficiency(const struct sn_cqa_summary *summary)
{
	return summary->accesses > 0 ? summary->regular / summary->accesses : NAN;
}
