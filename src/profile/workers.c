/* Places of threads in a rank, filled first come, first served; the largest of noisy times. */
#include "profile/workers.h"

#include <math.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/stats.h"

double sn_largest_of(const double *values, size_t count, double noise)
{
	double mean = sn_mean(values, count), deviation = sn_deviation(values, count),
	       largest = mean;
	double variance = deviation * deviation;

	for (size_t i = 0; i < count; i++)
		largest = fmax(largest, values[i]);
	return variance > noise ? mean + (largest - mean) * (1 - noise / variance) : mean;
}

struct life {
	uint32_t thread, process;
	int32_t rank;
	int64_t start_ns, end_ns;
};

static int lives_compare(const void *left, const void *right)
{
	const struct life *x = left, *y = right;

	if (x->rank != y->rank)
		return x->rank < y->rank ? -1 : 1;
	if (x->start_ns != y->start_ns)
		return x->start_ns < y->start_ns ? -1 : 1;
	return (x->thread > y->thread) - (x->thread < y->thread);
}

uint32_t sn_workers_assign(const struct sn_experiment *e, uint32_t *worker_of)
{
	struct life *lives = sn_alloc_zeroed(e->threads.count + 1, sizeof(*lives));
	SN_VEC(int64_t) free_from = { 0 }; /* by worker */
	uint32_t first = 0;

	for (uint32_t t = 0; t < e->threads.count; t++) {
		const struct sn_thread *thread = &e->threads.items[t];

		lives[t] =
			(struct life){ t, thread->process, e->processes.items[thread->process].rank,
				       thread->start_ns, thread->end_ns };
	}
	qsort(lives, e->threads.count, sizeof(*lives), lives_compare);
	for (size_t i = 0; i < e->threads.count; i++) {
		uint32_t worker;

		if (i && lives[i].rank != lives[i - 1].rank)
			first = (uint32_t)free_from.count;
		for (worker = first; worker < free_from.count; worker++)
			if (free_from.items[worker] <= lives[i].start_ns)
				break;
		if (worker == free_from.count)
			sn_vec_push(&free_from, 0);
		free_from.items[worker] = lives[i].end_ns;
		worker_of[lives[i].thread] = worker;
	}
	first = (uint32_t)free_from.count;
	sn_vec_free(&free_from);
	free(lives);
	return first;
}
