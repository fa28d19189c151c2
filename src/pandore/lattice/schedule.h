/**
 * Time on the order: when each event would run if every process ran its events as soon as it could.
 *
 * An event begins when the events that it follows directly have ended; messages take no time. So
 * the last end is the critical path, Tinf, and the sum of all durations the work, T1 (Brent 1974;
 * the names are those of work-span analysis). T1 / Tinf is the parallelism that the dependencies
 * allow. Events that are not observed count, with their durations; an unknown duration counts as 0.
 */
#ifndef SN_LATTICE_SCHEDULE_H
#define SN_LATTICE_SCHEDULE_H

#include "pandore/lattice/execution.h"

enum { SN_SCHEDULE_NONE = UINT32_MAX };

struct sn_schedule {
	double work_s, critical_s;
	double wait_s;		/* processes idle before an event, together: for others' */
	double elapsed_s;	/* of the traced run, from the events' starts; NaN: not known */
	uint32_t unknown_count; /* events without a duration */
	uint32_t busy_process_count; /* processes with some time to spend */
	double *begin_s, *end_s;     /* by event number */
	uint32_t *cause; /* the event whose end let this one begin; SN_SCHEDULE_NONE: none */
	uint32_t *path; /* event numbers of a critical path, first to last; those with a duration */
	uint32_t path_count;
};

void sn_schedule_make(const struct sn_execution *execution, struct sn_schedule *out);
void sn_schedule_free(struct sn_schedule *schedule);

#endif
