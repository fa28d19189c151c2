/*
 * Finds when one phase ends and the next begins within an interval that holds both: the moment
 * before which what was seen fits the first phase, and after which it fits the second.
 */
#include "phases/boundaries.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

static const double smoothing = 0.01; /* fraction of time of what a phase was never seen to do */
enum { PIECE_NS = 1000000 };	      /* waits are cut up, so that a change may lie in one */

/* Something seen in an interval near a change. */
struct event {
	int64_t time_ns;
	uint32_t row, column; /* row of the intervals */
	float ms;
};

/* Rows [first, last] of the vectors in which phase `from` becomes phase `to`. */
struct window {
	size_t first, last;
	uint32_t from, to;
};

struct builder {
	const struct sn_intervals *intervals;
	const struct sn_phase_vectors *vectors;
	const struct sn_choice *choice;
	uint8_t *is_wanted; /* by row of the intervals */
	int64_t *
		first_row; /* by process: interval row of its number 0 (may lie before the array) */
	SN_VEC(struct window) windows;
	SN_VEC(struct event) events; /* by row, then time */
};

/* ---- which intervals ---- */

static bool rows_follow(const struct builder *b, size_t at)
{
	const struct sn_interval_row *rows = b->intervals->rows.items;
	const struct sn_interval_row *x = &rows[b->vectors->rows[at]],
				     *y = &rows[b->vectors->rows[at + 1]];

	return x->process == y->process && x->number + 1 == y->number;
}

static void window_add(struct builder *b, size_t first, size_t last, uint32_t from, uint32_t to)
{
	sn_vec_push(&b->windows, (struct window){ first, last, from, to });
	for (size_t r = first; r <= last; r++)
		b->is_wanted[b->vectors->rows[r]] = 1;
}

/* A mixture between two phases that was taken for a third one is of the two. */
static bool is_stray(const struct builder *b, const uint32_t *labels, size_t r)
{
	return !b->vectors->is_clean[r] && rows_follow(b, r - 1) && rows_follow(b, r) &&
	       labels[r - 1] != labels[r] && labels[r] != labels[r + 1] &&
	       labels[r - 1] != labels[r + 1];
}

static void windows_find(struct builder *b, const uint32_t *labels)
{
	size_t count = b->vectors->matrix.row_count;

	for (size_t r = 0; r + 1 < count; r++) {
		if (r && is_stray(b, labels, r)) {
			if (b->windows.count && sn_vec_last(&b->windows).last == r)
				b->windows.count--;
			window_add(b, r, r, labels[r - 1], labels[r + 1]);
			r++; /* the change after it is this one */
			if (r + 1 >= count)
				break;
		}
		if (rows_follow(b, r) && labels[r] != labels[r + 1])
			window_add(b, r, r + 1, labels[r], labels[r + 1]);
	}
}

/* ---- what was seen in them ---- */

static void event_add(struct builder *b, uint32_t process, int64_t time_ns, uint32_t stack,
		      enum sn_phase_kind kind, uint64_t ns)
{
	size_t row = sn_interval_row_at(b->intervals, process, time_ns);
	uint32_t column = sn_phase_column_of(b->vectors, stack, kind);

	if (row < b->intervals->row_count && b->is_wanted[row] && column != SN_NONE && ns)
		sn_vec_push(&b->events,
			    (struct event){ time_ns, (uint32_t)row, column, (float)ns / 1e6f });
}

static int events_compare(const void *left, const void *right)
{
	const struct event *x = left, *y = right;

	if (x->row != y->row)
		return x->row < y->row ? -1 : 1;
	if (x->time_ns != y->time_ns)
		return x->time_ns < y->time_ns ? -1 : 1;
	return (x->column > y->column) - (x->column < y->column);
}

static void waits_add(struct builder *b)
{
	const struct sn_profile *profile = b->intervals->profile;
	const struct sn_experiment *e = profile->experiment;

	for (size_t i = 0; i < e->waits.count; i++) {
		const struct sn_wait *w = &e->waits.items[i];
		uint64_t ns = sn_profile_wait_elapsed_ns(profile, w);
		int64_t at = w->time_ns > 0 ? w->time_ns : 0;
		uint32_t process;

		if (!ns || !profile->is_at_work[w->thread])
			continue;
		process = e->threads.items[w->thread].process;
		/* nothing before the first row or after the last one is looked at */
		for (uint64_t most = b->intervals->row_count * (uint64_t)b->intervals->interval_ns;
		     ns && most;) {
			uint64_t part = ns < PIECE_NS ? ns : PIECE_NS;

			event_add(b, process, at, w->stack, SN_PHASE_BLOCKED, part);
			ns -= part;
			most -= part < most ? part : most;
			at += (int64_t)part;
		}
	}
}

static void events_find(struct builder *b)
{
	const struct sn_profile *profile = b->intervals->profile;
	const struct sn_experiment *e = profile->experiment;

	for (size_t i = 0; i < e->samples.count; i++) {
		const struct sn_sample *s = &e->samples.items[i];

		if (!(s->flags & SN_SAMPLE_REMAINDER) && s->time_ns >= 0 &&
		    sn_profile_has_sample(profile, s))
			event_add(b, e->threads.items[s->thread].process, s->time_ns, s->stack,
				  s->flags & SN_SAMPLE_SYSTEM ? SN_PHASE_SYSTEM : SN_PHASE_USER,
				  s->cpu_ns);
	}
	waits_add(b);
	if (b->events.count)
		qsort(b->events.items, b->events.count, sizeof(*b->events.items), events_compare);
}

/* ---- when it changed ---- */

static size_t events_from(const struct builder *b, uint32_t row)
{
	size_t low = 0, high = b->events.count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (b->events.items[middle].row < row)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static double evidence(const struct builder *b, const struct window *w, const struct event *event)
{
	const double *means = b->choice->centroids + (size_t)event->column * b->choice->k;

	return (double)event->ms *
	       (log(means[w->from] + smoothing) - log(means[w->to] + smoothing));
}

/* Before the moment that is returned what is seen speaks for the first phase, after it for the
 * second, as much as it can. */
static int64_t change_find(const struct builder *b, const struct window *w)
{
	uint32_t first = b->vectors->rows[w->first], last = b->vectors->rows[w->last];
	size_t from = events_from(b, first), to = events_from(b, last + 1);
	double sum = 0, best = 0;
	int64_t change =
		(int64_t)b->intervals->rows.items[first].number * b->intervals->interval_ns;

	for (size_t i = from; i < to; i++) {
		sum += evidence(b, w, &b->events.items[i]);
		if (sum <= best)
			continue;
		best = sum;
		change = i + 1 < to ? b->events.items[i].time_ns + (b->events.items[i + 1].time_ns -
								    b->events.items[i].time_ns) /
									   2
				    : b->intervals->rows.items[last].end_ns;
	}
	return change;
}

static void window_decide(const struct builder *b, const struct window *w, uint32_t *labels)
{
	int64_t change = change_find(b, w);

	for (size_t r = w->first; r <= w->last; r++) {
		const struct sn_interval_row *row = &b->intervals->rows.items[b->vectors->rows[r]];
		int64_t start = (int64_t)row->number * b->intervals->interval_ns;

		labels[r] = change - start > row->end_ns - change ? w->from : w->to;
	}
}

void sn_boundaries_refine(const struct sn_intervals *intervals,
			  const struct sn_phase_vectors *vectors, const struct sn_choice *choice,
			  uint32_t *labels)
{
	struct builder b = { .intervals = intervals, .vectors = vectors, .choice = choice };

	b.is_wanted = sn_alloc_zeroed(intervals->row_count + 1, 1);
	windows_find(&b, labels);
	if (b.windows.count)
		events_find(&b);
	for (size_t i = 0; i < b.windows.count; i++)
		window_decide(&b, &b.windows.items[i], labels);
	sn_vec_free(&b.windows);
	sn_vec_free(&b.events);
	free(b.is_wanted);
}
