/* What an instruction reads and writes, as far as it can matter to a slice: rather too much read and too
 * little overwritten than the other way round. */
#include "rewrite/variant_parts.h"

static uint64_t bit_of(ZydisRegister reg)
{
	int gpr = sn_gpr_number(reg);
	ZyanI8 id = ZydisRegisterGetId(reg);

	if (gpr >= 0)
		return 1ULL << gpr;
	switch (ZydisRegisterGetClass(reg)) {
	case ZYDIS_REGCLASS_XMM:
	case ZYDIS_REGCLASS_YMM:
	case ZYDIS_REGCLASS_ZMM:
		return 1ULL << (RW_VECTOR + (id & 31));
	case ZYDIS_REGCLASS_MASK:
		return 1ULL << (RW_MASK + (id & 7));
	default:
		return 0;
	}
}

static uint64_t flag_bits(ZydisAccessedFlagsMask mask)
{
	static const ZydisAccessedFlagsMask flags[RW_FLAGS] = {
		ZYDIS_CPUFLAG_CF, ZYDIS_CPUFLAG_PF, ZYDIS_CPUFLAG_AF,
		ZYDIS_CPUFLAG_ZF, ZYDIS_CPUFLAG_SF, ZYDIS_CPUFLAG_OF,
	};
	uint64_t bits = 0;

	for (int i = 0; i < RW_FLAGS; i++)
		if (mask & flags[i])
			bits |= 1ULL << (RW_FLAG + i);
	return bits;
}

/* Nothing of the register is left as it was. */
static bool is_whole(const ZydisDecodedInstruction *insn, const ZydisDecodedOperand *operand)
{
	if (operand->actions & (ZYDIS_OPERAND_ACTION_MASK_READ | ZYDIS_OPERAND_ACTION_CONDWRITE))
		return false;
	if (insn->mnemonic == ZYDIS_MNEMONIC_BSF || insn->mnemonic == ZYDIS_MNEMONIC_BSR)
		return false; /* of zero: as it was */
	if (sn_gpr_number(operand->reg.value) >= 0)
		return ZydisRegisterGetWidth(ZYDIS_MACHINE_MODE_LONG_64, operand->reg.value) >= 32;
	return insn->encoding == ZYDIS_INSTRUCTION_ENCODING_VEX;
}

/* Shifts by a register may leave the flags as they were. */
static bool may_keep_flags(const ZydisDecodedInstruction *insn, const ZydisDecodedOperand *operands)
{
	if (insn->meta.category != ZYDIS_CATEGORY_SHIFT &&
	    insn->meta.category != ZYDIS_CATEGORY_ROTATE)
		return false;
	for (unsigned i = 1; i < insn->operand_count_visible; i++)
		if (operands[i].type == ZYDIS_OPERAND_TYPE_IMMEDIATE)
			return !(operands[i].imm.value.u & 31);
	return true;
}

/* Zero, whatever the register held. */
static bool is_zero_idiom(const ZydisDecodedInstruction *insn, const ZydisDecodedOperand *operands)
{
	unsigned last = insn->operand_count_visible - 1u;

	switch (insn->mnemonic) {
	case ZYDIS_MNEMONIC_XOR:
	case ZYDIS_MNEMONIC_SUB:
	case ZYDIS_MNEMONIC_PXOR:
	case ZYDIS_MNEMONIC_XORPS:
	case ZYDIS_MNEMONIC_XORPD:
	case ZYDIS_MNEMONIC_VPXOR:
	case ZYDIS_MNEMONIC_VXORPS:
	case ZYDIS_MNEMONIC_VXORPD:
		return operands[last].type == ZYDIS_OPERAND_TYPE_REGISTER &&
		       operands[last - 1].type == ZYDIS_OPERAND_TYPE_REGISTER &&
		       operands[last].reg.value == operands[last - 1].reg.value &&
		       (sn_gpr_number(operands[last].reg.value) < 0 || operands[last].size >= 32);
	default:
		return false;
	}
}

void rw_effect_of(const ZydisDecodedInstruction *insn, const ZydisDecodedOperand *operands,
		  struct rw_effect *out)
{
	*out = (struct rw_effect){ 0 };
	for (unsigned i = 0; i < insn->operand_count; i++) {
		const ZydisDecodedOperand *operand = &operands[i];
		uint64_t bit;

		if (operand->type == ZYDIS_OPERAND_TYPE_MEMORY) {
			bit = bit_of(operand->mem.base) | bit_of(operand->mem.index);
			out->reads |= bit;
			if (operand->mem.type != ZYDIS_MEMOP_TYPE_AGEN)
				out->addresses |= bit;
			continue;
		}
		if (operand->type != ZYDIS_OPERAND_TYPE_REGISTER)
			continue;
		bit = bit_of(operand->reg.value);
		if (operand->actions & ZYDIS_OPERAND_ACTION_MASK_READ)
			out->reads |= bit;
		if (!(operand->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE))
			continue;
		out->writes |= bit;
		if (is_whole(insn, operand))
			out->kills |= bit;
		else
			out->reads |= bit;
	}
	if (is_zero_idiom(insn, operands)) {
		out->reads = 0;
		out->kills = out->writes;
	}
	if (!insn->cpu_flags)
		return;
	out->reads |= flag_bits(insn->cpu_flags->tested);
	uint64_t written = flag_bits(insn->cpu_flags->modified | insn->cpu_flags->set_0 |
				     insn->cpu_flags->set_1 | insn->cpu_flags->undefined);
	out->writes |= written;
	if (may_keep_flags(insn, operands))
		out->reads |= written;
	else
		out->kills |= written & ~out->reads;
}
