/* Whether a function hands out the iterations of its loops to a team: by the calls of the runtimes that it makes. */
#include <string.h>

#include "base/text.h"
#include "code/decode.h"
#include "search/evidence/activity.h"

/* What compilers call where a loop is shared out; gcc asks for the number of threads where the schedule is static. A program
 * that does so itself divides its loops, too. */
static const char *const shares[] = { "GOMP_loop_", "__kmpc_for_static_init",
				      "__kmpc_dispatch_init", "__kmpc_distribute",
				      "omp_get_num_threads" };

static bool is_share(const struct sn_structure *structure, uint64_t target_link_addr)
{
	const struct sn_function *to =
		target_link_addr ? sn_structure_function_at(structure, target_link_addr) : NULL;

	for (size_t i = 0; to && i < sizeof(shares) / sizeof(*shares); i++)
		if (sn_starts_with(to->linkage_name, shares[i]))
			return true;
	return false;
}

static bool block_shares(const struct sn_structure *structure, const struct sn_block *block)
{
	size_t available, done = 0;
	const uint8_t *bytes = sn_structure_bytes(structure, block->link_addr, &available);

	if (available > block->size_bytes)
		available = block->size_bytes;
	while (bytes && done < available) {
		struct sn_instruction insn;
		unsigned length = sn_instruction_decode(bytes + done, available - done,
							block->link_addr + done, &insn);

		if (!length)
			return false;
		if (insn.flow == SN_FLOW_CALL && is_share(structure, insn.target_link_addr))
			return true;
		done += length;
	}
	return false;
}

bool sn_shares_out_loops(const struct sn_structure *structure, const struct sn_function *function)
{
	for (uint32_t b = 0; b < function->block_count; b++)
		if (block_shares(structure, &function->blocks[b]))
			return true;
	return !function->block_count; /* nothing is known of it */
}
