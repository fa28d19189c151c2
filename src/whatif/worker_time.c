/* Sums samples by worker, slice and loop, and finds what elapsed time loses with them. */
#include "whatif/worker_time.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/map.h"
#include "base/stats.h"
#include "profile/turns.h"
#include "profile/workers.h"

static size_t slice_of(const struct sn_worker_time *c, int64_t time_ns)
{
	double at = ((double)time_ns / 1e9 - c->begin_s) / c->elapsed_s;
	double slice = floor(at * (double)c->slices);

	return slice <= 0 ? 0 : slice >= (double)c->slices ? c->slices - 1 : (size_t)slice;
}

static int slots_compare(const void *left, const void *right)
{
	const struct sn_map_slot *x = left, *y = right;

	return (x->key > y->key) - (x->key < y->key);
}

static void loops_sort(struct sn_worker_time *c, const struct sn_map *times)
{
	struct sn_map_slot *slots = sn_alloc_zeroed(times->count + 1, sizeof(*slots));
	size_t count = 0;

	for (size_t i = 0; i < times->capacity; i++)
		if (times->slots[i].used)
			slots[count++] = times->slots[i];
	qsort(slots, count, sizeof(*slots), slots_compare);
	for (size_t i = 0; i < count; i++)
		sn_vec_push(&c->loops,
			    ((struct sn_worker_loop_time){ (uint32_t)(slots[i].key >> 32),
							   slots[i].key & 0xffffffff,
							   (double)slots[i].value / 1e9 }));
	free(slots);
}

static void sample_add(const struct sn_profile *profile, struct sn_worker_time *c,
		       const uint32_t *worker_of, const struct sn_sample *sample,
		       const uint8_t *is_turn, struct sn_map *times)
{
	const struct sn_program *program = profile->program;
	uint32_t stack =
		sample->stack < program->stack_count ? sample->stack : program->stack_count;
	const struct sn_class *class = &program->classes[stack];
	const struct sn_weight *weight = &profile->stacks[stack];
	uint32_t loop = sn_program_leaf(program, stack)->loop;
	size_t cell = slice_of(c, sample->time_ns) * c->workers + worker_of[sample->thread];
	double seconds = (double)sample->cpu_ns / 1e9;

	if (class->is_spin || class->user == SN_CATEGORY_MPI || class->user == SN_CATEGORY_OPENMP) {
		c->runtime_s[cell] += seconds;
		if (class->user == SN_CATEGORY_OPENMP)
			c->openmp_s[cell] += seconds;
		if (is_turn && is_turn[stack])
			c->turns_s[cell] += seconds;
		return;
	}
	c->useful_s[cell] += seconds;
	if (loop != SN_NONE)
		*sn_map_put(times, (uint64_t)loop << 32 | cell, NULL) +=
			(uint64_t)((double)sample->cpu_ns *
				   (1 - sn_share(weight->system_ns, weight->cpu_ns)));
}

/* What of a slice the threads of each worker lived, less their CPU time: they waited or were blocked. */
static double *gaps_find(const struct sn_profile *profile, const struct sn_worker_time *c,
			 const uint32_t *worker_of)
{
	const struct sn_experiment *e = profile->experiment;
	double *gap_s = sn_alloc_zeroed(c->workers * c->slices + 1, sizeof(*gap_s));
	double length_s = c->elapsed_s / (double)c->slices;

	for (size_t t = 0; t < e->threads.count; t++)
		for (size_t s = 0; s < c->slices; s++) {
			double from_s = c->begin_s + length_s * (double)s;
			double start_s = fmax(from_s, sn_seconds(e->threads.items[t].start_ns));
			double end_s =
				fmin(from_s + length_s, (double)e->threads.items[t].end_ns / 1e9);

			gap_s[s * c->workers + worker_of[t]] += fmax(end_s - start_s, 0);
		}
	for (size_t i = 0; i < c->workers * c->slices; i++)
		gap_s[i] = fmax(gap_s[i] - c->useful_s[i] - c->runtime_s[i], 0);
	return gap_s;
}

/* By worker, of the whole run: waiting for a CPU, and of it at least what no wake-up explains: waits that
 * follow one are taken to be no longer than what the threads were blocked. */
static void waits_find(const struct sn_experiment *e, const uint32_t *worker_of, double *wait_s,
		       double *least_s)
{
	for (size_t t = 0; t < e->threads.count; t++) {
		const struct sn_time_account *account = &e->threads.items[t].account;

		if (account->wait_cpu_ns <= 0)
			continue;
		wait_s[worker_of[t]] += sn_seconds(account->wait_cpu_ns);
		least_s[worker_of[t]] +=
			fmax(sn_seconds(account->wait_cpu_ns - account->blocked_ns), 0);
	}
}

/* A thread that others keep from its CPU waits the longer the more it has to do. How long it waited is
 * known of the whole run: each slice has a part, as it has of the time without CPU. */
static void paces_find(const struct sn_profile *profile, struct sn_worker_time *c,
		       const uint32_t *worker_of)
{
	double *gap_s = gaps_find(profile, c, worker_of);
	double *wait_s = sn_alloc_zeroed(c->workers + 1, sizeof(*wait_s));
	double *least_s = sn_alloc_zeroed(c->workers + 1, sizeof(*least_s));
	double *gaps_s = sn_alloc_zeroed(c->workers + 1, sizeof(*gaps_s));

	c->pace = sn_alloc_zeroed(c->workers * c->slices + 1, sizeof(*c->pace));
	c->least_pace = sn_alloc_zeroed(c->workers * c->slices + 1, sizeof(*c->least_pace));
	waits_find(profile->experiment, worker_of, wait_s, least_s);
	for (size_t i = 0; i < c->workers * c->slices; i++)
		gaps_s[i % c->workers] += gap_s[i];
	for (size_t i = 0; i < c->workers * c->slices; i++) {
		size_t w = i % c->workers;
		double cpu_s = c->useful_s[i] + c->runtime_s[i];
		double part = gaps_s[w] > 0 ? gap_s[i] / fmax(gaps_s[w], wait_s[w]) : 0;

		c->pace[i] = cpu_s > 0 ? 1 + part * wait_s[w] / cpu_s : 1;
		c->least_pace[i] = cpu_s > 0 ? 1 + part * least_s[w] / cpu_s : 1;
	}
	free(gap_s);
	free(wait_s);
	free(least_s);
	free(gaps_s);
}

static void workers_compare(const struct sn_profile *profile, const uint32_t *worker_of,
			    struct sn_worker_time *c)
{
	double *cpu_s = sn_alloc_zeroed(c->workers + 1, sizeof(*cpu_s));

	for (size_t i = 0; i < c->workers * c->slices; i++)
		cpu_s[i % c->workers] += c->useful_s[i] + c->runtime_s[i];
	c->at_work = sn_alloc_zeroed(c->workers + 1, sizeof(*c->at_work));
	c->workers_at_work = sn_workers_at_work(profile, worker_of, c->workers, cpu_s, c->at_work);
	free(cpu_s);
}

void sn_worker_time_fill(struct sn_worker_time *c, const struct sn_profile *profile,
			 struct sn_structures *structures, double begin_s, double elapsed_s,
			 size_t slices)
{
	const struct sn_experiment *e = profile->experiment;
	uint32_t *worker_of = sn_alloc_zeroed(e->threads.count + 1, sizeof(*worker_of));
	uint8_t *is_turn = sn_turns_stacks(profile, structures);
	struct sn_map times = { 0 };

	memset(c, 0, sizeof(*c));
	c->begin_s = begin_s;
	c->elapsed_s = elapsed_s;
	c->workers = sn_workers_assign(e, worker_of);
	c->slices = slices;
	c->useful_s = sn_alloc_zeroed(c->workers * slices + 1, sizeof(double));
	c->runtime_s = sn_alloc_zeroed(c->workers * slices + 1, sizeof(double));
	c->openmp_s = sn_alloc_zeroed(c->workers * slices + 1, sizeof(double));
	c->turns_s = sn_alloc_zeroed(c->workers * slices + 1, sizeof(double));
	if (profile->total.samples)
		c->sample_s = (double)profile->total.cpu_ns / 1e9 / (double)profile->total.samples;
	for (size_t i = 0; i < e->samples.count; i++)
		if (sn_profile_has_sample(profile, &e->samples.items[i]))
			sample_add(profile, c, worker_of, &e->samples.items[i], is_turn, &times);
	loops_sort(c, &times);
	workers_compare(profile, worker_of, c);
	paces_find(profile, c, worker_of);
	sn_map_free(&times);
	free(is_turn);
	free(worker_of);
}

void sn_worker_time_free(struct sn_worker_time *c)
{
	free(c->useful_s);
	free(c->runtime_s);
	free(c->openmp_s);
	free(c->turns_s);
	free(c->pace);
	free(c->least_pace);
	free(c->at_work);
	sn_vec_free(&c->loops);
}

/* The most elapsed time that a slice's CPU times of the workers stand for. */
static double longest(const struct sn_worker_time *c, const double *pace, const double *cpu_s,
		      size_t slice)
{
	double most = 0;

	for (size_t i = slice * c->workers; i < (slice + 1) * c->workers; i++)
		most = fmax(most, cpu_s[i] * pace[i]);
	return most;
}

/* By cell, the useful time that is left; loops whose place in `order` lies behind `limit` stay as they are.
 * The caller frees. */
static double *left_find(const struct sn_worker_time *c, const double *spared, const size_t *order,
			 size_t limit)
{
	double *left = sn_alloc_zeroed(c->workers * c->slices + 1, sizeof(*left));

	memcpy(left, c->useful_s, c->workers * c->slices * sizeof(*left));
	for (size_t i = 0; i < c->loops.count; i++) {
		const struct sn_worker_loop_time *time = &c->loops.items[i];

		if (!order || order[time->loop] < limit)
			left[time->cell] -= time->seconds * spared[time->loop];
	}
	return left;
}

/* What is saved if each worker waits, beside its useful time, and the shorter the less all have to do. */
static double saved_with_waits(const struct sn_worker_time *c, const double *pace,
			       const double *waits_s, double *left)
{
	double *before = sn_alloc_zeroed(c->workers * c->slices + 1, sizeof(*before)), saved = 0;

	for (size_t s = 0; s < c->slices; s++) {
		double useful_s = 0, left_s = 0;

		for (size_t i = s * c->workers; i < (s + 1) * c->workers; i++) {
			useful_s += c->useful_s[i];
			left_s += left[i];
		}
		for (size_t i = s * c->workers; i < (s + 1) * c->workers; i++) {
			before[i] = c->useful_s[i] + waits_s[i];
			left[i] += useful_s > 0 ? waits_s[i] * left_s / useful_s : waits_s[i];
		}
		saved += longest(c, pace, before, s) - longest(c, pace, left, s);
	}
	free(before);
	return saved;
}

double sn_worker_time_saved(const struct sn_worker_time *c, const double *pace,
			    const double *spared, const size_t *order, size_t limit)
{
	double *left = left_find(c, spared, order, limit);
	double saved = saved_with_waits(c, pace, c->turns_s, left);

	free(left);
	return saved;
}

double sn_worker_time_saved_in_turns(const struct sn_worker_time *c, const double *pace,
				     const double *spared)
{
	double *left = left_find(c, spared, NULL, 0);
	double saved = saved_with_waits(c, pace, c->openmp_s, left);

	free(left);
	return saved;
}

/* Elapsed seconds of the workers at work in a slice that their useful CPU time stands for. */
static void slice_read(const struct sn_worker_time *c, const double *pace, size_t slice,
		       double *useful)
{
	size_t count = 0;

	for (size_t w = 0; w < c->workers; w++)
		if (c->at_work[w])
			useful[count++] =
				c->useful_s[slice * c->workers + w] * pace[slice * c->workers + w];
}

/* A sample in a slice stands for so much elapsed time, on the average. */
static double sample_seconds(const struct sn_worker_time *c, const double *pace, size_t slice)
{
	double cpu_s = 0, elapsed_s = 0;

	for (size_t i = slice * c->workers; i < (slice + 1) * c->workers; i++) {
		cpu_s += c->useful_s[i] + c->runtime_s[i];
		elapsed_s += (c->useful_s[i] + c->runtime_s[i]) * pace[i];
	}
	return cpu_s > 0 ? c->sample_s * elapsed_s / cpu_s : 0;
}

/* What perfect balance of useful time saves. */
double sn_worker_time_balance(const struct sn_worker_time *c, const double *pace)
{
	double *useful = sn_alloc_zeroed(c->workers + 1, sizeof(*useful)), saved = 0;

	for (size_t s = 0; s < c->slices; s++) {
		double mean;

		slice_read(c, pace, s, useful);
		mean = sn_mean(useful, c->workers_at_work);
		saved += fmax(0, sn_largest_of(useful, c->workers_at_work,
					       mean * sample_seconds(c, pace, s)) -
					 mean);
	}
	free(useful);
	return saved;
}

/* What no time in the runtimes saves: the worker that is longest at it, with them and without. */
double sn_worker_time_runtime(const struct sn_worker_time *c, const double *pace)
{
	double *all = sn_alloc_zeroed(c->workers * c->slices + 1, sizeof(*all)), saved = 0;

	for (size_t i = 0; i < c->workers * c->slices; i++)
		all[i] = c->useful_s[i] + c->runtime_s[i];
	for (size_t s = 0; s < c->slices; s++)
		saved += longest(c, pace, all, s) - longest(c, pace, c->useful_s, s);
	free(all);
	return saved;
}

double sn_worker_time_waiting(const struct sn_profile *profile)
{
	const struct sn_experiment *e = profile->experiment;
	double wait_s = 0, cpu_s = 0;

	for (size_t t = 0; t < e->threads.count; t++) {
		const struct sn_time_account *account = &e->threads.items[t].account;

		/* of one that soon went on as another program it is not known */
		if (!profile->is_at_work[t] || account->wait_cpu_ns < 0)
			continue;
		wait_s += sn_seconds(account->wait_cpu_ns);
		cpu_s += sn_seconds(account->user_ns) + sn_seconds(account->system_ns);
	}
	return wait_s / (wait_s + cpu_s);
}
