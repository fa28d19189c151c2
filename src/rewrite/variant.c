/*
 * How each variant changes an instruction. What decides where the loop goes on stays as it is in all of
 * them. docs/method/variants.md tells what each is for.
 */
#include <string.h>

#include "rewrite/variant_parts.h"

enum { RSP = 4, LINE_BYTES = 64, NOP_MAX = 15 };

/* ---- registers ---- */

static ZydisRegister gpr_of(int number, unsigned bytes)
{
	switch (bytes) {
	case 1:
		return (ZydisRegister)(number < 4   ? ZYDIS_REGISTER_AL + number
				       : number < 8 ? ZYDIS_REGISTER_SPL + number - 4
						    : ZYDIS_REGISTER_R8B + number - 8);
	case 2:
		return (ZydisRegister)(ZYDIS_REGISTER_AX + number);
	case 4:
		return (ZydisRegister)(ZYDIS_REGISTER_EAX + number);
	default:
		return (ZydisRegister)(ZYDIS_REGISTER_RAX + number);
	}
}

static ZydisRegister vector_of(int number, unsigned bytes)
{
	return (ZydisRegister)((bytes > 32   ? ZYDIS_REGISTER_ZMM0
				: bytes > 16 ? ZYDIS_REGISTER_YMM0
					     : ZYDIS_REGISTER_XMM0) +
			       number);
}

/* A register that is not among `used`, other than `not_this`; -1: none. */
static int pick(uint64_t used, int first, int count, int not_this)
{
	for (int i = count; i-- > 0;)
		if (!(used & 1ULL << (first + i)) && i != not_this && (first || i != RSP))
			return i;
	return -1;
}

/* Registers that are still named once addresses are replaced. */
static uint64_t named_without_addresses(const struct rw_body *body)
{
	uint64_t named = 0;

	for (size_t i = 0; i < body->nest->insns.count; i++) {
		const struct rw_action *action = &body->actions[i];

		named |= action->effect.writes;
		if (action->is_control || action->memory < 0 || action->is_recurrent) {
			named |= action->effect.reads;
			continue;
		}
		for (unsigned o = 0; o < action->insn.operand_count; o++)
			if (action->operands[o].type == ZYDIS_OPERAND_TYPE_REGISTER &&
			    sn_gpr_number(action->operands[o].reg.value) >= 0)
				named |= 1ULL << sn_gpr_number(action->operands[o].reg.value);
	}
	return named;
}

const char sn_loop_without_memory[] = "it has no loads or stores";
const char sn_loop_without_arithmetic[] = "it has no arithmetic";

static const char *check(const struct rw_body *body, enum sn_decan_variant kind)
{
	switch (kind) {
	case SN_VARIANT_LS:
		if (!body->has_memory)
			return sn_loop_without_memory;
		if (body->may_alias)
			return "what it stores may decide where it loads or goes on";
		return body->has_x87 ? "it has x87 or MMX instructions" : NULL;
	case SN_VARIANT_FP:
		if (!body->has_floats)
			return "it has no floating-point arithmetic";
		return body->has_x87 ? "it has x87 or MMX instructions" : NULL;
	case SN_VARIANT_ARITH:
		if (body->has_floats)
			return "it has floating-point arithmetic, so FP says it";
		if (!body->has_integers)
			return sn_loop_without_arithmetic;
		return body->has_x87 ? "it has x87 or MMX instructions" : NULL;
	case SN_VARIANT_DL1:
		if (!body->has_memory)
			return sn_loop_without_memory;
		if (body->has_unclear_recurrence)
			return "where it loads depends on what it has loaded or stored before";
		if (body->cells > SN_PLAN_CELLS_MAX)
			return "it has more operands at fixed places than there is room for";
		return body->has_x87 ? "it has x87 or MMX instructions" : NULL;
	default:
		return NULL;
	}
}

const char *rw_variant_begin(struct rw_variant *variant, const struct rw_body *body,
			     struct rw_pieces *pieces, unsigned code)
{
	enum sn_decan_variant kind = sn_variant_of_code(code);
	const char *why = check(body, kind);
	uint64_t used = kind == SN_VARIANT_LS	 ? body->needed
			: kind == SN_VARIANT_DL1 ? named_without_addresses(body)
						 : body->used;

	*variant = (struct rw_variant){ .body = body, .pieces = pieces, .kind = kind };
	variant->lines_ahead = (int)sn_variant_lines_ahead(code);
	variant->gpr = pick(used, 0, 16, -1);
	variant->second_gpr = pick(used, 0, 16, variant->gpr);
	variant->vector = pick(used, RW_VECTOR, 16, -1);
	if (variant->second_gpr == variant->gpr)
		variant->second_gpr = -1;
	if (!why && kind == SN_VARIANT_DL1 && variant->gpr < 0)
		why = "no general register is free";
	if (!why && kind == SN_VARIANT_FP && variant->vector < 0)
		why = "no vector register is free";
	return why;
}

/* ---- small pieces ---- */

static ZydisEncoderOperand reg_operand(ZydisRegister reg)
{
	return (ZydisEncoderOperand){ .type = ZYDIS_OPERAND_TYPE_REGISTER, .reg.value = reg };
}

static bool put2(struct rw_pieces *pieces, ZydisMnemonic mnemonic, ZydisEncoderOperand to,
		 ZydisEncoderOperand from)
{
	ZydisEncoderRequest request = { .machine_mode = ZYDIS_MACHINE_MODE_LONG_64,
					.mnemonic = mnemonic,
					.operand_count = 2,
					.operands = { to, from } };

	return rw_put_request(pieces, &request);
}

static bool put_constant(struct rw_pieces *pieces, int gpr, uint32_t value)
{
	return put2(pieces, ZYDIS_MNEMONIC_MOV, reg_operand(gpr_of(gpr, 4)),
		    (ZydisEncoderOperand){ .type = ZYDIS_OPERAND_TYPE_IMMEDIATE, .imm.u = value });
}

/* mov rax, fs:[word] */
static void put_load_word(struct rw_pieces *pieces, enum sn_plan_thread_word word)
{
	static const uint8_t load[] = { 0x64, 0x48, 0x8b, 0x04, 0x25, 0, 0, 0, 0 };

	rw_put_field(pieces, load, sizeof(load), 5, SN_PLAN_THREAD, word);
}

static void fail(struct rw_variant *variant, const char *why)
{
	if (!variant->why)
		variant->why = why;
}

/* The register gets an address at which, by the loop's own load, it is itself. */
static void put_list(struct rw_variant *variant, const struct rw_action *action)
{
	int64_t at = SN_PLAN_LISTS + LINE_BYTES * (int64_t)action->cell;
	const ZydisDecodedOperand *from = &action->operands[action->memory];
	int64_t offset = from->mem.disp.has_displacement ? from->mem.disp.value : 0;
	ZydisEncoderOperand reg = reg_operand(gpr_of(action->cell, 8));
	ZydisEncoderOperand memory = {
		.type = ZYDIS_OPERAND_TYPE_MEMORY,
		.mem = { .base = gpr_of(variant->gpr, 8), .displacement = at - offset, .size = 8 }
	};
	bool done = put2(variant->pieces, ZYDIS_MNEMONIC_LEA, reg, memory);

	memory.mem.displacement = at;
	if (!done || !put2(variant->pieces, ZYDIS_MNEMONIC_MOV, memory, reg))
		fail(variant, "one of its instructions has no other form");
}

void rw_variant_put_entry(struct rw_variant *variant)
{
	struct rw_pieces *pieces = variant->pieces;
	const struct rw_body *body = variant->body;
	bool keeps_values = variant->kind == SN_VARIANT_FP || variant->kind == SN_VARIANT_ARITH;

	put_load_word(pieces, SN_PLAN_WORD_CONTEXT);
	if (keeps_values && variant->vector >= 0) {
		ZydisEncoderOperand values = { .type = ZYDIS_OPERAND_TYPE_MEMORY,
					       .mem = { .base = ZYDIS_REGISTER_RAX,
							.displacement = SN_PLAN_VALUES,
							.size = body->has_vex ? 32 : 16 } };

		put2(pieces, body->has_vex ? ZYDIS_MNEMONIC_VMOVUPS : ZYDIS_MNEMONIC_MOVUPS,
		     reg_operand(vector_of(variant->vector, values.mem.size)), values);
	}
	if (keeps_values && variant->gpr > 0)
		put_constant(pieces, variant->gpr, (uint32_t)SN_PLAN_VALUE);
	if (keeps_values && variant->second_gpr > 0)
		put_constant(pieces, variant->second_gpr, (uint32_t)SN_PLAN_VALUE);
	if (variant->kind == SN_VARIANT_DL1 && variant->gpr > 0)
		put2(pieces, ZYDIS_MNEMONIC_MOV, reg_operand(gpr_of(variant->gpr, 8)),
		     reg_operand(ZYDIS_REGISTER_RAX));
	if (variant->kind != SN_VARIANT_DL1 || variant->gpr != 0)
		put_load_word(pieces, SN_PLAN_WORD_RAX);
	for (size_t i = 0; variant->kind == SN_VARIANT_DL1 && i < body->nest->insns.count; i++)
		if (body->actions[i].is_list)
			put_list(variant, &body->actions[i]);
		else if (body->actions[i].is_recurrent)
			put_constant(pieces, body->actions[i].cell, 0);
}

static unsigned memory_bytes(const struct rw_action *action)
{
	return action->operands[action->memory].size / 8;
}

static bool is_vector(const ZydisDecodedOperand *operand)
{
	return operand->type == ZYDIS_OPERAND_TYPE_REGISTER &&
	       operand->reg.value >= ZYDIS_REGISTER_XMM0 &&
	       operand->reg.value <= ZYDIS_REGISTER_ZMM31;
}

static bool is_gpr(const ZydisDecodedOperand *operand)
{
	return operand->type == ZYDIS_OPERAND_TYPE_REGISTER &&
	       sn_gpr_number(operand->reg.value) >= 0;
}

/* ---- FES ---- */

static void put_nop(struct rw_pieces *pieces, unsigned length)
{
	static const uint8_t nops[9][9] = {
		{ 0x90 },
		{ 0x66, 0x90 },
		{ 0x0f, 0x1f, 0x00 },
		{ 0x0f, 0x1f, 0x40, 0x00 },
		{ 0x0f, 0x1f, 0x44, 0x00, 0x00 },
		{ 0x66, 0x0f, 0x1f, 0x44, 0x00, 0x00 },
		{ 0x0f, 0x1f, 0x80, 0x00, 0x00, 0x00, 0x00 },
		{ 0x0f, 0x1f, 0x84, 0x00, 0x00, 0x00, 0x00, 0x00 },
		{ 0x66, 0x0f, 0x1f, 0x84, 0x00, 0x00, 0x00, 0x00, 0x00 },
	};
	uint8_t bytes[NOP_MAX] = { 0 };
	unsigned prefixes = length > 9 ? length - 9 : 0;

	memset(bytes, 0x66, prefixes);
	memcpy(bytes + prefixes, nops[length - prefixes - 1], length - prefixes);
	rw_put(pieces, bytes, length);
}

/* ---- FP, ARITH ---- */

/* A move from a register: it begins anew what the load would begin, and takes no unit. */
static void put_value(struct rw_variant *variant, const struct rw_action *action)
{
	const ZydisDecodedOperand *to = &action->operands[0];
	unsigned bytes = to->size / 8;
	bool done = false;

	if (is_vector(to) && variant->vector >= 0)
		done = put2(variant->pieces,
			    action->is_vex ? ZYDIS_MNEMONIC_VMOVAPS : ZYDIS_MNEMONIC_MOVAPS,
			    reg_operand(to->reg.value),
			    reg_operand(vector_of(variant->vector, bytes)));
	else if (is_gpr(to) && variant->gpr >= 0)
		done = put2(variant->pieces, ZYDIS_MNEMONIC_MOV, reg_operand(to->reg.value),
			    reg_operand(bytes == 1 && variant->gpr >= 4 &&
							to->reg.value >= ZYDIS_REGISTER_AH &&
							to->reg.value <= ZYDIS_REGISTER_BH
						? ZYDIS_REGISTER_AL
						: gpr_of(variant->gpr, bytes)));
	else if (is_gpr(to))
		done = put2(variant->pieces, ZYDIS_MNEMONIC_MOV, reg_operand(to->reg.value),
			    (ZydisEncoderOperand){ .type = ZYDIS_OPERAND_TYPE_IMMEDIATE,
						   .imm.u = bytes > 2 ? 0x428c59fb : 0x5b });
	if (!done)
		fail(variant, "one of its loads has no other form");
}

/* Whether the memory operand stands for a general register. */
static bool stands_for_gpr(const struct rw_action *action)
{
	switch (action->insn.mnemonic) {
	case ZYDIS_MNEMONIC_CVTSI2SD:
	case ZYDIS_MNEMONIC_CVTSI2SS:
	case ZYDIS_MNEMONIC_VCVTSI2SD:
	case ZYDIS_MNEMONIC_VCVTSI2SS:
	case ZYDIS_MNEMONIC_VCVTUSI2SD:
	case ZYDIS_MNEMONIC_VCVTUSI2SS:
	case ZYDIS_MNEMONIC_PINSRB:
	case ZYDIS_MNEMONIC_PINSRW:
	case ZYDIS_MNEMONIC_PINSRD:
	case ZYDIS_MNEMONIC_PINSRQ:
	case ZYDIS_MNEMONIC_VPINSRB:
	case ZYDIS_MNEMONIC_VPINSRW:
	case ZYDIS_MNEMONIC_VPINSRD:
	case ZYDIS_MNEMONIC_VPINSRQ:
		return true;
	default:
		break;
	}
	for (unsigned i = 0; i < action->insn.operand_count_visible; i++)
		if (is_vector(&action->operands[i]))
			return false;
	return true;
}

static void put_arithmetic(struct rw_variant *variant, const struct rw_action *action)
{
	unsigned bytes = memory_bytes(action);
	bool is_general = stands_for_gpr(action);
	ZydisRegister reg = ZYDIS_REGISTER_NONE;

	if (action->insn.avx.broadcast.mode != ZYDIS_BROADCAST_MODE_INVALID &&
	    !action->insn.avx.broadcast.is_static)
		bytes = action->insn.avx.vector_length / 8;
	if (is_general && variant->gpr >= 0)
		reg = gpr_of(variant->gpr, bytes < 4 && action->insn.operand_count_visible > 1 &&
							   is_vector(&action->operands[0])
						   ? 4
						   : bytes);
	else if (!is_general && variant->vector >= 0)
		reg = vector_of(variant->vector, bytes);
	if (reg == ZYDIS_REGISTER_NONE)
		fail(variant,
		     is_general ? "no general register is free" : "no vector register is free");
	else if (!rw_put_with_register(variant->pieces, action, reg))
		fail(variant, "one of its instructions has no form without memory");
}

static void put_without_memory(struct rw_variant *variant, const struct rw_action *action)
{
	if (action->is_prefetch || (action->is_store && !action->is_load))
		return;
	if (action->is_store) { /* a register of its own takes the place in memory */
		if (variant->second_gpr >= 0 &&
		    !rw_put_with_register(variant->pieces, action,
					  gpr_of(variant->second_gpr, memory_bytes(action))))
			fail(variant, "one of its instructions has no form without memory");
		return;
	}
	if (action->is_move)
		put_value(variant, action);
	else
		put_arithmetic(variant, action);
}

/* ---- LS ---- */

static bool put_memory_form(struct rw_variant *variant, const struct rw_insn *insn,
			    const struct rw_action *action, ZydisMnemonic mnemonic,
			    ZydisRegister reg, bool is_store)
{
	ZydisEncoderRequest like;
	ZydisEncoderOperand memory;

	/* the address as the encoder wants it */
	if (!ZYAN_SUCCESS(ZydisEncoderDecodedInstructionToEncoderRequest(
		    &action->insn, action->operands, action->insn.operand_count_visible, &like)))
		return false;
	memory = like.operands[action->memory];
	memory.mem.size = (uint16_t)memory_bytes(action);
	ZydisEncoderRequest request = { .machine_mode = ZYDIS_MACHINE_MODE_LONG_64,
					.mnemonic = mnemonic,
					.operand_count = 2,
					.prefixes = like.prefixes & ZYDIS_ATTRIB_HAS_SEGMENT };
	uint8_t bytes[ZYDIS_MAX_INSTRUCTION_LENGTH];
	ZyanUSize length = sizeof(bytes);

	request.operands[is_store ? 0 : 1] = memory;
	request.operands[is_store ? 1 : 0] = reg_operand(reg);
	if (memory.mem.base != ZYDIS_REGISTER_RIP)
		return rw_put_request(variant->pieces, &request);
	request.operands[is_store ? 0 : 1].mem.displacement = 0x11223344;
	if (!ZYAN_SUCCESS(ZydisEncoderEncodeInstruction(&request, bytes, &length)))
		return false;
	/* no immediate: the displacement is last */
	rw_put_field(variant->pieces, bytes, length, length - 4, SN_PLAN_PC,
		     (int64_t)insn->link_addr + insn->length +
			     action->operands[action->memory].mem.disp.value - 4);
	return true;
}

static bool has_mask(const struct rw_action *action)
{
	return action->insn.avx.mask.reg > ZYDIS_REGISTER_K0;
}

/* Loads and stores back as many bytes, by what register there is. */
static bool put_silent(struct rw_variant *variant, const struct rw_insn *insn,
		       const struct rw_action *action)
{
	unsigned bytes = memory_bytes(action);
	bool is_vex = action->is_vex || variant->body->has_vex;
	ZydisMnemonic mnemonic = ZYDIS_MNEMONIC_MOV;
	ZydisRegister reg = ZYDIS_REGISTER_NONE;
	bool is_small = bytes == 1 || bytes == 2 || bytes == 4 || bytes == 8;
	bool from_vector = is_vector(&action->operands[action->insn.operand_count_visible - 1u]);

	if (has_mask(action))
		return false;
	if (is_small && variant->gpr >= 0 && !(bytes >= 4 && from_vector && variant->vector >= 0)) {
		reg = gpr_of(variant->gpr, bytes);
	} else if (bytes >= 4 && variant->vector >= 0) {
		reg = vector_of(variant->vector, bytes);
		mnemonic = bytes == 4	? (is_vex ? ZYDIS_MNEMONIC_VMOVSS : ZYDIS_MNEMONIC_MOVSS)
			   : bytes == 8 ? (is_vex ? ZYDIS_MNEMONIC_VMOVSD : ZYDIS_MNEMONIC_MOVSD)
			   : is_vex	? ZYDIS_MNEMONIC_VMOVUPS
					: ZYDIS_MNEMONIC_MOVUPS;
		is_small = bytes == 4 || bytes == 8 || bytes == 16 || bytes == 32 || bytes == 64;
	}
	return reg != ZYDIS_REGISTER_NONE && is_small &&
	       put_memory_form(variant, insn, action, mnemonic, reg, false) &&
	       put_memory_form(variant, insn, action, mnemonic, reg, true);
}

static bool is_masked(const struct rw_action *action)
{
	return action->insn.operand_count_visible > 2;
}

/* The same mask for both. */
static bool put_silent_masked(struct rw_variant *variant, const struct rw_action *action)
{
	unsigned last = action->insn.operand_count_visible - 1u;
	ZydisEncoderRequest store, load;
	ZydisEncoderOperand reg;

	if (variant->vector < 0 || action->memory != 0 || !is_vector(&action->operands[last]) ||
	    !action->is_move || action->operands[0].mem.base == ZYDIS_REGISTER_RIP ||
	    !ZYAN_SUCCESS(ZydisEncoderDecodedInstructionToEncoderRequest(
		    &action->insn, action->operands, action->insn.operand_count_visible, &store)))
		return false;
	reg = reg_operand(vector_of(variant->vector, action->operands[last].size / 8));
	store.operands[last] = reg;
	load = store;
	load.operands[last] = store.operands[0];
	load.operands[0] = reg;
	return rw_put_request(variant->pieces, &load) && rw_put_request(variant->pieces, &store);
}

/* What a load with arithmetic loads, and nothing more. */
static bool put_plain_load(struct rw_variant *variant, const struct rw_insn *insn,
			   const struct rw_action *action)
{
	unsigned bytes = memory_bytes(action);
	const ZydisDecodedOperand *to = &action->operands[0];
	bool is_vex = action->is_vex;

	if (action->insn.avx.broadcast.mode != ZYDIS_BROADCAST_MODE_INVALID || has_mask(action))
		return false;
	if (!stands_for_gpr(action) && variant->vector >= 0) {
		int number = is_vector(to) && to->reg.value < ZYDIS_REGISTER_XMM16
				     ? ZydisRegisterGetId(to->reg.value)
				     : variant->vector;

		return put_memory_form(
			variant, insn, action,
			bytes == 4   ? (is_vex ? ZYDIS_MNEMONIC_VMOVSS : ZYDIS_MNEMONIC_MOVSS)
			: bytes == 8 ? (is_vex ? ZYDIS_MNEMONIC_VMOVSD : ZYDIS_MNEMONIC_MOVSD)
			: is_vex     ? ZYDIS_MNEMONIC_VMOVUPS
				     : ZYDIS_MNEMONIC_MOVUPS,
			vector_of(number, bytes), false);
	}
	return variant->gpr >= 0 && (bytes == 4 || bytes == 8) &&
	       put_memory_form(variant, insn, action, ZYDIS_MNEMONIC_MOV,
			       gpr_of(variant->gpr, bytes), false);
}

static bool is_division(const struct rw_action *action)
{
	return action->insn.mnemonic == ZYDIS_MNEMONIC_DIV ||
	       action->insn.mnemonic == ZYDIS_MNEMONIC_IDIV;
}

static void put_memory_only(struct rw_variant *variant, const struct rw_insn *insn,
			    const struct rw_action *action)
{
	if (action->is_address) {
		if (action->is_store)
			fail(variant, "what it stores is also where it loads");
		rw_put_original(variant->pieces, insn);
	} else if (action->memory < 0) {
		return;
	} else if (action->is_store) {
		if (!(is_masked(action) && action->is_move ? put_silent_masked(variant, action)
							   : put_silent(variant, insn, action)))
			fail(variant, "one of its stores has no silent form");
	} else if (action->is_move || action->is_prefetch ||
		   !put_plain_load(variant, insn, action)) {
		if (is_division(action))
			fail(variant, "no general register is free");
		rw_put_original(variant->pieces, insn);
	}
}

/* ---- DL1 ---- */

/* Of each 16 lines 12 are read and 4 are written: a core may take a load for one of what was just stored where their
 * displacements from one register agree in the low 10 bits, and then does it again (Zen 5, measured: y = a * y + x
 * took 1.5 cycles for 1). Places that stay, which are both, begin at the end. */
enum { LINES_EACH = 16, LINES_EACH_READ = 12, LINES_EACH_WRITTEN = LINES_EACH - LINES_EACH_READ };
_Static_assert(SN_PLAN_LINES_READ *LINES_EACH == SN_PLAN_LINES * LINES_EACH_READ, "no more");

static int64_t read_at(unsigned load)
{
	unsigned n = load % SN_PLAN_LINES_READ;

	return LINE_BYTES * (int64_t)(n / LINES_EACH_READ * LINES_EACH + n % LINES_EACH_READ);
}

static int64_t written_at(unsigned store)
{
	unsigned n = store % (SN_PLAN_LINES - SN_PLAN_LINES_READ);

	return LINE_BYTES * (int64_t)(n / LINES_EACH_WRITTEN * LINES_EACH + LINES_EACH_READ +
				      n % LINES_EACH_WRITTEN);
}

static int64_t cell_at(unsigned cell)
{
	return SN_PLAN_CELLS + LINE_BYTES * (int64_t)(cell ^ (LINES_EACH - 1));
}

static void put_in_cache(struct rw_variant *variant, const struct rw_insn *insn,
			 const struct rw_action *action)
{
	ZydisRegister base = gpr_of(variant->gpr, 8), index = ZYDIS_REGISTER_NONE;
	int64_t read = read_at(variant->loads++), written = written_at(variant->stores);
	int64_t at = SN_PLAN_VALUES + read;

	if (action->operands[action->memory].mem.type == ZYDIS_MEMOP_TYPE_VSIB) {
		fail(variant, "it gathers");
		return;
	}
	if (action->is_fixed) {
		at = cell_at((unsigned)action->cell);
	} else if (action->is_list) {
		rw_put_original(variant->pieces, insn);
		return;
	} else if (action->is_recurrent) {
		at = SN_PLAN_ZEROS + read;
		index = gpr_of(action->cell, 8);
	} else if (action->is_store && action->is_load && variant->second_gpr >= 0) {
		/* as in memory, the next iteration's is elsewhere */
		ZydisRegister reg = gpr_of(variant->second_gpr, memory_bytes(action));
		ZydisEncoderOperand memory = { .type = ZYDIS_OPERAND_TYPE_MEMORY,
					       .mem = { .base = base,
							.displacement = at,
							.size = (uint16_t)memory_bytes(action) } };

		variant->stores++;
		if (!put2(variant->pieces, ZYDIS_MNEMONIC_MOV, reg_operand(reg), memory) ||
		    !rw_put_with_register(variant->pieces, action, reg))
			fail(variant, "one of its instructions has no other form");
		memory.mem.displacement = SN_PLAN_VALUES + written;
		put2(variant->pieces, ZYDIS_MNEMONIC_MOV, memory, reg_operand(reg));
		return;
	} else if (action->is_store) {
		variant->stores++;
		at = SN_PLAN_VALUES + written;
	}
	if (!rw_put_with_address(variant->pieces, action, base, index, at))
		fail(variant, "one of its instructions has no other form");
}

/* ---- PF ---- */

static bool is_prefetched_before(const struct rw_variant *variant, const struct rw_action *action)
{
	const ZydisDecodedOperand *o = &action->operands[action->memory];

	for (const struct rw_action *a = variant->body->actions; a < action; a++) {
		const ZydisDecodedOperand *b;

		if (a->memory < 0 || !a->stride || a->is_prefetch)
			continue;
		b = &a->operands[a->memory];
		if (b->mem.base == o->mem.base && b->mem.index == o->mem.index &&
		    b->mem.scale == o->mem.scale &&
		    b->mem.disp.value / LINE_BYTES == o->mem.disp.value / LINE_BYTES)
			return true;
	}
	return false;
}

static void put_prefetch(struct rw_variant *variant, const struct rw_action *action)
{
	const ZydisDecodedOperand *o = &action->operands[action->memory];
	int64_t step = action->stride, ahead;
	ZydisEncoderRequest request = { .machine_mode = ZYDIS_MACHINE_MODE_LONG_64,
					.mnemonic = ZYDIS_MNEMONIC_PREFETCHT0,
					.operand_count = 1 };

	if (!step || action->is_prefetch || is_prefetched_before(variant, action) ||
	    o->mem.segment == ZYDIS_REGISTER_FS || o->mem.segment == ZYDIS_REGISTER_GS)
		return;
	ahead = step >= LINE_BYTES || -step >= LINE_BYTES ? variant->lines_ahead * step
		: step > 0				  ? variant->lines_ahead * LINE_BYTES
							  : -variant->lines_ahead * LINE_BYTES;
	request.operands[0] = (ZydisEncoderOperand){
		.type = ZYDIS_OPERAND_TYPE_MEMORY,
		.mem = { .base = o->mem.base,
			 .index = o->mem.index,
			 .scale = o->mem.scale,
			 .displacement =
				 (o->mem.disp.has_displacement ? o->mem.disp.value : 0) + ahead,
			 .size = 1 },
	};
	if (rw_put_request(variant->pieces, &request))
		variant->loads++;
}

/* ---- all ---- */

void rw_variant_put_insn(struct rw_variant *variant, const struct rw_insn *insn,
			 const struct rw_action *action)
{
	bool is_kept = action->is_control || variant->kind == SN_VARIANT_ORIG;

	if (variant->kind == SN_VARIANT_LS) {
		put_memory_only(variant, insn, action);
	} else if (variant->kind == SN_VARIANT_PF) {
		if (action->memory >= 0)
			put_prefetch(variant, action);
		rw_put_original(variant->pieces, insn);
	} else if (!is_kept && variant->kind == SN_VARIANT_FES) {
		put_nop(variant->pieces, insn->length);
	} else if (is_kept || action->memory < 0) {
		rw_put_original(variant->pieces, insn);
	} else if (variant->kind == SN_VARIANT_DL1) {
		put_in_cache(variant, insn, action);
	} else {
		put_without_memory(variant, action);
	}
}
