/* Registers with known values, by going over a function's code once: enough for the numbers of
 * system calls, which compilers load a few instructions before. */
#include "code/constants.h"

#include <Zydis/Zydis.h>

#include "code/decode.h"

enum { GPRS = 16, BYTES_MAX = 64 << 10 };

struct state {
	bool is_known[GPRS];
	uint64_t value[GPRS];
};

static void forget_all(struct state *state)
{
	*state = (struct state){ 0 };
}

/* Those that a called function may change. */
static void forget_volatile(struct state *state)
{
	static const uint8_t kept[] = { 3, 5, 12, 13, 14, 15 }; /* rbx, rbp, r12 to r15 */
	struct state after = { 0 };

	for (size_t i = 0; i < sizeof(kept); i++) {
		after.is_known[kept[i]] = state->is_known[kept[i]];
		after.value[kept[i]] = state->value[kept[i]];
	}
	*state = after;
}

/* What `mov` and `xor` of 32 or 64 bits leave in their target. */
static bool result_of(const struct state *state, const ZydisDecodedInstruction *insn,
		      const ZydisDecodedOperand *operands, uint64_t *value)
{
	const ZydisDecodedOperand *from = &operands[1];
	int source;

	if (operands[0].type != ZYDIS_OPERAND_TYPE_REGISTER || operands[0].size < 32)
		return false;
	if (insn->mnemonic == ZYDIS_MNEMONIC_XOR && from->type == ZYDIS_OPERAND_TYPE_REGISTER &&
	    from->reg.value == operands[0].reg.value) {
		*value = 0;
		return true;
	}
	if (insn->mnemonic != ZYDIS_MNEMONIC_MOV)
		return false;
	if (from->type == ZYDIS_OPERAND_TYPE_IMMEDIATE) {
		*value = from->imm.value.u;
	} else {
		source = from->type == ZYDIS_OPERAND_TYPE_REGISTER ? sn_gpr_number(from->reg.value)
								   : -1;
		if (source < 0 || !state->is_known[source])
			return false;
		*value = state->value[source];
	}
	if (operands[0].size == 32)
		*value = (uint32_t)*value;
	return true;
}

static void carry_out(struct state *state, const ZydisDecodedInstruction *insn,
		      const ZydisDecodedOperand *operands)
{
	uint64_t value = 0;
	bool is_known = insn->operand_count && result_of(state, insn, operands, &value);

	switch (insn->meta.category) {
	case ZYDIS_CATEGORY_CALL:
	case ZYDIS_CATEGORY_SYSCALL:
		forget_volatile(state);
		return;
	case ZYDIS_CATEGORY_UNCOND_BR:
	case ZYDIS_CATEGORY_RET:
		forget_all(state);
		return;
	default:
		break;
	}
	for (unsigned i = 0; i < insn->operand_count; i++) {
		int gpr = operands[i].type == ZYDIS_OPERAND_TYPE_REGISTER &&
					  operands[i].actions & ZYDIS_OPERAND_ACTION_MASK_WRITE
				  ? sn_gpr_number(operands[i].reg.value)
				  : -1;
		if (gpr >= 0)
			state->is_known[gpr] = false;
	}
	if (is_known) {
		int gpr = sn_gpr_number(operands[0].reg.value);
		if (gpr >= 0) {
			state->is_known[gpr] = true;
			state->value[gpr] = value;
		}
	}
}

static const struct sn_range *range_of(const struct sn_structure *structure, uint64_t link_addr)
{
	const struct sn_function *function = sn_structure_function_at(structure, link_addr);

	for (uint32_t r = 0; function && r < function->range_count; r++)
		if (link_addr >= function->ranges[r].first_link_addr &&
		    link_addr < function->ranges[r].end_link_addr)
			return &function->ranges[r];
	return NULL;
}

/* From the range's beginning until an instruction begins, or ends, at link_addr or beyond; gives
 * where the last one began. */
static bool walk(const struct sn_structure *structure, uint64_t link_addr, bool is_end,
		 struct state *state, uint64_t *at)
{
	const struct sn_range *range = range_of(structure, link_addr - is_end);

	if (!range || link_addr - range->first_link_addr > BYTES_MAX)
		return false;
	for (*at = range->first_link_addr; *at < link_addr;) {
		ZydisDecodedInstruction insn;
		ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
		size_t available;
		const uint8_t *bytes = sn_structure_bytes(structure, *at, &available);

		if (!bytes || !ZYAN_SUCCESS(ZydisDecoderDecodeFull(sn_decoder(), bytes, available,
								   &insn, operands)))
			return false;
		if (is_end && *at + insn.length >= link_addr)
			return *at + insn.length == link_addr;
		carry_out(state, &insn, operands);
		*at += insn.length;
	}
	return *at == link_addr && !is_end;
}

bool sn_instruction_ends_at(const struct sn_structure *structure, uint64_t end_link_addr,
			    uint64_t *link_addr)
{
	struct state state = { 0 };

	return walk(structure, end_link_addr, true, &state, link_addr);
}

bool sn_constant_before(const struct sn_structure *structure, uint64_t link_addr, enum sn_gpr gpr,
			uint64_t *value)
{
	struct state state = { 0 };
	uint64_t at;

	if (!walk(structure, link_addr, false, &state, &at) || !state.is_known[gpr])
		return false;
	*value = state.value[gpr];
	return true;
}
