/**
 * Small statistics over arrays of doubles, and the two divisions that every figure goes through.
 * Empty input gives NaN.
 */
#ifndef SN_BASE_STATS_H
#define SN_BASE_STATS_H

#include <stddef.h>
#include <stdint.h>

/** Decimal seconds of nanoseconds; NaN for negative (unknown). */
double sn_seconds(int64_t ns);
/** part / whole, NaN without a whole. */
double sn_share(uint64_t part, uint64_t whole);
/** What measuring cost, by what would have been used without it; both in the same unit. No more than 1e6;
 *  NaN where nothing was used. */
double sn_overhead_share(double overhead, double used);

double sn_mean(const double *values, size_t count);
/** Standard deviation of a sample (n-1 in the denominator); 0 for a single value. */
double sn_deviation(const double *values, size_t count);
/** Linear interpolation between order statistics (Hyndman and Fan 1996, type 7). Sorts in place. */
double sn_quantile(double *values, size_t count, double q);
double sn_median(double *values, size_t count);
/** Median absolute deviation times 1.4826, the normal-consistent scale. Sorts in place. */
double sn_mad(double *values, size_t count);

struct sn_interval {
	double low, high;
};

/** 95 % score interval of a proportion hits/count (Wilson 1927); {0,1} for count 0. */
struct sn_interval sn_wilson_interval(double hits, double count);

/** Chance that Student's t with `df` degrees of freedom lies as far from 0 as `t`, on either side
 * (by the regularised incomplete beta function, continued fraction by Lentz's method). NaN for df
 * <= 0. */
double sn_student_p(double t, double df);
/** The t that is exceeded to either side with chance `p`, by bisection. */
double sn_student_t(double p, double df);

/** Amdahl's law (1967): the speed-up of the whole if `share` of its time runs `speedup` times as
 *  fast. */
double sn_amdahl(double share, double speedup);

/** xoshiro256** (Blackman and Vigna 2018), seeded by splitmix64. Not for secrets. */
struct sn_random {
	uint64_t state[4];
};

void sn_random_seed(struct sn_random *random, uint64_t seed);
/** 64 random bits. */
uint64_t sn_random_u64(struct sn_random *random);
/** Uniform in [0, 1). */
double sn_random_unit(struct sn_random *random);
/** Uniform in [0, bound), without modulo bias. */
uint64_t sn_random_below(struct sn_random *random, uint64_t bound);

#endif
