/* A block of instructions, and the effects that neighbours have on each other: pairs that fuse into
 * one operation, halves of a register that are loaded together, upper parts that are kept. */
#include "cqa/block/insn.h"

#include <string.h>

#include "base/vec.h"
#include "cqa/block/address.h"
#include "cqa/block/insn_parts.h"

static bool fuses_by_condition(ZydisMnemonic first, ZydisMnemonic branch)
{
	bool uses_carry = branch == ZYDIS_MNEMONIC_JB || branch == ZYDIS_MNEMONIC_JNB ||
			  branch == ZYDIS_MNEMONIC_JBE || branch == ZYDIS_MNEMONIC_JNBE;
	bool uses_sign = branch == ZYDIS_MNEMONIC_JS || branch == ZYDIS_MNEMONIC_JNS ||
			 branch == ZYDIS_MNEMONIC_JP || branch == ZYDIS_MNEMONIC_JNP ||
			 branch == ZYDIS_MNEMONIC_JO || branch == ZYDIS_MNEMONIC_JNO;

	switch (first) {
	case ZYDIS_MNEMONIC_TEST:
	case ZYDIS_MNEMONIC_AND:
		return true;
	case ZYDIS_MNEMONIC_CMP:
	case ZYDIS_MNEMONIC_ADD:
	case ZYDIS_MNEMONIC_SUB:
		return !uses_sign;
	case ZYDIS_MNEMONIC_INC:
	case ZYDIS_MNEMONIC_DEC:
		return !uses_sign && !uses_carry;
	default:
		return false;
	}
}

static bool fuses_by_operation(enum sn_fusion fusion, ZydisMnemonic first)
{
	switch (first) {
	case ZYDIS_MNEMONIC_TEST:
	case ZYDIS_MNEMONIC_CMP:
		return true;
	case ZYDIS_MNEMONIC_ADD:
	case ZYDIS_MNEMONIC_SUB:
	case ZYDIS_MNEMONIC_AND:
	case ZYDIS_MNEMONIC_OR:
	case ZYDIS_MNEMONIC_XOR:
	case ZYDIS_MNEMONIC_INC:
	case ZYDIS_MNEMONIC_DEC:
		return fusion == SN_FUSION_ALU;
	default:
		return false;
	}
}

static bool fuses(const struct sn_machine *machine, const struct sn_insn *first,
		  const struct sn_insn *branch)
{
	ZydisMnemonic mnemonic = sn_form_mnemonic(first->form);
	ZydisMnemonic condition = sn_form_mnemonic(branch->form);

	if (!branch->is_conditional || first->is_branch || condition == ZYDIS_MNEMONIC_JRCXZ ||
	    condition == ZYDIS_MNEMONIC_JECXZ || condition == ZYDIS_MNEMONIC_LOOP)
		return false;
	if (first->memory_count) {
		if (first->memory[0].is_store || first->memory[0].is_rip)
			return false;
		/* memory with immediate is too much for one entry */
		if (first->immediate_bytes)
			return false;
	}
	if (machine->rules.fusion == SN_FUSION_BY_CONDITION)
		return fuses_by_condition(mnemonic, condition);
	return fuses_by_operation(machine->rules.fusion, mnemonic);
}

/* The pair becomes one branch uop; the first keeps its load. */
static void fuse_pair(const struct sn_machine *machine, struct sn_insn *first,
		      struct sn_insn *branch, bool is_last)
{
	first->fuses_with_next = true;
	branch->is_fused_into_previous = true;
	sn_insn_remove_uops(first, machine->alu_units, 1);
	branch->set_count = 1;
	branch->sets[0].units = is_last ? machine->taken_branch_units : machine->branch_units;
	branch->sets[0].count = 1;
	branch->fused_uops = branch->issued_uops = 0;
}

/* What may work on a fresh copy as one operation with it. */
static bool works_on_copy(const struct sn_insn *insn)
{
	switch (sn_form_mnemonic(insn->form)) {
	case ZYDIS_MNEMONIC_ADD:
	case ZYDIS_MNEMONIC_SUB:
	case ZYDIS_MNEMONIC_AND:
	case ZYDIS_MNEMONIC_OR:
	case ZYDIS_MNEMONIC_XOR:
	case ZYDIS_MNEMONIC_NOT:
	case ZYDIS_MNEMONIC_INC:
	case ZYDIS_MNEMONIC_DEC:
	case ZYDIS_MNEMONIC_SHL:
	case ZYDIS_MNEMONIC_SHR:
	case ZYDIS_MNEMONIC_SAR:
		return !insn->memory_count;
	default:
		return false;
	}
}

static void fuse_move(const struct sn_machine *machine, struct sn_insn *move,
		      const struct sn_insn *next)
{
	if (machine->rules.fuses_moves && move->is_move_eliminated && !move->is_vector &&
	    move->write_count == 1 && move->writes[0] < 16 && works_on_copy(next) &&
	    next->write_count && next->writes[0] == move->writes[0])
		move->fused_uops = move->issued_uops = 0;
}

static bool loads_half(const struct sn_insn *insn, ZydisMnemonic legacy_single,
		       ZydisMnemonic legacy_double, ZydisMnemonic vex_single,
		       ZydisMnemonic vex_double)
{
	ZydisMnemonic mnemonic = sn_form_mnemonic(insn->form);

	return insn->memory_count && insn->memory[0].is_load && insn->write_count &&
	       (mnemonic == legacy_single || mnemonic == legacy_double || mnemonic == vex_single ||
		mnemonic == vex_double);
}

/* The low and then the high half of a register, loaded one right after the other: nothing is kept
 * of what was in it. */
static void join_halves(struct sn_insn *low, const struct sn_insn *high)
{
	unsigned kept = 0;

	if (!loads_half(low, ZYDIS_MNEMONIC_MOVLPS, ZYDIS_MNEMONIC_MOVLPD, ZYDIS_MNEMONIC_VMOVLPS,
			ZYDIS_MNEMONIC_VMOVLPD) ||
	    !loads_half(high, ZYDIS_MNEMONIC_MOVHPS, ZYDIS_MNEMONIC_MOVHPD, ZYDIS_MNEMONIC_VMOVHPS,
			ZYDIS_MNEMONIC_VMOVHPD) ||
	    low->writes[0] != high->writes[0])
		return;
	for (unsigned k = 0; k < low->read_count; k++)
		if (low->reads[k].resource < SN_RES_VECTOR || low->reads[k].resource >= SN_RES_MASK)
			low->reads[kept++] = low->reads[k];
	low->read_count = (uint8_t)kept;
}

/* What the integer units lose around a taken branch. */
static void charge_taken_branch(const struct sn_machine *machine, struct sn_insn *branch)
{
	if (machine->rules.taken_branch_alu_uops > 0 && branch->is_branch &&
	    branch->set_count < SN_ROW_SETS_MAX)
		branch->sets[branch->set_count++] =
			(struct sn_unit_set){ machine->alu_units,
					      machine->rules.taken_branch_alu_uops };
}

/* A result that keeps the upper part of a register hangs on it if the block fills that part. */
static void join_upper_parts(const struct sn_rules *rules, struct sn_cqa_block *block)
{
	float merge = rules->conversion_merge_latency;
	bool is_filled[SN_RES_COUNT] = { false };

	for (size_t i = 0; i < block->count; i++)
		if (block->insns[i].fills_upper && block->insns[i].write_count)
			is_filled[block->insns[i].writes[0]] = true;
	for (size_t i = 0; i < block->count; i++) {
		struct sn_insn *insn = &block->insns[i];
		bool is_read = false;

		if (insn->kept_upper == SN_RES_NONE || !is_filled[insn->kept_upper])
			continue;
		for (unsigned k = 0; k < insn->read_count; k++)
			is_read |= insn->reads[k].resource == insn->kept_upper;
		if (is_read || insn->read_count == SN_INSN_READS_MAX)
			continue;
		insn->reads[insn->read_count++] =
			(struct sn_read){ insn->kept_upper, SN_ROLE_DATA, 0 };
		/* the conversion itself need not wait */
		if (insn->category == ZYDIS_CATEGORY_CONVERT && insn->latency > merge)
			insn->reads[insn->read_count - 1].delay_cycles =
				(int8_t)(merge - insn->latency);
		if (insn->memory_count && insn->latency == 0)
			insn->latency = sn_insn_merging_cycles(rules, insn);
	}
}

void sn_cqa_block_finish(const struct sn_machine *machine, struct sn_cqa_block *block,
			 struct sn_arena *arena)
{
	block->estimated_count = 0;
	join_upper_parts(&machine->rules, block);
	for (size_t i = 0; i < block->count; i++) {
		struct sn_insn *insn = &block->insns[i];
		bool is_last = i + 1 == block->count;

		block->estimated_count += insn->is_estimated;
		if (i)
			fuse_move(machine, insn - 1, insn);
		if (i && machine->rules.joins_halves)
			join_halves(insn - 1, insn);
		if (i && fuses(machine, insn - 1, insn))
			fuse_pair(machine, insn - 1, insn, is_last);
		else if (insn->is_branch && is_last && insn->set_count == 1)
			insn->sets[0].units = machine->taken_branch_units;
		if (is_last)
			charge_taken_branch(machine, insn);
	}
	block->accesses = sn_accesses_of(block, arena);
}

sn_status sn_cqa_block_decode(const struct sn_machine *machine, struct sn_arena *arena,
			      const uint8_t *bytes, size_t length, struct sn_cqa_block *out,
			      struct sn_error *err)
{
	ZydisDecoder decoder;
	ZydisDecodedInstruction decoded;
	ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
	struct sn_cqa_block block = { .x87_end = { { 0, 1, 2, 3, 4, 5, 6, 7 } } };
	SN_VEC(struct sn_insn) insns = { 0 };

	ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	while (block.bytes < length) {
		struct sn_insn insn;
		ZyanStatus status = ZydisDecoderDecodeFull(
			&decoder, bytes + block.bytes, length - block.bytes, &decoded, operands);

		if (!ZYAN_SUCCESS(status)) {
			sn_vec_free(&insns);
			return sn_error_set(err, SN_ERR_FORMAT,
					    status == ZYDIS_STATUS_NO_MORE_DATA
						    ? "the instruction at offset %zu is cut short: "
						      "the block ends in it"
						    : "the bytes at offset %zu are no instruction "
						      "that this decoder knows",
					    block.bytes);
		}
		sn_insn_fill(machine, &decoded, operands, &block.x87_end, &insn);
		insn.offset = (uint32_t)block.bytes;
		sn_vec_push(&insns, insn);
		block.bytes += decoded.length;
	}
	block.count = insns.count;
	if (insns.count) {
		block.insns = sn_arena_array(arena, struct sn_insn, insns.count);
		memcpy(block.insns, insns.items, insns.count * sizeof(struct sn_insn));
	}
	sn_vec_free(&insns);
	sn_cqa_block_finish(machine, &block, arena);
	*out = block;
	return SN_OK;
}

size_t sn_cqa_block_lowest(const struct sn_cqa_block *block)
{
	size_t lowest = 0;

	for (size_t i = 1; i < block->count; i++)
		if (block->insns[i].offset < block->insns[lowest].offset)
			lowest = i;
	return lowest;
}

size_t sn_cqa_block_span_bytes(const struct sn_cqa_block *block)
{
	return block->bytes - block->insns[sn_cqa_block_lowest(block)].offset;
}
