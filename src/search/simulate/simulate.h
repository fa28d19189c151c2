/**
 * A search whose hosts are simulated: real agents, the full protocol, and values from a file.
 *
 * The command is the front. Its folder holds all that another front needs to go on when this one dies.
 */
#ifndef SN_SEARCH_SIMULATE_SIMULATE_H
#define SN_SEARCH_SIMULATE_SIMULATE_H

#include "search/engine/search.h"
#include "search/link/inner.h"

struct sn_simulate_options {
	const char *scenario;		 /* its file */
	const char *output;		 /* the folder; NULL: the next free sonde.search.N */
	uint32_t fanout;		 /* children of an agent, at least 2 */
	struct sn_search_options search; /* strategy, start, threshold, steps */
	struct sn_library *library;	 /* taken */
	bool is_quiet;
};

struct sn_simulated {
	struct sn_simulation *simulation;
	struct sn_front *front;
	struct sn_search *search;
};

/** Runs a scenario to its end, or until a signal asks for the results so far. Free in any case. */
sn_status sn_simulate_run(const struct sn_simulate_options *options, struct sn_simulated *out,
			  struct sn_error *err);
/** Goes on in a folder whose front has died; of a simulation that has ended it gives the result again. */
sn_status sn_simulate_resume(const char *path, bool is_quiet, struct sn_simulated *out,
			     struct sn_error *err);
void sn_simulated_free(struct sn_simulated *simulated);

#endif
