/* From a signal to a sample: what CPU time it claims, and the stack that it is written with. */
#include "runtime/clock/clock.h"

#include <errno.h>
#include <poll.h>
#include <sys/resource.h>
#include <ucontext.h>

#include "runtime/calls/locks.h"
#include "runtime/core/adopt.h"
#include "runtime/core/breakpoints.h"
#include "runtime/core/signals.h"
#include "unwind/insn.h"

enum {
	SYNC_EVERY = 16, /* user samples between looks at the kernel's counts */
	CLOCK_EVERY = 4, /* of those looks, with the CPU clock, if the thread never left its CPU */
	REPAY = 8,	 /* samples that make up for what claims are off, a part each */
	WAITS_PER_CPU_SECOND = 3000,
	SWITCHES_PER_CPU_SECOND = 10000, /* preemptions, too */
	SWITCHES_STRETCH_NS = 200000000,
	/* half of what the rate allows in a whole stretch, and sooner than its half: no need to
	 * wait for its end */
	SWITCHES_STRETCH_MAX = WAITS_PER_CPU_SECOND / 10,
	WAITS_FEW = 1000, /* a second: back to perf events */
	/* samples whose registers are kept: the first, then runs of some in so many */
	REGISTERS_FIRST = 256,
	REGISTERS_RUN = 4,
	REGISTERS_EVERY = 64,
};

/* What the thread has used since its start and no sample has claimed. */
static int64_t unclaimed_ns(const struct sn_thread *thread, int32_t tid)
{
	const struct sn_clock *clock = sn_clock_of(thread);
	int64_t cpu_ns = sn_thread_cpu_ns(tid);

	return cpu_ns < 0 ? 0
			  : cpu_ns - clock->before_user_ns - clock->before_system_ns -
				    clock->paused_ns - sn_collect_left_out_ns(thread) -
				    (int64_t)clock->claimed_user_ns -
				    (int64_t)clock->claimed_system_ns;
}

int64_t sn_sample_unclaimed_ns(const struct sn_thread *self)
{
	return unclaimed_ns(self, 0);
}

struct split {
	int64_t user_ns, system_ns; /* as the kernel splits it, not yet claimed; may be below 0 */
	uint64_t switches, voluntary_switches, faults;
};

/* After the CPU clock was read, so that the kernel's sum is fresh. */
static struct split kernel_split(const struct sn_thread *thread)
{
	const struct sn_clock *clock = sn_clock_of(thread);
	struct rusage usage = { 0 };

	SYS(getrusage, RUSAGE_THREAD, &usage);
	return (struct split){
		.user_ns = usage.ru_utime.tv_sec * 1000000000 + usage.ru_utime.tv_usec * 1000 -
			   clock->before_user_ns - sn_collect_left_out_ns(thread) -
			   (int64_t)clock->claimed_user_ns,
		.system_ns = usage.ru_stime.tv_sec * 1000000000 + usage.ru_stime.tv_usec * 1000 -
			     clock->before_system_ns - (int64_t)clock->claimed_system_ns,
		.switches = (uint64_t)usage.ru_nvcsw + (uint64_t)usage.ru_nivcsw,
		.voluntary_switches = (uint64_t)usage.ru_nvcsw,
		.faults = (uint64_t)usage.ru_minflt + (uint64_t)usage.ru_majflt,
	};
}

static int64_t clamp(int64_t value, int64_t low, int64_t high)
{
	return value < low ? low : value > high ? high : value;
}

/* Every so often: a thread that switches much is better served by a timer. A busy moment (threads
 * starting, one barrier after another) does not count: the rate is that of a stretch of CPU time.
 * Being preempted says how busy the machine is and not what the thread does, unless it is so often
 * that others cannot have used their slices: then it wakes them itself. */
static void look_at_switches(struct sn_thread *self, const struct split *split)
{
	struct sn_clock *clock = sn_clock_of(self);
	int64_t used_ns = split->user_ns + (int64_t)clock->claimed_user_ns + split->system_ns +
			  (int64_t)clock->claimed_system_ns;
	uint64_t stretch_ns =
		used_ns > clock->stretch_used_ns ? (uint64_t)(used_ns - clock->stretch_used_ns) : 0;
	uint64_t all = split->switches - clock->stretch_switches;
	uint64_t waits = split->voluntary_switches - clock->stretch_waits;

	sn_collect_cost(self, split->switches);
	sn_events_count_kernel(self, split->system_ns + (int64_t)clock->claimed_system_ns);
	clock->voluntary_seen = split->voluntary_switches;
	if (stretch_ns < SWITCHES_STRETCH_NS && all <= SWITCHES_STRETCH_MAX)
		return;
	uint64_t all_rate = all * 1000000 / (stretch_ns / 1000 + 1);
	uint64_t wait_rate = waits * 1000000 / (stretch_ns / 1000 + 1);

	if (clock->mechanism == SN_MECHANISM_PERF_SIGNAL && all > SWITCHES_STRETCH_MAX &&
	    (wait_rate > WAITS_PER_CPU_SECOND || all_rate > SWITCHES_PER_CPU_SECOND))
		sn_events_use_timer(self);
	else if (clock->has_left_perf && stretch_ns >= SWITCHES_STRETCH_NS &&
		 wait_rate < WAITS_FEW && all_rate < WAITS_PER_CPU_SECOND)
		sn_events_use_perf(self);
	clock->stretch_used_ns = used_ns;
	clock->stretch_switches = split->switches;
	clock->stretch_waits = split->voluntary_switches;
}

void sn_sample_look_at_switches(struct sn_thread *self)
{
	struct split split = kernel_split(self);

	look_at_switches(self, &split);
}

/* Reading the CPU clock is no harmless look: it makes the kernel book the thread's time and end its
 * slice if that is used up. A thread that waits for a CPU would then lose it at samples, and begin
 * each slice just after one: what it does first in a slice would hardly be seen (decision 0042).
 * So the clock is read where a slice has just begun; in between it cannot be ahead of wall time. */
static int64_t read_clock(struct sn_thread *self, int64_t now_ns)
{
	struct sn_clock *clock = sn_clock_of(self);

	clock->clock_ns = unclaimed_ns(self, 0) + (int64_t)clock->claimed_user_ns +
			  (int64_t)clock->claimed_system_ns;
	clock->clock_read_ns = now_ns;
	return clock->clock_ns;
}

static int64_t clock_at_most(const struct sn_clock *clock, int64_t now_ns)
{
	return clock->clock_ns + now_ns - clock->clock_read_ns;
}

/* A perf event's signal: the thread was computing. Each stands for the mean period, however long
 * ago the one before was; now and then the kernel's split says by how much claims are off, and the
 * next samples make up for it. */
static int64_t claim_user(struct sn_thread *self, int64_t now_ns, uint8_t *flags)
{
	struct sn_clock *clock = sn_clock_of(self);
	int64_t period_ns = (int64_t)sn_events_asked_ns(self);
	int64_t most_ns = sn_events_longest_ns(self) + period_ns;
	int64_t mean_ns = sn_events_mean_ns(self);
	int64_t claimed_ns = (int64_t)(clock->claimed_user_ns + clock->claimed_system_ns);
	bool was_away = now_ns - clock->last_sample_ns > most_ns;

	clock->last_sample_ns = now_ns;
	if (sn_state->is_sealed)
		return mean_ns;
	clock->samples_until_sync--;
	if (!was_away && clock->samples_until_sync % SYNC_EVERY == 0) {
		struct split split = kernel_split(self); /* its times are those of the last tick */
		look_at_switches(self, &split);
	}
	if (!was_away && clock->samples_until_sync > 0) {
		int64_t step = clamp(clock->credit_ns / REPAY, -period_ns / 2, period_ns / 2);
		int64_t cpu_ns = clock_at_most(clock, now_ns);
		int64_t claim_ns = clamp(mean_ns + step, 0, clamp(cpu_ns - claimed_ns, 0, cpu_ns));

		clock->last_cpu_ns = cpu_ns;
		clock->credit_ns -= claim_ns - mean_ns;
		return claim_ns;
	}
	int64_t cpu_ns = read_clock(self, now_ns), since_ns = cpu_ns - clock->last_cpu_ns;
	int64_t pool = cpu_ns - claimed_ns;

	clock->last_cpu_ns = cpu_ns;
	clock->samples_until_sync = SYNC_EVERY * CLOCK_EVERY;
	if (pool <= 0)
		return 0;
	struct split split = kernel_split(self);
	look_at_switches(self, &split);
	if (since_ns > most_ns && split.user_ns > most_ns && pool - split.system_ns > most_ns) {
		/* the signal was blocked while the thread computed */
		*flags |= SN_SAMPLE_LATE;
		clock->credit_ns = 0;
		return clamp(pool - (split.system_ns > 0 ? split.system_ns : 0), 0, pool);
	}
	int64_t claim_ns = clamp(mean_ns, 0, pool);
	clock->credit_ns = split.user_ns - claim_ns;
	return claim_ns;
}

/* The period of a timer, and those that passed without a signal. */
static int64_t sealed_timer_ns(int64_t period_ns, int overrun)
{
	return period_ns * (1 + (overrun > 0 ? overrun : 0));
}

/* What ticks have booked for this thread, unscaled: in user mode, or in all. The CPU time that getrusage gives is the
 * scheduler's, split in proportion to these. -1: not known. (clock_getcpuclockid(3); CPUCLOCK_VIRT and CPUCLOCK_PROF of the
 * kernel's include/linux/posix-timers.h, with the bit of a thread, and its number 0 for the caller.) */
static int64_t booked_ns(bool is_user)
{
	enum { PROF = 0, VIRT = 1, OF_THREAD = 4 };
	struct timespec time;

	if (SYS(clock_gettime, (int)(~0U << 3) | OF_THREAD | (is_user ? VIRT : PROF), &time) != 0)
		return -1;
	return time.tv_sec * 1000000000LL + time.tv_nsec;
}

/* Whether the tick that made this signal, and those since the signal before, found the thread in the kernel more often
 * than not. With one tick a signal that is exact. */
static bool was_booked_as_system(struct sn_clock *clock)
{
	int64_t user_ns = booked_ns(true), all_ns = booked_ns(false);
	int64_t new_user_ns = user_ns - clock->booked_user_ns, new_ns = all_ns - clock->booked_ns;

	clock->booked_user_ns = user_ns;
	clock->booked_ns = all_ns;
	return user_ns < 0 || all_ns < 0 || new_ns <= 0 || 2 * new_user_ns < new_ns;
}

/* Whether the instruction to which a signal returns may have had a page fault for its data. */
static bool may_have_faulted(uint64_t pc)
{
	enum { PAGE = 4096, INSN_MAX = 15 };
	uint64_t available = PAGE - pc % PAGE; /* the next page may not be there */
	struct sn_unwind_insn insn;

	return !sn_unwind_insn_decode((const uint8_t *)pc,
				      available < INSN_MAX ? available : INSN_MAX, &insn) ||
	       sn_unwind_insn_may_access(&insn);
}

/* A tick that found the thread in the kernel claims what no user sample did. In a system call the
 * registers say so. A page fault leaves no trace in them, but it was counted since the tick before,
 * the kernel has just booked the tick as system time, and the instruction that is made again accesses memory. */
static int64_t claim_system(struct sn_thread *self, uint64_t pc, bool is_call, int overrun)
{
	struct sn_clock *clock = sn_clock_of(self);

	if (sn_state->is_sealed)
		return is_call ? sealed_timer_ns(sn_events_tick_ns(), overrun) : 0;
	int64_t pool = unclaimed_ns(self, 0);
	struct split split = kernel_split(self);
	bool is_system = was_booked_as_system(clock);

	look_at_switches(self, &split);
	clock->credit_ns = clamp(split.user_ns, -100000000, 100000000);
	bool has_faulted = split.faults != clock->faults_seen;
	clock->faults_seen = split.faults;
	if (!is_call && (!has_faulted || !is_system || !may_have_faulted(pc)))
		return 0;
	return clamp(split.system_ns, 0, pool > 0 ? pool : 0);
}

void sn_sample_emit(struct sn_thread *self, uint32_t stack, int64_t now_ns, int64_t cpu_ns,
		    uint8_t flags)
{
	struct sn_clock *clock = sn_clock_of(self);

	if (cpu_ns + clock->unsent_ns < 0)
		cpu_ns = -clock->unsent_ns;
	if (sn_writer_sample(&self->writer, now_ns, (uint64_t)(cpu_ns + clock->unsent_ns), stack,
			     sn_current_cpu(), flags)) {
		clock->unsent_ns = 0;
	} else {
		clock->unsent_ns += cpu_ns;
		sn_lose(SN_LOSS_NO_SPACE);
	}
	if (flags & SN_SAMPLE_SYSTEM)
		clock->claimed_system_ns += (uint64_t)cpu_ns;
	else
		clock->claimed_user_ns += (uint64_t)cpu_ns;
}

/* Registers of some samples, in runs: two that follow each other tell how far a loop came. */
static void keep_registers(struct sn_thread *self, const ucontext_t *context, uint32_t stack,
			   int64_t now_ns)
{
	static const uint8_t order[16] = { REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP,
					   REG_RSI, REG_RDI, REG_R8,  REG_R9,  REG_R10, REG_R11,
					   REG_R12, REG_R13, REG_R14, REG_R15 };
	uint32_t number = sn_clock_of(self)->registers_count++;
	struct sn_record_registers *record;

	if (!stack || (number >= REGISTERS_FIRST && number % REGISTERS_EVERY >= REGISTERS_RUN))
		return;
	record = sn_writer_reserve(&self->writer, sizeof *record, now_ns);
	if (!record)
		return;
	record->header = (struct sn_record_header){ .type = SN_RECORD_REGISTERS,
						    .size_bytes = sizeof *record };
	record->stack = stack;
	record->time_ns = now_ns;
	for (unsigned i = 0; i < 16; i++)
		record->values[i] = (uint64_t)context->uc_mcontext.gregs[order[i]];
	sn_writer_commit(&self->writer, sizeof *record);
}

static void emit(struct sn_thread *self, const ucontext_t *context, int64_t now_ns, int64_t cpu_ns,
		 uint8_t flags)
{
	struct sn_unwind_regs regs;

	sn_unwind_regs_from_gregs(&regs, (const int64_t *)context->uc_mcontext.gregs);
	if (cpu_ns > 0 && sn_locks_hold((uint64_t)context->uc_mcontext.gregs[REG_RIP])) {
		atomic_fetch_add_explicit(&sn_header()->overhead_ns, (uint64_t)cpu_ns,
					  memory_order_relaxed);
		atomic_fetch_add_explicit(&sn_header()->lock_samples_ns, (uint64_t)cpu_ns,
					  memory_order_relaxed);
	}
	uint32_t stack = sn_stack_capture(self, &regs, 0, true, now_ns);
	sn_sample_emit(self, stack, now_ns, cpu_ns, flags);
	if (!(flags & SN_SAMPLE_SYSTEM))
		keep_registers(self, context, stack, now_ns);
}

/* Timer mechanism: the tick hits user and system time alike, so each sample claims all there is,
 * but for calls that are measured by themselves. */
static int64_t sample_by_timer(struct sn_thread *self, const ucontext_t *context, int64_t now_ns,
			       int overrun)
{
	struct sn_clock *clock = sn_clock_of(self);
	int64_t period_ns = (int64_t)sn_events_timer_ns();
	int64_t pool =
		sn_state->is_sealed ? sealed_timer_ns(period_ns, overrun) : unclaimed_ns(self, 0);
	uint8_t flags = sn_signals_met_call(context) ? SN_SAMPLE_SYSTEM : 0;

	atomic_fetch_add_explicit(&sn_header()->timer_signals, 1, memory_order_relaxed);
	if (!sn_state->is_sealed) {
		struct split split = kernel_split(self);
		pool = sn_clock_claim_tick(self, pool, split.switches - split.voluntary_switches,
					   flags != 0);
		if (clock->has_left_perf)
			look_at_switches(self, &split);
	}
	if (pool > 0)
		emit(self, context, now_ns, pool, flags);
	return pool;
}

/* Every 16th handler is timed and stands for 16. One that took very long was itself interrupted. */
static void count_cost(struct sn_thread *self, int64_t begin_ns)
{
	struct sn_clock *clock = sn_clock_of(self);

	if ((++clock->handler_count & 15) != 0)
		return;
	struct sn_data_header *header = sn_header();
	uint64_t spent_ns = (uint64_t)clamp(sn_now_ns() - begin_ns, 0, 50000);

	atomic_fetch_add_explicit(&header->handler_ns, spent_ns * 16, memory_order_relaxed);
	atomic_fetch_add_explicit(&header->handler_count, 16, memory_order_relaxed);
	atomic_fetch_add_explicit(&header->overhead_ns, spent_ns * 16, memory_order_relaxed);
}

/* What is used while sampling is paused belongs to nobody. */
static bool is_left_out(struct sn_thread *self, int64_t now_ns, bool is_by_trap)
{
	struct sn_clock *clock = sn_clock_of(self);

	if (sn_is_paused()) {
		clock->was_paused = 1;
		if (sn_config.settings.is_monitored && is_by_trap)
			sn_events_stop(self); /* another thread calls it in again */
		return true;
	}
	if (clock->was_paused) {
		clock->was_paused = 0;
		clock->paused_ns += unclaimed_ns(self, 0);
		clock->last_cpu_ns = read_clock(self, now_ns);
		clock->last_sample_ns = now_ns;
		return true;
	}
	return false;
}

struct delivery {
	struct sn_thread *self;
	uint64_t kind;	 /* 0: a perf event's */
	int overrun;	 /* of a timer */
	bool is_new;	 /* the first that an awaited thread gets */
	bool is_by_trap; /* a perf event's own signal */
};

/* What a perf event's signal claims; which event comes next. */
static int64_t claim_event(struct sn_thread *self, int64_t now_ns, uint8_t *flags)
{
	struct sn_clock *clock = sn_clock_of(self);
	int64_t cpu_ns;

	if (clock->is_first_period && !sn_state->is_sealed) {
		/* the first period was a random part of one */
		cpu_ns = unclaimed_ns(self, 0);
		clock->last_cpu_ns = read_clock(self, now_ns);
		clock->last_sample_ns = now_ns;
		sn_events_next(self);
		return cpu_ns;
	}
	cpu_ns = claim_user(self, now_ns, flags);
	sn_events_draw(self);
	return cpu_ns;
}

static void take_sample(const struct delivery *delivery, const ucontext_t *context)
{
	struct sn_thread *self = delivery->self;
	struct sn_clock *clock = sn_clock_of(self);
	uint64_t kind = delivery->kind;
	int64_t now_ns = sn_now_ns(), cpu_ns = 0;
	uint8_t flags = 0;

	sn_signals_note_call(self, context);
	sn_locks_follow();
	if (kind == SN_TIMER_BELL) {
		sn_events_bell(self);
		sn_collect_resume(self);
		return;
	}
	if (is_left_out(self, now_ns, delivery->is_by_trap))
		return;
	self->pcs_count = 0;
	if (kind == SN_TIMER_TICK) {
		bool is_call = sn_signals_met_call(context);
		cpu_ns = claim_system(self, (uint64_t)context->uc_mcontext.gregs[REG_RIP], is_call,
				      delivery->overrun);
		if (cpu_ns > 0)
			emit(self, context, now_ns, cpu_ns, SN_SAMPLE_SYSTEM);
	} else if (kind == SN_TIMER_SAMPLE) {
		if (clock->has_sample_timer)
			cpu_ns = sample_by_timer(self, context, now_ns, delivery->overrun);
	} else if (clock->events[0].page && !sn_events_end_flood(self)) {
		cpu_ns = claim_event(self, now_ns, &flags);
		emit(self, context, now_ns, cpu_ns, flags);
	}
	sn_breakpoints_follow(self);
	sn_packet_if_due(self, now_ns);
	sn_thread_account_if_due(self, now_ns);
	count_cost(self, now_ns);
	sn_collect_after_sample(self, (uint64_t)context->uc_mcontext.gregs[REG_RIP], cpu_ns);
}

static void deliver(void *first, void *context)
{
	const struct delivery *delivery = first;

	if (delivery->is_new)
		sn_adopt_in_signal(delivery->self, context);
	take_sample(delivery, context);
}

/* A perf event's signal in our own code, or in the kernel's clock that it has called. A handler of the program's
 * that interrupted our code is not that. A timer's signal claims what was used since the one before, so the
 * next one makes up for it. */
static bool is_left_for_later(struct sn_thread *self, uint64_t kind, const ucontext_t *context)
{
	uint64_t pc = (uint64_t)context->uc_mcontext.gregs[REG_RIP];
	bool is_in_clock = pc - sn_config.vdso_start < sn_config.vdso_end - sn_config.vdso_start;

	if (kind || !atomic_load_explicit(&self->takes_late, memory_order_relaxed) ||
	    (!sn_is_own_code(pc) && !is_in_clock) || !sn_clock_of(self)->events[0].page)
		return false;
	self->late_pc = is_in_clock ? (uint64_t)(uintptr_t)&sn_now_ns : pc;
	atomic_fetch_add_explicit(&self->late_count, 1, memory_order_relaxed);
	return true;
}

void sn_sample_late(struct sn_thread *self, uint32_t stack, int64_t now_ns)
{
	struct sn_clock *clock = sn_clock_of(self);
	uint32_t count = atomic_exchange_explicit(&self->late_count, 0, memory_order_relaxed);

	if (is_left_out(self, now_ns, false))
		return;
	for (; count > 0 && clock->events[0].page; count--) {
		uint8_t flags = 0;
		int64_t cpu_ns = claim_event(self, now_ns, &flags);

		sn_sample_emit(self, stack, now_ns, cpu_ns, flags);
	}
	count_cost(self, now_ns);
}

static bool is_cookie(uint64_t data)
{
	return (data & ~7ULL) == SN_TIMER_COOKIE;
}

/* The thread whose event it was. One that was opened from outside, and not set up yet, is now; if
 * it has the thread-local memory of another (a bare clone()), it is left alone. */
static bool find_thread(struct delivery *delivery)
{
	struct sn_thread *self = sn_self;
	bool is_outside = (delivery->kind & SN_TIMER_OUTSIDE) != 0;

	delivery->kind &= ~(uint64_t)SN_TIMER_OUTSIDE;
	delivery->self = self;
	if (!sn_is_active())
		return false;
	if (!self) {
		delivery->self = sn_adopt_find();
		delivery->is_new = true;
		return delivery->self != NULL;
	}
	return !is_outside || sn_state->is_sealed || SYS(gettid) == self->tid;
}

void sn_sample_handler(int signal, siginfo_t *info, void *context)
{
	int saved_errno = errno;
	struct delivery delivery = { 0 };

	if (signal == SN_SIGNAL_TRAP) {
		delivery.kind = sn_trap_data(info);
		delivery.is_by_trap = true;
		bool is_taken = sn_collect_trap(delivery.kind, context);

		if (!is_cookie(delivery.kind)) {
			if (!is_taken && !sn_breakpoint_take(info, context))
				sn_signals_forward(signal, info, context);
			errno = saved_errno;
			return;
		}
	} else if (info->si_code == SI_TIMER && is_cookie((uint64_t)info->si_value.sival_ptr)) {
		delivery.kind = (uint64_t)info->si_value.sival_ptr;
		delivery.overrun = info->si_overrun;
	} else if (info->si_code <= 0) {
		sn_signals_forward(signal, info, context); /* the target's own */
		errno = saved_errno;
		return;
	}
	delivery.kind &= 7;
	if (!find_thread(&delivery)) {
		errno = saved_errno;
		return;
	}
	struct sn_thread *self = delivery.self;
	if (!delivery.is_new && !sn_enter(self)) {
		if (!sn_collect_interrupted(self, false, context) &&
		    !is_left_for_later(self, delivery.kind, context) &&
		    delivery.kind != SN_TIMER_TICK) /* the next one claims what this one would */
			sn_lose(SN_LOSS_REENTRY);
		errno = saved_errno;
		return;
	}
	sn_signals_run(self, deliver, &delivery, context);
	sn_leave(self);
	errno = saved_errno;
}

void sn_sample_remainder(struct sn_thread *thread, struct sn_writer *writer, int64_t now_ns,
			 uint32_t stack)
{
	struct sn_clock *clock = sn_clock_of(thread);
	bool is_self = thread == sn_self;
	int64_t left = unclaimed_ns(thread, is_self ? 0 : thread->tid) + clock->unsent_ns;
	int64_t system_ns = 0;

	clock->unsent_ns = 0;
	if (sn_is_paused() || clock->was_paused)
		return;
	if (left <= 0 || !sn_config.settings.period_ns)
		return;
	if (is_self && !sn_state->is_sealed) {
		system_ns = clamp(kernel_split(thread).system_ns, 0, left);
	} else if (!sn_state->is_sealed) {
		int64_t user_total_ns = 0, system_total_ns = 0;
		sn_thread_times(thread->tid, &user_total_ns, &system_total_ns);
		system_ns = clamp(system_total_ns - clock->before_system_ns -
					  (int64_t)clock->claimed_system_ns,
				  0, left);
	}
	if (system_ns && sn_writer_sample(writer, now_ns, (uint64_t)system_ns, stack, 0,
					  SN_SAMPLE_REMAINDER | SN_SAMPLE_SYSTEM))
		clock->claimed_system_ns += (uint64_t)system_ns;
	if (left > system_ns && sn_writer_sample(writer, now_ns, (uint64_t)(left - system_ns),
						 stack, 0, SN_SAMPLE_REMAINDER))
		clock->claimed_user_ns += (uint64_t)(left - system_ns);
}

void sn_sample_before_seal(struct sn_thread *self)
{
	struct sn_clock *clock = sn_clock_of(self);

	if (!sn_enter(self))
		return;
	sn_sample_remainder(self, &self->writer, sn_now_ns(), 0);
	clock->last_cpu_ns = (int64_t)(clock->claimed_user_ns + clock->claimed_system_ns);
	clock->credit_ns = 0;
	sn_events_before_seal(self);
	sn_leave(self);
}
