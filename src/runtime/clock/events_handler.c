/* Who sends a thread's signals: perf events, or CPU timers where there are none or they cost too much. */
#include "runtime/clock/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>

enum {
	FEW_THREADS = 64,
	MANY_THREADS = 200,
	EARLY_SAMPLES_MAX = 3,
	/* samples between draws of new periods: a new event costs 20 us */
	DRAW_EVERY = 64,
	DRAW_EVERY_ALONE = 16, /* with one event */
	/* voluntary switches a CPU second up to which a thread may carry two events: each is
	 * stopped and started at every one */
	SWITCHES_CALM = 300,
	/* An event whose period is as short as its interrupt (10 to 30 us on a virtual machine)
	 * leaves the thread no time to go on. A rate may be asked for up to the first; a thread
	 * begins with no less than the second, since nobody asked. */
	PERIOD_LEAST_NS = 50000,
	FIRST_LEAST_NS = 100000,
	FLOOD_SAMPLES = 64,
	FLOOD_FACTOR = 3,
	/* of a thread's end, behind our last look at its clock, at most */
	END_MOST_NS = 100000,
	LIVE_MOST = 512, /* threads whose clocks are asked for at the end */
};

static const char NO_PERF[] =
	"perf_event_open is refused here: samples come from CPU timers of the threads, at most one per "
	"kernel tick";
static const char NO_PERF_THREAD[] =
	"some threads got no perf event (locked-memory or descriptor limit): their samples come from CPU "
	"timers, at most one per kernel tick";
static const char NO_TIMER[] =
	"some threads got no timer: time that they spend in the kernel is counted, but not seen where";
static const char SWITCHES[] =
	"some threads switch more than 3000 times per CPU second: their samples come from CPU timers, "
	"which cost nothing per switch but come once per kernel tick";
static const char FLOOD[] =
	"some threads were interrupted at over 3 times the rate that was asked for: from then on their "
	"samples come from CPU timers, at most one per kernel tick";
static const char SHORT_THREADS[] =
	"the program makes many threads that live for less than two periods: they are sampled by CPU "
	"timers, which cost less to start but come at most once per kernel tick";

static _Atomic uint64_t ended_threads, ended_cpu_ns; /* of this image */

static double random_unit(struct sn_thread *self)
{
	struct sn_clock *clock = sn_clock_of(self);

	clock->rng = clock->rng * 1664525u + 1013904223u;
	return (double)clock->rng / 4294967296.0;
}

/* Uniform in (0, period]: a thread that lives for a part of the period is seen with that share. */
static uint64_t random_first_ns(struct sn_thread *self, uint64_t period_ns)
{
	return 1 + (uint64_t)(random_unit(self) * (double)period_ns);
}

/* One that would be too short comes that much later: a thread that lives for two of the shortest is
 * seen as often as it should. */
static uint64_t not_too_short_ns(uint64_t first_ns)
{
	return first_ns < FIRST_LEAST_NS ? first_ns + FIRST_LEAST_NS : first_ns;
}

static bool is_outside(const struct sn_thread *thread)
{
	return thread != sn_self;
}

/* The kernel's struct sigevent for SIGEV_THREAD_ID. */
static bool make_timer(struct sn_thread *self, int32_t *timer, uint64_t kind)
{
	struct sigevent event = { .sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SN_SIGNAL };

	if (is_outside(self))
		kind |= SN_TIMER_OUTSIDE;
	event.sigev_value.sival_ptr = (void *)(SN_TIMER_COOKIE | kind);
	event._sigev_un._tid = self->tid;
	return SYS(timer_create, sn_thread_clock(is_outside(self) ? self->tid : 0), &event,
		   timer) == 0;
}

static void arm_timer(int32_t timer, uint64_t first_ns, uint64_t period_ns)
{
	struct itimerspec times = {
		.it_value = { (time_t)(first_ns / 1000000000), (long)(first_ns % 1000000000) },
		.it_interval = { (time_t)(period_ns / 1000000000), (long)(period_ns % 1000000000) },
	};

	SYS(timer_settime, timer, 0, &times, NULL);
}

static long open_event(const struct sn_thread *thread, struct perf_event_attr *attr)
{
	return SYS(perf_event_open, attr, is_outside(thread) ? thread->tid : 0, -1, -1,
		   PERF_FLAG_FD_CLOEXEC);
}

/* The event's own SIGTRAP (Linux 5.13) needs no second interrupt for its delivery, as F_SETSIG
 * does: 10 us a sample less on a virtual machine. A debugger would take every one for a breakpoint.
 */
static long open_trap_event(struct sn_thread *self, struct perf_event_attr *attr)
{
	static _Atomic bool is_unsupported;

	if (sn_config.is_traced || atomic_load_explicit(&is_unsupported, memory_order_relaxed))
		return -EINVAL;
	attr->sigtrap = 1;
	attr->remove_on_exec = 1;
	attr->sig_data = SN_TIMER_COOKIE | (is_outside(self) ? SN_TIMER_OUTSIDE : 0);
	long fd = open_event(self, attr);
	if (fd == -EINVAL || fd == -E2BIG)
		atomic_store_explicit(&is_unsupported, true, memory_order_relaxed);
	attr->sigtrap = attr->remove_on_exec = 0;
	attr->sig_data = 0;
	return fd;
}

/* Signal, owner, then O_ASYNC, so that no SIGIO can ever come. */
static long open_signal_event(struct sn_thread *self, struct perf_event_attr *attr)
{
	struct f_owner_ex owner = { .type = F_OWNER_TID, .pid = self->tid };
	long fd = open_event(self, attr);

	if (fd < 0 ||
	    (SYS(fcntl, fd, F_SETSIG, SN_SIGNAL) == 0 && SYS(fcntl, fd, F_SETOWN_EX, &owner) == 0 &&
	     SYS(fcntl, fd, F_SETFL, O_ASYNC) == 0))
		return fd;
	SYS(close, fd);
	return -EINVAL;
}

static void unmap_page(void *page)
{
	if (page)
		SYS(munmap, page, 4096);
}

/* The mapping keeps the event alive when the descriptor is closed. In place of the one before. It
 * begins when its page is known, or else a signal of it would find no event to end. */
static bool open_perf(struct sn_thread *self, struct sn_event *event, uint64_t period_ns)
{
	struct sn_clock *clock = sn_clock_of(self);
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof attr,
		.config = PERF_COUNT_SW_TASK_CLOCK,
		.sample_period = period_ns < PERIOD_LEAST_NS ? PERIOD_LEAST_NS : period_ns,
		.disabled = 1,
		.exclude_kernel = 1,
		.exclude_hv = 1,
	};
	long fd = open_trap_event(self, &attr);

	if (fd == -EINVAL || fd == -E2BIG)
		fd = open_signal_event(self, &attr);
	if (fd < 0)
		return false;
	long page = SYS(mmap, NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);
	if (page < 0 && page > -4096) {
		SYS(close, fd);
		return false;
	}
	void *before = event->page;
	event->period_ns = attr.sample_period;
	event->page = (void *)page;
	unmap_page(before);
	clock->has_had_event = 1;
	SYS(ioctl, fd, PERF_EVENT_IOC_ENABLE, 0);
	SYS(close, fd);
	return true;
}

/* User mode only, so that no call that blocks is ever interrupted, as where threads are adopted. */
void sn_events_call_in(struct sn_thread *thread)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof attr,
		.config = PERF_COUNT_SW_TASK_CLOCK,
		.sample_period = PERIOD_LEAST_NS,
		.disabled = 1,
		.exclude_kernel = 1,
		.exclude_hv = 1,
		.sigtrap = 1,
		.remove_on_exec = 1,
		.sig_data = SN_TIMER_COOKIE | SN_TIMER_BELL | SN_TIMER_OUTSIDE,
	};
	long fd, page;

	if (!sn_config.settings.period_ns || sn_state->is_sealed || sn_config.is_traced)
		return;
	fd = SYS(perf_event_open, &attr, thread->tid, -1, -1, PERF_FLAG_FD_CLOEXEC);
	if (fd < 0)
		return;
	page = SYS(mmap, NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);
	if (!(page < 0 && page > -4096)) {
		unmap_page(atomic_exchange(&sn_clock_of(thread)->bell, (void *)page));
		SYS(ioctl, fd, PERF_EVENT_IOC_ENABLE, 0);
	}
	SYS(close, fd);
}

void sn_events_bell(struct sn_thread *self)
{
	unmap_page(atomic_exchange(&sn_clock_of(self)->bell, NULL));
}

/* In this order: a signal that comes between finds no event. */
static void close_event(struct sn_event *event)
{
	void *page = event->page;

	*event = (struct sn_event){ 0 };
	unmap_page(page);
}

static void close_perf(struct sn_thread *self)
{
	struct sn_clock *clock = sn_clock_of(self);

	close_event(&clock->events[0]);
	close_event(&clock->events[1]);
}

/* An agent may have asked for fewer. */
static uint64_t times(uint64_t period_ns)
{
	uint32_t times = atomic_load_explicit(&sn_state->period_times, memory_order_relaxed);

	return times > 1 ? times * period_ns : period_ns;
}

uint64_t sn_events_asked_ns(const struct sn_thread *self)
{
	const struct sn_clock *clock = sn_clock_of(self);
	const struct sn_settings *asked = &sn_config.settings;

	return times(asked->period_later_ns && clock->claimed_user_ns + clock->claimed_system_ns >=
						       asked->burst_ns
			     ? asked->period_later_ns
			     : asked->period_ns);
}

uint64_t sn_events_timer_ns(void)
{
	const struct sn_settings *asked = &sn_config.settings;

	return times(asked->period_later_ns ? asked->period_later_ns : asked->period_ns);
}

/* Two to four thirds of the mean: whatever a program repeats within a period, a sample meets it
 * anywhere (docs/method/sampling.md), and there are never more than half as many again as asked
 * for. Two events share the rate. */
static uint64_t draw_period_ns(struct sn_thread *self, unsigned events)
{
	return (uint64_t)((1 + random_unit(self)) * (2.0 / 3) * events *
			  (double)sn_events_asked_ns(self));
}

static bool is_calm(const struct sn_thread *self)
{
	const struct sn_clock *clock = sn_clock_of(self);
	uint64_t cpu_ms = (clock->claimed_user_ns + clock->claimed_system_ns) / 1000000;

	return clock->voluntary_seen * 1000 <= (cpu_ms + 20) * SWITCHES_CALM;
}

/* The events of a thread that has come to stay; a second one if it switches little. */
static bool open_lasting(struct sn_thread *self)
{
	struct sn_clock *clock = sn_clock_of(self);
	bool wants_two = is_calm(self);

	clock->samples_until_draw = DRAW_EVERY;
	if (wants_two && open_perf(self, &clock->events[1], draw_period_ns(self, 2)) &&
	    open_perf(self, &clock->events[0], draw_period_ns(self, 2)))
		return true;
	close_event(&clock->events[1]);
	clock->samples_until_draw = DRAW_EVERY_ALONE;
	return open_perf(self, &clock->events[0], draw_period_ns(self, 1));
}

/* One: of two, each would miss what expires while the kernel delivers the other's signal, and no
 * clock makes up for it. */
void sn_events_before_seal(struct sn_thread *self)
{
	struct sn_clock *clock = sn_clock_of(self);

	if (!clock->events[0].page)
		return;
	close_event(&clock->events[1]);
	if (open_perf(self, &clock->events[0], draw_period_ns(self, 1)))
		clock->is_first_period = 0;
}

/* Two events of periods a and b send a signal every ab / (a + b) on average. */
int64_t sn_events_mean_ns(const struct sn_thread *self)
{
	const struct sn_clock *clock = sn_clock_of(self);
	double a = (double)clock->events[0].period_ns, b = (double)clock->events[1].period_ns;

	return (int64_t)(clock->events[1].page ? a * b / (a + b) : a);
}

int64_t sn_events_longest_ns(const struct sn_thread *self)
{
	const struct sn_clock *clock = sn_clock_of(self);
	uint64_t a = clock->events[0].period_ns, b = clock->events[1].period_ns;

	return (int64_t)(b && b < a ? b : a);
}

void sn_events_count_switches(struct sn_thread *self, uint64_t switches)
{
	struct sn_clock *clock = sn_clock_of(self);
	struct sn_data_header *header = sn_header();
	uint64_t more = switches - clock->switches_seen;

	clock->switches_seen = switches;
	if (clock->mechanism == SN_MECHANISM_PERF_SIGNAL)
		atomic_fetch_add_explicit(&header->switch_count,
					  more * (clock->events[1].page ? 2 : 1),
					  memory_order_relaxed);
	else if (clock->has_had_event)
		atomic_fetch_add_explicit(&header->switch_after_count, more, memory_order_relaxed);
}

void sn_events_count_kernel(struct sn_thread *self, int64_t system_ns)
{
	struct sn_clock *clock = sn_clock_of(self);
	int64_t more_ns = system_ns - clock->system_seen_ns;
	uint64_t mean_ns = (uint64_t)sn_events_mean_ns(self);

	if (more_ns <= 0)
		return;
	if (clock->mechanism != SN_MECHANISM_PERF_SIGNAL || !mean_ns) {
		clock->system_seen_ns = system_ns;
		return;
	}
	uint64_t count = (uint64_t)more_ns / mean_ns;
	clock->system_seen_ns += (int64_t)(count * mean_ns);
	atomic_fetch_add_explicit(&sn_header()->kernel_interrupts, count, memory_order_relaxed);
}

void sn_events_draw(struct sn_thread *self)
{
	struct sn_clock *clock = sn_clock_of(self);
	bool has_two = clock->events[1].page != NULL;

	if (--clock->samples_until_draw > 0 || sn_state->is_sealed)
		return;
	clock->samples_until_draw = has_two ? DRAW_EVERY : DRAW_EVERY_ALONE;
	if (has_two && !is_calm(self)) {
		close_event(&clock->events[1]);
		open_perf(self, &clock->events[0], draw_period_ns(self, 1));
		return;
	}
	clock->draws++;
	if (has_two)
		open_perf(self, &clock->events[clock->draws & 1], draw_period_ns(self, 2));
	else if (clock->draws % 8 == 0 && is_calm(self))
		open_lasting(self);
	else
		open_perf(self, &clock->events[0], draw_period_ns(self, 1));
}

int64_t sn_events_tick_ns(void)
{
	int64_t period_ns = (int64_t)sn_events_timer_ns();

	return period_ns > SN_TICK_NS ? period_ns : SN_TICK_NS;
}

/* System time is looked for from the first sample on where threads are many: those that are too
 * short for one do without. */
static void start_tick_timer(struct sn_thread *self)
{
	struct sn_clock *clock = sn_clock_of(self);
	uint64_t tick_ns = (uint64_t)sn_events_tick_ns();

	if (make_timer(self, &clock->tick_timer, SN_TIMER_TICK)) {
		clock->has_tick_timer = 1;
		arm_timer(clock->tick_timer, random_first_ns(self, tick_ns), tick_ns);
	} else {
		sn_warn(NO_TIMER);
	}
}

/* The kernel looks at these timers once per tick, which comes at random to a thread's life: waiting
 * for more than that would miss the short ones. */
static bool start_sample_timer(struct sn_thread *self, uint64_t first_ns)
{
	struct sn_clock *clock = sn_clock_of(self);

	if (sn_events_timer_ns() <= SN_TICK_NS)
		first_ns = 1;
	if (!make_timer(self, &clock->sample_timer, SN_TIMER_SAMPLE))
		return false;
	clock->has_sample_timer = 1;
	arm_timer(clock->sample_timer, first_ns, sn_events_timer_ns());
	return true;
}

static void note_mechanism(struct sn_thread *self, enum sn_mechanism mechanism)
{
	struct sn_clock *clock = sn_clock_of(self);
	uint32_t unset = SN_MECHANISM_OFF;

	clock->mechanism = (uint8_t)mechanism;
	atomic_compare_exchange_strong(&sn_header()->mechanism, &unset, mechanism);
	if (mechanism == SN_MECHANISM_PERF_SIGNAL)
		sn_clock_watch_calls(self);
	if (mechanism != SN_MECHANISM_THREAD_TIMER)
		return;
	sn_clock_time_calls(self);
	sn_warn(sn_header()->mechanism == SN_MECHANISM_PERF_SIGNAL ? NO_PERF_THREAD : NO_PERF);
}

void sn_events_note_ended(uint64_t cpu_ns)
{
	atomic_fetch_add_explicit(&ended_threads, 1, memory_order_relaxed);
	atomic_fetch_add_explicit(&ended_cpu_ns, cpu_ns, memory_order_relaxed);
}

void sn_events_forget_ended(void)
{
	atomic_store_explicit(&ended_threads, 0, memory_order_relaxed);
	atomic_store_explicit(&ended_cpu_ns, 0, memory_order_relaxed);
}

/* CPU time of the image's threads that have not ended; -1: of more than can be asked. */
static int64_t live_threads_ns(void)
{
	uint32_t count = atomic_load(&sn_state->next_block), asked = 0;
	int64_t sum_ns = 0;

	for (uint32_t i = 0; i < count && i < SN_BLOCKS_MAX; i++) {
		const struct sn_thread *thread = sn_state->blocks[i];
		const struct sn_clock *clock;
		int64_t cpu_ns;

		if (!thread || !atomic_load(&thread->is_live))
			continue;
		if (asked++ == LIVE_MOST)
			return -1;
		clock = sn_clock_of(thread);
		cpu_ns = sn_thread_cpu_ns(is_outside(thread) ? thread->tid : 0);
		if (cpu_ns > 0)
			sum_ns += cpu_ns - clock->before_user_ns - clock->before_system_ns;
	}
	return sum_ns;
}

int64_t sn_events_after_ends_ns(void)
{
	const struct sn_data_header *header = sn_header();
	int64_t count = (int64_t)atomic_load_explicit(&ended_threads, memory_order_relaxed);
	int64_t live_ns = count ? live_threads_ns() : -1, left_ns;

	if (live_ns < 0)
		return 0;
	left_ns = sn_clock_ns(CLOCK_PROCESS_CPUTIME_ID) - header->start_user_ns -
		  header->start_system_ns -
		  (int64_t)atomic_load_explicit(&ended_cpu_ns, memory_order_relaxed) - live_ns;
	if (left_ns > count * END_MOST_NS)
		left_ns = count * END_MOST_NS;
	return left_ns > 0 ? left_ns : 0;
}

/* Opening and closing an event costs some 25 us, more than a short thread is worth. So where
 * threads are many and short, new ones begin with a timer, and change to an event if they live. */
static bool are_threads_short(void)
{
	uint64_t count = atomic_load_explicit(&ended_threads, memory_order_relaxed);
	uint64_t cpu_ns = atomic_load_explicit(&ended_cpu_ns, memory_order_relaxed);

	return count >= MANY_THREADS && cpu_ns / count < 2 * sn_config.settings.period_ns;
}

static bool start_short_thread(struct sn_thread *self, uint64_t first_ns)
{
	struct sn_clock *clock = sn_clock_of(self);

	if (sn_config.settings.mechanism_first > SN_MECHANISM_PERF_SIGNAL || !are_threads_short() ||
	    !start_sample_timer(self, first_ns))
		return false;
	clock->mechanism = SN_MECHANISM_THREAD_TIMER;
	clock->has_left_perf = 1;
	sn_warn(SHORT_THREADS);
	return true;
}

static void open_first(struct sn_thread *self)
{
	struct sn_clock *clock = sn_clock_of(self);
	uint64_t first_ns = random_first_ns(self, sn_config.settings.period_ns);

	if (start_short_thread(self, first_ns))
		return;
	clock->is_first_period = 1;
	clock->first_period_ns = not_too_short_ns(first_ns);
	if (sn_config.settings.mechanism_first <= SN_MECHANISM_PERF_SIGNAL &&
	    open_perf(self, &clock->events[0], clock->first_period_ns)) {
		note_mechanism(self, SN_MECHANISM_PERF_SIGNAL);
		if (self->index < FEW_THREADS)
			start_tick_timer(self);
	} else if (start_sample_timer(self, first_ns)) {
		note_mechanism(self, SN_MECHANISM_THREAD_TIMER);
	} else {
		sn_warn(NO_TIMER);
	}
}

bool sn_events_start(struct sn_thread *self)
{
	struct sn_clock *clock = sn_clock_of(self);

	if (sn_config.settings.period_ns && !sn_state->is_sealed && !clock->events[0].page &&
	    !clock->has_sample_timer)
		open_first(self);
	return clock->mechanism != SN_MECHANISM_OFF;
}

void sn_events_next(struct sn_thread *self)
{
	struct sn_clock *clock = sn_clock_of(self);

	if (!clock->has_tick_timer && !sn_state->is_sealed)
		start_tick_timer(self);
	/* many threads end before they are worth a second event: a few samples may come early */
	if (clock->first_period_ns * 4 > sn_config.settings.period_ns &&
	    ++clock->early_samples < EARLY_SAMPLES_MAX)
		return;
	clock->is_first_period = 0;
	if (clock->mechanism != SN_MECHANISM_PERF_SIGNAL || sn_state->is_sealed)
		return;
	if (open_lasting(self))
		return;
	if (start_sample_timer(self, sn_config.settings.period_ns)) {
		if (clock->has_tick_timer)
			SYS(timer_delete, clock->tick_timer);
		clock->has_tick_timer = 0;
		close_perf(self);
		note_mechanism(self, SN_MECHANISM_THREAD_TIMER);
	}
}

static bool leave_perf(struct sn_thread *self, const char *why)
{
	struct sn_clock *clock = sn_clock_of(self);

	if (clock->has_sample_timer || sn_state->is_sealed ||
	    !start_sample_timer(self, sn_config.settings.period_ns))
		return false;
	close_perf(self);
	if (clock->has_tick_timer)
		SYS(timer_delete, clock->tick_timer);
	clock->has_tick_timer = 0;
	clock->mechanism = SN_MECHANISM_THREAD_TIMER;
	sn_clock_time_calls(self);
	sn_warn(why);
	return true;
}

void sn_events_use_timer(struct sn_thread *self)
{
	struct sn_clock *clock = sn_clock_of(self);

	if (leave_perf(self, SWITCHES))
		clock->has_left_perf = 1;
}

bool sn_events_end_flood(struct sn_thread *self)
{
	struct sn_clock *clock = sn_clock_of(self);

	if (++clock->signals_counted < FLOOD_SAMPLES || sn_state->is_sealed)
		return false;
	int64_t before_ns = clock->signals_cpu_ns;
	clock->signals_counted = 0;
	clock->signals_cpu_ns = sn_thread_cpu_ns(0);
	return clock->signals_cpu_ns >= 0 &&
	       (uint64_t)(clock->signals_cpu_ns - before_ns) * FLOOD_FACTOR <
		       FLOOD_SAMPLES * sn_config.settings.period_ns &&
	       leave_perf(self, FLOOD);
}

void sn_events_use_perf(struct sn_thread *self)
{
	struct sn_clock *clock = sn_clock_of(self);

	if (!open_lasting(self))
		return;
	sn_clock_watch_calls(self);
	SYS(timer_delete, clock->sample_timer);
	clock->has_sample_timer = 0;
	clock->has_left_perf = 0;
	clock->is_first_period = 0;
	clock->mechanism = SN_MECHANISM_PERF_SIGNAL;
	start_tick_timer(self);
}

void sn_events_stop(struct sn_thread *self)
{
	struct sn_clock *clock = sn_clock_of(self);

	close_perf(self);
	if (clock->has_tick_timer)
		SYS(timer_delete, clock->tick_timer);
	if (clock->has_sample_timer)
		SYS(timer_delete, clock->sample_timer);
	clock->has_tick_timer = clock->has_sample_timer = 0;
	sn_events_bell(self);
}
