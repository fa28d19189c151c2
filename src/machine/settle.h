/**
 * Figures that are measured again and again until they are stable, since other programs on the
 * machine come and go in seconds.
 *
 * Other programs add to times. But where they add to the chain that is the clock, figures come out
 * too low. So the lowest figure is no better than the others; several must agree. What does not
 * become stable keeps the figure of an older profile.
 */
#ifndef SN_MACHINE_SETTLE_H
#define SN_MACHINE_SETTLE_H

#include "machine/bandwidth.h"
#include "machine/core_profile.h"

enum { SN_SETTLE_ROUNDS_MAX = 8 };

/**
 * Cycles of one form, by round. A probe, a loop that uses the whole width of the core, is timed
 * beside it. Where the probe takes longer than it can, somebody else is on the core (its other
 * thread), and the round does not count.
 */
struct sn_settling {
	double throughput_cycles[SN_SETTLE_ROUNDS_MAX];
	double latency_cycles[SN_SETTLE_ROUNDS_MAX]; /* NaN: none */
	double probe_cycles[SN_SETTLE_ROUNDS_MAX];
	unsigned rounds;
};

/** The lowest of `count` values above which `needed` lie within the tolerance, itself included; NaN: no such.
 * Sorts in place. */
double sn_lowest_agreed(double *values, size_t count, size_t needed, double tolerance);

/** The cycles of the probe on a free core, by all that were timed; NaN: unknown. Sorts in place. */
double sn_best_probe_cycles(double *probes, size_t count);

/** Adds a round. Rounds beyond the last one are ignored. */
void sn_settling_add(struct sn_settling *settling, double throughput_cycles, double latency_cycles,
		     double probe_cycles);
/** Whether three or more figures of undisturbed rounds agree within 3 %: those of throughput and,
 * if there are any, those of latency. The lowest of the largest such group is taken.
 * `best_probe_cycles` is what the probe takes on a free core; NaN: unknown, all rounds count. */
bool sn_settling_is_stable(const struct sn_settling *settling, double best_probe_cycles,
			   struct sn_form_timing *out);

/** The numbers of figures that were unstable, and of those that an older profile had. */
struct sn_settled {
	size_t unstable, kept; /* not stable; of these: the older profile's stand */
};

/** Adds to `out` the older profile's timing of each unstable form, if it has one. */
struct sn_settled sn_core_profile_keep(const sn_form *unstable, size_t count,
				       const struct sn_core_profile *older,
				       struct sn_core_profile *out);

/**
 * Takes from several measurements (SN_SETTLE_ROUNDS_MAX at most) the best figures on which two
 * agree within a tenth. A figure on which none agree is unstable: the older profile's stands, or
 * the middle one. `older` may be NULL.
 */
struct sn_settled sn_memory_profile_settle(const struct sn_memory_profile *measured, size_t count,
					   const struct sn_memory_profile *older,
					   struct sn_memory_profile *out);

#endif
