/*
 * Shares of paths without a run, as compilers guess them (gcc's predictors "cold label" and
 * "call"). Code that was split off as cold is hardly run. A path with a call is taken less often
 * than one without.
 *
 * Compilers that must set errno put a comparison and a call of sqrt beside its instruction, for
 * numbers without a root. Such numbers hardly occur.
 */
#include "cqa/loop/loop.h"

#define COLD_WEIGHT   0.01 /* (chosen) */
#define CALL_WEIGHT   0.5  /* (chosen) */
#define NOTICED_SHARE 0.01 /* (chosen) of the loop's time */

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

static bool holds(const struct sn_cqa_block *block, uint32_t offset)
{
	for (size_t i = 0; i < block->count; i++)
		if (block->insns[i].offset == offset)
			return true;
	return false;
}

/* Whether ways part behind a comparison of FP numbers. */
static bool parts_by_comparison(const struct sn_cqa_block *a, const struct sn_cqa_block *b)
{
	size_t i = 0;

	while (i < a->count && i < b->count && a->insns[i].offset == b->insns[i].offset)
		i++;
	while (i > 0 && a->insns[i - 1].is_branch)
		i--;
	if (!i)
		return false;
	switch (sn_form_mnemonic(a->insns[i - 1].form)) {
	case ZYDIS_MNEMONIC_UCOMISS:
	case ZYDIS_MNEMONIC_UCOMISD:
	case ZYDIS_MNEMONIC_VUCOMISS:
	case ZYDIS_MNEMONIC_VUCOMISD:
		return true;
	default:
		return false;
	}
}

/* The path does what the other does, but has a call where that has only the instruction. */
static bool calls_for_errno(const struct sn_cqa_block *path, const struct sn_cqa_block *other)
{
	unsigned calls = 0, work = 0, roots = 0;

	for (size_t i = 0; i < path->count; i++) {
		const struct sn_insn *insn = &path->insns[i];
		bool is_extra_call = insn->is_call && !holds(other, insn->offset);

		if (is_extra_call && !insn->may_call_root)
			return false;
		calls += is_extra_call;
		work += insn->fp_kind >= 0;
	}
	for (size_t i = 0; i < other->count; i++) {
		roots += other->insns[i].fp_kind == SN_FP_SQRT;
		work -= other->insns[i].fp_kind >= 0 && work;
	}
	return calls && roots && !work && parts_by_comparison(path, other);
}

static void put_last(struct sn_cqa_loop *result)
{
	for (uint32_t end = result->path_count; end > 1; end--)
		for (uint32_t p = 0; p + 1 < end; p++) {
			struct sn_cqa_path path = result->paths[p];

			if (!path.sets_errno)
				continue;
			result->paths[p] = result->paths[p + 1];
			result->paths[p + 1] = path;
		}
}

void sn_cqa_find_errno_paths(struct sn_cqa_loop *result)
{
	for (uint32_t p = 0; p < result->path_count; p++)
		for (uint32_t k = 0; k < result->path_count && !result->paths[p].sets_errno; k++)
			result->paths[p].sets_errno =
				k != p &&
				calls_for_errno(&result->paths[p].block, &result->paths[k].block);
	put_last(result);
}

uint32_t sn_cqa_taken_paths(const struct sn_cqa_loop *result, const struct sn_heat *heat,
			    size_t count)
{
	uint64_t origin_link_addr = result->loop->ranges[0].first_link_addr & ~63ULL;
	uint32_t others = 0;
	double total = 0, own = 0;

	while (others < result->path_count && !result->paths[others].sets_errno)
		others++;
	for (size_t i = 0; i < count; i++) {
		uint32_t offset = (uint32_t)(heat[i].link_addr - origin_link_addr);
		bool is_shared = false, is_own = false;

		for (uint32_t p = 0; p < result->path_count; p++)
			*(p < others ? &is_shared : &is_own) |=
				holds(&result->paths[p].block, offset);
		total += heat[i].weight;
		own += is_own && !is_shared ? heat[i].weight : 0;
	}
	return own < NOTICED_SHARE * total ? others : result->path_count;
}

void sn_cqa_guess_weights(struct sn_cqa_loop *result)
{
	double whole = 0;

	for (uint32_t p = 0; p < result->path_count; p++) {
		struct sn_cqa_path *path = &result->paths[p];

		path->weight = path->sets_errno || is_cold(result->loop, &path->block) ? COLD_WEIGHT
			       : calls(&path->block)				       ? CALL_WEIGHT
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
