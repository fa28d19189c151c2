/*
 * Statistics that more than one part of sonde needs: spread and rank statistics, the Wilson
 * interval of a share, Student's t by the incomplete beta function, and a random generator
 * (xoshiro256**, seeded by splitmix64) whose numbers are the same everywhere.
 */
#include "base/stats.h"

#include <math.h>
#include <stdlib.h>

double sn_seconds(int64_t ns)
{
	return ns < 0 ? NAN : (double)ns / 1e9;
}

double sn_overhead_share(double overhead, double used)
{
	if (!(used > 0))
		return NAN;
	return overhead < used ? fmin(overhead / (used - overhead), 1e6) : 1e6;
}

double sn_share(uint64_t part, uint64_t whole)
{
	return whole ? (double)part / (double)whole : NAN;
}

double sn_mean(const double *values, size_t count)
{
	double sum = 0;

	for (size_t i = 0; i < count; i++)
		sum += values[i];
	return count ? sum / (double)count : NAN;
}

double sn_deviation(const double *values, size_t count)
{
	double mean = sn_mean(values, count), sum = 0;

	if (count < 2)
		return count ? 0 : NAN;
	for (size_t i = 0; i < count; i++)
		sum += (values[i] - mean) * (values[i] - mean);
	return sqrt(sum / (double)(count - 1));
}

static int compare_doubles(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

double sn_quantile(double *values, size_t count, double q)
{
	double at = q * (double)(count - 1);
	size_t below = (size_t)at;

	if (!count)
		return NAN;
	qsort(values, count, sizeof(*values), compare_doubles);
	if (below + 1 >= count)
		return values[count - 1];
	return values[below] + (at - (double)below) * (values[below + 1] - values[below]);
}

double sn_median(double *values, size_t count)
{
	return sn_quantile(values, count, 0.5);
}

double sn_mad(double *values, size_t count)
{
	double median = sn_median(values, count);

	for (size_t i = 0; i < count; i++)
		values[i] = fabs(values[i] - median);
	return 1.4826 * sn_median(values, count);
}

struct sn_interval sn_wilson_interval(double hits, double count)
{
	const double z = 1.959963984540054;
	struct sn_interval interval = { 0, 1 };

	if (count > 0) {
		double share = hits / count, scale = 1 + z * z / count;
		double centre = (share + z * z / (2 * count)) / scale;
		double half =
			z * sqrt(share * (1 - share) / count + z * z / (4 * count * count)) / scale;

		interval.low = fmax(0, centre - half);
		interval.high = fmin(1, centre + half);
	}
	return interval;
}

/* The continued fraction of the incomplete beta function (Abramowitz and Stegun, 26.5.8). */
static double beta_fraction(double a, double b, double x)
{
	const double tiny = 1e-300;
	double c = 1, d = 1 - (a + b) * x / (a + 1), h;

	d = 1 / (fabs(d) < tiny ? tiny : d);
	h = d;
	for (int m = 1; m < 300; m++) {
		double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
		double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
		double change = 1;

		for (int half = 0; half < 2; half++) {
			double term = half ? odd : even;

			d = 1 + term * d;
			c = 1 + term / c;
			d = 1 / (fabs(d) < tiny ? tiny : d);
			c = fabs(c) < tiny ? tiny : c;
			change = c * d;
			h *= change;
		}
		if (fabs(change - 1) < 1e-14)
			break;
	}
	return h;
}

static double incomplete_beta(double a, double b, double x)
{
	double front;

	if (x <= 0 || x >= 1)
		return x <= 0 ? 0 : 1;
	front = exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log1p(-x));
	return x < (a + 1) / (a + b + 2) ? front * beta_fraction(a, b, x) / a
					 : 1 - front * beta_fraction(b, a, 1 - x) / b;
}

double sn_student_p(double t, double df)
{
	if (!(df > 0) || isnan(t))
		return NAN;
	return isinf(t) ? 0 : incomplete_beta(df / 2, 0.5, df / (df + t * t));
}

double sn_student_t(double p, double df)
{
	double low = 0, high = 1;

	while (high < 1e12 && sn_student_p(high, df) > p)
		high *= 2;
	for (int i = 0; i < 200; i++) {
		double middle = (low + high) / 2;

		if (sn_student_p(middle, df) > p)
			low = middle;
		else
			high = middle;
	}
	return (low + high) / 2;
}

void sn_random_seed(struct sn_random *random, uint64_t seed)
{
	for (int i = 0; i < 4; i++) {
		uint64_t z = (seed += 0x9e3779b97f4a7c15u);

		z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
		z = (z ^ z >> 27) * 0x94d049bb133111ebu;
		random->state[i] = z ^ z >> 31;
	}
}

static uint64_t rotate_left(uint64_t x, int by)
{
	return x << by | x >> (64 - by);
}

uint64_t sn_random_u64(struct sn_random *random)
{
	uint64_t *s = random->state, result = rotate_left(s[1] * 5, 7) * 9, t = s[1] << 17;

	s[2] ^= s[0];
	s[3] ^= s[1];
	s[1] ^= s[2];
	s[0] ^= s[3];
	s[2] ^= t;
	s[3] = rotate_left(s[3], 45);
	return result;
}

double sn_random_unit(struct sn_random *random)
{
	return (double)(sn_random_u64(random) >> 11) * 0x1p-53;
}

uint64_t sn_random_below(struct sn_random *random, uint64_t bound)
{
	uint64_t limit = UINT64_MAX - UINT64_MAX % bound, drawn;

	do
		drawn = sn_random_u64(random);
	while (drawn >= limit);
	return drawn % bound;
}

double sn_amdahl(double share, double speedup)
{
	return speedup > 0 ? 1 / (1 - share + share / speedup) : 1;
}
