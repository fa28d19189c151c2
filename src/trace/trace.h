/**
 * The pieces of an experiment's traces (wire/trace.h), of one kind, from files on disk and from live ones,
 * and how each process tells time. What the bytes of a piece mean is its kind's.
 */
#ifndef SN_TRACE_TRACE_H
#define SN_TRACE_TRACE_H

#include <math.h>

#include "base/error.h"
#include "base/file.h"
#include "base/vec.h"
#include "experiment/experiment.h"
#include "wire/trace.h"

struct sn_trace_item {
	const struct sn_trace_piece *piece;
	uint32_t bytes; /* as many are there */
	uint32_t process;
};

/** A reading of the time-stamp counter, and CLOCK_MONOTONIC at that moment. */
struct sn_trace_instant {
	uint64_t tsc;
	int64_t ns;
};

/** How a process tells time: ns of the experiment = base_ns + (tsc - base_tsc) * ns_per_tick. */
struct sn_trace_clock {
	uint64_t base_tsc;
	int64_t base_ns;
	double ns_per_tick;
};

struct sn_trace_pieces {
	const struct sn_experiment *experiment;
	SN_VEC(struct sn_trace_item) items; /* by the time of their begin */
	struct sn_trace_clock *clocks;	    /* by process */
	SN_VEC(struct sn_file_view) views;
	uint64_t *ticks; /* by process: what tracing took */
	uint64_t lost;	 /* events that were counted and not kept */
	uint64_t damaged;
	bool is_traced; /* a process wrote such a trace, or could not keep one event of it */
};

/** The last instant that the events of a piece tell; the piece's begin, if they tell none. */
typedef struct sn_trace_instant (*sn_trace_last)(const struct sn_trace_item *item);

/** Damage is counted, no error; SN_ERR_IO: a file cannot be read. The caller closes what was opened. */
sn_status sn_trace_pieces_open(struct sn_trace_pieces *pieces,
			       const struct sn_experiment *experiment, enum sn_trace_kind kind,
			       sn_trace_last last, struct sn_error *err);
void sn_trace_pieces_close(struct sn_trace_pieces *pieces);

/** Whether a process traced this kind, even if nothing happened. */
bool sn_trace_has(const struct sn_experiment *experiment, enum sn_trace_kind kind);

/** The path of a trace that cannot be read to its end, so that what it held is not known; NULL: none. The
 *  experiment owns it. */
const char *sn_trace_damaged(const struct sn_experiment *experiment);

/** Within 1e18 ns (30 years) of 0, whatever a damaged trace says. */
static inline double sn_trace_time_ns(const struct sn_trace_clock *clock, uint64_t tsc)
{
	double ns = (double)clock->base_ns +
		    (double)(int64_t)(tsc - clock->base_tsc) * clock->ns_per_tick;

	return fmax(fmin(ns, 1e18), -1e18);
}

/** What tracing took in the process, in ns; -1: the trace is damaged. */
int64_t sn_trace_overhead_ns(const struct sn_trace_pieces *pieces, uint32_t process);

/** Reads a number (sn_trace_put) and moves on. False: the bytes end before it does. */
static inline bool sn_trace_number(const uint8_t **next, const uint8_t *end, uint64_t *out)
{
	uint64_t value = 0;

	for (unsigned shift = 0; shift < 64 && *next < end; shift += 7) {
		uint8_t byte = *(*next)++;

		value |= (uint64_t)(byte & 127) << shift;
		if (byte < 128) {
			*out = value;
			return true;
		}
	}
	return false;
}

#endif
