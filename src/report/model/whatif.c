/* What the static model says of the program's loops. */
#include "report/model/model_parts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/text.h"
#include "cqa/loop/parts.h"
#include "cqa/words/table.h"
#include "views/whatif.h"

enum {
	STEPS_MAX = 1000,    /* a variant */
	DETAILED_MAX = 100,  /* loops whose instructions the page shows as the model sees them */
	MODELLED_MAX = 20000 /* instructions of these */
};

struct builder {
	struct sn_report *report;
	struct sn_report_whatif *out;
	const struct sn_whatif *whatif;
	struct sn_structures *structures;
};

static const char *copy(struct builder *b, const char *text)
{
	return text ? sn_arena_strdup(&b->report->arena, text) : NULL;
}

static uint32_t number_of(const struct builder *b, const struct sn_whatif_loop *loop)
{
	return b->report->loop_of[loop->loop];
}

/* ---- the model's view of instructions ---- */

static void add_instructions(struct builder *b, uint32_t number, struct sn_cqa_loop *quality,
			     uint32_t path, const struct sn_cqa_parts *parts)
{
	const struct sn_cqa_block *block = &quality->paths[path].block;
	uint64_t origin_link_addr = quality->loop->ranges[0].first_link_addr & ~63ULL;
	struct sn_text units = { 0 };

	for (size_t i = 0; i < block->count; i++) {
		const struct sn_insn *insn = &block->insns[i];
		struct sn_report_modelled out = {
			.loop = number,
			.path = path,
			.link_addr = origin_link_addr + insn->offset,
			.latency = (double)(insn->latency + insn->load_latency),
			.is_on_chain = parts->is_on_chain[i],
			.flags = (uint8_t)(insn->is_estimated |
					   (insn->is_idiom || insn->is_move_eliminated) << 1 |
					   insn->is_fused_into_previous << 2)
		};
		char names[256];

		for (unsigned k = 0; k < SN_BOUND_COUNT; k++)
			out.parts[k] = parts->cycles[k][i];
		sn_text_clear(&units);
		for (unsigned k = 0; k < insn->set_count; k++)
			sn_text_addf(&units, "%s%.3g %s", k ? ", " : "",
				     (double)insn->sets[k].count,
				     sn_units_print_short(b->whatif->machine, insn->sets[k].units,
							  names));
		out.units = units.length ? copy(b, units.chars) : NULL;
		sn_vec_push(&b->out->instructions, out);
	}
	sn_text_free(&units);
}

static void add_path(struct builder *b, uint32_t number, struct sn_cqa_loop *quality, uint32_t p)
{
	const struct sn_cqa_path *from = &quality->paths[p];
	const struct sn_machine *machine = b->whatif->machine;
	struct sn_cqa_parts parts = sn_cqa_parts_of(machine, from, &quality->arena);
	struct sn_report_path path = { .loop = number,
				       .path = p,
				       .weight = from->weight,
				       .cycles = from->estimate.cycles,
				       .bottleneck = sn_bound_names[from->estimate.bottleneck],
				       .front_end = sn_front_end_name(from->estimate.front_end),
				       .chain_passes = parts.chain_passes };
	struct sn_text units = { 0 };
	char names[256];

	for (unsigned i = 0; i < SN_BOUND_COUNT; i++)
		path.bounds[i] = from->estimate.bounds[i];
	for (unsigned i = SN_LEVEL_L2; i < SN_LEVEL_COUNT; i++)
		path.levels[i - SN_LEVEL_L2] = from->level_cycles[i];
	if (from->estimate.busiest_units)
		path.busiest =
			copy(b, sn_units_print_short(machine, from->estimate.busiest_units, names));
	sn_cqa_units_text(machine, &from->block, &units);
	for (size_t i = 0; i < units.length; i++)
		if (units.chars[i] == ' ')
			units.chars[i] = '\t';
	path.units = copy(b, units.chars);
	sn_text_free(&units);
	sn_vec_push(&b->out->paths, path);
	if (b->out->instructions.count + from->block.count <= MODELLED_MAX)
		add_instructions(b, number, quality, p, &parts);
}

static void add_details(struct builder *b)
{
	for (size_t i = 0; i < b->whatif->loops.count && i < DETAILED_MAX; i++) {
		const struct sn_whatif_loop *loop = &b->whatif->loops.items[i];
		struct sn_cqa_loop quality;

		if (loop->share < 0.001 || number_of(b, loop) == SN_NONE ||
		    loop->quality.not_analysed ||
		    !sn_whatif_detail(b->whatif, b->structures, loop->loop, &quality))
			continue;
		for (uint32_t p = 0; p < quality.path_count; p++)
			add_path(b, number_of(b, loop), &quality, p);
		sn_cqa_loop_free(&quality);
	}
}

/* ---- the program ---- */

static void add_steps(struct builder *b, unsigned v)
{
	const struct sn_whatif_variant *from = &b->whatif->variants[v];

	for (size_t i = 0; i < from->steps.count && i < STEPS_MAX; i++) {
		const struct sn_whatif_loop *loop =
			&b->whatif->loops.items[from->steps.items[i].index];
		struct sn_report_step step = { .variant = (uint8_t)v,
					       .loop = number_of(b, loop),
					       .saved_share = from->steps.items[i].saved,
					       .cumulative_speedup =
						       from->steps.items[i].cumulative,
					       .is_reliable = !loop->doubts };

		sn_vec_push(&b->out->steps, step);
	}
}

void sn_report_ask_whatif(struct sn_report *report, struct sn_analysis *analysis)
{
	const struct sn_machine_choice *choice;

	if (!analysis->structures)
		return;
	choice = sn_analysis_machine(analysis);
	report->machine = choice->machine;
	report->machine_warning = choice->warning[0] ? choice->warning : NULL;
	if (!choice->machine) {
		report->machine_absence = choice->absence.sentence;
		return;
	}
	report->whatif = sn_alloc_zeroed(1, sizeof(*report->whatif));
	report->whatif->answer = sn_whatif_new(choice->machine, analysis->profile,
					       analysis->structures, SN_WHATIF_LOOPS_MAX);
}

static void add_all(struct builder *b)
{
	for (unsigned v = 0; v < SN_VARIANT_COUNT; v++)
		add_steps(b, v);
	for (size_t i = 0; i < b->whatif->loops.count; i++)
		sn_vec_push(&b->out->expert_loops, number_of(b, &b->whatif->loops.items[i]));
	add_details(b);
}

void sn_report_add_whatif(struct sn_report *report, struct sn_structures *structures,
			  bool has_details)
{
	struct sn_report_whatif *out = report->whatif;
	struct builder b = { .report = report, .out = out, .structures = structures };
	struct sn_text columns = { 0 };

	if (!out)
		return;
	b.whatif = out->answer;
	sn_whatif_columns(SN_VARIANT_FULL_VECTOR, SN_FORMAT_JSON, &columns);
	sn_whatif_table(out->answer, SN_VARIANT_COUNT, false, has_details ? NULL : columns.chars,
			&out->experts);
	if (has_details)
		add_all(&b);
	sn_text_free(&columns);
}

void sn_report_whatif_free(struct sn_report_whatif *w)
{
	if (!w)
		return;
	sn_whatif_free(w->answer);
	sn_table_free(&w->experts);
	sn_vec_free(&w->expert_loops);
	sn_vec_free(&w->steps);
	sn_vec_free(&w->paths);
	sn_vec_free(&w->instructions);
	free(w);
}
