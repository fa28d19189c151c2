/* Sums of what was counted: histograms of reuse distances, frequent strides. */
#include <math.h>

#include "caches/simulate.h"

void sn_sim_stage_add(struct sn_sim_stage *to, const struct sn_sim_stage *from)
{
	to->accesses += from->accesses;
	to->writes += from->writes;
	to->read_misses += from->read_misses;
	to->write_misses += from->write_misses;
	to->open += from->open;
	to->accesses_at_start += from->accesses_at_start;
	to->open_at_start += from->open_at_start;
	to->lines += from->lines;
	to->used_bytes += from->used_bytes;
	for (int c = 0; c < SN_SIM_CAUSES; c++)
		to->misses[c] += from->misses[c];
	for (int b = 0; b < SN_SIM_REUSE_BUCKETS; b++)
		to->reuse[b] += from->reuse[b];
}

/* The least distance in a bucket (reuse_bucket in simulate.c): one each below 8, then four in each power of two. */
static double bucket_first(int bucket)
{
	return bucket < 8 ? bucket : ldexp(4 + (bucket - 8) % 4, (bucket - 8) / 4 + 1);
}

double sn_sim_stage_median(const struct sn_sim_stage *stage)
{
	double all = 0, before = 0;

	for (int b = 0; b < SN_SIM_REUSE_BUCKETS; b++)
		all += (double)stage->reuse[b];
	for (int b = 0; b < SN_SIM_REUSE_BUCKETS; b++) {
		double here = (double)stage->reuse[b], first = bucket_first(b);

		if (here > 0 && before + here >= all / 2)
			return first +
			       (bucket_first(b + 1) - first - 1) * ((all / 2 - before) / here);
		before += here;
	}
	return NAN;
}

void sn_sim_stride_add(struct sn_sim_stride *strides, int64_t bytes, uint64_t count)
{
	struct sn_sim_stride *least = strides;

	for (struct sn_sim_stride *stride = strides; stride < strides + SN_SIM_STRIDES; stride++) {
		if (stride->count && stride->bytes == bytes) {
			stride->count += count;
			return;
		}
		if (stride->count < least->count)
			least = stride;
	}
	/* the newcomer takes as much from each of those that are there as the least has */
	uint64_t taken = least->count < count ? least->count : count;

	for (struct sn_sim_stride *stride = strides; stride < strides + SN_SIM_STRIDES; stride++)
		stride->count -= taken;
	if (!least->count && count > taken)
		*least = (struct sn_sim_stride){ bytes, count - taken };
}
