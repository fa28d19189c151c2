/* Shares of paths without a run, as compilers guess them: code that was split off as cold is hardly
 * run, and a call is what a loop does less often than not (gcc's predictors "cold label" and
 * "call"). */
#include "cqa/loop.h"

#define COLD_WEIGHT 0.01
#define CALL_WEIGHT 0.5

static bool is_in(const struct sn_range *range, uint64_t link_addr)
{
	return link_addr >= range->first_link_addr && link_addr < range->end_link_addr;
}

/* Runs through a part of the function that the compiler put away, while the loop is not itself
 * there. */
static bool is_cold(const struct sn_loop *loop, const struct sn_cqa_block *block)
{
	const struct sn_function *function = loop->function;
	uint64_t origin_link_addr = loop->ranges[0].first_link_addr & ~63ULL;

	if (!function->range_count || !is_in(&function->ranges[0], loop->header_link_addr))
		return false;
	for (size_t i = 0; i < block->count; i++)
		if (!is_in(&function->ranges[0], origin_link_addr + block->insns[i].offset))
			return true;
	return false;
}

static bool calls(const struct sn_cqa_block *block)
{
	for (size_t i = 0; i < block->count; i++)
		if (block->insns[i].is_call)
			return true;
	return false;
}

void sn_cqa_guess_weights(struct sn_cqa_loop *result)
{
	double whole = 0;

	for (uint32_t p = 0; p < result->path_count; p++) {
		struct sn_cqa_path *path = &result->paths[p];

		path->weight = is_cold(result->loop, &path->block) ? COLD_WEIGHT
			       : calls(&path->block)		   ? CALL_WEIGHT
								   : 1;
		whole += path->weight;
	}
	for (uint32_t p = 0; p < result->path_count; p++)
		result->paths[p].weight /= whole;
}

bool sn_cqa_weights_are_alike(const struct sn_cqa_loop *result)
{
	for (uint32_t p = 1; p < result->path_count; p++)
		if (result->paths[p].weight != result->paths[0].weight)
			return false;
	return true;
}
