/* Calls that may block, measured by themselves in threads that a CPU timer samples. The timer's
 * tick cannot come while the kernel switches threads, so such calls are met too seldom
 * (docs/method/sampling.md). Now and then one is timed by the thread's CPU clock, and is a sample
 * that stands for those in between; ticks within them are none. */
#include "runtime/clock/clock.h"

enum { GAP_MOST = 4096, COST_TRIES = 8 };

/* Each function counts for itself, so that each has its share of those that are timed. */
static uint32_t *calls_left(struct sn_thread *self, const void *function)
{
	return &self->calls_left[((uintptr_t)function >> 4) % SN_CALL_SLOTS];
}

/* From half of the mean to three halves: nothing that the program repeats is in step. */
static uint32_t draw_next(struct sn_thread *self)
{
	uint32_t half = self->call_gap / 2;

	self->rng = self->rng * 1664525u + 1013904223u;
	return self->call_gap - half + (uint32_t)(((uint64_t)self->rng * (2 * half + 1)) >> 32);
}

void sn_calls_start(struct sn_thread *self)
{
	int64_t least_ns = INT64_MAX, before_ns = sn_thread_cpu_ns(0);

	for (int i = 0; i < COST_TRIES; i++) {
		int64_t now_ns = sn_thread_cpu_ns(0);
		if (now_ns - before_ns < least_ns)
			least_ns = now_ns - before_ns;
		before_ns = now_ns;
	}
	self->call_cost_ns = least_ns;
	self->call_probed_ns = before_ns;
	self->in_call = self->call_begin = 0;
	self->call_gap = 1;
	for (int i = 0; i < SN_CALL_SLOTS; i++)
		self->calls_left[i] = 1;
}

void sn_calls_stop(struct sn_thread *self)
{
	self->call_gap = 0;
	self->in_call = 0;
}

void sn_call_begin(struct sn_thread *self, uint64_t begin, void *function)
{
	uint32_t *left = calls_left(self, function);

	self->in_call = begin;
	if (*left > 1) {
		--*left;
		return;
	}
	if (sn_state->is_sealed || sn_is_paused())
		return;
	self->call_begin = begin;
	self->call_cpu_ns = sn_thread_cpu_ns(0);
}

/* One in a period of CPU time, or each where they are fewer: 2 to 4 us each. */
static void adapt(struct sn_thread *self, int64_t now_cpu_ns)
{
	int64_t since_ns = now_cpu_ns - self->call_probed_ns;
	int64_t wanted_ns = (int64_t)sn_config.settings.period_ns;

	self->call_probed_ns = now_cpu_ns;
	if (since_ns < wanted_ns / 2 && self->call_gap < GAP_MOST)
		self->call_gap *= 2;
	else if (since_ns > wanted_ns * 2 && self->call_gap > 1)
		self->call_gap /= 2;
}

__attribute__((noinline)) void sn_call_end(struct sn_thread *self, void *function)
{
	uint64_t begin = self->in_call;
	struct sn_unwind_regs regs;

	self->in_call = 0;
	if (self->call_begin != begin || !self->call_gap)
		return;
	self->call_begin = 0;
	if (sn_state->is_sealed || sn_is_paused() || !sn_enter(self))
		return;
	int64_t now_ns = sn_now_ns(), now_cpu_ns = sn_thread_cpu_ns(0);
	int64_t used_ns = now_cpu_ns - self->call_cpu_ns - self->call_cost_ns;
	if (used_ns > 0) {
		sn_unwind_regs_here(&regs);
		uint32_t stack =
			sn_stack_capture(self, &regs, (uint64_t)(uintptr_t)function, false, now_ns);
		sn_sample_emit(self, stack, now_ns, used_ns * self->call_gap, SN_SAMPLE_SYSTEM);
	}
	adapt(self, now_cpu_ns);
	*calls_left(self, function) = draw_next(self);
	sn_count_overhead(now_ns);
	sn_leave(self);
}
