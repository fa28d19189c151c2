/*
 * The two tables of an order: what each event needs of the others, and (computed from it) which
 * events need it.
 */
#include <stdlib.h>

#include "base/alloc.h"
#include "pandore/lattice/execution.h"

/* Rows are whole vectors of four: loops over `stride` need no tail. */
enum { LANES = 4 };

void sn_lattice_order_init(struct sn_lattice_order *order, uint32_t process_count,
			   const uint32_t *counts)
{
	uint32_t rows = 0;

	*order = (struct sn_lattice_order){
		.process_count = process_count,
		.stride = (process_count + LANES - 1) / LANES * LANES,
		.counts = sn_alloc_zeroed(process_count, sizeof(uint32_t)),
		.base = sn_alloc_zeroed(process_count + 1, sizeof(uint32_t)),
	};
	for (uint32_t p = 0; p < process_count; p++) {
		order->counts[p] = counts[p];
		order->base[p] = rows;
		order->event_count += counts[p];
		rows += counts[p] + 1;
	}
	order->base[process_count] = rows;
	order->past = sn_alloc_zeroed((size_t)rows * order->stride, sizeof(uint32_t));
	order->future = sn_alloc_zeroed((size_t)rows * order->stride, sizeof(uint32_t));
}

/* future[p][c][q]: the events of q whose clock has at most c at p. Clocks of q grow, so one merge
 * over both processes finds them all. */
static void complete_pair(struct sn_lattice_order *order, uint32_t p, uint32_t q)
{
	uint32_t reached = 0;

	for (uint32_t c = 0; c <= order->counts[p]; c++) {
		while (reached < order->counts[q] && sn_lattice_past(order, q, reached + 1)[p] <= c)
			reached++;
		order->future[(size_t)(order->base[p] + c) * order->stride + q] = reached;
	}
}

void sn_lattice_order_complete(struct sn_lattice_order *order)
{
	for (uint32_t p = 0; p < order->process_count; p++)
		for (uint32_t q = 0; q < order->process_count; q++)
			complete_pair(order, p, q);
}

void sn_lattice_order_free(struct sn_lattice_order *order)
{
	free(order->counts);
	free(order->base);
	free(order->past);
	free(order->future);
	*order = (struct sn_lattice_order){ 0 };
}

/* Is event `ref` (number from 1 in `index`) in the past of another of the `count` others? */
static bool is_implied(const struct sn_lattice_order *order, const struct sn_lattice_ref *refs,
		       uint32_t count, uint32_t which)
{
	for (uint32_t i = 0; i < count; i++)
		if (i != which &&
		    sn_lattice_past(order, refs[i].process, refs[i].index)[refs[which].process] >=
			    refs[which].index)
			return true;
	return false;
}

uint32_t sn_lattice_order_waits(const struct sn_lattice_order *order, uint32_t process,
				uint32_t done, struct sn_lattice_ref *out)
{
	const uint32_t *now = sn_lattice_past(order, process, done);
	const uint32_t *before = sn_lattice_past(order, process, done - 1);
	uint32_t count = 0, kept = 0;

	for (uint32_t q = 0; q < order->process_count; q++)
		if (q != process && now[q] > before[q])
			out[count++] = (struct sn_lattice_ref){ q, now[q] };
	/* Dropping in place is safe: what implied a dropped one is implied by one that stays. */
	for (uint32_t i = 0; i < count; i++)
		if (!is_implied(order, out, count, i))
			out[kept++] = out[i];
	return kept;
}

uint32_t sn_lattice_order_rank(const struct sn_lattice_order *order, uint32_t process,
			       uint32_t done)
{
	const uint32_t *row = sn_lattice_past(order, process, done);
	uint32_t sum = 0;

	for (uint32_t q = 0; q < order->process_count; q++)
		sum += row[q];
	return sum;
}

uint32_t sn_lattice_order_last_without(const struct sn_lattice_order *order, uint32_t process,
				       uint32_t done)
{
	/* The events that do not need it: of each q as many as future(p, done - 1) says. */
	const uint32_t *row = sn_lattice_future(order, process, done - 1);
	uint32_t sum = 0;

	for (uint32_t q = 0; q < order->process_count; q++)
		sum += row[q];
	return sum;
}
