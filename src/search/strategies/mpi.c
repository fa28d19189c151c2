/*
 * Time in MPI from the program down to the calls, refined to the kind of wait; beside it the
 * program's own hot regions, and those in which the rank that the others wait for works longer.
 */
#include "sonde/strategy.h"

#include <stddef.h>

static void first(const struct sonde_strategy_host *host, void *state)
{
	static const char *const names[] = { "MPIExcessive", "MPILoadImbalance", "HotRegion" };

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		struct sonde_strategy_candidate candidate = {
			host->property(host->search, names[i]), host->root, SONDE_STRATEGY_NONE
		};

		host->propose(host->search, &candidate);
	}
}

enum { DEPTH_MOST = 64, BELOW = 256 };

/* At a region: where the time goes, and where a late rank has more of it than the others. */
static uint32_t place_propose(const struct sonde_strategy_host *host, uint32_t region)
{
	static const char *const names[] = { "HotRegion", "LateRankRegion" };
	uint32_t made = 0;

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		struct sonde_strategy_candidate candidate = {
			host->property(host->search, names[i]), region, SONDE_STRATEGY_NONE
		};

		made += host->propose(host->search, &candidate);
	}
	return made;
}

/* The regions that take some rank's time: of many ranks a late one has little of all lanes'. */
static void work_propose(const struct sonde_strategy_host *host, uint32_t region, unsigned depth)
{
	uint32_t below[BELOW], count;

	for (int calls = 0; calls < 2 && depth < DEPTH_MOST; calls++) {
		count = (calls ? host->calls : host->subregions)(host->search, region, below,
								 BELOW);
		for (uint32_t i = 0; i < count && i < BELOW; i++)
			if (host->process_share(host->search, below[i]) > host->threshold &&
			    place_propose(host, below[i]))
				work_propose(host, below[i], depth + 1);
	}
}

static void refine(const struct sonde_strategy_host *host, void *state,
		   const struct sonde_strategy_finding *proven, uint32_t count)
{
	uint32_t hot = host->property(host->search, "HotRegion");
	uint32_t late = host->property(host->search, "LateRankRegion");

	(void)state;
	for (uint32_t i = 0; i < count; i++) {
		if (proven[i].what.property == hot || proven[i].what.property == late)
			continue;
		host->propose_refinements(host->search, &proven[i]);
		host->propose_subregions(host->search, &proven[i]);
		host->propose_calls(host->search, &proven[i]);
		work_propose(host, host->root, 0);
	}
}

SONDE_STRATEGY_EXPORT const struct sonde_strategy sonde_strategy = {
	SONDE_STRATEGY_ABI,
	"mpi",
	"waits in MPI by place and kind, then the work that makes ranks late",
	NULL,
	first,
	refine,
	NULL
};
