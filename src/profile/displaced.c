/* Finds what samples claim beyond the usual: batch sums of deviations from a running median. */
#include "profile/displaced.h"

#include <math.h>
#include <string.h>

enum { HALF = 32, WINDOW = 2 * HALF + 1 };

void sn_displaced_add(struct sn_displaced *displaced, double weight)
{
	sn_vec_push(&displaced->weights, weight);
}

static void insert(double *sorted, size_t *count, double value)
{
	size_t at = (*count)++;

	for (; at && sorted[at - 1] > value; at--)
		sorted[at] = sorted[at - 1];
	sorted[at] = value;
}

static void take_out(double *sorted, size_t *count, double value)
{
	size_t at = 0;

	while (sorted[at] != value)
		at++;
	memmove(sorted + at, sorted + at + 1, (--*count - at) * sizeof(*sorted));
}

/* The usual claim changes with the events' periods, so it is the median of the samples around. */
void sn_displaced_end_thread(struct sn_displaced *d)
{
	const double *w = d->weights.items;
	double sorted[WINDOW + 1], sums[SN_DISPLACED_BATCHES] = { 0 };
	size_t count = d->weights.count, inside = 0;

	for (size_t i = 0; i < HALF && i < count; i++)
		insert(sorted, &inside, w[i]);
	for (size_t i = 0; i < count; i++) {
		if (i + HALF < count)
			insert(sorted, &inside, w[i + HALF]);
		if (i > HALF)
			take_out(sorted, &inside, w[i - HALF - 1]);
		for (size_t k = 0; k < SN_DISPLACED_BATCHES; k++) {
			sums[k] += w[i] - sorted[inside / 2];
			if ((i + 1) % ((size_t)SN_DISPLACED_SHORTEST << k) == 0 || i + 1 == count) {
				d->squares[k] += sums[k] * sums[k];
				d->sums[k] += fabs(sums[k]);
				sums[k] = 0;
			}
		}
	}
	d->weights.count = 0;
}

void sn_displaced_free(struct sn_displaced *displaced)
{
	sn_vec_free(&displaced->weights);
}

double sn_displaced_factor(const struct sn_displaced *d, double correlation, double factor,
			   double sum, double effective_samples)
{
	double most = 0, r = fmin(fmax(correlation, 0), 1), mean = sum / effective_samples;

	if (!(sum > 0) || !(effective_samples > 0))
		return 0;
	for (size_t k = 0; k < SN_DISPLACED_BATCHES; k++)
		most = fmax(most, (d->squares[k] + d->sums[k] * mean) *
					  (1 - pow(r, (double)(SN_DISPLACED_SHORTEST << k))));
	return fmax(0, 1 - factor) * most * effective_samples / (sum * sum);
}
