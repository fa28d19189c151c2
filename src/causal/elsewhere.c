/*
 * Another instruction at which a place of the program can be watched: of the same block before any call, or the only call
 * of the function that begins there. A breakpoint slows the line of the instruction cache that it lies in (decision 0166).
 */
#include "causal/elsewhere.h"

#include <string.h>

#include "code/decode.h"

enum { CACHE_LINE_BYTES = 64 };

static uint64_t line_of(uint64_t link_addr)
{
	return link_addr & ~(uint64_t)(CACHE_LINE_BYTES - 1);
}

/* Decodes at an address. False: there are no bytes, or they are none. */
static bool decode(const struct sn_structure *structure, uint64_t link_addr,
		   struct sn_instruction *out)
{
	size_t available;
	const uint8_t *bytes = sn_structure_bytes(structure, link_addr, &available);

	return bytes && sn_instruction_decode(bytes, available, link_addr, out);
}

/* The first instruction of each further line of the block, up to a call, is run as often as the place. */
static size_t in_block(const struct sn_structure *structure, const struct sn_block *block,
		       uint64_t place, uint64_t *out, size_t most)
{
	struct sn_instruction insn;
	uint64_t line = line_of(place);
	size_t count = 0;

	for (uint64_t at = place; count < most && at < block->link_addr + block->size_bytes &&
				  decode(structure, at, &insn);
	     at += insn.length) {
		if (line_of(at) != line)
			out[count++] = at;
		line = line_of(at);
		if (insn.flow != SN_FLOW_NEXT)
			break;
	}
	return count;
}

/* Whether four bytes at an address lead to the target from behind them, as in calls, jumps and lea. */
static bool leads_to(const uint8_t *bytes, uint64_t link_addr, uint64_t target)
{
	int32_t away;

	memcpy(&away, bytes, sizeof(away));
	return link_addr + sizeof(away) + (uint64_t)(int64_t)away == target;
}

struct reference {
	const struct sn_function *function;
	uint64_t link_addr; /* of its four bytes */
	size_t count;
};

static void find_references(const struct sn_structure *structure, uint64_t target,
			    struct reference *found)
{
	for (size_t f = 0; f < sn_structure_function_count(structure); f++) {
		const struct sn_function *function = sn_structure_function(structure, f);

		for (uint32_t r = 0; r < function->range_count; r++) {
			uint64_t first = function->ranges[r].first_link_addr;
			size_t available,
				length = (size_t)(function->ranges[r].end_link_addr - first);
			const uint8_t *bytes = sn_structure_bytes(structure, first, &available);

			if (!bytes)
				continue;
			length = length < available ? length : available;
			for (size_t i = 0; i + sizeof(int32_t) <= length; i++)
				if (leads_to(bytes + i, first + i, target)) {
					found->function = function;
					found->link_addr = first + i;
					found->count++;
				}
		}
	}
}

/* The call that is all that refers to the function at `entry`; 0: it is none, or there are more. */
static uint64_t only_call(struct sn_structure *structure, uint64_t entry)
{
	struct reference found = { 0 };
	const struct sn_block *block;
	struct sn_instruction insn;

	find_references(structure, entry, &found);
	if (found.count != 1)
		return 0;
	sn_function_prepare(structure, found.function, SN_PREPARE_CODE);
	block = sn_function_block_at(found.function, found.link_addr);
	for (uint64_t at = block ? block->link_addr : UINT64_MAX;
	     at < found.link_addr && decode(structure, at, &insn); at += insn.length)
		if (at + insn.length > found.link_addr)
			return insn.target_link_addr == entry && (insn.flow == SN_FLOW_CALL ||
								  insn.flow == SN_FLOW_JUMP)
				       ? at
				       : 0;
	return 0;
}

size_t sn_causal_places_elsewhere(struct sn_structure *structure, uint64_t place, bool is_program,
				  uint64_t *out, size_t most)
{
	const struct sn_function *function = sn_structure_function_at(structure, place);
	const struct sn_block *block;
	size_t count = 0;

	if (!function)
		return 0;
	sn_function_prepare(structure, function, SN_PREPARE_CODE);
	block = sn_function_block_at(function, place);
	if (block)
		count = in_block(structure, block, place, out, most);
	if (is_program && count < most && place == function->link_addr &&
	    (out[count] = only_call(structure, place)))
		count++;
	return count;
}
