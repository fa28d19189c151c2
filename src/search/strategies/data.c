/*
 * The strategy of Figure 3 of the Periscope paper: a property of a region is refined by the data
 * structures that the region touches, a step later by the regions inside, and when neither is left
 * by the functions that are called. A property of data is not refined.
 */
#include "sonde/strategy.h"

#include <stdlib.h>

struct set {
	struct sonde_strategy_finding *items;
	uint32_t count;
};

struct state {
	struct set subregions, calls; /* to be looked at when what comes before them is done */
};

static void set_add(struct set *set, const struct sonde_strategy_finding *finding)
{
	struct sonde_strategy_finding *grown =
		realloc(set->items, (set->count + 1) * sizeof(*set->items));

	if (!grown)
		return; /* this finding stays as it is */
	set->items = grown;
	set->items[set->count++] = *finding;
}

static void *begin(const struct sonde_strategy_host *host)
{
	(void)host;
	return calloc(1, sizeof(struct state));
}

static void first(const struct sonde_strategy_host *host, void *state)
{
	const struct sonde_strategy_candidate start = {
		host->start != SONDE_STRATEGY_NONE
			? host->start
			: host->property(host->search, "LC3MissesInThread"),
		host->root, SONDE_STRATEGY_NONE
	};

	(void)state;
	host->propose(host->search, &start);
}

static uint32_t set_propose(const struct sonde_strategy_host *host, struct set *set,
			    uint32_t (*propose)(void *, const struct sonde_strategy_finding *))
{
	uint32_t made = 0;

	for (uint32_t i = 0; i < set->count; i++)
		made += propose(host->search, &set->items[i]);
	set->count = 0;
	return made;
}

static void refine(const struct sonde_strategy_host *host, void *raw_state,
		   const struct sonde_strategy_finding *proven, uint32_t count)
{
	struct state *state = raw_state;
	uint32_t made = 0;

	if (!state)
		return;
	for (uint32_t i = 0; i < count; i++) {
		if (proven[i].what.data != SONDE_STRATEGY_NONE)
			continue;
		made += host->propose_data(host->search, &proven[i]);
		set_add(&state->subregions, &proven[i]);
		set_add(&state->calls, &proven[i]);
	}
	if (!made)
		made = set_propose(host, &state->subregions, host->propose_subregions);
	if (!made)
		set_propose(host, &state->calls, host->propose_calls);
}

static void end(void *raw_state)
{
	struct state *state = raw_state;

	if (!state)
		return;
	free(state->subregions.items);
	free(state->calls.items);
	free(state);
}

SONDE_STRATEGY_EXPORT const struct sonde_strategy sonde_strategy = {
	SONDE_STRATEGY_ABI,
	"data",
	"one property by data structures, then by the regions inside, then by calls",
	begin,
	first,
	refine,
	end
};
