/*
 * A register that moves by a constant step once an iteration: what it is at the entry and at the
 * exit says how many iterations there were, and nothing needs to be counted.
 *
 * One instruction writes it, no instruction besides; that one is passed exactly once between two
 * arrivals at the header; and for each exit it is known whether the step of the iteration that began
 * last has been made.
 */
#include <string.h>

#include "rewrite/variant_parts.h"

enum { REGISTERS = 16, RSP = 4 };

struct steps {
	uint32_t writes[REGISTERS];
	int64_t step[REGISTERS]; /* of the last writer, 0: no constant */
	uint32_t block[REGISTERS];
};

static int64_t step_of(const ZydisDecodedInstruction *insn, const ZydisDecodedOperand *operands)
{
	bool has_constant =
		insn->operand_count_visible > 1 && operands[1].type == ZYDIS_OPERAND_TYPE_IMMEDIATE;

	if (insn->operand_width != 64 || operands[0].type != ZYDIS_OPERAND_TYPE_REGISTER)
		return 0;
	switch (insn->mnemonic) {
	case ZYDIS_MNEMONIC_INC:
		return 1;
	case ZYDIS_MNEMONIC_DEC:
		return -1;
	case ZYDIS_MNEMONIC_ADD:
		return has_constant ? operands[1].imm.value.s : 0;
	case ZYDIS_MNEMONIC_SUB:
		return has_constant ? -operands[1].imm.value.s : 0;
	case ZYDIS_MNEMONIC_LEA:
		return operands[1].mem.base == operands[0].reg.value &&
				       operands[1].mem.index == ZYDIS_REGISTER_NONE &&
				       insn->address_width == 64
			       ? operands[1].mem.disp.value
			       : 0;
	default:
		return 0;
	}
}

static void note_writes(struct steps *steps, const ZydisDecodedInstruction *insn,
			const ZydisDecodedOperand *operands, uint32_t block)
{
	int64_t step = step_of(insn, operands);

	for (unsigned i = 0; i < insn->operand_count; i++) {
		int reg;

		if (operands[i].type != ZYDIS_OPERAND_TYPE_REGISTER ||
		    !(operands[i].actions & ZYDIS_OPERAND_ACTION_MASK_WRITE))
			continue;
		reg = sn_gpr_number(operands[i].reg.value);
		if (reg < 0)
			continue;
		steps->writes[reg]++;
		steps->step[reg] = i ? 0 : step;
		steps->block[reg] = block;
	}
}

/* Of a body what it has of the loop. */
static bool has_block(const struct rw_nest *nest, const struct sn_loop *loop,
		      const struct rw_body *body, size_t b)
{
	return nest->function->blocks[nest->blocks.items[b].index].loop == (int32_t)loop->index &&
	       (!body || rw_body_has(body, b));
}

/* False: the loop calls somebody, who may write what he likes. */
static bool read_steps(const struct rw_nest *nest, const struct sn_loop *loop,
		       const struct rw_body *body, struct steps *steps)
{
	for (size_t b = 0; b < nest->blocks.count; b++) {
		const struct rw_block *block = &nest->blocks.items[b];
		uint32_t count;

		if (!has_block(nest, loop, body, b))
			continue;
		count = body ? rw_body_insns(body, b) : block->insn_count;
		for (uint32_t i = 0; i < count; i++) {
			const struct rw_insn *at = &nest->insns.items[block->first_insn + i];
			ZydisDecodedInstruction insn;
			ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];

			if (at->flow == SN_FLOW_CALL || at->flow == SN_FLOW_CALL_INDIRECT ||
			    !ZYAN_SUCCESS(ZydisDecoderDecodeFull(sn_decoder(), at->bytes,
								 at->length, &insn, operands)))
				return false;
			note_writes(steps, &insn, operands, (uint32_t)b);
		}
	}
	return true;
}

static bool is_inside(const struct rw_nest *nest, const struct sn_loop *loop,
		      const struct rw_body *body, uint32_t to)
{
	return nest->position[to] >= 0 && has_block(nest, loop, body, (size_t)nest->position[to]);
}

/* Marks what is reached from a block without going on from the header or from `without`. */
static void reach(const struct rw_nest *nest, const struct sn_loop *loop,
		  const struct rw_body *body, uint32_t from, uint32_t without, bool *is_reached,
		  struct sn_arena *arena)
{
	uint32_t header = (uint32_t)rw_block_at(nest->function, loop->header_link_addr);
	uint32_t *work = sn_arena_array(arena, uint32_t, nest->blocks.count + 1);
	size_t count = 0;
	bool is_first = true;

	work[count++] = from;
	while (count) {
		uint32_t at = work[--count];
		const struct sn_block *block = &nest->function->blocks[at];

		if (!is_first && (at == header || at == without))
			continue;
		is_first = false;
		if (body && rw_body_calls(body, (size_t)nest->position[at]))
			continue;
		for (uint32_t s = 0; s < block->successor_count; s++) {
			uint32_t to = nest->function->successors[block->first_successor + s];

			if (!is_inside(nest, loop, body, to) || is_reached[nest->position[to]])
				continue;
			is_reached[nest->position[to]] = true;
			work[count++] = to;
		}
	}
}

/* Do all ways around the loop go through the step's block, and does every exit know? */
static bool is_regular(const struct rw_nest *nest, const struct sn_loop *loop,
		       const struct rw_body *body, uint32_t stepper, struct sn_arena *arena,
		       bool *is_ahead)
{
	uint32_t header = (uint32_t)rw_block_at(nest->function, loop->header_link_addr);
	uint32_t at = nest->blocks.items[stepper].index;
	bool *before = sn_arena_array(arena, bool, nest->blocks.count + 1);
	bool *after = sn_arena_array(arena, bool, nest->blocks.count + 1);

	if (at != header)
		reach(nest, loop, body, header, at, before, arena);
	reach(nest, loop, body, at, at, after, arena);
	if (at != header && before[nest->position[header]])
		return false;		       /* around without a step */
	after[nest->position[header]] = false; /* the next iteration */
	before[nest->position[header]] = at != header;
	before[stepper] = false; /* an exit is at the end of its block */
	if (at != header && after[stepper])
		return false;
	for (size_t b = 0; b < nest->blocks.count; b++) {
		if (before[b] && after[b])
			return false;
		is_ahead[b] = before[b];
	}
	return true;
}

bool rw_induction_find(const struct rw_nest *nest, const struct sn_loop *loop,
		       const struct rw_body *body, struct sn_arena *arena, struct rw_induction *out)
{
	struct steps steps = { 0 };

	if (!loop->is_innermost || !read_steps(nest, loop, body, &steps))
		return false;
	out->is_ahead = sn_arena_array(arena, bool, nest->blocks.count + 1);
	for (int reg = 0; reg < REGISTERS; reg++) {
		if (reg == RSP || steps.writes[reg] != 1 || !steps.step[reg] ||
		    steps.step[reg] != (int32_t)steps.step[reg] ||
		    !is_regular(nest, loop, body, steps.block[reg], arena, out->is_ahead))
			continue;
		out->reg = (uint8_t)reg;
		out->step = steps.step[reg];
		return true;
	}
	return false;
}
