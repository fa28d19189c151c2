/**
 * The sources of evidence on a recorded run.
 */
#ifndef SN_SEARCH_EVIDENCE_SOURCES_H
#define SN_SEARCH_EVIDENCE_SOURCES_H

#include "search/evidence/recorded.h"
#include "wire/monitor.h"
#include "wire/trace.h"

/** What grows in a shorter run is its beginning. */
#define SN_GROWTH_LEAST_S 2.0

struct sn_source {
	const char *name;     /* as `needs` of a metric has it */
	const char *measures; /* one line each, for people */
	/* what a recorded run has to be: "a run that was recorded with --heap" */
	const char *needs;
	/* pairs of a metric and what that takes, ended by NULL, where it is something else; NULL: none */
	const char *const *needs_of;
	/* what executions of a phase take, where it is none of what follows from the rest; NULL: nothing */
	const char *needs_of_phase;
	/* metrics that a shorter run than SN_GROWTH_LEAST_S does not have; those that executions of a phase do not have; and those
	 * that further starts can give. NULL: none, none, all */
	const char *const *of_long_runs, *const *of_whole_runs, *const *of_starts;
	/* it tells nothing of a run that is filtered so */
	bool is_cut_by_time, is_cut_by_code;
	const char *costs;
	/* what a recording must be told to give it, as `sonde record` has it ("heap"); NULL: nothing */
	const char *option;
	/* what the trace is that it reads, enum sn_trace_kind; SN_TRACE_ACCOUNT: it reads none, or not of executions of a phase */
	unsigned trace;
	/* an agent switches it with this request, enum sn_monitor_source; 0: it is not switched */
	unsigned monitored;
	const char *const *gives; /* of the metrics that name it those it has; NULL: all */
	const char *const *times; /* of these those that are longer where the run is; NULL: none */
	/* of these those that are counts of what the program did, each without its level; NULL: none that are read beside a part of
	 * another run */
	const char *const *counts;
	/* of these those that take the place of what samples say, however far the two runs are apart: samples see but a part of
	 * them; NULL: none */
	const char *const *settles;
	/* its values are counts, which do not change with what it costs to count: see sn_source_cost_most */
	bool has_counts;
	/* it is asked for also where a property is proven without it: its values say how much of that is true */
	bool is_wanted;
	const char *wanted_with; /* where a value of this metric is above 1; NULL: everywhere */
	/* why no start can give its values here (sn_search.barren): "which ..."; of these metrics, NULL: of all */
	const char *none;
	const char *const *none_of;
	/** Adds its values to the run's tables. */
	void (*collect)(struct sn_recorded *recorded);
};

/** All of them, ended by NULL. */
extern const struct sn_source *const sn_sources[];
/** Bit i of the source sn_sources[i] that has this name and gives this metric; 0: there is none. */
uint32_t sn_source_bit(const char *name, const char *metric);
/** The bit of a source itself. */
uint32_t sn_source_own_bit(const struct sn_source *source);
/** Those with is_wanted, for these tables: bit i of sn_sources[i]. */
uint32_t sn_sources_wanted(const struct sn_tables *tables);
/** What a start of its own may take of the CPU time, for a search's budget. */
double sn_source_cost_most(const struct sn_source *source, double budget);
/** Why no start can give a metric of the source with this name: "which ..."; NULL: one can. */
const char *sn_source_none(const char *name, const char *metric);
/** How a search has come to its values. */
struct sn_evidence_case {
	enum { SN_OF_RECORD, SN_OF_STARTS, SN_OF_PHASE } of;
	bool has_agents;  /* with SN_OF_PHASE: one on each host */
	uint32_t offered; /* bit i: sn_sources[i] could be measured while it ran */
	bool is_cut_by_time, is_cut_by_code; /* filters */
	const struct sn_tables *tables;
};
/** Adds what the source of this name takes for a metric in this case, or why it does not tell it, as one clause that goes on
 *  from "which": "needs ...". */
void sn_source_requirement_add(struct sn_text *out, const char *name, const char *metric,
			       const struct sn_evidence_case *in);

#endif
