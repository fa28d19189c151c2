/*
 * A loop that is to have variants: what decides where it goes on (its control slice), what decides
 * where in memory it is, and whether what it stores can be what tells either.
 */
#include <string.h>

#include "base/text.h"
#include "rewrite/variant_parts.h"

/* ---- instructions ---- */

static bool is_move_name(const char *name)
{
	static const char *const begins[] = { "mov",	  "vmov",     "vbroadcast", "vpbroadcast",
					      "lddqu",	  "vlddqu",   "vgather",    "vpgather",
					      "vmaskmov", "vpmaskmov" };

	for (size_t i = 0; i < sizeof(begins) / sizeof(*begins); i++)
		if (!strncmp(name, begins[i], strlen(begins[i])))
			return true;
	return false;
}

static bool is_float_operation(const struct rw_action *action)
{
	if (action->is_move || action->insn.meta.category == ZYDIS_CATEGORY_LOGICAL_FP)
		return false;
	for (unsigned i = 0; i < action->insn.operand_count_visible; i++)
		if (action->operands[i].element_type >= ZYDIS_ELEMENT_TYPE_FLOAT16 &&
		    action->operands[i].element_type <= ZYDIS_ELEMENT_TYPE_FLOAT80)
			return true;
	return false;
}

/* What no variant of a loop can have. */
static const char *forbidden(const struct rw_action *action, const struct rw_insn *at)
{
	if (at->flow == SN_FLOW_JUMP_INDIRECT)
		return "it has a jump table";
	if (at->stack_change)
		return "it moves the stack pointer";
	if (action->insn.attributes & (ZYDIS_ATTRIB_HAS_LOCK))
		return "it has atomic operations";
	switch (action->insn.mnemonic) {
	case ZYDIS_MNEMONIC_PAUSE:
	case ZYDIS_MNEMONIC_TPAUSE:
	case ZYDIS_MNEMONIC_UMWAIT:
		return "it waits for another thread";
	case ZYDIS_MNEMONIC_XCHG:
		return action->memory >= 0 ? "it has atomic operations" : NULL;
	default:
		break;
	}
	switch (action->insn.meta.category) {
	case ZYDIS_CATEGORY_SEMAPHORE:
		return "it has atomic operations";
	case ZYDIS_CATEGORY_STRINGOP:
		return "it has string instructions";
	case ZYDIS_CATEGORY_IO:
	case ZYDIS_CATEGORY_IOSTRINGOP:
	case ZYDIS_CATEGORY_SYSTEM:
	case ZYDIS_CATEGORY_INTERRUPT:
	case ZYDIS_CATEGORY_SYSCALL:
	case ZYDIS_CATEGORY_SYSRET:
	case ZYDIS_CATEGORY_RDRAND:
	case ZYDIS_CATEGORY_RDSEED:
	case ZYDIS_CATEGORY_XSAVE:
	case ZYDIS_CATEGORY_XSAVEOPT:
	case ZYDIS_CATEGORY_AMX_TILE:
	case ZYDIS_CATEGORY_PUSH:
	case ZYDIS_CATEGORY_POP:
	case ZYDIS_CATEGORY_RET:
		return "it has an instruction that acts on more than registers and memory";
	default:
		break;
	}
	switch (action->insn.mnemonic) {
	case ZYDIS_MNEMONIC_CPUID:
	case ZYDIS_MNEMONIC_RDTSC:
	case ZYDIS_MNEMONIC_RDTSCP:
	case ZYDIS_MNEMONIC_MFENCE:
	case ZYDIS_MNEMONIC_LFENCE:
	case ZYDIS_MNEMONIC_SFENCE:
	case ZYDIS_MNEMONIC_CLFLUSH:
	case ZYDIS_MNEMONIC_CLFLUSHOPT:
	case ZYDIS_MNEMONIC_CLWB:
	case ZYDIS_MNEMONIC_LDMXCSR:
	case ZYDIS_MNEMONIC_VLDMXCSR:
	case ZYDIS_MNEMONIC_STMXCSR:
	case ZYDIS_MNEMONIC_VSTMXCSR:
	case ZYDIS_MNEMONIC_VZEROALL:
	case ZYDIS_MNEMONIC_EMMS:
	case ZYDIS_MNEMONIC_MASKMOVDQU:
	case ZYDIS_MNEMONIC_VMASKMOVDQU:
		return "it has an instruction that acts on more than registers and memory";
	default:
		return NULL;
	}
}

static const char *read_action(const struct rw_insn *at, struct rw_action *out)
{
	ZydisDecodedInstruction *insn = &out->insn;
	unsigned memories = 0;

	if (!ZYAN_SUCCESS(ZydisDecoderDecodeFull(sn_decoder(), at->bytes, at->length, insn,
						 out->operands)))
		return "it has bytes that are no instruction";
	rw_effect_of(insn, out->operands, &out->effect);
	out->memory = -1;
	out->is_prefetch = insn->meta.category == ZYDIS_CATEGORY_PREFETCH;
	for (unsigned i = 0; i < insn->operand_count; i++) {
		const ZydisDecodedOperand *operand = &out->operands[i];

		if (operand->type != ZYDIS_OPERAND_TYPE_MEMORY ||
		    operand->mem.type == ZYDIS_MEMOP_TYPE_AGEN ||
		    insn->meta.category == ZYDIS_CATEGORY_NOP ||
		    insn->meta.category == ZYDIS_CATEGORY_WIDENOP)
			continue;
		memories++;
		out->memory = (int8_t)i;
		out->is_load =
			!out->is_prefetch && operand->actions & ZYDIS_OPERAND_ACTION_MASK_READ;
		out->is_store =
			!out->is_prefetch && operand->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE;
	}
	if (memories > 1 && at->flow == SN_FLOW_NEXT)
		return "it has string instructions";
	out->is_vex = insn->encoding != ZYDIS_INSTRUCTION_ENCODING_LEGACY;
	out->is_move = is_move_name(ZydisMnemonicGetString(insn->mnemonic));
	out->is_float = is_float_operation(out);
	return forbidden(out, at);
}

static bool is_x87(const struct rw_action *action)
{
	for (unsigned i = 0; i < action->insn.operand_count; i++) {
		ZydisRegisterClass class =
			action->operands[i].type == ZYDIS_OPERAND_TYPE_REGISTER
				? ZydisRegisterGetClass(action->operands[i].reg.value)
				: ZYDIS_REGCLASS_INVALID;

		if (class == ZYDIS_REGCLASS_X87 || class == ZYDIS_REGCLASS_MMX)
			return true;
	}
	return action->insn.meta.isa_ext == ZYDIS_ISA_EXT_X87;
}

/* Integer arithmetic on data: of vectors, or of general registers that no address comes from. */
static bool is_integer_operation(const struct rw_action *action)
{
	return !action->is_move && !action->is_float && !action->is_prefetch &&
	       !action->is_address && action->effect.writes;
}

static void note(struct rw_body *body, const struct rw_action *action)
{
	body->used |= action->effect.reads | action->effect.writes;
	body->has_memory |= action->is_load || action->is_store;
	body->has_stores |= action->is_store;
	body->has_floats |= action->is_float;
	body->has_x87 |= is_x87(action);
	body->has_division |= action->insn.mnemonic == ZYDIS_MNEMONIC_DIV ||
			      action->insn.mnemonic == ZYDIS_MNEMONIC_IDIV;
	body->has_vex |= action->is_vex && action->insn.meta.category != ZYDIS_CATEGORY_BMI1 &&
			 action->insn.meta.category != ZYDIS_CATEGORY_BMI2;
}

/* ---- slices ---- */

struct slice {
	struct rw_body *body;
	uint64_t *in; /* by the nest's block: what is needed where it begins */
	bool with_addresses;
	bool has_changed;
};

static uint64_t needed_after(const struct slice *slice, size_t b)
{
	const struct rw_nest *nest = slice->body->nest;
	const struct sn_block *block = &nest->function->blocks[nest->blocks.items[b].index];
	uint64_t needed = 0;

	for (uint32_t s = 0; s < block->successor_count; s++) {
		uint32_t to = nest->function->successors[block->first_successor + s];
		int32_t at = nest->position[to];

		if (at >= 0 && rw_body_has(slice->body, (size_t)at))
			needed |= slice->in[at];
	}
	return needed;
}

static void walk_block(struct slice *slice, size_t b)
{
	const struct rw_nest *nest = slice->body->nest;
	const struct rw_block *block = &nest->blocks.items[b];
	uint64_t needed = rw_body_calls(slice->body, b) ? 0 : needed_after(slice, b);

	for (uint32_t i = rw_body_insns(slice->body, b); i-- > 0;) {
		struct rw_action *action = &slice->body->actions[block->first_insn + i];
		const struct rw_effect *effect = &action->effect;
		uint8_t flow = nest->insns.items[block->first_insn + i].flow;
		bool is_in = flow == SN_FLOW_BRANCH || effect->writes & needed;

		if (is_in) {
			needed = (needed & ~effect->kills) | effect->reads;
			action->is_address = true;
			action->is_control |= !slice->with_addresses;
		}
		if (slice->with_addresses)
			needed |= effect->addresses;
		if (slice->with_addresses)
			slice->body->needed |= needed;
		else
			slice->body->controlled |= needed;
	}
	slice->has_changed |= slice->in[b] != needed;
	slice->in[b] = needed;
}

/* What is needed where the loop begins. */
static uint64_t find_slice(struct rw_body *body, bool with_addresses)
{
	const struct rw_nest *nest = body->nest;
	struct sn_arena *arena = &((struct rw_nest *)nest)->arena;
	struct slice slice = { .body = body,
			       .with_addresses = with_addresses,
			       .in = sn_arena_array(arena, uint64_t, nest->blocks.count + 1) };
	int32_t header = rw_block_at(nest->function, body->loop->header_link_addr);

	do {
		slice.has_changed = false;
		for (size_t b = nest->blocks.count; b-- > 0;)
			if (rw_body_has(body, b))
				walk_block(&slice, b);
	} while (slice.has_changed);
	return slice.in[nest->position[header]];
}

/* ---- what is stored, and what is loaded to decide ---- */

static bool is_fixed_base(const struct rw_body *body, ZydisRegister reg, uint64_t written)
{
	(void)body;
	return reg == ZYDIS_REGISTER_NONE || reg == ZYDIS_REGISTER_RIP ||
	       (sn_gpr_number(reg) >= 0 && !(written & 1ULL << sn_gpr_number(reg)));
}

struct place {
	ZydisRegister base;
	int64_t first, end;
	bool is_known; /* the address is base + a constant, and the base stays as it is */
};

static struct place place_of(const struct rw_body *body, const struct rw_action *action,
			     const struct rw_insn *at, uint64_t written)
{
	const ZydisDecodedOperand *operand = &action->operands[action->memory];
	struct place place = { .base = operand->mem.base,
			       .first = operand->mem.disp.has_displacement ? operand->mem.disp.value
									   : 0 };

	if (place.base == ZYDIS_REGISTER_RIP)
		place.first += (int64_t)at->link_addr + at->length;
	place.end = place.first + operand->size / 8;
	place.is_known = operand->mem.index == ZYDIS_REGISTER_NONE &&
			 is_fixed_base(body, place.base, written) &&
			 operand->mem.segment != ZYDIS_REGISTER_FS &&
			 operand->mem.segment != ZYDIS_REGISTER_GS;
	return place;
}

enum relation { APART, MAY_MEET, SAME };

static enum relation relation_of(const struct place *load, const struct place *store,
				 bool is_frame_private)
{
	bool both = load->is_known && store->is_known;

	if (both && load->base == store->base)
		return load->end <= store->first || store->end <= load->first ? APART : SAME;
	if (is_frame_private && load->is_known && load->base == ZYDIS_REGISTER_RSP &&
	    store->base != ZYDIS_REGISTER_RSP)
		return APART;
	return MAY_MEET;
}

/* Nobody outside of the function knows where its frame is: no address in it is computed. */
static bool is_frame_private(const struct rw_nest *nest)
{
	const struct sn_function *function = nest->function;

	for (uint32_t b = 0; b < function->block_count; b++) {
		uint64_t at = function->blocks[b].link_addr;
		uint64_t end = at + function->blocks[b].size_bytes;

		while (at < end) {
			ZydisDecodedInstruction insn;
			ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
			size_t available;
			const uint8_t *bytes =
				sn_structure_bytes(nest->rewriter->structure, at, &available);

			if (!bytes || !ZYAN_SUCCESS(ZydisDecoderDecodeFull(
					      sn_decoder(), bytes, available, &insn, operands)))
				return false;
			for (unsigned i = 0; i < insn.operand_count_visible; i++) {
				bool is_address = operands[i].type == ZYDIS_OPERAND_TYPE_MEMORY &&
						  operands[i].mem.type == ZYDIS_MEMOP_TYPE_AGEN &&
						  (operands[i].mem.base == ZYDIS_REGISTER_RSP ||
						   operands[i].mem.index == ZYDIS_REGISTER_RSP);
				bool is_copy = operands[i].type == ZYDIS_OPERAND_TYPE_REGISTER &&
					       operands[i].reg.value == ZYDIS_REGISTER_RSP &&
					       operands[i].actions & ZYDIS_OPERAND_ACTION_MASK_READ;

				if ((is_address || (is_copy && i)) &&
				    !(operands[0].type == ZYDIS_OPERAND_TYPE_REGISTER &&
				      operands[0].reg.value == ZYDIS_REGISTER_RSP))
					return false;
			}
			at += insn.length;
		}
	}
	return true;
}

/* Whether what the loop stores may tell where it goes on; false: it does. */
static bool find_hazards(struct rw_body *body, uint64_t written)
{
	const struct rw_nest *nest = body->nest;
	bool is_private = is_frame_private(nest);

	for (size_t l = 0; l < nest->insns.count; l++) {
		const struct rw_action *load = &body->actions[l];

		if (load->memory < 0 || !load->is_load || !load->is_address)
			continue;
		body->is_data_controlled |= load->is_control;
		body->has_data_addresses = true;
		struct place from = place_of(body, load, &nest->insns.items[l], written);
		for (size_t s = 0; s < nest->insns.count; s++) {
			const struct rw_action *store = &body->actions[s];

			if (store->memory < 0 || !store->is_store || store->is_before_call)
				continue;
			struct place to = place_of(body, store, &nest->insns.items[s], written);
			enum relation relation = relation_of(&from, &to, is_private);

			if (relation == SAME && load->is_control)
				return false;
			body->may_alias |= relation != APART;
		}
	}
	return true;
}

static bool has_scatter(const struct rw_body *body)
{
	for (size_t i = 0; i < body->nest->insns.count; i++)
		if (body->actions[i].memory >= 0 && body->actions[i].is_store &&
		    body->actions[i].operands[body->actions[i].memory].mem.type ==
			    ZYDIS_MEMOP_TYPE_VSIB)
			return true;
	return false;
}

const char *rw_body_read(struct rw_nest *nest, const struct sn_loop *loop, struct rw_body *out)
{
	uint64_t written = 0, live;
	const char *why = NULL;

	*out = (struct rw_body){ .nest = nest, .loop = loop };
	out->actions = sn_arena_array(&nest->arena, struct rw_action, nest->insns.count + 1);
	for (size_t i = 0; i < nest->insns.count; i++)
		out->actions[i].memory = -1;
	if (!rw_body_find_reached(out))
		return "it calls functions in each iteration";
	for (size_t b = 0; b < nest->blocks.count && !why; b++) {
		const struct rw_block *block = &nest->blocks.items[b];

		if (!rw_body_has(out, b))
			continue;
		for (uint32_t i = 0; i < rw_body_insns(out, b) && !why; i++) {
			struct rw_action *action = &out->actions[block->first_insn + i];

			why = read_action(&nest->insns.items[block->first_insn + i], action);
			action->is_before_call = rw_body_calls(out, b);
			note(out, action);
			written |= action->effect.writes;
		}
	}
	if (why)
		return why;
	if (has_scatter(out))
		return "it scatters";
	live = find_slice(out, false);
	if (live & RW_ALL_FLAGS)
		return "flags from before it decide where it goes on";
	if (!(live & written))
		return "nothing but memory says when it ends: it may wait for another thread";
	find_slice(out, true);
	for (size_t i = 0; i < nest->insns.count; i++) {
		const struct rw_action *action = &out->actions[i];

		if (action->is_control && action->is_store)
			return "what it stores decides where it goes on";
		out->has_integers |= action->insn.length && is_integer_operation(action);
	}
	if (!find_hazards(out, written))
		return "what it stores decides where it goes on";
	rw_body_find_addresses(out);
	return NULL;
}
