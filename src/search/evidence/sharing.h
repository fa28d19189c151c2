/**
 * What an object's transfers between threads are worth: a replay lets windows that lie at one time run at one time, and stands
 * for instances that nobody recorded. In the run itself the threads may have taken turns, or have met more often.
 */
#ifndef SN_SEARCH_EVIDENCE_SHARING_H
#define SN_SEARCH_EVIDENCE_SHARING_H

#include "caches/replay.h"
#include "search/evidence/together.h"

/** By object of the replay. */
struct sn_sharing {
	bool is_shared;		  /* lines of it went from core to core in the replay */
	double factor;		  /* so many times as many do in the run */
	double error;		  /* half width of the factor's 95 % interval */
	struct sn_together times; /* of the threads, in the loops in which lines went */
};

/** By object; the caller frees. `times` is the run whose CPU times count. */
struct sn_sharing *sn_sharing_find(const struct sn_recorded *recorded,
				   const struct sn_recorded *times, const struct sn_replay *replay);

#endif
