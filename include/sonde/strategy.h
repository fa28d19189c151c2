/**
 * Search strategies for sonde: which performance properties to look at next, and where.
 *
 * A strategy is a shared object that exports one variable:
 *
 *	#include <sonde/strategy.h>
 *
 *	static void first(const struct sonde_strategy_host *host, void *state)
 *	{
 *		host->propose_roots(host->search, host->root);
 *	}
 *	static void refine(const struct sonde_strategy_host *host, void *state,
 *			   const struct sonde_strategy_finding *proven, uint32_t count)
 *	{
 *		for (uint32_t i = 0; i < count; i++)
 *			host->propose_refinements(host->search, &proven[i]);
 *	}
 *	SONDE_STRATEGY_EXPORT const struct sonde_strategy sonde_strategy = {
 *		SONDE_STRATEGY_ABI, "mine", "by the hierarchy of properties", NULL, first, refine, NULL
 *	};
 *
 *	cc -shared -fPIC -o mine.so mine.c;  sonde search --strategy ./mine.so ...
 *
 * sonde calls `first`, evaluates what it proposed, hands the new findings to `refine`, and so on
 * until a step proposes nothing new. What was proposed before is not evaluated again, so a strategy
 * may propose freely. Regions, properties and data are numbers that are valid during the search.
 * All functions are called from one thread. This header is all that a strategy needs.
 */
#ifndef SONDE_STRATEGY_H
#define SONDE_STRATEGY_H

#include <stdint.h>

#define SONDE_STRATEGY_ABI    1
#define SONDE_STRATEGY_NONE   0xffffffffu /* no such property, region or data */
#define SONDE_STRATEGY_EXPORT __attribute__((visibility("default")))

/** A property of a region (or of the whole program) and data (or all). */
struct sonde_strategy_candidate {
	uint32_t property, region, data;
};

/** A candidate that is proven and above the threshold. */
struct sonde_strategy_finding {
	struct sonde_strategy_candidate what;
	double severity, confidence; /* 0..1 */
	uint32_t step;		     /* from 1 */
};

/** What sonde offers a strategy. `search` is the first argument of every function. */
struct sonde_strategy_host {
	void *search;
	uint32_t abi;	/* of this header as sonde was built with it */
	uint32_t root;	/* the program, as a region */
	uint32_t start; /* the property of --start; SONDE_STRATEGY_NONE: not given */
	double threshold;

	/* The program. Lists write at most `room` numbers and return how many there are. */
	uint32_t (*subregions)(void *search, uint32_t region, uint32_t *out, uint32_t room);
	uint32_t (*calls)(void *search, uint32_t region, uint32_t *out, uint32_t room);
	uint32_t (*data)(void *search, uint32_t region, uint32_t *out, uint32_t room);
	double (*share)(void *search, uint32_t region); /* of all lanes' time spent in it */

	/* Properties. */
	uint32_t (*property)(void *search, const char *name);
	const char *(*property_name)(void *search, uint32_t property);
	uint32_t (*refinements)(void *search, uint32_t property, uint32_t *out, uint32_t room);

	/* Proposing. Each returns how many new candidates it made: none for what cannot be asked
	 * (a property of loops at a function) or was asked before. A property of data without data is asked of each data
	 * structure that the region touches: in the next step, if none is known yet. */
	uint32_t (*propose)(void *search, const struct sonde_strategy_candidate *candidate);

	/* Bricks: sets of candidates made from a finding. */
	/* properties that refine none, at a region */
	uint32_t (*propose_roots)(void *search, uint32_t region);
	/* more special properties at the finding's region */
	uint32_t (*propose_refinements)(void *search, const struct sonde_strategy_finding *finding);
	/* the same property for each data structure that the region touches */
	uint32_t (*propose_data)(void *search, const struct sonde_strategy_finding *finding);
	/* the same property in the regions directly inside */
	uint32_t (*propose_subregions)(void *search, const struct sonde_strategy_finding *finding);
	/* the same property in the functions that the region calls, each function once a search */
	uint32_t (*propose_calls)(void *search, const struct sonde_strategy_finding *finding);

	/* The CPU time spent in a region by the process that spends most there, of all its lanes' time: what one rank of many
	 * does has a small `share`. */
	double (*process_share)(void *search, uint32_t region);
};

struct sonde_strategy {
	uint32_t abi; /* SONDE_STRATEGY_ABI */
	const char *name, *title;
	/** A state of its own, given to all others; NULL: none. */
	void *(*begin)(const struct sonde_strategy_host *host);
	/** The initial candidates. */
	void (*first)(const struct sonde_strategy_host *host, void *state);
	/** Candidates made of what the last step proved. */
	void (*refine)(const struct sonde_strategy_host *host, void *state,
		       const struct sonde_strategy_finding *proven, uint32_t count);
	/** Frees the state; NULL: nothing to free. */
	void (*end)(void *state);
};

/* what the shared object exports */
extern SONDE_STRATEGY_EXPORT const struct sonde_strategy sonde_strategy;

#endif
