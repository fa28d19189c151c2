/*
 * The default strategy: the place first. From the program down, every region that takes more than
 * the threshold is looked at, one level a step; at each of them the general properties, and what is
 * proven is refined there, then by data.
 */
#include "sonde/strategy.h"

#include <stdlib.h>

enum { BELOW = 256 };

struct state {
	uint32_t *level; /* regions that the last step looked at */
	uint32_t count;
};

static void *begin(const struct sonde_strategy_host *host)
{
	struct state *state = calloc(1, sizeof(*state));

	if (state)
		state->level = calloc(1, sizeof(*state->level));
	if (state && state->level) {
		state->level[0] = host->root;
		state->count = 1;
	}
	return state;
}

/* What refines HotRegion is asked without it: a region's time may all be in the regions inside. */
static uint32_t region_propose(const struct sonde_strategy_host *host, uint32_t region)
{
	const struct sonde_strategy_finding hot = {
		{ host->property(host->search, "HotRegion"), region, SONDE_STRATEGY_NONE }, 0, 0, 0
	};

	return host->propose_roots(host->search, region) +
	       host->propose_refinements(host->search, &hot);
}

static void first(const struct sonde_strategy_host *host, void *raw_state)
{
	struct state *state = raw_state;

	for (uint32_t i = 0; state && i < state->count; i++)
		region_propose(host, state->level[i]);
}

static int level_add(struct state *state, uint32_t region)
{
	uint32_t *grown = realloc(state->level, (state->count + 1) * sizeof(*grown));

	if (!grown)
		return 0;
	state->level = grown;
	state->level[state->count++] = region;
	return 1;
}

/* The regions one level below those of the last step, as far as they are above the threshold and
 * new. */
static void level_descend(const struct sonde_strategy_host *host, struct state *state)
{
	uint32_t *old = state->level, old_count = state->count, below[BELOW], count;

	state->level = NULL;
	state->count = 0;
	for (uint32_t i = 0; i < old_count; i++)
		for (int calls = 0; calls < 2; calls++) {
			count = (calls ? host->calls : host->subregions)(host->search, old[i],
									 below, BELOW);
			for (uint32_t k = 0; k < count && k < BELOW; k++)
				if (host->share(host->search, below[k]) > host->threshold &&
				    region_propose(host, below[k]))
					level_add(state, below[k]);
		}
	free(old);
}

static void refine(const struct sonde_strategy_host *host, void *raw_state,
		   const struct sonde_strategy_finding *proven, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		host->propose_refinements(host->search, &proven[i]);
		host->propose_subregions(host->search, &proven[i]);
		host->propose_calls(host->search, &proven[i]);
		if (proven[i].what.data == SONDE_STRATEGY_NONE)
			host->propose_data(host->search, &proven[i]);
	}
	if (raw_state)
		level_descend(host, raw_state);
}

static void end(void *raw_state)
{
	struct state *state = raw_state;

	if (state)
		free(state->level);
	free(state);
}

SONDE_STRATEGY_EXPORT const struct sonde_strategy sonde_strategy = {
	SONDE_STRATEGY_ABI,
	"time",
	"the place first, down to where the time goes, then what costs it there",
	begin,
	first,
	refine,
	end
};
