/* LRU by times of last use; tree-PLRU by one bit for each pair of halves. */
#include "caches/sets.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

void sn_sets_init(struct sn_sets *sets, const struct sn_sim_shape *shape, bool is_plru)
{
	size_t slots = (size_t)shape->sets * shape->ways;

	*sets = (struct sn_sets){ .count = shape->sets,
				  .ways = shape->ways,
				  .is_plru = is_plru,
				  .things = sn_alloc_zeroed(slots, sizeof(*sets->things)),
				  .first = sn_alloc_zeroed((size_t)shape->sets,
							   sizeof(*sets->first)) };
	if (!(sets->count & (sets->count - 1)))
		sets->mask = sets->count - 1;
	if (is_plru)
		sets->trees = sn_alloc_zeroed((size_t)shape->sets, sizeof(*sets->trees));
	else
		sets->stamps = sn_alloc_zeroed(slots, sizeof(*sets->stamps));
	memset(sets->things, 0xff, slots * sizeof(*sets->things));
}

void sn_sets_free(struct sn_sets *sets)
{
	free(sets->things);
	free(sets->stamps);
	free(sets->trees);
	free(sets->first);
	*sets = (struct sn_sets){ 0 };
}

void sn_sets_forget(struct sn_sets *sets)
{
	memset(sets->first, 0, (size_t)sets->count * sizeof(*sets->first));
}

void sn_sets_shorten(struct sn_sets *sets)
{
	uint32_t *old = sn_alloc_zeroed(sets->ways, sizeof(*old));

	for (uint64_t set = 0; set < sets->count; set++) {
		uint32_t *stamps = sets->stamps + set * sets->ways;

		memcpy(old, stamps, sets->ways * sizeof(*old));
		for (unsigned way = 0; way < sets->ways; way++) {
			stamps[way] = 0; /* the rank; of empty ones 0 */
			for (unsigned other = 0; other < sets->ways; other++)
				stamps[way] += old[other] < old[way];
			stamps[way] += old[way] != 0;
		}
	}
	sets->clock = sets->ways + 1;
	free(old);
}

/* Ways as leaves of a tree, their number rounded up to a power of two; leaves from `ways` on are not there. */
static unsigned leaves_of(const struct sn_sets *sets)
{
	unsigned leaves = 1;

	while (leaves < sets->ways)
		leaves *= 2;
	return leaves;
}

void sn_sets_point_away(struct sn_sets *sets, uint32_t slot)
{
	uint64_t *tree = &sets->trees[slot / sets->ways];
	unsigned way = slot % sets->ways, node = 1;

	for (unsigned half = leaves_of(sets) / 2; half; half /= 2) {
		bool is_right = (way & half) != 0;

		if (is_right)
			*tree &= ~(1ull << node);
		else
			*tree |= 1ull << node;
		node = node * 2 + is_right;
	}
}

static unsigned way_pointed_at(const struct sn_sets *sets, uint64_t tree)
{
	unsigned way = 0, node = 1;

	for (unsigned half = leaves_of(sets) / 2; half; half /= 2) {
		bool is_right = (tree >> node & 1) && (way | half) < sets->ways;

		way |= is_right ? half : 0;
		node = node * 2 + is_right;
	}
	return way;
}

uint32_t sn_sets_choose(const struct sn_sets *sets, uint64_t address)
{
	uint64_t set =
		sets->mask || sets->count == 1 ? address & sets->mask : address % sets->count;
	uint32_t first = (uint32_t)(set * sets->ways), oldest = first;

	if (!sets->is_plru) {
		for (uint32_t slot = first + 1; slot < first + sets->ways; slot++)
			if (sets->stamps[slot] < sets->stamps[oldest])
				oldest = slot;
		return oldest;
	}
	for (uint32_t slot = first; slot < first + sets->ways; slot++)
		if (sets->things[slot] == SN_SETS_EMPTY)
			return slot;
	return first + way_pointed_at(sets, sets->trees[set]);
}
