/* Functions that are copied whole: their code as one nest, and what forbids that. */
#include "rewrite/rewrite_parts.h"

enum { PADDING_MAX = 64 };

/* Where bytes end that only fill up, up to another function or block. */
static uint64_t padding_end(const struct sn_structure *structure,
			    const struct sn_function *function, uint64_t at)
{
	const uint64_t last = at + PADDING_MAX;

	while (at < last) {
		struct sn_instruction insn;
		size_t available;
		const uint8_t *bytes = sn_structure_bytes(structure, at, &available);
		const struct sn_function *there = sn_structure_function_at(structure, at);

		if (!bytes || (there && there != function) || sn_function_block_at(function, at) ||
		    !sn_instruction_decode(bytes, available, at, &insn) || !insn.is_padding)
			break;
		at += insn.length;
	}
	return at;
}

struct sn_loop rw_whole_function(const struct sn_rewriter *rewriter,
				 const struct sn_function *function, struct sn_arena *arena)
{
	struct sn_range *ranges =
		sn_arena_array(arena, struct sn_range, function->block_count + 1u);
	uint32_t count = 0;

	for (uint32_t b = 0; b < function->block_count; b++) {
		uint64_t end = function->blocks[b].link_addr + function->blocks[b].size_bytes;
		struct sn_range range = { function->blocks[b].link_addr,
					  padding_end(rewriter->structure, function, end) };

		if (count && ranges[count - 1].end_link_addr == range.first_link_addr)
			ranges[count - 1].end_link_addr = range.end_link_addr;
		else
			ranges[count++] = range;
	}
	return (struct sn_loop){ .function = function,
				 .index = UINT32_MAX,
				 .parent = -1,
				 .header_link_addr = function->link_addr,
				 .ranges = ranges,
				 .range_count = count };
}

const char *rw_whole_entries_refusal(const struct sn_rewriter *rewriter,
				     const struct sn_function *function)
{
	for (uint32_t r = 0; r < function->range_count; r++) {
		struct sn_range range = function->ranges[r];

		if (rw_is_entered(&rewriter->entered,
				  range.first_link_addr +
					  (range.first_link_addr == function->link_addr),
				  range.end_link_addr))
			return "code of another function jumps into it";
	}
	return NULL;
}

/* What is called in the middle of the copied code runs in the original, whose bytes are dead. */
const char *rw_whole_calls_refusal(const struct rw_nest *nest)
{
	for (size_t i = 0; i < nest->insns.count; i++) {
		const struct rw_insn *insn = &nest->insns.items[i];
		uint64_t to = insn->target_link_addr;

		if (insn->flow == SN_FLOW_CALL && to != nest->function->link_addr &&
		    sn_structure_function_at(nest->rewriter->structure, to) == nest->function)
			return "it calls code in its function's middle";
	}
	return NULL;
}
