/*
 * The formulas of docs/method/uncertainty.md: how much a periodic sampler's variance is below that
 * of coin tosses.
 */
#include "profile/uncertainty.h"

#include <math.h>

/* The correlation is itself estimated: it counts only beyond this many of its standard errors.
 * Chosen by the simulation in tests/unit/profile/test_uncertainty.c, so that coverage stays within
 * 93 to 97 %. */
static const double caution = 1.2;

/* A program that alternates in step with the clock looks better measured than it is. So the
 * variance is never taken for less than this part of the binomial one. */
static const double smallest_factor = 0.02;

double sn_sampling_correlation(double share, double transitions, double pairs)
{
	double binomial = 2 * pairs * share * (1 - share);

	return binomial > 0 ? 1 - transitions / binomial : 0;
}

double sn_sampling_factor(double share, double transitions, double pairs)
{
	double binomial = 2 * pairs * share * (1 - share), r, x, margin;

	if (!(binomial > 0))
		return 1;
	r = sn_sampling_correlation(share, transitions, pairs);
	margin = caution * sqrt(fmax(1 - r * r, 0) / pairs);
	if (r + margin < 0) /* more even than chance */
		return fmax((1 + r + margin) / (1 - r - margin), smallest_factor);
	r -= margin;
	if (r <= 0)
		return 1;
	x = -log(r); /* of each of the two clocks: its period is twice the mean one */
	/* coth(x) - 1/x, the Langevin function; its series where the difference would cancel */
	return fmax(x < 1e-3 ? x / 3 : 1 / tanh(x) - 1 / x, smallest_factor);
}

double sn_effective_samples(double sum, double sum_of_squares)
{
	return sum_of_squares > 0 ? sum * sum / sum_of_squares : 0;
}

double sn_share_observations(const struct sn_kinds *kinds)
{
	const double *own = kinds->own, *all = kinds->all, *n = kinds->observations;
	double sum = all[0] + all[1], p = (own[0] + own[1]) / sum, s = all[1] / sum;
	double c = all[0] > 0 ? own[0] / all[0] : 0, d = all[1] > 0 ? own[1] / all[1] : 0;
	double variance = 0;

	if (!(sum > 0) || !(n[0] + n[1] > 0))
		return 0;
	if (n[1] > 0)
		variance += s * ((d - c) * (d - c) * s * (1 - s) + s * d * (1 - d)) / n[1];
	if (n[0] > 0)
		variance += (1 - s) * (1 - s) * c * (1 - c) / n[0];
	return variance > 0 ? p * (1 - p) / variance : n[0] + n[1];
}

struct sn_interval sn_share_interval(double share, double effective_samples, double factor)
{
	struct sn_interval interval;
	double count = effective_samples / factor, one;

	if (!(effective_samples > 0))
		return (struct sn_interval){ 0, 1 };
	interval = sn_wilson_interval(share * count, count);
	one = 1 / effective_samples;
	/* A share is known to no less than one sample, however still the program was. */
	interval.low = fmax(0, fmin(interval.low, share - one));
	interval.high = fmin(1, fmax(interval.high, share + one));
	return interval;
}
