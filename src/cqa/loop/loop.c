/*
 * A loop from its blocks to its figures: its paths are decoded and estimated one by one, with
 * variants and metrics, then put together.
 */
#include "cqa/loop/loop.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "code/decode.h"
#include "code/options.h"
#include "cqa/block/effects.h"
#include "cqa/block/extensions.h"
#include "cqa/loop/levels.h"
#include "cqa/loop/loop_parts.h"

enum { INSTRUCTIONS_MAX = 20000 };

static void scale_insn(struct sn_insn *insn, float times)
{
	for (unsigned k = 0; k < insn->set_count; k++)
		insn->sets[k].count *= times;
	insn->divider_cycles *= times;
	insn->fused_uops *= times;
	insn->issued_uops *= times;
	insn->latency *= times;
	insn->load_latency *= times;
}

/* All blocks as one body, each with the share of passes that run it. */
static void scale_union(const struct loop_body *body, struct sn_cqa_path *path)
{
	const struct sn_function *function = body->loop->function;
	uint64_t origin_link_addr = body->loop->ranges[0].first_link_addr & ~63ULL;
	double *frequency = sn_alloc_zeroed(body->block_count, sizeof(double));

	path->is_expectation = true;
	path->taken_jumps = sn_loop_body_frequencies(body, frequency);
	for (size_t i = 0; i < path->block.count; i++) {
		struct sn_insn *insn = &path->block.insns[i];
		const struct sn_block *block =
			sn_function_block_at(function, origin_link_addr + insn->offset);
		uint32_t place =
			block ? sn_loop_body_place(body, (uint32_t)(block - function->blocks))
			      : UINT32_MAX;

		if (place != UINT32_MAX)
			scale_insn(insn, (float)frequency[place]);
	}
	free(frequency);
}

/* The instructions of a block of the function, which paths share. Names of x87 registers depend on
 * how the stack stood before. */
struct run {
	size_t first, count; /* of struct decoding's `decoded` */
	size_t undecoded_bytes;
	struct sn_x87_stack before, after;
	bool is_decoded, is_cut, has_calls;
};

struct decoding {
	const struct sn_machine *machine;
	const struct sn_structure *structure;
	const struct loop_body *body;
	uint64_t origin_link_addr; /* offsets count from here, so that alignment is kept */
	struct run *runs;	   /* [body->block_count] */
	SN_VEC(struct sn_insn) decoded;
	SN_VEC(struct sn_insn) insns; /* of the path */
	struct sn_x87_stack x87;
	size_t undecoded;
	bool has_calls, calls_many, has_root;
	bool is_cut; /* there are more instructions than are looked at */
	unsigned lacked;
	const char *callee;
};

/* Of a call to an address. One that is not linked yet goes to the instruction behind it or to none,
 * or by way of the table of addresses. */
static void note_callee(struct decoding *d, struct sn_insn *call,
			const ZydisDecodedOperand *operand, uint64_t next_link_addr)
{
	const struct sn_function *function;

	call->may_call_root = operand->type == ZYDIS_OPERAND_TYPE_IMMEDIATE ||
			      (operand->type == ZYDIS_OPERAND_TYPE_MEMORY &&
			       operand->mem.base == ZYDIS_REGISTER_RIP);
	if (operand->type != ZYDIS_OPERAND_TYPE_IMMEDIATE || !operand->imm.value.s)
		return;
	function = sn_structure_function_at(d->structure,
					    next_link_addr + (uint64_t)operand->imm.value.s);
	if (!function)
		return;
	d->calls_many |= d->callee && strcmp(d->callee, function->name) != 0;
	d->callee = function->name;
	call->may_call_root = sn_cqa_is_root(function->name);
}

static void decode_run(struct decoding *d, const struct sn_block *block, struct run *run)
{
	size_t available, at = 0;
	const uint8_t *bytes = sn_structure_bytes(d->structure, block->link_addr, &available);

	*run = (struct run){ .first = d->decoded.count, .before = d->x87, .is_decoded = true };
	run->after = d->x87;
	if (available > block->size_bytes)
		available = block->size_bytes;
	while (bytes && at < available && run->count < INSTRUCTIONS_MAX) {
		ZydisDecodedInstruction decoded;
		ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
		struct sn_insn insn;

		if (!ZYAN_SUCCESS(ZydisDecoderDecodeFull(sn_decoder(), bytes + at, available - at,
							 &decoded, operands))) {
			run->undecoded_bytes = available - at;
			return;
		}
		sn_insn_fill(d->machine, &decoded, operands, &run->after, &insn);
		insn.offset = (uint32_t)(block->link_addr + at - d->origin_link_addr);
		run->has_calls |= insn.is_call;
		d->has_root |= insn.fp_kind == SN_FP_SQRT;
		d->lacked |= sn_cqa_lacked_by(d->machine, &decoded);
		if (insn.is_call)
			note_callee(d, &insn, &operands[0], block->link_addr + at + decoded.length);
		sn_vec_push(&d->decoded, insn);
		run->count++;
		at += decoded.length;
	}
	run->is_cut = bytes && at < available;
}

static void add_block(struct decoding *d, uint32_t number)
{
	uint32_t place = sn_loop_body_place(d->body, number);
	struct run apart = { 0 }, *run = place < d->body->block_count ? &d->runs[place] : &apart;
	size_t room = INSTRUCTIONS_MAX - d->insns.count, count;

	if (!run->is_decoded || memcmp(&run->before, &d->x87, sizeof(d->x87)) != 0)
		decode_run(d, &d->body->loop->function->blocks[number], run);
	d->is_cut |= run->is_cut || run->count > room;
	count = run->count < room ? run->count : room;
	for (size_t i = 0; i < count; i++)
		sn_vec_push(&d->insns, d->decoded.items[run->first + i]);
	d->x87 = run->after;
	d->undecoded += run->undecoded_bytes;
	d->has_calls |= run->has_calls;
}

static struct sn_cqa_block decode_path(struct decoding *d, const uint32_t *blocks, size_t count,
				       struct sn_arena *arena)
{
	struct sn_cqa_block out = { 0 };

	d->insns.count = 0;
	for (uint8_t i = 0; i < 8; i++)
		d->x87.at[i] = i;
	for (size_t i = 0; i < count; i++)
		add_block(d, blocks[i]);
	out.count = d->insns.count;
	out.insns = sn_arena_array(arena, struct sn_insn, out.count + 1);
	if (out.count)
		memcpy(out.insns, d->insns.items, out.count * sizeof(struct sn_insn));
	out.x87_end = d->x87;
	for (size_t i = 0; i < out.count; i++)
		if (out.insns[i].offset + out.insns[i].length > out.bytes)
			out.bytes = out.insns[i].offset + out.insns[i].length;
	sn_cqa_block_finish(d->machine, &out, arena);
	return out;
}

/* Recurrences beside the longest dependence, and integers on any. */
static void find_recurrences(const struct sn_machine *machine, struct sn_cqa_path *path,
			     struct sn_arena *arena)
{
	bool *members = sn_arena_array(arena, bool, path->block.count + 1), any = false;
	double cycles;

	if (!path->metrics.fp_scalar && !path->metrics.fp_packed)
		return;
	cycles = sn_cqa_recurrence_cycles(machine, &path->block, &path->chain, arena, members);
	if (!path->chain_is_recurrence && !path->chain_is_through_memory)
		path->recurrence_cycles = cycles;
	for (size_t i = 0; i < path->block.count; i++)
		any |= members[i];
	path->on_integer_recurrence = any ? members : NULL;
}

/* The dependence runs through FP arithmetic in a register, or through memory. */
static void classify_chain(const struct sn_machine *machine, struct sn_cqa_path *path,
			   struct sn_arena *arena)
{
	const struct sn_chain *chain = &path->chain;

	if (path->estimate.bounds[SN_BOUND_LATENCY] <= SN_CHAIN_NOTICED)
		return;
	path->chain = sn_chain_of(machine, &path->block, arena);
	path->chain_is_through_memory =
		chain->through_memory || sn_cqa_chain_is_stored(&path->block, chain);
	path->register_chain_cycles = chain->through_memory ? 0 : chain->cycles;
	for (size_t i = 0; chain->through_memory && i < path->block.count; i++)
		path->register_chain_cycles +=
			chain->is_member[i] ? (double)path->block.insns[i].latency : 0;
	if (path->chain_is_through_memory) {
		find_recurrences(machine, path, arena);
		return;
	}
	path->chain_is_leftover = sn_cqa_chain_is_leftover(&path->block, chain);
	path->chain_is_recurrence = sn_cqa_chain_is_recurrence(&path->block, chain);
	path->chain_is_reduction =
		!path->chain_is_recurrence && sn_cqa_chain_is_reduction(&path->block, chain);
	find_recurrences(machine, path, arena);
}

/* A sum that another path begins anew is no sum. */
static void find_resets(struct sn_cqa_loop *out)
{
	for (uint32_t i = 0; i < out->path_count; i++) {
		struct sn_cqa_path *path = &out->paths[i];

		if (!path->chain_is_reduction)
			continue;
		for (uint32_t k = 0; k < out->path_count && path->chain_is_reduction; k++)
			path->chain_is_reduction =
				k == i || sn_cqa_chain_survives(&path->block, &path->chain,
								&out->paths[k].block);
		path->chain_is_recurrence = path->chain_is_reset = !path->chain_is_reduction;
	}
}

static void analyse_path(const struct sn_machine *machine, const struct sn_bandwidths *bandwidths,
			 struct sn_cqa_path *path, struct sn_arena *arena)
{
	struct sn_streams streams;

	if (path->is_expectation)
		sn_cqa_estimate_apart(machine, &path->block, path->taken_jumps, arena,
				      &path->estimate);
	else
		sn_cqa_estimate(machine, &path->block, false, arena, &path->estimate);
	streams = sn_streams_of(&path->block, arena);
	sn_cqa_metrics_of(machine, &path->block, &streams, arena, &path->metrics);
	sn_cqa_add_past_caches(machine, bandwidths, path);
	classify_chain(machine, path, arena);
	sn_cqa_variants(machine, path, arena);
	sn_cqa_levels_estimate(machine, bandwidths, &streams, path, arena);
}

/* What a pass from RAM takes whatever the variant: how many more misses its code would have on their
 * way is not known. */
static double ram_kept_cycles(const struct sn_cqa_path *path)
{
	return fmax(path->moved_cycles[SN_LEVEL_RAM], path->window_ram_cycles);
}

static void sum_variant(struct sn_cqa_loop *out, const struct sn_cqa_path *path, unsigned k,
			double mix, double ram_cycles[SN_VARIANT_COUNT])
{
	const struct sn_cqa_variant *variant = &path->variants[k];
	double cycles = mix * (variant->is_applicable ? variant->cycles : path->estimate.cycles);

	out->variants[k].is_applicable |= variant->is_applicable;
	out->variants[k].cycles += cycles * path->weight;
	ram_cycles[k] += fmax(cycles, ram_kept_cycles(path)) * path->weight;
}

static void widen_range(double *least, double *most, double value, bool is_first)
{
	*least = is_first || value < *least ? value : *least;
	*most = is_first || value > *most ? value : *most;
}

static void find_main_path(struct sn_cqa_loop *out)
{
	double most = -1;

	for (uint32_t i = 0; i < out->path_count; i++) {
		const struct sn_cqa_path *path = &out->paths[i];
		double cycles = path->estimate.cycles;
		double time = cycles * path->weight;

		if (time > most) {
			most = time;
			out->main_path = i;
		}
		if (!i || cycles < out->cycles_min)
			out->cycles_min = cycles;
		if (!i || cycles > out->cycles_max)
			out->cycles_max = cycles;
		for (unsigned k = 0; k < SN_LEVEL_COUNT; k++)
			widen_range(&out->level_least[k], &out->level_most[k],
				    path->level_cycles[k], !i);
		for (unsigned k = 0; k < SN_BOUND_COUNT; k++)
			widen_range(&out->bound_least[k], &out->bound_most[k],
				    path->estimate.bounds[k], !i);
	}
	out->bottleneck = out->paths[out->main_path].estimate.bottleneck;
}

/* Vectors cannot branch: every pass does the work of all paths, and a mask chooses. */
static void take_merged(struct sn_cqa_loop *out, double ram_cycles[SN_VARIANT_COUNT])
{
	double resets = 0;

	for (uint32_t i = 0; i < out->path_count; i++)
		if (out->paths[i].chain_is_reset)
			resets += out->paths[i].weight * out->paths[i].estimate.chain_cycles;
	for (unsigned k = SN_VARIANT_FP_VECTOR; k <= SN_VARIANT_FULL_VECTOR; k++) {
		const struct sn_cqa_variant *variant = &out->merged->variants[k];

		if (!variant->is_applicable || !out->variants[k].is_applicable)
			continue;
		out->variants[k].cycles = fmin(out->cycles, fmax(variant->cycles, resets));
		ram_cycles[k] = fmax(out->variants[k].cycles, ram_kept_cycles(out->merged));
	}
}

/* What the core itself takes is less (or more) where passes of several paths follow each other;
 * what a memory level takes is not. */
static double mixed_level_cycles(const struct sn_cqa_path *path, unsigned level, double mix)
{
	double l1 = path->level_cycles[SN_LEVEL_L1], cycles = path->level_cycles[level];

	return cycles > l1 ? fmax(cycles, l1 * mix) : l1 * mix;
}

/* Time adds up over paths, so cycles are averaged and speed-ups follow from the sums. */
void sn_cqa_loop_sum(struct sn_cqa_loop *out)
{
	double ram_cycles[SN_VARIANT_COUNT] = { 0 };
	double mix = sn_cqa_mix_factor(out);

	out->cycles = 0;
	memset(out->level_cycles, 0, sizeof(out->level_cycles));
	memset(out->variants, 0, sizeof(out->variants));
	out->ram_kept_cycles = 0;
	out->estimated_instructions = 0;
	for (uint32_t i = 0; i < out->path_count; i++) {
		const struct sn_cqa_path *path = &out->paths[i];

		out->cycles += mix * path->estimate.cycles * path->weight;
		for (unsigned k = 0; k < SN_LEVEL_COUNT; k++)
			out->level_cycles[k] += mixed_level_cycles(path, k, mix) * path->weight;
		for (unsigned k = 0; k < SN_VARIANT_COUNT; k++)
			sum_variant(out, path, k, mix, ram_cycles);
		out->ram_kept_cycles += ram_kept_cycles(path) * path->weight;
		out->estimated_instructions += path->estimate.estimated_instructions;
	}
	if (out->merged)
		take_merged(out, ram_cycles);
	for (unsigned k = 0; k < SN_VARIANT_COUNT; k++) {
		struct sn_cqa_variant *variant = &out->variants[k];
		bool is_known = variant->is_applicable && variant->cycles > 0;

		variant->speedup = is_known ? out->cycles / variant->cycles : NAN;
		/* paths that wait for RAM weigh more there: their gain is none that L1 confirms */
		variant->ram_speedup =
			is_known ? fmin(fmax(1, variant->speedup),
					fmax(1, out->level_cycles[SN_LEVEL_RAM] / ram_cycles[k]))
				 : NAN;
	}
	find_main_path(out);
}

double sn_cqa_sure_speedup(const struct sn_cqa_loop *loop, double speedup)
{
	double ram = loop->level_cycles[SN_LEVEL_RAM];

	if (isnan(speedup) || !(loop->cycles > 0))
		return speedup;
	return fmin(speedup, fmax(1, ram / fmax(loop->cycles / speedup, loop->ram_kept_cycles)));
}

static bool has_fp_work(const struct sn_cqa_loop *result)
{
	for (uint32_t i = 0; i < result->path_count; i++)
		if (result->paths[i].metrics.fp_scalar || result->paths[i].metrics.fp_packed)
			return true;
	return false;
}

/* Why a body has no figures; NULL: it may have. */
static const char *body_fault(const struct loop_body *body)
{
	if (body->loop->depth == SN_LOOP_DEPTH_MAX)
		return "nested 128 deep, and loops in it are not told apart from it";
	if (body->header == UINT32_MAX || !body->block_count)
		return "its code could not be decoded";
	return body->block_count > LOOP_BLOCKS_MAX ? "more than 4096 blocks" : NULL;
}

void sn_cqa_loop_analyse(const struct sn_machine *machine, const struct sn_structure *structure,
			 const struct sn_loop *loop, const struct sn_bandwidths *bandwidths,
			 const struct sn_heat *heat, size_t heat_count, struct sn_cqa_loop *out)
{
	struct loop_body body;
	struct loop_paths paths;
	uint32_t start = 0;
	struct decoding decoding = { .machine = machine,
				     .structure = structure,
				     .body = &body,
				     .origin_link_addr = loop->ranges[0].first_link_addr & ~63ULL };

	memset(out, 0, sizeof(*out));
	out->loop = loop;
	out->machine = machine;
	out->options = sn_function_options(structure, loop->function);
	out->takes_c_options =
		sn_takes_c_options(loop->function->unit ? loop->function->unit->producer : NULL);
	sn_loop_body_find(loop, &body);
	out->not_analysed = body_fault(&body);
	if (out->not_analysed)
		return;
	sn_loop_paths_find(&body, heat, heat_count, &paths);
	out->path_total = paths.total;
	out->is_pruned = paths.is_pruned;
	out->is_union = !paths.count || paths.overflows;
	out->path_count = out->is_union ? 1 : paths.count;
	out->paths = sn_arena_array(&out->arena, struct sn_cqa_path, out->path_count);
	decoding.runs = sn_alloc_zeroed(body.block_count, sizeof(*decoding.runs));
	for (uint32_t i = 0; i < out->path_count && !decoding.is_cut; i++) {
		struct sn_cqa_path *path = &out->paths[i];

		if (out->is_union)
			path->block =
				decode_path(&decoding, body.blocks, body.block_count, &out->arena);
		else
			path->block = decode_path(&decoding, paths.blocks.items + start,
						  paths.ends[i] - start, &out->arena);
		if (out->is_union && paths.has_any)
			scale_union(&body, path);
		start = out->is_union ? 0 : paths.ends[i];
		if (path->block.count && !decoding.is_cut)
			analyse_path(machine, bandwidths, path, &out->arena);
	}
	if (!decoding.is_cut) {
		sn_cqa_find_errno_paths(out);
		sn_cqa_guess_weights(out);
	}
	if (out->path_count > 1 && !decoding.is_cut && has_fp_work(out)) {
		out->merged = sn_arena_array(&out->arena, struct sn_cqa_path, 1);
		if (sn_cqa_merge(out, &out->arena, &out->merged->block))
			analyse_path(machine, bandwidths, out->merged, &out->arena);
		else
			out->merged = NULL;
		find_resets(out);
	}
	out->has_calls = decoding.has_calls;
	out->calls_many = decoding.calls_many;
	out->has_root = decoding.has_root;
	out->lacked_extensions = decoding.lacked;
	out->callee = decoding.calls_many ? NULL : decoding.callee;
	out->undecoded_bytes = decoding.undecoded;
	if (decoding.is_cut)
		out->not_analysed = "more than 20000 instructions";
	else if (!out->paths[0].block.count)
		out->not_analysed = "its code could not be decoded";
	else
		sn_cqa_loop_sum(out);
	sn_vec_free(&paths.blocks);
	sn_vec_free(&decoding.insns);
	sn_vec_free(&decoding.decoded);
	free(decoding.runs);
}

/* How many bytes of the function lie from an address on. */
static size_t bytes_left(const struct sn_function *function, uint64_t link_addr)
{
	for (uint32_t i = 0; i < function->range_count; i++)
		if (link_addr >= function->ranges[i].first_link_addr &&
		    link_addr < function->ranges[i].end_link_addr)
			return function->ranges[i].end_link_addr - link_addr;
	return 0;
}

static bool goes_into_unknown(const struct sn_structure *structure,
			      const struct sn_function *function, uint32_t number)
{
	const struct sn_block *block = &function->blocks[number];
	uint64_t end_link_addr = block->link_addr + block->size_bytes;
	size_t available, at = 0, left;
	const uint8_t *bytes;
	struct sn_instruction insn = { 0 };

	if (block->flags & (SN_BLOCK_SPECULATIVE | SN_BLOCK_NO_RETURN))
		return false;
	/* most often the next block has been decoded there */
	if (number + 1 < function->block_count && block[1].link_addr == end_link_addr &&
	    block[1].size_bytes)
		return false;
	left = bytes_left(function, end_link_addr);
	bytes = sn_structure_bytes(structure, block->link_addr, &available);
	if (!bytes || !left || available < block->size_bytes + left ||
	    sn_instruction_decode(bytes + block->size_bytes, left, end_link_addr, &insn))
		return false;
	while (at < block->size_bytes) {
		if (!sn_instruction_decode(bytes + at, block->size_bytes - at,
					   block->link_addr + at, &insn))
			return false;
		at += insn.length;
	}
	return insn.flow == SN_FLOW_NEXT || insn.flow == SN_FLOW_BRANCH ||
	       insn.flow == SN_FLOW_CALL || insn.flow == SN_FLOW_CALL_INDIRECT;
}

/* Nothing leads into a stretch without a symbol or unwind information: it may be data. Unwind
 * information may begin a byte early (glibc's signal return): that only cuts an instruction. */
static bool begins_unknown(const struct sn_structure *structure, const struct sn_function *function)
{
	struct sn_instruction insn;
	size_t available, left = bytes_left(function, function->link_addr);
	const uint8_t *bytes;

	if (function->kind != SN_FUNCTION_SYMBOL && function->kind != SN_FUNCTION_FDE)
		return false;
	bytes = sn_structure_bytes(structure, function->link_addr, &available);
	return bytes && left && available >= left &&
	       !sn_instruction_decode(bytes, available, function->link_addr, &insn);
}

size_t sn_cqa_undecoded_places(const struct sn_structure *structure,
			       const struct sn_function *function)
{
	size_t places = begins_unknown(structure, function);

	for (uint32_t i = 0; i < function->block_count; i++)
		places += goes_into_unknown(structure, function, i);
	return places;
}

unsigned sn_cqa_missing_options(const struct sn_cqa_loop *result)
{
	if (!result->takes_c_options)
		return 0;
	return sn_missing_options(result->options) |
	       (result->loop && !result->loop->line_first ? 1U << SN_MISSING_LINES : 0);
}

void sn_cqa_loop_free(struct sn_cqa_loop *result)
{
	sn_arena_free(&result->arena);
	memset(result, 0, sizeof(*result));
}

void sn_cqa_loop_shrink(struct sn_cqa_loop *result)
{
	struct sn_cqa_path main;

	result->merged = NULL;
	if (result->not_analysed)
		return;
	main = result->paths[result->main_path];
	memset(&main.block, 0, sizeof(main.block));
	memset(&main.chain, 0, sizeof(main.chain));
	main.on_integer_recurrence = NULL;
	sn_arena_free(&result->arena);
	memset(&result->arena, 0, sizeof(result->arena));
	result->paths = sn_arena_array(&result->arena, struct sn_cqa_path, 1);
	result->paths[0] = main;
	result->main_path = 0;
}
