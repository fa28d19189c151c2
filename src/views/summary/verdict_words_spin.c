/* How it is told that threads wait actively, and for what. */
#include <math.h>

#include "views/summary/verdict_parts.h"

static const double turns_least = 0.2; /* of OpenMP's spinning: the place is told */

static double percent_of_cpu(const struct sn_evidence *e, double seconds)
{
	return e->cpu_s > 0 ? fmin(100, 100 * seconds / e->cpu_s) : 0;
}

static bool spins_for_turns(const struct sn_evidence *e, double part)
{
	return e->turns_place && e->spin_openmp_s >= e->spin_lock_s &&
	       e->spin_turns_s >= part * e->spin_openmp_s;
}

void sn_verdict_spin_headline(const struct sn_evidence *e, const struct sn_cause *cause,
			      struct sn_text *out)
{
	sn_text_addf(out, "Spinning: %.1f %% of CPU time is threads waiting actively %s",
		     percent_of_cpu(e, cause->seconds),
		     e->spin_lock_s > e->spin_openmp_s ? "for locks or flags"
						       : "for others in OpenMP regions");
	if (e->spin_lock_s > e->spin_openmp_s)
		sn_verdict_add_in(out, &e->spin);
	else if (spins_for_turns(e, turns_least))
		sn_text_addf(out, ", %.1f %% for the %s in %s", percent_of_cpu(e, e->spin_turns_s),
			     e->turns_kind, e->turns_place);
}

void sn_verdict_spin_remedy(const struct sn_evidence *e, const struct sn_cause *cause,
			    struct sn_text *out)
{
	(void)cause;
	if (spins_for_turns(e, turns_least))
		sn_text_addf(
			out,
			"Do less in the %s in %s: a reduction, atomic updates, or a copy for each "
			"thread in place of turns (record --openmp measures it)",
			e->turns_kind, e->turns_place);
	if (spins_for_turns(e, 0.5)) /* balance is no remedy for most of it */
		return;
	sn_text_add(out, out->length ? ". " : "");
	sn_text_add(out, e->spin_lock_s > e->spin_openmp_s
				 ? "Hold locks for less; use a mutex or a condition, which sleep"
				 : "Spread the work evenly (schedule(dynamic)), less serial work "
				   "between regions; OMP_WAIT_POLICY=passive frees the CPUs");
}
