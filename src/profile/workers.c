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

/* Of each rank without a worker that has work the first one. */
static size_t idle_ranks_add(const struct sn_experiment *e, const uint32_t *worker_of,
			     size_t workers, uint8_t *at_work)
{
	int32_t *rank_of = sn_alloc_zeroed(workers + 1, sizeof(*rank_of));
	bool rank_works = false;
	size_t added = 0;

	for (size_t t = 0; t < e->threads.count; t++)
		rank_of[worker_of[t]] = e->processes.items[e->threads.items[t].process].rank;
	/* workers of a rank stand together */
	for (size_t w = 0, first = 0; w < workers; w++) {
		if (rank_of[w] != rank_of[first]) {
			first = w;
			rank_works = false;
		}
		rank_works = rank_works || at_work[w];
		if (rank_of[first] < 0 || rank_works ||
		    (w + 1 < workers && rank_of[w + 1] == rank_of[first]))
			continue;
		at_work[first] = 1;
		added++;
	}
	free(rank_of);
	return added;
}

size_t sn_workers_at_work(const struct sn_experiment *e, const uint32_t *worker_of, size_t workers,
			  const double *cpu_s, uint8_t *at_work)
{
	double most = 0;
	size_t count = 0;

	for (size_t w = 0; w < workers; w++)
		most = fmax(most, cpu_s[w]);
	for (size_t w = 0; w < workers; w++) {
		at_work[w] = cpu_s[w] > most / 100;
		count += at_work[w];
	}
	return count + idle_ranks_add(e, worker_of, workers, at_work);
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
