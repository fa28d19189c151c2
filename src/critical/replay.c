/*
 * Lets the run pass once more with a function made faster. Each lane goes as it went, less what it saves; a
 * wait ends when the lane that ended it comes there, in its new time. Moments are taken in the order of the
 * recorded time, as whatever a moment depends on lies before it.
 */
#include <stdlib.h>

#include "base/alloc.h"
#include "critical/parts.h"

/* How far a lane has come, in the recorded time and in the new one, and where it is in its records. */
struct progress {
	int64_t was_ns, is_ns;
	size_t samples_begin, sample, samples_end, wait, waits_end; /* of the experiment's */
	size_t sample_wait;
	uint32_t call, sample_call, wait_call;
};

struct replay {
	const struct sn_critical *critical;
	const struct sn_critical_graph *graph;
	enum sn_critical_kind kind;
	uint32_t function;
	struct progress *lanes;
	int64_t *given_ns; /* by bound: the new time at which it is given */
};

static int moments_compare(const void *a, const void *b)
{
	const struct sn_critical_moment *x = a, *y = b;

	if (x->ns != y->ns)
		return x->ns < y->ns ? -1 : 1;
	if (x->kind != y->kind)
		return x->kind < y->kind ? -1 : 1;
	return (x->index > y->index) - (x->index < y->index);
}

/* ---- what a lane saves ---- */

static bool is_it(const struct replay *replay, struct sn_site site)
{
	return site.function == replay->function;
}

/* Whether a moment lies in a call of the lane; `call` moves on with it. */
static bool is_in_call(const struct replay *replay, uint32_t lane, uint32_t *call, int64_t ns)
{
	const struct sn_critical_call *calls = replay->critical->calls.items;
	uint32_t end = replay->graph->lanes.items[lane].last_call;

	while (*call < end && calls[*call].t1_ns < ns)
		++*call;
	return *call < end && calls[*call].t0_ns < ns;
}

/* Of the time until `to` that is spent in calls. */
static int64_t in_calls(struct replay *replay, uint32_t lane, int64_t to)
{
	struct progress *at = &replay->lanes[lane];
	uint32_t end = replay->graph->lanes.items[lane].last_call;
	int64_t sum = 0;

	while (at->call < end && replay->critical->calls.items[at->call].t0_ns < to) {
		const struct sn_critical_call *call = &replay->critical->calls.items[at->call];
		int64_t t0 = call->t0_ns > at->was_ns ? call->t0_ns : at->was_ns;
		int64_t t1 = call->t1_ns < to ? call->t1_ns : to;

		sum += t1 > t0 ? t1 - t0 : 0;
		if (call->t1_ns > to)
			break;
		at->call++;
	}
	return sum;
}

static struct sn_site sample_site(const struct replay *replay, size_t sample)
{
	return sn_critical_site(replay->critical, replay->graph->e->samples.items[sample].stack);
}

/* Where the lane is in a piece of time without samples: in the next sample, as a sample stands for the time before
 * it, or in the last one, unless a call lies between; then in the function that makes the next call, as on the path. */
static struct sn_site site_between_samples(const struct replay *replay, uint32_t lane)
{
	static const struct sn_site nowhere = { SN_NONE, SN_NONE };
	const struct sn_experiment *e = replay->graph->e;
	const struct sn_critical_call *calls = replay->critical->calls.items;
	const struct progress *at = &replay->lanes[lane];
	const struct sn_critical_lane *of = &replay->graph->lanes.items[lane];
	size_t next = at->sample;
	int64_t before_ns = at->call > of->first_call ? calls[at->call - 1].t1_ns : INT64_MIN;

	while (next < at->samples_end && e->samples.items[next].stack == SN_NONE)
		next++;
	if (next < at->samples_end &&
	    (at->call == of->last_call || e->samples.items[next].time_ns <= calls[at->call].t0_ns))
		return sample_site(replay, next);
	if (at->sample > at->samples_begin && e->samples.items[at->sample - 1].stack != SN_NONE &&
	    e->samples.items[at->sample - 1].time_ns > before_ns)
		return sample_site(replay, at->sample - 1);
	return at->call < of->last_call ? calls[at->call].site : nowhere;
}

/* Time until `to` in blocking calls that are no calls of the lane. Gives what the function has of it, of this kind. */
static double blocked_until(struct replay *replay, uint32_t lane, int64_t to, double *all)
{
	const struct sn_experiment *e = replay->graph->e;
	struct progress *at = &replay->lanes[lane];
	double own = 0;

	*all = 0;
	for (; at->wait < at->waits_end; at->wait++) {
		const struct sn_wait *wait = &e->waits.items[at->wait];

		if (wait->time_ns + (int64_t)wait->duration_ns > to)
			break;
		/* the call's wrapper may begin a little later */
		if (is_in_call(replay, lane, &at->wait_call,
			       wait->time_ns + (int64_t)wait->duration_ns / 2))
			continue;
		*all += (double)wait->duration_ns;
		if (sn_critical_kind_of(wait->kind) == replay->kind &&
		    is_it(replay, sn_critical_site(replay->critical, wait->stack)))
			own += (double)wait->duration_ns;
	}
	return own;
}

/* Whether the thread was in a blocking call; `wait` moves on with it. */
static bool is_blocked(const struct replay *replay, uint32_t lane, size_t *wait, int64_t ns)
{
	const struct sn_wait *waits = replay->graph->e->waits.items;
	size_t end = replay->lanes[lane].waits_end;

	while (*wait < end && waits[*wait].time_ns + (int64_t)waits[*wait].duration_ns < ns)
		++*wait;
	return *wait < end && waits[*wait].time_ns < ns;
}

/* Half of what the function has of the time until `to`, without calls that blocked: as much as of the samples'
 * CPU time. */
static int64_t computing_saved(struct replay *replay, uint32_t lane, int64_t to)
{
	const struct sn_experiment *e = replay->graph->e;
	struct progress *at = &replay->lanes[lane];
	double own = 0, all = 0, blocked, computed;

	for (; at->sample < at->samples_end && e->samples.items[at->sample].time_ns <= to;
	     at->sample++) {
		const struct sn_sample *sample = &e->samples.items[at->sample];

		if (sample->stack == SN_NONE ||
		    is_in_call(replay, lane, &at->sample_call, sample->time_ns) ||
		    is_blocked(replay, lane, &at->sample_wait, sample->time_ns))
			continue;
		all += (double)sample->cpu_ns;
		if (is_it(replay, sn_critical_site(replay->critical, sample->stack)))
			own += (double)sample->cpu_ns;
	}
	blocked_until(replay, lane, to, &blocked);
	computed = (double)(to - at->was_ns - in_calls(replay, lane, to)) - blocked;
	if (all <= 0) {
		all = 1;
		own = is_it(replay, site_between_samples(replay, lane));
	}
	return computed > 0 && all > 0 ? (int64_t)(computed * own / all / 2) : 0;
}

/* Of calls until `to`: half of what lies beside the waiting. */
static int64_t calls_saved(struct replay *replay, uint32_t lane, int64_t to)
{
	struct progress *at = &replay->lanes[lane];
	uint32_t end = replay->graph->lanes.items[lane].last_call;
	double all;
	int64_t saved = (int64_t)(blocked_until(replay, lane, to, &all) / 2);

	for (; at->call < end; at->call++) {
		const struct sn_critical_call *call = &replay->critical->calls.items[at->call];
		int64_t since = call->t0_ns > at->was_ns ? call->t0_ns : at->was_ns;
		int64_t until = call->t1_ns < to ? call->t1_ns : to;

		if (call->kind == replay->kind && is_it(replay, call->site) && until > since)
			saved += (until - since) / 2;
		if (call->t1_ns > to)
			break;
	}
	return saved;
}

/* The lane goes on, in the recorded time, to `to`. */
static void advance(struct replay *replay, uint32_t lane, int64_t to)
{
	struct progress *at = &replay->lanes[lane];
	int64_t passed = to - at->was_ns, saved;

	if (passed <= 0)
		return;
	saved = replay->kind == SN_CRITICAL_COMPUTE ? computing_saved(replay, lane, to)
						    : calls_saved(replay, lane, to);
	at->is_ns += passed - (saved < passed ? saved : passed);
	at->was_ns = to;
}

/* The lane waits until another one, in its new time, has come to this moment. */
static void hold_until(struct replay *replay, uint32_t lane, int64_t ns, int64_t new_ns)
{
	struct progress *at = &replay->lanes[lane];

	if (ns < at->was_ns)
		return;
	at->was_ns = ns;
	at->is_ns = at->is_ns > new_ns ? at->is_ns : new_ns;
}

/* ---- moments ---- */

static size_t meeting_end(const struct sn_critical_graph *graph, size_t first)
{
	size_t end = first;

	while (end < graph->members.count &&
	       graph->members.items[end].meeting == graph->members.items[first].meeting)
		end++;
	return end;
}

static void moment_add(struct sn_critical_graph *graph, int64_t ns,
		       enum sn_critical_moment_kind kind, size_t index)
{
	sn_vec_push(&graph->moments, (struct sn_critical_moment){ ns, kind, (uint32_t)index });
}

void sn_critical_moments_gather(struct sn_critical_graph *graph)
{
	for (size_t l = 0; l < graph->lanes.count; l++)
		moment_add(graph, graph->lanes.items[l].start_ns, SN_CRITICAL_LANE_STARTS, l);
	for (size_t w = 0; w < graph->waits.count; w++)
		moment_add(graph, graph->waits.items[w].released_ns, SN_CRITICAL_WAIT_ENDS, w);
	for (size_t b = 0; b < graph->bounds.count; b++) {
		moment_add(graph, graph->bounds.items[b].given_ns, SN_CRITICAL_BOUND_IS_GIVEN, b);
		moment_add(graph, graph->bounds.items[b].came_ns, SN_CRITICAL_BOUND_IS_USED, b);
	}
	for (size_t first = 0, end; first < graph->members.count; first = end) {
		int64_t last_ns = INT64_MIN;

		end = meeting_end(graph, first);
		for (size_t m = first; m < end; m++)
			if (graph->members.items[m].gives &&
			    graph->members.items[m].came_ns > last_ns)
				last_ns = graph->members.items[m].came_ns;
		moment_add(graph, last_ns, SN_CRITICAL_MEETING_IS_FULL, first);
	}
	if (graph->moments.count)
		qsort(graph->moments.items, graph->moments.count, sizeof(*graph->moments.items),
		      moments_compare);
}

static void lane_start(struct replay *replay, uint32_t lane)
{
	const struct sn_critical_lane *of = &replay->graph->lanes.items[lane];
	struct progress *at = &replay->lanes[lane];

	at->was_ns = at->is_ns = of->start_ns;
	if (of->maker == SN_NONE)
		return;
	advance(replay, of->maker, of->start_ns);
	at->is_ns = replay->lanes[of->maker].is_ns;
}

static void meeting_pass(struct replay *replay, size_t first, int64_t ns)
{
	const struct sn_critical_graph *graph = replay->graph;
	size_t end = meeting_end(graph, first);
	int64_t last_ns = INT64_MIN;

	for (size_t m = first; m < end; m++) {
		const struct sn_critical_member *member = &graph->members.items[m];

		if (member->came_ns > ns)
			continue; /* it found all there */
		advance(replay, member->lane, member->came_ns);
		if (member->gives && replay->lanes[member->lane].is_ns > last_ns)
			last_ns = replay->lanes[member->lane].is_ns;
	}
	for (size_t m = first; m < end; m++)
		if (graph->members.items[m].takes && graph->members.items[m].came_ns <= ns)
			hold_until(replay, graph->members.items[m].lane, ns, last_ns);
}

static void moment_pass(struct replay *replay, const struct sn_critical_moment *moment)
{
	const struct sn_critical_wait *wait;
	const struct sn_critical_bound *bound;

	switch (moment->kind) {
	case SN_CRITICAL_LANE_STARTS:
		lane_start(replay, moment->index);
		break;
	case SN_CRITICAL_MEETING_IS_FULL:
		meeting_pass(replay, moment->index, moment->ns);
		break;
	case SN_CRITICAL_WAIT_ENDS:
		wait = &replay->graph->waits.items[moment->index];
		advance(replay, wait->lane, wait->t0_ns);
		advance(replay, wait->by, wait->released_ns);
		hold_until(replay, wait->lane, wait->released_ns, replay->lanes[wait->by].is_ns);
		break;
	case SN_CRITICAL_BOUND_IS_GIVEN:
		bound = &replay->graph->bounds.items[moment->index];
		advance(replay, bound->by, bound->given_ns);
		replay->given_ns[moment->index] = replay->lanes[bound->by].is_ns;
		break;
	case SN_CRITICAL_BOUND_IS_USED:
		bound = &replay->graph->bounds.items[moment->index];
		advance(replay, bound->lane, bound->came_ns);
		hold_until(replay, bound->lane, bound->came_ns, replay->given_ns[moment->index]);
		break;
	}
}

size_t sn_critical_first_of(const void *items, size_t count, size_t item_bytes,
			    size_t thread_offset, uint32_t thread)
{
	size_t low = 0, high = count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const char *item = (const char *)items + middle * item_bytes;

		if (*(const uint32_t *)(const void *)(item + thread_offset) < thread)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static void lanes_open(struct replay *replay)
{
	const struct sn_experiment *e = replay->graph->e;

	for (size_t l = 0; l < replay->graph->lanes.count; l++) {
		const struct sn_critical_lane *lane = &replay->graph->lanes.items[l];
		struct progress *at = &replay->lanes[l];

		at->call = at->sample_call = at->wait_call = lane->first_call;
		at->was_ns = at->is_ns = lane->start_ns;
		if (lane->thread == SN_NONE)
			continue;
		at->sample = sn_critical_first_of(e->samples.items, e->samples.count,
						  sizeof(struct sn_sample),
						  offsetof(struct sn_sample, thread), lane->thread);
		at->samples_begin = at->sample;
		at->samples_end = sn_critical_first_of(
			e->samples.items, e->samples.count, sizeof(struct sn_sample),
			offsetof(struct sn_sample, thread), lane->thread + 1);
		at->wait = at->sample_wait =
			sn_critical_first_of(e->waits.items, e->waits.count, sizeof(struct sn_wait),
					     offsetof(struct sn_wait, thread), lane->thread);
		at->waits_end =
			sn_critical_first_of(e->waits.items, e->waits.count, sizeof(struct sn_wait),
					     offsetof(struct sn_wait, thread), lane->thread + 1);
	}
}

int64_t sn_critical_halved_ns(const struct sn_critical *critical, enum sn_critical_kind kind,
			      uint32_t function)
{
	const struct sn_critical_graph *graph = critical->graph;
	struct replay replay = {
		.critical = critical, .graph = graph, .kind = kind, .function = function
	};
	int64_t latest_ns = 0;

	if (kind >= SN_CRITICAL_NO_CPU || graph->root == SN_NONE)
		return -1;
	replay.lanes = sn_alloc_zeroed(graph->lanes.count + 1, sizeof(*replay.lanes));
	replay.given_ns = sn_alloc_zeroed(graph->bounds.count + 1, sizeof(*replay.given_ns));
	lanes_open(&replay);
	for (size_t i = 0; i < graph->moments.count; i++)
		moment_pass(&replay, &graph->moments.items[i]);
	for (size_t i = 0; i < graph->ends.count; i++) {
		uint32_t lane = graph->ends.items[i];
		uint32_t process = graph->lanes.items[lane].process;
		int64_t end_ns = graph->e->processes.items[process].end_ns;

		advance(&replay, lane, end_ns < graph->end_ns ? end_ns : graph->end_ns);
		if (replay.lanes[lane].is_ns > latest_ns)
			latest_ns = replay.lanes[lane].is_ns;
	}
	free(replay.lanes);
	free(replay.given_ns);
	/* the launcher may have measured a little less than what lies between the first begin and the last end */
	latest_ns += graph->e->elapsed_ns - graph->end_ns;
	return latest_ns > 0 ? latest_ns : 0;
}
