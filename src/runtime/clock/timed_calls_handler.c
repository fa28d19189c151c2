/*
 * Calls that may block, and the code between them, in threads that a CPU timer samples.
 *
 * The timer's tick cannot come while the kernel switches threads, so calls that block are met too
 * seldom (docs/method/sampling.md). Three figures are better than ticks:
 *
 *   T  CPU time of the thread, by its clock
 *   B  time between calls, by the time-stamp counter, which each wrapped call reads anyway
 *   t  CPU time of some calls: a reading of the clock before and after
 *
 * Ticks between calls share B. The timed calls share T - B: each claims what it used times the calls
 * that it stands for, and what they miss together, as reading the clock costs more in its place
 * than in a loop, is given to each alike.
 */
#include "runtime/clock/clock.h"

enum {
	GAP_MOST = 4096,
	COST_TRIES = 8,
	LOOK_EVERY = 64,    /* calls of a function: a look costs 0.3 us, a switch with an event 5 */
	REPAY = 8,	    /* timed calls that make up for what they missed, a part each */
	MEAN_OF_TICKS = 16, /* over which the mean of all calls is taken */
	MEAN_OF_CALLS = 8,  /* over which that of a function is */
	USED_MOST_NS = 100000000,
};

/* The next of the function to be timed: after half of the gap to three halves, so that nothing that
 * the program repeats is in step. */
static void draw_next(struct sn_thread *self, const void *function)
{
	struct sn_clock *clock = sn_clock_of(self);
	uint32_t gap = clock->call_gap[sn_call_slot(function)], half = gap / 2;

	clock->rng = clock->rng * 1664525u + 1013904223u;
	sn_calls_skip(self, function,
		      gap - half + (uint32_t)(((uint64_t)clock->rng * (2 * half + 1)) >> 32));
}

void sn_clock_time_calls(struct sn_thread *self)
{
	struct sn_clock *clock = sn_clock_of(self);
	int64_t least_ns = INT64_MAX, before_ns = sn_thread_cpu_ns(0);

	for (int i = 0; i < COST_TRIES; i++) {
		int64_t now_ns = sn_thread_cpu_ns(0);
		if (now_ns - before_ns < least_ns)
			least_ns = now_ns - before_ns;
		before_ns = now_ns;
	}
	clock->call_cost_ns = least_ns;
	clock->call_begin = 0;
	clock->times_calls = sn_config.settings.wait_min_ns != 0; /* else no call is seen */
	for (int i = 0; i < SN_CALL_SLOTS; i++) {
		clock->call_gap[i] = 1;
		clock->call_used[i] = 0;
	}
	clock->has_looked = 0;
	clock->between_ns = clock->calls_ns = clock->repay_ns = 0;
	if (clock->times_calls)
		sn_calls_ask_some(self, &sn_clock_collector, true);
}

void sn_clock_watch_calls(struct sn_thread *self)
{
	sn_clock_of(self)->times_calls = 0;
	sn_calls_ask_some(self, &sn_clock_collector, true);
}

/* ---- at ticks ---- */

static int64_t clamp(int64_t value, int64_t low, int64_t high)
{
	return value < low ? low : value > high ? high : value;
}

static double ns_per_tick(uint64_t now)
{
	return (double)(sn_now_ns() - sn_config.start_tsc_ns) / (double)(now - sn_config.start_tsc);
}

/* What was between calls of `used_ns` of CPU time. The counter runs on while the thread is
 * preempted, and while it waits in a call that does not pass our wrappers: then the calls are taken
 * to have been as long as they mostly are. */
static int64_t between_of(struct sn_clock *clock, const struct sn_calls_part *part, int64_t used_ns,
			  uint64_t preemptions, double rate)
{
	double wall_ns = (double)(part->between - clock->looked_between) * rate;
	double calls = (double)(part->blocking_count - clock->looked_calls);
	double left_ns = (double)used_ns - wall_ns;
	bool was_away = part->long_count != clock->looked_long_count &&
			preemptions != clock->looked_preemptions;

	if (left_ns < 0 || was_away) {
		double likely_ns = (double)used_ns - calls * clock->call_mean_ns;
		return clamp((int64_t)(likely_ns < wall_ns ? likely_ns : wall_ns), 0, used_ns);
	}
	if (calls > 0)
		clock->call_mean_ns +=
			clock->call_mean_ns > 0
				? (left_ns / calls - clock->call_mean_ns) / MEAN_OF_TICKS
				: left_ns / calls;
	return (int64_t)wall_ns;
}

/* Shares what was used since the tick before out to calls and what is between them. */
static void share_out(struct sn_thread *self, int64_t used_ns, uint64_t preemptions, uint64_t now)
{
	struct sn_clock *clock = sn_clock_of(self);
	struct sn_calls_part *part = sn_calls_part_of(self);
	bool has_called = part->last_end > clock->looked || part->in_call;
	int64_t between_ns = used_ns;

	if (!part->in_call) { /* and what is left of it is counted from here */
		sn_calls_add_between(part, now - part->last_end);
		part->last_end = now;
	}
	if (has_called)
		between_ns = between_of(clock, part, used_ns, preemptions, ns_per_tick(now));
	clock->between_ns += between_ns;
	clock->calls_ns += used_ns - between_ns;
	clock->repay_ns = clock->calls_ns / REPAY;
}

int64_t sn_clock_claim_tick(struct sn_thread *self, int64_t unclaimed_ns, uint64_t preemptions,
			    bool is_call)
{
	struct sn_clock *clock = sn_clock_of(self);
	struct sn_calls_part *part = sn_calls_part_of(self);
	uint64_t now = __builtin_ia32_rdtsc();
	int64_t cpu_ns =
			unclaimed_ns + (int64_t)(clock->claimed_user_ns + clock->claimed_system_ns),
		claim_ns = unclaimed_ns;

	if (clock->has_looked && clock->times_calls) {
		share_out(self, cpu_ns - clock->looked_cpu_ns, preemptions, now);
		/* of a tick in a signal's handler within a call, what the call has used */
		int64_t *left_ns = part->in_call ? &clock->calls_ns : &clock->between_ns;
		claim_ns = part->in_call && is_call ? 0 : clamp(*left_ns, 0, unclaimed_ns);
		*left_ns -= claim_ns;
	}
	clock->has_looked = 1;
	clock->looked_cpu_ns = cpu_ns;
	clock->looked = now;
	clock->looked_between = part->between;
	clock->looked_long_count = part->long_count;
	clock->looked_calls = part->blocking_count;
	clock->looked_preemptions = preemptions;
	return claim_ns;
}

/* ---- at calls ---- */

void sn_clock_before_call(struct sn_thread *self, const struct sn_call *call)
{
	struct sn_clock *clock = sn_clock_of(self);

	if (!clock->times_calls)
		return;
	if (sn_state->is_sealed || sn_is_paused()) {
		draw_next(self, call->function);
		return;
	}
	clock->call_begin = call->begin;
	clock->call_cpu_ns = sn_thread_cpu_ns(0);
}

/* So that each timed call claims about a period: one costs 2 to 4 us. */
static void adapt(struct sn_thread *self, const void *function, int64_t used_ns)
{
	struct sn_clock *clock = sn_clock_of(self);
	unsigned slot = sn_call_slot(function);
	int64_t mean_ns = clock->call_used[slot];

	mean_ns += (clamp(used_ns, 0, USED_MOST_NS) - mean_ns) / MEAN_OF_CALLS;
	clock->call_used[slot] = (uint32_t)mean_ns;
	clock->call_gap[slot] =
		(uint32_t)clamp((int64_t)sn_events_asked_ns(self) / (mean_ns + 1), 1, GAP_MOST);
}

/* The call was timed: it is a sample. */
static void sample_call(struct sn_thread *self, const struct sn_call *call)
{
	struct sn_clock *clock = sn_clock_of(self);
	int64_t now_ns = sn_now_ns(), now_cpu_ns = sn_thread_cpu_ns(0);
	int64_t used_ns = now_cpu_ns - clock->call_cpu_ns - clock->call_cost_ns;
	int64_t most_ns = (int64_t)sn_events_asked_ns(self) / 2;
	int64_t claim_ns = used_ns * clock->call_gap[sn_call_slot(call->function)] +
			   clamp(clock->repay_ns, -most_ns, most_ns);
	struct sn_unwind_regs regs;

	if (claim_ns > 0) {
		sn_unwind_regs_here(&regs);
		uint32_t stack = sn_stack_capture(self, &regs, (uint64_t)(uintptr_t)call->function,
						  false, now_ns);
		sn_sample_emit(self, stack, now_ns, claim_ns, SN_SAMPLE_SYSTEM);
		clock->calls_ns -= claim_ns;
	}
	adapt(self, call->function, used_ns);
	draw_next(self, call->function);
	atomic_fetch_add_explicit(&sn_header()->overhead_ns, (uint64_t)clock->call_cost_ns,
				  memory_order_relaxed); /* the first reading */
	sn_count_overhead(now_ns);
}

static void watch_call(struct sn_thread *self, const struct sn_call *call)
{
	sn_calls_skip(self, call->function, LOOK_EVERY);
	if (sn_clock_of(self)->mechanism != SN_MECHANISM_PERF_SIGNAL || sn_state->is_sealed ||
	    sn_is_paused() || !sn_enter_call(self))
		return;
	sn_sample_look_at_switches(self);
	sn_leave_call(self);
}

void sn_clock_after_call(struct sn_thread *self, const struct sn_call *call)
{
	struct sn_clock *clock = sn_clock_of(self);

	if (!clock->times_calls) {
		watch_call(self, call);
		return;
	}
	if (clock->call_begin == call->begin && !sn_state->is_sealed && !sn_is_paused() &&
	    sn_enter_call(self)) {
		sample_call(self, call);
		sn_leave_call(self);
	} else { /* a signal's handler has called something meanwhile */
		draw_next(self, call->function);
	}
	clock->call_begin = 0;
}
