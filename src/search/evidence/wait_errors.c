/* How sure the blocked time of each wait is: the clock, the account that cuts waits down, and lost events. */
#include "search/evidence/wait_errors.h"

#include <math.h>
#include <stdlib.h>

#include "base/alloc.h"

/* A call is timed from its entry to its return, and blocked from a little later to a little earlier: reads of a pipe, 2 ms
 * each, 20 to 36 us (a virtual machine of Zen 5, two CPUs for eight programs that want one). */
static const double edges_s = 25e-6;

/* All waits of a thread. */
struct all_waits {
	double blocked_s, count;
};

/* By process: the share of its events that was lost. */
static double *lost_shares(const struct sn_recorded *r)
{
	const struct sn_experiment *e = r->profile->experiment;
	double *kept = sn_alloc_zeroed(e->processes.count + 1, sizeof(*kept));

	for (size_t i = 0; i < e->waits.count; i++)
		kept[e->threads.items[e->waits.items[i].thread].process]++;
	for (size_t i = 0; i < r->cells.count; i++)
		kept[e->threads.items[r->cells.items[i].thread].process] +=
			(double)r->cells.items[i].samples;
	for (size_t p = 0; p < e->processes.count; p++) {
		double lost = 0;

		for (int k = 0; k < SN_LOSS_KINDS; k++)
			if (k != SN_LOSS_DAMAGED) /* bytes */
				lost += (double)e->processes.items[p].losses[k];
		kept[p] = lost > 0 ? lost / (lost + kept[p]) : 0;
	}
	return kept;
}

/* What is off in all waits by as much, or as long, is of a part of them at least that part: sqrt(part * all). */
static double error_s(uint64_t blocked_ns, uint64_t elapsed_ns, const struct all_waits *all,
		      double lost_share)
{
	double blocked_s = (double)blocked_ns / 1e9;
	double cut_s = elapsed_ns > blocked_ns ? (double)(elapsed_ns - blocked_ns) / 1e9 : 0;
	/* what was cut down lost its edges, too */
	double edges = cut_s > 0 ? edges_s : edges_s * sqrt(all->count);

	return sqrt(edges * edges + pow(cut_s * fmax(0, 1 - blocked_s / all->blocked_s), 2) +
		    lost_share * lost_share * blocked_s * all->blocked_s);
}

double *sn_wait_errors(const struct sn_recorded *r)
{
	const struct sn_experiment *e = r->profile->experiment;
	double *errors = sn_alloc_zeroed(e->waits.count + 1, sizeof(*errors));
	struct all_waits *all = sn_alloc_zeroed(e->threads.count + 1, sizeof(*all));
	double *lost = lost_shares(r);

	for (size_t i = 0; i < e->waits.count; i++) {
		uint64_t ns = sn_profile_wait_ns(r->profile, &e->waits.items[i]);

		all[e->waits.items[i].thread].blocked_s += (double)ns / 1e9;
		all[e->waits.items[i].thread].count += ns > 0;
	}
	for (size_t i = 0; i < e->waits.count; i++) {
		const struct sn_wait *wait = &e->waits.items[i];
		uint64_t ns = sn_profile_wait_ns(r->profile, wait);

		if (ns)
			errors[i] = error_s(ns, sn_profile_wait_elapsed_ns(r->profile, wait),
					    &all[wait->thread],
					    lost[e->threads.items[wait->thread].process]);
	}
	free(all);
	free(lost);
	return errors;
}
