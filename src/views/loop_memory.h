/** What a loop's recorded accesses to memory miss, and in which data: evidence on the page of one loop. */
#ifndef SN_VIEWS_LOOP_MEMORY_H
#define SN_VIEWS_LOOP_MEMORY_H

#include "base/json.h"
#include "caches/replay.h"
#include "views/view.h"

enum { SN_LOOP_OBJECTS = 3 };

/** The replay of the accesses that a run, or a further run of its program, recorded. */
struct sn_loop_replay {
	struct sn_replay *replay; /* NULL: there are none */
	bool is_own;		  /* else the caller's */
	uint32_t *number_of;	  /* by the loop's number in the run: that in the traced one */
};

/** One object that a loop uses. `stage` is of the last level of cache. */
struct sn_loop_object {
	const struct sn_replay_object *object;
	struct sn_sim_stage last;
};

struct sn_loop_memory {
	struct sn_sim_stage stages[SN_SIM_STAGES]; /* of all of its accesses */
	unsigned level_count;
	double seen_share;				/* NaN: unknown */
	struct sn_loop_object objects[SN_LOOP_OBJECTS]; /* with most misses of the last level */
	unsigned object_count;
};

/** Replays at most SN_REPLAY_ACCESSES_MOST accesses in caches of this machine, unless `input->replay` has a replay
 * already; it gets the new one, if the caller has a place there. Free with sn_loop_replay_free. */
void sn_loop_replay_new(const struct sn_view_input *input, struct sn_loop_replay *out);
void sn_loop_replay_free(struct sn_loop_replay *replay);

/** False: none of the loop's accesses was recorded. What is told borrows of the replay. */
bool sn_loop_memory_of(const struct sn_loop_replay *replay, uint32_t loop,
		       struct sn_loop_memory *out);
/** "misses ... of its accesses". */
void sn_loop_memory_add(const struct sn_loop_memory *memory, struct sn_text *out);
/** Its members, in an open object. */
void sn_loop_memory_write(const struct sn_loop_memory *memory, struct sn_json *json);

#endif
