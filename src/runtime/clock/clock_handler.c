/* The clock as core knows it. */
#include "runtime/clock/clock.h"

enum { FORK_WORTH_TELLING_NS = 100000 };

static void begin_thread(struct sn_thread *thread, enum sn_thread_origin origin)
{
	struct sn_clock *clock = sn_clock_of(thread);

	clock->rng = (uint32_t)thread->start_ns ^ (uint32_t)thread->tid * 2654435761u;
	clock->handler_count = clock->rng >> 28; /* which handlers are timed */
	if (origin == SN_THREAD_MAIN && sn_header()->origin == SN_DATA_ORIGIN_EXEC) {
		clock->before_user_ns = (int64_t)sn_config.settings.used_user_ns;
		clock->before_system_ns = (int64_t)sn_config.settings.used_system_ns;
	}
	if (origin == SN_THREAD_AWAITED) /* what it used before us */
		sn_sample_remainder(thread, &thread->writer, thread->start_ns, 0);
}

/* Of a thread that no sample has met all that is known is its start routine. What a thread that was
 * met has left over is spread over what it was met in (docs/method/time.md). */
static uint32_t start_stack(struct sn_thread *self, int64_t now_ns)
{
	struct sn_clock *clock = sn_clock_of(self);
	uint64_t start = (uint64_t)(uintptr_t)self->start;
	uint32_t root = atomic_load_explicit(&sn_state->thread_root, memory_order_relaxed);

	if (!start || sn_is_own_code(start) || !root ||
	    clock->claimed_user_ns + clock->claimed_system_ns > 0)
		return 0;
	return sn_stack_intern(&self->writer, &start, 1, 0, root, now_ns);
}

static void account(struct sn_thread *thread, struct sn_writer *writer, int64_t now_ns,
		    bool is_ending)
{
	struct sn_clock *clock = sn_clock_of(thread);

	sn_sample_remainder(thread, writer, now_ns, is_ending ? start_stack(thread, now_ns) : 0);
	if (is_ending)
		sn_events_note_ended(clock->claimed_user_ns + clock->claimed_system_ns);
}

/* The kernel's work at the end of threads is nobody's that lives. */
static void image_end(struct sn_thread *self, int64_t now_ns)
{
	int64_t left_ns;

	if (!self || !sn_config.settings.period_ns || sn_is_paused() ||
	    sn_clock_of(self)->was_paused)
		return;
	left_ns = sn_events_after_ends_ns();
	if (left_ns)
		sn_writer_sample(&self->writer, now_ns, (uint64_t)left_ns, 0, 0,
				 SN_SAMPLE_REMAINDER | SN_SAMPLE_SYSTEM);
}

/* What the child has used so far went into the fork, which is where it stands. */
static void account_for_fork(struct sn_thread *self, const void *function)
{
	struct sn_unwind_regs regs;
	int64_t now_ns = sn_now_ns();

	if (!sn_config.settings.period_ns || sn_sample_unclaimed_ns(self) < FORK_WORTH_TELLING_NS ||
	    !sn_enter_call(self))
		return;
	sn_unwind_regs_here(&regs);
	uint32_t stack =
		sn_stack_capture(self, &regs, (uint64_t)(uintptr_t)function, false, now_ns);
	sn_sample_remainder(self, &self->writer, now_ns, stack);
	sn_leave_call(self);
}

/* A monitor has the sources off: what is used until they are on belongs to nobody. */
static bool is_held(struct sn_thread *thread)
{
	if (!sn_config.settings.is_monitored || !sn_is_paused())
		return false;
	sn_clock_of(thread)->was_paused = 1;
	return true;
}

static bool resume(struct sn_thread *thread)
{
	return is_held(thread) || sn_events_start(thread);
}

static void pause_thread(struct sn_thread *thread)
{
	is_held(thread);
	sn_events_stop(thread);
}

struct sn_collector sn_clock_collector = {
	.name = "clock",
	.thread_bytes = sizeof(struct sn_clock),
	.install = sn_clock_install,
	.fork = account_for_fork,
	.seal = sn_sample_before_seal,
	.image_end = image_end,
	.thread_begin = begin_thread,
	.resume = resume,
	.call_in = sn_events_call_in,
	.pause = pause_thread,
	.account = account,
	.late = sn_sample_late,
	.cost = sn_events_count_switches,
	.before_call = sn_clock_before_call,
	.after_call = sn_clock_after_call,
};
