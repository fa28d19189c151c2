/*
 * Where the operands of a loop are from one iteration to the next: at the same place, further by a
 * constant, or where what was loaded before says.
 */
#include <string.h>

#include "rewrite/variant_parts.h"

struct steps {
	uint32_t writes[16];
	int64_t step[16]; /* of the only writer; 0: no constant */
};

int64_t rw_action_step(const struct rw_action *action)
{
	const ZydisDecodedOperand *o = action->operands;
	bool is_constant =
		action->insn.operand_count_visible > 1 && o[1].type == ZYDIS_OPERAND_TYPE_IMMEDIATE;

	if (action->insn.operand_width != 64 || o[0].type != ZYDIS_OPERAND_TYPE_REGISTER)
		return 0;
	switch (action->insn.mnemonic) {
	case ZYDIS_MNEMONIC_INC:
		return 1;
	case ZYDIS_MNEMONIC_DEC:
		return -1;
	case ZYDIS_MNEMONIC_ADD:
		return is_constant ? o[1].imm.value.s : 0;
	case ZYDIS_MNEMONIC_SUB:
		return is_constant ? -o[1].imm.value.s : 0;
	case ZYDIS_MNEMONIC_LEA:
		return o[1].mem.base == o[0].reg.value && o[1].mem.index == ZYDIS_REGISTER_NONE &&
				       action->insn.address_width == 64
			       ? o[1].mem.disp.value
			       : 0;
	default:
		return 0;
	}
}

static void find_steps(const struct rw_body *body, struct steps *steps)
{
	*steps = (struct steps){ 0 };
	for (size_t i = 0; i < body->nest->insns.count; i++) {
		const struct rw_action *action = &body->actions[i];

		for (int reg = 0; reg < 16; reg++)
			if (action->effect.writes & 1ULL << reg) {
				steps->writes[reg]++;
				steps->step[reg] = rw_action_step(action);
			}
	}
}

/* False: it moves by what is not known. */
static bool add_step(const struct steps *steps, ZydisRegister reg, int64_t scale, int64_t *stride)
{
	int gpr = sn_gpr_number(reg);

	if (reg == ZYDIS_REGISTER_NONE || reg == ZYDIS_REGISTER_RIP)
		return true;
	if (gpr < 0)
		return false;
	if (!steps->writes[gpr])
		return true;
	if (steps->writes[gpr] > 1 || !steps->step[gpr])
		return false;
	*stride += scale * steps->step[gpr];
	return true;
}

static bool is_written(const struct steps *steps, ZydisRegister reg)
{
	int gpr = sn_gpr_number(reg);

	if (reg == ZYDIS_REGISTER_NONE || reg == ZYDIS_REGISTER_RIP)
		return false;
	return gpr < 0 || steps->writes[gpr];
}

static bool have_same_base(const struct rw_action *a, const struct rw_action *b)
{
	const ZydisDecodedOperand *x = &a->operands[a->memory], *y = &b->operands[b->memory];

	return x->mem.segment == y->mem.segment && x->mem.base == y->mem.base &&
	       x->mem.index == y->mem.index && x->mem.scale == y->mem.scale;
}

static int64_t displacement_of(const struct rw_body *body, size_t i)
{
	const struct rw_action *action = &body->actions[i];
	const ZydisDecodedOperand *operand = &action->operands[action->memory];
	int64_t value = operand->mem.disp.has_displacement ? operand->mem.disp.value : 0;

	if (operand->mem.base == ZYDIS_REGISTER_RIP)
		value += (int64_t)body->nest->insns.items[i].link_addr +
			 body->nest->insns.items[i].length;
	return value;
}

/* The same number for the same place. */
static void set_cell(struct rw_body *body, size_t i)
{
	for (size_t k = 0; k < i; k++)
		if (body->actions[k].memory >= 0 && body->actions[k].is_fixed &&
		    have_same_base(&body->actions[k], &body->actions[i]) &&
		    displacement_of(body, k) == displacement_of(body, i)) {
			body->actions[i].cell = body->actions[k].cell;
			return;
		}
	body->actions[i].cell = body->cells++;
}

/* A load of what the iteration before, or this one, has stored waits for that store: it must do so in
 * first-level memory, too. */
static void join_stored_and_loaded(struct rw_body *body, size_t load)
{
	struct rw_action *l = &body->actions[load];

	for (size_t s = 0; s < body->nest->insns.count; s++) {
		struct rw_action *store = &body->actions[s];
		int64_t ahead;

		if (store->memory < 0 || !store->is_store || store->is_before_call || s == load ||
		    !l->stride || !have_same_base(store, l) || store->stride != l->stride)
			continue;
		ahead = displacement_of(body, s) - displacement_of(body, load);
		if (!(ahead == 0 ? s < load : ahead % l->stride == 0 && ahead / l->stride > 0))
			continue;
		if (ahead && ahead != l->stride)
			body->has_unclear_recurrence |= ahead / l->stride <= 4;
		if (ahead && ahead != l->stride)
			continue;
		if (!store->is_fixed)
			store->cell = body->cells++;
		store->is_fixed = l->is_fixed = true;
		l->cell = store->cell;
	}
}

/* ---- recurrences ---- */

struct spread {
	const struct rw_body *body;
	size_t from;
	bool only_moves;
	uint64_t *in;	 /* by the nest's block: registers that hold what comes from `from` */
	uint64_t before; /* such registers where `from` itself is */
};

static uint64_t spread_over(struct spread *spread, size_t b)
{
	const struct rw_block *block = &spread->body->nest->blocks.items[b];
	uint64_t taint = spread->in[b];

	for (uint32_t i = 0; i < rw_body_insns(spread->body, b); i++) {
		const struct rw_action *action = &spread->body->actions[block->first_insn + i];
		uint64_t written = action->effect.writes & ~RW_ALL_FLAGS;

		if (block->first_insn + i == spread->from) {
			spread->before |= taint;
			taint |= written;
		} else if (action->effect.reads & taint &&
			   (!spread->only_moves || action->is_move)) {
			taint |= written;
		} else {
			taint &= ~action->effect.kills;
		}
	}
	return taint;
}

/* Registers that hold, where a load is, what comes from the same load in an earlier iteration. */
static uint64_t comes_around(const struct rw_body *body, size_t from, bool only_moves)
{
	const struct rw_nest *nest = body->nest;
	struct spread spread = {
		.body = body,
		.from = from,
		.only_moves = only_moves,
		.in = sn_arena_array(&((struct rw_nest *)nest)->arena, uint64_t,
				     nest->blocks.count + 1),
	};
	bool has_changed = true;

	while (has_changed) {
		has_changed = false;
		for (size_t b = 0; b < nest->blocks.count; b++) {
			const struct sn_block *block =
				&nest->function->blocks[nest->blocks.items[b].index];
			uint64_t out;

			if (!rw_body_has(body, b))
				continue;
			out = spread_over(&spread, b);
			for (uint32_t s = 0; !rw_body_calls(body, b) && s < block->successor_count;
			     s++) {
				int32_t to = nest->position[nest->function->successors
								    [block->first_successor + s]];

				if (to < 0 || !rw_body_has(body, (size_t)to) ||
				    !(out & ~spread.in[to]))
					continue;
				spread.in[to] |= out;
				has_changed = true;
			}
		}
	}
	return spread.before;
}

static void find_recurrence(struct rw_body *body, size_t i)
{
	struct rw_action *action = &body->actions[i];
	uint64_t looped = comes_around(body, i, false) & action->effect.addresses;

	if (!looped)
		return;
	action->is_recurrent = true;
	if (action->is_control || looped & ~comes_around(body, i, true) || looped & (looped - 1) ||
	    looped & ~RW_ALL_GPRS || looped & body->controlled)
		body->has_unclear_recurrence = true;
	else
		action->cell = (uint16_t)__builtin_ctzll(looped);
}

/* mov disp(REG), REG */
static bool is_plain_step(const struct rw_action *action)
{
	const ZydisDecodedOperand *o = action->operands;

	return action->insn.mnemonic == ZYDIS_MNEMONIC_MOV && action->insn.operand_width == 64 &&
	       action->memory == 1 && o[0].type == ZYDIS_OPERAND_TYPE_REGISTER &&
	       o[1].mem.base == o[0].reg.value && o[1].mem.index == ZYDIS_REGISTER_NONE &&
	       o[1].mem.segment != ZYDIS_REGISTER_FS && o[1].mem.segment != ZYDIS_REGISTER_GS &&
	       sn_gpr_number(o[0].reg.value) == action->cell;
}

/* All loads of a register's recurrence take one address of it, so one line can hold what each of them loads. */
static void find_lists(struct rw_body *body)
{
	for (size_t i = 0; i < body->nest->insns.count; i++) {
		struct rw_action *action = &body->actions[i];

		action->is_list = action->is_recurrent && is_plain_step(action);
		for (size_t k = 0; action->is_list && k < body->nest->insns.count; k++)
			if (body->actions[k].is_recurrent && body->actions[k].cell == action->cell)
				action->is_list =
					is_plain_step(&body->actions[k]) &&
					displacement_of(body, k) == displacement_of(body, i);
	}
}

void rw_body_find_addresses(struct rw_body *body)
{
	struct steps steps;

	find_steps(body, &steps);
	for (size_t i = 0; i < body->nest->insns.count; i++) {
		struct rw_action *action = &body->actions[i];
		const ZydisDecodedOperand *operand;

		if (action->memory < 0)
			continue;
		operand = &action->operands[action->memory];
		if (operand->mem.type == ZYDIS_MEMOP_TYPE_VSIB)
			continue;
		if (!is_written(&steps, operand->mem.base) &&
		    !is_written(&steps, operand->mem.index)) {
			action->is_fixed = true;
			set_cell(body, i);
		} else if (!add_step(&steps, operand->mem.base, 1, &action->stride) ||
			   !add_step(&steps, operand->mem.index, operand->mem.scale,
				     &action->stride)) {
			action->stride = 0;
		}
	}
	for (size_t i = 0; i < body->nest->insns.count; i++) {
		struct rw_action *action = &body->actions[i];

		if (action->memory < 0 || !action->is_load)
			continue;
		join_stored_and_loaded(body, i);
		if (!action->stride && !action->is_fixed)
			find_recurrence(body, i);
	}
	find_lists(body);
}
