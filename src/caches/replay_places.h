/** What lies at the addresses of a process, as objects of a replay. */
#ifndef SN_CACHES_REPLAY_PLACES_H
#define SN_CACHES_REPLAY_PLACES_H

#include "base/map.h"
#include "caches/replay.h"

/** All zero behind `process` to begin with. */
struct sn_replay_places {
	struct sn_replay *replay;
	const struct sn_profile *profile;
	uint32_t process;
	int64_t now_ns, until_ns; /* of the accesses that are asked about */
	struct sn_map object_of;  /* hash of a name -> object */
	struct sn_map memory_of;  /* page of no module -> object */
	struct sn_map name_of;	  /* stack of an allocation -> a text */
};

/** An sn_sim_object_at; `context` is a struct sn_replay_places. Adds to the replay's objects. */
uint32_t sn_replay_object_at(void *context, uint64_t address, uint64_t *first, uint64_t *last);
void sn_replay_places_free(struct sn_replay_places *places);

/** Sets replay->blocks to those that windows met, if the heap was traced. Without them blocks have no names. */
void sn_replay_blocks_find(struct sn_replay *replay, const struct sn_profile *profile);

#endif
