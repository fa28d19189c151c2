/*
 * Places of threads in a rank, filled first come, first served; those that take turns; the largest of
 * noisy times.
 */
#include "profile/workers.h"

#include <math.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/stats.h"

/* The chance that a standard normal lies below. */
static double normal_below(double z)
{
	return 0.5 * erfc(-z * M_SQRT1_2);
}

/* How far a value is drawn to the mean at most, in deviations of its error. A mean of many says little of one
 * that stands out (the limited translation of Efron and Morris 1972). */
static const double FARTHEST = 1.5;

static double limited(double value, double most)
{
	return fmin(fmax(value, -most), most);
}

/* How far the largest of `count` normals with these means and the deviation `noise` lies above the largest
 * mean, on the average: the integral of 1 - P above that mean less that of P below it, P being the chance
 * that all lie below. By the midpoint rule; what lies farther out is below 1e-4 of the deviation. */
static double excess_of(const double *means, size_t count, double noise)
{
	static const int STEPS_BELOW = -16, STEPS_ABOVE = 24;
	static const double STEP = 0.25;
	double sum = 0, top = means[0];

	for (size_t i = 1; i < count; i++)
		top = fmax(top, means[i]);
	for (int step = STEPS_BELOW; step < STEPS_ABOVE; step++) {
		double at = (step + 0.5) * STEP, all = 1;

		for (size_t i = 0; i < count && all > 1e-6; i++)
			all *= normal_below(at + (top - means[i]) / noise);
		sum += step < 0 ? -all : 1 - all;
	}
	return sum * STEP * noise;
}

double sn_largest_of(const double *values, size_t count, double variance)
{
	double mean = sn_mean(values, count), deviation = sn_deviation(values, count),
	       spread = deviation * deviation, largest = mean, noise = sqrt(variance), drawn;
	double *means;

	for (size_t i = 0; i < count; i++)
		largest = fmax(largest, values[i]);
	if (!(variance > 0) || !(spread > 0))
		return largest;
	drawn = fmin(variance / spread, 1);
	means = sn_alloc_zeroed(count + 1, sizeof(*means));
	for (size_t i = 0; i < count; i++)
		means[i] = values[i] - limited(drawn * (values[i] - mean), FARTHEST * noise);
	largest = fmax(largest - excess_of(means, count, noise), mean);
	free(means);
	return largest;
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

static bool is_alive(const struct sn_experiment *e, const uint32_t *worker_of, uint32_t worker,
		     int64_t time_ns)
{
	for (size_t t = 0; t < e->threads.count; t++)
		if (worker_of[t] == worker && time_ns >= e->threads.items[t].start_ns &&
		    time_ns <= e->threads.items[t].end_ns)
			return true;
	return false;
}

/* What of the workers' CPU time lies outside the life of the busiest one. Of the rest one sample does
 * not count: it may tell of what was before. */
static double *alone_seconds(const struct sn_profile *profile, const uint32_t *worker_of,
			     size_t workers, uint32_t busiest)
{
	const struct sn_experiment *e = profile->experiment;
	double *alone_s = sn_alloc_zeroed(workers + 1, sizeof(*alone_s));
	double *longest_s = sn_alloc_zeroed(workers + 1, sizeof(*longest_s));

	for (size_t i = 0; i < e->samples.count; i++) {
		const struct sn_sample *sample = &e->samples.items[i];
		uint32_t worker = worker_of[sample->thread];
		double seconds = (double)sample->cpu_ns / 1e9;

		if (worker == busiest || !sn_profile_has_sample(profile, sample))
			continue;
		if (is_alive(e, worker_of, busiest, sample->time_ns))
			longest_s[worker] = fmax(longest_s[worker], seconds);
		else
			alone_s[worker] += seconds;
	}
	for (size_t w = 0; w < workers; w++)
		alone_s[w] += longest_s[w];
	free(longest_s);
	return alone_s;
}

size_t sn_workers_at_work(const struct sn_profile *profile, const uint32_t *worker_of,
			  size_t workers, const double *cpu_s, uint8_t *at_work)
{
	uint32_t busiest = 0;
	double *alone_s;
	size_t count = 0;

	for (uint32_t w = 0; w < workers; w++)
		if (cpu_s[w] > cpu_s[busiest])
			busiest = w;
	alone_s = alone_seconds(profile, worker_of, workers, busiest);
	for (size_t w = 0; w < workers; w++) {
		at_work[w] = cpu_s[w] - alone_s[w] > cpu_s[busiest] / 100;
		count += at_work[w];
	}
	free(alone_s);
	return count + idle_ranks_add(profile->experiment, worker_of, workers, at_work);
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

/* ---- taking turns ---- */

enum { BINS_MOST = 256, SAMPLES_A_BIN = 3 };
/* Of the CPU time of the lesser worker, while the other one ran: more of it is no turn. */
static const double AT_ONCE = 0.1;

/* CPU time of workers over the run, in as many bins as the samples of the busiest one fill. */
struct turns {
	uint32_t workers, bins;
	double *cpu_ns;	  /* worker x bins */
	double *total_ns; /* by worker */
	int32_t *rank;	  /* by worker */
	uint32_t *into;	  /* by worker: the one whose place it takes turns in */
};

static bool is_sampled(const struct sn_sample *sample)
{
	return !(sample->flags & SN_SAMPLE_REMAINDER) && sample->cpu_ns;
}

static uint32_t bins_of(const struct sn_experiment *e, uint32_t workers, const uint32_t *worker_of)
{
	size_t *counts = sn_alloc_zeroed(workers + 1, sizeof(*counts)), most = 0;

	for (size_t s = 0; s < e->samples.count; s++)
		if (is_sampled(&e->samples.items[s]))
			counts[worker_of[e->samples.items[s].thread]]++;
	for (uint32_t w = 0; w < workers; w++)
		most = counts[w] > most ? counts[w] : most;
	free(counts);
	most /= SAMPLES_A_BIN;
	return most < 1 ? 1 : most > BINS_MOST ? BINS_MOST : (uint32_t)most;
}

/* What the samples do not have, remainders of intervals, counts in no bin. */
static void turns_fill(struct turns *t, const struct sn_experiment *e, const uint32_t *worker_of)
{
	for (size_t s = 0; s < e->samples.count; s++) {
		const struct sn_sample *sample = &e->samples.items[s];
		uint32_t worker = worker_of[sample->thread];
		double at = e->elapsed_ns > 0 ? (double)sample->time_ns / (double)e->elapsed_ns : 0;
		uint32_t bin = at <= 0	 ? 0
			       : at >= 1 ? t->bins - 1
					 : (uint32_t)(at * (double)t->bins);

		t->total_ns[worker] += (double)sample->cpu_ns;
		if (is_sampled(sample))
			t->cpu_ns[(size_t)worker * t->bins + bin] += (double)sample->cpu_ns;
	}
}

static bool take_turns(const struct turns *t, uint32_t a, uint32_t b)
{
	const double *x = t->cpu_ns + (size_t)a * t->bins, *y = t->cpu_ns + (size_t)b * t->bins;
	double together = 0;

	for (uint32_t i = 0; i < t->bins; i++)
		together += fmin(x[i], y[i]);
	return together <= AT_ONCE * fmin(t->total_ns[a], t->total_ns[b]);
}

/* The two of workers [first, end) that take turns and are busiest together. */
static bool pair_find(const struct turns *t, uint32_t first, uint32_t end, uint32_t *left,
		      uint32_t *right)
{
	double most = -1;

	for (uint32_t a = first; a < end; a++)
		for (uint32_t b = a + 1; b < end; b++) {
			double sum = t->total_ns[a] + t->total_ns[b];

			if (t->into[a] != a || t->into[b] != b || sum <= most ||
			    !take_turns(t, a, b))
				continue;
			most = sum;
			*left = a;
			*right = b;
		}
	return most >= 0;
}

static void rank_share(struct turns *t, uint32_t first, uint32_t end, uint32_t most)
{
	uint32_t left = 0, right = 0;

	for (uint32_t count = end - first; count > most && pair_find(t, first, end, &left, &right);
	     count--) {
		for (uint32_t i = 0; i < t->bins; i++)
			t->cpu_ns[(size_t)left * t->bins + i] +=
				t->cpu_ns[(size_t)right * t->bins + i];
		t->total_ns[left] += t->total_ns[right];
		t->into[right] = left;
	}
}

/* Numbers without gaps, in the order of the old ones. */
static uint32_t renumber(struct turns *t, const struct sn_experiment *e, uint32_t *worker_of)
{
	uint32_t *number = sn_alloc_zeroed(t->workers + 1, sizeof(*number)), count = 0;

	for (uint32_t w = 0; w < t->workers; w++)
		if (t->into[w] == w)
			number[w] = count++;
	for (size_t i = 0; i < e->threads.count; i++) {
		uint32_t w = worker_of[i];

		while (t->into[w] != w)
			w = t->into[w];
		worker_of[i] = number[w];
	}
	free(number);
	return count;
}

uint32_t sn_workers_take_turns(const struct sn_experiment *e, uint32_t workers, uint32_t most,
			       uint32_t *worker_of)
{
	struct turns t = { .workers = workers, .bins = bins_of(e, workers, worker_of) };
	uint32_t left;

	t.cpu_ns = sn_alloc_zeroed((size_t)workers * t.bins + 1, sizeof(*t.cpu_ns));
	t.total_ns = sn_alloc_zeroed(workers + 1, sizeof(*t.total_ns));
	t.rank = sn_alloc_zeroed(workers + 1, sizeof(*t.rank));
	t.into = sn_alloc_zeroed(workers + 1, sizeof(*t.into));
	for (size_t i = 0; i < e->threads.count; i++)
		t.rank[worker_of[i]] = e->processes.items[e->threads.items[i].process].rank;
	for (uint32_t w = 0; w < workers; w++)
		t.into[w] = w;
	turns_fill(&t, e, worker_of);
	/* workers of a rank stand together */
	for (uint32_t first = 0, end; first < workers; first = end) {
		for (end = first; end < workers && t.rank[end] == t.rank[first]; end++)
			;
		rank_share(&t, first, end, most);
	}
	left = renumber(&t, e, worker_of);
	free(t.cpu_ns);
	free(t.total_ns);
	free(t.rank);
	free(t.into);
	return left;
}
