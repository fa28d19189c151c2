/** What the files of this folder share. */
#ifndef SN_CRITICAL_PARTS_H
#define SN_CRITICAL_PARTS_H

#include "critical/critical.h"

/** A wait that another lane ended. */
struct sn_critical_wait {
	int64_t t0_ns; /* when it began; of one that ran out of time and began again, the first time */
	int64_t released_ns; /* when it ended; after t0_ns */
	uint32_t lane, by;
};

/** What a lane needed of another one was there already: the lane came later than the other one had done it, and
 *  would wait for it if it came sooner. */
struct sn_critical_bound {
	int64_t came_ns;
	int64_t given_ns; /* not after came_ns */
	uint32_t lane, by;
};

/** What the replay goes through, in the order of the recorded time. */
enum sn_critical_moment_kind {
	SN_CRITICAL_LANE_STARTS,
	SN_CRITICAL_WAIT_ENDS,
	SN_CRITICAL_MEETING_IS_FULL,
	SN_CRITICAL_BOUND_IS_GIVEN,
	SN_CRITICAL_BOUND_IS_USED,
};

struct sn_critical_moment {
	int64_t ns;
	enum sn_critical_moment_kind kind;
	uint32_t index; /* a lane, a wait, the first member of a meeting, a bound */
};

/** One who takes part in a barrier, or in an operation of MPI. */
struct sn_critical_member {
	uint32_t meeting, lane;
	int64_t came_ns;
	bool gives; /* others wait for it to come */
	bool takes; /* it waits for those who give */
};

struct sn_critical_lane {
	uint32_t process,
		thread; /* thread: of the experiment; of a rank its first; SN_NONE: none */
	int64_t start_ns, end_ns;
	uint32_t maker;			/* the lane that made it; SN_NONE: none that is known of */
	uint32_t first_call, last_call; /* last: the one after it */
	uint32_t first_wait, last_wait;
	bool is_open; /* its last call never returned */
};

struct sn_critical_graph {
	const struct sn_experiment *e;
	struct sn_site *sites; /* by stack */
	SN_VEC(struct sn_critical_lane) lanes;
	SN_VEC(struct sn_critical_wait) waits;	   /* by lane, then release */
	SN_VEC(struct sn_critical_member) members; /* by meeting */
	SN_VEC(struct sn_critical_bound) bounds;
	SN_VEC(struct sn_critical_moment) moments; /* by time */
	uint32_t root;	       /* the lane that the path ends in; SN_NONE: there is none */
	int64_t end_ns;	       /* of the root; what lies behind the end of the run is on no path */
	SN_VEC(uint32_t) ends; /* lanes one of which ends last: the root, or all ranks */
};

/** calls.c: lanes, calls and waits. */
void sn_critical_gather(struct sn_critical *critical, const struct sn_program *program,
			const struct sn_mpi *mpi, const struct sn_locks *locks);

/** replay.c: the first item of a thread, or of one behind it, in an array that is sorted by thread, whose number lies at
 * `thread_offset` in an item. */
size_t sn_critical_first_of(const void *items, size_t count, size_t item_bytes,
			    size_t thread_offset, uint32_t thread);

/** replay.c: the moments of all the rest. */
void sn_critical_moments_gather(struct sn_critical_graph *graph);

#endif
