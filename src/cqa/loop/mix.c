/* Passes of different paths follow each other, and the core works on several at once: while one
 * divides, the next may add. So paths are also put through the model together, one pass after the
 * other in proportion to their weights. */
#include <math.h>
#include <string.h>

#include "cqa/block/address.h"
#include "cqa/loop/loop.h"

enum { PASSES = 16, INSTRUCTIONS_MAX = 4000 }; /* (chosen), (room) */

/* Which path each of `count` passes takes: the one that is most behind its share. Paths with less
 * than a sixteenth may be left out. */
static uint32_t choose_passes(const struct sn_cqa_loop *loop, uint32_t passes[PASSES])
{
	uint32_t count = sn_cqa_weights_are_alike(loop) ? loop->path_count : PASSES;
	double taken[SN_CQA_PATHS_MAX] = { 0 };

	for (uint32_t i = 0; i < count; i++) {
		uint32_t next = 0;
		double most = -INFINITY;

		for (uint32_t p = 0; p < loop->path_count; p++) {
			double behind = loop->paths[p].weight * (i + 1) - taken[p];

			if (behind > most + 1e-9) {
				most = behind;
				next = p;
			}
		}
		taken[next]++;
		passes[i] = next;
	}
	return count;
}

/* Jumps that are taken where code that follows does not stand behind. */
static double count_jumps(const struct sn_cqa_block *block)
{
	double jumps = 0;

	for (size_t i = 0; i < block->count; i++) {
		const struct sn_insn *next = &block->insns[(i + 1) % block->count];

		jumps += next->offset != block->insns[i].offset + block->insns[i].length;
	}
	return jumps;
}

double sn_cqa_mix_factor(const struct sn_cqa_loop *loop)
{
	struct sn_arena arena = { 0 };
	struct sn_cqa_estimate estimate;
	struct sn_cqa_block all = { 0 };
	uint32_t passes[PASSES], count;
	double apart = 0, front_end = 0;
	size_t room = 0;

	if (loop->path_count < 2 || loop->path_count > SN_CQA_PATHS_MAX)
		return 1;
	count = choose_passes(loop, passes);
	for (uint32_t i = 0; i < count; i++) {
		const struct sn_cqa_path *path = &loop->paths[passes[i]];

		room += path->block.count;
		apart += path->estimate.cycles;
		front_end += path->estimate.bounds[SN_BOUND_FRONT_END];
	}
	if (!room || room > INSTRUCTIONS_MAX || apart <= 0)
		return 1;
	all.insns = sn_arena_array(&arena, struct sn_insn, room);
	for (uint32_t i = 0; i < count; i++) {
		const struct sn_cqa_block *block = &loop->paths[passes[i]].block;

		memcpy(all.insns + all.count, block->insns, block->count * sizeof(*all.insns));
		all.count += block->count;
		all.bytes = block->bytes > all.bytes ? block->bytes : all.bytes;
		all.x87_end = block->x87_end;
	}
	all.accesses = sn_accesses_of(&all, &arena);
	sn_cqa_estimate_apart(loop->machine, &all, count_jumps(&all), &arena, &estimate);
	sn_arena_free(&arena);
	return fmax(estimate.cycles, front_end) / apart;
}
