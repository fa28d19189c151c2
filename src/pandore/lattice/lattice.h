/**
 * The lattice of executions: every instant that a distributed execution could have passed through,
 * and what could have been done next in each (Bareau, Maheo, Pazat, "Parallel program performance
 * debugging with the Pandore II environment", section 3).
 *
 * This is the header for users of the library. Collect events in memory (sn_execution_builder_add)
 * or read a trace (sn_execution_read), then ask:
 *
 *	struct sn_lattice_answer answer;
 *	struct sn_lattice_budget budget = { 0 };
 *
 *	sn_lattice_answer_make(execution, &budget, &answer);
 *	... answer.profile, answer.segments, answer.schedule ...
 *	sn_lattice_write_json(&answer, stdout);
 *	sn_lattice_answer_free(&answer);
 *
 *	execution.h   events, dependencies, clocks, projection
 *	reader.h      traces as JSON lines
 *	interval.h    exact counts between two cuts
 *	profile.h     exact counts of all, or windows
 *	schedule.h    durations, critical path
 *	segments.h    bottlenecks
 *	enumerate.h   visiting every cut
 *	online.h      the explicit lattice
 */
#ifndef SN_LATTICE_LATTICE_H
#define SN_LATTICE_LATTICE_H

#include <stdio.h>

#include "base/text.h"
#include "pandore/lattice/execution.h"
#include "pandore/lattice/profile.h"
#include "pandore/lattice/reader.h"
#include "pandore/lattice/schedule.h"
#include "pandore/lattice/segments.h"

/** A receive from any source that could have met another message. Events of the execution. */
struct sn_lattice_race {
	uint32_t receive, sent; /* where the message came, and its sending */
	uint32_t other;		/* a sending that it could have met: the first of its process */
};

/** What is known of a run besides its order; zero: nothing. */
struct sn_lattice_run {
	bool knows_receives; /* the three below are known */
	const struct sn_lattice_race *races;
	size_t race_count;
	uint64_t wildcard_count;       /* receives from any source */
	const double *measured_wait_s; /* by process; NULL: not known */
	const char *ended_early; /* who did not come to the end; NULL: all did, or not known */
	double cpu_wait_s;	 /* that threads could run and had no CPU; 0: none, or not known */
	uint32_t cpu_count;	 /* that the processes had together; 0: not known, or enough */
};

struct sn_lattice_answer {
	const struct sn_execution *execution; /* borrowed; must outlive the answer */
	const char *name;		      /* for titles; borrowed; may be NULL */
	const char *fault; /* not NULL: the execution is only what is left of a faulty trace, and
			    * this says why; borrowed */
	struct sn_lattice_run run; /* set by the caller; what it points to is borrowed */
	uint32_t depth;		   /* longest chain of observed events */
	struct sn_lattice_profile profile;
	struct sn_schedule schedule; /* zero if no event has a duration */
	struct sn_segments segments;
};

/** Computes all of it, within the budget. `name` and `fault` are left for the caller to set. */
void sn_lattice_answer_make(const struct sn_execution *execution,
			    const struct sn_lattice_budget *budget, struct sn_lattice_answer *out);
void sn_lattice_answer_free(struct sn_lattice_answer *answer);

/** Whether every total is known: the trace is whole and was counted whole. */
bool sn_lattice_answer_is_exact(const struct sn_lattice_answer *answer);

/** Events over the longest chain: how many a step has if each runs as soon as it can. NaN: none. */
double sn_lattice_answer_per_step(const struct sn_lattice_answer *answer);

/** What all processes were measured to wait. NaN: not known. */
double sn_lattice_answer_measured_wait_s(const struct sn_lattice_answer *answer);

/** Adds what is to be said of a run whose processes had too few CPUs, without an end; nothing if it had enough. */
void sn_lattice_add_crowding(const struct sn_lattice_answer *answer, struct sn_text *out);

/** One object of schema sonde.lattice/1. */
void sn_lattice_write_json(const struct sn_lattice_answer *answer, FILE *out);
/** Writes the answer for people. `segment_limit` bottlenecks at most; 0: all. */
void sn_lattice_write_text(const struct sn_lattice_answer *answer, unsigned segment_limit,
			   FILE *out);
/** A row a level: level, cuts, arcs, mean_out_degree. */
void sn_lattice_write_csv(const struct sn_lattice_answer *answer, FILE *out);

#endif
