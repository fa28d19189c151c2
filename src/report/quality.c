/* What the code of a hot loop could do, by the static model (src/cqa): cycles, bottleneck,
 * variants, advice. No run is needed; data are taken to be in L1. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "cqa/advice.h"
#include "cqa/loop.h"
#include "report/quality.h"

/** One piece of advice a line, its parts separated by tabs. */
static void add_advice(struct sn_text *out, const struct sn_advice *advice)
{
	sn_text_addf(out, "%s\t", sn_confidence_name(advice->confidence));
	if (advice->speedup > 1)
		sn_text_add_double(out, advice->speedup);
	sn_text_addf(out, "\t%s\t%s\n", advice->sentence, advice->evidence ? advice->evidence : "");
}

static void take_result(struct sn_report *report, const struct sn_machine *machine, uint32_t number,
			struct sn_cqa_loop *result)
{
	struct sn_report_quality quality = { .loop = number,
					     .cycles = NAN,
					     .cycles_min = NAN,
					     .cycles_max = NAN,
					     .vector_ratio = NAN };
	struct sn_text advice = { 0 };
	sn_advice_list list = { 0 };

	for (int v = 0; v < SN_REPORT_VARIANTS; v++)
		quality.speedups[v] = v < SN_VARIANT_COUNT && !result->not_analysed &&
						      result->variants[v].is_applicable
					      ? result->variants[v].speedup
					      : NAN;
	if (result->not_analysed) {
		quality.not_analysed = sn_arena_strdup(&report->arena, result->not_analysed);
		sn_vec_push(&report->qualities, quality);
		return;
	}
	quality.cycles = result->cycles;
	quality.cycles_min = result->cycles_min;
	quality.cycles_max = result->cycles_max;
	quality.path_count = result->path_count;
	quality.bottleneck = sn_bound_names[result->bottleneck];
	if (result->path_count)
		quality.vector_ratio =
			result->paths[0].metrics.vectorization[SN_DATA_BOTH][SN_CLASS_ALL].ratio;
	sn_cqa_advise(machine, result, &list);
	for (size_t i = 0; i < list.count; i++)
		add_advice(&advice, &list.items[i]);
	if (advice.length)
		quality.advice = sn_arena_strdup(&report->arena, advice.chars);
	sn_text_free(&advice);
	sn_vec_free(&list);
	sn_vec_push(&report->qualities, quality);
}

bool sn_report_has_machine(struct sn_report *report)
{
	const struct sn_machine *machine;

	if (sn_machine_find("native", &machine, NULL) != SN_OK)
		return false;
	report->machine = sn_machine_native_name();
	return true;
}

void sn_report_add_loop_quality(struct sn_report *report, uint32_t number,
				struct sn_structure *structure, uint64_t function_link_addr,
				uint64_t header_link_addr)
{
	const struct sn_loop *loop =
		sn_structure_loop(structure, function_link_addr, header_link_addr);
	const struct sn_machine *machine;
	struct sn_bandwidths bandwidths;
	struct sn_cqa_loop result;

	if (!loop || sn_machine_find("native", &machine, NULL) != SN_OK)
		return;
	bandwidths = sn_bandwidths_of(machine);
	sn_cqa_loop_analyse(machine, structure, loop, &bandwidths, &result);
	take_result(report, machine, number, &result);
	sn_cqa_loop_free(&result);
}
