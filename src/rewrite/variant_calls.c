/*
 * What a variant can come to of a loop that calls functions. A variant ends where the loop makes a call, or begins to lay the
 * call's arguments on the stack. So neither the call nor what only follows calls is in it.
 */
#include "rewrite/variant_parts.h"

static bool is_call(const struct rw_insn *insn)
{
	return insn->flow == SN_FLOW_CALL || insn->flow == SN_FLOW_CALL_INDIRECT;
}

uint32_t rw_body_insns(const struct rw_body *body, size_t b)
{
	const struct rw_block *block = &body->nest->blocks.items[b];
	const struct rw_insn *insns = &body->nest->insns.items[block->first_insn];
	uint32_t call = 0, moves = 0;

	while (call < block->insn_count && !is_call(&insns[call]))
		call++;
	if (call == block->insn_count)
		return call;
	while (moves < call && !insns[moves].stack_change)
		moves++;
	return moves;
}

bool rw_body_calls(const struct rw_body *body, size_t b)
{
	return rw_body_insns(body, b) < body->nest->blocks.items[b].insn_count;
}

/* Those of a block that are reached, if it is; whether one of them is the header. */
static bool reach_successors(const struct rw_body *body, size_t b, bool *is_reached)
{
	const struct rw_nest *nest = body->nest;
	const struct sn_block *block = &nest->function->blocks[nest->blocks.items[b].index];
	bool goes_around = false;

	for (uint32_t s = 0; s < block->successor_count; s++) {
		uint32_t to = nest->function->successors[block->first_successor + s];

		if (nest->position[to] < 0)
			continue;
		is_reached[nest->position[to]] = true;
		goes_around |= nest->function->blocks[to].link_addr == body->loop->header_link_addr;
	}
	return goes_around;
}

bool rw_body_find_reached(struct rw_body *body)
{
	const struct rw_nest *nest = body->nest;
	struct sn_arena *arena = &((struct rw_nest *)nest)->arena;
	bool *is_reached = sn_arena_array(arena, bool, nest->blocks.count + 1);
	bool *is_done = sn_arena_array(arena, bool, nest->blocks.count + 1);
	bool has_changed = true, goes_around = false;

	is_reached[nest->position[rw_block_at(nest->function, body->loop->header_link_addr)]] =
		true;
	while (has_changed) {
		has_changed = false;
		for (size_t b = 0; b < nest->blocks.count; b++) {
			if (!is_reached[b] || is_done[b] || !rw_body_has(body, b))
				continue;
			is_done[b] = has_changed = true;
			if (!rw_body_calls(body, b))
				goes_around |= reach_successors(body, b, is_reached);
		}
	}
	body->is_reached = is_reached;
	return goes_around;
}
