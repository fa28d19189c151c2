/*
 * Finds the targets of indirect jumps. The instructions that lead to the jump are evaluated
 * forwards over a small domain: constants, unknown values with a name, loads from a table. That
 * finds the tables of switch statements and of computed gotos, however the compiler arranged the
 * steps:
 *
 *	cmp $9, %edi; ja default			the bound, on the value's name
 *	lea table(%rip), %rdx				a constant
 *	movslq (%rdx,%rdi,4), %rax			a load from table + 4 * value
 *	add %rdx, %rax; notrack jmp *%rax		... plus a constant: a relative table
 */
#include <string.h>

#include "code/structure_parts.h"

enum { REGISTERS = 16, SLOTS = 16, BOUNDS = 32, TABLE_ENTRIES_MAX = 65536, UNBOUNDED_MAX = 1024 };

enum value_kind {
	VALUE_NAMED, /* unknown; equal names are equal values */
	VALUE_CONST,
	VALUE_SCALED, /* constant + scale * name */
	VALUE_LOADED, /* constant + what stands at table + scale * name */
};

struct value {
	uint8_t kind;
	uint8_t scale;
	uint8_t width; /* of the load, bytes */
	bool is_signed;
	uint32_t name;
	uint64_t constant;
	uint64_t table;
};

/* A memory operand that holds a value: spills, and indices that -O0 compares in memory. */
struct slot {
	uint8_t base, index, scale;
	int64_t displacement;
	struct value value;
};

struct bound {
	uint32_t name;
	uint64_t most; /* the greatest the value can be */
	size_t at;     /* where on the path that is known */
};

struct state {
	struct value registers[REGISTERS];
	struct slot slots[SLOTS];
	struct bound bounds[BOUNDS];
	unsigned slot_count, bound_count;
	uint32_t next_name;
	size_t at; /* on the path */
	/* of the last comparison: value below or equal limit is what "not above" says */
	struct value compared;
	uint64_t limit;
	bool has_compared;
};

static struct value fresh(struct state *s)
{
	return (struct value){ .kind = VALUE_NAMED, .name = s->next_name++ };
}

static struct value constant(uint64_t c)
{
	return (struct value){ .kind = VALUE_CONST, .constant = c };
}

static void bound_add(struct state *s, uint32_t name, uint64_t most)
{
	for (unsigned i = 0; i < s->bound_count; i++)
		if (s->bounds[i].name == name) {
			if (most < s->bounds[i].most) {
				s->bounds[i].most = most;
				s->bounds[i].at = s->at;
			}
			return;
		}
	if (s->bound_count < BOUNDS)
		s->bounds[s->bound_count++] = (struct bound){ name, most, s->at };
}

static struct bound bound_of(const struct state *s, uint32_t name)
{
	for (unsigned i = 0; i < s->bound_count; i++)
		if (s->bounds[i].name == name)
			return s->bounds[i];
	return (struct bound){ .most = UINT64_MAX };
}

static struct slot slot_key(const ZydisDecodedOperand *operand)
{
	struct slot slot;

	memset(&slot, 0, sizeof(slot));
	slot.base = (uint8_t)(sn_gpr_number(operand->mem.base) + 1);
	slot.index = (uint8_t)(sn_gpr_number(operand->mem.index) + 1);
	slot.scale = operand->mem.scale;
	slot.displacement = operand->mem.disp.has_displacement ? operand->mem.disp.value : 0;
	return slot;
}

static struct slot *slot_find(struct state *s, const ZydisDecodedOperand *operand)
{
	struct slot key = slot_key(operand);

	for (unsigned i = 0; i < s->slot_count; i++)
		if (s->slots[i].base == key.base && s->slots[i].index == key.index &&
		    s->slots[i].scale == key.scale && s->slots[i].displacement == key.displacement)
			return &s->slots[i];
	return NULL;
}

static void slot_set(struct state *s, const ZydisDecodedOperand *operand, struct value value)
{
	struct slot *slot = slot_find(s, operand);

	if (!slot) {
		if (s->slot_count == SLOTS) {
			memmove(s->slots, s->slots + 1, (SLOTS - 1) * sizeof(*s->slots));
			s->slot_count--;
		}
		slot = &s->slots[s->slot_count++];
		*slot = slot_key(operand);
	}
	slot->value = value;
}

/* Memory whose address a register takes part in is another one when the register changes. */
static void register_set(struct state *s, int reg, struct value value)
{
	if (reg < 0)
		return;
	s->registers[reg] = value;
	for (unsigned i = s->slot_count; i-- > 0;)
		if (s->slots[i].base == reg + 1 || s->slots[i].index == reg + 1)
			s->slots[i] = s->slots[--s->slot_count];
}

/* base + scale * index + displacement */
static struct value address_of(struct state *s, const ZydisDecodedInstruction *insn,
			       const ZydisDecodedOperand *operand, uint64_t link_addr)
{
	uint64_t displacement =
		operand->mem.disp.has_displacement ? (uint64_t)operand->mem.disp.value : 0;
	int base = sn_gpr_number(operand->mem.base), index = sn_gpr_number(operand->mem.index);
	struct value b = constant(0), i = constant(0), result;

	if (operand->mem.base == ZYDIS_REGISTER_RIP)
		return constant(link_addr + insn->length + displacement);
	if (base >= 0)
		b = s->registers[base];
	if (index >= 0)
		i = s->registers[index];
	/* (rdx,rax,1): either may be the table */
	if (b.kind != VALUE_CONST && i.kind == VALUE_CONST && operand->mem.scale <= 1) {
		result = b;
		b = i;
		i = result;
	}
	if (b.kind == VALUE_SCALED && index < 0) {
		b.constant += displacement;
		return b;
	}
	if (b.kind != VALUE_CONST)
		return fresh(s);
	displacement += b.constant;
	if (i.kind == VALUE_CONST)
		return constant(displacement + i.constant * operand->mem.scale);
	if (i.kind == VALUE_NAMED)
		return (struct value){ .kind = VALUE_SCALED,
				       .scale = operand->mem.scale ? operand->mem.scale : 1,
				       .name = i.name,
				       .constant = displacement };
	if (i.kind == VALUE_SCALED && operand->mem.scale <= 1) {
		i.constant += displacement;
		return i;
	}
	if (i.kind == VALUE_LOADED && operand->mem.scale <= 1) { /* lea (%rdx,%rax), %rax */
		i.constant += displacement;
		return i;
	}
	/* an index that was computed in a way of its own, such as from another table */
	return (struct value){ .kind = VALUE_SCALED,
			       .scale = operand->mem.scale,
			       .name = fresh(s).name,
			       .constant = displacement };
}

static struct value load(struct state *s, const ZydisDecodedInstruction *insn,
			 const ZydisDecodedOperand *operand, uint64_t link_addr, bool is_signed)
{
	struct slot *slot = slot_find(s, operand);
	struct value address, value;

	if (slot)
		return slot->value;
	address = address_of(s, insn, operand, link_addr);
	if (address.kind == VALUE_SCALED && address.constant)
		return (struct value){ .kind = VALUE_LOADED,
				       .scale = address.scale,
				       .width = (uint8_t)(operand->size / 8),
				       .is_signed = is_signed,
				       .name = address.name,
				       .table = address.constant };
	value = fresh(s);
	if (operand->size == 8)
		bound_add(s, value.name, UINT8_MAX);
	if (address.kind != VALUE_CONST || operand->mem.base != ZYDIS_REGISTER_RIP)
		slot_set(s, operand, value);
	return value;
}

static struct value operand_value(struct state *s, const ZydisDecodedInstruction *insn,
				  const ZydisDecodedOperand *operand, uint64_t link_addr,
				  bool is_signed)
{
	int reg;

	switch (operand->type) {
	case ZYDIS_OPERAND_TYPE_IMMEDIATE:
		return constant(operand->imm.value.u);
	case ZYDIS_OPERAND_TYPE_MEMORY:
		return load(s, insn, operand, link_addr, is_signed);
	case ZYDIS_OPERAND_TYPE_REGISTER:
		reg = sn_gpr_number(operand->reg.value);
		return reg >= 0 ? s->registers[reg] : fresh(s);
	default:
		return fresh(s);
	}
}

static void store(struct state *s, const ZydisDecodedOperand *operand, struct value value)
{
	if (operand->type == ZYDIS_OPERAND_TYPE_REGISTER)
		register_set(s, sn_gpr_number(operand->reg.value), value);
	else if (operand->type == ZYDIS_OPERAND_TYPE_MEMORY)
		slot_set(s, operand, value);
}

static struct value sum(struct state *s, struct value a, struct value b)
{
	if (a.kind == VALUE_CONST && b.kind != VALUE_CONST) {
		struct value swapped = a;

		a = b;
		b = swapped;
	}
	if (b.kind != VALUE_CONST || a.kind == VALUE_NAMED)
		return fresh(s);
	a.constant += b.constant;
	return a;
}

static void compare(struct state *s, struct value value, const ZydisDecodedOperand *limit)
{
	s->has_compared = limit->type == ZYDIS_OPERAND_TYPE_IMMEDIATE && value.kind == VALUE_NAMED;
	s->compared = value;
	if (s->has_compared)
		s->limit = limit->imm.value.u & (limit->size >= 64 ? UINT64_MAX : UINT32_MAX);
}

/* What is known after a conditional jump was taken, or was not. */
static void branch(struct state *s, ZydisMnemonic mnemonic, bool is_taken)
{
	if (!s->has_compared)
		return;
	if ((mnemonic == ZYDIS_MNEMONIC_JNBE && !is_taken) ||
	    (mnemonic == ZYDIS_MNEMONIC_JBE && is_taken))
		bound_add(s, s->compared.name, s->limit);
	else if (((mnemonic == ZYDIS_MNEMONIC_JNB && !is_taken) ||
		  (mnemonic == ZYDIS_MNEMONIC_JB && is_taken)) &&
		 s->limit)
		bound_add(s, s->compared.name, s->limit - 1);
}

/* All registers that the instruction writes become unknown, and the memory it writes. */
static void forget_written(struct state *s, const ZydisDecodedInstruction *insn,
			   const ZydisDecodedOperand *operands)
{
	for (unsigned i = 0; i < insn->operand_count; i++) {
		if (!(operands[i].actions & ZYDIS_OPERAND_ACTION_MASK_WRITE))
			continue;
		if (operands[i].type == ZYDIS_OPERAND_TYPE_REGISTER &&
		    sn_gpr_number(operands[i].reg.value) !=
			    4 /* rsp moves, slots are by rbp or rsp */)
			register_set(s, sn_gpr_number(operands[i].reg.value), fresh(s));
		else if (operands[i].type == ZYDIS_OPERAND_TYPE_MEMORY &&
			 slot_find(s, &operands[i]))
			slot_find(s, &operands[i])->value = fresh(s);
	}
}

static void forget_call_clobbered(struct state *s)
{
	static const uint8_t clobbered[] = { 0, 1, 2, 6, 7, 8, 9, 10, 11 };

	for (size_t i = 0; i < sizeof(clobbered); i++)
		register_set(s, clobbered[i], fresh(s));
	s->has_compared = false;
}

static void evaluate(struct state *s, const ZydisDecodedInstruction *insn,
		     const ZydisDecodedOperand *o, uint64_t link_addr)
{
	struct value value;

	switch (insn->mnemonic) {
	case ZYDIS_MNEMONIC_MOV:
	case ZYDIS_MNEMONIC_MOVZX:
		value = operand_value(s, insn, &o[1], link_addr, false);
		if (value.kind != VALUE_NAMED && o[1].size == 8 &&
		    o[1].type == ZYDIS_OPERAND_TYPE_REGISTER)
			value = fresh(s);
		if (value.kind == VALUE_NAMED && o[1].size == 8)
			bound_add(s, value.name, UINT8_MAX);
		store(s, &o[0], value);
		return;
	case ZYDIS_MNEMONIC_MOVSX:
	case ZYDIS_MNEMONIC_MOVSXD:
		value = operand_value(s, insn, &o[1], link_addr, true);
		if (value.kind == VALUE_LOADED)
			value.is_signed = true; /* loaded before, extended now */
		store(s, &o[0], value);
		return;
	case ZYDIS_MNEMONIC_CDQE: /* of eax, the only place where compilers put it here */
		if (s->registers[0].kind == VALUE_LOADED)
			s->registers[0].is_signed = true;
		return;
	case ZYDIS_MNEMONIC_LEA:
		value = address_of(s, insn, &o[1], link_addr);
		/* lea -5(%rdi), %eax: a value of its own, as the constant is no address of a table
		 */
		if (value.kind == VALUE_SCALED && value.scale == 1 &&
		    (value.constant >> 31 || value.constant < 4096))
			value = fresh(s);
		store(s, &o[0], value);
		return;
	case ZYDIS_MNEMONIC_ADD:
		value = sum(s, operand_value(s, insn, &o[0], link_addr, false),
			    operand_value(s, insn, &o[1], link_addr, false));
		store(s, &o[0], value);
		s->has_compared = false;
		return;
	case ZYDIS_MNEMONIC_AND:
		value = fresh(s);
		if (o[1].type == ZYDIS_OPERAND_TYPE_IMMEDIATE && o[1].imm.value.u < UINT32_MAX)
			bound_add(s, value.name, o[1].imm.value.u);
		store(s, &o[0], value);
		s->has_compared = false;
		return;
	case ZYDIS_MNEMONIC_SHL:
		value = operand_value(s, insn, &o[0], link_addr, false);
		if (value.kind == VALUE_NAMED && o[1].type == ZYDIS_OPERAND_TYPE_IMMEDIATE &&
		    o[1].imm.value.u <= 3)
			value = (struct value){ .kind = VALUE_SCALED,
						.scale = (uint8_t)(1u << o[1].imm.value.u),
						.name = value.name };
		else
			value = fresh(s);
		store(s, &o[0], value);
		s->has_compared = false;
		return;
	case ZYDIS_MNEMONIC_CMP:
		compare(s, operand_value(s, insn, &o[0], link_addr, false), &o[1]);
		return;
	case ZYDIS_MNEMONIC_SUB:
		compare(s, operand_value(s, insn, &o[0], link_addr, false), &o[1]);
		store(s, &o[0], fresh(s));
		return;
	case ZYDIS_MNEMONIC_CALL:
		forget_call_clobbered(s);
		return;
	default:
		forget_written(s, insn, o);
		if (insn->cpu_flags && insn->cpu_flags->modified & ZYDIS_CPUFLAG_CF)
			s->has_compared = false;
		return;
	}
}

static uint64_t data_symbol_end(const struct sn_image *image, uint64_t link_addr)
{
	struct sn_symbol symbol;

	return sn_image_data_symbol_before(image, link_addr, &symbol) &&
			       link_addr - symbol.link_addr < symbol.size_bytes
		       ? symbol.link_addr + symbol.size_bytes
		       : 0;
}

static bool entry_read(const struct sn_image *image, const struct value *jump, uint64_t entry_addr,
		       uint64_t *target)
{
	size_t available;
	const uint8_t *bytes;
	uint64_t raw = 0;

	if (jump->width == 8 && sn_image_pointer(image, entry_addr, target)) {
		*target += jump->constant;
		return true;
	}
	bytes = sn_image_bytes(image, entry_addr, &available);
	if (!bytes || available < jump->width)
		return false;
	memcpy(&raw, bytes, jump->width);
	if (jump->is_signed && jump->width < 8) {
		unsigned unused = 64 - 8 * jump->width;

		raw = (uint64_t)((int64_t)(raw << unused) >> unused);
	}
	*target = raw + jump->constant;
	return true;
}

static bool is_code(const struct sn_structure *structure, uint64_t link_addr)
{
	const struct sn_section *section = sn_image_section_at(structure->image, link_addr);

	return section && section->is_executable;
}

static bool table_read(const struct sn_structure *structure, const struct sn_function *function,
		       const struct value *jump, uint64_t most, struct jump_targets *targets,
		       struct jump_table *table)
{
	const struct sn_section *section = sn_image_section_at(structure->image, jump->table);
	/* what fits into a byte is a limit, but no sign that the table has as many entries */
	bool is_bounded = most < TABLE_ENTRIES_MAX && most != UINT8_MAX;
	uint64_t limit = most < TABLE_ENTRIES_MAX ? most + 1 : UNBOUNDED_MAX, symbol_end, count = 0;
	size_t before = targets->count;
	bool is_whole = is_bounded;

	if (!section || !section->has_bytes || !jump->width || jump->scale < jump->width ||
	    jump->width > section->size_bytes)
		return false;
	symbol_end = data_symbol_end(structure->image, jump->table);
	if (symbol_end && (symbol_end - jump->table) / jump->scale < limit)
		limit = (symbol_end - jump->table) / jump->scale;
	is_whole &= limit == most + 1;
	for (; count < limit; count++) {
		uint64_t at = jump->table + count * jump->scale, target;

		if (at - section->link_addr > section->size_bytes - jump->width ||
		    !entry_read(structure->image, jump, at, &target))
			break;
		is_whole &= function_holds(function, target);
		if (function_holds(function, target))
			sn_vec_push(targets, target);
		else if (!is_bounded && !(jump->width == 8 && is_code(structure, target)))
			break; /* what follows is another thing; cases may be tail calls or cold
				  parts */
	}
	if (targets->count == before)
		return false;
	table->is_bounded = is_bounded;
	table->is_whole = is_whole && count == limit;
	table->range = section->is_executable
			       ? (struct sn_range){ jump->table, jump->table + count * jump->scale }
			       : (struct sn_range){ 0, 0 };
	return true;
}

bool sn_jump_table_read(const struct sn_structure *structure, const struct sn_function *function,
			const struct cfg_insn *const *path, size_t path_length,
			struct jump_targets *targets, struct jump_table *table)
{
	struct state s = { .next_name = 1 };
	struct value jump = { 0 };
	struct bound bound;

	for (int i = 0; i < REGISTERS; i++)
		s.registers[i] = fresh(&s);
	for (size_t i = 0; i < path_length; i++) {
		ZydisDecodedInstruction insn;
		ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
		uint64_t link_addr = path[i]->link_addr;
		size_t available;
		const uint8_t *bytes = sn_structure_bytes(structure, link_addr, &available);

		s.at = i;
		if (!bytes || !ZYAN_SUCCESS(ZydisDecoderDecodeFull(sn_decoder(), bytes, available,
								   &insn, operands)))
			return false;
		if (i + 1 == path_length) {
			jump = operand_value(&s, &insn, &operands[0], link_addr, false);
			break;
		}
		if (path[i]->insn.flow == SN_FLOW_BRANCH)
			branch(&s, insn.mnemonic,
			       path[i + 1]->link_addr != link_addr + path[i]->insn.length);
		else
			evaluate(&s, &insn, operands, link_addr);
	}
	if (jump.kind != VALUE_LOADED)
		return false;
	bound = bound_of(&s, jump.name);
	table->bound_index = bound.at;
	return table_read(structure, function, &jump, bound.most, targets, table);
}
