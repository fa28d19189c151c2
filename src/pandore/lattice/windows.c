/*
 * Where a part has too many cuts, counts windows of it: the lattice between two depths of the
 * order. Their length is chosen so that each takes some milliseconds.
 */
#include "pandore/lattice/windows.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/progress.h"

/* A window may take so many states: what some milliseconds allow. */
enum { WINDOW_STATES_MAX = 20000, WINDOWS_MAX = 10000 };

struct windows {
	const struct sn_lattice_order *order;
	const uint32_t *from, *to;
	const struct sn_interval_limits *limits;
	uint32_t *depths; /* a number a row of the order */
	uint32_t depth_first, depth_last;
	uint32_t *lower, *upper; /* the window in the making */
};

/* The rows of all events, those with fewer events in their past first. */
static uint32_t *sort_by_rank(const struct sn_lattice_order *order)
{
	uint32_t *first = sn_alloc_zeroed((size_t)order->event_count + 2, sizeof(uint32_t));
	uint32_t *rows = sn_alloc_zeroed((size_t)order->event_count + 1, sizeof(uint32_t));

	for (uint32_t p = 0; p < order->process_count; p++)
		for (uint32_t c = 1; c <= order->counts[p]; c++)
			first[sn_lattice_order_rank(order, p, c) + 1]++;
	for (uint32_t k = 0; k <= order->event_count; k++)
		first[k + 1] += first[k];
	for (uint32_t p = 0; p < order->process_count; p++)
		for (uint32_t c = 1; c <= order->counts[p]; c++)
			rows[first[sn_lattice_order_rank(order, p, c)]++] = order->base[p] + c;
	free(first);
	return rows;
}

/* What is in the past has a smaller rank, so ranks give an order in which to visit. */
uint32_t sn_lattice_order_depth(const struct sn_lattice_order *order, uint32_t *depths)
{
	uint32_t *rows = sort_by_rank(order), deepest = 0;
	uint32_t *own =
		depths ? depths
		       : sn_alloc_zeroed(order->base[order->process_count] + 1, sizeof(uint32_t));

	for (uint32_t i = 0; i < order->event_count; i++) {
		const uint32_t *past = order->past + (size_t)rows[i] * order->stride;
		uint32_t depth = own[rows[i] - 1]; /* row base[p] has depth 0 */

		for (uint32_t q = 0; q < order->process_count; q++) {
			uint32_t row = order->base[q] + past[q];

			if (row != rows[i] && own[row] > depth)
				depth = own[row];
		}
		own[rows[i]] = depth + 1;
		if (depth + 1 > deepest)
			deepest = depth + 1;
	}
	free(rows);
	if (!depths)
		free(own);
	return deepest;
}

/* The cut of all events up to this depth, within the part. */
static void cut_at(const struct windows *w, uint32_t depth, uint32_t *cut)
{
	for (uint32_t p = 0; p < w->order->process_count; p++) {
		uint32_t low = w->from[p], high = w->to[p];

		while (low < high) {
			uint32_t middle = low + (high - low + 1) / 2;

			if (w->depths[w->order->base[p] + middle] <= depth)
				low = middle;
			else
				high = middle - 1;
		}
		cut[p] = low;
	}
}

static enum sn_interval_outcome count_at(struct windows *w, uint32_t depth, uint32_t length,
					 struct sn_interval_counts *out)
{
	struct sn_interval_limits limits = *w->limits;

	if (limits.states == 0 || limits.states > WINDOW_STATES_MAX)
		limits.states = WINDOW_STATES_MAX;
	cut_at(w, depth, w->lower);
	cut_at(w, depth + length, w->upper);
	return sn_interval_count(w->order, w->lower, w->upper, &limits, out);
}

/* The longest window that fits in the middle of the part, and what it takes. */
static uint32_t find_length(struct windows *w, double *seconds)
{
	uint32_t span = w->depth_last - w->depth_first, length = 1;
	uint64_t now_ns = sn_lattice_clock_ns();
	uint64_t left_ns = w->limits->deadline_ns > now_ns ? w->limits->deadline_ns - now_ns : 0;

	*seconds = 1e-4;
	for (uint64_t trial = 1; trial <= span; trial *= 2) {
		struct sn_interval_counts counts;
		uint64_t started_ns = sn_lattice_clock_ns(), taken_ns;

		if (count_at(w, w->depth_first + (span - (uint32_t)trial) / 2, (uint32_t)trial,
			     &counts) != SN_INTERVAL_DONE)
			break;
		sn_interval_counts_free(&counts);
		taken_ns = sn_lattice_clock_ns() - started_ns;
		/* Many windows of a few steps tell more than a few of many. */
		if (trial > 2 && taken_ns > left_ns / 100)
			break;
		length = (uint32_t)trial;
		*seconds = (double)taken_ns / 1e9;
	}
	return length;
}

/* One window from `depth` on, shorter where it does not fit; false if the time is over. */
static bool add_window(struct windows *w, struct sn_lattice_profile *profile, uint32_t depth,
		       uint32_t length)
{
	struct sn_interval_counts counts;
	enum sn_interval_outcome outcome = count_at(w, depth, length, &counts);

	while (outcome == SN_INTERVAL_STATES && length > 1) {
		length /= 2;
		outcome = count_at(w, depth, length, &counts);
	}
	if (outcome == SN_INTERVAL_DONE)
		sn_lattice_profile_add(profile, w->lower, w->upper, false, &counts);
	return outcome != SN_INTERVAL_TIME;
}

static void add_windows(struct windows *w, struct sn_lattice_profile *profile)
{
	double seconds, left_s;
	uint32_t length = find_length(w, &seconds), step = (length + 1) / 2;
	uint32_t span = w->depth_last - w->depth_first, needed, affordable;
	uint32_t last = w->depth_last > length ? w->depth_last - length : 0;

	last = last > w->depth_first ? last : w->depth_first;
	left_s = ((double)w->limits->deadline_ns - (double)sn_lattice_clock_ns()) / 1e9;
	affordable = left_s > 0 ? 1 + (uint32_t)fmin(left_s / seconds / 2, WINDOWS_MAX) : 1;
	assert(affordable > 0);
	needed = span / step + 1;
	if (needed > affordable)
		step = span / affordable + 1;
	for (uint32_t depth = w->depth_first;; depth += step) {
		if (!add_window(w, profile, depth < last ? depth : last, length) || depth >= last)
			break;
	}
}

void sn_lattice_windows_add(struct sn_lattice_profile *profile,
			    const struct sn_lattice_order *order, const uint32_t *from,
			    const uint32_t *to, const struct sn_interval_limits *limits)
{
	struct windows w = { .order = order, .from = from, .to = to, .limits = limits };

	if (sn_lattice_clock_ns() >= limits->deadline_ns)
		return;
	w.depths = sn_alloc_zeroed(order->base[order->process_count] + 1, sizeof(uint32_t));
	w.lower = sn_alloc_zeroed(order->process_count, sizeof(uint32_t));
	w.upper = sn_alloc_zeroed(order->process_count, sizeof(uint32_t));
	w.depth_last = sn_lattice_order_depth(order, w.depths);
	w.depth_first = w.depth_last;
	w.depth_last = 0;
	for (uint32_t p = 0; p < order->process_count; p++)
		if (from[p] < to[p]) {
			uint32_t first = w.depths[order->base[p] + from[p] + 1];
			uint32_t last = w.depths[order->base[p] + to[p]];

			w.depth_first = first - 1 < w.depth_first ? first - 1 : w.depth_first;
			w.depth_last = last > w.depth_last ? last : w.depth_last;
		}
	add_windows(&w, profile);
	free(w.depths);
	free(w.lower);
	free(w.upper);
}
