/**
 * What was active in every interval: functions by their own time (as the paper counts), functions
 * and loops by the time on their paths, and how often functions were entered.
 *
 * Rows are those of the vectors (every interval that is not idle).
 */
#ifndef SN_PHASES_ACTIVITY_H
#define SN_PHASES_ACTIVITY_H

#include "phases/beats.h"
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
	size_t *first_beat;	    /* row r: beats.items[first_beat[r]] up to [r + 1], by entity */
	SN_VEC(struct sn_entity_count) beats;
	enum sn_calls_source calls_source;
	const uint64_t *function_calls; /* by function, over the run; borrowed */
	double *depths; /* by entity: mean number of entities above it on its paths, by time */
	double *shares; /* by entity: fraction of the run's time */
};

/** `beats` must outlive the result; the intervals' length is a multiple of its grid. */
struct sn_phase_activity *sn_phase_activity_new(const struct sn_intervals *intervals,
						const struct sn_phase_vectors *vectors,
						const struct sn_phase_paths *paths,
						const struct sn_phase_beats *beats);
void sn_phase_activity_free(struct sn_phase_activity *activity);

/** Calls of a function, or iterations of a loop, that were seen to begin in a row. */
uint64_t sn_phase_beats_of(const struct sn_phase_activity *activity, size_t row, uint32_t entity);

/** "estimated from the samples" or "exact". */
const char *sn_calls_source_name(enum sn_calls_source source);

#endif
