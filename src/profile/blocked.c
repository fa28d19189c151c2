/*
 * Cuts the durations of traced calls down to the time that their threads can have been blocked.
 * blocked.h has the rule.
 */
#include "profile/blocked.h"

#include <stdlib.h>

#include "base/alloc.h"

/* The waits and samples of one thread: indices [first, end). */
struct span {
	size_t first_wait, end_wait, first_sample, end_sample;
};

static uint64_t part_of(uint64_t ns, uint64_t part, uint64_t whole)
{
	return whole ? (uint64_t)((unsigned __int128)ns * part / whole) : 0;
}

/* How long the thread can have been blocked, -1: unknown. */
static int64_t blocked_limit_ns(const struct sn_time_account *account)
{
	int64_t off_ns;

	if (account->blocked_ns >= 0)
		return account->blocked_ns;
	if (account->elapsed_ns < 0 || account->user_ns < 0 || account->system_ns < 0)
		return -1;
	off_ns = account->elapsed_ns - account->user_ns - account->system_ns;
	return off_ns > 0 ? off_ns : 0;
}

static int64_t wait_end_ns(const struct sn_wait *wait)
{
	int64_t end;

	if (wait->duration_ns > INT64_MAX ||
	    __builtin_add_overflow(wait->time_ns, (int64_t)wait->duration_ns, &end))
		return INT64_MAX;
	return end;
}

/* What samples saw of a wait: CPU time during it, and whether all of a sample's time lies in it. */
struct seen {
	uint64_t used_ns;
	bool holds_sample;
};

/*
 * CPU time used during each wait, by samples. A sample's CPU time was used just before it, so it
 * covers that much time there. `seen` is by wait from the span's first one.
 */
static void seen_find(const struct sn_experiment *e, const struct span *span, struct seen *seen)
{
	size_t w = span->first_wait;

	for (size_t s = span->first_sample; s < span->end_sample; s++) {
		const struct sn_sample *sample = &e->samples.items[s];
		int64_t from = sample->cpu_ns < INT64_MAX / 2
				       ? sample->time_ns - (int64_t)sample->cpu_ns
				       : sample->time_ns;

		while (w < span->end_wait && wait_end_ns(&e->waits.items[w]) <= from)
			w++;
		for (size_t i = w; i < span->end_wait; i++) {
			const struct sn_wait *wait = &e->waits.items[i];
			struct seen *of = &seen[i - span->first_wait];
			int64_t begin = wait->time_ns > from ? wait->time_ns : from;
			int64_t end = wait_end_ns(wait);

			if (wait->time_ns >= sample->time_ns)
				break;
			of->holds_sample |=
				sample->cpu_ns && wait->time_ns <= from && sample->time_ns <= end;
			end = end < sample->time_ns ? end : sample->time_ns;
			of->used_ns += end > begin ? (uint64_t)(end - begin) : 0;
			of->used_ns =
				of->used_ns < wait->duration_ns ? of->used_ns : wait->duration_ns;
		}
	}
}

/* Above what the edges of a wait hold of samples that lie a little beside the truth: two at 1 kHz. */
enum { USED_LEAST_NS = 2000000 };

/*
 * A call that used CPU time. A call that waited long for a CPU may have used it for a small part of its
 * time, but then a sample lies within it, or one behind it claims all of that. A sleep uses none.
 */
static bool is_busy(const struct sn_wait *wait, const struct seen *seen)
{
	return wait->kind != SN_WAIT_SLEEP &&
	       (seen->holds_sample || seen->used_ns >= wait->duration_ns / 8 ||
		seen->used_ns >= USED_LEAST_NS);
}

/*
 * Takes `excess` from the busy waits in proportion to their CPU time, and from none more than it
 * has: what one cannot give the others do. Returns what is left to take.
 */
static uint64_t busy_cut(const struct sn_experiment *e, const struct span *span,
			 const struct seen *seen, uint64_t excess, uint64_t *blocked_ns)
{
	bool has_emptied = true;

	while (excess && has_emptied) {
		uint64_t used_ns = 0, taken_ns = 0;

		has_emptied = false;
		for (size_t i = span->first_wait; i < span->end_wait; i++)
			if (blocked_ns[i] &&
			    is_busy(&e->waits.items[i], &seen[i - span->first_wait]))
				used_ns += seen[i - span->first_wait].used_ns;
		for (size_t i = span->first_wait; used_ns && i < span->end_wait; i++) {
			uint64_t cut = part_of(seen[i - span->first_wait].used_ns, excess, used_ns);

			if (!blocked_ns[i] ||
			    !is_busy(&e->waits.items[i], &seen[i - span->first_wait]))
				continue;
			has_emptied |= cut >= blocked_ns[i];
			cut = cut < blocked_ns[i] ? cut : blocked_ns[i];
			blocked_ns[i] -= cut;
			taken_ns += cut;
		}
		excess -= taken_ns;
	}
	return excess;
}

/* Leaves `limit` of all waits that are sleeps, or of those that are none, each with its part. */
static void kind_cut(const struct sn_experiment *e, const struct span *span, bool is_sleep,
		     uint64_t sum, uint64_t limit, uint64_t *blocked_ns)
{
	for (size_t i = span->first_wait; i < span->end_wait; i++)
		if ((e->waits.items[i].kind == SN_WAIT_SLEEP) == is_sleep)
			blocked_ns[i] = part_of(blocked_ns[i], limit, sum);
}

/*
 * Where CPU time was used, the thread waited for a CPU, too: what is too much lies there first. A sleep gives last: it ends by
 * the clock, so only its very end can have waited for a CPU.
 */
static void span_cut(const struct sn_experiment *e, const struct span *span, uint64_t sum,
		     uint64_t limit, uint64_t *blocked_ns)
{
	struct seen *seen = sn_alloc_zeroed(span->end_wait - span->first_wait + 1, sizeof(*seen));
	uint64_t left, slept = 0;

	seen_find(e, span, seen);
	left = limit + busy_cut(e, span, seen, sum - limit, blocked_ns);
	free(seen);
	if (left <= limit)
		return;
	for (size_t i = span->first_wait; i < span->end_wait; i++)
		if (e->waits.items[i].kind == SN_WAIT_SLEEP &&
		    __builtin_add_overflow(slept, blocked_ns[i], &slept))
			slept = UINT64_MAX;
	slept = slept < left ? slept : left;
	kind_cut(e, span, false, left - slept, limit > slept ? limit - slept : 0, blocked_ns);
	if (slept > limit)
		kind_cut(e, span, true, slept, limit, blocked_ns);
}

/* Both arrays are sorted by thread, then time. */
void sn_blocked_find(const struct sn_experiment *e, uint64_t *blocked_ns)
{
	struct span span = { 0 };

	for (; span.first_wait < e->waits.count; span.first_wait = span.end_wait) {
		uint32_t thread = e->waits.items[span.first_wait].thread;
		int64_t limit = thread < e->threads.count
					? blocked_limit_ns(&e->threads.items[thread].account)
					: -1;
		uint64_t sum = 0;

		for (span.end_wait = span.first_wait;
		     span.end_wait < e->waits.count &&
		     e->waits.items[span.end_wait].thread == thread;
		     span.end_wait++) {
			uint64_t ns = e->waits.items[span.end_wait].duration_ns;

			blocked_ns[span.end_wait] = ns;
			if (e->waits.items[span.end_wait].is_sum) /* cut before they were summed */
				limit = -1;
			if (__builtin_add_overflow(sum, ns, &sum))
				sum = UINT64_MAX;
		}
		span.first_sample = span.end_sample;
		while (span.first_sample < e->samples.count &&
		       e->samples.items[span.first_sample].thread < thread)
			span.first_sample++;
		span.end_sample = span.first_sample;
		while (span.end_sample < e->samples.count &&
		       e->samples.items[span.end_sample].thread == thread)
			span.end_sample++;
		if (limit >= 0 && sum > (uint64_t)limit)
			span_cut(e, &span, sum, (uint64_t)limit, blocked_ns);
	}
}

uint64_t sn_blocked_part(const struct sn_profile *profile, const struct sn_wait *wait, uint64_t ns)
{
	uint64_t blocked = profile->blocked_ns[wait - profile->experiment->waits.items];

	return blocked == wait->duration_ns ? ns : part_of(ns, blocked, wait->duration_ns);
}
