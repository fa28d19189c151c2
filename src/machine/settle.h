/**
 * Figures that are measured again and again until they are stable: neighbours come and go in
 * seconds. They add to times; but where they add to the chain that is the clock, figures come out
 * too low. So the lowest is no better than the others: it is to be agreed upon. What does not
 * become stable keeps the figure of an older profile.
 */
#ifndef SN_MACHINE_SETTLE_H
#define SN_MACHINE_SETTLE_H

#include "machine/bandwidth.h"
#include "machine/core_profile.h"

enum { SN_SETTLE_ROUNDS_MAX = 8 };

/**
 * Cycles of one form, by round. A probe, a loop that uses the whole width of the core, is timed
 * beside it: where the probe takes longer than it can, somebody else is on the core (its other
 * thread), and what was measured does not count.
 */
struct sn_settling {
	double throughput_cycles[SN_SETTLE_ROUNDS_MAX];
	double latency_cycles[SN_SETTLE_ROUNDS_MAX]; /* NaN: none */
	double probe_cycles[SN_SETTLE_ROUNDS_MAX];
	unsigned rounds;
};

/** What the probe takes on a free core, by all that were timed; NaN: unknown. Sorts in place. */
double sn_best_probe_cycles(double *probes, size_t count);

/** One round more; beyond the last one it is passed over. */
void sn_settling_add(struct sn_settling *settling, double throughput_cycles, double latency_cycles,
		     double probe_cycles);
/** Do three or more figures of undisturbed rounds agree within 3 %, those of throughput and, if
 *  there are any, those of latency? The lowest of the most that agree is taken. `best_probe_cycles`
 *  is what the probe takes on a free core; NaN: unknown, all rounds count. */
bool sn_settling_is_stable(const struct sn_settling *settling, double best_probe_cycles,
			   struct sn_form_timing *out);

/** What became of the figures. */
struct sn_settled {
	size_t unstable, kept; /* not stable; of these: the older profile's stand */
};

/** For each unstable form the older profile's timing, if it has one: adds it to `out`. */
struct sn_settled sn_core_profile_keep(const sn_form *unstable, size_t count,
				       const struct sn_core_profile *older,
				       struct sn_core_profile *out);

/**
 * Of several measurements, SN_SETTLE_ROUNDS_MAX at most, the best figures on which two agree within
 * a tenth. Else a figure is unstable: the older profile's stands, or the middle one. `older` may be
 * NULL.
 */
struct sn_settled sn_memory_profile_settle(const struct sn_memory_profile *measured, size_t count,
					   const struct sn_memory_profile *older,
					   struct sn_memory_profile *out);

#endif
