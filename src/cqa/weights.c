/* How often each path through a loop is taken, from where samples fell. Instructions are told apart
 * only by the set of paths that they lie on; a path spreads its time over these sets by its micro-
 * operations, and the shares that make the samples most likely are found by expectation-
 * maximization (Dempster, Laird and Rubin 1977). */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "cqa/loop.h"

enum { SETS = 1 << SN_CQA_PATHS_MAX, ROUNDS = 500 };

struct place {
	uint64_t link_addr;
	uint32_t paths; /* bit set */
};

struct likelihood {
	double expected[SN_CQA_PATHS_MAX][SETS]; /* share of a path's time in a set */
	double observed[SETS];
	double total;
};

static int by_address(const void *a, const void *b)
{
	const struct place *x = a, *y = b;

	return (x->link_addr > y->link_addr) - (x->link_addr < y->link_addr);
}

/* Eliminated moves and fused branches still hold a place in the program counter's way. */
static double time_of(const struct sn_insn *insn)
{
	return insn->issued_uops > 0.25F ? (double)insn->issued_uops : 0.25;
}

/* Every instruction once, with the paths it lies on; sorted. The caller frees. */
static struct place *find_places(const struct sn_cqa_loop *loop, size_t *count)
{
	uint64_t origin_link_addr = loop->loop->ranges[0].first_link_addr & ~63ULL;
	size_t room = 0, kept = 0;
	struct place *places;

	for (uint32_t p = 0; p < loop->path_count; p++)
		room += loop->paths[p].block.count;
	places = sn_alloc_zeroed(room + 1, sizeof(*places));
	*count = 0;
	for (uint32_t p = 0; p < loop->path_count; p++)
		for (size_t i = 0; i < loop->paths[p].block.count; i++)
			places[(*count)++] = (struct place){
				origin_link_addr + loop->paths[p].block.insns[i].offset, 1U << p
			};
	qsort(places, *count, sizeof(*places), by_address);
	for (size_t i = 0; i < *count; i++) {
		if (kept && places[kept - 1].link_addr == places[i].link_addr)
			places[kept - 1].paths |= places[i].paths;
		else
			places[kept++] = places[i];
	}
	*count = kept;
	return places;
}

static uint32_t paths_at(const struct place *places, size_t count, uint64_t link_addr)
{
	struct place key = { link_addr, 0 };
	const struct place *found = bsearch(&key, places, count, sizeof(*places), by_address);

	return found ? found->paths : 0;
}

static void expect(const struct sn_cqa_loop *loop, const struct place *places, size_t count,
		   struct likelihood *out)
{
	uint64_t origin_link_addr = loop->loop->ranges[0].first_link_addr & ~63ULL;

	for (uint32_t p = 0; p < loop->path_count; p++) {
		const struct sn_cqa_block *block = &loop->paths[p].block;
		double whole = 0;

		for (size_t i = 0; i < block->count; i++)
			whole += time_of(&block->insns[i]);
		for (size_t i = 0; i < block->count; i++)
			out->expected[p][paths_at(places, count,
						  origin_link_addr + block->insns[i].offset)] +=
				time_of(&block->insns[i]) / whole;
	}
}

/* Shares of time by path that make the observation most likely. */
static void maximize(const struct likelihood *l, uint32_t paths, double shares[SN_CQA_PATHS_MAX])
{
	for (uint32_t p = 0; p < paths; p++)
		shares[p] = 1.0 / paths;
	for (int round = 0; round < ROUNDS; round++) {
		double next[SN_CQA_PATHS_MAX] = { 0 };

		for (uint32_t set = 1; set < SETS; set++) {
			double likely = 0;

			if (l->observed[set] <= 0)
				continue;
			for (uint32_t p = 0; p < paths; p++)
				likely += shares[p] * l->expected[p][set];
			for (uint32_t p = 0; p < paths && likely > 0; p++)
				next[p] += l->observed[set] / l->total * shares[p] *
					   l->expected[p][set] / likely;
		}
		memcpy(shares, next, sizeof(next));
	}
}

void sn_cqa_loop_weigh(struct sn_cqa_loop *result, const struct sn_heat *heat, size_t count)
{
	struct likelihood *l;
	struct place *places;
	double shares[SN_CQA_PATHS_MAX], passes = 0;
	size_t place_count;

	if (result->not_analysed || result->is_union)
		return;
	l = sn_alloc_zeroed(1, sizeof(*l));
	places = find_places(result, &place_count);
	for (size_t i = 0; i < count; i++) {
		uint32_t set = paths_at(places, place_count, heat[i].link_addr);

		l->observed[set] += set ? heat[i].weight : 0;
		l->total += set ? heat[i].weight : 0;
	}
	if (l->total > 0) {
		expect(result, places, place_count, l);
		maximize(l, result->path_count, shares);
		/* a share of time is passes times the cycles of one */
		for (uint32_t p = 0; p < result->path_count; p++) {
			shares[p] /= fmax(result->paths[p].estimate.cycles, 0.01);
			passes += shares[p];
		}
		for (uint32_t p = 0; p < result->path_count; p++)
			result->paths[p].weight = shares[p] / passes;
		result->is_weighed = true;
		sn_cqa_loop_sum(result);
	}
	free(places);
	free(l);
}
