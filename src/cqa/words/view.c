/*
 * Prints one loop: its figures, its paths, its instructions with what each costs, and the advice;
 * as text or JSON.
 */
#include "cqa/words/view.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/stats.h"
#include "code/decode.h"
#include "code/options.h"
#include "cqa/block/extensions.h"
#include "cqa/loop/parts.h"
#include "machine/bandwidth.h"

/* (rounding) Of printed figures, relative and in cycles. */
#define PRINTED	       0.005
#define PRINTED_CYCLES 0.005
#define LESS_FROM_RAM  0.95 /* (rounding) of a speed-up */

/* ---- one loop ---- */

static void print_bar(FILE *out, double part, double whole)
{
	int length = whole > 0 ? (int)lround(30 * part / whole) : 0;

	for (int i = 0; i < 30; i++)
		fputc(i < length ? '#' : ' ', out);
}

static void add_assembly(const struct sn_structure *structure, const struct sn_loop *loop,
			 const struct sn_insn *insn, struct sn_text *text)
{
	uint64_t link_addr = (loop->ranges[0].first_link_addr & ~63ULL) + insn->offset;
	size_t available;
	const uint8_t *bytes = sn_structure_bytes(structure, link_addr, &available);

	sn_text_clear(text);
	if (bytes)
		sn_instruction_format(text, SN_SYNTAX_INTEL, bytes, available, link_addr, NULL,
				      NULL);
}

static void add_units(const struct sn_machine *machine, const struct sn_insn *insn,
		      struct sn_text *text)
{
	char names[256];

	sn_text_clear(text);
	for (unsigned i = 0; i < insn->set_count; i++)
		sn_text_addf(text, "%s%.3gx%s", i ? " " : "", (double)insn->sets[i].count,
			     sn_units_print_short(machine, insn->sets[i].units, names));
	if (insn->is_idiom || insn->is_move_eliminated)
		sn_text_add(text, "eliminated");
	if (insn->is_fused_into_previous)
		sn_text_add(text, " fused");
}

enum { ASSEMBLY_LEAST = 30, ASSEMBLY_MOST = 64 }; /* (room) of a line */

/* Texts of all instructions, and the width of their column. */
static int assembly_width(const struct sn_structure *structure, const struct sn_loop *loop,
			  const struct sn_cqa_block *block)
{
	struct sn_text text = { 0 };
	size_t width = ASSEMBLY_LEAST;

	for (size_t i = 0; i < block->count; i++) {
		add_assembly(structure, loop, &block->insns[i], &text);
		width = text.length > width ? text.length : width;
	}
	sn_text_free(&text);
	return width > ASSEMBLY_MOST ? ASSEMBLY_MOST : (int)width;
}

static void print_part(double cycles, FILE *out)
{
	if (cycles < 0.0005)
		fprintf(out, " %7s", "");
	else if (cycles < 0.005)
		fprintf(out, " %7s", "<0.01");
	else
		fprintf(out, " %7.2f", cycles);
}

/* Address -> value first, then operand -> result: "4+3". */
static void add_latency(const struct sn_insn *insn, struct sn_text *text)
{
	sn_text_clear(text);
	if (insn->load_latency > 0)
		sn_text_addf(text, "%.3g+", (double)insn->load_latency);
	sn_text_addf(text, "%.3g", (double)insn->latency);
}

static void print_sums(const struct sn_cqa_parts *parts, FILE *out)
{
	static const char rule[] = "-----";

	fputs("   ", out);
	for (unsigned b = 0; b < SN_BOUND_COUNT; b++)
		fprintf(out, " %7s", rule);
	fputs("\n   ", out);
	for (unsigned b = 0; b < SN_BOUND_COUNT; b++)
		fprintf(out, " %7.2f",
			parts->sums[b] * (b == SN_BOUND_LATENCY && parts->chain_passes
						  ? parts->chain_passes
						  : 1));
	fputs("  sum", out);
	if (parts->chain_passes > 1)
		fprintf(out, "; the chain comes round in %u passes: %.2f / %u = %.2f a pass",
			parts->chain_passes, parts->sums[SN_BOUND_LATENCY] * parts->chain_passes,
			parts->chain_passes, parts->sums[SN_BOUND_LATENCY]);
	fputc('\n', out);
}

/* Why a bound has more than its instructions' parts. */
static const char *why_more(const struct sn_cqa_path *path, enum sn_bound bound)
{
	if (path->estimate.window_cycles > path->estimate.bounds[bound] * (1 - PRINTED))
		return "operations that wait fill the schedulers, and younger ones wait with them";
	if (bound == SN_BOUND_PORTS)
		return "units that are busy for as long as all else takes keep it waiting";
	return "what the instructions cost together has no single cause";
}

/* What a bound has beyond its instructions' parts. */
static void print_rests(const struct sn_cqa_path *path, const struct sn_cqa_parts *parts, FILE *out)
{
	for (unsigned b = 0; b < SN_BOUND_COUNT; b++)
		if (path->estimate.bounds[b] > parts->sums[b] * (1 + PRINTED) + PRINTED_CYCLES)
			fprintf(out, "  %s: %.2f, not %.2f: %s\n", sn_bound_names[b],
				path->estimate.bounds[b], parts->sums[b],
				why_more(path, (enum sn_bound)b));
}

static void print_instructions(const struct sn_machine *machine,
			       const struct sn_structure *structure, struct sn_cqa_loop *result,
			       const struct sn_cqa_path *path, FILE *out)
{
	struct sn_cqa_parts parts = sn_cqa_parts_of(machine, path, &result->arena);
	enum sn_bound bottleneck = path->estimate.bottleneck;
	struct sn_text assembly = { 0 }, units = { 0 }, latency = { 0 };
	int width = assembly_width(structure, result->loop, &path->block);

	fprintf(out,
		"\n  Cycles that each instruction adds to each bound; * to %s, the largest\n   ",
		sn_bound_names[bottleneck]);
	for (unsigned b = 0; b < SN_BOUND_COUNT; b++)
		fprintf(out, " %7.7s",
			b == SN_BOUND_FRONT_END ? "front"
			: b == SN_BOUND_LATENCY ? "chain"
						: sn_bound_names[b]);
	fprintf(out, "  %-*s  latency  units\n", width, "instruction");
	for (size_t i = 0; i < path->block.count; i++) {
		const struct sn_insn *insn = &path->block.insns[i];
		bool is_responsible = parts.cycles[bottleneck][i] >= 0.0005;

		add_assembly(structure, result->loop, insn, &assembly);
		add_units(machine, insn, &units);
		add_latency(insn, &latency);
		fprintf(out, "  %c", is_responsible ? '*' : ' ');
		for (unsigned b = 0; b < SN_BOUND_LATENCY; b++)
			print_part(parts.cycles[b][i], out);
		if (parts.is_on_chain[i])
			fprintf(out, " %7.2f", parts.chain_cycles[i]);
		else
			fprintf(out, " %7s", "");
		fprintf(out, "  %-*.*s  %7s  %s%s\n", width, width,
			assembly.length ? assembly.chars : "?", latency.chars,
			units.length ? units.chars : "-", insn->is_estimated ? " (estimated)" : "");
	}
	print_sums(&parts, out);
	print_rests(path, &parts, out);
	sn_text_free(&assembly);
	sn_text_free(&units);
	sn_text_free(&latency);
}

/* Beside the bounds: the part of the core that each is about. */
static void print_place(const struct sn_machine *machine, const struct sn_cqa_estimate *estimate,
			enum sn_bound bound, FILE *out)
{
	char units[256];

	if (bound == SN_BOUND_FRONT_END)
		fprintf(out, "  %s", sn_front_end_name(estimate->front_end));
	if (bound != SN_BOUND_PORTS || !estimate->busiest_units)
		return;
	if (estimate->ports_part == SN_PORTS_STORES)
		fputs("  stores on their way to the cache", out);
	else if (estimate->ports_part == SN_PORTS_ADDRESSES)
		fputs("  address units of loads and stores", out);
	else
		fprintf(out, "  %s", sn_units_print_short(machine, estimate->busiest_units, units));
}

static void print_union(const struct sn_cqa_loop *result, const struct sn_cqa_path *path, FILE *out)
{
	if (!path->is_expectation)
		fputs("\nAll blocks together, one after the other: this is no natural innermost "
		      "loop, so there are no paths to tell apart\n",
		      out);
	else
		fprintf(out,
			"\n%s%" PRIu64
			" paths, more than %d: one estimate of all blocks, each by the share of "
			"passes that runs it if branches go either way alike\n",
			result->path_total == SN_CQA_PATHS_COUNTED ? "At least " : "",
			result->path_total, SN_CQA_PATHS_MAX);
}

/* (chosen) From such a range on no single figure is told. */
#define WIDE_RANGE 0.3

static void print_weight(const struct sn_cqa_path *path, FILE *out)
{
	if (path->weight_high - path->weight_low > WIDE_RANGE)
		fprintf(out, ", in %.0f to %.0f %% of the passes: samples tell no closer",
			100 * path->weight_low, 100 * path->weight_high);
	else
		fprintf(out, ", in %.1f %% of the passes", 100 * path->weight);
	if (path->weight_high - path->weight_low > 0 &&
	    path->weight_high - path->weight_low <= WIDE_RANGE)
		fprintf(out, " (%.0f to %.0f)", 100 * path->weight_low, 100 * path->weight_high);
}

static void print_path(const struct sn_machine *machine, const struct sn_structure *structure,
		       struct sn_cqa_loop *result, uint32_t number, bool with_instructions,
		       FILE *out)
{
	const struct sn_cqa_path *path = &result->paths[number];

	if (result->is_union)
		print_union(result, path, out);
	else if (result->is_pruned)
		fprintf(out,
			"\nPath %u of the %u through blocks that samples fell in (of %" PRIu64
			" in all)",
			number + 1, result->path_count, result->path_total);
	else if (result->path_count > 1)
		fprintf(out, "\nPath %u of %u", number + 1, result->path_count);
	if (result->is_weighed)
		print_weight(path, out);
	fprintf(out, "%s\n  %.2f cycles a pass, limited by %s\n",
		result->is_union || result->path_count == 1 ? "" : "\n", path->estimate.cycles,
		sn_bound_names[path->estimate.bottleneck]);
	for (unsigned i = 0; i < SN_BOUND_COUNT; i++) {
		fprintf(out, "  %-10s %8.2f  ", sn_bound_names[i], path->estimate.bounds[i]);
		print_bar(out, path->estimate.bounds[i], path->estimate.cycles);
		print_place(machine, &path->estimate, i, out);
		fputc('\n', out);
	}
	if (with_instructions)
		print_instructions(machine, structure, result, path, out);
}

static const char *why_not_applicable(const struct sn_cqa_loop *result)
{
	const struct sn_cqa_metrics *m = &result->paths[result->main_path].metrics;

	if (m->x87 && m->fp_scalar)
		return "the x87 unit has no vectors";
	if (!m->fp_scalar && !m->fp_packed)
		return "no FP arithmetic";
	return result->lacked_extensions ? "the machine lacks its instructions"
					 : "its arithmetic has no wider vectors here";
}

static void print_variants(const struct sn_cqa_loop *result, double share, FILE *out)
{
	static const char *const titles[SN_VARIANT_COUNT] = {
		"clean (FP work only)", "FP arithmetic vectorized", "fully vectorized",
		"without the dependence", "without the first bottleneck"
	};

	const struct sn_cqa_path *main = &result->paths[result->main_path];

	fputs("\nWhat if\n", out);
	for (unsigned i = 0; i < SN_VARIANT_COUNT; i++) {
		const struct sn_cqa_variant *variant = &result->variants[i];

		if (!variant->is_applicable) {
			fprintf(out, "  %-30s not applicable: %s\n", titles[i],
				why_not_applicable(result));
			continue;
		}
		fprintf(out, "  %-30s %8.2f cycles  %.2fx", titles[i], variant->cycles,
			variant->speedup);
		if (share > 0)
			fprintf(out, ", the program %.2fx", sn_amdahl(share, variant->speedup));
		if (variant->ram_speedup < LESS_FROM_RAM * variant->speedup)
			fprintf(out, " (%.2fx if data come from RAM)", variant->ram_speedup);
		fputc('\n', out);
	}
	if (main->widening < main->widening_of_machine)
		fprintf(out,
			"  less certain: vectors of %u elements only, as it makes no more passes "
			"if its counter begins at 0\n",
			main->widening);
}

static void print_metrics(const struct sn_cqa_loop *result, FILE *out)
{
	const struct sn_cqa_path *path = &result->paths[result->main_path];
	const struct sn_cqa_metrics *m = &path->metrics;

	fprintf(out,
		"\nMetrics\n  instructions %u, FLOP %.0f (add/sub %.0f, mul %.0f, FMA %.0f, div "
		"%.0f, sqrt %.0f), IPC %.2f\n",
		m->instructions, m->flops, m->flops_add_sub, m->flops_mul, m->flops_fma,
		m->flops_div, m->flops_sqrt, m->instructions / path->estimate.cycles);
	if (!isnan(m->vectorization[SN_DATA_BOTH][SN_CLASS_ALL].ratio))
		fprintf(out, "  vectorized %.0f %%, vector efficiency %.0f %%\n",
			100 * m->vectorization[SN_DATA_BOTH][SN_CLASS_ALL].ratio,
			100 * m->vectorization[SN_DATA_BOTH][SN_CLASS_ALL].efficiency);
	fprintf(out,
		"  memory: %.0f bytes loaded, %.0f stored, %.0f on the stack; strides: %u zero, %u "
		"unit, %u other, %u unknown, %u indirect\n",
		m->bytes_loaded, m->bytes_stored, m->stack_bytes, m->strides[SN_STRIDE_ZERO],
		m->strides[SN_STRIDE_UNIT], m->strides[SN_STRIDE_N], m->strides[SN_STRIDE_UNKNOWN],
		m->strides[SN_STRIDE_INDIRECT]);
	fprintf(out, "  cycles if data come from L1 %.2f, L2 %.2f, L3 %.2f, RAM %.2f\n",
		result->level_cycles[SN_LEVEL_L1], result->level_cycles[SN_LEVEL_L2],
		result->level_cycles[SN_LEVEL_L3], result->level_cycles[SN_LEVEL_RAM]);
}

static void print_memory_profile(const struct sn_machine *machine, FILE *out)
{
	struct sn_text text = { 0 };

	sn_memory_profile_describe(machine->name, &text);
	fprintf(out, "  memory levels: %s\n", text.chars);
	sn_text_free(&text);
}

static void print_missing(const struct sn_cqa_loop *result, FILE *out)
{
	unsigned missing = sn_cqa_missing_options(result);
	const char *before = "  compiled without";

	for (unsigned i = 0; i < SN_MISSING_COUNT; i++)
		if (missing & 1U << i) {
			fprintf(out, "%s %s", before, sn_missing_option_words[i]);
			before = ",";
		}
	if (missing)
		fputc('\n', out);
}

static void find_advice(const struct sn_machine *machine, struct sn_cqa_loop *result,
			const struct sn_cqa_page *how, sn_advice_list *out)
{
	if (!how->advice)
		sn_cqa_advise(machine, result, out);
	for (size_t i = 0; how->advice && i < how->advice->count; i++)
		sn_vec_push(out, how->advice->items[i]);
}

const char *sn_speedup_print(double low, double high, char text[SN_SPEEDUP_TEXT])
{
	char words[2][SN_SPEEDUP_TEXT / 2 - 4];

	snprintf(words[0], sizeof(words[0]), "%.2f", low);
	snprintf(words[1], sizeof(words[1]), "%.2f", high);
	if (strcmp(words[0], words[1]) == 0)
		snprintf(text, SN_SPEEDUP_TEXT, "%sx", words[1]);
	else
		snprintf(text, SN_SPEEDUP_TEXT, "%s to %sx", words[0], words[1]);
	return text;
}

static void print_gain(const struct sn_advice *advice, double share, FILE *out)
{
	char text[SN_SPEEDUP_TEXT];

	if (isnan(advice->speedup))
		return;
	fprintf(out, "; expected %s for this loop",
		sn_speedup_print(advice->sure_speedup, sn_advice_most(advice), text));
	if (share > 0)
		fprintf(out, ", %s for the program",
			sn_speedup_print(sn_amdahl(share, advice->sure_speedup),
					 sn_amdahl(share, sn_advice_most(advice)), text));
}

static void print_advice(const struct sn_machine *machine, struct sn_cqa_loop *result,
			 const struct sn_cqa_page *how, FILE *out)
{
	sn_advice_list list = { 0 };

	find_advice(machine, result, how, &list);
	fputs(list.count ? "\nAdvice\n" : "\nAdvice\n  none: nothing in the code stands out\n",
	      out);
	for (size_t i = 0; i < list.count; i++) {
		fprintf(out, "  [%s] %s\n      because: %s",
			sn_confidence_name(list.items[i].confidence), list.items[i].sentence,
			list.items[i].evidence);
		print_gain(&list.items[i], how->share, out);
		fputc('\n', out);
	}
	sn_vec_free(&list);
}

static void print_head(const struct sn_machine *machine, const struct sn_loop *loop, FILE *out)
{
	struct sn_text name = { 0 };

	sn_text_add_printable(&name, loop->function->name, strlen(loop->function->name));
	fprintf(out, "Loop %s in %s, for %s\n  %s, %s%s", loop->label, name.chars, machine->title,
		loop->id, sn_loop_role_name((enum sn_loop_role)loop->role),
		loop->unroll > 1 ? "" : "\n");
	if (loop->unroll > 1)
		fprintf(out, ", %u source iterations a pass\n", loop->unroll);
	sn_text_free(&name);
}

static void print_lacked(const struct sn_machine *machine, const struct sn_cqa_loop *result,
			 FILE *out)
{
	struct sn_text names = { 0 };

	if (!result->lacked_extensions)
		return;
	sn_cqa_lacked_names(result->lacked_extensions, &names);
	fprintf(out,
		"  less certain: this code needs %s, which %s lacks: figures are of the nearest "
		"instructions it has\n",
		names.chars, machine->title);
	sn_text_free(&names);
}

void sn_cqa_page_text(const struct sn_machine *machine, const struct sn_structure *structure,
		      struct sn_cqa_loop *result, const struct sn_cqa_page *how, FILE *out)
{
	if (!how->without_head)
		print_head(machine, result->loop, out);
	if (result->not_analysed) {
		fprintf(out, "  not analysed: %s\n", result->not_analysed);
		return;
	}
	print_lacked(machine, result, out);
	if (result->estimated_instructions)
		fprintf(out, "  less certain: the machine's table lacks %zu instruction%s\n",
			result->estimated_instructions,
			result->estimated_instructions == 1 ? "" : "s");
	if (result->undecoded_bytes)
		fprintf(out, "  less certain: %zu bytes do not decode\n", result->undecoded_bytes);
	if (result->has_calls)
		fputs("  less certain: it calls functions, whose time is in none of the figures\n",
		      out);
	for (uint32_t i = 0; i < result->path_count; i++)
		print_path(machine, structure, result, i,
			   !how->without_head || i == result->main_path, out);
	if (result->path_count > 1)
		fprintf(out, "\n%.2f cycles a pass over all paths%s; passes overlap\n",
			result->cycles,
			result->is_weighed		   ? ""
			: sn_cqa_weights_are_alike(result) ? ", each as often as the others"
							   : ", those through cold code or calls "
							     "taken to be rarer");
	print_variants(result, how->share, out);
	print_metrics(result, out);
	print_memory_profile(machine, out);
	print_missing(result, out);
	if (!how->without_advice)
		print_advice(machine, result, how, out);
}

static double rounded(double cycles)
{
	return round(cycles * 1e6) / 1e6;
}

/* "bounds" of an instruction: its parts of the path's. */
static void json_parts(const struct sn_cqa_parts *parts, size_t insn, struct sn_json *json)
{
	sn_json_key(json, "bounds");
	sn_json_object(json);
	for (unsigned b = 0; b < SN_BOUND_COUNT; b++)
		sn_json_member_double(json, sn_bound_names[b], rounded(parts->cycles[b][insn]));
	sn_json_close(json);
}

static void json_path(const struct sn_machine *machine, const struct sn_structure *structure,
		      struct sn_cqa_loop *result, const struct sn_cqa_path *path,
		      struct sn_json *json)
{
	struct sn_cqa_parts parts = sn_cqa_parts_of(machine, path, &result->arena);
	struct sn_text assembly = { 0 };
	struct sn_cqa_block charged;
	double busy[SN_UNITS_MAX];
	char names[256];

	sn_json_object(json);
	sn_json_member_double(json, "passes_share", path->weight);
	if (result->is_weighed) {
		sn_json_member_double(json, "passes_share_low", path->weight_low);
		sn_json_member_double(json, "passes_share_high", path->weight_high);
	}
	sn_json_member_double(json, "l1_cycles", path->estimate.cycles);
	sn_json_member_double(json, "l2_cycles", path->level_cycles[SN_LEVEL_L2]);
	sn_json_member_double(json, "l3_cycles", path->level_cycles[SN_LEVEL_L3]);
	sn_json_member_double(json, "ram_cycles", path->level_cycles[SN_LEVEL_RAM]);
	sn_json_member_string(json, "bottleneck", sn_bound_names[path->estimate.bottleneck]);
	sn_json_key(json, "bounds");
	sn_json_object(json);
	for (unsigned i = 0; i < SN_BOUND_COUNT; i++)
		sn_json_member_double(json, sn_bound_names[i], path->estimate.bounds[i]);
	sn_json_close(json);
	sn_json_member_string(json, "busiest_units",
			      sn_units_print(machine, path->estimate.busiest_units, names));
	sn_json_member_string(json, "front_end_part", sn_front_end_name(path->estimate.front_end));
	sn_json_member_uint(json, "chain_passes", parts.chain_passes);
	charged = sn_cqa_charged(machine, &path->block, &result->arena);
	sn_ports_distribute(machine, &charged, busy);
	sn_json_key(json, "units_cycles");
	sn_json_object(json);
	for (unsigned i = 0; i < machine->unit_count; i++)
		sn_json_member_double(json, machine->unit_names[i], round(busy[i] * 1000) / 1000);
	sn_json_close(json);
	sn_json_key(json, "instructions");
	sn_json_array(json);
	for (size_t i = 0; i < path->block.count; i++) {
		const struct sn_insn *insn = &path->block.insns[i];

		add_assembly(structure, result->loop, insn, &assembly);
		sn_json_object(json);
		sn_json_member_string(json, "text", assembly.length ? assembly.chars : NULL);
		sn_json_member_double(json, "latency_cycles",
				      (double)(insn->latency + insn->load_latency));
		sn_json_member_bool(json, "on_chain", parts.is_on_chain[i]);
		sn_json_member_double(json, "chain_cycles", rounded(parts.chain_cycles[i]));
		json_parts(&parts, i, json);
		sn_json_member_bool(json, "is_estimated", insn->is_estimated);
		sn_json_key(json, "units");
		sn_json_array(json);
		for (unsigned k = 0; k < insn->set_count; k++) {
			sn_json_object(json);
			sn_json_member_string(json, "any_of",
					      sn_units_print(machine, insn->sets[k].units, names));
			sn_json_member_double(json, "count",
					      round((double)insn->sets[k].count * 1000) / 1000);
			sn_json_close(json);
		}
		sn_json_close(json);
		sn_json_close(json);
	}
	sn_json_close(json);
	sn_json_close(json);
	sn_text_free(&assembly);
}

static void json_missing(const struct sn_cqa_loop *result, struct sn_json *json)
{
	unsigned missing = sn_cqa_missing_options(result);

	sn_json_key(json, "missing_options");
	sn_json_array(json);
	for (unsigned i = 0; i < SN_MISSING_COUNT; i++)
		if (missing & 1U << i)
			sn_json_string(json, sn_missing_option_words[i]);
	sn_json_close(json);
}

static void json_lacked(const struct sn_cqa_loop *result, struct sn_json *json)
{
	struct sn_text names = { 0 };

	sn_cqa_lacked_names(result->lacked_extensions, &names);
	sn_json_member_string(json, "lacked_extensions", names.length ? names.chars : NULL);
	sn_text_free(&names);
}

static void json_figures(const struct sn_cqa_loop *result, double share, struct sn_json *json)
{
	sn_json_member_string(json, "not_analysed", result->not_analysed);
	if (result->not_analysed)
		return;
	sn_json_member_double(json, "l1_cycles", result->cycles);
	sn_json_member_double(json, "l2_cycles", result->level_cycles[SN_LEVEL_L2]);
	sn_json_member_double(json, "l3_cycles", result->level_cycles[SN_LEVEL_L3]);
	sn_json_member_double(json, "ram_cycles", result->level_cycles[SN_LEVEL_RAM]);
	sn_json_member_string(json, "bottleneck", sn_bound_names[result->bottleneck]);
	sn_json_member_bool(json, "is_weighed", result->is_weighed);
	sn_json_key(json, "path_count");
	if (result->path_total)
		sn_json_uint(json, result->path_total);
	else
		sn_json_null(json);
	sn_json_member_bool(json, "is_union", result->is_union);
	sn_json_member_bool(json, "is_pruned", result->is_pruned);
	sn_json_member_uint(json, "estimated_instructions", result->estimated_instructions);
	json_missing(result, json);
	json_lacked(result, json);
	sn_json_key(json, "variants");
	sn_json_array(json);
	for (unsigned i = 0; i < SN_VARIANT_COUNT; i++) {
		const struct sn_cqa_variant *variant = &result->variants[i];

		if (!variant->is_applicable)
			continue;
		sn_json_object(json);
		sn_json_member_string(json, "variant", sn_variant_names[i]);
		sn_json_member_double(json, "cycles", variant->cycles);
		sn_json_member_double(json, "speedup", variant->speedup);
		sn_json_member_double(json, "ram_speedup", variant->ram_speedup);
		if (share > 0)
			sn_json_member_double(json, "program_speedup",
					      sn_amdahl(share, variant->speedup));
		sn_json_close(json);
	}
	sn_json_close(json);
}

static void json_gain(const struct sn_advice *advice, double share, struct sn_json *json)
{
	bool is_known = !isnan(advice->speedup);

	sn_json_member_double(json, "speedup", advice->speedup);
	sn_json_member_double(json, "sure_speedup", advice->sure_speedup);
	sn_json_member_double(json, "most_speedup", sn_advice_most(advice));
	if (share <= 0)
		return;
	sn_json_member_double(json, "program_speedup",
			      is_known ? sn_amdahl(share, advice->speedup) : (double)NAN);
	sn_json_member_double(json, "sure_program_speedup",
			      is_known ? sn_amdahl(share, advice->sure_speedup) : (double)NAN);
}

static void json_advice(const struct sn_machine *machine, struct sn_cqa_loop *result,
			const struct sn_cqa_page *how, struct sn_json *json)
{
	sn_advice_list list = { 0 };

	find_advice(machine, result, how, &list);
	sn_json_key(json, "advice");
	sn_json_array(json);
	for (size_t i = 0; i < list.count; i++) {
		sn_json_object(json);
		sn_json_member_string(json, "confidence",
				      sn_confidence_name(list.items[i].confidence));
		sn_json_member_string(json, "subject", list.items[i].subject);
		sn_json_member_string(json, "sentence", list.items[i].sentence);
		sn_json_member_string(json, "evidence", list.items[i].evidence);
		json_gain(&list.items[i], how->share, json);
		sn_json_close(json);
	}
	sn_json_close(json);
	sn_vec_free(&list);
}

void sn_cqa_json_memory_profile(const struct sn_machine *machine, struct sn_json *json)
{
	struct sn_memory_profile profile;
	char *path = sn_memory_profile_path();

	sn_json_key(json, "memory_profile");
	if (sn_memory_profile_of(machine->name, &profile)) {
		sn_json_object(json);
		sn_json_member_string(json, "path", path);
		sn_json_member_string(json, "machine", profile.machine);
		sn_json_member_string(json, "date", profile.date[0] ? profile.date : NULL);
		sn_json_close(json);
	} else {
		sn_json_null(json);
	}
	free(path);
}

void sn_cqa_page_json(const struct sn_machine *machine, const struct sn_structure *structure,
		      struct sn_cqa_loop *result, const struct sn_cqa_page *how,
		      struct sn_json *json)
{
	json_figures(result, how->share, json);
	sn_json_key(json, "paths");
	sn_json_array(json);
	for (uint32_t i = 0; i < result->path_count && !result->not_analysed; i++)
		json_path(machine, structure, result, &result->paths[i], json);
	sn_json_close(json);
	json_advice(machine, result, how, json);
}
