/**
 * How sure a sampled share is: 95 % intervals for sampling by two periodic clocks.
 *
 * A periodic sampler is no coin: a program that stays long in each part is measured far better than
 * n coin tosses would. docs/method/uncertainty.md derives what is used here.
 *
 * `transitions` is the number of times that two successive samples of a thread disagree about the
 * entity. The lag-1 correlation is then r = 1 - transitions / (2 pairs p (1 - p)). For a process
 * that forgets exponentially, the variance of the share is that of the binomial times coth(x) -
 * 1/x, x = -ln(r). (With one clock, as where samples come from outside, x is half of that. The
 * interval is too wide then.)
 */
#ifndef SN_PROFILE_UNCERTAINTY_H
#define SN_PROFILE_UNCERTAINTY_H

#include "base/stats.h"

/** The lag-1 correlation r; 0 where nothing tells it. */
double sn_sampling_correlation(double share, double transitions, double pairs);

/** The variance of the sampled share over the binomial one, in (0, 1]. `pairs` is the number of
 * pairs of successive samples that were compared; 0 gives 1. */
double sn_sampling_factor(double share, double transitions, double pairs);

/** (sum of weights)^2 / sum of squares: what unequal weights leave of n observations. */
double sn_effective_samples(double sum, double sum_of_squares);

/** User time and system time: what an entity has of each, what there is of each, and observations of each. */
struct sn_kinds {
	double own[2], all[2], observations[2];
};

/** What a share of both kinds together is worth in observations, where those of the kinds weigh differently. With the part s
 * of the system, and the entity's shares c and d of user and system time, its variance is
 *     (d - c)^2 s (1 - s) / n + (1 - s)^2 c (1 - c) / n_user + s^2 d (1 - d) / n_system = p (1 - p) / (the result):
 * s itself is as sure as ticks of the weight of those in the kernel, of which there are n = n_system / s. 0 without any. */
double sn_share_observations(const struct sn_kinds *kinds);

/** The interval of a share observed with `effective_samples` observations, never narrower than one
 *  sample to either side, within [0, 1]. Unknown ({0, 1}) without observations. */
struct sn_interval sn_share_interval(double share, double effective_samples, double factor);

#endif
