/* Follows the code of a loop with the registers of a sample: which addresses it uses. */
#include "code/touched.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/vec.h"
#include "code/decode.h"

enum {
	NO_REGISTER = (uint8_t)-1,
	STACK_POINTER = 4,
	OPERANDS_MOST = 2,
	STACK_NEAR_BYTES = 1 << 20
};
enum { PRESERVED = 1 << 3 | 1 << 4 | 1 << 5 | 0xf << 12 }; /* by calls: rbx rsp rbp r12 ... r15 */

struct operand {
	uint32_t number;
	uint8_t base, index, scale;
	int64_t displacement;
};

struct step {
	uint64_t link_addr;
	uint32_t block; /* of the function */
	uint16_t writes;
	uint8_t operand_count, flow;
	bool is_counter; /* adds `change` to the one general register that it writes */
	struct operand operands[OPERANDS_MOST];
	int64_t change;
};

struct sn_touching {
	const struct sn_function *function;
	const struct sn_loop *loop;
	SN_VEC(struct step) steps; /* by block, then address */
	uint32_t operand_count, hidden_count;
};

/* ---- the code ---- */

static void add_memory(struct sn_touching *code, struct step *step,
		       const ZydisDecodedOperand *operand)
{
	struct operand out = { .base = (uint8_t)sn_gpr_number(operand->mem.base),
			       .index = (uint8_t)sn_gpr_number(operand->mem.index),
			       .scale = operand->mem.scale,
			       .displacement = operand->mem.disp.value };

	if (operand->mem.type == ZYDIS_MEMOP_TYPE_AGEN ||
	    operand->mem.type == ZYDIS_MEMOP_TYPE_MIB ||
	    operand->mem.segment == ZYDIS_REGISTER_FS ||
	    operand->mem.segment == ZYDIS_REGISTER_GS || out.base == STACK_POINTER)
		return;
	if (operand->mem.index != ZYDIS_REGISTER_NONE && out.index == NO_REGISTER) {
		code->hidden_count++;
		return;
	}
	if ((out.base == NO_REGISTER && out.index == NO_REGISTER) ||
	    step->operand_count == OPERANDS_MOST)
		return;
	out.number = code->operand_count++;
	step->operands[step->operand_count++] = out;
}

/* Prefetches are no accesses; of multiple-byte no-ops the operand is none. */
static bool is_no_access(const ZydisDecodedInstruction *insn)
{
	return insn->meta.category == ZYDIS_CATEGORY_PREFETCH ||
	       insn->meta.category == ZYDIS_CATEGORY_WIDENOP ||
	       insn->meta.category == ZYDIS_CATEGORY_NOP;
}

/* "add r, 8", "sub r, 8", "inc r", "dec r", "lea r, [r + 8]" */
static void find_change(const ZydisDecodedInstruction *insn, const ZydisDecodedOperand *operands,
			struct step *step)
{
	uint8_t target = operands[0].type == ZYDIS_OPERAND_TYPE_REGISTER
				 ? (uint8_t)sn_gpr_number(operands[0].reg.value)
				 : NO_REGISTER;
	bool has_constant = operands[1].type == ZYDIS_OPERAND_TYPE_IMMEDIATE;

	if (target == NO_REGISTER || operands[0].size < 32)
		return;
	step->is_counter = true;
	if (insn->mnemonic == ZYDIS_MNEMONIC_INC)
		step->change = 1;
	else if (insn->mnemonic == ZYDIS_MNEMONIC_DEC)
		step->change = -1;
	else if (insn->mnemonic == ZYDIS_MNEMONIC_ADD && has_constant)
		step->change = operands[1].imm.value.s;
	else if (insn->mnemonic == ZYDIS_MNEMONIC_SUB && has_constant &&
		 operands[1].imm.value.s != INT64_MIN)
		step->change = -operands[1].imm.value.s;
	else if (insn->mnemonic == ZYDIS_MNEMONIC_LEA &&
		 operands[1].mem.index == ZYDIS_REGISTER_NONE &&
		 sn_gpr_number(operands[1].mem.base) == target)
		step->change = operands[1].mem.disp.value;
	else
		step->is_counter = false;
}

static void add_step(struct sn_touching *code, uint32_t block, uint64_t link_addr,
		     const ZydisDecodedInstruction *insn, const ZydisDecodedOperand *operands,
		     enum sn_flow flow)
{
	struct step step = { .link_addr = link_addr, .block = block, .flow = (uint8_t)flow };

	for (unsigned i = 0; i < insn->operand_count; i++) {
		const ZydisDecodedOperand *o = &operands[i];
		bool is_written = o->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE;

		if (o->type == ZYDIS_OPERAND_TYPE_MEMORY && !is_no_access(insn))
			add_memory(code, &step, o);
		else if (o->type == ZYDIS_OPERAND_TYPE_REGISTER && is_written &&
			 sn_gpr_number(o->reg.value) >= 0)
			step.writes |= (uint16_t)(1U << sn_gpr_number(o->reg.value));
	}
	if (flow == SN_FLOW_CALL || flow == SN_FLOW_CALL_INDIRECT)
		step.writes |= (uint16_t)~PRESERVED;
	find_change(insn, operands, &step);
	sn_vec_push(&code->steps, step);
}

static void add_block(struct sn_touching *code, const struct sn_structure *structure,
		      uint32_t number)
{
	const struct sn_block *block = &code->function->blocks[number];
	size_t available, at = 0;
	const uint8_t *bytes = sn_structure_bytes(structure, block->link_addr, &available);

	if (available > block->size_bytes)
		available = block->size_bytes;
	while (bytes && at < available) {
		ZydisDecodedInstruction insn;
		ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
		struct sn_instruction flow;
		uint64_t link_addr = block->link_addr + at;

		memset(operands, 0, sizeof(operands));
		if (!ZYAN_SUCCESS(ZydisDecoderDecodeFull(sn_decoder(), bytes + at, available - at,
							 &insn, operands)) ||
		    !sn_instruction_decode(bytes + at, available - at, link_addr, &flow))
			return;
		add_step(code, number, link_addr, &insn, operands, (enum sn_flow)flow.flow);
		at += insn.length;
	}
}

struct sn_touching *sn_touching_new(const struct sn_structure *structure,
				    const struct sn_function *function, const struct sn_loop *loop)
{
	struct sn_touching *code = sn_alloc_zeroed(1, sizeof(*code));
	int32_t number = loop ? (int32_t)loop->index : -1;

	code->function = function;
	code->loop = loop;
	for (uint32_t b = 0; b < function->block_count; b++)
		if (function->blocks[b].loop == number)
			add_block(code, structure, b);
	return code;
}

void sn_touching_free(struct sn_touching *code)
{
	if (!code)
		return;
	sn_vec_free(&code->steps);
	free(code);
}

uint32_t sn_touching_operands(const struct sn_touching *code, uint32_t *hidden)
{
	*hidden = code->hidden_count;
	return code->operand_count;
}

/* ---- following it ---- */

static size_t step_at(const struct sn_touching *code, uint64_t link_addr)
{
	for (size_t i = 0; i < code->steps.count; i++)
		if (code->steps.items[i].link_addr == link_addr)
			return i;
	return SIZE_MAX;
}

/* The one block of this code that control can go on to; SIZE_MAX: none, or not known. */
static size_t step_behind(const struct sn_touching *code, size_t at)
{
	const struct sn_function *f = code->function;
	const struct step *step = &code->steps.items[at];
	const struct sn_block *block = &f->blocks[step->block];
	int32_t number = code->loop ? (int32_t)code->loop->index : -1;
	size_t next = SIZE_MAX;

	if (at + 1 < code->steps.count && code->steps.items[at + 1].block == step->block)
		return at + 1;
	for (uint32_t i = 0; i < block->successor_count; i++) {
		const struct sn_block *to = &f->blocks[f->successors[block->first_successor + i]];

		if (to->loop != number)
			continue;
		if (next != SIZE_MAX)
			return SIZE_MAX;
		next = step_at(code, to->link_addr);
	}
	return next;
}

struct finding {
	const uint64_t *registers;
	struct sn_touched *out;
	size_t room, count;
	uint32_t *met;
};

static bool is_known(const struct operand *o, uint16_t written)
{
	return (o->base == NO_REGISTER || !(written >> o->base & 1)) &&
	       (o->index == NO_REGISTER || !(written >> o->index & 1));
}

static void take(struct finding *f, const struct step *step, uint16_t written)
{
	for (unsigned i = 0; i < step->operand_count; i++) {
		const struct operand *o = &step->operands[i];
		uint64_t address = (uint64_t)o->displacement;

		if (f->met)
			f->met[o->number]++;
		if (!is_known(o, written) || f->count == f->room)
			continue;
		if (o->base != NO_REGISTER)
			address += f->registers[o->base];
		if (o->index != NO_REGISTER)
			address += f->registers[o->index] * o->scale;
		if (address - f->registers[STACK_POINTER] + STACK_NEAR_BYTES <
		    2 * (uint64_t)STACK_NEAR_BYTES)
			continue;
		f->out[f->count++] = (struct sn_touched){ o->number, address };
	}
}

size_t sn_touched_find(const struct sn_touching *code, uint64_t link_addr,
		       const uint64_t registers[16], struct sn_touched *out, size_t room,
		       uint32_t *met)
{
	struct finding finding = { registers, out, room, 0, met };
	size_t start = step_at(code, link_addr);
	uint16_t written = 0;

	if (start == SIZE_MAX)
		return 0;
	for (size_t at = start, n = 0; at != SIZE_MAX && n < code->steps.count; n++) {
		const struct step *step = &code->steps.items[at];

		take(&finding, step, written);
		written |= step->writes;
		at = step_behind(code, at);
		if (at == start)
			break;
	}
	finding.met = NULL; /* these are what the pass before has used */
	written = 0;
	for (size_t at = start; at-- > 0;) {
		const struct step *step = &code->steps.items[at];

		if (step->block != code->steps.items[start].block)
			break;
		written |= step->writes;
		take(&finding, step, written);
	}
	return finding.count;
}

/* ---- counters ---- */

/* A block that each pass runs: the header's, or the only one that leads back to it. */
static bool is_in_each_pass(const struct sn_touching *code, const struct sn_block *block)
{
	const struct sn_function *f = code->function;

	if (block->link_addr == code->loop->header_link_addr)
		return true;
	for (uint32_t i = 0; i < block->successor_count; i++)
		if (f->blocks[f->successors[block->first_successor + i]].link_addr ==
		    code->loop->header_link_addr)
			return code->loop->latch_count == 1;
	return false;
}

size_t sn_touching_counters(const struct sn_touching *code, struct sn_counter out[16])
{
	unsigned writes[16] = { 0 };
	const struct step *writer[16] = { 0 };
	size_t count = 0;

	if (!code->loop || !code->loop->is_innermost || code->loop->is_irreducible)
		return 0;
	for (size_t i = 0; i < code->steps.count; i++)
		for (unsigned r = 0; r < 16; r++)
			if (code->steps.items[i].writes >> r & 1) {
				writes[r]++;
				writer[r] = &code->steps.items[i];
			}
	for (unsigned r = 0; r < 16; r++)
		if (writes[r] == 1 && writer[r]->is_counter && writer[r]->change &&
		    r != STACK_POINTER &&
		    is_in_each_pass(code, &code->function->blocks[writer[r]->block]))
			out[count++] = (struct sn_counter){ (uint8_t)r, writer[r]->change };
	return count;
}

uint32_t sn_touching_jumps(const struct sn_touching *code)
{
	uint32_t count = 0;

	for (size_t i = 0; i < code->steps.count; i++)
		count += code->steps.items[i].flow == SN_FLOW_BRANCH;
	return count ? count - 1 : 0;
}

bool sn_touching_calls(const struct sn_touching *code)
{
	for (size_t i = 0; i < code->steps.count; i++)
		if (code->steps.items[i].flow == SN_FLOW_CALL ||
		    code->steps.items[i].flow == SN_FLOW_CALL_INDIRECT)
			return true;
	return false;
}
