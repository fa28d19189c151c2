/*
 * Turns a decoded instruction into what the model needs: its row of the machine's table, corrected
 * by rules that no table holds (idioms, fusion, locks, addresses). Neighbours come into play in
 * insn_block.c.
 */
#include "cqa/block/insn.h"

#include <math.h>
#include <string.h>

#include "cqa/block/effects.h"
#include "cqa/block/insn_parts.h"

/* Rows hold fractions of operations, where one of several units takes a share. */
#define ONE_UOP 1.01F /* no more than that is one (rounding) */
#define SEVERAL 1.5F  /* more than that are several (rounding) */
#define NO_UOP	0.2F  /* no more than that is none (rounding) */

static bool same_register_sources(const ZydisDecodedInstruction *insn,
				  const ZydisDecodedOperand *operands)
{
	ZydisRegister first = ZYDIS_REGISTER_NONE;
	unsigned sources = 0;

	for (unsigned i = 0; i < insn->operand_count_visible; i++) {
		if (operands[i].encoding == ZYDIS_OPERAND_ENCODING_MASK)
			continue;
		if (operands[i].type != ZYDIS_OPERAND_TYPE_REGISTER)
			return false;
		if (!(operands[i].actions & ZYDIS_OPERAND_ACTION_MASK_READ))
			continue;
		if (sources++ && operands[i].reg.value != first)
			return false;
		first = operands[i].reg.value;
	}
	return sources >= 2;
}

/* Idioms whose result does not depend on the register. 1: zero, without a unit. 2: all ones or a
 * comparison, with a unit but without waiting. 3: an instruction that reads the carry alone. */
static int idiom_of(const struct sn_machine *machine, const ZydisDecodedInstruction *insn,
		    const ZydisDecodedOperand *operands)
{
	const struct sn_rules *rules = &machine->rules;

	switch (insn->mnemonic) {
	case ZYDIS_MNEMONIC_XOR:
	case ZYDIS_MNEMONIC_SUB:
		if (insn->operand_width < 32)
			return 0;
		/* fall through */
	case ZYDIS_MNEMONIC_PXOR:
	case ZYDIS_MNEMONIC_XORPS:
	case ZYDIS_MNEMONIC_XORPD:
	case ZYDIS_MNEMONIC_PSUBB:
	case ZYDIS_MNEMONIC_PSUBW:
	case ZYDIS_MNEMONIC_PSUBD:
	case ZYDIS_MNEMONIC_PSUBQ:
	case ZYDIS_MNEMONIC_PCMPGTB:
	case ZYDIS_MNEMONIC_PCMPGTW:
	case ZYDIS_MNEMONIC_PCMPGTD:
	case ZYDIS_MNEMONIC_VPXOR:
	case ZYDIS_MNEMONIC_VPXORD:
	case ZYDIS_MNEMONIC_VPXORQ:
	case ZYDIS_MNEMONIC_VXORPS:
	case ZYDIS_MNEMONIC_VXORPD:
	case ZYDIS_MNEMONIC_VPSUBB:
	case ZYDIS_MNEMONIC_VPSUBW:
	case ZYDIS_MNEMONIC_VPSUBD:
	case ZYDIS_MNEMONIC_VPSUBQ:
	case ZYDIS_MNEMONIC_VPCMPGTB:
	case ZYDIS_MNEMONIC_VPCMPGTW:
	case ZYDIS_MNEMONIC_VPCMPGTD:
		return same_register_sources(insn, operands) &&
				       insn->avx.mask.mode <= ZYDIS_MASK_MODE_DISABLED
			       ? 1
			       : 0;
	case ZYDIS_MNEMONIC_KXNORB:
	case ZYDIS_MNEMONIC_KXNORW:
	case ZYDIS_MNEMONIC_KXNORD:
	case ZYDIS_MNEMONIC_KXNORQ:
	case ZYDIS_MNEMONIC_KXORB:
	case ZYDIS_MNEMONIC_KXORW:
	case ZYDIS_MNEMONIC_KXORD:
	case ZYDIS_MNEMONIC_KXORQ:
		return rules->has_mask_idioms && same_register_sources(insn, operands) ? 2 : 0;
	case ZYDIS_MNEMONIC_PCMPGTQ:
	case ZYDIS_MNEMONIC_VPCMPGTQ:
		if (!same_register_sources(insn, operands))
			return 0;
		return rules->compares_quadwords_with_unit ? 2 : 1;
	case ZYDIS_MNEMONIC_PCMPEQB:
	case ZYDIS_MNEMONIC_PCMPEQW:
	case ZYDIS_MNEMONIC_PCMPEQD:
	case ZYDIS_MNEMONIC_PCMPEQQ:
	case ZYDIS_MNEMONIC_VPCMPEQB:
	case ZYDIS_MNEMONIC_VPCMPEQW:
	case ZYDIS_MNEMONIC_VPCMPEQD:
	case ZYDIS_MNEMONIC_VPCMPEQQ:
		return insn->encoding != ZYDIS_INSTRUCTION_ENCODING_EVEX &&
				       same_register_sources(insn, operands)
			       ? 2
			       : 0;
	case ZYDIS_MNEMONIC_SBB: /* reads CF only */
		return rules->has_borrow_idiom && same_register_sources(insn, operands) ? 3 : 0;
	default:
		return 0;
	}
}

static bool is_low_byte(ZydisRegister reg)
{
	return reg != ZYDIS_REGISTER_AH && reg != ZYDIS_REGISTER_CH && reg != ZYDIS_REGISTER_DH &&
	       reg != ZYDIS_REGISTER_BH;
}

static bool is_eliminated_move(const struct sn_machine *machine,
			       const ZydisDecodedInstruction *insn,
			       const ZydisDecodedOperand *operands)
{
	/* EVEX has its mask, be it none, between the two */
	unsigned source = insn->operand_count_visible > 2 &&
					  operands[1].encoding == ZYDIS_OPERAND_ENCODING_MASK
				  ? 2
				  : 1;

	if (insn->operand_count_visible < 2 || operands[0].type != ZYDIS_OPERAND_TYPE_REGISTER ||
	    operands[source].type != ZYDIS_OPERAND_TYPE_REGISTER)
		return false;
	switch (insn->mnemonic) {
	case ZYDIS_MNEMONIC_MOV:
		return machine->rules.eliminates_gpr_moves &&
		       (operands[0].size == 64 || operands[0].size == 32) &&
		       ZydisRegisterGetClass(operands[0].reg.value) != ZYDIS_REGCLASS_SEGMENT &&
		       ZydisRegisterGetClass(operands[1].reg.value) != ZYDIS_REGCLASS_SEGMENT &&
		       /* a move to itself is not eliminated */
		       operands[0].reg.value != operands[1].reg.value;
	case ZYDIS_MNEMONIC_MOVZX:
		return machine->rules.eliminates_byte_extensions &&
		       machine->rules.eliminates_gpr_moves && operands[1].size == 8 &&
		       operands[0].size >= 32 && is_low_byte(operands[1].reg.value) &&
		       ZydisRegisterGetId(operands[0].reg.value) !=
			       ZydisRegisterGetId(operands[1].reg.value);
	case ZYDIS_MNEMONIC_MOVSXD:
		return false;
	case ZYDIS_MNEMONIC_MOVAPS:
	case ZYDIS_MNEMONIC_MOVAPD:
	case ZYDIS_MNEMONIC_MOVUPS:
	case ZYDIS_MNEMONIC_MOVUPD:
	case ZYDIS_MNEMONIC_MOVDQA:
	case ZYDIS_MNEMONIC_MOVDQU:
	case ZYDIS_MNEMONIC_VMOVAPS:
	case ZYDIS_MNEMONIC_VMOVAPD:
	case ZYDIS_MNEMONIC_VMOVUPS:
	case ZYDIS_MNEMONIC_VMOVUPD:
	case ZYDIS_MNEMONIC_VMOVDQA:
	case ZYDIS_MNEMONIC_VMOVDQU:
	case ZYDIS_MNEMONIC_VMOVDQA32:
	case ZYDIS_MNEMONIC_VMOVDQA64:
	case ZYDIS_MNEMONIC_VMOVDQU32:
	case ZYDIS_MNEMONIC_VMOVDQU64:
		return machine->rules.eliminates_vector_moves &&
		       insn->avx.mask.mode <= ZYDIS_MASK_MODE_DISABLED &&
		       ZydisRegisterGetClass(operands[0].reg.value) != ZYDIS_REGCLASS_MMX;
	default:
		return false;
	}
}

static float set_total(const struct sn_insn *insn)
{
	float total = 0;

	for (unsigned i = 0; i < insn->set_count; i++)
		total += insn->sets[i].count;
	return total;
}

void sn_insn_remove_uops(struct sn_insn *insn, uint32_t units, float count)
{
	for (unsigned i = 0; i < insn->set_count; i++) {
		if (insn->sets[i].units != units)
			continue;
		insn->sets[i].count -= count;
		/* a scaled count leaves no rest either */
		if (insn->sets[i].count <= NO_UOP)
			insn->sets[i] = insn->sets[--insn->set_count];
		return;
	}
}

static bool has_memory(const struct sn_insn *insn, bool *loads, bool *stores, bool *indexed)
{
	*loads = *stores = *indexed = false;
	for (unsigned i = 0; i < insn->memory_count; i++) {
		*loads |= insn->memory[i].is_load;
		*stores |= insn->memory[i].is_store;
		*indexed |= insn->memory[i].index != SN_RES_NONE;
	}
	return insn->memory_count > 0;
}

float sn_insn_merging_cycles(const struct sn_rules *rules, const struct sn_insn *insn)
{
	for (unsigned i = 0; i < insn->read_count && insn->write_count; i++)
		if (insn->reads[i].role == SN_ROLE_DATA &&
		    insn->reads[i].resource == insn->writes[0])
			return insn->is_vector ? rules->load_merge_latency_vector
					       : rules->load_merge_latency;
	return 0;
}

static bool extends_sign(const struct sn_insn *insn)
{
	return sn_form_mnemonic(insn->form) == ZYDIS_MNEMONIC_MOVSX ||
	       sn_form_mnemonic(insn->form) == ZYDIS_MNEMONIC_MOVSXD;
}

/* The table's latency of a memory form includes the load; the register form tells the rest. */
static void split_latency(const struct sn_machine *machine, struct sn_insn *insn)
{
	static const enum sn_form_kind general[] = { SN_KIND_R8, SN_KIND_R16, SN_KIND_R32,
						     SN_KIND_R64 };
	const struct sn_row *register_row = NULL;
	sn_form form = insn->form & ~((uint64_t)3 << 44);
	float load = machine->rules.load_latency, extension = 0;

	insn->latency = insn->row->latency;
	insn->load_latency = 0;
	if (!insn->row->loads || !insn->memory_count || !insn->memory[0].is_load)
		return;
	if (insn->is_vector)
		load = machine->rules.vector_load_latency[insn->operand_bytes >= 64   ? 2
							  : insn->operand_bytes >= 32 ? 1
										      : 0];
	for (unsigned i = 0; i < SN_FORM_OPERANDS_MAX; i++) {
		enum sn_form_kind kind = sn_form_operand(form, i);

		if (kind >= SN_KIND_B16 && kind <= SN_KIND_B64)
			kind = insn->operand_bytes >= 64   ? SN_KIND_M512
			       : insn->operand_bytes >= 32 ? SN_KIND_M256
							   : SN_KIND_M128;
		if (!sn_kind_is_memory(kind))
			continue;
		if (kind == SN_KIND_M256 || kind == SN_KIND_M512)
			kind = kind == SN_KIND_M256 ? SN_KIND_Y : SN_KIND_Z;
		else if (insn->isa == ZYDIS_ISA_EXT_X87)
			kind = SN_KIND_ST;
		else if (insn->is_vector || kind == SN_KIND_M128)
			kind = SN_KIND_X;
		else if (kind <= SN_KIND_M64)
			kind = general[kind - SN_KIND_M8];
		form = sn_form_with_operand(form, i, kind);
	}
	if (extends_sign(insn))
		extension = insn->row->latency - load;
	register_row = sn_machine_row_exact(machine, form);
	if (!register_row)
		register_row = sn_machine_row_exact(machine, sn_form_without_mask(form));
	insn->load_latency = load;
	if (set_total(insn) <= ONE_UOP && !insn->row->stores && insn->row->divider_cycles <= 0)
		/* a plain load */
		insn->latency = fmaxf(sn_insn_merging_cycles(&machine->rules, insn), extension);
	else if (register_row)
		insn->latency = register_row->latency;
	else
		insn->latency = insn->row->latency > load ? insn->row->latency - load : 1;
}

/* Operations of a load and its arithmetic, and of a store's address and data, travel as one until
 * the renamer. With an index register some forms split there. */
static void micro_fuse(const struct sn_machine *machine, struct sn_insn *insn)
{
	float total = set_total(insn);
	bool loads, stores, indexed, rmw_destination;

	has_memory(insn, &loads, &stores, &indexed);
	if (insn->row->uops > total && !loads && !stores)
		total = insn->row->uops;
	insn->fused_uops = total;
	if (insn->memory_count == 1 && insn->memory[0].is_vector_index) {
		/* gathers and scatters are microcoded, nothing fuses */
	} else {
		if (loads && total > SEVERAL)
			insn->fused_uops -= 1;
		if (stores)
			insn->fused_uops -= 1;
	}
	if (insn->fused_uops < 1)
		insn->fused_uops = 1;
	insn->issued_uops = insn->fused_uops;
	rmw_destination = insn->read_count > 0 && insn->write_count > 0 &&
			  insn->reads[0].resource == insn->writes[0] && !insn->is_estimated &&
			  sn_form_operand(insn->form, 2) == SN_KIND_NONE;
	if (machine->rules.unlaminates && indexed && loads && total > SEVERAL && !stores &&
	    !insn->memory[0].is_vector_index) {
		bool compares = insn->write_count > 0 && insn->writes[0] >= SN_RES_FLAG;

		if (!rmw_destination || compares)
			insn->issued_uops += 1;
	}
	if (machine->rules.unlaminates && indexed && loads && stores) {
		insn->issued_uops += 1;
		insn->fused_uops += machine->rules.caches_updates_split;
	}
}

/* A store whose address has an index cannot use the simple address unit. */
static void restrict_store_address(const struct sn_machine *machine, struct sn_insn *insn)
{
	bool loads, stores, indexed;

	has_memory(insn, &loads, &stores, &indexed);
	if (!machine->rules.simple_store_address_unit || !stores || !indexed)
		return;
	for (unsigned i = 0; i < insn->set_count; i++)
		if (insn->sets[i].units == machine->store_address_units)
			insn->sets[i].units &= machine->load_units;
}

static void apply_stack_engine(const struct sn_machine *machine, struct sn_insn *insn)
{
	switch (insn->category) {
	case ZYDIS_CATEGORY_PUSH:
	case ZYDIS_CATEGORY_POP:
	case ZYDIS_CATEGORY_CALL:
	case ZYDIS_CATEGORY_RET:
		break;
	default:
		return;
	}
	if (sn_form_mnemonic(insn->form) != ZYDIS_MNEMONIC_PUSH &&
	    sn_form_mnemonic(insn->form) != ZYDIS_MNEMONIC_POP &&
	    sn_form_mnemonic(insn->form) != ZYDIS_MNEMONIC_CALL &&
	    sn_form_mnemonic(insn->form) != ZYDIS_MNEMONIC_RET)
		return;
	insn->is_stack_engine = true;
	if (machine->rules.rows_move_stack_pointer)
		sn_insn_remove_uops(insn, machine->alu_units, 1);
	insn->latency = 0;
	if (sn_form_mnemonic(insn->form) == ZYDIS_MNEMONIC_PUSH ||
	    sn_form_mnemonic(insn->form) == ZYDIS_MNEMONIC_CALL)
		insn->rsp_change_bytes = insn->operand_bytes == 2 ? -2 : -8;
	else
		insn->rsp_change_bytes = insn->operand_bytes == 2 ? 2 : 8;
}

/* A locked read-modify-write holds the core up as an exchange with memory does, which is always
 * locked. Both wait until the stores before have left, and later operations wait for them. */
static void charge_lock(const struct sn_machine *machine, struct sn_insn *insn)
{
	bool is_exchange = sn_form_mnemonic(insn->form) == ZYDIS_MNEMONIC_XCHG;
	const struct sn_row *row;
	sn_form form;

	if ((!(insn->form >> 44 & 1) && !is_exchange) || !insn->memory_count ||
	    !insn->memory[0].is_store || !sn_form_parse("xchg m64,r64", 12, &form))
		return;
	row = sn_machine_row_exact(machine, form);
	if (row)
		insn->divider_cycles =
			fmaxf(insn->divider_cycles, fmaxf(row->latency, row->divider_cycles));
}

/* The latency from the register that keeps what the instruction does not replace; 0: as from all.
 */
static float merge_latency(const struct sn_machine *machine, const struct sn_insn *insn)
{
	const char *name = ZydisMnemonicGetString(sn_form_mnemonic(insn->form));

	if (insn->memory_count && insn->memory[0].is_vector_index)
		return machine->rules.gather_merge_latency;
	if (!insn->memory_count && strncmp(name + (name[0] == 'v'), "pinsr", 5) == 0)
		return machine->rules.insert_merge_latency;
	return 0;
}

/* What a conditional move waits longer for its flags. */
static int8_t flag_cycles(const struct sn_rules *rules, const struct sn_insn *insn)
{
	unsigned flags = 0;
	bool has_carry = false;

	for (unsigned i = 0; i < insn->read_count; i++) {
		flags += insn->reads[i].resource >= SN_RES_FLAG;
		has_carry |= insn->reads[i].resource == SN_RES_FLAG;
	}
	if (flags < 2 || insn->category != ZYDIS_CATEGORY_CMOV)
		return 0;
	return (int8_t)(rules->two_flag_move_cycles + (has_carry ? rules->carry_move_cycles : 0));
}

/* Operands from which the result takes longer, or less long, than the row says. */
static void adjust_reads(const struct sn_machine *machine, struct sn_insn *insn)
{
	float merge = merge_latency(machine, insn);
	int8_t late_flags = flag_cycles(&machine->rules, insn);

	if (machine->rules.early_lea_index && sn_form_mnemonic(insn->form) == ZYDIS_MNEMONIC_LEA &&
	    sn_form_operand(insn->form, 1) == SN_KIND_A3 && insn->read_count == 2)
		insn->reads[1].delay_cycles = -1;
	for (unsigned i = 0; i < insn->read_count; i++) {
		struct sn_read *read = &insn->reads[i];

		if (read->resource >= SN_RES_FLAG && late_flags)
			read->delay_cycles = late_flags;
		else if (read->resource >= SN_RES_MASK && read->resource < SN_RES_X87 &&
			 insn->is_512)
			read->delay_cycles = machine->rules.wide_mask_cycles;
		else if (merge > 0 && read->resource >= SN_RES_VECTOR &&
			 read->resource < SN_RES_MASK && read->role == SN_ROLE_DATA &&
			 insn->latency > merge)
			read->delay_cycles = (int8_t)(merge - insn->latency);
	}
}

static void drop_reads(struct sn_insn *insn, bool keep_flags)
{
	uint8_t kept = 0;

	for (unsigned i = 0; i < insn->read_count; i++)
		if (keep_flags && insn->reads[i].resource >= SN_RES_FLAG)
			insn->reads[kept++] = insn->reads[i];
	insn->read_count = kept;
}

static void find_widths(const ZydisDecodedInstruction *decoded, const ZydisDecodedOperand *operands,
			struct sn_insn *insn)
{
	for (unsigned i = 0; i < decoded->operand_count_visible; i++) {
		ZydisRegisterClass class = ZydisRegisterGetClass(operands[i].reg.value);

		if (operands[i].type != ZYDIS_OPERAND_TYPE_REGISTER ||
		    operands[i].encoding == ZYDIS_OPERAND_ENCODING_MASK)
			continue;
		if (class >= ZYDIS_REGCLASS_X87 && class <= ZYDIS_REGCLASS_ZMM)
			insn->is_vector = true;
		insn->is_mmx |= class == ZYDIS_REGCLASS_MMX;
		if (class == ZYDIS_REGCLASS_ZMM)
			insn->is_512 = true;
		if (operands[i].size / 8 > insn->operand_bytes)
			insn->operand_bytes = (uint8_t)(operands[i].size / 8);
		if (!insn->element_bytes && class >= ZYDIS_REGCLASS_X87 &&
		    class <= ZYDIS_REGCLASS_ZMM)
			insn->element_bytes = (uint8_t)(operands[i].element_size / 8);
	}
	if (decoded->meta.isa_ext == ZYDIS_ISA_EXT_X87)
		insn->is_vector = true;
	if (!insn->operand_bytes)
		insn->operand_bytes = (uint8_t)(decoded->operand_width / 8);
	for (unsigned i = 0; i < 2; i++)
		if (decoded->raw.imm[i].size)
			insn->immediate_bytes =
				(uint8_t)(insn->immediate_bytes + decoded->raw.imm[i].size / 8);
}

static void apply_idioms(const struct sn_machine *machine, const ZydisDecodedInstruction *decoded,
			 const ZydisDecodedOperand *operands, struct sn_insn *insn)
{
	int idiom = idiom_of(machine, decoded, operands);

	if (idiom) {
		drop_reads(insn, idiom == 3);
		insn->is_idiom = idiom == 1;
		insn->is_constant = idiom < 3;
		if (idiom == 1) {
			insn->set_count = 0;
			insn->latency = 0;
		}
	} else if (is_eliminated_move(machine, decoded, operands)) {
		insn->is_move_eliminated = true;
	}
	if (insn->is_move_eliminated) {
		insn->set_count = 0;
		insn->latency = 0;
	}
}

static void rotate_by_one(const struct sn_machine *machine, const ZydisDecodedInstruction *decoded,
			  const ZydisDecodedOperand *operands, struct sn_insn *insn)
{
	if (!machine->rules.fast_carry_rotates ||
	    (decoded->mnemonic != ZYDIS_MNEMONIC_RCL && decoded->mnemonic != ZYDIS_MNEMONIC_RCR) ||
	    operands[0].type != ZYDIS_OPERAND_TYPE_REGISTER ||
	    operands[1].type != ZYDIS_OPERAND_TYPE_IMMEDIATE || operands[1].imm.value.u != 1)
		return;
	insn->set_count = 1;
	insn->sets[0] = (struct sn_unit_set){ machine->alu_units, 1 };
	insn->latency = 1;
	insn->fused_uops = insn->issued_uops = 1;
}

/* The high half of a product comes a cycle after the low one. */
static void find_late_half(const struct sn_machine *machine, const ZydisDecodedInstruction *decoded,
			   struct sn_insn *insn)
{
	enum { RDX = 2 }; /* by definition */
	bool is_product = (decoded->mnemonic == ZYDIS_MNEMONIC_MUL ||
			   decoded->mnemonic == ZYDIS_MNEMONIC_IMUL) &&
			  decoded->operand_count_visible == 1 && decoded->operand_width > 8;

	insn->late_write = SN_RES_NONE;
	if (!machine->rules.high_half_is_late)
		return;
	if (decoded->mnemonic == ZYDIS_MNEMONIC_MULX && insn->write_count)
		insn->late_write = insn->operands[0];
	else if (is_product)
		insn->late_write = RDX;
}

/* lea by what its address is made of: its form has only the number of terms. */
static void adjust_lea(const struct sn_machine *machine, const ZydisDecodedInstruction *decoded,
		       struct sn_insn *insn)
{
	const struct sn_memory_operand *address = &insn->memory[0];
	bool has_base = address->base != SN_RES_NONE && !address->is_rip;
	bool has_index = address->index != SN_RES_NONE;

	if (decoded->mnemonic != ZYDIS_MNEMONIC_LEA)
		return;
	if (has_index && address->scale > 1 && machine->rules.scaled_lea_latency > 0)
		insn->latency = machine->rules.scaled_lea_latency;
	if (has_base && !has_index && decoded->operand_width == 64 &&
	    machine->rules.adds_constants_at_rename) {
		insn->latency = 0;
		insn->set_count = 0;
	}
}

void sn_insn_fill(const struct sn_machine *machine, const ZydisDecodedInstruction *decoded,
		  const ZydisDecodedOperand *operands, struct sn_x87_stack *x87,
		  struct sn_insn *insn)
{
	memset(insn, 0, sizeof(*insn));
	insn->length = decoded->length;
	insn->category = decoded->meta.category;
	insn->isa = decoded->meta.isa_ext;
	insn->form = sn_form_of(decoded, operands);
	insn->row = sn_machine_row(machine, insn->form, &insn->is_estimated);
	insn->set_count = insn->row->set_count;
	memcpy(insn->sets, insn->row->sets, sizeof(insn->sets));
	insn->divider_cycles = insn->row->divider_cycles;
	find_widths(decoded, operands, insn);
	sn_effects_fill(machine, decoded, operands, x87, insn);
	split_latency(machine, insn);
	charge_lock(machine, insn);
	adjust_reads(machine, insn);
	apply_stack_engine(machine, insn);
	apply_idioms(machine, decoded, operands, insn);
	restrict_store_address(machine, insn);
	if (insn->category == ZYDIS_CATEGORY_NOP || insn->category == ZYDIS_CATEGORY_WIDENOP)
		insn->set_count = 0;
	insn->is_conditional = insn->category == ZYDIS_CATEGORY_COND_BR;
	insn->is_branch = insn->is_conditional || insn->category == ZYDIS_CATEGORY_UNCOND_BR;
	insn->is_call = insn->category == ZYDIS_CATEGORY_CALL;
	insn->has_length_prefix = (decoded->attributes & ZYDIS_ATTRIB_HAS_OPERANDSIZE) &&
				  decoded->raw.imm[0].size == 16 &&
				  decoded->encoding == ZYDIS_INSTRUCTION_ENCODING_LEGACY;
	if (machine->rules.micro_fuses)
		micro_fuse(machine, insn);
	else
		insn->fused_uops = insn->issued_uops = insn->row->uops > 1 ? insn->row->uops : 1;
	if (machine->rules.caches_doubles && insn->fused_uops <= 2)
		insn->fused_uops = 1;
	rotate_by_one(machine, decoded, operands, insn);
	adjust_lea(machine, decoded, insn);
	insn->needs_complex_decoder = insn->fused_uops > 1;
	find_late_half(machine, decoded, insn);
	sn_insn_read_name(insn);
}
