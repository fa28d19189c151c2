/*
 * Where a loop accesses memory. Accesses that follow each other make a group, as long as no instruction
 * between changes a register that tells where a later one is: then all addresses are known where the
 * group begins. A loop in it, or itself, is a line if every iteration passes all of its blocks in the
 * same order: what moves by a constant there needs to be told once.
 */
#include <string.h>

#include "base/text.h"
#include "rewrite/recorder_parts.h"

enum { GROUP_MAX = 8 };

/* ---- instructions ---- */

/* What an instruction accesses is told by its operands in memory, but for these. */
static const char *refused(const struct rw_action *action, const struct rw_insn *at)
{
	if (at->flow == SN_FLOW_CALL || at->flow == SN_FLOW_CALL_INDIRECT)
		return "it calls functions, whose accesses would be missing";
	if (at->flow == SN_FLOW_JUMP_INDIRECT)
		return "it has a jump table";
	if (at->stack_change)
		return "it moves the stack pointer";
	if (action->insn.attributes &
	    (ZYDIS_ATTRIB_HAS_REP | ZYDIS_ATTRIB_HAS_REPE | ZYDIS_ATTRIB_HAS_REPNE))
		return "it has a string instruction that repeats";
	switch (action->insn.mnemonic) {
	case ZYDIS_MNEMONIC_BT:
	case ZYDIS_MNEMONIC_BTS:
	case ZYDIS_MNEMONIC_BTR:
	case ZYDIS_MNEMONIC_BTC:
		return action->operands[0].type == ZYDIS_OPERAND_TYPE_MEMORY &&
				       action->operands[1].type == ZYDIS_OPERAND_TYPE_REGISTER
			       ? "it has a string of bits in memory"
			       : NULL;
	default:
		break;
	}
	switch (action->insn.meta.category) {
	case ZYDIS_CATEGORY_AMX_TILE:
	case ZYDIS_CATEGORY_XSAVE:
	case ZYDIS_CATEGORY_XSAVEOPT:
		return "it has an instruction whose accesses its operands do not tell";
	default:
		return NULL;
	}
}

static bool is_access(const struct rw_action *action, const ZydisDecodedOperand *operand)
{
	if (operand->type != ZYDIS_OPERAND_TYPE_MEMORY ||
	    operand->mem.type == ZYDIS_MEMOP_TYPE_AGEN || !operand->size ||
	    !(operand->actions &
	      (ZYDIS_OPERAND_ACTION_MASK_READ | ZYDIS_OPERAND_ACTION_MASK_WRITE)))
		return false;
	switch (action->insn.meta.category) {
	case ZYDIS_CATEGORY_NOP:
	case ZYDIS_CATEGORY_WIDENOP:
	case ZYDIS_CATEGORY_PREFETCH:
		return false;
	default:
		break;
	}
	switch (action->insn.mnemonic) {
	case ZYDIS_MNEMONIC_CLFLUSH:
	case ZYDIS_MNEMONIC_CLFLUSHOPT:
	case ZYDIS_MNEMONIC_CLWB:
		return false;
	default:
		return true;
	}
}

static uint32_t kind_of(const ZydisDecodedOperand *operand)
{
	return (operand->actions & ZYDIS_OPERAND_ACTION_MASK_READ ? SN_ACCESS_READ : 0) |
	       (operand->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE ? SN_ACCESS_WRITE : 0);
}

/* Whether its address can be told before the instruction is done. */
static const char *check_operand(const ZydisDecodedOperand *operand)
{
	if (operand->mem.type != ZYDIS_MEMOP_TYPE_MEM)
		return "it has an instruction that accesses several places";
	if (operand->mem.segment == ZYDIS_REGISTER_GS)
		return "it has an address that its registers do not tell";
	return NULL;
}

static const char *read_insns(struct rw_recorder *recorder)
{
	const struct rw_nest *nest = recorder->nest;
	const char *why = NULL;

	for (size_t b = 0; b < nest->blocks.count; b++) {
		const struct rw_block *block = &nest->blocks.items[b];

		if (!rw_loop_holds(nest->function, (int32_t)recorder->loop->index,
				   nest->function->blocks[block->index].loop))
			continue;
		for (uint32_t i = 0; i < block->insn_count && !why; i++) {
			const struct rw_insn *at = &nest->insns.items[block->first_insn + i];
			struct rw_action *action = &recorder->actions[block->first_insn + i];

			if (!ZYAN_SUCCESS(ZydisDecoderDecodeFull(sn_decoder(), at->bytes,
								 at->length, &action->insn,
								 action->operands)))
				return "it has bytes that are no instruction";
			rw_effect_of(&action->insn, action->operands, &action->effect);
			why = refused(action, at);
			for (unsigned o = 0; o < action->insn.operand_count && !why; o++)
				if (is_access(action, &action->operands[o]))
					why = check_operand(&action->operands[o]);
		}
	}
	return why;
}

/* ---- lines ---- */

struct steps {
	uint32_t writes[16];
	int64_t step[16]; /* of the only writer; 0: no constant */
	uint32_t at[16];  /* of the writer: place in the line's order */
};

/* The next block of an iteration, as a place in the nest; -1: there are several, or none. */
static int32_t next_in(const struct rw_nest *nest, const struct sn_loop *loop, int32_t at)
{
	const struct sn_block *block = &nest->function->blocks[nest->blocks.items[at].index];
	int32_t next = -1;

	for (uint32_t s = 0; s < block->successor_count; s++) {
		uint32_t to = nest->function->successors[block->first_successor + s];

		if (nest->position[to] < 0 ||
		    nest->function->blocks[to].loop != (int32_t)loop->index)
			continue;
		if (next >= 0 && next != nest->position[to])
			return -1;
		next = nest->position[to];
	}
	return next;
}

/* The blocks of a loop in the order of an iteration; 0: there is not one order. */
static uint32_t find_order(const struct rw_recorder *recorder, const struct sn_loop *loop,
			   uint32_t *order)
{
	const struct rw_nest *nest = recorder->nest;
	int32_t header = nest->position[rw_block_at(nest->function, loop->header_link_addr)];
	int32_t at = header;
	uint32_t count = 0, blocks = 0;

	for (size_t b = 0; b < nest->blocks.count; b++)
		blocks += nest->function->blocks[nest->blocks.items[b].index].loop ==
			  (int32_t)loop->index;
	do {
		if (count == blocks || count == SN_ACCESS_LINE_BLOCKS_MAX)
			return 0;
		order[count++] = (uint32_t)at;
		at = next_in(nest, loop, at);
	} while (at >= 0 && at != header);
	return at == header && count == blocks ? count : 0;
}

static struct steps find_steps(const struct rw_recorder *recorder, const uint32_t *order,
			       uint32_t count)
{
	struct steps steps = { 0 };
	uint32_t place = 0;

	for (uint32_t k = 0; k < count; k++) {
		const struct rw_block *block = &recorder->nest->blocks.items[order[k]];

		for (uint32_t i = 0; i < block->insn_count; i++, place++) {
			const struct rw_action *action = &recorder->actions[block->first_insn + i];

			for (int reg = 0; reg < 16; reg++)
				if (action->effect.writes & 1ULL << reg) {
					steps.writes[reg]++;
					steps.step[reg] = rw_action_step(action);
					steps.at[reg] = place;
				}
		}
	}
	return steps;
}

/* Adds what a register moves an address by; false: by no constant. */
static bool add_register(const struct steps *steps, ZydisRegister reg, int64_t scale,
			 uint32_t place, int64_t *stride, int64_t *ahead)
{
	int gpr = sn_gpr_number(reg);

	if (reg == ZYDIS_REGISTER_NONE || reg == ZYDIS_REGISTER_RIP)
		return true;
	if (gpr < 0 || ZydisRegisterGetClass(reg) != ZYDIS_REGCLASS_GPR64)
		return false;
	if (!steps->writes[gpr])
		return true;
	if (steps->writes[gpr] > 1 || !steps->step[gpr])
		return false;
	*stride += scale * steps->step[gpr];
	if (steps->at[gpr] < place)
		*ahead += scale * steps->step[gpr];
	return true;
}

/* Is the operand a constant further in each iteration? */
static bool is_strided(const struct steps *steps, const ZydisDecodedOperand *operand,
		       uint32_t place, int64_t *stride, int64_t *ahead)
{
	int64_t disp = operand->mem.disp.has_displacement ? operand->mem.disp.value : 0;

	*stride = *ahead = 0;
	return add_register(steps, operand->mem.base, 1, place, stride, ahead) &&
	       add_register(steps, operand->mem.index, operand->mem.scale, place, stride, ahead) &&
	       disp + *ahead == (int32_t)(disp + *ahead) &&
	       (operand->mem.base != ZYDIS_REGISTER_RIP || !*ahead);
}

static uint64_t bits_of(const ZydisDecodedOperand *operand)
{
	int base = sn_gpr_number(operand->mem.base), index = sn_gpr_number(operand->mem.index);

	return (base >= 0 ? 1ULL << base : 0) | (index >= 0 ? 1ULL << index : 0);
}

bool rw_recorder_scratch(uint64_t used, int *pointer, int *address)
{
	static const int choice[] = { 0, 1, 2, 6, 7, 8, 9, 10, 11 };
	int found = 0;

	for (size_t i = 0; i < sizeof(choice) / sizeof(*choice) && found < 2; i++)
		if (!(used & 1ULL << choice[i]))
			*(found++ ? address : pointer) = choice[i];
	return found == 2;
}

/* ---- accesses, block by block ---- */

/* What is being gathered. */
struct gathering {
	struct rw_recorder *recorder;
	const struct steps *steps; /* of the line; NULL: it is none */
	uint32_t place;		   /* of the instruction in the line */
	uint16_t block;		   /* of the line, in its order */
	bool is_open;		   /* accesses may join the last group */
	uint64_t written, used;	   /* since the group began; by its addresses */
	struct rw_line *line;
};

static uint32_t add_site(struct gathering *g, uint32_t insn, unsigned operand, int64_t stride,
			 int64_t ahead)
{
	struct rw_recorder *recorder = g->recorder;
	const ZydisDecodedOperand *o = &recorder->actions[insn].operands[operand];
	struct sn_access_site site = { .link_addr = recorder->nest->insns.items[insn].link_addr,
				       .stride_bytes = stride,
				       .size_bytes = o->size / 8 ? o->size / 8u : 1u,
				       .kind = kind_of(o) };
	struct rw_access access = { insn, (uint8_t)operand, ahead };

	sn_vec_push(&recorder->sites, site);
	sn_vec_push(&recorder->accesses, access);
	return (uint32_t)recorder->sites.count - 1;
}

static void add_member(struct gathering *g, uint32_t index, bool is_group)
{
	struct sn_access_member member = { index, is_group, g->block };

	if (!g->line)
		return;
	sn_vec_push(&g->recorder->members, member);
	g->line->has_groups |= is_group;
}

static void add_to_group(struct gathering *g, uint32_t insn, unsigned operand)
{
	struct rw_recorder *recorder = g->recorder;
	uint64_t bits = bits_of(&recorder->actions[insn].operands[operand]);
	uint32_t site = add_site(g, insn, operand, 0, 0);
	int pointer, address;

	if (!g->is_open || g->written & bits ||
	    sn_vec_last(&recorder->groups).site_count == GROUP_MAX ||
	    !rw_recorder_scratch(g->used | bits, &pointer, &address) ||
	    sn_vec_last(&recorder->groups).first_site + sn_vec_last(&recorder->groups).site_count !=
		    site) {
		struct sn_access_group group = { site, 0 };

		/* the instruction may have been part of the group before */
		if (recorder->group_at[insn])
			recorder->why = "it has an instruction that accesses several places";
		sn_vec_push(&recorder->groups, group);
		recorder->group_at[insn] = (uint32_t)recorder->groups.count;
		add_member(g, (uint32_t)recorder->groups.count - 1, true);
		g->is_open = true;
		g->written = g->used = 0;
	}
	sn_vec_last(&recorder->groups).site_count++;
	g->used |= bits;
}

static void gather_insn(struct gathering *g, uint32_t insn)
{
	const struct rw_action *action = &g->recorder->actions[insn];

	/* what is only read comes first */
	for (int writes = 0; writes < 2; writes++)
		for (unsigned o = 0; o < action->insn.operand_count; o++) {
			const ZydisDecodedOperand *operand = &action->operands[o];
			int64_t stride, ahead;

			if (!is_access(action, operand) ||
			    (kind_of(operand) == SN_ACCESS_READ) == writes)
				continue;
			if (!g->steps ||
			    !is_strided(g->steps, operand, g->place, &stride, &ahead)) {
				add_to_group(g, insn, o);
				continue;
			}
			g->is_open = false;
			add_member(g, add_site(g, insn, o, stride, ahead), false);
		}
	g->written |= action->effect.writes;
}

static void gather_block(struct gathering *g, size_t at)
{
	const struct rw_block *block = &g->recorder->nest->blocks.items[at];

	g->is_open = false;
	for (uint32_t i = 0; i < block->insn_count; i++, g->place++)
		gather_insn(g, block->first_insn + i);
}

/* ---- a line ---- */

/* Registers of its first addresses and its counting register. */
static uint64_t registers_of(const struct rw_recorder *recorder, const struct steps *steps,
			     const uint32_t *order, uint32_t count, int counting)
{
	uint64_t used = 1ULL << counting;
	uint32_t place = 0;

	for (uint32_t k = 0; k < count; k++) {
		const struct rw_block *block = &recorder->nest->blocks.items[order[k]];

		for (uint32_t i = 0; i < block->insn_count; i++, place++) {
			const struct rw_action *action = &recorder->actions[block->first_insn + i];

			for (unsigned o = 0; o < action->insn.operand_count; o++) {
				int64_t stride, ahead;

				if (is_access(action, &action->operands[o]) &&
				    is_strided(steps, &action->operands[o], place, &stride, &ahead))
					used |= bits_of(&action->operands[o]);
			}
		}
	}
	return used;
}

/* False: the loop is none. */
static bool add_line(struct rw_recorder *recorder, const struct sn_loop *loop, bool *is_gathered)
{
	struct rw_nest *nest = recorder->nest;
	uint32_t *order = sn_arena_array(&nest->arena, uint32_t, nest->blocks.count + 1);
	uint32_t count = find_order(recorder, loop, order);
	struct rw_line line = { .loop = loop };
	struct sn_access_line table = { .first_member = (uint32_t)recorder->members.count };
	struct steps steps;
	int pointer, address;

	if (!count || recorder->lines.count == SN_ACCESS_LINES_MAX - 1 ||
	    !rw_induction_find(nest, loop, NULL, &nest->arena, &line.induction))
		return false;
	steps = find_steps(recorder, order, count);
	line.registers = registers_of(recorder, &steps, order, count, line.induction.reg);
	if (!rw_recorder_scratch(line.registers, &pointer, &address))
		return false;
	struct gathering g = { .recorder = recorder, .steps = &steps, .line = &line };
	for (uint32_t k = 0; k < count; k++) {
		uint32_t end = g.place + nest->blocks.items[order[k]].insn_count;

		g.block = (uint16_t)k;
		recorder->order[order[k]] = (uint16_t)k;
		is_gathered[order[k]] = true;
		if (steps.at[line.induction.reg] >= g.place && steps.at[line.induction.reg] < end)
			table.step_block = k;
		gather_block(&g, order[k]);
	}
	table.member_count = (uint32_t)recorder->members.count - table.first_member;
	for (uint32_t m = 0; m < table.member_count; m++)
		table.first_count += !recorder->members.items[table.first_member + m].is_group;
	table.step = line.induction.step;
	recorder->line_of[loop->index] = (int32_t)recorder->lines.count;
	sn_vec_push(&recorder->lines, line);
	sn_vec_push(&recorder->table_lines, table);
	return true;
}

/* ---- all of it ---- */

int32_t rw_recorder_line(const struct rw_recorder *recorder, size_t block)
{
	const struct rw_nest *nest = recorder->nest;
	int32_t loop = nest->function->blocks[nest->blocks.items[block].index].loop;

	return loop < 0 ? -1 : recorder->line_of[loop];
}

uint64_t rw_recorder_unit_words(const struct rw_recorder *recorder)
{
	uint64_t words = 0;

	for (size_t i = 0; i < recorder->groups.count; i++)
		words += recorder->groups.items[i].site_count + 1u;
	for (size_t i = 0; i < recorder->table_lines.count; i++)
		words += 2 * (uint64_t)(recorder->table_lines.items[i].first_count + 4u);
	return words;
}

static const char *gather(struct rw_recorder *recorder)
{
	const struct rw_nest *nest = recorder->nest;
	const struct sn_function *function = nest->function;
	bool *is_gathered = sn_arena_array(&recorder->nest->arena, bool, nest->blocks.count + 1);

	for (uint32_t l = 0; l < function->loop_count; l++)
		if (function->loops[l].is_innermost &&
		    rw_loop_holds(function, (int32_t)recorder->loop->index, (int32_t)l))
			add_line(recorder, &function->loops[l], is_gathered);
	for (size_t b = 0; b < nest->blocks.count; b++) {
		struct gathering g = { .recorder = recorder };

		if (!is_gathered[b] &&
		    rw_loop_holds(function, (int32_t)recorder->loop->index,
				  function->blocks[nest->blocks.items[b].index].loop))
			gather_block(&g, b);
	}
	if (recorder->why)
		return recorder->why;
	if (!recorder->sites.count)
		return "it does not access memory";
	if (rw_recorder_unit_words(recorder) > SN_PLAN_UNIT_WORDS_MAX)
		return "it has more accesses than can be recorded";
	return NULL;
}

const char *rw_recorder_read(struct rw_recorder *recorder, struct rw_nest *nest,
			     const struct sn_loop *loop)
{
	const char *why;

	*recorder = (struct rw_recorder){ .nest = nest, .loop = loop };
	recorder->actions = sn_arena_array(&nest->arena, struct rw_action, nest->insns.count + 1);
	recorder->group_at = sn_arena_array(&nest->arena, uint32_t, nest->insns.count + 1);
	recorder->order = sn_arena_array(&nest->arena, uint16_t, nest->blocks.count + 1);
	recorder->line_of = sn_arena_array(&nest->arena, int32_t, nest->function->loop_count + 1u);
	memset(recorder->line_of, 0xff, nest->function->loop_count * sizeof(*recorder->line_of));
	why = read_insns(recorder);
	return why ? why : gather(recorder);
}

void rw_recorder_free(struct rw_recorder *recorder)
{
	sn_vec_free(&recorder->sites);
	sn_vec_free(&recorder->accesses);
	sn_vec_free(&recorder->groups);
	sn_vec_free(&recorder->table_lines);
	sn_vec_free(&recorder->lines);
	sn_vec_free(&recorder->members);
	sn_vec_free(&recorder->edges);
	sn_vec_free(&recorder->fulls);
}

void rw_recorder_add_table(const struct rw_recorder *recorder, struct sn_text *tables)
{
	struct sn_access_table head = { (uint32_t)recorder->sites.count,
					(uint32_t)recorder->groups.count,
					(uint32_t)recorder->table_lines.count,
					(uint32_t)recorder->members.count };

	sn_text_add_bytes(tables, (const char *)&head, sizeof(head));
	sn_text_add_bytes(tables, (const char *)recorder->sites.items,
			  recorder->sites.count * sizeof(*recorder->sites.items));
	sn_text_add_bytes(tables, (const char *)recorder->groups.items,
			  recorder->groups.count * sizeof(*recorder->groups.items));
	sn_text_add_bytes(tables, (const char *)recorder->table_lines.items,
			  recorder->table_lines.count * sizeof(*recorder->table_lines.items));
	sn_text_add_bytes(tables, (const char *)recorder->members.items,
			  recorder->members.count * sizeof(*recorder->members.items));
}
