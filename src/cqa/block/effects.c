/* Reads and writes of an instruction, from Zydis' operand actions with the corrections that matter
 * for latency: partial registers, merging scalar forms, conditional writes, the x87 stack. */
#include "base/text.h"
#include "cqa/block/effects.h"

#include <string.h>

static uint8_t resource_of(ZydisRegister reg, const struct sn_x87_stack *x87)
{
	ZydisRegister whole = ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, reg);
	ZyanI8 id = ZydisRegisterGetId(reg);

	switch (ZydisRegisterGetClass(reg)) {
	case ZYDIS_REGCLASS_GPR8:
	case ZYDIS_REGCLASS_GPR16:
	case ZYDIS_REGCLASS_GPR32:
	case ZYDIS_REGCLASS_GPR64:
		return (uint8_t)(SN_RES_GPR + ZydisRegisterGetId(whole));
	case ZYDIS_REGCLASS_XMM:
	case ZYDIS_REGCLASS_YMM:
	case ZYDIS_REGCLASS_ZMM:
		return (uint8_t)(SN_RES_VECTOR + (id & 31));
	case ZYDIS_REGCLASS_MASK:
		return (uint8_t)(SN_RES_MASK + (id & 7));
	case ZYDIS_REGCLASS_MMX:
		return (uint8_t)(SN_RES_X87 + (id & 7));
	case ZYDIS_REGCLASS_X87:
		return (uint8_t)(SN_RES_X87 + (x87 ? x87->at[id & 7] : id & 7));
	default:
		return SN_RES_NONE;
	}
}

static void add_read(struct sn_insn *insn, uint8_t resource, enum sn_role role)
{
	if (resource == SN_RES_NONE)
		return;
	for (unsigned i = 0; i < insn->read_count; i++)
		if (insn->reads[i].resource == resource && insn->reads[i].role == role)
			return;
	if (insn->read_count < SN_INSN_READS_MAX)
		insn->reads[insn->read_count++] = (struct sn_read){ resource, (uint8_t)role, 0 };
}

static void add_write(struct sn_insn *insn, uint8_t resource)
{
	if (resource == SN_RES_NONE)
		return;
	for (unsigned i = 0; i < insn->write_count; i++)
		if (insn->writes[i] == resource)
			return;
	if (insn->write_count < SN_INSN_WRITES_MAX)
		insn->writes[insn->write_count++] = resource;
}

/* Forms whose result has the upper part of the destination (legacy) or first source (VEX). */
static bool keeps_upper_part(const ZydisDecodedInstruction *insn,
			     const ZydisDecodedOperand *operands)
{
	bool both_registers =
		insn->operand_count_visible >= 2 && operands[1].type == ZYDIS_OPERAND_TYPE_REGISTER;

	switch (insn->mnemonic) {
	case ZYDIS_MNEMONIC_VCVTSI2SD:
	case ZYDIS_MNEMONIC_VCVTSI2SS:
	case ZYDIS_MNEMONIC_VCVTUSI2SD:
	case ZYDIS_MNEMONIC_VCVTUSI2SS:
	case ZYDIS_MNEMONIC_VCVTSD2SS:
	case ZYDIS_MNEMONIC_VCVTSS2SD:
	case ZYDIS_MNEMONIC_VSQRTSD:
	case ZYDIS_MNEMONIC_VSQRTSS:
	case ZYDIS_MNEMONIC_VRCPSS:
	case ZYDIS_MNEMONIC_VRSQRTSS:
	case ZYDIS_MNEMONIC_VROUNDSD:
	case ZYDIS_MNEMONIC_VROUNDSS:
	case ZYDIS_MNEMONIC_CVTSI2SD:
	case ZYDIS_MNEMONIC_CVTSI2SS:
	case ZYDIS_MNEMONIC_CVTSD2SS:
	case ZYDIS_MNEMONIC_CVTSS2SD:
	case ZYDIS_MNEMONIC_CVTPI2PS:
	case ZYDIS_MNEMONIC_SQRTSD:
	case ZYDIS_MNEMONIC_SQRTSS:
	case ZYDIS_MNEMONIC_RCPSS:
	case ZYDIS_MNEMONIC_RSQRTSS:
	case ZYDIS_MNEMONIC_ROUNDSD:
	case ZYDIS_MNEMONIC_ROUNDSS:
		return true;
	case ZYDIS_MNEMONIC_MOVSS:
	case ZYDIS_MNEMONIC_MOVSD:
		return both_registers;
	case ZYDIS_MNEMONIC_MOVLPS:
	case ZYDIS_MNEMONIC_MOVLPD:
		return operands[0].type == ZYDIS_OPERAND_TYPE_REGISTER;
	default:
		return false;
	}
}

/* Some cores know which registers have a zero upper part and do not wait for that. Whether it is
 * zero shows in the rest of the block: sn_cqa_block_finish decides. */
static bool waits_by_contents(const struct sn_machine *machine, const ZydisDecodedInstruction *insn,
			      const ZydisDecodedOperand *operands, unsigned index)
{
	bool is_legacy = insn->encoding == ZYDIS_INSTRUCTION_ENCODING_LEGACY;

	return index == (is_legacy ? 0 : 1) && machine->rules.knows_zero_upper_parts &&
	       insn->avx.mask.mode <= ZYDIS_MASK_MODE_DISABLED && keeps_upper_part(insn, operands);
}

/* Anything but scalar arithmetic, scalar moves and moves from general registers. */
static bool fills_upper_part(const ZydisDecodedInstruction *insn,
			     const ZydisDecodedOperand *operands)
{
	const char *name = ZydisMnemonicGetString(insn->mnemonic);

	if (operands[0].type != ZYDIS_OPERAND_TYPE_REGISTER ||
	    ZydisRegisterGetClass(operands[0].reg.value) < ZYDIS_REGCLASS_XMM)
		return false;
	switch (insn->mnemonic) {
	case ZYDIS_MNEMONIC_MOVD:
	case ZYDIS_MNEMONIC_MOVQ:
	case ZYDIS_MNEMONIC_VMOVD:
	case ZYDIS_MNEMONIC_VMOVQ:
	case ZYDIS_MNEMONIC_PXOR:
	case ZYDIS_MNEMONIC_XORPS:
	case ZYDIS_MNEMONIC_XORPD:
	case ZYDIS_MNEMONIC_VPXOR:
	case ZYDIS_MNEMONIC_VXORPS:
	case ZYDIS_MNEMONIC_MOVLPS:
	case ZYDIS_MNEMONIC_MOVLPD:
		return false;
	default:
		return !sn_ends_with(name, "ss") && !sn_ends_with(name, "sd");
	}
}

static bool merges_destination(const struct sn_machine *machine,
			       const ZydisDecodedInstruction *insn,
			       const ZydisDecodedOperand *operands)
{
	if (insn->encoding != ZYDIS_INSTRUCTION_ENCODING_LEGACY)
		return false;
	if (keeps_upper_part(insn, operands))
		return !machine->rules.knows_zero_upper_parts;
	switch (insn->mnemonic) {
	case ZYDIS_MNEMONIC_MOVHPS:
	case ZYDIS_MNEMONIC_MOVHPD:
	case ZYDIS_MNEMONIC_MOVHLPS:
	case ZYDIS_MNEMONIC_MOVLHPS:
	case ZYDIS_MNEMONIC_PINSRB:
	case ZYDIS_MNEMONIC_PINSRW:
	case ZYDIS_MNEMONIC_PINSRD:
	case ZYDIS_MNEMONIC_PINSRQ:
	case ZYDIS_MNEMONIC_INSERTPS:
		return true;
	default:
		return false;
	}
}

/* A zero mask, too, waits for the target where `compress_reads_destination` says so. */
static bool compresses(ZydisMnemonic mnemonic)
{
	switch (mnemonic) {
	case ZYDIS_MNEMONIC_VCOMPRESSPD:
	case ZYDIS_MNEMONIC_VCOMPRESSPS:
	case ZYDIS_MNEMONIC_VPCOMPRESSB:
	case ZYDIS_MNEMONIC_VPCOMPRESSD:
	case ZYDIS_MNEMONIC_VPCOMPRESSQ:
	case ZYDIS_MNEMONIC_VPCOMPRESSW:
	case ZYDIS_MNEMONIC_VEXPANDPD:
	case ZYDIS_MNEMONIC_VEXPANDPS:
	case ZYDIS_MNEMONIC_VPEXPANDB:
	case ZYDIS_MNEMONIC_VPEXPANDD:
	case ZYDIS_MNEMONIC_VPEXPANDQ:
	case ZYDIS_MNEMONIC_VPEXPANDW:
		return true;
	default:
		return false;
	}
}

static bool counts_bits(ZydisMnemonic mnemonic)
{
	return mnemonic == ZYDIS_MNEMONIC_POPCNT;
}

static bool destination_is_read(const struct sn_machine *machine,
				const ZydisDecodedInstruction *insn,
				const ZydisDecodedOperand *operands, unsigned index)
{
	const ZydisDecodedOperand *operand = &operands[index];
	ZydisRegisterClass class = ZydisRegisterGetClass(operand->reg.value);

	if (operand->actions & (ZYDIS_OPERAND_ACTION_CONDWRITE))
		return true;
	if (class == ZYDIS_REGCLASS_GPR8 || class == ZYDIS_REGCLASS_GPR16)
		return operand->visibility != ZYDIS_OPERAND_VISIBILITY_HIDDEN ||
		       class == ZYDIS_REGCLASS_GPR8;
	if (index != 0)
		return false;
	if (insn->avx.mask.reg != ZYDIS_REGISTER_NONE && insn->avx.mask.reg != ZYDIS_REGISTER_K0 &&
	    insn->avx.mask.mode == ZYDIS_MASK_MODE_MERGING)
		return class != ZYDIS_REGCLASS_MASK;
	/* a source of zero leaves it as it was */
	if (insn->mnemonic == ZYDIS_MNEMONIC_BSF || insn->mnemonic == ZYDIS_MNEMONIC_BSR)
		return true;
	if (counts_bits(insn->mnemonic))
		return machine->rules.popcnt_reads_destination;
	if (compresses(insn->mnemonic) && machine->rules.compress_reads_destination)
		return true;
	return merges_destination(machine, insn, operands);
}

static void add_register(const struct sn_machine *machine, const ZydisDecodedInstruction *insn,
			 const ZydisDecodedOperand *operands, unsigned index,
			 const struct sn_x87_stack *x87, struct sn_insn *out)
{
	const ZydisDecodedOperand *operand = &operands[index];
	uint8_t resource = resource_of(operand->reg.value, x87);

	/* no mask */
	if (operand->encoding == ZYDIS_OPERAND_ENCODING_MASK &&
	    operand->reg.value == ZYDIS_REGISTER_K0)
		return;
	if (waits_by_contents(machine, insn, operands, index))
		out->kept_upper = resource;
	else if (operand->actions & ZYDIS_OPERAND_ACTION_MASK_READ)
		add_read(out, resource, SN_ROLE_DATA);
	if (operand->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE) {
		if (destination_is_read(machine, insn, operands, index))
			add_read(out, resource, SN_ROLE_DATA);
		add_write(out, resource);
	}
}

static uint8_t address_resource(ZydisRegister reg)
{
	return reg == ZYDIS_REGISTER_NONE || reg == ZYDIS_REGISTER_RIP || reg == ZYDIS_REGISTER_EIP
		       ? SN_RES_NONE
		       : resource_of(reg, NULL);
}

static void add_memory(const ZydisDecodedOperand *operand, const ZydisDecodedInstruction *insn,
		       struct sn_insn *out)
{
	struct sn_memory_operand memory = {
		.base = address_resource(operand->mem.base),
		.index = address_resource(operand->mem.index),
		.scale = operand->mem.scale,
		.is_rip = operand->mem.base == ZYDIS_REGISTER_RIP,
		.is_segment = operand->mem.segment == ZYDIS_REGISTER_FS ||
			      operand->mem.segment == ZYDIS_REGISTER_GS,
		.displacement = operand->mem.disp.has_displacement ? operand->mem.disp.value : 0,
		.bytes = operand->size / 8,
		.is_load = (operand->actions & ZYDIS_OPERAND_ACTION_MASK_READ) != 0,
		.is_store = (operand->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE) != 0,
	};
	enum sn_role role = SN_ROLE_ADDRESS;

	memory.is_vector_index = memory.index != SN_RES_NONE && memory.index >= SN_RES_VECTOR;
	if (insn->avx.broadcast.mode != ZYDIS_BROADCAST_MODE_INVALID &&
	    !insn->avx.broadcast.is_static && operand->element_size)
		memory.bytes = operand->element_size / 8;
	if (operand->mem.type == ZYDIS_MEMOP_TYPE_AGEN) {
		add_read(out, memory.base, SN_ROLE_DATA);
		add_read(out, memory.index, SN_ROLE_DATA);
		/* base + constant: address.c follows it */
		out->has_immediate = memory.index == SN_RES_NONE && memory.base != SN_RES_NONE;
		out->immediate = memory.displacement;
		out->memory[0] = memory; /* not counted: an address, no access */
		return;
	}
	if (operand->mem.type == ZYDIS_MEMOP_TYPE_MIB ||
	    insn->meta.category == ZYDIS_CATEGORY_PREFETCH ||
	    insn->meta.category == ZYDIS_CATEGORY_NOP ||
	    insn->meta.category == ZYDIS_CATEGORY_WIDENOP)
		memory.is_load = memory.is_store = false;
	if (!memory.is_load)
		role = SN_ROLE_STORE_ADDRESS;
	add_read(out, memory.base, role);
	add_read(out, memory.index, role);
	if ((memory.is_load || memory.is_store) && out->memory_count < 2)
		out->memory[out->memory_count++] = memory;
	else if (insn->meta.category == ZYDIS_CATEGORY_PREFETCH)
		out->memory[0] = memory; /* not counted: nothing waits for it */
}

static void add_flags(const ZydisDecodedInstruction *insn, struct sn_insn *out)
{
	static const ZydisAccessedFlagsMask flags[] = { ZYDIS_CPUFLAG_CF, ZYDIS_CPUFLAG_PF,
							ZYDIS_CPUFLAG_AF, ZYDIS_CPUFLAG_ZF,
							ZYDIS_CPUFLAG_SF, ZYDIS_CPUFLAG_OF };
	ZydisAccessedFlagsMask written;

	if (!insn->cpu_flags)
		return;
	written = insn->cpu_flags->modified | insn->cpu_flags->set_0 | insn->cpu_flags->set_1 |
		  insn->cpu_flags->undefined;
	for (unsigned i = 0; i < 6; i++) {
		if (insn->cpu_flags->tested & flags[i])
			add_read(out, (uint8_t)(SN_RES_FLAG + i), SN_ROLE_DATA);
		if (written & flags[i])
			add_write(out, (uint8_t)(SN_RES_FLAG + i));
	}
}

/* A shift by cl that may be by zero leaves the flags: it reads those it may keep. */
static void add_shift_flags(struct sn_insn *out, ZydisMnemonic mnemonic)
{
	switch (mnemonic) {
	case ZYDIS_MNEMONIC_SHL:
	case ZYDIS_MNEMONIC_SHR:
	case ZYDIS_MNEMONIC_SAR:
	case ZYDIS_MNEMONIC_SHLD:
	case ZYDIS_MNEMONIC_SHRD:
	case ZYDIS_MNEMONIC_ROL:
	case ZYDIS_MNEMONIC_ROR:
		break;
	default:
		return;
	}
	for (unsigned i = 1; i < SN_FORM_OPERANDS_MAX; i++)
		if (sn_form_operand(out->form, i) == SN_KIND_R8)
			for (unsigned flag = 0; flag < 6; flag++)
				if (flag != 2)
					add_read(out, (uint8_t)(SN_RES_FLAG + flag), SN_ROLE_LATE);
}

/* +1: pushes (the top moves down before the write); -1, -2: pops after the operation. */
static int x87_stack_change(ZydisMnemonic mnemonic)
{
	switch (mnemonic) {
	case ZYDIS_MNEMONIC_FLD:
	case ZYDIS_MNEMONIC_FILD:
	case ZYDIS_MNEMONIC_FBLD:
	case ZYDIS_MNEMONIC_FLD1:
	case ZYDIS_MNEMONIC_FLDZ:
	case ZYDIS_MNEMONIC_FLDPI:
	case ZYDIS_MNEMONIC_FLDL2E:
	case ZYDIS_MNEMONIC_FLDL2T:
	case ZYDIS_MNEMONIC_FLDLG2:
	case ZYDIS_MNEMONIC_FLDLN2:
	case ZYDIS_MNEMONIC_FPTAN:
	case ZYDIS_MNEMONIC_FSINCOS:
	case ZYDIS_MNEMONIC_FXTRACT:
		return 1;
	case ZYDIS_MNEMONIC_FSTP:
	case ZYDIS_MNEMONIC_FSTPNCE:
	case ZYDIS_MNEMONIC_FISTP:
	case ZYDIS_MNEMONIC_FISTTP:
	case ZYDIS_MNEMONIC_FBSTP:
	case ZYDIS_MNEMONIC_FADDP:
	case ZYDIS_MNEMONIC_FMULP:
	case ZYDIS_MNEMONIC_FSUBP:
	case ZYDIS_MNEMONIC_FSUBRP:
	case ZYDIS_MNEMONIC_FDIVP:
	case ZYDIS_MNEMONIC_FDIVRP:
	case ZYDIS_MNEMONIC_FCOMP:
	case ZYDIS_MNEMONIC_FCOMIP:
	case ZYDIS_MNEMONIC_FUCOMP:
	case ZYDIS_MNEMONIC_FUCOMIP:
	case ZYDIS_MNEMONIC_FICOMP:
	case ZYDIS_MNEMONIC_FYL2X:
	case ZYDIS_MNEMONIC_FYL2XP1:
	case ZYDIS_MNEMONIC_FPATAN:
		return -1;
	case ZYDIS_MNEMONIC_FCOMPP:
	case ZYDIS_MNEMONIC_FUCOMPP:
		return -2;
	default:
		return 0;
	}
}

/* After this ST(i) is what ST(i + steps) was. */
static void x87_turn(struct sn_x87_stack *x87, unsigned steps)
{
	struct sn_x87_stack old = *x87;

	for (unsigned i = 0; i < 8; i++)
		x87->at[i] = old.at[(i + steps) & 7];
}

/* fld reads the old stack and writes the new top: Zydis names both ST0. */
static void add_x87_push(const ZydisDecodedInstruction *insn, const ZydisDecodedOperand *operands,
			 struct sn_x87_stack *x87, struct sn_insn *out)
{
	for (unsigned i = 0; i < insn->operand_count; i++)
		if (operands[i].type == ZYDIS_OPERAND_TYPE_REGISTER &&
		    (operands[i].actions & ZYDIS_OPERAND_ACTION_MASK_READ))
			add_read(out, resource_of(operands[i].reg.value, x87), SN_ROLE_DATA);
	if (insn->mnemonic == ZYDIS_MNEMONIC_FPTAN || insn->mnemonic == ZYDIS_MNEMONIC_FSINCOS ||
	    insn->mnemonic == ZYDIS_MNEMONIC_FXTRACT)
		add_write(out, (uint8_t)(SN_RES_X87 + x87->at[0]));
	x87_turn(x87, 7);
	add_write(out, (uint8_t)(SN_RES_X87 + x87->at[0]));
}

/* fxch is done in the renamer: two registers change names, nothing waits. */
static void exchange_names(const ZydisDecodedOperand *operands, struct sn_x87_stack *x87,
			   struct sn_insn *out)
{
	ZydisRegister other = operands[1].reg.value == ZYDIS_REGISTER_ST0 ? operands[0].reg.value
									  : operands[1].reg.value;
	unsigned i = (unsigned)ZydisRegisterGetId(other) & 7;
	uint8_t kept = x87->at[0];

	x87->at[0] = x87->at[i];
	x87->at[i] = kept;
	out->read_count = out->write_count = 0;
	out->is_move_eliminated = true;
}

static void note_operands(const ZydisDecodedInstruction *insn, const ZydisDecodedOperand *operands,
			  const struct sn_x87_stack *x87, struct sn_insn *out)
{
	unsigned count = 0;

	memset(out->operands, SN_RES_NONE, sizeof(out->operands));
	out->reads_destination = insn->operand_count_visible &&
				 (operands[0].actions & (ZYDIS_OPERAND_ACTION_MASK_READ)) != 0;
	for (unsigned i = 0; i < insn->operand_count_visible; i++) {
		if (operands[i].encoding == ZYDIS_OPERAND_ENCODING_MASK)
			continue;
		if (operands[i].type == ZYDIS_OPERAND_TYPE_REGISTER)
			out->operands[count] = resource_of(operands[i].reg.value, x87);
		if (++count == SN_FORM_OPERANDS_MAX)
			return;
	}
}

void sn_effects_fill(const struct sn_machine *machine, const ZydisDecodedInstruction *insn,
		     const ZydisDecodedOperand *operands, struct sn_x87_stack *x87,
		     struct sn_insn *out)
{
	int change = x87_stack_change(insn->mnemonic);

	out->kept_upper = SN_RES_NONE;
	out->fills_upper = fills_upper_part(insn, operands);
	note_operands(insn, operands, x87, out);
	for (unsigned i = 0; i < insn->operand_count; i++) {
		const ZydisDecodedOperand *operand = &operands[i];

		if (operand->type == ZYDIS_OPERAND_TYPE_MEMORY)
			add_memory(operand, insn, out);
		else if (operand->type == ZYDIS_OPERAND_TYPE_REGISTER && change <= 0)
			add_register(machine, insn, operands, i, x87, out);
		if (operand->type == ZYDIS_OPERAND_TYPE_IMMEDIATE) {
			out->has_immediate = true;
			out->immediate = operand->imm.is_signed ? operand->imm.value.s
								: (int64_t)operand->imm.value.u;
		}
	}
	if (insn->mnemonic == ZYDIS_MNEMONIC_FXCH)
		exchange_names(operands, x87, out);
	else if (change > 0)
		add_x87_push(insn, operands, x87, out);
	else
		x87_turn(x87, (unsigned)-change);
	add_flags(insn, out);
	add_shift_flags(out, insn->mnemonic);
}
