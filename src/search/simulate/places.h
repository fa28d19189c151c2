/**
 * Where the agents of a simulation are: a page in the folder that all of its processes map. It stands for what a
 * site's launcher knows: who was started, where parents listen. It also tells agents when their link is cut.
 */
#ifndef SN_SEARCH_SIMULATE_PLACES_H
#define SN_SEARCH_SIMULATE_PLACES_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "search/link/link.h"
#include "wire/link.h"

struct sn_place {
	_Atomic int32_t guardian, pid; /* 0: not started */
	_Atomic uint32_t epoch;	       /* how often it was started */
	_Atomic int64_t cut_until_ns;  /* CLOCK_BOOTTIME */
	_Atomic uint32_t version;      /* of the address: odd while it is written */
	char address[SN_LINK_ADDRESS];
};

struct sn_places {
	uint64_t magic;
	uint32_t nodes, inners, fanout;
	_Atomic uint32_t is_over;
	_Atomic int64_t began_ns; /* CLOCK_BOOTTIME of the first phase; 0: not yet */
	struct sn_place places[]; /* the front, inner agents, node agents */
};

/** Inner agents that so many nodes need: at least one, then as many levels as the fan-out asks for. */
uint32_t sn_places_inners(uint32_t nodes, uint32_t fanout);
/** The agent above; SN_LINK_FRONT at last. */
uint32_t sn_places_parent(const struct sn_places *places, uint32_t agent);
/** The place of an agent; NULL: there is none. */
struct sn_place *sn_place_of(struct sn_places *places, uint32_t agent);
/** The agents in the order of their places. */
uint32_t sn_places_agent(const struct sn_places *places, uint32_t index);
uint32_t sn_places_count(const struct sn_places *places);
/** "inner 3" into `out`. */
const char *sn_agent_name(uint32_t agent, char out[32]);

void sn_place_address_set(struct sn_place *place, const char address[SN_LINK_ADDRESS]);
/** False: it has none. */
bool sn_place_address(struct sn_place *place, char out[SN_LINK_ADDRESS]);

/** Makes the page, or maps one that is there (`nodes` 0). */
sn_status sn_places_open(const char *path, uint32_t nodes, uint32_t fanout, struct sn_places **out,
			 struct sn_error *err);
void sn_places_close(struct sn_places *places);

/** Whether this is a process of ours: of this program and user. */
bool sn_process_is_ours(int32_t pid);

#endif
