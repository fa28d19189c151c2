/* Several paths as the one body that vectors would run. Vectors cannot branch, so every pass does
 * the FP work of all paths, and a mask chooses. The longest path gives the body, without its inner
 * branches. Instructions that only other paths have are added before its closing branch. Paths that
 * only set errno are left out. Instructions keep what the rules made of them in their paths. */
#include <string.h>

#include "cqa/block/address.h"
#include "cqa/loop/loop.h"

static uint32_t longest_path(const struct sn_cqa_loop *result)
{
	uint32_t longest = UINT32_MAX;

	for (uint32_t i = 0; i < result->path_count; i++)
		if (!result->paths[i].sets_errno &&
		    (longest == UINT32_MAX ||
		     result->paths[i].block.count > result->paths[longest].block.count))
			longest = i;
	return longest; /* a path for errno has another beside it */
}

static bool is_same_store(const struct sn_insn *a, const struct sn_insn *b)
{
	return a->memory_count && b->memory_count && a->memory[0].is_store &&
	       b->memory[0].is_store && a->memory[0].base == b->memory[0].base &&
	       a->memory[0].index == b->memory[0].index &&
	       a->memory[0].displacement == b->memory[0].displacement;
}

/* Paths share instructions, and a blend leaves one store to a place. */
static bool is_known(const struct sn_cqa_block *block, const struct sn_insn *insn)
{
	for (size_t i = 0; i < block->count; i++)
		if (block->insns[i].offset == insn->offset || is_same_store(&block->insns[i], insn))
			return true;
	return false;
}

static bool is_fp_work(const struct sn_insn *insn)
{
	struct sn_fp_operation operation;

	return sn_fp_operation_of(insn, &operation) || insn->is_vector_move ||
	       (insn->is_vector && insn->category == ZYDIS_CATEGORY_CONVERT);
}

static void add_others(const struct sn_cqa_loop *result, struct sn_cqa_block *out)
{
	for (uint32_t p = 0; p < result->path_count; p++) {
		const struct sn_cqa_block *block = &result->paths[p].block;

		for (size_t i = 0; i < block->count && !result->paths[p].sets_errno; i++)
			if (is_fp_work(&block->insns[i]) && !is_known(out, &block->insns[i]))
				out->insns[out->count++] = block->insns[i];
	}
}

bool sn_cqa_merge(const struct sn_cqa_loop *result, struct sn_arena *arena,
		  struct sn_cqa_block *out)
{
	const struct sn_cqa_block *body = &result->paths[longest_path(result)].block;
	size_t room = 0, end;

	for (uint32_t p = 0; p < result->path_count; p++)
		room += result->paths[p].block.count;
	*out = *body;
	/* instructions keep their places, and other paths may end later */
	for (uint32_t p = 0; p < result->path_count; p++)
		if (result->paths[p].block.bytes > out->bytes)
			out->bytes = result->paths[p].block.bytes;
	out->insns = sn_arena_array(arena, struct sn_insn, room + 1);
	out->count = 0;
	if (body->count < 2)
		return false;
	end = body->count - 1;
	while (end > 0 && body->insns[end].is_fused_into_previous)
		end--;
	for (size_t i = 0; i < end; i++)
		if (!body->insns[i].is_branch)
			out->insns[out->count++] = body->insns[i];
	add_others(result, out);
	for (size_t i = end; i < body->count; i++)
		out->insns[out->count++] = body->insns[i];
	out->accesses = sn_accesses_of(out, arena);
	return true;
}
