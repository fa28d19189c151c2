/* Where the stack pointer is within a nest: a timed instance is known again by it. */
#include "rewrite/rewrite_parts.h"

static bool is_stack_pointer(const ZydisDecodedOperand *operand)
{
	return operand->type == ZYDIS_OPERAND_TYPE_REGISTER &&
	       ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, operand->reg.value) ==
		       ZYDIS_REGISTER_RSP;
}

static bool is_whole(const ZydisDecodedOperand *operand)
{
	return operand->type == ZYDIS_OPERAND_TYPE_REGISTER &&
	       operand->reg.value == ZYDIS_REGISTER_RSP;
}

bool rw_stack_change(const ZydisDecodedInstruction *insn, const ZydisDecodedOperand *operands,
		     int64_t *change)
{
	bool writes = false;

	*change = 0;
	for (unsigned i = 0; i < insn->operand_count; i++)
		writes |= is_stack_pointer(&operands[i]) &&
			  operands[i].actions & ZYDIS_OPERAND_ACTION_MASK_WRITE;
	if (!writes)
		return true;
	switch (insn->mnemonic) {
	case ZYDIS_MNEMONIC_CALL: /* it comes back with the stack as it was */
		return true;
	case ZYDIS_MNEMONIC_PUSH:
	case ZYDIS_MNEMONIC_PUSHFQ:
		*change = -(int64_t)insn->operand_width / 8;
		return insn->operand_width == 64;
	case ZYDIS_MNEMONIC_POP:
	case ZYDIS_MNEMONIC_POPFQ:
		*change = insn->operand_width / 8;
		return insn->operand_width == 64 &&
		       !(insn->operand_count_visible && is_stack_pointer(&operands[0]));
	case ZYDIS_MNEMONIC_ADD:
	case ZYDIS_MNEMONIC_SUB:
		if (!is_whole(&operands[0]) || operands[1].type != ZYDIS_OPERAND_TYPE_IMMEDIATE)
			return false;
		*change = insn->mnemonic == ZYDIS_MNEMONIC_ADD ? operands[1].imm.value.s
							       : -operands[1].imm.value.s;
		return true;
	case ZYDIS_MNEMONIC_LEA:
		if (!is_whole(&operands[0]) || operands[1].mem.base != ZYDIS_REGISTER_RSP ||
		    operands[1].mem.index != ZYDIS_REGISTER_NONE)
			return false;
		*change = operands[1].mem.disp.has_displacement ? operands[1].mem.disp.value : 0;
		return true;
	default:
		return false;
	}
}

bool rw_stack_follow(struct rw_nest *nest)
{
	SN_VEC(uint32_t) work = { 0 };
	int32_t header = rw_block_at(nest->function, nest->outer->header_link_addr);
	bool agrees = true;

	nest->blocks.items[nest->position[header]].has_stack = true;
	sn_vec_push(&work, (uint32_t)nest->position[header]);
	while (work.count && agrees) {
		const struct rw_block *block = &nest->blocks.items[work.items[--work.count]];
		const struct sn_block *b = &nest->function->blocks[block->index];
		int64_t at = block->stack;

		for (uint32_t i = 0; i < block->insn_count; i++)
			at += nest->insns.items[block->first_insn + i].stack_change;
		for (uint32_t s = 0; s < b->successor_count; s++) {
			uint32_t to = nest->function->successors[b->first_successor + s];
			struct rw_block *next;

			if (nest->position[to] < 0)
				continue;
			next = &nest->blocks.items[nest->position[to]];
			if (!next->has_stack) {
				next->has_stack = true;
				next->stack = at;
				sn_vec_push(&work, (uint32_t)nest->position[to]);
			}
			agrees &= next->stack == at;
		}
	}
	sn_vec_free(&work);
	return agrees;
}
