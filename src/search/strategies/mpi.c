/*
 * Time in MPI from the program down to the calls, refined to the kind of wait; beside it the
 * program's own hot regions, which make the others wait.
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

/* The hot regions below a region, where ranks differ in what they do. */
static void work_propose(const struct sonde_strategy_host *host, uint32_t region, unsigned depth)
{
	uint32_t below[64], count;

	for (int calls = 0; calls < 2 && depth < 64; calls++) {
		count = (calls ? host->calls : host->subregions)(host->search, region, below, 64);
		for (uint32_t i = 0; i < count && i < 64; i++) {
			struct sonde_strategy_candidate candidate = {
				host->property(host->search, "HotRegion"), below[i],
				SONDE_STRATEGY_NONE
			};

			if (host->share(host->search, below[i]) > host->threshold &&
			    host->propose(host->search, &candidate))
				work_propose(host, below[i], depth + 1);
		}
	}
}

static void refine(const struct sonde_strategy_host *host, void *state,
		   const struct sonde_strategy_finding *proven, uint32_t count)
{
	uint32_t hot = host->property(host->search, "HotRegion");

	(void)state;
	for (uint32_t i = 0; i < count; i++) {
		if (proven[i].what.property == hot)
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
