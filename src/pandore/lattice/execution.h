/**
 * A distributed execution: events of processes, partially ordered by "happened before".
 *
 * Events come in any order, each with its direct dependencies or with its vector clock. Building
 * the execution checks them: every event is there once, no dependency is on an absent event, there
 * is no cycle, and clocks agree with each other. Then it computes the clocks, and projects away the
 * events that are not observed: what they ordered stays ordered.
 *
 * The lattice needs only the order of the observed events, two tables of numbers (struct
 * sn_lattice_order). Labels, source lines and durations stand beside them.
 *
 * Notation, as in docs/method/lattice.md: process p has m_p observed events; c in 0..m_p says how
 * many of them have happened. A cut (c_0 .. c_{P-1}) is consistent iff no event in it needs one
 * outside.
 */
#ifndef SN_LATTICE_EXECUTION_H
#define SN_LATTICE_EXECUTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/intern.h"
#include "base/vec.h"

enum { SN_LATTICE_PROCESSES_MAX = 65536 };

/** Event `index` of `process`, both from 0. */
struct sn_lattice_ref {
	uint32_t process, index;
};

/** One event as it is given. Pointers are borrowed for the call only. */
struct sn_lattice_event {
	uint32_t process, index;
	bool is_observed;
	const char *label, *file; /* NULL: none */
	uint32_t line;		  /* of the source file; 0: unknown */
	/* a function and its line that most of the duration went into, if not the event's own */
	const char *work_label, *work_file; /* NULL: none */
	uint32_t work_line;
	double duration_s; /* NaN: unknown */
	double start_s;	   /* when it began in the run that was traced; NaN: unknown */
	uint32_t where;	   /* line of the input, for sentences about it; 0: none */
	const struct sn_lattice_ref
		*after; /* events that happened before; (process, index-1) is implied */
	size_t after_count;
	const uint32_t *clock; /* or NULL; own component = index + 1 */
	size_t clock_count;
};

/** An event of a built execution. */
struct sn_execution_event {
	uint32_t process, index;
	const char *label, *file; /* NULL: none; live as long as the execution */
	const char *work_label, *work_file;
	uint32_t line, work_line;
	bool is_observed;
	double duration_s, start_s; /* NaN: unknown */
};

/**
 * The order of the observed events. A row stands for (process p, c events of it done): row number
 * `base[p] + c`, with `stride` numbers (zero after the first P, so that rows are whole vectors).
 *
 * past:   past[row][q] = events of q in the past of event c of p, itself included; zeros for c = 0.
 * future: future[row][q] = how far q may go while p stays at c: events of q that do not need event
 *         c + 1 of p.
 * A cut is consistent iff past[row(p, c_p)][q] <= c_q for all p, q.
 */
struct sn_lattice_order {
	uint32_t process_count, stride, event_count;
	uint32_t *counts; /* m_p */
	uint32_t *base;
	uint32_t *past, *future;
};

static inline const uint32_t *sn_lattice_past(const struct sn_lattice_order *order,
					      uint32_t process, uint32_t done)
{
	return order->past + (size_t)(order->base[process] + done) * order->stride;
}

static inline const uint32_t *sn_lattice_future(const struct sn_lattice_order *order,
						uint32_t process, uint32_t done)
{
	return order->future + (size_t)(order->base[process] + done) * order->stride;
}

struct sn_execution {
	struct sn_interner names;
	struct sn_execution_event *events; /* by process, then index; the projected ones too */
	uint32_t *first;		   /* process p has events first[p] .. first[p+1]-1 */
	uint32_t event_count, process_count;
	struct sn_lattice_order all;	  /* every event */
	struct sn_lattice_order observed; /* shares all's tables if every event is observed */
	uint32_t *event_of; /* row base[p] + c of `observed` -> number of that event in `events` */
	uint32_t cpu_count; /* that the processes had together, as the trace says; 0: it does not */
	bool has_durations;
};

/** Collects events. Zero-initialised it is empty; `process_count` may be set first (0: as many as
 *  the events name). */
struct sn_execution_builder {
	uint32_t process_count, cpu_count;
	struct sn_interner names;
	SN_VEC(struct sn_execution_record) records;
	SN_VEC(struct sn_lattice_ref) deps;
	SN_VEC(uint32_t) clocks;
	uint32_t fault_count;
	struct sn_error fault; /* the one of the smallest input line */
	uint32_t fault_where;
};

/** Takes a copy of one event. What is wrong with it is kept as a fault; a faulty event is left out.
 */
void sn_execution_builder_add(struct sn_execution_builder *builder,
			      const struct sn_lattice_event *event);
/** Notes that input line `where` (0: none) could not be used. */
__attribute__((format(printf, 3, 4))) void
sn_execution_builder_fault(struct sn_execution_builder *builder, uint32_t where, const char *format,
			   ...);

/**
 * Builds the execution and empties the builder.
 *
 * SN_ERR_FORMAT if there were faults. `err` has the first one and the number of the others. `*out`
 * is then the part that is still true: the largest set of events that are there with all their past
 * (NULL if that is empty). SN_ERR_RANGE if the tables would take more than 8 GB; `*out` is NULL
 * then.
 */
sn_status sn_execution_build(struct sn_execution_builder *builder, struct sn_execution **out,
			     struct sn_error *err);
void sn_execution_builder_free(struct sn_execution_builder *builder);
void sn_execution_free(struct sn_execution *execution);

/** The event that is number `done` (from 1) of the observed ones of a process. */
static inline const struct sn_execution_event *
sn_execution_observed(const struct sn_execution *execution, uint32_t process, uint32_t done)
{
	return &execution->events[execution->event_of[execution->observed.base[process] + done]];
}

/** Events on which observed event `done` of `process` waits directly (of other processes, none of
 *  them implied by another), as (process, done) pairs. Returns their number; `out` has room for P.
 */
uint32_t sn_lattice_order_waits(const struct sn_lattice_order *order, uint32_t process,
				uint32_t done, struct sn_lattice_ref *out);

/** |past| of event `done` (>= 1) with itself: no cut with fewer events contains it. */
uint32_t sn_lattice_order_rank(const struct sn_lattice_order *order, uint32_t process,
			       uint32_t done);
/** The last level with a cut that does not contain event `done` (>= 1): n - |its future|. */
uint32_t sn_lattice_order_last_without(const struct sn_lattice_order *order, uint32_t process,
				       uint32_t done);

/** Builds the order of P processes from the rows of their clocks (tests, and traces that are
 * already checked): `past` as in struct sn_lattice_order, without the rows for c = 0, without
 * padding. Freed by sn_lattice_order_free. */
void sn_lattice_order_init(struct sn_lattice_order *order, uint32_t process_count,
			   const uint32_t *counts);
/** Fills `future` from `past`. O(n P). */
void sn_lattice_order_complete(struct sn_lattice_order *order);
void sn_lattice_order_free(struct sn_lattice_order *order);

#endif
