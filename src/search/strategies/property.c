/*
 * The strategy of Figure 4 of the Periscope paper: proven properties are refined to more special
 * ones at the same place. It begins with --start, or with the properties that refine none.
 */
#include "sonde/strategy.h"

#include <stdlib.h>

enum { BELOW = 256 };

/* Regions that were come by, and how far they were followed. */
struct walk {
	uint32_t *regions;
	uint32_t count, next;
};

static void walk_add(struct walk *walk, uint32_t region)
{
	uint32_t *grown;

	for (uint32_t i = 0; i < walk->count; i++)
		if (walk->regions[i] == region)
			return;
	grown = realloc(walk->regions, (walk->count + 1) * sizeof(*grown));
	if (!grown)
		return;
	walk->regions = grown;
	walk->regions[walk->count++] = region;
}

static void below_add(const struct sonde_strategy_host *host, struct walk *walk, uint32_t region)
{
	uint32_t below[BELOW], count;

	for (int calls = 0; calls < 2; calls++) {
		count = (calls ? host->calls : host->subregions)(host->search, region, below,
								 BELOW);
		for (uint32_t i = 0; i < count && i < BELOW; i++)
			if (host->share(host->search, below[i]) > host->threshold)
				walk_add(walk, below[i]);
	}
}

/* Every region with a share above the threshold, from the root on. */
static void first(const struct sonde_strategy_host *host, void *state)
{
	struct walk walk = { NULL, 0, 0 };

	(void)state;
	walk_add(&walk, host->root);
	for (; walk.next < walk.count; walk.next++) {
		uint32_t region = walk.regions[walk.next];
		const struct sonde_strategy_candidate start = { host->start, region,
								SONDE_STRATEGY_NONE };
		/* what refines HotRegion is asked without it: a region's time may all be inside */
		const struct sonde_strategy_finding hot = {
			{ host->property(host->search, "HotRegion"), region, SONDE_STRATEGY_NONE },
			0,
			0,
			0
		};

		if (host->start != SONDE_STRATEGY_NONE)
			host->propose(host->search, &start);
		else
			host->propose_roots(host->search, region);
		if (host->start == SONDE_STRATEGY_NONE)
			host->propose_refinements(host->search, &hot);
		below_add(host, &walk, region);
	}
	free(walk.regions);
}

static void refine(const struct sonde_strategy_host *host, void *state,
		   const struct sonde_strategy_finding *proven, uint32_t count)
{
	(void)state;
	for (uint32_t i = 0; i < count; i++)
		host->propose_refinements(host->search, &proven[i]);
}

SONDE_STRATEGY_EXPORT const struct sonde_strategy sonde_strategy = {
	SONDE_STRATEGY_ABI,
	"property",
	"down the hierarchy of properties, at every place that takes time",
	NULL,
	first,
	refine,
	NULL
};
