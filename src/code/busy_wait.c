/* Loops that wait actively: they end when another thread has changed what they look at. */
#include "code/busy_wait.h"

#include "code/decode.h"

enum { INSTRUCTIONS_MAX = 32, VECTORS_FIRST = 16 };

struct looking {
	uint64_t written, read_first; /* registers: general ones, then vectors */
	/* of these: stepped by a constant; written or read otherwise; compared with another register */
	uint64_t stepped, used, compared;
	bool has_pause, has_load, has_store, has_call;
};

/* A bit for a general or vector register, 0 for all else. */
static uint64_t register_bit(ZydisRegister reg)
{
	ZydisRegister whole = ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, reg);
	ZydisRegisterClass class = ZydisRegisterGetClass(whole);
	int id = ZydisRegisterGetId(whole);

	if (id < 0 || (class != ZYDIS_REGCLASS_GPR64 && class != ZYDIS_REGCLASS_ZMM))
		return 0;
	return 1ULL << (class == ZYDIS_REGCLASS_GPR64 ? id : VECTORS_FIRST + id);
}

static void read_register(struct looking *l, ZydisRegister reg)
{
	l->read_first |= register_bit(reg) & ~l->written;
}

/* "xor eax, eax" reads nothing. */
static bool is_zero_idiom(const ZydisDecodedInstruction *insn, const ZydisDecodedOperand *operands)
{
	return (insn->mnemonic == ZYDIS_MNEMONIC_XOR || insn->mnemonic == ZYDIS_MNEMONIC_SUB) &&
	       operands[0].type == ZYDIS_OPERAND_TYPE_REGISTER &&
	       operands[1].type == ZYDIS_OPERAND_TYPE_REGISTER &&
	       operands[0].reg.value == operands[1].reg.value;
}

static bool is_general_register(const ZydisDecodedOperand *operand)
{
	return operand->type == ZYDIS_OPERAND_TYPE_REGISTER &&
	       ZydisRegisterGetClass(ZydisRegisterGetLargestEnclosing(
		       ZYDIS_MACHINE_MODE_LONG_64, operand->reg.value)) == ZYDIS_REGCLASS_GPR64;
}

/* "sub eax, 1" */
static bool is_step(const ZydisDecodedInstruction *insn, const ZydisDecodedOperand *operands)
{
	if (!is_general_register(&operands[0]))
		return false;
	return insn->mnemonic == ZYDIS_MNEMONIC_INC || insn->mnemonic == ZYDIS_MNEMONIC_DEC ||
	       ((insn->mnemonic == ZYDIS_MNEMONIC_ADD || insn->mnemonic == ZYDIS_MNEMONIC_SUB) &&
		operands[1].type == ZYDIS_OPERAND_TYPE_IMMEDIATE);
}

/* "cmp eax, 100", "test eax, eax", "cmp eax, edx" */
static bool is_comparison(const ZydisDecodedInstruction *insn, const ZydisDecodedOperand *operands)
{
	return (insn->mnemonic == ZYDIS_MNEMONIC_CMP || insn->mnemonic == ZYDIS_MNEMONIC_TEST) &&
	       is_general_register(&operands[0]) && operands[1].type != ZYDIS_OPERAND_TYPE_MEMORY;
}

/* How long a wait with patience may last is counted, and the count is used for nothing else. */
static void counter_add(struct looking *l, const ZydisDecodedInstruction *insn,
			const ZydisDecodedOperand *operands)
{
	bool steps = is_step(insn, operands), compares = is_comparison(insn, operands);

	for (unsigned i = 0; i < insn->operand_count; i++)
		if (operands[i].type == ZYDIS_OPERAND_TYPE_MEMORY)
			l->used |= register_bit(operands[i].mem.base) |
				   register_bit(operands[i].mem.index);
		else if (operands[i].type == ZYDIS_OPERAND_TYPE_REGISTER) {
			uint64_t bit = register_bit(operands[i].reg.value);

			l->stepped |= steps ? bit : 0;
			l->used |= steps || compares ? 0 : bit;
			l->compared |= compares ? bit : 0;
		}
}

static void memory_add(struct looking *l, const ZydisDecodedInstruction *insn,
		       const ZydisDecodedOperand *operand)
{
	bool is_atomic =
		insn->attributes & ZYDIS_ATTRIB_HAS_LOCK || insn->mnemonic == ZYDIS_MNEMONIC_XCHG;

	read_register(l, operand->mem.base);
	read_register(l, operand->mem.index);
	if (operand->mem.type != ZYDIS_MEMOP_TYPE_MEM)
		return;
	l->has_load |= operand->actions & ZYDIS_OPERAND_ACTION_MASK_READ;
	l->has_store |= operand->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE && !is_atomic;
}

static void instruction_add(struct looking *l, const ZydisDecodedInstruction *insn,
			    const ZydisDecodedOperand *operands)
{
	bool reads_nothing = is_zero_idiom(insn, operands);

	counter_add(l, insn, operands);
	l->has_pause |= insn->mnemonic == ZYDIS_MNEMONIC_PAUSE ||
			insn->mnemonic == ZYDIS_MNEMONIC_TPAUSE ||
			insn->mnemonic == ZYDIS_MNEMONIC_UMWAIT;
	l->has_call |= insn->meta.category == ZYDIS_CATEGORY_CALL ||
		       insn->meta.category == ZYDIS_CATEGORY_SYSCALL;
	for (unsigned i = 0; i < insn->operand_count; i++) {
		if (operands[i].type == ZYDIS_OPERAND_TYPE_MEMORY)
			memory_add(l, insn, &operands[i]);
		else if (operands[i].type == ZYDIS_OPERAND_TYPE_REGISTER && !reads_nothing &&
			 operands[i].actions & ZYDIS_OPERAND_ACTION_MASK_READ)
			read_register(l, operands[i].reg.value);
	}
	for (unsigned i = 0; i < insn->operand_count; i++)
		if (operands[i].type == ZYDIS_OPERAND_TYPE_REGISTER &&
		    operands[i].actions & ZYDIS_OPERAND_ACTION_MASK_WRITE)
			l->written |= register_bit(operands[i].reg.value);
}

static bool bytes_add(struct looking *l, const uint8_t *bytes, size_t length)
{
	ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
	ZydisDecodedInstruction insn;

	for (size_t at = 0; at < length; at += insn.length) {
		if (!ZYAN_SUCCESS(ZydisDecoderDecodeFull(sn_decoder(), bytes + at, length - at,
							 &insn, operands)))
			return false;
		instruction_add(l, &insn, operands);
	}
	return true;
}

static bool waits(const struct looking *l)
{
	uint64_t counters = l->stepped & ~l->used;

	if ((l->compared & counters) && (l->compared & l->written & ~counters))
		counters = 0; /* its end is what was looked up: it counts up to there */
	return !l->has_call && (l->has_pause || (l->has_load && !l->has_store &&
						 !(l->read_first & l->written & ~counters)));
}

bool sn_bytes_busy_wait(const uint8_t *bytes, size_t length)
{
	struct looking looking = { 0 };

	return bytes_add(&looking, bytes, length) && waits(&looking);
}

bool sn_loop_busy_waits(const struct sn_structure *structure, const struct sn_loop *loop)
{
	struct looking looking = { 0 };

	if (!loop->is_innermost || loop->instruction_count > INSTRUCTIONS_MAX)
		return false;
	for (uint32_t i = 0; i < loop->range_count; i++) {
		const struct sn_range *range = &loop->ranges[i];
		size_t available, length = range->end_link_addr - range->first_link_addr;
		const uint8_t *bytes =
			sn_structure_bytes(structure, range->first_link_addr, &available);

		if (!bytes || available < length || !bytes_add(&looking, bytes, length))
			return false;
	}
	return waits(&looking);
}
