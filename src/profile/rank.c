/* The order of loops that every table, page and command follows. */
#include "profile/rank.h"

#include <stdlib.h>

#include "base/alloc.h"

/* What the parts of a source loop (peel, main, tail) have together. */
struct loop_sum {
	uint64_t exclusive_ns, inclusive_ns; /* inclusive: of the part with most */
};

struct loop_order {
	const struct sn_profile *profile;
	const struct loop_sum *sums; /* by source loop */
};

static int times_compare(uint64_t exclusive_x, uint64_t exclusive_y, uint64_t inclusive_x,
			 uint64_t inclusive_y)
{
	if (exclusive_x != exclusive_y)
		return exclusive_x > exclusive_y ? -1 : 1;
	return inclusive_x != inclusive_y ? (inclusive_x > inclusive_y ? -1 : 1) : 0;
}

/* Source loops by what their parts took together, then the parts by what each took. */
static int loops_compare(const void *left, const void *right, void *context)
{
	const struct loop_order *order = context;
	uint32_t x = *(const uint32_t *)left, y = *(const uint32_t *)right;
	uint32_t sx = order->profile->program->loops.items[x].source_loop;
	uint32_t sy = order->profile->program->loops.items[y].source_loop;
	const struct sn_metrics *mx = &order->profile->loops[x], *my = &order->profile->loops[y];
	int result;

	if (sx != sy) {
		result = times_compare(order->sums[sx].exclusive_ns, order->sums[sy].exclusive_ns,
				       order->sums[sx].inclusive_ns, order->sums[sy].inclusive_ns);
		return result ? result : (sx > sy) - (sx < sy);
	}
	result = times_compare(mx->exclusive.cpu_ns, my->exclusive.cpu_ns, mx->inclusive.cpu_ns,
			       my->inclusive.cpu_ns);
	return result ? result : (x > y) - (x < y);
}

static void loop_sum_add(struct loop_sum *sum, const struct sn_metrics *m)
{
	sum->exclusive_ns += m->exclusive.cpu_ns;
	if (m->inclusive.cpu_ns > sum->inclusive_ns)
		sum->inclusive_ns = m->inclusive.cpu_ns;
}

uint32_t *sn_rank_loops(const struct sn_profile *profile, bool with_runtime_loops, size_t *count)
{
	const struct sn_program *program = profile->program;
	uint32_t *order = sn_alloc_zeroed(program->loops.count + 1, sizeof(*order));
	struct loop_sum *sums = sn_alloc_zeroed(program->source_loop_count + 1, sizeof(*sums));
	struct loop_order context = { profile, sums };

	*count = 0;
	for (uint32_t l = 0; l < program->loops.count; l++)
		if ((profile->loops[l].inclusive.cpu_ns || profile->loops[l].inclusive.samples ||
		     profile->loops[l].inclusive.waits) &&
		    (with_runtime_loops || !profile->is_runtime_loop[l])) {
			order[(*count)++] = l;
			loop_sum_add(&sums[program->loops.items[l].source_loop],
				     &profile->loops[l]);
		}
	qsort_r(order, *count, sizeof(*order), loops_compare, &context);
	free(sums);
	return order;
}
