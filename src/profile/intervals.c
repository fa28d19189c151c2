/* How evenly threads share each entity, and how sure each share is: spread and 95 % intervals
 * (uncertainty.h). */
#include "profile/profile_build.h"

#include <math.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "profile/uncertainty.h"

static struct sn_metrics *metrics_of(struct sn_profile *profile, enum sn_partition p)
{
	switch (p) {
	case BY_FUNCTION:
		return profile->functions;
	case BY_LOOP:
		return profile->loops;
	case BY_LINE:
		return profile->lines;
	case BY_MODULE:
		return profile->modules;
	case BY_CATEGORY:
	case PARTITIONS:
		break;
	}
	return profile->categories;
}

struct spread_sums {
	uint64_t *of_thread; /* by entity, of the thread in work */
	double *squares;
	SN_VEC(uint32_t) touched;
};

static void spread_flush(struct sn_metrics *metrics, struct spread_sums *sums, uint32_t thread)
{
	for (size_t i = 0; i < sums->touched.count; i++) {
		uint32_t entity = sums->touched.items[i];
		struct sn_spread *spread = &metrics[entity].spread;
		uint64_t ns = sums->of_thread[entity];

		spread->threads++;
		sums->squares[entity] += (double)ns * (double)ns;
		if (ns > spread->max_ns || spread->max_thread == SN_NONE) {
			spread->max_ns = ns;
			spread->max_thread = thread;
		}
		sums->of_thread[entity] = 0;
	}
	sums->touched.count = 0;
}

/* Deviation over mean from the sums of one entity over all `threads`, absent ones counting 0. */
static double spread_deviation(double sum, double squares, double threads)
{
	double mean = sum / threads, variance;

	if (threads < 2 || !(sum > 0))
		return NAN;
	variance = (squares - threads * mean * mean) / (threads - 1);
	return sqrt(fmax(variance, 0)) / mean;
}

void sn_profile_spread(struct sn_builder *b, enum sn_partition p, uint32_t threads)
{
	struct sn_metrics *metrics = metrics_of(b->profile, p);
	uint32_t size = b->partition_size[p], thread = SN_NONE;
	struct spread_sums sums = { sn_alloc_zeroed(size + 1, sizeof(uint64_t)),
				    sn_alloc_zeroed(size + 1, sizeof(double)),
				    { 0 } };

	for (uint32_t i = 0; i < size; i++)
		metrics[i].spread.max_thread = SN_NONE;
	for (size_t i = 0; i < b->profile->thread_times.count; i++) {
		const struct sn_thread_time *cell = &b->profile->thread_times.items[i];
		uint32_t entity = b->leaves[cell->stack].of[p];

		if (cell->thread != thread) {
			spread_flush(metrics, &sums, thread);
			thread = cell->thread;
		}
		if (entity == SN_NONE || !cell->cpu_ns)
			continue;
		if (!sums.of_thread[entity])
			sn_vec_push(&sums.touched, entity);
		sums.of_thread[entity] += cell->cpu_ns;
	}
	spread_flush(metrics, &sums, thread);
	for (uint32_t i = 0; i < size; i++)
		metrics[i].spread.deviation = spread_deviation((double)metrics[i].exclusive.cpu_ns,
							       sums.squares[i], threads);
	free(sums.of_thread);
	free(sums.squares);
	sn_vec_free(&sums.touched);
}

/* Time of threads that no sample met may lie in any function that their start routine calls. So
 * their own entity may have as much less, any other as much more. */
static void intervals_widen(struct sn_builder *b, enum sn_partition p)
{
	struct sn_metrics *metrics = metrics_of(b->profile, p);
	double total = (double)b->profile->total.cpu_ns;
	uint64_t *own_ns;

	if (!b->all_unplaced_ns || !(total > 0))
		return;
	own_ns = sn_alloc_zeroed(b->partition_size[p] + 1, sizeof(*own_ns));
	for (uint32_t s = 0; s < b->program->stack_count; s++)
		if (b->unplaced_ns[s] && b->leaves[s].of[p] != SN_NONE)
			own_ns[b->leaves[s].of[p]] += b->unplaced_ns[s];
	for (uint32_t i = 0; i < b->partition_size[p]; i++) {
		struct sn_interval *share = &metrics[i].exclusive_share;

		share->low = fmax(0, share->low - (double)own_ns[i] / total);
		share->high =
			fmin(1, share->high + (double)(b->all_unplaced_ns - own_ns[i]) / total);
	}
	free(own_ns);
}

/* Of sampling at instants, and of time that was claimed too late. */
static double factor_of(const struct sn_builder *b, double seen, double transitions,
			double observations)
{
	double pairs = (double)b->pairs;
	double factor = sn_sampling_factor(seen, transitions, pairs);

	return factor + sn_displaced_factor(&b->displaced,
					    sn_sampling_correlation(seen, transitions, pairs),
					    factor, (double)b->observed_ns, observations);
}

static uint64_t systems_count(const struct sn_builder *b)
{
	uint64_t count = 0;

	for (uint32_t s = 0; s <= b->program->stack_count; s++)
		count += b->system_stacks[s].samples;
	return count;
}

/* Observations of each kind, less as weights of one kind differ, too. */
static struct sn_kinds kinds_of_all(const struct sn_builder *b, uint64_t systems)
{
	const struct sn_weight *total = &b->profile->total;
	double user_ns = (double)(total->cpu_ns - total->system_ns),
	       system_ns = (double)total->system_ns;
	double users = (double)(total->samples - systems);
	double equal = (users > 0 ? user_ns * user_ns / users : 0) +
		       (systems ? system_ns * system_ns / (double)systems : 0);
	double part = b->sum_of_squares > 0 ? fmin(1, equal / b->sum_of_squares) : 0;

	return (struct sn_kinds){ .all = { user_ns, system_ns },
				  .observations = { part * users, part * (double)systems } };
}

void sn_profile_intervals(struct sn_builder *b, enum sn_partition p)
{
	struct sn_profile *profile = b->profile;
	struct sn_metrics *metrics = metrics_of(profile, p);
	double total = (double)profile->total.cpu_ns;
	struct sn_kinds kinds = kinds_of_all(b, systems_count(b));

	for (uint32_t i = 0; i < b->partition_size[p]; i++) {
		const struct sn_weight *own = &metrics[i].exclusive;
		double exclusive = (double)own->cpu_ns / total;
		double inclusive = (double)metrics[i].inclusive.cpu_ns / total;
		double seen = (double)own->samples / (double)profile->total.samples, observations;

		metrics[i].exclusive_share = metrics[i].inclusive_share =
			(struct sn_interval){ 0, total > 0 ? 1 : NAN };
		if (!(total > 0))
			continue;
		kinds.own[0] = (double)(own->cpu_ns - own->system_ns);
		kinds.own[1] = (double)own->system_ns;
		observations = sn_share_observations(&kinds);
		metrics[i].exclusive_share = sn_share_interval(
			exclusive, observations,
			factor_of(b, seen, (double)b->transitions[p][i], observations));
		metrics[i].inclusive_share =
			sn_share_interval(inclusive, profile->effective_samples, 1);
	}
	intervals_widen(b, p);
}
