/**
 * Where calls and iterations of loops were seen to begin, by pieces of a time grid. Intervals of
 * every length are whole pieces, so this is done once for all of them.
 *
 * A call begins where a function is on a thread's path and was not at the observation before. Or an
 * import brought entry counts along. phases/pace.h says when an iteration begins. Threads that work
 * for regions of another thread are left out.
 */
#ifndef SN_PHASES_BEATS_H
#define SN_PHASES_BEATS_H

#include "phases/paths.h"
#include "profile/profile.h"

/** Observations of one thread in the order of time: samples, and waits as far as they are traced.
 * Observations that say nothing about the path are left out. So are threads that work in other
 * threads' parallel regions. */
struct sn_observation {
	int64_t time_ns;
	uint32_t thread, stack;
};
struct sn_observations {
	SN_VEC(struct sn_observation) items; /* by thread, then time */
};

/** Calls of a function, or iterations of a loop. */
struct sn_entity_count {
	uint32_t entity;
	uint64_t count;
};

/** From number * grid_ns on, for grid_ns, of one process. */
struct sn_beats_piece {
	uint32_t process, number;
	size_t first; /* counts.items[first] up to the next piece's first, by entity */
};

struct sn_phase_beats {
	unsigned owners; /* each frees */
	int64_t grid_ns;
	bool is_exact; /* calls are entry counts */
	struct sn_observations observations;
	size_t piece_count;
	SN_VEC(struct sn_beats_piece) pieces; /* by process, then number; one more at the end */
	SN_VEC(struct sn_entity_count) counts;
	uint64_t *function_calls; /* by function: over the run */
};

/** Profile and paths must outlive the result. */
struct sn_phase_beats *sn_phase_beats_new(const struct sn_profile *profile,
					  const struct sn_phase_paths *paths, int64_t grid_ns);
/** One more owner. */
struct sn_phase_beats *sn_phase_beats_share(struct sn_phase_beats *beats);
/** The last owner's frees them. */
void sn_phase_beats_free(struct sn_phase_beats *beats);

#endif
