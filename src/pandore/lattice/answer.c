/* Makes all parts of an answer in the order in which they need each other. */
#include "pandore/lattice/lattice.h"

#include <math.h>

void sn_lattice_answer_make(const struct sn_execution *execution,
			    const struct sn_lattice_budget *budget, struct sn_lattice_answer *out)
{
	*out = (struct sn_lattice_answer){ .execution = execution };
	if (execution->cpu_count < execution->process_count)
		out->run.cpu_count = execution->cpu_count;
	sn_lattice_profile_make(&execution->observed, budget, &out->profile);
	out->depth = sn_lattice_order_depth(&execution->observed, NULL);
	if (execution->has_durations)
		sn_schedule_make(execution, &out->schedule);
	sn_segments_make(execution, &out->profile, execution->has_durations ? &out->schedule : NULL,
			 &out->segments);
}

void sn_lattice_answer_free(struct sn_lattice_answer *answer)
{
	sn_lattice_profile_free(&answer->profile);
	sn_schedule_free(&answer->schedule);
	sn_segments_free(&answer->segments);
	*answer = (struct sn_lattice_answer){ 0 };
}

double sn_lattice_answer_measured_wait_s(const struct sn_lattice_answer *answer)
{
	const double *by_process = answer->run.measured_wait_s;
	double sum_s = 0;

	for (uint32_t p = 0; by_process && p < answer->execution->process_count; p++)
		sum_s += by_process[p];
	return by_process ? sum_s : NAN;
}

double sn_lattice_answer_per_step(const struct sn_lattice_answer *answer)
{
	return answer->depth ? (double)answer->profile.event_count / answer->depth : NAN;
}

bool sn_lattice_answer_is_exact(const struct sn_lattice_answer *answer)
{
	return answer->profile.is_exact && !answer->fault;
}
