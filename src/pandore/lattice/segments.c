/*
 * Finds narrow ranges of levels, by cuts and by time, and lists the events that are possible there
 * and the processes that wait. Ranges that both ways find are listed once.
 */
#include "pandore/lattice/segments.h"

#include <math.h>
#include <stdlib.h>

#include "base/alloc.h"

/* ---- Lists ---------------------------------------------------------------------------------- */

static void push_enabled(struct sn_segment *segment, uint32_t event, double seconds)
{
	if (segment->enabled_count++ < SN_SEGMENT_ENTRIES_MAX)
		sn_vec_push(&segment->enabled, (struct sn_segment_enabled){ event, seconds });
}

static void push_blocked(struct sn_segment *segment, uint32_t event, uint32_t waits_for,
			 double seconds)
{
	if (segment->blocked_count++ < SN_SEGMENT_ENTRIES_MAX)
		sn_vec_push(&segment->blocked,
			    (struct sn_segment_blocked){ event, waits_for, seconds });
}

/* The first segment (they are disjoint and in order) that ends at this level or later. */
static size_t first_reaching_level(const struct sn_segments *segments, uint32_t level)
{
	size_t low = 0, high = segments->items.count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (segments->items.items[middle].level_last < level)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static size_t first_reaching_time(const struct sn_segments *segments, double time_s)
{
	size_t low = 0, high = segments->items.count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (segments->items.items[middle].t1_s <= time_s)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* ---- By cuts -------------------------------------------------------------------------------- */

static bool is_narrow(double mean, uint32_t active)
{
	return active >= 2 && (mean < 0.5 * active || mean <= 1 + 1e-9);
}

/* Of time: one process is busy and others for less than a tenth of it. */
static bool is_slow(double mean, uint32_t busy_processes)
{
	static const double NEARLY_ONE = 1.1;

	return busy_processes >= 2 && (mean < 0.5 * busy_processes || mean < NEARLY_ONE);
}

static double mean_of_levels(const struct sn_lattice_profile *profile, uint32_t first,
			     uint32_t last)
{
	double arcs = 0, cuts = 0, highest = -INFINITY;

	for (uint32_t k = first; k <= last; k++) {
		if (!profile->level_is_whole[k])
			return NAN;
		highest = fmax(highest, profile->level_log10[k]);
	}
	for (uint32_t k = first; k <= last; k++) {
		double weight = pow(10, profile->level_log10[k] - highest);

		cuts += weight;
		arcs += weight * profile->level_mean[k];
	}
	return arcs / cuts;
}

static uint32_t processes_of_levels(const struct sn_lattice_profile *profile, uint32_t first,
				    uint32_t last)
{
	uint32_t most = 0;

	for (uint32_t k = first; k <= last; k++)
		most = profile->level_processes[k] > most ? profile->level_processes[k] : most;
	return most;
}

static bool is_narrow_level(const struct sn_lattice_profile *profile, uint32_t k)
{
	return is_narrow(profile->level_is_whole[k] ? profile->level_mean[k]
						    : profile->level_processes[k],
			 profile->active_count);
}

static struct sn_segment segment_of_levels(const struct sn_lattice_profile *profile, uint32_t first,
					   uint32_t last)
{
	return (struct sn_segment){
		.level_first = first,
		.level_last = last,
		.mean_out_degree = mean_of_levels(profile, first, last),
		.processes_max = processes_of_levels(profile, first, last),
		.t0_s = NAN,
		.t1_s = NAN,
		.mean_busy = NAN,
		.time_lost_s = NAN,
	};
}

static void find_narrow_levels(const struct sn_lattice_profile *profile, struct sn_segments *out)
{
	for (uint32_t k = 0; k < profile->event_count; k++) {
		uint32_t first = k;

		while (k < profile->event_count && is_narrow_level(profile, k))
			k++;
		if (k > first)
			sn_vec_push(&out->items, segment_of_levels(profile, first, k - 1));
	}
}

/* An event is possible in some cut of exactly the levels from rank - 1 to the last without it. */
static void list_enabled(const struct sn_execution *execution, struct sn_segments *segments,
			 uint32_t p, uint32_t c)
{
	const struct sn_lattice_order *order = &execution->observed;
	uint32_t first = sn_lattice_order_rank(order, p, c) - 1;
	uint32_t last = sn_lattice_order_last_without(order, p, c);

	for (size_t s = first_reaching_level(segments, first);
	     s < segments->items.count && segments->items.items[s].level_first <= last; s++)
		push_enabled(&segments->items.items[s], execution->event_of[order->base[p] + c],
			     NAN);
}

/* p waits with event c for event d of q in the cuts that contain event c - 1 of p but not d. They
 * lie on all levels from the rank of the one to the last level without the other. */
static void list_blocked(const struct sn_execution *execution, struct sn_segments *segments,
			 uint32_t p, uint32_t c, struct sn_lattice_ref *waits)
{
	const struct sn_lattice_order *order = &execution->observed;
	uint32_t count = sn_lattice_order_waits(order, p, c, waits);
	uint32_t first = c > 1 ? sn_lattice_order_rank(order, p, c - 1) : 0;

	for (uint32_t w = 0; w < count; w++) {
		uint32_t q = waits[w].process, d = waits[w].index;
		uint32_t last = sn_lattice_order_last_without(order, q, d);

		for (size_t s = first_reaching_level(segments, first);
		     s < segments->items.count && segments->items.items[s].level_first <= last; s++)
			push_blocked(&segments->items.items[s],
				     execution->event_of[order->base[p] + c],
				     execution->event_of[order->base[q] + d], NAN);
	}
}

static void find_by_cuts(const struct sn_execution *execution,
			 const struct sn_lattice_profile *profile, struct sn_segments *out)
{
	const struct sn_lattice_order *order = &execution->observed;
	struct sn_lattice_ref *waits = sn_alloc((order->process_count + 1) * sizeof(*waits));

	find_narrow_levels(profile, out);
	for (uint32_t p = 0; p < order->process_count && out->items.count; p++)
		for (uint32_t c = 1; c <= order->counts[p]; c++) {
			list_enabled(execution, out, p, c);
			list_blocked(execution, out, p, c, waits);
		}
	free(waits);
}

/* ---- By time -------------------------------------------------------------------------------- */

/* What the schedule does while it is at a level. */
struct level_time {
	double time_s, busy_s; /* busy: process-seconds */
	double t0_s, t1_s;
};

struct moment {
	double time_s;
	int running, level; /* changes */
};

static int by_time(const void *left, const void *right)
{
	const struct moment *a = left, *b = right;

	return (a->time_s > b->time_s) - (a->time_s < b->time_s);
}

static struct moment *list_moments(const struct sn_execution *execution,
				   const struct sn_schedule *s)
{
	struct moment *moments =
		sn_alloc_zeroed(2 * (size_t)execution->event_count + 1, sizeof(*moments));

	for (uint32_t e = 0; e < execution->event_count; e++) {
		int runs = s->end_s[e] > s->begin_s[e];

		moments[2 * (size_t)e] = (struct moment){ s->begin_s[e], runs, 0 };
		moments[2 * (size_t)e + 1] =
			(struct moment){ s->end_s[e], -runs, execution->events[e].is_observed };
	}
	qsort(moments, 2 * (size_t)execution->event_count, sizeof(*moments), by_time);
	return moments;
}

static struct level_time *time_levels(const struct sn_execution *execution,
				      const struct sn_schedule *schedule, uint32_t level_count)
{
	struct moment *moments = list_moments(execution, schedule);
	struct level_time *levels = sn_alloc_zeroed(level_count, sizeof(*levels));
	double now_s = 0;
	int64_t running = 0, level = 0;

	for (size_t m = 0; m < 2 * (size_t)execution->event_count; m++) {
		double passed_s = moments[m].time_s - now_s;

		if (passed_s > 0) {
			struct level_time *at = &levels[level];

			if (at->time_s == 0)
				at->t0_s = now_s;
			at->time_s += passed_s;
			at->busy_s += passed_s * (double)running;
			at->t1_s = now_s = moments[m].time_s;
		}
		running += moments[m].running;
		level += moments[m].level;
	}
	free(moments);
	return levels;
}

static double lost_of(const struct level_time *level, uint32_t busy_processes)
{
	return level->time_s * busy_processes - level->busy_s;
}

static void find_slow_levels(const struct sn_lattice_profile *profile,
			     const struct level_time *levels, uint32_t busy_processes,
			     struct sn_segments *out)
{
	struct sn_segment *open = NULL;
	double busy_s = 0;

	for (uint32_t k = 0; k < profile->level_count; k++) {
		const struct level_time *at = &levels[k];

		if (at->time_s <= 0)
			continue;
		if (!is_slow(at->busy_s / at->time_s, busy_processes)) {
			open = NULL;
			continue;
		}
		if (!open) {
			sn_vec_push(&out->items, segment_of_levels(profile, k, k));
			open = &sn_vec_last(&out->items);
			open->is_by_time = true;
			open->t0_s = at->t0_s;
			open->time_lost_s = busy_s = 0;
		}
		open->level_last = k;
		open->t1_s = at->t1_s;
		open->time_lost_s += lost_of(at, busy_processes);
		busy_s += at->busy_s;
		open->mean_busy = busy_s / (open->t1_s - open->t0_s);
	}
	for (size_t s = 0; s < out->items.count; s++) {
		struct sn_segment *segment = &out->items.items[s];

		segment->mean_out_degree =
			mean_of_levels(profile, segment->level_first, segment->level_last);
		segment->processes_max =
			processes_of_levels(profile, segment->level_first, segment->level_last);
	}
}

static double overlap_s(const struct sn_segment *segment, double begin_s, double end_s)
{
	return fmin(segment->t1_s, end_s) - fmax(segment->t0_s, begin_s);
}

static void list_by_time(const struct sn_execution *execution, const struct sn_schedule *schedule,
			 struct sn_segments *segments, uint32_t e)
{
	double idle_from_s = execution->events[e].index ? schedule->end_s[e - 1] : 0;
	double begin_s = schedule->begin_s[e], end_s = schedule->end_s[e];

	for (size_t s = first_reaching_time(segments, begin_s);
	     s < segments->items.count && segments->items.items[s].t0_s < end_s; s++)
		push_enabled(&segments->items.items[s], e,
			     overlap_s(&segments->items.items[s], begin_s, end_s));
	if (!(idle_from_s < begin_s))
		return;
	for (size_t s = first_reaching_time(segments, idle_from_s);
	     s < segments->items.count && segments->items.items[s].t0_s < begin_s; s++)
		push_blocked(&segments->items.items[s], e, schedule->cause[e],
			     overlap_s(&segments->items.items[s], idle_from_s, begin_s));
}

/* ---- Both ----------------------------------------------------------------------------------- */

static void free_segment(struct sn_segment *segment)
{
	sn_vec_free(&segment->enabled);
	sn_vec_free(&segment->blocked);
}

static int by_loss(const void *left, const void *right)
{
	const struct sn_segment *a = left, *b = right;

	if (a->time_lost_s != b->time_lost_s)
		return a->time_lost_s > b->time_lost_s ? -1 : 1;
	if (a->mean_out_degree != b->mean_out_degree)
		return a->mean_out_degree < b->mean_out_degree ? -1 : 1;
	return a->level_first < b->level_first ? -1 : a->level_first > b->level_first;
}

/* Is the range of levels inside one of the segments found by time (disjoint, in order)? */
static bool is_covered(const struct sn_segments *by_time, const struct sn_segment *segment)
{
	size_t s = first_reaching_level(by_time, segment->level_first);

	return s < by_time->items.count &&
	       by_time->items.items[s].level_first <= segment->level_first &&
	       by_time->items.items[s].level_last >= segment->level_last;
}

/* Moves the segments found by time behind those found by cuts, without those that repeat them or
 * lose no time (less than rounding leaves). */
static void merge(struct sn_segments *by_cuts, struct sn_segments *by_time,
		  const struct level_time *levels, uint32_t busy_processes, double critical_s)
{
	size_t kept = 0;

	for (size_t s = 0; s < by_cuts->items.count; s++) {
		struct sn_segment *segment = &by_cuts->items.items[s];

		segment->time_lost_s = 0;
		for (uint32_t k = segment->level_first; k <= segment->level_last; k++)
			segment->time_lost_s += lost_of(&levels[k], busy_processes);
		if (is_covered(by_time, segment) || segment->time_lost_s <= 1e-9 * critical_s) {
			free_segment(segment);
			continue;
		}
		by_cuts->items.items[kept++] = *segment;
	}
	by_cuts->items.count = kept;
	for (size_t s = 0; s < by_time->items.count; s++)
		sn_vec_push(&by_cuts->items, by_time->items.items[s]);
	sn_vec_free(&by_time->items);
	if (by_cuts->items.count)
		qsort(by_cuts->items.items, by_cuts->items.count, sizeof(struct sn_segment),
		      by_loss);
}

void sn_segments_make(const struct sn_execution *execution,
		      const struct sn_lattice_profile *profile, const struct sn_schedule *schedule,
		      struct sn_segments *out)
{
	struct sn_segments by_time = { 0 };
	struct level_time *levels;

	*out = (struct sn_segments){ 0 };
	find_by_cuts(execution, profile, out);
	if (!schedule || !(schedule->critical_s > 0))
		return;
	levels = time_levels(execution, schedule, profile->level_count);
	find_slow_levels(profile, levels, schedule->busy_process_count, &by_time);
	for (uint32_t e = 0; e < execution->event_count && by_time.items.count; e++)
		list_by_time(execution, schedule, &by_time, e);
	merge(out, &by_time, levels, schedule->busy_process_count, schedule->critical_s);
	free(levels);
}

void sn_segments_free(struct sn_segments *segments)
{
	for (size_t s = 0; s < segments->items.count; s++)
		free_segment(&segments->items.items[s]);
	sn_vec_free(&segments->items);
}
