/* Calls that may block, measured by themselves in threads that a CPU timer samples. The timer's
 * tick cannot come while the kernel switches threads, so such calls are met too seldom
 * (docs/method/sampling.md). Now and then one is timed by the thread's CPU clock, and is a sample
 * that stands for those in between; ticks within them are none. */
#include "runtime/clock/clock.h"

#include "runtime/calls/calls.h"

enum { GAP_MOST = 4096, COST_TRIES = 8, ALL_THAT_BLOCK = (1u << SN_WAIT_KINDS) - 1 };

/* Each function counts for itself, so that each has its share of those that are timed. */
static uint32_t *calls_left(struct sn_thread *self, const void *function)
{
	struct sn_clock *clock = sn_clock_of(self);

	return &clock->calls_left[((uintptr_t)function >> 4) % SN_CALL_SLOTS];
}

/* From half of the mean to three halves: nothing that the program repeats is in step. */
static uint32_t draw_next(struct sn_thread *self)
{
	struct sn_clock *clock = sn_clock_of(self);
	uint32_t half = clock->call_gap / 2;

	clock->rng = clock->rng * 1664525u + 1013904223u;
	return clock->call_gap - half + (uint32_t)(((uint64_t)clock->rng * (2 * half + 1)) >> 32);
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
	clock->call_probed_ns = before_ns;
	clock->in_call = clock->call_begin = 0;
	clock->call_gap = 1;
	for (int i = 0; i < SN_CALL_SLOTS; i++)
		clock->calls_left[i] = 1;
	if (sn_config.settings.wait_min_ns)
		sn_calls_ask(self, &sn_clock_collector, ALL_THAT_BLOCK, true);
}

void sn_clock_leave_calls(struct sn_thread *self)
{
	struct sn_clock *clock = sn_clock_of(self);

	sn_calls_ask(self, &sn_clock_collector, ALL_THAT_BLOCK, false);
	clock->call_gap = 0;
	clock->in_call = 0;
}

void sn_clock_before_call(struct sn_thread *self, const struct sn_call *call)
{
	struct sn_clock *clock = sn_clock_of(self);
	uint32_t *left = calls_left(self, call->function);

	clock->in_call = call->begin;
	if (*left > 1) {
		--*left;
		return;
	}
	if (sn_state->is_sealed || sn_is_paused())
		return;
	clock->call_begin = call->begin;
	clock->call_cpu_ns = sn_thread_cpu_ns(0);
}

/* One in a period of CPU time, or each where they are fewer: 2 to 4 us each. */
static void adapt(struct sn_thread *self, int64_t now_cpu_ns)
{
	struct sn_clock *clock = sn_clock_of(self);
	int64_t since_ns = now_cpu_ns - clock->call_probed_ns;
	int64_t wanted_ns = (int64_t)sn_config.settings.period_ns;

	clock->call_probed_ns = now_cpu_ns;
	if (since_ns < wanted_ns / 2 && clock->call_gap < GAP_MOST)
		clock->call_gap *= 2;
	else if (since_ns > wanted_ns * 2 && clock->call_gap > 1)
		clock->call_gap /= 2;
}

/* The call was timed: it is a sample. */
static void sample_call(struct sn_thread *self, const struct sn_call *call)
{
	struct sn_clock *clock = sn_clock_of(self);
	int64_t now_ns = sn_now_ns(), now_cpu_ns = sn_thread_cpu_ns(0);
	int64_t used_ns = now_cpu_ns - clock->call_cpu_ns - clock->call_cost_ns;
	struct sn_unwind_regs regs;

	if (used_ns > 0) {
		sn_unwind_regs_here(&regs);
		uint32_t stack = sn_stack_capture(self, &regs, (uint64_t)(uintptr_t)call->function,
						  false, now_ns);
		sn_sample_emit(self, stack, now_ns, used_ns * clock->call_gap, SN_SAMPLE_SYSTEM);
	}
	adapt(self, now_cpu_ns);
	*calls_left(self, call->function) = draw_next(self);
	sn_count_overhead(now_ns);
}

void sn_clock_after_call(struct sn_thread *self, const struct sn_call *call)
{
	struct sn_clock *clock = sn_clock_of(self);

	if (clock->in_call != call->begin)
		return; /* a signal's handler has called something meanwhile */
	clock->in_call = 0;
	if (clock->call_begin != call->begin || !clock->call_gap)
		return;
	clock->call_begin = 0;
	if (sn_state->is_sealed || sn_is_paused() || !sn_enter(self))
		return;
	sample_call(self, call);
	sn_leave(self);
}
