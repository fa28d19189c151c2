/**
 * What was active in every interval: functions by their own time (as the paper counts), functions
 * and loops by the time on their paths, and how often functions were entered.
 *
 * Rows are those of the vectors (every interval that is not idle).
 */
#ifndef SN_PHASES_ACTIVITY_H
#define SN_PHASES_ACTIVITY_H

#include "base/map.h"
#include "phases/vectors.h"

enum sn_calls_source {
	SN_CALLS_ESTIMATED, /* runs of successive observations: calls too short to be seen apart
			       count as one */
	SN_CALLS_EXACT,	    /* entry counts that the experiment brings along (gmon.out) */
};

struct sn_phase_activity {
	const struct sn_phase_paths *paths;
	struct sn_sparse self;	    /* by function: fraction of the row's time */
	struct sn_sparse inclusive; /* by entity: fraction of the row's time */
	struct sn_map calls;	    /* row << 32 | function -> calls begun in the row */
	struct sn_map iterations;   /* row << 32 | loop's entity -> iterations seen to begin */
	enum sn_calls_source calls_source;
	uint64_t *function_calls; /* by function, over the run */
	double *depths; /* by entity: mean number of entities above it on its paths, by time */
	double *shares; /* by entity: fraction of the run's time */
};

struct sn_phase_activity *sn_phase_activity_new(const struct sn_intervals *intervals,
						const struct sn_phase_vectors *vectors,
						const struct sn_phase_paths *paths);
void sn_phase_activity_free(struct sn_phase_activity *activity);

uint64_t sn_phase_calls(const struct sn_phase_activity *activity, size_t row, uint32_t function);

/** Counts of the present row, by entity. Observations come thread by thread in the order of time,
 * so the map is looked at once a row, not once a frame. */
struct sn_row_counts {
	struct sn_map *counts; /* row << 32 | entity -> count */
	uint64_t row;
	uint32_t *of; /* by entity */
	SN_VEC(uint32_t) touched;
};
void sn_row_counts_begin(struct sn_row_counts *c, struct sn_map *counts, size_t entities);
void sn_row_counts_add(struct sn_row_counts *c, uint64_t row, uint32_t entity);
void sn_row_counts_end(struct sn_row_counts *c);

/** "estimated from the samples" or "exact". */
const char *sn_calls_source_name(enum sn_calls_source source);

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
void sn_observations_find(const struct sn_profile *profile, const struct sn_phase_paths *paths,
			  struct sn_observations *out);

#endif
