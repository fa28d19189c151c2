/* Follows a pointer from the call that returned it to the variable that holds it. */
#include "code/held.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "code/decode.h"
#include "code/dwarf_entry.h"
#include "code/image_parts.h"

enum {
	INSTRUCTIONS_MOST = 96,
	SLOTS_MOST = 8,
	RAX = 0,
	RBP = 5,
	RSP = 4,
	GPRS = 16,
	/* what a function may change: rax, rcx, rdx, rsi, rdi, r8 to r11 */
	CALLER_SAVED = 0x0fc7,
	SCOPES_MOST = 64,
	ENTRIES_MOST = 4096,
};

/* DWARF numbers of the general registers (System V ABI, AMD64, figure 3.36), by those of the machine. */
static const uint8_t dwarf_register[GPRS] = {
	0, 2, 1, 3, 7, 6, 4, 5, 8, 9, 10, 11, 12, 13, 14, 15
};

struct following {
	struct sn_image *image;
	const struct sn_variables *variables;
	struct sn_arena *arena;
	Dwarf *dwarf;
	Dwarf_CFI *cfi;
	Dwarf_Die function; /* DWARF's, around the pc */
	bool has_function;
	uint64_t pc, call; /* its last byte */
	uint32_t holding;  /* bits of general registers */
	int64_t slots
		[SLOTS_MOST]; /* of the frame that hold it, from where rsp was before the call: DWARF's CFA */
	uint32_t slot_count;
	Dwarf_Die of_register[GPRS]; /* the variable that was loaded into it */
	uint32_t has_variable;	     /* bits of those */
	bool is_tested;		     /* the instruction before asked whether the pointer is NULL */
	const char *lasting, *local, *member;
	int inlined; /* calls around the local one */
};

/* ---- what DWARF says ---- */

static bool unit_find(Dwarf *dwarf, uint64_t link_addr, Dwarf_Die *unit)
{
	Dwarf_Off at = 0, next;
	size_t header_bytes;

	if (dwarf_addrdie(dwarf, link_addr, unit))
		return true;
	while (dwarf_nextcu(dwarf, at, &next, &header_bytes, NULL, NULL, NULL) == 0) {
		if (dwarf_offdie(dwarf, at + header_bytes, unit) &&
		    dwarf_haspc(unit, link_addr) == 1)
			return true;
		if (next <= at)
			break;
		at = next;
	}
	return false;
}

/* The CFA as a register and an offset, at an address. */
static bool cfa_at(const struct following *f, uint64_t link_addr, int *reg, int64_t *offset)
{
	Dwarf_Frame *frame = NULL;
	Dwarf_Op *ops;
	size_t count;
	bool is_known;

	if (!f->cfi || dwarf_cfi_addrframe(f->cfi, link_addr, &frame) != 0)
		return false;
	is_known = dwarf_frame_cfa(frame, &ops, &count) == 0 && count == 1;
	if (is_known && ops[0].atom >= DW_OP_breg0 && ops[0].atom <= DW_OP_breg31) {
		*reg = ops[0].atom - DW_OP_breg0;
		*offset = (int64_t)ops[0].number;
	} else if (is_known && ops[0].atom == DW_OP_bregx) {
		*reg = (int)ops[0].number;
		*offset = (int64_t)ops[0].number2;
	} else {
		is_known = false;
	}
	free(frame);
	return is_known;
}

/* Where [reg + displacement] is, from the CFA. */
static bool slot_of(const struct following *f, int gpr, int64_t displacement, int64_t *offset)
{
	int64_t cfa;
	int reg;

	if (!cfa_at(f, f->pc, &reg, &cfa) || reg != dwarf_register[gpr])
		return false;
	*offset = displacement - cfa;
	return true;
}

/* What DW_OP_fbreg counts from, from the CFA. */
static bool frame_base(const struct following *f, Dwarf_Die *function, int64_t *base)
{
	Dwarf_Attribute attribute;
	Dwarf_Op *ops;
	size_t count;
	int64_t cfa;
	int reg;

	if (!dwarf_attr_integrate(function, DW_AT_frame_base, &attribute) ||
	    dwarf_getlocation_addr(&attribute, f->pc, &ops, &count, 1) != 1 || count != 1)
		return false;
	*base = 0;
	if (ops[0].atom == DW_OP_call_frame_cfa)
		return true;
	if (ops[0].atom < DW_OP_reg0 || ops[0].atom > DW_OP_reg31 ||
	    !cfa_at(f, f->pc, &reg, &cfa) || reg != ops[0].atom - DW_OP_reg0)
		return false;
	*base = -cfa;
	return true;
}

struct place {
	bool is_register;
	int reg;	/* DWARF's number */
	int64_t offset; /* from the CFA */
	uint64_t bytes;
};

static bool place_of(const struct following *f, Dwarf_Die *function, Dwarf_Die *variable,
		     struct place *out)
{
	Dwarf_Attribute attribute;
	Dwarf_Die type;
	Dwarf_Op *ops;
	Dwarf_Word bytes = 8;
	size_t count;
	int64_t base, cfa;
	int reg;

	if (!dwarf_attr_integrate(variable, DW_AT_location, &attribute) ||
	    dwarf_getlocation_addr(&attribute, f->pc, &ops, &count, 1) != 1 || count != 1)
		return false;
	*out = (struct place){ .is_register =
				       ops[0].atom >= DW_OP_reg0 && ops[0].atom <= DW_OP_reg31,
			       .reg = ops[0].atom - DW_OP_reg0 };
	if (out->is_register)
		return true;
	if (dwarf_attr_integrate(variable, DW_AT_type, &attribute) &&
	    dwarf_formref_die(&attribute, &type) && dwarf_aggregate_size(&type, &bytes) != 0)
		bytes = 8;
	out->bytes = bytes;
	if (ops[0].atom == DW_OP_fbreg && frame_base(f, function, &base)) {
		out->offset = base + (int64_t)ops[0].number;
		return true;
	}
	if (ops[0].atom < DW_OP_breg0 || ops[0].atom > DW_OP_breg31 ||
	    !cfa_at(f, f->pc, &reg, &cfa) || reg != ops[0].atom - DW_OP_breg0)
		return false;
	out->offset = (int64_t)ops[0].number - cfa;
	return true;
}

/* What is looked for: a local variable or parameter in one of some registers, or that has a byte of the frame. */
struct wanted {
	bool is_register;
	uint32_t registers; /* DWARF's */
	int64_t offset;
	int entries;
	Dwarf_Die found;
	int64_t at;  /* where in the frame that begins */
	int inlined; /* how many inlined calls around it */
};

static bool is_wanted(const struct following *f, Dwarf_Die *function, Dwarf_Die *die,
		      struct wanted *w)
{
	int tag = dwarf_tag(die);
	struct place place;

	if ((tag != DW_TAG_variable && tag != DW_TAG_formal_parameter) || !dwarf_diename(die) ||
	    !place_of(f, function, die, &place) || place.is_register != w->is_register)
		return false;
	if (w->is_register)
		return place.reg < GPRS && w->registers & 1u << place.reg;
	w->at = place.offset;
	return w->offset >= place.offset && w->offset < place.offset + (int64_t)place.bytes;
}

/* Of a scope around the pc: its own variables first. Who calls a function that is inlined has what that returns for longer. */
static bool scope_search(const struct following *f, Dwarf_Die *scope, Dwarf_Die *function,
			 int depth, struct wanted *w)
{
	Dwarf_Die child;

	if (depth > SCOPES_MOST || dwarf_child(scope, &child) != 0)
		return false;
	do {
		if (++w->entries > ENTRIES_MOST)
			return false;
		if (is_wanted(f, function, &child, w)) {
			w->found = child;
			return true;
		}
	} while (sn_dwarf_next_entry(&child));
	dwarf_child(scope, &child);
	do {
		int tag = dwarf_tag(&child);
		bool is_inlined = tag == DW_TAG_inlined_subroutine;

		/* what is inlined behind the call is not who asked for the pointer */
		if ((!is_inlined && tag != DW_TAG_lexical_block) ||
		    dwarf_haspc(&child, f->pc) != 1 ||
		    (is_inlined && dwarf_haspc(&child, f->call) != 1))
			continue;
		w->inlined += is_inlined;
		if (scope_search(f, &child, function, depth + 1, w))
			return true;
		w->inlined -= is_inlined;
	} while (sn_dwarf_next_entry(&child));
	return false;
}

/* The function of the pc among the entries of a unit, namespace or class. */
static bool function_find(const struct following *f, Dwarf_Die *parent, int depth, Dwarf_Die *out)
{
	Dwarf_Die child;

	if (depth > SCOPES_MOST || dwarf_child(parent, &child) != 0)
		return false;
	do {
		int tag = dwarf_tag(&child);

		if (tag == DW_TAG_subprogram && dwarf_haspc(&child, f->pc) == 1) {
			/* of Fortran and Pascal functions lie in each other */
			if (!function_find(f, &child, depth + 1, out))
				*out = child;
			return true;
		}
		if ((tag == DW_TAG_namespace || tag == DW_TAG_structure_type ||
		     tag == DW_TAG_class_type || tag == DW_TAG_module) &&
		    function_find(f, &child, depth + 1, out))
			return true;
	} while (sn_dwarf_next_entry(&child));
	return false;
}

static bool variable_find(const struct following *f, struct wanted *w)
{
	Dwarf_Die function = f->function;

	return f->has_function && scope_search(f, &function, &function, 0, w);
}

/* ---- members ---- */

static bool type_behind(Dwarf_Die *die, Dwarf_Die *type)
{
	Dwarf_Attribute attribute;
	int tag;

	for (int depth = 0; depth < 40; depth++) {
		if (!dwarf_attr_integrate(depth ? type : die, DW_AT_type, &attribute) ||
		    !dwarf_formref_die(&attribute, type))
			return false;
		tag = dwarf_tag(type);
		if (tag != DW_TAG_typedef && tag != DW_TAG_const_type &&
		    tag != DW_TAG_volatile_type && tag != DW_TAG_restrict_type)
			return true;
	}
	return false;
}

/* What stands between a structure and its member in the language of an entry. */
static const char *between_of(Dwarf_Die *die)
{
	Dwarf_Die unit;

	if (!dwarf_diecu(die, &unit, NULL, NULL))
		return ".";
	switch (dwarf_srclang(&unit)) {
	case DW_LANG_Fortran77:
	case DW_LANG_Fortran90:
	case DW_LANG_Fortran95:
	case DW_LANG_Fortran03:
	case DW_LANG_Fortran08:
		return "%";
	default:
		return ".";
	}
}

/* Adds ".inner.cells" for what lies at an offset of a value of this type; nothing where that is no structure. */
static void members_add(Dwarf_Die *type, int64_t offset, const char *between, int depth,
			struct sn_text *out)
{
	Dwarf_Die member, inner;
	Dwarf_Attribute attribute;
	int tag = dwarf_tag(type);

	if (depth > SCOPES_MOST || (tag != DW_TAG_structure_type && tag != DW_TAG_class_type) ||
	    dwarf_child(type, &member) != 0)
		return;
	do {
		Dwarf_Word at = 0, bytes = 0;

		if (dwarf_tag(&member) != DW_TAG_member || !dwarf_diename(&member) ||
		    !type_behind(&member, &inner) ||
		    (dwarf_attr_integrate(&member, DW_AT_data_member_location, &attribute) &&
		     dwarf_formudata(&attribute, &at) != 0) ||
		    offset < (int64_t)at)
			continue;
		/* a descriptor of Fortran has no size of its own, and begins with the pointer */
		if (dwarf_aggregate_size(&inner, &bytes) != 0 ||
		    dwarf_tag(&inner) == DW_TAG_array_type)
			bytes = 1;
		if (offset >= (int64_t)(at + bytes))
			continue;
		sn_text_addf(out, "%s%s", between, dwarf_diename(&member));
		members_add(&inner, offset - (int64_t)at, between_of(&member), depth + 1, out);
		return;
	} while (sn_dwarf_next_entry(&member));
}

/* A variable, and its member where it is a structure. */
static const char *name_of(const struct following *f, Dwarf_Die *variable, int64_t offset)
{
	struct sn_text text = { 0 };
	const char *name;
	Dwarf_Die type;

	sn_text_add(&text, dwarf_diename(variable));
	if (type_behind(variable, &type))
		members_add(&type, offset, between_of(variable), 0, &text);
	name = sn_arena_strdup(f->arena, text.chars);
	sn_text_free(&text);
	return name;
}

/* "grid->cells" of a variable that points to a structure, and an offset in it. */
static const char *member_name(const struct following *f, Dwarf_Die *variable, int64_t offset)
{
	Dwarf_Die pointer, structure;
	struct sn_text text = { 0 };
	const char *name = NULL;

	if (!type_behind(variable, &pointer) || dwarf_tag(&pointer) != DW_TAG_pointer_type ||
	    !type_behind(&pointer, &structure))
		return NULL;
	members_add(&structure, offset, "->", 0, &text);
	if (text.length) {
		struct sn_text whole = { 0 };

		sn_text_addf(&whole, "%s%s", dwarf_diename(variable), text.chars);
		name = sn_arena_strdup(f->arena, whole.chars);
		sn_text_free(&whole);
	}
	sn_text_free(&text);
	return name;
}

/* ---- the code ---- */

static uint32_t dwarf_bits(uint32_t gprs)
{
	uint32_t bits = 0;

	for (int g = 0; g < GPRS; g++)
		bits |= gprs >> g & 1 ? 1u << dwarf_register[g] : 0;
	return bits;
}

static void local_note(struct following *f, struct wanted *w)
{
	if (f->local && f->inlined <= w->inlined)
		return;
	f->local = name_of(f, &w->found, w->is_register ? 0 : w->offset - w->at);
	f->inlined = w->inlined;
}

/* Registers that hold the pointer may be a variable's place. */
static void look_at_registers(struct following *f)
{
	struct wanted w = { .is_register = true, .registers = dwarf_bits(f->holding) };

	if ((!f->local || f->inlined) && f->holding && variable_find(f, &w))
		local_note(f, &w);
}

static void store_to_slot(struct following *f, int gpr, int64_t displacement)
{
	struct wanted w = { 0 };

	if (!slot_of(f, gpr, displacement, &w.offset))
		return;
	if (f->slot_count < SLOTS_MOST)
		f->slots[f->slot_count++] = w.offset;
	if (variable_find(f, &w))
		local_note(f, &w);
}

static bool is_in_slot(const struct following *f, int64_t offset)
{
	for (uint32_t i = 0; i < f->slot_count; i++)
		if (f->slots[i] == offset)
			return true;
	return false;
}

static bool entry_within(Dwarf_Die *parent, uint64_t link_addr, int depth, Dwarf_Die *out)
{
	Dwarf_Die die;

	if (depth > SCOPES_MOST || dwarf_child(parent, &die) != 0)
		return false;
	do {
		int tag = dwarf_tag(&die);
		uint64_t at;

		if (tag == DW_TAG_variable && dwarf_diename(&die) &&
		    sn_dwarf_address_of(&die, &at) && at == link_addr) {
			*out = die;
			return true;
		}
		if ((tag == DW_TAG_module || tag == DW_TAG_namespace) &&
		    entry_within(&die, link_addr, depth + 1, out))
			return true;
	} while (sn_dwarf_next_entry(&die));
	return false;
}

/* The entry of a variable at a link address, of any unit. */
static bool entry_at(const struct following *f, uint64_t link_addr, Dwarf_Die *out)
{
	Dwarf_Off at = 0, next;
	size_t header_bytes;
	Dwarf_Die unit;

	while (f->dwarf &&
	       dwarf_nextcu(f->dwarf, at, &next, &header_bytes, NULL, NULL, NULL) == 0) {
		if (dwarf_offdie(f->dwarf, at + header_bytes, &unit) &&
		    entry_within(&unit, link_addr, 0, out))
			return true;
		if (next <= at)
			break;
		at = next;
	}
	return false;
}

/* A variable with an address; of a Fortran array whose size was not known when it was compiled there is a descriptor, which
 * begins with the pointer. */
static const char *lasting_at(const struct following *f, uint64_t link_addr)
{
	const struct sn_variable *variable =
		f->variables ? sn_variables_at(f->variables, link_addr) : NULL;
	size_t low = 0, high = f->variables ? f->variables->addressed : 0;
	Dwarf_Die entry;

	while (!variable && low < high) {
		size_t middle = low + (high - low) / 2;

		if (f->variables->items.items[middle].link_addr == link_addr)
			variable = &f->variables->items.items[middle];
		else if (f->variables->items.items[middle].link_addr < link_addr)
			low = middle + 1;
		else
			high = middle;
	}
	if (!variable)
		return NULL;
	if (variable->kind == SN_VARIABLE_STRUCTURE && !variable->rank &&
	    entry_at(f, variable->link_addr, &entry))
		return name_of(f, &entry, (int64_t)(link_addr - variable->link_addr));
	return sn_arena_strdup(f->arena, variable->name);
}

static void store(struct following *f, const ZydisDecodedInstruction *insn,
		  const ZydisDecodedOperand *to)
{
	int base = sn_gpr_number(to->mem.base);
	struct wanted w = { .is_register = true };
	uint64_t absolute;

	if (to->mem.index != ZYDIS_REGISTER_NONE)
		return;
	if ((to->mem.base == ZYDIS_REGISTER_RIP || to->mem.base == ZYDIS_REGISTER_NONE) &&
	    to->mem.segment != ZYDIS_REGISTER_FS && to->mem.segment != ZYDIS_REGISTER_GS) {
		absolute = (uint64_t)to->mem.disp.value +
			   (to->mem.base == ZYDIS_REGISTER_RIP ? f->pc + insn->length : 0);
		if (!f->lasting)
			f->lasting = lasting_at(f, absolute);
	} else if (base == RSP || base == RBP) {
		store_to_slot(f, base, to->mem.disp.value);
	} else if (base >= 0 && !f->member) {
		w.registers = dwarf_bits(1u << base);
		if (f->has_variable & 1u << base)
			f->member = member_name(f, &f->of_register[base], to->mem.disp.value);
		else if (variable_find(f, &w))
			f->member = member_name(f, &w.found, to->mem.disp.value);
	}
}

static void load(struct following *f, int to, const ZydisDecodedOperand *from)
{
	int base = sn_gpr_number(from->mem.base);
	struct wanted w = { 0 };

	if ((base != RSP && base != RBP) || from->mem.index != ZYDIS_REGISTER_NONE ||
	    !slot_of(f, base, from->mem.disp.value, &w.offset))
		return;
	if (is_in_slot(f, w.offset)) {
		f->holding |= 1u << to;
	} else if (variable_find(f, &w)) {
		f->of_register[to] = w.found;
		f->has_variable |= 1u << to;
	}
}

static bool is_held(const struct following *f, const ZydisDecodedOperand *operand)
{
	int number = operand->type == ZYDIS_OPERAND_TYPE_REGISTER
			     ? sn_gpr_number(operand->reg.value)
			     : -1;

	return operand->size == 64 && number >= 0 && f->holding & 1u << number;
}

/* What the instruction does to the registers and to memory. */
static void follow(struct following *f, const ZydisDecodedInstruction *insn,
		   const ZydisDecodedOperand *operands)
{
	bool is_move = insn->mnemonic == ZYDIS_MNEMONIC_MOV;
	bool moves_pointer = is_move && is_held(f, &operands[1]);
	int to = is_move && operands[0].type == ZYDIS_OPERAND_TYPE_REGISTER
			 ? sn_gpr_number(operands[0].reg.value)
			 : -1;

	f->is_tested = insn->mnemonic == ZYDIS_MNEMONIC_TEST && is_held(f, &operands[0]) &&
		       operands[1].type == ZYDIS_OPERAND_TYPE_REGISTER;
	if (moves_pointer && operands[0].type == ZYDIS_OPERAND_TYPE_MEMORY)
		store(f, insn, &operands[0]);
	for (int i = 0; i < insn->operand_count; i++) {
		int number = operands[i].type == ZYDIS_OPERAND_TYPE_REGISTER
				     ? sn_gpr_number(operands[i].reg.value)
				     : -1;

		if (number < 0 || number == RSP ||
		    !(operands[i].actions & ZYDIS_OPERAND_ACTION_MASK_WRITE))
			continue;
		f->holding &= ~(1u << number);
		f->has_variable &= ~(1u << number);
	}
	if (moves_pointer && to >= 0)
		f->holding |= 1u << to;
	else if (to >= 0 && operands[0].size == 64 && operands[1].type == ZYDIS_OPERAND_TYPE_MEMORY)
		load(f, to, &operands[1]);
}

/* False: the code is followed no further. */
static bool step(struct following *f, bool *is_returned)
{
	ZydisDecodedInstruction insn;
	ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
	struct sn_instruction flow;
	bool was_tested = f->is_tested;
	size_t available = 0;
	const uint8_t *bytes = sn_image_bytes(f->image, f->pc, &available);

	if (!bytes || !sn_instruction_decode(bytes, available, f->pc, &flow) ||
	    ZYAN_FAILED(ZydisDecoderDecodeFull(sn_decoder(), bytes, available, &insn, operands)))
		return false;
	switch (flow.flow) {
	case SN_FLOW_NEXT:
		follow(f, &insn, operands);
		break;
	case SN_FLOW_CALL:
	case SN_FLOW_CALL_INDIRECT:
		f->holding &= ~(uint32_t)CALLER_SAVED;
		f->has_variable &= ~(uint32_t)CALLER_SAVED;
		break;
	case SN_FLOW_BRANCH: /* where the pointer is not NULL */
		if (was_tested && insn.mnemonic == ZYDIS_MNEMONIC_JNZ) {
			f->pc = flow.target_link_addr;
			return true;
		}
		break;
	case SN_FLOW_JUMP:
		f->pc = flow.target_link_addr;
		return true;
	case SN_FLOW_RETURN:
		*is_returned = f->holding & 1u << RAX;
		return false;
	default:
		return false;
	}
	f->pc += flow.length;
	return true;
}

struct sn_held sn_held_find(struct sn_image *image, const struct sn_variables *variables,
			    uint64_t return_link_addr, struct sn_arena *arena)
{
	struct following f = { .image = image,
			       .variables = variables,
			       .arena = arena,
			       .dwarf = sn_image_dwarf(image),
			       .pc = return_link_addr,
			       .call = return_link_addr - 1,
			       .holding = 1u << RAX };
	struct sn_held held = { 0 };
	Dwarf_Die unit;

	f.cfi = image->dwarf_elf ? dwarf_getcfi_elf(image->dwarf_elf) : NULL;
	f.has_function = f.dwarf && unit_find(f.dwarf, return_link_addr, &unit) &&
			 function_find(&f, &unit, 0, &f.function);
	for (int i = 0; i < INSTRUCTIONS_MOST && !f.lasting; i++) {
		look_at_registers(&f);
		if (!step(&f, &held.is_returned))
			break;
	}
	if (f.cfi)
		dwarf_cfi_end(f.cfi);
	held.name = f.lasting ? f.lasting : f.member ? f.member : f.local;
	return held;
}
