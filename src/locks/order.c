/* Walks from thread to thread, by those that a thread made after a moment, and by who joined it. */
#include "locks/order.h"

#include <stdlib.h>

#include "base/alloc.h"

/* Two clocks tell when a thread was made and when its maker did something. pthread_create takes longer than this. */
enum { SLACK_NS = 3000 };

struct join {
	uint32_t of, by; /* threads of the experiment */
	int64_t ns;	 /* when the call returned */
};

struct sn_lock_order {
	const struct sn_experiment *e;
	uint32_t *first_thread; /* by process */
	uint32_t *makers;	/* by thread; SN_NONE: the first one of its process; or unknown: */
	bool *is_unknown;
	uint32_t *first_child, *next_child; /* by thread; SN_NONE: none */
	SN_VEC(struct join) joins;	    /* by thread that is joined, then time */
	/* of the walk: the earliest moment of each thread that is known to be later; INT64_MAX: none */
	int64_t *later_ns;
	SN_VEC(uint32_t) touched;
	SN_VEC(uint32_t) open;
};

static int joins_compare(const void *a, const void *b)
{
	const struct join *x = a, *y = b;

	if (x->of != y->of)
		return x->of < y->of ? -1 : 1;
	return (x->ns > y->ns) - (x->ns < y->ns);
}

/* What its maker did until then was before it. */
static int64_t made_ns(const struct sn_lock_order *order, uint32_t thread)
{
	const struct sn_thread *of = &order->e->threads.items[thread];

	return of->since_made_ns ? of->start_ns - of->since_made_ns + SLACK_NS : of->start_ns;
}

/* ---- what is known of threads ---- */

static void makers_find(struct sn_lock_order *order, const struct sn_lock_reader *reader)
{
	const struct sn_experiment *e = order->e;

	for (uint32_t t = (uint32_t)e->threads.count; t-- > 0;)
		order->first_thread[e->threads.items[t].process] = t;
	for (uint32_t t = 0; t < e->threads.count; t++)
		order->first_child[t] = SN_NONE;
	for (uint32_t t = 0; t < e->threads.count; t++) {
		const struct sn_thread *thread = &e->threads.items[t];
		uint32_t first = order->first_thread[thread->process], maker = SN_NONE;
		const uint64_t *told = sn_map_get(&reader->creators,
						  (uint64_t)thread->process << 32 | (t - first));

		if (thread->creator)
			maker = thread->creator - 1;
		else if (told && *told < t - first)
			maker = first + (uint32_t)*told;
		order->makers[t] = t == first || maker >= t ? SN_NONE : maker;
		order->is_unknown[t] = t != first && order->makers[t] == SN_NONE;
		if (order->makers[t] == SN_NONE)
			continue;
		order->next_child[t] = order->first_child[maker];
		order->first_child[maker] = t;
	}
}

static void joins_find(struct sn_lock_order *order, const struct sn_lock_reader *reader)
{
	const struct sn_lock_wait *waits = reader->locks->waits.items;

	for (size_t i = 0; i < reader->locks->waits.count; i++)
		if (waits[i].kind == SN_SYNC_JOIN && !waits[i].is_open && !waits[i].has_failed &&
		    waits[i].holder != SN_NONE && waits[i].thread != SN_NONE)
			sn_vec_push(&order->joins, (struct join){ .of = waits[i].holder,
								  .by = waits[i].thread,
								  .ns = waits[i].t1_ns });
	if (order->joins.count)
		qsort(order->joins.items, order->joins.count, sizeof(*order->joins.items),
		      joins_compare);
}

struct sn_lock_order *sn_lock_order_new(const struct sn_lock_reader *reader)
{
	struct sn_lock_order *order = sn_alloc_zeroed(1, sizeof(*order));
	size_t count;

	order->e = reader->program->experiment;
	count = order->e->threads.count + 1;
	order->first_thread =
		sn_alloc_zeroed(order->e->processes.count + 1, sizeof(*order->first_thread));
	order->makers = sn_alloc_zeroed(count, sizeof(*order->makers));
	order->is_unknown = sn_alloc_zeroed(count, sizeof(*order->is_unknown));
	order->first_child = sn_alloc_zeroed(count, sizeof(*order->first_child));
	order->next_child = sn_alloc_zeroed(count, sizeof(*order->next_child));
	order->later_ns = sn_alloc_zeroed(count, sizeof(*order->later_ns));
	for (size_t t = 0; t < count; t++) {
		order->next_child[t] = SN_NONE;
		order->later_ns[t] = INT64_MAX;
	}
	makers_find(order, reader);
	joins_find(order, reader);
	return order;
}

void sn_lock_order_free(struct sn_lock_order *order)
{
	if (!order)
		return;
	free(order->first_thread);
	free(order->makers);
	free(order->is_unknown);
	free(order->first_child);
	free(order->next_child);
	free(order->later_ns);
	sn_vec_free(&order->joins);
	sn_vec_free(&order->touched);
	sn_vec_free(&order->open);
	free(order);
}

/* ---- the walk ---- */

/* What the thread does from `ns` on is later. */
static void reach(struct sn_lock_order *order, uint32_t thread, int64_t ns)
{
	if (ns >= order->later_ns[thread])
		return;
	if (order->later_ns[thread] == INT64_MAX)
		sn_vec_push(&order->touched, thread);
	order->later_ns[thread] = ns;
	sn_vec_push(&order->open, thread);
}

static size_t first_join_of(const struct sn_lock_order *order, uint32_t thread)
{
	size_t low = 0, high = order->joins.count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (order->joins.items[middle].of < thread)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Whether what ended in `before` comes before what begins in `after`, whatever else happens. */
static bool is_before(struct sn_lock_order *order, const struct sn_lock_span *before,
		      const struct sn_lock_span *after)
{
	bool is_it = false;

	if (before->end_ns > after->begin_ns)
		return false;
	order->touched.count = order->open.count = 0;
	reach(order, before->thread, before->end_ns);
	while (order->open.count && !is_it) {
		uint32_t thread = order->open.items[--order->open.count];

		is_it = thread == after->thread && order->later_ns[thread] <= after->begin_ns;
		for (uint32_t t = order->first_child[thread]; t != SN_NONE;
		     t = order->next_child[t])
			if (made_ns(order, t) >= order->later_ns[thread])
				reach(order, t, INT64_MIN);
		for (size_t i = first_join_of(order, thread);
		     i < order->joins.count && order->joins.items[i].of == thread; i++)
			reach(order, order->joins.items[i].by, order->joins.items[i].ns);
	}
	for (size_t i = 0; i < order->touched.count; i++)
		order->later_ns[order->touched.items[i]] = INT64_MAX;
	return is_it;
}

bool sn_lock_can_overlap(struct sn_lock_order *order, const struct sn_lock_span *a,
			 const struct sn_lock_span *b)
{
	const struct sn_thread *x = &order->e->threads.items[a->thread];
	const struct sn_thread *y = &order->e->threads.items[b->thread];

	if ((order->is_unknown[a->thread] || order->is_unknown[b->thread]) &&
	    (x->end_ns < y->start_ns || y->end_ns < x->start_ns))
		return false;
	return !is_before(order, a, b) && !is_before(order, b, a);
}
