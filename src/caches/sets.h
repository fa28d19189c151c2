/**
 * Sets of ways: which place a thing takes, and which one leaves. The caches and the TLB, without what they hold.
 */
#ifndef SN_CACHES_SETS_H
#define SN_CACHES_SETS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "caches/config.h"

#define SN_SETS_EMPTY UINT32_MAX

struct sn_sets {
	uint64_t count;
	unsigned ways;
	bool is_plru;
	uint64_t mask;	  /* count - 1, where that is a power of two; else 0 */
	uint32_t *things; /* by slot (set * ways + way): what it holds; SN_SETS_EMPTY: nothing */
	uint32_t *stamps; /* LRU: by slot, the time of its last use; 0: it is empty */
	uint64_t *trees;  /* tree-PLRU: by set, a bit for each inner node: the half to leave next */
	uint32_t clock;
	uint16_t *
		first; /* by set: new things that came to it since sn_sets_forget, up to its ways */
};

void sn_sets_init(struct sn_sets *sets, const struct sn_sim_shape *shape, bool is_plru);
void sn_sets_free(struct sn_sets *sets);

/** The slot that a new thing with this address (a line's or page's number) is to take: an empty one, the first,
 *  or that of the least recently used. What it held is the caller's to see to. */
uint32_t sn_sets_choose(const struct sn_sets *sets, uint64_t address);
/** tree-PLRU: all nodes above the slot point away from it. */
void sn_sets_point_away(struct sn_sets *sets, uint32_t slot);

/** What the slot held is gone. */
static inline void sn_sets_empty(struct sn_sets *sets, uint32_t slot)
{
	sets->things[slot] = SN_SETS_EMPTY;
	if (!sets->is_plru)
		sets->stamps[slot] = 0;
}

/** LRU: times begin anew, in the same order. */
void sn_sets_shorten(struct sn_sets *sets);

/** A thing that was not met before comes to its set. True: what the set held in the beginning, which nobody knows, may
 *  have been this one: at most as many as it has ways. */
static inline bool sn_sets_could_hold(struct sn_sets *sets, uint64_t address)
{
	uint16_t *first = &sets->first[sets->mask ? address & sets->mask : address % sets->count];

	return *first < sets->ways && ++*first;
}

/** What sets hold is unknown again. */
void sn_sets_forget(struct sn_sets *sets);

/** The slot was used. */
static inline void sn_sets_use(struct sn_sets *sets, uint32_t slot)
{
	if (sets->is_plru) {
		sn_sets_point_away(sets, slot);
		return;
	}
	if (__builtin_expect(sets->clock == UINT32_MAX, 0))
		sn_sets_shorten(sets);
	sets->stamps[slot] = ++sets->clock;
}

#endif
