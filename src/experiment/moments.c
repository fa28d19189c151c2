/* Moments of threads, found by halves. */
#include "experiment/moments.h"

/* Whether what is of `a` at `a_ns` comes before what is of `b` at `b_ns`. */
static bool is_before(uint32_t a, int64_t a_ns, uint32_t b, int64_t b_ns)
{
	return a < b || (a == b && a_ns < b_ns);
}

size_t sn_samples_from(const struct sn_experiment *e, uint32_t thread, int64_t ns)
{
	size_t low = 0, high = e->samples.count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const struct sn_sample *sample = &e->samples.items[middle];

		if (is_before(sample->thread, sample->time_ns, thread, ns))
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

size_t sn_waits_from(const struct sn_experiment *e, uint32_t thread, int64_t ns)
{
	size_t low = 0, high = e->waits.count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const struct sn_wait *wait = &e->waits.items[middle];

		if (is_before(wait->thread, wait->time_ns, thread, ns))
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

size_t sn_waits_ending_from(const struct sn_experiment *e, uint32_t thread, int64_t ns)
{
	size_t place = sn_waits_from(e, thread, ns);

	/* calls of a thread do not overlap: of those that began before, the last may end behind it */
	if (place > 0 && e->waits.items[place - 1].thread == thread &&
	    sn_wait_end_ns(&e->waits.items[place - 1]) > ns)
		place--;
	return place;
}
