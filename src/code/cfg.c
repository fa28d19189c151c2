/*
 * Basic blocks of one function. Decoding follows control flow from the entry, through jump tables
 * and landing pads. What is left in the function's ranges and is no padding is decoded as well, as
 * speculative. Each byte is decoded once, so the time is linear in the code's size.
 */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "code/landing_pads.h"
#include "code/noreturn.h"
#include "code/structure_parts.h"

enum {
	PATH_MAX_INSNS = 64, /* looked back at for a jump table */
	FUNCTION_BYTES_MAX = 1 << 30,
	/* stripped of symbols and unwind information, a browser is one stretch of 200 MB: half a
	 * minute for loops of which nobody could tell whose they are */
	GAP_BYTES_MAX = 4 << 20,
	INTERIOR = -1,
};

struct work_item {
	uint64_t link_addr;
	int32_t previous;
	uint8_t flags;
};

struct edge {
	uint32_t from, to; /* instruction, then block indices */
};

/* A jump table whose length follows if control always comes from `bound` to `jump` on the path that
 * was looked at. */
struct proof {
	int32_t bound, jump; /* instructions */
};

struct cfg_scratch {
	SN_VEC(int32_t) at; /* position -> instruction + 1, INTERIOR, 0 = nothing yet */
	SN_VEC(uint8_t)
	on_sweep; /* position -> an instruction begins here, as far as a sweep can tell */
	bool is_swept;
	SN_VEC(struct cfg_insn) insns;
	SN_VEC(uint32_t) order;	   /* instructions by position */
	SN_VEC(uint32_t) block_of; /* instruction -> block */
	SN_VEC(struct work_item) work;
	SN_VEC(struct edge)
	jumps; /* indirect jump instruction -> target instruction (by address first) */
	SN_VEC(struct sn_block) blocks;
	SN_VEC(uint32_t) successors;
	SN_VEC(uint32_t) extra;
	SN_VEC(uint32_t) mark; /* block -> last block that listed it as a successor, + 1 */
	SN_VEC(struct proof) proofs;
	struct sn_landing_pads pads;
	struct jump_targets targets;
	/* where positions begin */
	const struct sn_function *function;
	uint64_t failed_link_addr;	/* where decoding met no instruction; UINT64_MAX: nowhere */
	SN_VEC(struct sn_range) ranges; /* by address, so that blocks come out sorted */
	SN_VEC(uint32_t) range_position;
	uint32_t position_count;
};

void sn_cfg_scratch_free(struct cfg_scratch *scratch)
{
	if (!scratch)
		return;
	sn_vec_free(&scratch->at);
	sn_vec_free(&scratch->on_sweep);
	sn_vec_free(&scratch->insns);
	sn_vec_free(&scratch->order);
	sn_vec_free(&scratch->block_of);
	sn_vec_free(&scratch->work);
	sn_vec_free(&scratch->jumps);
	sn_vec_free(&scratch->blocks);
	sn_vec_free(&scratch->successors);
	sn_vec_free(&scratch->extra);
	sn_vec_free(&scratch->mark);
	sn_vec_free(&scratch->proofs);
	sn_vec_free(&scratch->pads);
	sn_vec_free(&scratch->targets);
	sn_vec_free(&scratch->ranges);
	sn_vec_free(&scratch->range_position);
	free(scratch);
}

/* Position of an address in the function, and how many bytes of its range follow; UINT32_MAX
 * outside. */
static uint32_t position_of(const struct cfg_scratch *s, uint64_t link_addr, uint64_t *left)
{
	for (uint32_t i = 0; i < s->ranges.count; i++) {
		const struct sn_range *range = &s->ranges.items[i];

		if (link_addr >= range->first_link_addr && link_addr < range->end_link_addr) {
			*left = range->end_link_addr - link_addr;
			return s->range_position.items[i] +
			       (uint32_t)(link_addr - range->first_link_addr);
		}
	}
	return UINT32_MAX;
}

/* The decoded instruction that begins at an address, or -1. */
static int32_t insn_at(const struct cfg_scratch *s, uint64_t link_addr)
{
	uint64_t left;
	uint32_t position = position_of(s, link_addr, &left);

	return position == UINT32_MAX || s->at.items[position] <= 0 ? -1
								    : s->at.items[position] - 1;
}

static int ranges_by_address(const void *a, const void *b)
{
	const struct sn_range *x = a, *y = b;

	return x->first_link_addr < y->first_link_addr ? -1
						       : x->first_link_addr > y->first_link_addr;
}

static bool scratch_begin(struct cfg_scratch *s, const struct sn_function *function)
{
	uint64_t total = 0,
		 most = function->kind == SN_FUNCTION_GAP ? GAP_BYTES_MAX : FUNCTION_BYTES_MAX;

	s->function = function;
	s->is_swept = false;
	s->ranges.count = s->range_position.count = 0;
	s->insns.count = s->work.count = s->jumps.count = s->proofs.count = 0;
	for (uint32_t i = 0; i < function->range_count; i++)
		sn_vec_push(&s->ranges, function->ranges[i]);
	qsort(s->ranges.items, s->ranges.count, sizeof(*s->ranges.items), ranges_by_address);
	for (uint32_t i = 0; i < function->range_count; i++) {
		sn_vec_push(&s->range_position, (uint32_t)total);
		total += s->ranges.items[i].end_link_addr - s->ranges.items[i].first_link_addr;
		if (total > most)
			return false;
	}
	s->position_count = (uint32_t)total;
	sn_vec_reserve(&s->at, total);
	memset(s->at.items, 0, total * sizeof(*s->at.items));
	return true;
}

static void push_work(struct cfg_scratch *s, uint64_t link_addr, int32_t previous, uint8_t flags)
{
	struct work_item item = { link_addr, previous, flags };

	sn_vec_push(&s->work, item);
}

/* ---- decoding ---- */

static size_t path_to(const struct cfg_scratch *s, int32_t last, const struct cfg_insn **path)
{
	const struct cfg_insn *reversed[PATH_MAX_INSNS];
	size_t count = 0;

	for (; last >= 0 && count < PATH_MAX_INSNS; last = s->insns.items[last].previous)
		reversed[count++] = &s->insns.items[last];
	for (size_t i = 0; i < count; i++)
		path[i] = reversed[count - 1 - i];
	return count;
}

static void block_out_table(struct cfg_scratch *s, struct sn_range table)
{
	for (uint64_t at = table.first_link_addr; at < table.end_link_addr; at++) {
		uint64_t left;
		uint32_t position = position_of(s, at, &left);

		if (position != UINT32_MAX && !s->at.items[position])
			s->at.items[position] = INTERIOR;
	}
}

/* True if the target would begin within an instruction that is known to be one: a wrong table. */
static bool splits_instruction(const struct cfg_scratch *s, uint64_t link_addr)
{
	uint64_t left;
	uint32_t position = position_of(s, link_addr, &left);

	return position != UINT32_MAX && s->at.items[position] == INTERIOR;
}

/* Instruction boundaries, by decoding straight on over everything. Such decoding falls into step
 * with the code soon after any data. That is good enough to tell entries of a table from what
 * stands behind it. */
static void sweep(struct sn_structure *structure, struct cfg_scratch *s)
{
	if (s->is_swept)
		return;
	s->is_swept = true;
	sn_vec_reserve(&s->on_sweep, s->position_count);
	memset(s->on_sweep.items, 0, s->position_count);
	for (size_t r = 0; r < s->ranges.count; r++) {
		uint64_t addr = s->ranges.items[r].first_link_addr, left;

		while (addr < s->ranges.items[r].end_link_addr) {
			struct sn_instruction insn;
			size_t available;
			const uint8_t *bytes = sn_structure_bytes(structure, addr, &available);
			uint32_t position = position_of(s, addr, &left);

			if (!bytes)
				break;
			s->on_sweep.items[position] = 1;
			addr += sn_instruction_decode(bytes, available, addr, &insn) ? insn.length
										     : 1;
		}
	}
}

static bool is_on_sweep(const struct cfg_scratch *s, uint64_t link_addr)
{
	uint64_t left;
	uint32_t position = position_of(s, link_addr, &left);

	return position != UINT32_MAX && s->on_sweep.items[position];
}

static void follow_indirect(struct sn_structure *structure, struct cfg_scratch *s, int32_t index)
{
	const struct cfg_insn *path[PATH_MAX_INSNS];
	size_t length = path_to(s, index, path);
	struct jump_table table;

	s->targets.count = 0;
	if (!sn_jump_table_read(structure, s->function, path, length, &s->targets, &table)) {
		s->insns.items[index].flags |= CFG_UNRESOLVED;
		return;
	}
	block_out_table(s, table.range);
	if (!table.is_bounded)
		sweep(structure, s);
	for (size_t i = 0; i < s->targets.count; i++) {
		uint64_t left;
		struct edge edge;

		if (splits_instruction(s, s->targets.items[i]) ||
		    (!table.is_bounded && !is_on_sweep(s, s->targets.items[i])))
			return; /* the table ended before */
		edge = (struct edge){ (uint32_t)index, position_of(s, s->targets.items[i], &left) };
		sn_vec_push(&s->jumps, edge);
		push_work(s, s->targets.items[i], index, CFG_LEADER);
	}
	if (table.is_whole) {
		struct proof proof = { s->at.items[path[table.bound_index]->position] - 1, index };

		sn_vec_push(&s->proofs, proof);
	}
}

/* After a call: does control come back? */
static bool comes_back(struct sn_structure *structure, const struct cfg_insn *call)
{
	return call->insn.flow != SN_FLOW_CALL ||
	       !sn_never_returns(structure, call->insn.target_link_addr);
}

/* Instructions that no program has, but that data often look like. */
static bool is_no_code(const struct sn_instruction *insn)
{
	switch (insn->mnemonic) {
	case ZYDIS_MNEMONIC_IN:
	case ZYDIS_MNEMONIC_OUT:
	case ZYDIS_MNEMONIC_INSB:
	case ZYDIS_MNEMONIC_INSW:
	case ZYDIS_MNEMONIC_INSD:
	case ZYDIS_MNEMONIC_OUTSB:
	case ZYDIS_MNEMONIC_OUTSW:
	case ZYDIS_MNEMONIC_OUTSD:
	case ZYDIS_MNEMONIC_CLI:
	case ZYDIS_MNEMONIC_STI:
	case ZYDIS_MNEMONIC_HLT:
	case ZYDIS_MNEMONIC_INT1:
	case ZYDIS_MNEMONIC_IRET:
	case ZYDIS_MNEMONIC_IRETD:
	case ZYDIS_MNEMONIC_IRETQ:
		return true;
	default:
		return false;
	}
}

/* A run that ends in no instruction was data: what it decoded and where it led. */
static void take_back(struct cfg_scratch *s, size_t insn_count, size_t work_count)
{
	for (size_t i = insn_count; i < s->insns.count; i++)
		s->at.items[s->insns.items[i].position] = INTERIOR;
	while (s->jumps.count && sn_vec_last(&s->jumps).from >= insn_count)
		s->jumps.count--;
	while (s->proofs.count && (size_t)sn_vec_last(&s->proofs).jump >= insn_count)
		s->proofs.count--;
	s->insns.count = insn_count;
	s->work.count = work_count;
}

/* Decodes straight on from an address until control goes elsewhere. */
static void decode_run(struct sn_structure *structure, struct cfg_scratch *s, struct work_item item)
{
	uint64_t addr = item.link_addr, left = 0;
	uint32_t position = position_of(s, addr, &left);
	size_t available = 0;
	const uint8_t *bytes = sn_structure_bytes(structure, addr, &available);
	uint8_t flags = item.flags, lasting = item.flags & CFG_SPECULATIVE;
	size_t insn_count = s->insns.count, work_count = s->work.count;
	int32_t previous = item.previous;

	if (position == UINT32_MAX || !bytes)
		return;
	if (available > left)
		available = left;
	while (available) {
		struct cfg_insn insn = { .link_addr = addr,
					 .position = position,
					 .previous = previous,
					 .flags = flags };
		int32_t index = (int32_t)s->insns.count;
		unsigned length;

		if (s->at.items[position] > 0) { /* met code that is decoded already */
			if (flags & CFG_LEADER)
				s->insns.items[s->at.items[position] - 1].flags |=
					flags & (CFG_LEADER | CFG_ENTRY);
			return;
		}
		length = sn_instruction_decode(bytes, available, addr, &insn.insn);
		if (!length || (lasting && is_no_code(&insn.insn))) {
			if (lasting)
				take_back(s, insn_count, work_count);
			return; /* data, or the end of what is known */
		}
		sn_vec_push(&s->insns, insn);
		for (unsigned i = 1; i < length; i++)
			if (!s->at.items[position + i])
				s->at.items[position + i] = INTERIOR;
		s->at.items[position] = index + 1;
		switch (insn.insn.flow) {
		case SN_FLOW_BRANCH:
			push_work(s, insn.insn.target_link_addr, index, CFG_LEADER | lasting);
			flags = CFG_LEADER | lasting;
			break;
		case SN_FLOW_JUMP:
			push_work(s, insn.insn.target_link_addr, index, CFG_LEADER | lasting);
			return;
		case SN_FLOW_JUMP_INDIRECT:
			follow_indirect(structure, s, index);
			return;
		case SN_FLOW_CALL:
		case SN_FLOW_CALL_INDIRECT:
			if (!comes_back(structure, &insn)) {
				s->insns.items[index].flags |= CFG_NO_RETURN;
				return;
			}
			flags = lasting;
			break;
		case SN_FLOW_RETURN:
		case SN_FLOW_STOP:
			return;
		default:
			flags = lasting;
			break;
		}
		previous = index;
		addr += length;
		bytes += length;
		available -= length;
		position += length;
	}
}

static void decode_pending(struct sn_structure *structure, struct cfg_scratch *s)
{
	while (s->work.count)
		decode_run(structure, s, s->work.items[--s->work.count]);
}

/* Bytes that nothing leads to: landing code of an unresolved jump, handlers, or data. */
static void decode_gaps(struct sn_structure *structure, struct cfg_scratch *s)
{
	for (uint32_t r = 0; r < s->ranges.count; r++) {
		const struct sn_range *range = &s->ranges.items[r];
		uint64_t addr = range->first_link_addr;

		while (addr < range->end_link_addr) {
			uint64_t left = 0;
			uint32_t position = position_of(s, addr, &left);
			struct sn_instruction insn = { 0 };
			unsigned length;
			size_t available;
			const uint8_t *bytes;

			if (s->at.items[position]) {
				addr++;
				continue;
			}
			bytes = sn_structure_bytes(structure, addr, &available);
			if (!bytes)
				break;
			length = sn_instruction_decode(bytes, available < left ? available : left,
						       addr, &insn);
			if (length && !insn.is_padding && *bytes) {
				push_work(s, addr, -1, CFG_LEADER | CFG_SPECULATIVE | CFG_ROOT);
				decode_pending(structure, s);
			}
			addr += length && insn.is_padding ? length : 1;
		}
	}
}

/* ---- blocks ---- */

static bool goes_on(const struct cfg_insn *insn)
{
	switch (insn->insn.flow) {
	case SN_FLOW_NEXT:
	case SN_FLOW_BRANCH:
		return true;
	case SN_FLOW_CALL:
	case SN_FLOW_CALL_INDIRECT:
		return !(insn->flags & CFG_NO_RETURN);
	default:
		return false;
	}
}

static void order_instructions(struct cfg_scratch *s)
{
	s->order.count = 0;
	for (uint32_t position = 0; position < s->position_count; position++)
		if (s->at.items[position] > 0)
			sn_vec_push(&s->order, (uint32_t)s->at.items[position] - 1);
}

/* Leaders that only the finished picture shows. These are targets that were met before they were
 * decoded, and instructions that follow one which is not next to them by position (overlapping
 * code). */
static void mark_leaders(struct cfg_scratch *s)
{
	for (size_t i = 0; i < s->order.count; i++) {
		struct cfg_insn *insn = &s->insns.items[s->order.items[i]];
		int32_t next;

		if (insn->insn.flow == SN_FLOW_BRANCH || insn->insn.flow == SN_FLOW_JUMP) {
			next = insn_at(s, insn->insn.target_link_addr);
			if (next >= 0)
				s->insns.items[next].flags |= CFG_LEADER;
		}
		if (!goes_on(insn))
			continue;
		next = insn_at(s, insn->link_addr + insn->insn.length);
		if (next >= 0 && (insn->insn.flow == SN_FLOW_BRANCH || i + 1 == s->order.count ||
				  s->order.items[i + 1] != (uint32_t)next))
			s->insns.items[next].flags |= CFG_LEADER;
	}
	for (size_t i = 0; i < s->jumps.count; i++) {
		int32_t target = s->at.items[s->jumps.items[i].to] - 1;

		if (target >= 0)
			s->insns.items[target].flags |= CFG_LEADER;
	}
}

static uint32_t block_flags_at_start(const struct cfg_insn *insn)
{
	return (insn->flags & CFG_ENTRY ? SN_BLOCK_ENTRY : 0u) |
	       (insn->flags & CFG_SPECULATIVE ? SN_BLOCK_SPECULATIVE : 0u);
}

static uint32_t block_flags_at_end(const struct cfg_scratch *s, const struct cfg_insn *insn)
{
	bool leaves = insn_at(s, insn->insn.target_link_addr) < 0;

	switch (insn->insn.flow) {
	case SN_FLOW_BRANCH:
	case SN_FLOW_JUMP:
		return leaves ? SN_BLOCK_LEAVES : 0;
	case SN_FLOW_JUMP_INDIRECT:
		return insn->flags & CFG_UNRESOLVED ? SN_BLOCK_UNRESOLVED : SN_BLOCK_INDIRECT;
	case SN_FLOW_CALL:
	case SN_FLOW_CALL_INDIRECT:
		return insn->flags & CFG_NO_RETURN ? SN_BLOCK_NO_RETURN : 0;
	case SN_FLOW_RETURN:
		return SN_BLOCK_RETURNS;
	case SN_FLOW_STOP:
		return SN_BLOCK_NO_RETURN;
	default:
		return 0;
	}
}

static void make_blocks(struct cfg_scratch *s)
{
	const struct cfg_insn *last = NULL;

	s->blocks.count = 0;
	sn_vec_reserve(&s->block_of, s->insns.count);
	for (size_t i = 0; i < s->order.count; i++) {
		const struct cfg_insn *insn = &s->insns.items[s->order.items[i]];
		struct sn_block *block;

		if (!last || insn->flags & CFG_LEADER || !goes_on(last) ||
		    last->insn.flow == SN_FLOW_BRANCH ||
		    last->link_addr + last->insn.length != insn->link_addr) {
			struct sn_block begun = { .link_addr = insn->link_addr,
						  .loop = -1,
						  .flags = block_flags_at_start(insn) };

			if (last)
				sn_vec_last(&s->blocks).flags |= block_flags_at_end(s, last);
			sn_vec_push(&s->blocks, begun);
		}
		block = &sn_vec_last(&s->blocks);
		block->size_bytes += insn->insn.length;
		block->instruction_count++;
		if (insn->insn.flow == SN_FLOW_CALL || insn->insn.flow == SN_FLOW_CALL_INDIRECT)
			block->flags |= SN_BLOCK_CALLS;
		s->block_of.items[s->order.items[i]] = (uint32_t)s->blocks.count - 1;
		last = insn;
	}
	if (last)
		sn_vec_last(&s->blocks).flags |= block_flags_at_end(s, last);
}

static void add_successor(struct cfg_scratch *s, uint32_t block, int32_t insn)
{
	uint32_t to;

	if (insn < 0)
		return;
	to = s->block_of.items[insn];
	if (s->mark.items[to] == block + 1)
		return;
	s->mark.items[to] = block + 1;
	sn_vec_push(&s->successors, to);
	s->blocks.items[block].successor_count++;
}

static int jumps_by_source(const void *a, const void *b)
{
	const struct edge *x = a, *y = b;

	if (x->from != y->from)
		return x->from < y->from ? -1 : 1;
	return x->to < y->to ? -1 : x->to > y->to;
}

static void add_table_successors(struct cfg_scratch *s, uint32_t block, uint32_t insn)
{
	size_t low = 0, high = s->jumps.count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (s->jumps.items[middle].from < insn)
			low = middle + 1;
		else
			high = middle;
	}
	for (; low < s->jumps.count && s->jumps.items[low].from == insn; low++)
		add_successor(s, block,
			      s->at.items[s->jumps.items[low].to] > 0
				      ? s->at.items[s->jumps.items[low].to] - 1
				      : -1);
}

static void make_successors(struct cfg_scratch *s)
{
	uint32_t block = 0;

	s->successors.count = 0;
	sn_vec_reserve(&s->mark, s->blocks.count);
	if (s->blocks.count)
		memset(s->mark.items, 0, s->blocks.count * sizeof(*s->mark.items));
	if (s->jumps.count)
		qsort(s->jumps.items, s->jumps.count, sizeof(*s->jumps.items), jumps_by_source);
	for (size_t i = 0; i < s->order.count; i++) {
		uint32_t index = s->order.items[i];
		const struct cfg_insn *insn = &s->insns.items[index];

		block = s->block_of.items[index];
		if (i + 1 < s->order.count && s->block_of.items[s->order.items[i + 1]] == block)
			continue; /* not the block's last */
		s->blocks.items[block].first_successor = (uint32_t)s->successors.count;
		if (goes_on(insn))
			add_successor(s, block, insn_at(s, insn->link_addr + insn->insn.length));
		if (insn->insn.flow == SN_FLOW_BRANCH || insn->insn.flow == SN_FLOW_JUMP)
			add_successor(s, block, insn_at(s, insn->insn.target_link_addr));
		if (insn->insn.flow == SN_FLOW_JUMP_INDIRECT)
			add_table_successors(s, block, index);
	}
}

/* Does control reach the jump on this path only, from the bound on? */
static bool is_only_path(const struct cfg_scratch *s, const uint32_t *predecessors,
			 const struct proof *proof)
{
	int32_t at = proof->jump;

	while (at >= 0 && at != proof->bound) {
		uint32_t block = s->block_of.items[at];
		const struct cfg_insn *insn = &s->insns.items[at];

		if (s->blocks.items[block].link_addr == insn->link_addr &&
		    (predecessors[block] != 1 || s->blocks.items[block].flags & SN_BLOCK_ENTRY))
			return false;
		at = insn->previous;
	}
	return at >= 0;
}

static void mark_proved(struct cfg_scratch *s)
{
	uint32_t *predecessors = sn_alloc_zeroed(s->blocks.count + 1, sizeof(*predecessors));

	for (size_t e = 0; e < s->successors.count; e++)
		predecessors[s->successors.items[e]]++;
	for (size_t p = 0; p < s->proofs.count; p++)
		if (is_only_path(s, predecessors, &s->proofs.items[p]))
			s->blocks.items[s->block_of.items[s->proofs.items[p].jump]].flags |=
				SN_BLOCK_PROVED;
	free(predecessors);
}

/* ---- edges that are in no instruction ---- */

static void extra_edge(struct cfg_scratch *s, uint32_t from, uint32_t to)
{
	sn_vec_push(&s->extra, from);
	sn_vec_push(&s->extra, to);
}

static size_t first_block_from(const struct cfg_scratch *s, uint64_t link_addr)
{
	size_t low = 0, high = s->blocks.count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (s->blocks.items[middle].link_addr + s->blocks.items[middle].size_bytes <=
		    link_addr)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Calls in a guarded piece of code may end at its landing pad. */
static void add_landing_edges(struct cfg_scratch *s)
{
	size_t budget = 4 * s->blocks.count + 65536;

	for (size_t p = 0; p < s->pads.count; p++) {
		const struct sn_landing_pad *pad = &s->pads.items[p];
		int32_t insn = insn_at(s, pad->pad_link_addr);
		size_t before = s->extra.count;

		if (insn < 0)
			continue;
		for (size_t b = first_block_from(s, pad->first_link_addr);
		     b < s->blocks.count && budget; b++, budget--) {
			const struct sn_block *block = &s->blocks.items[b];

			if (block->link_addr >= pad->end_link_addr)
				break;
			if (block->flags & SN_BLOCK_CALLS &&
			    block->link_addr + block->size_bytes > pad->first_link_addr)
				extra_edge(s, (uint32_t)b, s->block_of.items[insn]);
		}
		if (s->extra.count == before)
			extra_edge(s, UINT32_MAX, s->block_of.items[insn]);
	}
}

/* Code that nothing leads to is what unresolved jumps go to, if there are any. */
static void add_speculative_edges(struct cfg_scratch *s)
{
	enum { PAIRS_MAX = 1 << 16 };
	SN_VEC(uint32_t) roots = { 0 }, jumps = { 0 };

	for (size_t i = 0; i < s->insns.count; i++)
		if (s->insns.items[i].flags & CFG_ROOT &&
		    s->insns.items[i].link_addr != s->function->link_addr &&
		    s->blocks.items[s->block_of.items[i]].link_addr == s->insns.items[i].link_addr)
			sn_vec_push(&roots, s->block_of.items[i]);
	for (size_t b = 0; b < s->blocks.count; b++)
		if (s->blocks.items[b].flags & SN_BLOCK_UNRESOLVED)
			sn_vec_push(&jumps, (uint32_t)b);
	if (jumps.count && roots.count <= PAIRS_MAX / jumps.count) {
		for (size_t j = 0; j < jumps.count; j++)
			for (size_t r = 0; r < roots.count; r++)
				extra_edge(s, jumps.items[j], roots.items[r]);
	}
	/* and in any case from outside, so that every block is reached */
	for (size_t r = 0; r < roots.count; r++)
		extra_edge(s, UINT32_MAX, roots.items[r]);
	/* where all code is accounted for, such a jump is a call at the end */
	for (size_t j = 0; !roots.count && j < jumps.count; j++)
		s->blocks.items[jumps.items[j]].flags ^= SN_BLOCK_UNRESOLVED | SN_BLOCK_LEAVES;
	sn_vec_free(&roots);
	sn_vec_free(&jumps);
}

/* ---- the whole ---- */

static void copy_out(struct sn_structure *structure, struct cfg_scratch *s,
		     struct sn_function *function)
{
	struct sn_block *blocks =
		sn_arena_array(&structure->arena, struct sn_block, s->blocks.count);
	uint32_t *successors = sn_arena_array(&structure->arena, uint32_t, s->successors.count);

	if (s->blocks.count)
		memcpy(blocks, s->blocks.items, s->blocks.count * sizeof(*blocks));
	if (s->successors.count)
		memcpy(successors, s->successors.items, s->successors.count * sizeof(*successors));
	function->blocks = blocks;
	function->block_count = (uint32_t)s->blocks.count;
	function->successors = successors;
	function->successor_count = (uint32_t)s->successors.count;
}

static void decode_function(struct sn_structure *structure, struct cfg_scratch *s,
			    struct sn_function *function)
{
	s->pads.count = 0;
	push_work(s, function->link_addr, -1,
		  CFG_LEADER | CFG_ENTRY |
			  (function->kind == SN_FUNCTION_GAP ? CFG_SPECULATIVE | CFG_ROOT : 0));
	decode_pending(structure, s);
	sn_landing_pads_read(structure->image, function->ranges, function->range_count, &s->pads);
	for (size_t p = 0; p < s->pads.count; p++)
		push_work(s, s->pads.items[p].pad_link_addr, -1, CFG_LEADER | CFG_ENTRY);
	decode_pending(structure, s);
	decode_gaps(structure, s);
}

void sn_cfg_prepare(struct sn_structure *structure, struct sn_function *function)
{
	struct cfg_scratch *s;

	if (!structure->scratch)
		structure->scratch = sn_alloc_zeroed(1, sizeof(*structure->scratch));
	s = structure->scratch;
	function->has_code = true;
	if (!scratch_begin(s, function))
		return;
	decode_function(structure, s, function);
	order_instructions(s);
	mark_leaders(s);
	make_blocks(s);
	make_successors(s);
	mark_proved(s);
	s->extra.count = 0;
	add_landing_edges(s);
	add_speculative_edges(s);
	copy_out(structure, s, function);
	sn_loops_find(structure, function, s->extra.items, s->extra.count / 2);
}
