/*
 * Splits a lattice at the levels that have one cut only, counts the parts, joins the counts, and
 * derives figures of each level. Parts that are too large get windows (windows.c).
 */
#include "pandore/lattice/profile.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/progress.h"
#include "pandore/lattice/integer.h"
#include "pandore/lattice/windows.h"

static uint32_t *copy_cut(const uint32_t *cut, uint32_t process_count)
{
	uint32_t *copy = sn_alloc_zeroed(process_count, sizeof(uint32_t));

	memcpy(copy, cut, process_count * sizeof(uint32_t));
	return copy;
}

static uint32_t level_of(const uint32_t *cut, uint32_t process_count)
{
	uint32_t sum = 0;

	for (uint32_t p = 0; p < process_count; p++)
		sum += cut[p];
	return sum;
}

void sn_lattice_profile_add(struct sn_lattice_profile *profile, const uint32_t *from,
			    const uint32_t *to, bool is_whole, struct sn_interval_counts *counts)
{
	sn_vec_push(
		&profile->windows,
		(struct sn_lattice_window){ .from = copy_cut(from, profile->process_count),
					    .to = copy_cut(to, profile->process_count),
					    .level_first = level_of(from, profile->process_count),
					    .level_last = level_of(to, profile->process_count),
					    .is_whole = is_whole,
					    .counts = *counts });
	profile->state_count += counts->state_count;
	*counts = (struct sn_interval_counts){ 0 };
}

static void free_window(struct sn_lattice_window *window)
{
	free(window->from);
	free(window->to);
	sn_interval_counts_free(&window->counts);
}

/* A chain of `length` events: one cut a level. */
static void count_chain(uint32_t length, struct sn_interval_counts *out)
{
	*out = (struct sn_interval_counts){
		.limbs = 1,
		.level_count = length + 1,
		.degree_count = 2,
		.cuts = sn_alloc_zeroed(1, sizeof(uint64_t)),
		.arcs = sn_alloc_zeroed(1, sizeof(uint64_t)),
		.levels = sn_alloc_zeroed((size_t)length + 1, sizeof(uint64_t)),
		.level_arcs = sn_alloc_zeroed((size_t)length + 1, sizeof(uint64_t)),
		.degrees = sn_alloc_zeroed(2, sizeof(uint64_t)),
	};
	*out->cuts = length + 1ull;
	*out->arcs = length;
	out->degrees[0] = 1;
	out->degrees[1] = length;
	for (uint32_t k = 0; k <= length; k++) {
		out->levels[k] = 1;
		out->level_arcs[k] = k < length;
	}
}

/* ---- Splitting at synchronisations ---------------------------------------------------------- */

struct splitting {
	const struct sn_lattice_order *order;
	struct sn_lattice_profile *profile;
	struct sn_interval_limits limits;
	uint32_t *from, *to; /* the part in the making */
	uint32_t from_level;
	uint32_t chain_level; /* the level where the present chain began */
	uint32_t *chain_from;
};

/* No part may spend all the time, or its windows could not be had in time. */
static uint64_t share_of(uint64_t deadline_ns)
{
	uint64_t now = sn_lattice_clock_ns();

	return now < deadline_ns ? now + (deadline_ns - now) / 4 * 3 : 1;
}

static void count_part(struct splitting *s, const uint32_t *from, const uint32_t *to)
{
	struct sn_interval_limits limits = s->limits;
	struct sn_interval_counts counts;
	enum sn_interval_outcome outcome;

	limits.deadline_ns = share_of(s->limits.deadline_ns);
	outcome = sn_interval_count(s->order, from, to, &limits, &counts);
	if (outcome == SN_INTERVAL_DONE) {
		sn_lattice_profile_add(s->profile, from, to, true, &counts);
		return;
	}
	s->profile->is_exact = false;
	s->profile->stopped_by = outcome == SN_INTERVAL_TIME ? "seconds" : "states";
	sn_lattice_windows_add(s->profile, s->order, from, to, &s->limits);
}

static void end_chain(struct splitting *s)
{
	struct sn_interval_counts counts;

	if (s->chain_level < s->from_level) {
		count_chain(s->from_level - s->chain_level, &counts);
		sn_lattice_profile_add(s->profile, s->chain_from, s->from, true, &counts);
	}
}

static void copy_into(uint32_t *to, const uint32_t *cut, uint32_t process_count)
{
	memcpy(to, cut, process_count * sizeof(uint32_t));
}

/* `to` is the only cut of its level. */
static void end_part(struct splitting *s, uint32_t level)
{
	uint32_t processes = s->order->process_count;

	if (level == s->from_level)
		return;
	if (level > s->from_level + 1) {
		end_chain(s);
		count_part(s, s->from, s->to);
		copy_into(s->chain_from, s->to, processes);
		s->chain_level = level;
	}
	copy_into(s->from, s->to, processes);
	s->from_level = level;
	if (level > 0 && level < s->order->event_count)
		s->profile->synchronisation_count++;
}

/* The processes of the events, by the last level with a cut that lacks them. */
static uint32_t *sort_by_last_without(const struct sn_lattice_order *order, uint32_t *first)
{
	uint32_t *processes = sn_alloc_zeroed((size_t)order->event_count + 1, sizeof(uint32_t));
	uint32_t *lasts = sn_alloc_zeroed((size_t)order->event_count + 1, sizeof(uint32_t)), n = 0;

	for (uint32_t p = 0; p < order->process_count; p++)
		for (uint32_t c = 1; c <= order->counts[p]; c++) {
			lasts[n] = sn_lattice_order_last_without(order, p, c);
			first[lasts[n++] + 1]++;
		}
	for (uint32_t k = 0; k < order->event_count; k++)
		first[k + 1] += first[k];
	n = 0;
	for (uint32_t p = 0; p < order->process_count; p++)
		for (uint32_t c = 1; c <= order->counts[p]; c++)
			processes[first[lasts[n++]]++] = p;
	free(lasts);
	return processes;
}

/* Every cut of level k contains the events whose last level without them is below k. If these are k
 * events, it is the only cut. */
static void split_and_count(struct splitting *s)
{
	const struct sn_lattice_order *order = s->order;
	uint32_t *first = sn_alloc_zeroed((size_t)order->event_count + 2, sizeof(uint32_t));
	uint32_t *processes = sort_by_last_without(order, first), taken = 0;

	for (uint32_t k = 1; k <= order->event_count; k++) {
		/* first[k - 1] has moved to the end of its group in the sort. */
		for (; taken < first[k - 1]; taken++)
			s->to[processes[taken]]++;
		if (taken == k)
			end_part(s, k);
	}
	end_chain(s);
	free(first);
	free(processes);
}

/* ---- Joining -------------------------------------------------------------------------------- */

static void join_one(struct sn_interval_counts *joined, const struct sn_interval_counts *part,
		     uint32_t level)
{
	unsigned limbs = joined->limbs;
	uint64_t *wide = sn_alloc_zeroed((size_t)part->level_count + part->degree_count,
					 limbs * sizeof(uint64_t));

	sn_limbs_widen(wide, limbs, part->levels, part->limbs, part->level_count);
	memcpy(joined->levels + (size_t)level * limbs, wide,
	       (size_t)part->level_count * limbs * sizeof(uint64_t));
	sn_limbs_widen(wide, limbs, part->level_arcs, part->limbs, part->level_count);
	memcpy(joined->level_arcs + (size_t)level * limbs, wide,
	       (size_t)part->level_count * limbs * sizeof(uint64_t));
	sn_limbs_widen(wide, limbs, part->degrees, part->limbs, part->degree_count);
	sn_limbs_add(joined->degrees, wide, part->degree_count, limbs);
	sn_limbs_widen(wide, limbs, part->cuts, part->limbs, 1);
	sn_limbs_add(joined->cuts, wide, 1, limbs);
	sn_limbs_widen(wide, limbs, part->arcs, part->limbs, 1);
	sn_limbs_add(joined->arcs, wide, 1, limbs);
	free(wide);
}

/* Neighbours share a cut, which in the lower one has no arc: it is counted once. */
static void drop_shared(struct sn_interval_counts *joined, uint64_t shared)
{
	uint64_t *number = sn_alloc_zeroed(joined->limbs, sizeof(uint64_t));

	number[0] = shared;
	sn_limbs_subtract(joined->cuts, number, 1, joined->limbs);
	sn_limbs_subtract(joined->degrees, number, 1, joined->limbs);
	free(number);
}

static struct sn_lattice_window join_windows(const struct sn_lattice_profile *profile, size_t first,
					     size_t last)
{
	const struct sn_lattice_window *windows = profile->windows.items;
	uint32_t levels = windows[last].level_last - windows[first].level_first + 1;
	struct sn_interval_counts joined = { .limbs = 1, .level_count = levels };

	for (size_t w = first; w <= last; w++) {
		const struct sn_interval_counts *part = &windows[w].counts;

		if (part->limbs >= joined.limbs)
			joined.limbs = part->limbs + (first < last); /* room for the sum */
		if (part->degree_count > joined.degree_count)
			joined.degree_count = part->degree_count;
	}
	joined.cuts = sn_alloc_zeroed(joined.limbs, sizeof(uint64_t));
	joined.arcs = sn_alloc_zeroed(joined.limbs, sizeof(uint64_t));
	joined.degrees = sn_alloc_zeroed(joined.degree_count, joined.limbs * sizeof(uint64_t));
	joined.levels = sn_alloc_zeroed(levels, joined.limbs * sizeof(uint64_t));
	joined.level_arcs = sn_alloc_zeroed(levels, joined.limbs * sizeof(uint64_t));
	for (size_t w = first; w <= last; w++)
		join_one(&joined, &windows[w].counts,
			 windows[w].level_first - windows[first].level_first);
	drop_shared(&joined, last - first);
	return (struct sn_lattice_window){
		.from = copy_cut(windows[first].from, profile->process_count),
		.to = copy_cut(windows[last].to, profile->process_count),
		.level_first = windows[first].level_first,
		.level_last = windows[last].level_last,
		.is_whole = true,
		.counts = joined,
	};
}

/* Makes one window of each row of whole windows that touch. */
static void join_whole(struct sn_lattice_profile *profile)
{
	size_t kept = 0, first = 0;

	while (first < profile->windows.count) {
		struct sn_lattice_window *windows = profile->windows.items, joined;
		size_t last = first;

		while (windows[first].is_whole && last + 1 < profile->windows.count &&
		       windows[last + 1].is_whole &&
		       windows[last + 1].level_first == windows[last].level_last)
			last++;
		if (last == first) {
			windows[kept++] = windows[first++];
			continue;
		}
		joined = join_windows(profile, first, last);
		for (size_t w = first; w <= last; w++)
			free_window(&windows[w]);
		windows[kept++] = joined;
		first = last + 1;
	}
	profile->windows.count = kept;
}

/* ---- Levels --------------------------------------------------------------------------------- */

/* Of a window that is not whole only the middle half: near its ends it lacks cuts and arcs. */
static void level_range(const struct sn_lattice_profile *profile,
			const struct sn_lattice_window *window, uint32_t *first, uint32_t *last)
{
	uint32_t quarter = window->is_whole ? 0 : (window->counts.level_count - 1) / 4;

	*first = window->level_first + (window->level_first ? quarter : 0);
	*last = window->level_last - (window->level_last < profile->event_count ? quarter : 0);
}

static void fill_levels(struct sn_lattice_profile *profile, const struct sn_lattice_window *window)
{
	const struct sn_interval_counts *counts = &window->counts;
	uint32_t first, last;

	level_range(profile, window, &first, &last);
	for (uint32_t k = first; k <= last; k++) {
		size_t at = (size_t)(k - window->level_first) * counts->limbs;

		/* The last cut of a window has no arc in it, whatever comes after. */
		if (k == window->level_last && k < profile->event_count)
			continue;
		profile->level_mean[k] =
			sn_limbs_ratio(counts->level_arcs + at, counts->levels + at, counts->limbs);
		profile->level_log10[k] = sn_limbs_log10(counts->levels + at, counts->limbs);
		profile->level_is_whole[k] = window->is_whole;
	}
}

/* Event c of p is possible in some cut of exactly the levels rank - 1 .. last without it. Both ends
 * grow with c. So the levels of a process are a union of ranges that can be merged as they come. */
static void add_process(const struct sn_lattice_order *order, uint32_t p, uint32_t *changes)
{
	uint32_t open = UINT32_MAX, end = 0; /* the range in the making: open .. end - 1 */

	for (uint32_t c = 1; c <= order->counts[p]; c++) {
		uint32_t first = sn_lattice_order_rank(order, p, c) - 1;

		if (open == UINT32_MAX || first > end) {
			if (open != UINT32_MAX)
				changes[end]--;
			changes[first]++;
			open = first;
		}
		end = sn_lattice_order_last_without(order, p, c) + 1;
	}
	if (open != UINT32_MAX)
		changes[end]--;
}

static uint32_t *count_level_processes(const struct sn_lattice_order *order)
{
	uint32_t *count = sn_alloc_zeroed((size_t)order->event_count + 2, sizeof(uint32_t));

	for (uint32_t p = 0; p < order->process_count; p++)
		add_process(order, p, count);
	for (uint32_t k = 0; k < order->event_count; k++)
		count[k + 1] += count[k];
	return count;
}

static void make_levels(struct sn_lattice_profile *profile)
{
	profile->level_mean = sn_alloc_zeroed(profile->level_count, sizeof(double));
	profile->level_log10 = sn_alloc_zeroed(profile->level_count, sizeof(double));
	profile->level_is_whole = sn_alloc_zeroed(profile->level_count, sizeof(bool));
	for (uint32_t k = 0; k < profile->level_count; k++)
		profile->level_mean[k] = profile->level_log10[k] = NAN;
	for (size_t w = 0; w < profile->windows.count; w++)
		fill_levels(profile, &profile->windows.items[w]);
}

void sn_lattice_profile_make(const struct sn_lattice_order *order,
			     const struct sn_lattice_budget *budget, struct sn_lattice_profile *out)
{
	uint64_t started_ns = sn_lattice_clock_ns();
	double seconds = budget->seconds > 0 ? budget->seconds : 3;
	struct splitting s = {
		.order = order,
		.profile = out,
		.limits = { .states = budget->states ? budget->states : 4000000,
			    .bytes = budget->bytes ? budget->bytes : 2ull << 30,
			    .deadline_ns = started_ns + (uint64_t)(fmin(seconds, 1e9) * 1e9),
			    .want_levels = true,
			    .want_histogram = true },
		.from = sn_alloc_zeroed(order->process_count, sizeof(uint32_t)),
		.to = sn_alloc_zeroed(order->process_count, sizeof(uint32_t)),
		.chain_from = sn_alloc_zeroed(order->process_count, sizeof(uint32_t)),
	};

	*out = (struct sn_lattice_profile){
		.process_count = order->process_count,
		.event_count = order->event_count,
		.level_count = order->event_count + 1,
		.is_exact = true,
	};
	for (uint32_t p = 0; p < order->process_count; p++)
		out->active_count += order->counts[p] > 0;
	if (order->event_count == 0)
		count_part(&s, s.from, s.to);
	split_and_count(&s);
	join_whole(out);
	make_levels(out);
	out->level_processes = count_level_processes(order);
	out->seconds = (double)(sn_lattice_clock_ns() - started_ns) / 1e9;
	free(s.from);
	free(s.to);
	free(s.chain_from);
}

double sn_lattice_mean_of_levels(const struct sn_lattice_profile *profile)
{
	double sum = 0;
	uint32_t known = 0;

	/* the last level has nothing left to do */
	for (uint32_t k = 0; k < profile->event_count; k++)
		if (!isnan(profile->level_mean[k])) {
			sum += profile->level_mean[k];
			known++;
		}
	return known ? sum / known : NAN;
}

void sn_lattice_profile_free(struct sn_lattice_profile *profile)
{
	for (size_t w = 0; w < profile->windows.count; w++)
		free_window(&profile->windows.items[w]);
	sn_vec_free(&profile->windows);
	free(profile->level_mean);
	free(profile->level_log10);
	free(profile->level_is_whole);
	free(profile->level_processes);
	*profile = (struct sn_lattice_profile){ 0 };
}

double sn_lattice_window_mean(const struct sn_lattice_window *window)
{
	const struct sn_interval_counts *counts = &window->counts;
	uint64_t *others = sn_alloc_zeroed(2 * (size_t)counts->limbs, sizeof(uint64_t));
	double mean;

	others[counts->limbs] = 1;
	memcpy(others, counts->cuts, counts->limbs * sizeof(uint64_t));
	sn_limbs_subtract(others, others + counts->limbs, 1, counts->limbs);
	mean = sn_limbs_is_zero(others, counts->limbs)
		       ? NAN
		       : sn_limbs_ratio(counts->arcs, others, counts->limbs);
	free(others);
	return mean;
}
