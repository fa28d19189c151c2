/** What the files of this folder share. */
#ifndef SN_SEARCH_SIMULATE_PARTS_H
#define SN_SEARCH_SIMULATE_PARTS_H

#include "search/engine/search.h"
#include "search/link/journal.h"
#include "search/link/link.h"
#include "search/link/outbox.h"
#include "search/link/uplink.h"
#include "search/simulate/places.h"
#include "search/simulate/result.h"
#include "search/simulate/scenario.h"
#include "search/simulate/simulate.h"

/** Times of the front, in ns. */
#define SN_FRONT_JOIN_NS 60000000000LL /* the phases begin without those that have not joined */
#define SN_FRONT_LOST_NS 30000000000LL /* a node agent that is silent for longer is lost */
#define SN_FRONT_END_NS	 5000000000LL  /* agents that do not end by then are killed */

/** What all processes of a simulation know; the front fills it before it starts them. */
struct sn_simulation {
	char *path; /* the folder */
	struct sn_scenario *scenario;
	struct sn_library *library;
	struct sn_search_options search;
	char *strategy, *start, *experiment; /* texts of `search` */
	uint32_t fanout;
	struct sn_places *places;
	uint8_t secret[SN_LINK_SECRET];
};

/** DIR/NAME; the caller frees. */
char *sn_simulation_file(const struct sn_simulation *simulation, const char *name);

/** The way up of an agent of a simulation. */
struct sn_uplink_above sn_simulation_above(struct sn_simulation *simulation, uint32_t agent);
bool sn_place_is_cut(void *place);

/** A node agent, until the search is over; the exit status of the process. */
int sn_node_run(struct sn_simulation *simulation, uint32_t host, uint32_t epoch);

/** Starts those agents that have no process, each with a guardian that starts it again; the rest of them is
 *  left out when `is_interrupted` says so. */
sn_status sn_agents_start(struct sn_simulation *simulation, bool (*is_interrupted)(void),
			  struct sn_error *err);
/** What the front does with signals is no child's of it. */
void sn_agent_signals(void);
/** Starts what makes the scenario's faults. */
sn_status sn_faults_start(struct sn_simulation *simulation, struct sn_error *err);
/** Ends all agents that are left, and waits until they are gone: for five seconds at most. */
void sn_agents_end(struct sn_simulation *simulation);
bool sn_agents_are_gone(struct sn_simulation *simulation);

/** The front: until all results are in the journal. */
struct sn_front;
sn_status sn_front_open(struct sn_simulation *simulation, struct sn_front **out,
			struct sn_error *err);
/** Opens the link and waits. `is_interrupted` is looked at in between. Says on standard error when agents have
 *  joined and begun, unless it is to be quiet. */
sn_status sn_front_run(struct sn_front *front, bool (*is_interrupted)(void), bool is_quiet,
		       struct sn_error *err);
/** Tells all agents that the search is over, and waits for them. */
void sn_front_end(struct sn_front *front);
/** The search of all hosts, as far as results are there. */
sn_status sn_front_search(struct sn_front *front, struct sn_search **out, struct sn_error *err);
void sn_front_free(struct sn_front *front);

#endif
