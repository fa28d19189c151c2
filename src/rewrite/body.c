/* The instructions of a nest, and everything in them that forbids a copy. */
#include "rewrite/rewrite_parts.h"

#include <string.h>

enum { BODY_BYTES_MAX = 1 << 20 };

int32_t rw_block_at(const struct sn_function *function, uint64_t link_addr)
{
	const struct sn_block *block = sn_function_block_at(function, link_addr);

	return block && block->link_addr == link_addr ? (int32_t)(block - function->blocks) : -1;
}

/* Instructions that a copy would do otherwise than the original, or that others watch. */
static const char *forbidden(const ZydisDecodedInstruction *insn,
			     const ZydisDecodedOperand *operands)
{
	switch (insn->mnemonic) {
	case ZYDIS_MNEMONIC_SYSCALL:
	case ZYDIS_MNEMONIC_SYSENTER:
	case ZYDIS_MNEMONIC_INT:
	case ZYDIS_MNEMONIC_INT1:
	case ZYDIS_MNEMONIC_INT3:
		return "it makes a system call itself";
	case ZYDIS_MNEMONIC_XBEGIN:
	case ZYDIS_MNEMONIC_XEND:
	case ZYDIS_MNEMONIC_XABORT:
	case ZYDIS_MNEMONIC_XTEST:
		return "it has a transaction";
	case ZYDIS_MNEMONIC_STD:
	case ZYDIS_MNEMONIC_CLD:
	case ZYDIS_MNEMONIC_POPFQ:
	case ZYDIS_MNEMONIC_POPF:
		return "it changes the direction flag";
	case ZYDIS_MNEMONIC_FNSTENV:
	case ZYDIS_MNEMONIC_FNSAVE:
	case ZYDIS_MNEMONIC_FXSAVE:
	case ZYDIS_MNEMONIC_FXSAVE64:
	case ZYDIS_MNEMONIC_XSAVE:
	case ZYDIS_MNEMONIC_XSAVE64:
	case ZYDIS_MNEMONIC_XSAVEC:
	case ZYDIS_MNEMONIC_XSAVEC64:
	case ZYDIS_MNEMONIC_XSAVEOPT:
	case ZYDIS_MNEMONIC_XSAVEOPT64:
		return "it saves where its floating-point instructions are";
	default:
		break;
	}
	if (insn->meta.branch_type == ZYDIS_BRANCH_TYPE_FAR)
		return "it has a far jump";
	for (unsigned i = 0; i < insn->operand_count; i++)
		if (operands[i].type == ZYDIS_OPERAND_TYPE_MEMORY &&
		    operands[i].mem.base == ZYDIS_REGISTER_EIP)
			return "it has an address that cannot be moved";
	return NULL;
}

static bool is_rip_relative(const ZydisDecodedInstruction *insn,
			    const ZydisDecodedOperand *operands)
{
	for (unsigned i = 0; i < insn->operand_count; i++)
		if (operands[i].type == ZYDIS_OPERAND_TYPE_MEMORY &&
		    operands[i].mem.base == ZYDIS_REGISTER_RIP)
			return true;
	return false;
}

const char *rw_insn_read(struct rw_nest *nest, uint64_t link_addr, unsigned *length)
{
	ZydisDecodedInstruction insn;
	ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
	struct rw_insn out = { .link_addr = link_addr };
	struct sn_instruction flow;
	size_t available;
	const char *why;

	out.bytes = sn_structure_bytes(nest->rewriter->structure, link_addr, &available);
	if (!out.bytes ||
	    !ZYAN_SUCCESS(
		    ZydisDecoderDecodeFull(sn_decoder(), out.bytes, available, &insn, operands)) ||
	    !sn_instruction_decode(out.bytes, available, link_addr, &flow))
		return "it has bytes that are no instruction";
	why = forbidden(&insn, operands);
	if (why)
		return why;
	out.length = insn.length;
	out.flow = flow.flow;
	out.target_link_addr = flow.target_link_addr;
	out.is_endbr = insn.mnemonic == ZYDIS_MNEMONIC_ENDBR64;
	if (is_rip_relative(&insn, operands)) {
		out.rip_at = insn.raw.disp.offset;
		if (insn.raw.disp.size != 32)
			return "it has an address that cannot be moved";
	}
	out.has_stack_change = rw_stack_change(&insn, operands, &out.stack_change);
	sn_vec_push(&nest->insns, out);
	*length = insn.length;
	return NULL;
}

static const char *read_block(struct rw_nest *nest, uint32_t index)
{
	const struct sn_block *b = &nest->function->blocks[index];
	struct rw_block block = { .index = index, .first_insn = (uint32_t)nest->insns.count };
	uint64_t at = b->link_addr, end = at + b->size_bytes;

	while (at < end) {
		unsigned length = 0;
		const char *why = rw_insn_read(nest, at, &length);

		if (why)
			return why;
		if (!nest->beats && !sn_vec_last(&nest->insns).has_stack_change)
			return "it moves the stack pointer by an amount that its code does not tell";
		at += length;
	}
	if (at != end)
		return "its instructions overlap";
	block.insn_count = (uint32_t)nest->insns.count - block.first_insn;
	nest->position[index] = (int32_t)nest->blocks.count;
	sn_vec_push(&nest->blocks, block);
	return NULL;
}

static const char *check_block(const struct rw_nest *nest, const struct sn_block *block)
{
	bool is_entry = block->link_addr == nest->function->link_addr;

	if (block->flags & SN_BLOCK_ENTRY && !is_entry && !nest->beats)
		return "an exception is caught in it";
	if (is_entry && block->link_addr != nest->outer->header_link_addr)
		return "its function begins within it";
	if (block->flags & SN_BLOCK_SPECULATIVE)
		return "it has code that nothing known leads to";
	if (block->flags & SN_BLOCK_INDIRECT && !(block->flags & SN_BLOCK_PROVED))
		return "the length of its jump table is not proved";
	return NULL;
}

/* What forbids all loops of a function. */
const char *rw_function_refusal(const struct sn_function *function)
{
	if (function->kind == SN_FUNCTION_GAP || function->kind == SN_FUNCTION_PLT)
		return "nothing names its function";
	for (uint32_t b = 0; b < function->block_count; b++) {
		if (function->blocks[b].flags & SN_BLOCK_UNRESOLVED)
			return "a jump of its function goes nowhere known";
		if (b && function->blocks[b].link_addr < function->blocks[b - 1].link_addr +
								 function->blocks[b - 1].size_bytes)
			return "instructions of its function overlap";
	}
	return NULL;
}

static const char *read_nest(struct rw_nest *nest)
{
	const struct sn_function *function = nest->function;
	const char *why = rw_function_refusal(function);

	if (why)
		return why;
	for (uint32_t l = 0; l < function->loop_count; l++)
		if (function->loops[l].is_irreducible && !nest->beats &&
		    rw_loop_holds(function, (int32_t)nest->outer->index, (int32_t)l))
			return "it can be entered elsewhere than at its header";
	if (sn_loop_size_bytes(nest->outer) > BODY_BYTES_MAX)
		return "it is larger than a copy may be";
	for (uint32_t b = 0; b < function->block_count; b++) {
		const struct sn_block *block = &function->blocks[b];

		if (!rw_loop_holds(function, (int32_t)nest->outer->index, block->loop))
			continue;
		why = check_block(nest, block);
		if (!why)
			why = read_block(nest, b);
		if (why)
			return why;
	}
	if (rw_block_at(function, nest->outer->header_link_addr) < 0)
		return "it has bytes that are no instruction";
	if (nest->beats) {
		rw_beats_find(nest);
		return NULL;
	}
	return rw_stack_follow(nest) ? NULL : "ways through it leave the stack pointer elsewhere";
}

const char *rw_nest_begin(struct rw_nest *nest, struct sn_rewriter *rewriter,
			  const struct sn_loop *outer, const bool *is_selected,
			  struct rw_beats *beats)
{
	const struct sn_function *function = outer->function;

	*nest = (struct rw_nest){
		.rewriter = rewriter, .function = function, .outer = outer, .beats = beats
	};
	nest->is_selected = sn_arena_array(&nest->arena, bool, function->loop_count);
	nest->why_no_recorder =
		sn_arena_array(&nest->arena, const char *, function->loop_count + 1u);
	nest->plan_index = sn_arena_array(&nest->arena, uint32_t, function->loop_count);
	nest->position = sn_arena_array(&nest->arena, int32_t, function->block_count + 1u);
	memset(nest->position, 0xff, function->block_count * sizeof(*nest->position));
	for (uint32_t l = 0; l < function->loop_count; l++)
		nest->is_selected[l] = l == outer->index ||
				       (is_selected && is_selected[l] &&
					rw_loop_holds(function, (int32_t)outer->index, (int32_t)l));
	if (rewriter->function != function) {
		sn_arena_free(&rewriter->arena);
		rewriter->arena = (struct sn_arena){ 0 };
		rewriter->function = function;
		rewriter->flags_in = rw_flags_live(rewriter->structure, function, &rewriter->arena);
		rewriter->registers_in =
			rw_registers_live(rewriter->structure, function, &rewriter->arena);
		rewriter->has_red_zone = rw_red_zone_is_free(rewriter, function);
	}
	nest->flags_in = rewriter->flags_in;
	nest->registers_in = rewriter->registers_in;
	nest->has_red_zone = rewriter->has_red_zone;
	return read_nest(nest);
}

void rw_nest_end(struct rw_nest *nest)
{
	sn_vec_free(&nest->blocks);
	sn_vec_free(&nest->insns);
	sn_arena_free(&nest->arena);
}
