/*
 * The 128 bytes below the stack pointer, which a signal handler leaves alone: a function that calls no other may keep its data
 * there. Where none of it is there, code that counts may keep registers and counts of an instance in these bytes, as signal handlers,
 * threads and recursion have others.
 *
 * What is below the stack pointer is reached by a displacement from it, or by a register that it was copied to. Compilers have
 * data there only in functions that make no calls, so copies of the pointer count against those, but for the frame
 * pointer: that may be used from the frame's lower end upwards in any function.
 */
#include "rewrite/rewrite_parts.h"
#include "rewrite/variant_parts.h"

enum { RSP = 4, RBP = 5 };

struct uses {
	bool is_below;	/* by a displacement, or in a way that is not understood */
	bool is_copied; /* to a register that is no frame pointer */
	bool is_indexed, has_calls, has_frame_pointer;
	int64_t frame_bytes, lowest; /* below the frame pointer: of the frame; that is used */
};

static bool is_rsp(const ZydisDecodedOperand *operand)
{
	return operand->type == ZYDIS_OPERAND_TYPE_REGISTER &&
	       operand->reg.value == ZYDIS_REGISTER_RSP;
}

static void note_memory(struct uses *uses, const ZydisDecodedOperand *operand)
{
	int64_t displacement = operand->mem.disp.has_displacement ? operand->mem.disp.value : 0;
	bool is_on_stack = sn_gpr_number(operand->mem.base) == RSP;

	if (is_on_stack && displacement < 0)
		uses->is_below = true;
	if (is_on_stack && operand->mem.index != ZYDIS_REGISTER_NONE)
		uses->is_indexed = true;
	if (sn_gpr_number(operand->mem.base) == RBP && displacement < uses->lowest)
		uses->lowest = displacement;
}

/* Of the first block, what lies between the frame pointer and the stack pointer. */
static void note_frame(struct uses *uses, const ZydisDecodedInstruction *insn,
		       const ZydisDecodedOperand *operands)
{
	int64_t change;

	if (uses->has_frame_pointer && rw_stack_change(insn, operands, &change) && change < 0)
		uses->frame_bytes -= change;
}

static void note(struct uses *uses, const ZydisDecodedInstruction *insn,
		 const ZydisDecodedOperand *operands, bool is_first_block)
{
	bool is_frame_pointer = insn->mnemonic == ZYDIS_MNEMONIC_MOV && is_rsp(&operands[1]) &&
				operands[0].reg.value == ZYDIS_REGISTER_RBP;
	/* lea rsp, [rsp + ...] */
	bool is_moved = insn->mnemonic == ZYDIS_MNEMONIC_LEA && is_rsp(&operands[0]);

	if (is_first_block)
		note_frame(uses, insn, operands);
	if (insn->meta.category == ZYDIS_CATEGORY_CALL)
		uses->has_calls = true;
	for (unsigned i = 0; i < insn->operand_count; i++) {
		const ZydisDecodedOperand *operand = &operands[i];

		/* what pushes and pops do is in no operand that is seen */
		if (operand->visibility == ZYDIS_OPERAND_VISIBILITY_HIDDEN)
			continue;
		if (operand->type == ZYDIS_OPERAND_TYPE_MEMORY) {
			if (is_moved)
				continue;
			note_memory(uses, operand);
			if (operand->mem.type == ZYDIS_MEMOP_TYPE_AGEN &&
			    sn_gpr_number(operand->mem.base) == RSP)
				uses->is_copied = true;
			continue;
		}
		if (operand->type != ZYDIS_OPERAND_TYPE_REGISTER ||
		    sn_gpr_number(operand->reg.value) != RSP)
			continue;
		if (!is_rsp(operand) || insn->mnemonic == ZYDIS_MNEMONIC_XCHG ||
		    insn->mnemonic == ZYDIS_MNEMONIC_XADD)
			uses->is_below = true; /* a part of it; or who knows */
		else if (is_frame_pointer && is_first_block)
			uses->has_frame_pointer = true;
		else if (i > 0 || insn->mnemonic == ZYDIS_MNEMONIC_PUSH)
			uses->is_copied = true;
	}
}

static bool note_block(struct uses *uses, const struct sn_structure *structure,
		       const struct sn_block *block, bool is_first)
{
	uint64_t at = block->link_addr, end = at + block->size_bytes;

	while (at < end) {
		ZydisDecodedInstruction insn;
		ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
		size_t available;
		const uint8_t *bytes = sn_structure_bytes(structure, at, &available);

		if (!bytes || !ZYAN_SUCCESS(ZydisDecoderDecodeFull(sn_decoder(), bytes, available,
								   &insn, operands)))
			return false;
		note(uses, &insn, operands, is_first);
		at += insn.length;
	}
	return true;
}

bool rw_red_zone_is_free(const struct sn_rewriter *rewriter, const struct sn_function *function)
{
	struct uses uses = { 0 };

	for (uint32_t i = 0; i < function->range_count; i++) {
		struct sn_range range = function->ranges[i];

		if (range.first_link_addr == function->link_addr)
			range.first_link_addr++;
		if (rw_is_entered(&rewriter->entered, range.first_link_addr, range.end_link_addr))
			return false;
	}
	for (uint32_t b = 0; b < function->block_count; b++) {
		const struct sn_block *block = &function->blocks[b];

		if (block->flags & SN_BLOCK_UNRESOLVED ||
		    !note_block(&uses, rewriter->structure, block,
				block->link_addr == function->link_addr))
			return false;
	}
	if (uses.is_below || (uses.has_frame_pointer && -uses.lowest > uses.frame_bytes))
		return false;
	return uses.has_calls || !(uses.is_copied || uses.is_indexed);
}
