#include "base/stats.h"

#include <math.h>
#include <stdlib.h>

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
