/*
 * Places every event as early as its dependencies allow, and follows the path that ends last back
 * to its beginning.
 */
#include "pandore/lattice/schedule.h"

#include <math.h>
#include <stdlib.h>

#include "base/alloc.h"

/* All events by rank: what is in the past of an event has a smaller one. Sorted by counting, as ranks are 1 .. n. */
static uint32_t *rank_events(const struct sn_execution *execution)
{
	uint32_t count = execution->event_count;
	uint32_t *rank = sn_alloc_zeroed((size_t)count + 1, sizeof(*rank));
	uint32_t *sorted = sn_alloc_zeroed((size_t)count + 1, sizeof(*sorted));
	uint32_t *place = sn_alloc_zeroed((size_t)count + 2, sizeof(*place));

	for (uint32_t e = 0; e < count; e++) {
		const struct sn_execution_event *event = &execution->events[e];

		rank[e] = sn_lattice_order_rank(&execution->all, event->process, event->index + 1);
		place[rank[e] + 1]++;
	}
	for (uint32_t r = 0; r <= count; r++)
		place[r + 1] += place[r];
	for (uint32_t e = 0; e < count; e++)
		sorted[place[rank[e]]++] = e;
	free(rank);
	free(place);
	return sorted;
}

static double duration_of(const struct sn_execution_event *event)
{
	return isnan(event->duration_s) ? 0 : event->duration_s;
}

static void place_event(const struct sn_execution *execution, struct sn_schedule *s,
			uint32_t number)
{
	const struct sn_execution_event *event = &execution->events[number];
	const uint32_t *past = sn_lattice_past(&execution->all, event->process, event->index + 1);

	s->cause[number] = event->index ? number - 1 : SN_SCHEDULE_NONE;
	s->begin_s[number] = event->index ? s->end_s[number - 1] : 0;
	for (uint32_t q = 0; q < execution->process_count; q++) {
		uint32_t other = execution->first[q] + past[q] - 1;

		if (q == event->process || past[q] == 0 || s->end_s[other] <= s->begin_s[number])
			continue;
		s->begin_s[number] = s->end_s[other];
		s->cause[number] = other;
	}
	s->end_s[number] = s->begin_s[number] + duration_of(event);
}

static void find_path(const struct sn_execution *execution, struct sn_schedule *s)
{
	uint32_t last = SN_SCHEDULE_NONE, count = 0;

	for (uint32_t e = 0; e < execution->event_count; e++)
		if (last == SN_SCHEDULE_NONE || s->end_s[e] > s->end_s[last])
			last = e;
	s->path = sn_alloc_zeroed((size_t)execution->event_count + 1, sizeof(uint32_t));
	for (uint32_t e = last; e != SN_SCHEDULE_NONE; e = s->cause[e])
		if (duration_of(&execution->events[e]) > 0)
			s->path[count++] = e;
	for (uint32_t i = 0; i < count / 2; i++) {
		uint32_t swapped = s->path[i];

		s->path[i] = s->path[count - 1 - i];
		s->path[count - 1 - i] = swapped;
	}
	s->path_count = count;
	s->critical_s = last == SN_SCHEDULE_NONE ? 0 : s->end_s[last];
}

static void find_elapsed(const struct sn_execution *execution, struct sn_schedule *s)
{
	double first = INFINITY, last = -INFINITY;

	s->elapsed_s = NAN;
	for (uint32_t e = 0; e < execution->event_count; e++) {
		const struct sn_execution_event *event = &execution->events[e];

		if (isnan(event->start_s))
			return;
		first = fmin(first, event->start_s);
		last = fmax(last, event->start_s + duration_of(event));
	}
	if (last > first)
		s->elapsed_s = last - first;
}

void sn_schedule_make(const struct sn_execution *execution, struct sn_schedule *out)
{
	uint32_t *ranked = rank_events(execution);

	*out = (struct sn_schedule){ 0 };
	out->begin_s = sn_alloc_zeroed((size_t)execution->event_count + 1, sizeof(double));
	out->end_s = sn_alloc_zeroed((size_t)execution->event_count + 1, sizeof(double));
	out->cause = sn_alloc_zeroed((size_t)execution->event_count + 1, sizeof(uint32_t));
	for (uint32_t i = 0; i < execution->event_count; i++)
		place_event(execution, out, ranked[i]);
	for (uint32_t p = 0; p < execution->process_count; p++) {
		double busy_s = 0;

		for (uint32_t e = execution->first[p]; e < execution->first[p + 1]; e++) {
			busy_s += duration_of(&execution->events[e]);
			out->wait_s +=
				out->begin_s[e] - (e > execution->first[p] ? out->end_s[e - 1] : 0);
			out->unknown_count += isnan(execution->events[e].duration_s);
		}
		out->work_s += busy_s;
		out->busy_process_count += busy_s > 0;
	}
	find_path(execution, out);
	find_elapsed(execution, out);
	free(ranked);
}

void sn_schedule_free(struct sn_schedule *schedule)
{
	free(schedule->begin_s);
	free(schedule->end_s);
	free(schedule->cause);
	free(schedule->path);
	*schedule = (struct sn_schedule){ 0 };
}
