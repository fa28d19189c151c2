/* Jumps from one function into the middle of another, as hand-written code has them. */
#include <stdlib.h>

#include "rewrite/rewrite_parts.h"

static int by_address(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static bool holds(const struct sn_function *function, uint64_t link_addr)
{
	for (uint32_t i = 0; i < function->range_count; i++)
		if (link_addr - function->ranges[i].first_link_addr <
		    function->ranges[i].end_link_addr - function->ranges[i].first_link_addr)
			return true;
	return false;
}

/* Straight on over all bytes: what is no code gives targets that are none, which only forbid. */
static void sweep(const struct sn_structure *structure, const struct sn_function *function,
		  struct sn_range range, struct rw_entered *out)
{
	uint64_t addr = range.first_link_addr;

	while (addr < range.end_link_addr) {
		struct sn_instruction insn;
		size_t available;
		const uint8_t *bytes = sn_structure_bytes(structure, addr, &available);

		if (!bytes)
			return;
		if (available > range.end_link_addr - addr)
			available = range.end_link_addr - addr;
		if (!sn_instruction_decode(bytes, available, addr, &insn)) {
			addr++;
			continue;
		}
		if (insn.target_link_addr && !holds(function, insn.target_link_addr))
			sn_vec_push(out, insn.target_link_addr);
		addr += insn.length;
	}
}

void rw_entered_find(const struct sn_structure *structure, struct rw_entered *out)
{
	size_t kept = 0;

	for (size_t f = 0; f < sn_structure_function_count(structure); f++) {
		const struct sn_function *function = sn_structure_function(structure, f);

		for (uint32_t r = 0; r < function->range_count; r++)
			sweep(structure, function, function->ranges[r], out);
	}
	if (out->count)
		qsort(out->items, out->count, sizeof(*out->items), by_address);
	for (size_t i = 0; i < out->count; i++)
		if (!kept || out->items[kept - 1] != out->items[i])
			out->items[kept++] = out->items[i];
	out->count = kept;
}

bool rw_is_entered(const struct rw_entered *entered, uint64_t first, uint64_t end)
{
	size_t low = 0, high = entered->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (entered->items[middle] < first)
			low = middle + 1;
		else
			high = middle;
	}
	return low < entered->count && entered->items[low] < end;
}
