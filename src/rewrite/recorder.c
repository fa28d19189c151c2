/*
 * The code that records. It uses two registers of the loop's, which it keeps in the thread's words, and
 * no flags. Room is made sure of at headers: from one to the next there is a largest number of words.
 */
#include <string.h>

#include "rewrite/recorder_parts.h"

enum { RCX = 1 };

/* ---- instructions of one form ---- */

static uint8_t rex(int reg, int base)
{
	return (uint8_t)(0x48 | (reg > 7 ? 4 : 0) | (base > 7 ? 1 : 0));
}

/* mov between a register and a word of the thread */
static void put_word(struct rw_recorder *recorder, bool is_store, int reg, int64_t word)
{
	uint8_t move[] = { 0x64,
			   rex(reg, 0),
			   is_store ? 0x89 : 0x8b,
			   (uint8_t)((reg & 7) << 3 | 4),
			   0x25,
			   0,
			   0,
			   0,
			   0 };

	rw_put_field(recorder->pieces, move, sizeof(move), 5, SN_PLAN_THREAD, word);
}

/* [base + at], opcode 0x89: = reg; 0x8d: lea reg */
static void put_based(struct rw_recorder *recorder, uint8_t opcode, int reg, int base, int32_t at)
{
	uint8_t bytes[7] = { rex(reg, base), opcode,
			     (uint8_t)(0x80 | (reg & 7) << 3 | (base & 7)) };

	memcpy(bytes + 3, &at, sizeof(at));
	rw_put(recorder->pieces, bytes, sizeof(bytes));
}

static void put_marker(struct rw_recorder *recorder, int pointer, uint32_t marker, uint32_t number)
{
	uint32_t value = marker << SN_ACCESS_MARKER_SHIFT | number;
	uint8_t bytes[7] = { rex(0, pointer), 0xc7, (uint8_t)(pointer & 7) };

	memcpy(bytes + 3, &value, sizeof(value));
	rw_put(recorder->pieces, bytes, sizeof(bytes));
}

static bool put_lea(struct rw_recorder *recorder, int reg, ZydisRegister base, ZydisRegister index,
		    uint8_t scale, int64_t displacement)
{
	ZydisEncoderRequest request = {
		.machine_mode = ZYDIS_MACHINE_MODE_LONG_64,
		.mnemonic = ZYDIS_MNEMONIC_LEA,
		.operand_count = 2,
		.operands = { { .type = ZYDIS_OPERAND_TYPE_REGISTER,
				.reg.value = (ZydisRegister)(ZYDIS_REGISTER_RAX + reg) },
			      { .type = ZYDIS_OPERAND_TYPE_MEMORY,
				.mem = { .base = base,
					 .index = index,
					 .scale = index == ZYDIS_REGISTER_NONE ? 0 : scale,
					 .displacement = displacement,
					 .size = 8 } } },
	};

	return rw_put_request(recorder->pieces, &request);
}

/* A register becomes the address of an operand, `ahead` further. */
static void put_address(struct rw_recorder *recorder, int reg, const struct rw_access *access)
{
	const struct rw_insn *insn = &recorder->nest->insns.items[access->insn];
	const ZydisDecodedOperand *o = &recorder->actions[access->insn].operands[access->operand];
	ZydisRegister own = (ZydisRegister)(ZYDIS_REGISTER_RAX + reg);
	int64_t disp = (o->mem.disp.has_displacement ? o->mem.disp.value : 0) + access->ahead;
	bool is_done;

	if (o->mem.base == ZYDIS_REGISTER_RIP) {
		uint8_t lea[] = { rex(reg, 0), 0x8d, (uint8_t)((reg & 7) << 3 | 5), 0, 0, 0, 0 };

		rw_put_field(recorder->pieces, lea, sizeof(lea), 3, SN_PLAN_PC,
			     (int64_t)insn->link_addr + insn->length + disp - 4);
		is_done = o->mem.segment != ZYDIS_REGISTER_FS;
	} else if (o->mem.segment == ZYDIS_REGISTER_FS) {
		/* fs:0 holds what fs begins at */
		uint8_t load[] = { 0x64, rex(reg, 0), 0x8b, (uint8_t)((reg & 7) << 3 | 4), 0x25, 0,
				   0,	 0,	      0 };

		rw_put(recorder->pieces, load, sizeof(load));
		is_done = o->mem.base == ZYDIS_REGISTER_NONE ||
			  put_lea(recorder, reg, own, o->mem.base, 1, 0);
		is_done &= put_lea(recorder, reg, own, o->mem.index, o->mem.scale, disp);
	} else {
		is_done = put_lea(recorder, reg, o->mem.base, o->mem.index, o->mem.scale, disp);
	}
	if (!is_done)
		recorder->why = "it has an address that its registers do not tell";
}

static void begin(struct rw_recorder *recorder, int pointer, int address)
{
	put_word(recorder, true, pointer, SN_PLAN_WORD_SAVED);
	put_word(recorder, true, address, SN_PLAN_WORD_SAVED + 8);
	put_word(recorder, false, pointer, SN_PLAN_WORD_RECORD);
}

static void end(struct rw_recorder *recorder, int pointer, int address, uint32_t words)
{
	put_based(recorder, 0x8d, pointer, pointer, (int32_t)(8 * words));
	put_word(recorder, true, pointer, SN_PLAN_WORD_RECORD);
	put_word(recorder, false, pointer, SN_PLAN_WORD_SAVED);
	put_word(recorder, false, address, SN_PLAN_WORD_SAVED + 8);
}

/* ---- groups ---- */

void rw_recorder_put_before(struct rw_recorder *recorder, uint32_t insn)
{
	uint32_t number = recorder->group_at[insn];
	const struct sn_access_group *group;
	uint64_t used = 0;
	int pointer = 0, address = 0;

	if (!number)
		return;
	group = &recorder->groups.items[--number];
	for (uint32_t i = 0; i < group->site_count; i++) {
		const struct rw_access *access = &recorder->accesses.items[group->first_site + i];

		used |= recorder->actions[access->insn].effect.addresses;
	}
	if (!rw_recorder_scratch(used, &pointer, &address)) {
		recorder->why = "no general register is free";
		return;
	}
	begin(recorder, pointer, address);
	put_marker(recorder, pointer, SN_ACCESS_GROUP, number);
	for (uint32_t i = 0; i < group->site_count; i++) {
		put_address(recorder, address, &recorder->accesses.items[group->first_site + i]);
		put_based(recorder, 0x89, address, pointer, (int32_t)(8 * (i + 1)));
	}
	end(recorder, pointer, address, group->site_count + 1);
}

/* ---- lines ---- */

static void put_enter(struct rw_recorder *recorder, int32_t at)
{
	const struct rw_line *line = &recorder->lines.items[at];
	const struct sn_access_line *table = &recorder->table_lines.items[at];
	uint32_t words = 2;
	int pointer = 0, address = 0;

	rw_recorder_scratch(line->registers, &pointer, &address);
	begin(recorder, pointer, address);
	put_marker(recorder, pointer, SN_ACCESS_ENTER, (uint32_t)at);
	put_based(recorder, 0x89, line->induction.reg, pointer, 8);
	for (uint32_t m = 0; m < table->member_count; m++) {
		const struct sn_access_member *member =
			&recorder->members.items[table->first_member + m];

		if (member->is_group)
			continue;
		put_address(recorder, address, &recorder->accesses.items[member->index]);
		put_based(recorder, 0x89, address, pointer, (int32_t)(8 * words++));
	}
	end(recorder, pointer, address, words);
}

static void put_leave(struct rw_recorder *recorder, int32_t at, uint32_t left)
{
	const struct rw_line *line = &recorder->lines.items[at];
	int pointer = 0, address = 0;

	rw_recorder_scratch(line->registers, &pointer, &address);
	begin(recorder, pointer, address);
	put_marker(recorder, pointer, SN_ACCESS_LEAVE, (uint32_t)at << SN_ACCESS_LINE_SHIFT | left);
	put_based(recorder, 0x89, line->induction.reg, pointer, 8);
	end(recorder, pointer, address, 2);
}

void rw_recorder_put_entry(struct rw_recorder *recorder)
{
	int32_t line = recorder->line_of[recorder->loop->index];

	if (line >= 0)
		put_enter(recorder, line);
}

int32_t rw_recorder_edge(struct rw_recorder *recorder, size_t from, int32_t to, int32_t goal)
{
	const struct rw_nest *nest = recorder->nest;
	const struct rw_block *block = &nest->blocks.items[from];
	const struct rw_insn *last = &nest->insns.items[block->first_insn + block->insn_count - 1];
	struct rw_line_edge edge = { .from = rw_recorder_line(recorder, from),
				     .to = to < 0 ? -1 : rw_recorder_line(recorder, (size_t)to),
				     .left = recorder->order[from] + 1u,
				     .goal = goal,
				     .link_addr = last->link_addr };

	if (edge.from == edge.to || goal < 0)
		return goal;
	for (size_t i = 0; i < recorder->edges.count; i++) {
		const struct rw_line_edge *same = &recorder->edges.items[i];

		if (same->link_addr == edge.link_addr && same->goal == goal)
			return same->label;
	}
	edge.label = rw_label_new(recorder->pieces);
	sn_vec_push(&recorder->edges, edge);
	return edge.label;
}

/* ---- room ---- */

void rw_recorder_put_header(struct rw_recorder *recorder, size_t block, int32_t goal)
{
	static const uint8_t counted[] = { 0xe3, 0 }; /* jrcxz */
	const struct rw_nest *nest = recorder->nest;
	const struct sn_block *b = &nest->function->blocks[nest->blocks.items[block].index];
	struct rw_full full = { .line = rw_recorder_line(recorder, block),
				.goal = goal,
				.link_addr = b->link_addr };

	if (b->loop < 0 || nest->function->loops[b->loop].header_link_addr != b->link_addr ||
	    (full.line >= 0 && !recorder->lines.items[full.line].has_groups))
		return;
	full.full = rw_label_new(recorder->pieces);
	full.resume = rw_label_new(recorder->pieces);
	put_word(recorder, true, RCX, SN_PLAN_WORD_SAVED);
	put_word(recorder, false, RCX, SN_PLAN_WORD_UNITS);
	rw_put_counted(recorder->pieces, counted, sizeof(counted), full.full);
	put_based(recorder, 0x8d, RCX, RCX, -1);
	put_word(recorder, true, RCX, SN_PLAN_WORD_UNITS);
	put_word(recorder, false, RCX, SN_PLAN_WORD_SAVED);
	rw_label_place(recorder->pieces, full.resume);
	sn_vec_push(&recorder->fulls, full);
}

void rw_recorder_put_stubs(struct rw_recorder *recorder, uint32_t plan_index)
{
	struct rw_pieces *pieces = recorder->pieces;

	for (size_t i = 0; i < recorder->edges.count; i++) {
		const struct rw_line_edge *edge = &recorder->edges.items[i];

		pieces->link_addr = edge->link_addr;
		rw_label_place(pieces, edge->label);
		if (edge->from >= 0)
			put_leave(recorder, edge->from, edge->left);
		if (edge->to >= 0)
			put_enter(recorder, edge->to);
		rw_put_jump(pieces, 0, edge->goal, false);
	}
	for (size_t i = 0; i < recorder->fulls.count; i++) {
		const struct rw_full *full = &recorder->fulls.items[i];
		int32_t on = rw_label_new(pieces);

		pieces->link_addr = full->link_addr;
		rw_label_place(pieces, full->full);
		put_word(recorder, false, RCX, SN_PLAN_WORD_SAVED);
		if (full->line >= 0)
			put_leave(recorder, full->line, SN_ACCESS_AT_HEADER);
		rw_put_full(pieces, recorder->thunks, plan_index, on, full->goal);
		rw_label_place(pieces, on);
		if (full->line >= 0)
			put_enter(recorder, full->line);
		rw_put_jump(pieces, 0, full->resume, false);
	}
}
