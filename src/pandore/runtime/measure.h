/* What measure.c collects and files.c writes. */
#ifndef PANDORE_MEASURE_H
#define PANDORE_MEASURE_H

#include "pandore/runtime/runtime.h"

enum pd_event_kind { PD_EVENT_POINT, PD_EVENT_SEND, PD_EVENT_RECEIVE };

struct pd_event {
	uint32_t kind, what; /* point or site */
	uint32_t peer, peer_event;
	uint64_t ticks; /* since the event before it, or the start of the phase */
	uint64_t end;	/* when it happened: ticks since the summary's first_tick */
};

struct pd_summary {
	uint64_t event_count, wait_count;
	double ns_per_tick;
	uint64_t first_tick, first_ns; /* one moment on both clocks */
	uint64_t host, cpus;	       /* a hash of its name; CPUs that the process may use */
};

struct pd_node_measure {
	struct pd_summary summary;
	struct pd_counter *counters;
	uint64_t *executions;
	struct pd_phase_times *phases;
	struct pd_zone_times *zones;
	struct pd_event *events;
	/* rows by event: its index, then for each node how many of its events the host's collection
	 * put before this one */
	uint32_t *waits;
};

/* What a process of a run has measured so far. */
struct pd_measured_head {
	struct pd_summary summary;
	int running; /* 1 + the phase that it is in; 0: none */
	uint64_t running_since;
};

struct pd_measured {
	struct pd_measured_head *head;
	struct pd_counter *counters;
	uint64_t *executions;
	struct pd_phase_times *phases;
	struct pd_zone_times *zones;
};

enum pd_measured_list { PD_MEASURED_EVENTS, PD_MEASURED_WAITS };

/* keep.c: memory for all that. Where a run has a keeper it outlives the process. */

/** The fixed part of a process's memory, zeroed if it is new. False: out of memory. */
bool pd_keep_open(int process, struct pd_measured *kept);
/** Memory for a list, larger than before (`old`, NULL at first). NULL: out of memory. */
void *pd_keep_grow(int process, enum pd_measured_list list, void *old, size_t old_bytes,
		   size_t bytes);

/* files.c: `is_late` by a keeper, which leaves alone what a later run has written meanwhile */
void pd_write_profile(const struct pd_node_measure *nodes, bool is_late);
void pd_write_trace(const struct pd_node_measure *nodes, bool is_late);

/**
 * SONDE_PANDORE_LIVE names a file to which the processes append each event of a traced program as
 * it happens, for 'sonde lattice --follow'. A line is one write, so lines of several processes do
 * not mix on a local file system.
 */
void pd_live_begin(void); /* the host, before the first phase: an empty trace */
/** `wait`: the row of waits of this event, or NULL. */
void pd_live_event(uint32_t index, const struct pd_event *event, const uint32_t *wait);
void pd_live_end(void); /* the host, after the last phase */

#endif
