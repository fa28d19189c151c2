/**
 * Bottleneck segments: where few processes can act, which events they must do, who waits for what.
 *
 * By cuts: a maximal range of levels whose mean out-degree is below half the number A of processes
 * that have events, or is 1 at most (A >= 2). Where not all cuts of a level were counted, the
 * number of processes that can act in any of its cuts stands in for the mean, which is never above
 * it.
 *
 * By time (if events have durations): a stretch of the schedule (schedule.h) in which on average
 * fewer than half of the processes that have work are busy, or 1.1 at most. Its levels are those
 * that the schedule passes through. It loses the process-seconds in which a process with work was
 * not busy. Two executions with one lattice and different durations differ here.
 */
#ifndef SN_LATTICE_SEGMENTS_H
#define SN_LATTICE_SEGMENTS_H

#include "base/vec.h"
#include "pandore/lattice/profile.h"
#include "pandore/lattice/schedule.h"

/** Entries of a segment's lists at most; how many there are in truth is counted beside them. */
enum { SN_SEGMENT_ENTRIES_MAX = 1000 };

struct sn_segment_enabled {
	uint32_t event; /* number in the execution's events */
	double seconds; /* by time: how long it runs in the segment; else NaN */
};

struct sn_segment_blocked {
	uint32_t event;	    /* the next of its process, which cannot begin */
	uint32_t waits_for; /* an event of another process that is still to come */
	double seconds;	    /* by time: how long the process idles in the segment; else NaN */
};

struct sn_segment {
	bool is_by_time;
	uint32_t level_first, level_last;
	double mean_out_degree; /* arcs / cuts of its levels; NaN: not all counted */
	/* processes that can act in some cut of one of its levels, at most */
	uint32_t processes_max;
	double t0_s, t1_s;  /* by time: in the schedule; else NaN */
	double mean_busy;   /* by time: processes busy on average; else NaN */
	double time_lost_s; /* process-seconds; NaN without durations */
	/* By cuts: every event that can happen next in some cut of these levels, and every wait
	 * that some cut of these levels has. By time: what runs and who idles in the schedule. */
	SN_VEC(struct sn_segment_enabled) enabled;
	SN_VEC(struct sn_segment_blocked) blocked;
	uint64_t enabled_count, blocked_count;
};

/** The segments. Without durations they are in the order of levels. With durations, those that lose
 * most time come first; then those that lose none, the narrowest first. */
struct sn_segments {
	SN_VEC(struct sn_segment) items;
};

/** `schedule` may be NULL: no durations. */
void sn_segments_make(const struct sn_execution *execution,
		      const struct sn_lattice_profile *profile, const struct sn_schedule *schedule,
		      struct sn_segments *out);
void sn_segments_free(struct sn_segments *segments);

#endif
