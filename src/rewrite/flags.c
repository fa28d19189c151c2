/*
 * Which arithmetic flags and registers are read before they are written, block by block. Whoever might read them
 * and cannot be looked into (a caller, a callee, another function) is taken to read all but the
 * auxiliary carry, which nothing passes on.
 */
#include "rewrite/rewrite_parts.h"
#include "rewrite/variant_parts.h"

enum { LEAVES = SN_BLOCK_RETURNS | SN_BLOCK_LEAVES | SN_BLOCK_UNRESOLVED };
enum { CF = 1, PF = 2, AF = 4, ZF = 8, SF = 16, OF = 32, PASSED_ON = CF | PF | ZF | SF | OF };

static uint8_t bits_of(ZydisAccessedFlagsMask mask)
{
	return (uint8_t)((mask & ZYDIS_CPUFLAG_CF ? CF : 0) | (mask & ZYDIS_CPUFLAG_PF ? PF : 0) |
			 (mask & ZYDIS_CPUFLAG_AF ? AF : 0) | (mask & ZYDIS_CPUFLAG_ZF ? ZF : 0) |
			 (mask & ZYDIS_CPUFLAG_SF ? SF : 0) | (mask & ZYDIS_CPUFLAG_OF ? OF : 0));
}

/* Instructions that may leave the flags as they were: shifts by what may be zero, repetitions that
 * may not begin. */
static bool may_keep(const ZydisDecodedInstruction *insn, const ZydisDecodedOperand *operands)
{
	if (insn->attributes &
	    (ZYDIS_ATTRIB_HAS_REP | ZYDIS_ATTRIB_HAS_REPE | ZYDIS_ATTRIB_HAS_REPNE))
		return true;
	switch (insn->mnemonic) {
	case ZYDIS_MNEMONIC_SHL:
	case ZYDIS_MNEMONIC_SHR:
	case ZYDIS_MNEMONIC_SAR:
	case ZYDIS_MNEMONIC_ROL:
	case ZYDIS_MNEMONIC_ROR:
	case ZYDIS_MNEMONIC_RCL:
	case ZYDIS_MNEMONIC_RCR:
		return operands[1].type != ZYDIS_OPERAND_TYPE_IMMEDIATE ||
		       !(operands[1].imm.value.u & 31);
	case ZYDIS_MNEMONIC_SHLD:
	case ZYDIS_MNEMONIC_SHRD:
		return operands[2].type != ZYDIS_OPERAND_TYPE_IMMEDIATE ||
		       !(operands[2].imm.value.u & 31);
	default:
		return false;
	}
}

struct effect {
	uint8_t reads, writes;
};

static struct effect effect_of(const struct sn_structure *structure, const struct sn_block *block)
{
	struct effect effect = { 0 };
	uint64_t addr = block->link_addr, end = addr + block->size_bytes;

	while (addr < end) {
		ZydisDecodedInstruction insn;
		ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
		size_t available;
		const uint8_t *bytes = sn_structure_bytes(structure, addr, &available);
		uint8_t reads, writes;

		if (!bytes || !ZYAN_SUCCESS(ZydisDecoderDecodeFull(sn_decoder(), bytes, available,
								   &insn, operands)))
			return (struct effect){ (uint8_t)(effect.reads |
							  (PASSED_ON & ~effect.writes)),
						effect.writes };
		reads = insn.cpu_flags ? bits_of(insn.cpu_flags->tested) : 0;
		writes = insn.cpu_flags && !may_keep(&insn, operands)
				 ? bits_of(insn.cpu_flags->modified | insn.cpu_flags->set_0 |
					   insn.cpu_flags->set_1 | insn.cpu_flags->undefined)
				 : 0;
		if (insn.mnemonic == ZYDIS_MNEMONIC_CALL)
			reads |= PASSED_ON;
		effect.reads |= (uint8_t)(reads & ~effect.writes);
		effect.writes |= writes;
		addr += insn.length;
	}
	return effect;
}

uint8_t *rw_flags_live(const struct sn_structure *structure, const struct sn_function *function,
		       struct sn_arena *arena)
{
	uint8_t *in = sn_arena_array(arena, uint8_t, function->block_count + 1u);
	struct effect *effects = sn_arena_array(arena, struct effect, function->block_count + 1u);
	bool has_changed = true;

	for (uint32_t b = 0; b < function->block_count; b++)
		effects[b] = effect_of(structure, &function->blocks[b]);
	while (has_changed) {
		has_changed = false;
		for (uint32_t b = function->block_count; b-- > 0;) {
			const struct sn_block *block = &function->blocks[b];
			uint8_t out =
				block->flags & LEAVES || !block->successor_count ? PASSED_ON : 0;

			for (uint32_t s = 0; s < block->successor_count; s++)
				out |= in[function->successors[block->first_successor + s]];
			out = (uint8_t)(effects[b].reads | (out & ~effects[b].writes));
			has_changed |= out != in[b];
			in[b] = out;
		}
	}
	return in;
}

/* ---- registers ---- */

/* Somebody else goes on, who may read what he likes: not only what is passed to him (gcc's -fipa-ra). */
static bool leaves(const ZydisDecodedInstruction *insn)
{
	switch (insn->meta.category) {
	case ZYDIS_CATEGORY_CALL:
	case ZYDIS_CATEGORY_INTERRUPT:
	case ZYDIS_CATEGORY_RET:
	case ZYDIS_CATEGORY_SYSCALL:
		return true;
	default:
		return false;
	}
}

/* What a block reads before it writes it, and what it writes without a rest of what was there. */
static struct use {
	uint16_t reads, kills;
} use_of(const struct sn_structure *structure, const struct sn_block *block)
{
	struct use use = { 0 };
	uint64_t at = block->link_addr, end = at + block->size_bytes;

	while (at < end) {
		ZydisDecodedInstruction insn;
		ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
		struct rw_effect effect;
		size_t available;
		const uint8_t *bytes = sn_structure_bytes(structure, at, &available);

		if (!bytes || !ZYAN_SUCCESS(ZydisDecoderDecodeFull(sn_decoder(), bytes, available,
								   &insn, operands)))
			return (struct use){ (uint16_t)(use.reads | ~use.kills), use.kills };
		rw_effect_of(&insn, operands, &effect);
		if (leaves(&insn))
			effect = (struct rw_effect){ .reads = RW_ALL_GPRS };
		use.reads |= (uint16_t)(effect.reads & ~(uint64_t)use.kills);
		use.kills |= (uint16_t)effect.kills;
		at += insn.length;
	}
	return use;
}

uint16_t *rw_registers_live(const struct sn_structure *structure,
			    const struct sn_function *function, struct sn_arena *arena)
{
	uint16_t *in = sn_arena_array(arena, uint16_t, function->block_count + 1u);
	struct use *uses = sn_arena_array(arena, struct use, function->block_count + 1u);
	bool has_changed = true;

	for (uint32_t b = 0; b < function->block_count; b++)
		uses[b] = use_of(structure, &function->blocks[b]);
	while (has_changed) {
		has_changed = false;
		for (uint32_t b = function->block_count; b-- > 0;) {
			const struct sn_block *block = &function->blocks[b];
			uint16_t out =
				block->flags & LEAVES || !block->successor_count ? RW_ALL_GPRS : 0;

			for (uint32_t s = 0; s < block->successor_count; s++)
				out |= in[function->successors[block->first_successor + s]];
			out = (uint16_t)(uses[b].reads | (out & ~uses[b].kills));
			has_changed |= out != in[b];
			in[b] = out;
		}
	}
	return in;
}

uint16_t rw_free_registers(const struct rw_nest *nest, int32_t function_block)
{
	return function_block < 0
		       ? 0
		       : (uint16_t)(RW_USABLE_REGISTERS & ~nest->registers_in[function_block]);
}
