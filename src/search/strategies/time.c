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
	unsigned char *is_seen; /* by region: it was in a level */
	uint32_t seen_count;
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

/* Whether a region comes for the first time. */
static int is_new(struct state *state, uint32_t region)
{
	unsigned char *grown;

	if (region >= state->seen_count) {
		grown = realloc(state->is_seen, region + 1);
		if (!grown)
			return 0;
		for (uint32_t i = state->seen_count; i <= region; i++)
			grown[i] = 0;
		state->is_seen = grown;
		state->seen_count = region + 1;
	}
	return !state->is_seen[region]++;
}

/* The regions one level below those of the last step, as far as they are above the threshold and
 * new. Returns how many candidates that made: none, where all of them were proposed before. */
static uint32_t level_descend(const struct sonde_strategy_host *host, struct state *state)
{
	uint32_t *old = state->level, old_count = state->count, below[BELOW], count, made = 0;

	state->level = NULL;
	state->count = 0;
	for (uint32_t i = 0; i < old_count; i++)
		for (int calls = 0; calls < 2; calls++) {
			count = (calls ? host->calls : host->subregions)(host->search, old[i],
									 below, BELOW);
			for (uint32_t k = 0; k < count && k < BELOW; k++)
				if (host->share(host->search, below[k]) > host->threshold &&
				    is_new(state, below[k])) {
					made += region_propose(host, below[k]);
					level_add(state, below[k]);
				}
		}
	free(old);
	return made;
}

static void refine(const struct sonde_strategy_host *host, void *raw_state,
		   const struct sonde_strategy_finding *proven, uint32_t count)
{
	struct state *state = raw_state;

	for (uint32_t i = 0; i < count; i++) {
		host->propose_refinements(host->search, &proven[i]);
		host->propose_subregions(host->search, &proven[i]);
		host->propose_calls(host->search, &proven[i]);
		if (proven[i].what.data == SONDE_STRATEGY_NONE)
			host->propose_data(host->search, &proven[i]);
	}
	while (state && !level_descend(host, state) && state->count)
		;
}

static void end(void *raw_state)
{
	struct state *state = raw_state;

	if (state) {
		free(state->level);
		free(state->is_seen);
	}
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
