/**
 * Which part of a trace is replayed, where all of it would take too long.
 */
#ifndef SN_CACHES_REPLAY_PART_H
#define SN_CACHES_REPLAY_PART_H

#include "base/arena.h"
#include "profile/profile.h"

/** The loop of the program that a window is of; SN_NONE: unknown. */
uint32_t sn_replay_window_loop(const struct sn_profile *profile,
			       const struct sn_access_window *window);

/** For each window of the experiment what is replayed of it (NULL: nothing): all of the windows of threads that pass the
 *  profile's filter, or of each loop its part of `accesses_most` (0: any number). A loop's part is a time: all threads are
 *  replayed from its begin to its end, so that those which work side by side meet there. The caller frees the array;
 *  windows that are cut live in the arena. */
const struct sn_access_window **sn_replay_part_find(struct sn_arena *arena,
						    const struct sn_profile *profile,
						    uint64_t accesses_most);

#endif
