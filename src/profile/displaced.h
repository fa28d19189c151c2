/**
 * CPU time that samples claim too late, and what that adds to the variance of shares.
 *
 * A sample claims its event's mean period. What the kernel's clock says beyond that (signals that
 * were lost, interrupts) later samples claim as well, up to some hundred samples on
 * (docs/method/time.md). In a program that has gone on to another part meanwhile, that time stands
 * at the wrong part. docs/method/uncertainty.md derives the formula.
 */
#ifndef SN_PROFILE_DISPLACED_H
#define SN_PROFILE_DISPLACED_H

#include "base/vec.h"

/** Lengths of batches of samples: 64, 128, 256. */
enum { SN_DISPLACED_BATCHES = 3, SN_DISPLACED_SHORTEST = 64 };

/** Zeroed at first; the weights of one thread after the other. */
struct sn_displaced {
	/* by length: what the samples of a batch claim beyond the usual, squared and without its
	 * sign, over all batches */
	double squares[SN_DISPLACED_BATCHES], sums[SN_DISPLACED_BATCHES];
	SN_VEC(double) weights; /* of the thread in work */
};

/** The next sample of the thread in work. */
void sn_displaced_add(struct sn_displaced *displaced, double weight);
/** The thread's samples are complete. */
void sn_displaced_end_thread(struct sn_displaced *displaced);
void sn_displaced_free(struct sn_displaced *displaced);

/** To be added to the factor of sn_sampling_factor, for a part whose successive samples have this
 * correlation: `factor` is that one, `sum` the sum of weights, `effective_samples` their number. */
double sn_displaced_factor(const struct sn_displaced *displaced, double correlation, double factor,
			   double sum, double effective_samples);

#endif
