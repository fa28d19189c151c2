/*
 * Keeps, for each process that is fixed, how far the others must and may go; so each further
 * choice is an interval and leads to a cut. The last two processes are done together, as most of
 * the cuts differ in them only.
 */
#include "pandore/lattice/enumerate.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

struct visiting {
	const struct sn_lattice_order *order;
	sn_lattice_visit visit;
	void *context;
	uint32_t *cut;
	/* Of depth k: how far each process must and may go after the first k are fixed; `stride`
	 * numbers each. */
	uint32_t *needs, *limits;
};

static void raise_needs(uint32_t *restrict to, const uint32_t *restrict from,
			const uint32_t *restrict past, uint32_t stride)
{
	for (uint32_t q = 0; q < stride; q++)
		to[q] = from[q] > past[q] ? from[q] : past[q];
}

static void lower_limits(uint32_t *restrict to, const uint32_t *restrict from,
			 const uint32_t *restrict future, uint32_t stride)
{
	for (uint32_t q = 0; q < stride; q++)
		to[q] = from[q] < future[q] ? from[q] : future[q];
}

/* Moves down to depth k + 1 with c events of process k. */
static void fix(struct visiting *v, uint32_t k, uint32_t c)
{
	uint32_t stride = v->order->stride;
	uint32_t *needs = v->needs + (size_t)k * stride, *limits = v->limits + (size_t)k * stride;

	v->cut[k] = c;
	raise_needs(needs + stride, needs, sn_lattice_past(v->order, k, c), stride);
	lower_limits(limits + stride, limits, sn_lattice_future(v->order, k, c), stride);
}

/* The last process but one: for each of its choices only the last one's interval is needed. */
static bool visit_last_two(struct visiting *v)
{
	const struct sn_lattice_order *order = v->order;
	uint32_t k = order->process_count - 2, l = k + 1;
	size_t at = (size_t)k * order->stride;
	const uint32_t *past = sn_lattice_past(order, k, 0) + l;
	const uint32_t *future = sn_lattice_future(order, k, 0) + l;
	uint32_t need = v->needs[at + l], limit = v->limits[at + l];

	for (uint32_t c = v->needs[at + k]; c <= v->limits[at + k]; c++) {
		uint32_t first = past[(size_t)c * order->stride];
		uint32_t last = future[(size_t)c * order->stride];

		v->cut[k] = c;
		if (!v->visit(v->context, v->cut, first > need ? first : need,
			      last < limit ? last : limit))
			return false;
	}
	return true;
}

static bool visit_all(struct visiting *v)
{
	uint32_t stride = v->order->stride, innermost = v->order->process_count - 2, k = 0;
	uint32_t *next = sn_alloc_zeroed(v->order->process_count, sizeof(uint32_t));
	bool goes_on = true;

	next[0] = v->needs[0];
	for (;;) {
		if (k == innermost) {
			goes_on = visit_last_two(v);
		} else if (next[k] <= v->limits[(size_t)k * stride + k]) {
			fix(v, k, next[k]++);
			k++;
			next[k] = v->needs[(size_t)k * stride + k];
			continue;
		}
		if (!goes_on || k == 0)
			break;
		k--;
	}
	free(next);
	return goes_on;
}

bool sn_lattice_enumerate(const struct sn_lattice_order *order, sn_lattice_visit visit,
			  void *context)
{
	struct visiting v = { .order = order, .visit = visit, .context = context };
	size_t numbers = (size_t)order->process_count * order->stride;
	bool all;

	if (order->process_count == 0)
		return true;
	v.cut = sn_alloc_zeroed(order->process_count, sizeof(uint32_t));
	if (order->process_count == 1) {
		all = visit(context, v.cut, 0, order->counts[0]);
		free(v.cut);
		return all;
	}
	v.needs = sn_alloc_zeroed(numbers, sizeof(uint32_t));
	v.limits = sn_alloc_zeroed(numbers, sizeof(uint32_t));
	memcpy(v.limits, order->counts, order->process_count * sizeof(uint32_t));
	all = visit_all(&v);
	free(v.cut);
	free(v.needs);
	free(v.limits);
	return all;
}

struct one_by_one {
	const struct sn_lattice_order *order;
	sn_lattice_visit_cut visit;
	void *context;
	uint32_t *cut;
};

static bool visit_one_by_one(void *context, const uint32_t *cut, uint32_t first, uint32_t last)
{
	struct one_by_one *o = context;
	uint32_t processes = o->order->process_count, level = 0;

	memcpy(o->cut, cut, processes * sizeof(uint32_t));
	for (uint32_t p = 0; p + 1 < processes; p++)
		level += cut[p];
	for (uint32_t c = first; c <= last; c++) {
		o->cut[processes - 1] = c;
		if (!o->visit(o->context, o->cut, level + c))
			return false;
	}
	return true;
}

bool sn_lattice_enumerate_cuts(const struct sn_lattice_order *order, sn_lattice_visit_cut visit,
			       void *context)
{
	struct one_by_one o = { order, visit, context,
				sn_alloc_zeroed(order->process_count, sizeof(uint32_t)) };
	bool all = sn_lattice_enumerate(order, visit_one_by_one, &o);

	free(o.cut);
	return all;
}

uint32_t sn_lattice_out_degree(const struct sn_lattice_order *order, const uint32_t *cut)
{
	uint32_t degree = 0;

	for (uint32_t p = 0; p < order->process_count; p++) {
		const uint32_t *past;
		uint32_t q = 0;

		if (cut[p] == order->counts[p])
			continue;
		past = sn_lattice_past(order, p, cut[p] + 1);
		while (q < order->process_count && (q == p || past[q] <= cut[q]))
			q++;
		degree += q == order->process_count;
	}
	return degree;
}
