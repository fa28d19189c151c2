/* Verdicts, evidence and advice of hot loops, for the page. */
#include <stdlib.h>

#include "base/alloc.h"
#include "campaign/scaling/words.h"
#include "report/model/model_parts.h"
#include "views/loop_evidence.h"

#define SHARE_LEAST 0.001 /* of CPU time */

struct builder {
	struct sn_report *report;
	struct sn_report_evidence *out;
	const struct sn_view_input *input;
	struct sn_loop_runs runs;
	const struct sn_whatif_loop **modelled; /* by the program's loops; NULL: none */
};

static const char *copy(const struct builder *b, const char *text)
{
	return text ? sn_arena_strdup(&b->report->arena, text) : NULL;
}

static void add_scaling(const struct builder *b, uint32_t loop, const struct sn_loop_told *told)
{
	const struct sn_loop_campaign *campaign = &b->runs.campaign;
	const struct sn_scaling_row *row;
	struct sn_text reason = { 0 };

	for (size_t at = 0; (row = sn_loop_scaling_next(campaign, told->course, &at));
	     sn_text_clear(&reason)) {
		sn_scaling_add_reason(row, &reason);
		sn_vec_push(&b->out->scaling,
			    ((struct sn_report_loop_scaling){
				    loop,
				    copy(b, campaign->runs.configurations[row->configuration].name),
				    copy(b, reason.length ? reason.chars : ""), row->workers,
				    row->speedup, row->ideal_speedup, row->efficiency,
				    row->interval }));
	}
	sn_text_free(&reason);
}

static void add_told(const struct builder *b, uint32_t loop, const struct sn_loop_told *told)
{
	const struct sn_loop_evidence *judged = &told->judged;

	sn_vec_push(&b->out->verdicts,
		    ((struct sn_report_verdict){ loop, copy(b, judged->verdict),
						 sn_evidence_trust_name(judged->trust),
						 copy(b, judged->disagreement) }));
	for (unsigned k = 0; k < SN_LOOP_KINDS; k++) {
		const struct sn_loop_kind *kind = &told->kinds[k];

		sn_vec_push(&b->out->kinds,
			    ((struct sn_report_kind){ loop, kind->is_missing, kind->name,
						      copy(b, kind->text.chars),
						      copy(b, kind->command.chars) }));
	}
	for (size_t i = 0; i < judged->advice.count; i++) {
		const struct sn_loop_advice *advice = &judged->advice.items[i];

		sn_vec_push(&b->out->advice,
			    ((struct sn_report_advice){
				    loop, advice->grade, advice->subject, copy(b, advice->sentence),
				    copy(b, advice->for_it), copy(b, advice->against),
				    advice->range, advice->program_range }));
	}
	if (!told->kinds[SN_LOOP_SCALING].is_missing)
		add_scaling(b, loop, told);
	sn_report_add_static_figure(b->report, loop, told);
}

static void add_loop(const struct builder *b, uint32_t number)
{
	const struct sn_profile *profile = b->report->profile;
	const struct sn_program_loop *loop = &profile->program->loops.items[number];
	const struct sn_whatif_loop *modelled = b->modelled[number];
	struct sn_loop_page page = { .input = b->input,
				     .profile = profile,
				     .program = profile->program,
				     .number = number,
				     .loop = loop,
				     .metrics = &profile->loops[number],
				     .structure =
					     sn_structures_of(b->input->structures, loop->module),
				     /* the page is the same from a folder and from its archive */
				     .experiment = profile->experiment->name };
	struct sn_loop_told told;

	sn_loop_tell(&page, &b->runs, modelled ? &modelled->quality : NULL,
		     modelled ? &modelled->advice : NULL, &told);
	add_told(b, b->report->loop_of[number], &told);
	sn_loop_told_free(&told);
}

static void find_modelled(struct builder *b, const struct sn_whatif *answer)
{
	b->modelled =
		sn_alloc_zeroed(b->report->profile->program->loops.count + 1, sizeof(*b->modelled));
	for (size_t i = 0; answer && i < answer->loops.count; i++)
		b->modelled[answer->loops.items[i].loop] = &answer->loops.items[i];
}

void sn_report_add_evidence(struct sn_report *report, struct sn_structures *structures)
{
	const struct sn_profile *profile = report->profile;
	struct sn_view_input input = { .profile = profile, .structures = structures };
	struct builder b = { .report = report, .out = &report->evidence, .input = &input };

	if (!structures)
		return;
	input.machine = sn_analysis_machine(report->analysis);
	find_modelled(&b, report->whatif ? report->whatif->answer : NULL);
	input.replay = &report->replay;
	sn_loop_runs_find(&input, &b.runs);
	for (uint32_t l = 0; l < profile->program->loops.count; l++)
		if (report->loop_of[l] != SN_NONE && sn_share(profile->loops[l].exclusive.cpu_ns,
							      profile->total.cpu_ns) >= SHARE_LEAST)
			add_loop(&b, l);
	sn_report_add_measured(report, &b.runs);
	sn_loop_runs_free(&b.runs);
	free(b.modelled);
}

void sn_report_evidence_free(struct sn_report_evidence *evidence)
{
	sn_vec_free(&evidence->verdicts);
	sn_vec_free(&evidence->kinds);
	sn_vec_free(&evidence->advice);
	sn_vec_free(&evidence->scaling);
	sn_vec_free(&evidence->figures);
	sn_vec_free(&evidence->entries);
	sn_vec_free(&evidence->curves);
	sn_vec_free(&evidence->steps);
}
