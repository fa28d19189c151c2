/**
 * Executions made by chance or by rule, for tests and benchmarks.
 */
#ifndef SN_TESTS_EXECUTIONS_H
#define SN_TESTS_EXECUTIONS_H

#include <math.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/stats.h"
#include "pandore/lattice/execution.h"

struct made_event {
	uint32_t process, index;
	struct sn_lattice_ref after[4];
	size_t after_count;
};

struct made {
	uint32_t process_count, event_count;
	struct made_event *events; /* in an order in which they can happen */
};

static inline struct made_event *made_next(struct made *made, uint32_t process, uint32_t index)
{
	struct made_event *event = &made->events[made->event_count++];

	*event = (struct made_event){ .process = process, .index = index };
	return event;
}

static inline void made_after(struct made_event *event, uint32_t process, uint32_t index)
{
	event->after[event->after_count++] = (struct sn_lattice_ref){ process, index };
}

/* Processes take turns by chance; with probability `message` an event also follows the newest event
 * of another process, chosen among all (ring 0) or the neighbours (ring 1). */
static inline struct made made_random(struct sn_random *random, uint32_t processes, uint32_t events,
				      double message, int ring)
{
	struct made made = { processes, 0, sn_alloc_zeroed(events, sizeof(struct made_event)) };
	uint32_t *next = sn_alloc_zeroed(processes, sizeof(uint32_t));

	for (uint32_t i = 0; i < events; i++) {
		uint32_t p = (uint32_t)sn_random_below(random, processes), q;
		struct made_event *event = made_next(&made, p, next[p]++);

		if (processes == 1 || sn_random_unit(random) >= message)
			continue;
		q = ring ? (p + (sn_random_below(random, 2) ? 1 : processes - 1)) % processes
			 : (p + 1 + (uint32_t)sn_random_below(random, processes - 1)) % processes;
		if (q != p && next[q])
			made_after(event, q, next[q] - 1);
	}
	free(next);
	return made;
}

/* Round by round; every event but the first `free_events` of each `free_events + 1` follows the
 * neighbours' events of the round before (a one-dimensional stencil). */
static inline struct made made_stencil(uint32_t processes, uint32_t rounds, uint32_t every)
{
	struct made made = {
		processes, 0, sn_alloc_zeroed((size_t)processes * rounds, sizeof(struct made_event))
	};

	for (uint32_t r = 0; r < rounds; r++)
		for (uint32_t p = 0; p < processes; p++) {
			struct made_event *event = made_next(&made, p, r);

			if (r == 0 || r % every)
				continue;
			if (p > 0)
				made_after(event, p - 1, r - 1);
			if (p + 1 < processes)
				made_after(event, p + 1, r - 1);
		}
	return made;
}

static inline struct sn_lattice_event made_given(const struct made_event *event)
{
	return (struct sn_lattice_event){
		.process = event->process,
		.index = event->index,
		.is_observed = true,
		.duration_s = NAN,
		.start_s = NAN,
		.after = event->after,
		.after_count = event->after_count,
	};
}

static inline struct sn_execution *made_execution(const struct made *made)
{
	struct sn_execution_builder builder = { .process_count = made->process_count };
	struct sn_execution *execution = NULL;
	struct sn_error err;

	for (uint32_t e = 0; e < made->event_count; e++) {
		struct sn_lattice_event event = made_given(&made->events[e]);

		sn_execution_builder_add(&builder, &event);
	}
	if (sn_execution_build(&builder, &execution, &err) != SN_OK)
		abort();
	return execution;
}

static inline void made_shuffle(struct made *made, struct sn_random *random)
{
	for (uint32_t i = made->event_count; i > 1; i--) {
		uint32_t j = (uint32_t)sn_random_below(random, i);
		struct made_event moved = made->events[j];

		made->events[j] = made->events[i - 1];
		made->events[i - 1] = moved;
	}
}

static inline void made_free(struct made *made)
{
	free(made->events);
	made->events = NULL;
}

#endif
