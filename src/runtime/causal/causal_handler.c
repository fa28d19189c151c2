/* Delays: who makes them due, who pays, who is spared. */
#include "runtime/causal/causal.h"

#include <errno.h>
#include <linux/futex.h>

#include "runtime/calls/real.h"
#include "runtime/openmp/regions.h"

enum {
	PAUSE_LEAST_NS = 20000, /* less is due again later: a pause takes 50 us more than asked */
	/* At a sample more may stay due, as nobody waits for it: fewer pauses cost less beside themselves. */
	PAUSE_LEAST_AT_SAMPLE_NS = 2000000,
	/* Who was lately seen to wait actively may soon have it without a pause; at a meeting, others would wait for its pause. */
	KEPT_BY_SPINNING_NS = 4000000,
	SPUN_LATELY_SAMPLES = 8,
	/* Threads that run the code side by side are sampled at random: what one was spared more, the other one will be. By
	 * turns they are not: of n hits in a turn one comes behind another thread's, side by side half of them or more. */
	KEPT_BESIDE_SAMPLES = 4,
	ONE = 256, /* of shares below */
	BESIDE_FROM = ONE * 3 / 10,
	BESIDE_MEMORY_HITS = 8,
	/* Turns shorter than the time between samples have a hit at most, so that their order tells nothing. But side by side
	 * another thread's hit lies within the time since a thread last met others as often as there are periods of samples in
	 * that time; by turns none does. (chosen) A quarter, once two would be expected. */
	TOGETHER_EXPECTED_LEAST = 2,
	TOGETHER_FROM_OF = 4,
	HIT_TIME_SHIFT = 10, /* 1024 ns */
	NOTED_SAMPLES = 64,  /* of a thread, between looks at its waits for a CPU */
	PAUSE_MOST_NS = 1000000000,
	CREDIT_LEAST_NS = 1000,
	COPIED_NS = 1, /* (chosen) a byte into a pipe or a socket takes less */
};

#define ASKED                                                                                      \
	(1u << SN_WAIT_LOCK | 1u << SN_WAIT_CONDITION | 1u << SN_WAIT_IO | 1u << SN_WAIT_POLL |    \
	 1u << SN_WAIT_JOIN | 1u << SN_WAIT_CHILD | 1u << SN_WAIT_OTHER)

struct sn_causal_control *sn_causal_control;
/* Where the ranges lie in this process, in their order; 0: their module is not there. */
static uint64_t load_addrs[SN_CAUSAL_RANGES_MAX];

static const char SEALED[] =
	"the program forbids system calls (seccomp): from then on its threads cannot be held up, and "
	"experiments say nothing of it";

static int64_t due_now(void)
{
	return atomic_load_explicit(&sn_causal_control->due_ns, memory_order_relaxed);
}

static void add(_Atomic int64_t *sum, int64_t more)
{
	atomic_fetch_add_explicit(sum, more, memory_order_relaxed);
}

static void count(_Atomic uint64_t *counter)
{
	atomic_fetch_add_explicit(counter, 1, memory_order_relaxed);
}

/* With each experiment and each pause between two all debts are forgotten. Gives the word. */
static uint64_t follow(struct sn_causal *causal)
{
	uint64_t word = atomic_load_explicit(&sn_causal_control->experiment, memory_order_acquire);

	if (causal->experiment != sn_causal_number(word)) {
		causal->experiment = sn_causal_number(word);
		causal->had = sn_causal_control->start_due_ns;
		causal->call = 0;
		causal->carried = 0;
		causal->spun = 0;
		causal->beside = 0;
		if (causal->excess)
			add(&sn_causal_control->excess_ns, causal->excess);
		causal->excess = 0;
	}
	return word;
}

/* Everybody has to have what one thread was spared. */
static void make_due(int64_t had)
{
	int64_t due = due_now();

	while (due < had && !atomic_compare_exchange_weak(&sn_causal_control->due_ns, &due, had))
		continue;
}

/* It ran the chosen code: what it owes is less, and everybody has to have what it was spared. */
static void spare(struct sn_causal *causal, int64_t time_ns)
{
	causal->had += time_ns;
	causal->carried = time_ns < causal->carried ? causal->carried - time_ns : 0;
	make_due(causal->had);
}

static int64_t sleep_ns(int64_t time_ns)
{
	int64_t begin_ns = sn_now_ns(), left_ns = time_ns;

	while (left_ns > 0) {
		struct timespec time = { left_ns / 1000000000, left_ns % 1000000000 };

		SYS(clock_nanosleep, CLOCK_MONOTONIC, 0, &time, NULL);
		left_ns = begin_ns + time_ns - sn_now_ns();
	}
	return sn_now_ns() - begin_ns;
}

/* What a sample in the chosen code makes due. A thread that runs it, too, and is sampled a little later has it then; so
 * this much is carried from one meeting to the next. What all threads lack all the time changes no rate. */
static int64_t one_sample_ns(uint64_t word)
{
	return (int64_t)sn_config.settings.period_ns * sn_causal_speedup(word) / SN_CAUSAL_WHOLE;
}

static void pause_for(struct sn_causal *causal, int64_t owed, int64_t least_ns)
{
	if (owed <= 0)
		return;
	/* it works for the measuring of heartbeats: the program has no such thread, but waits for it as it ends */
	if (causal->is_beats_own) {
		causal->had += owed;
		return;
	}
	if (owed <= causal->excess) {
		add(&sn_causal_control->asked_ns, owed);
		causal->had += owed;
		causal->excess -= owed;
		return;
	}
	if (owed - causal->excess < least_ns || sn_state->is_sealed)
		return;
	if (owed > PAUSE_MOST_NS)
		owed = PAUSE_MOST_NS;
	int64_t slept = sleep_ns(owed - causal->excess);
	causal->had += owed;
	causal->excess += slept - owed;
	add(&sn_causal_control->asked_ns, owed);
	add(&sn_causal_control->slept_ns, slept);
	count(&sn_causal_control->pauses);
}

/* The caller holds the thread busy. What is kept stays owed. */
static void pay(struct sn_causal *causal, int64_t kept, int64_t least_ns)
{
	int64_t had = causal->had;

	pause_for(causal, due_now() - had - kept, least_ns);
	if (causal->had != had)
		causal->carried = 0;
}

/* Whether threads run the chosen code one behind the other, and not side by side. What is kept then makes up for nothing:
 * a thread's own hit, which is time of its own, would pay for another thread's. */
static bool is_by_turns(uint64_t word)
{
	uint32_t number = sn_causal_target_of(word);
	const struct sn_causal_target *target = &sn_causal_control->targets[number];

	if (number >= sn_causal_control->target_count)
		return false;
	int64_t period_ns = (int64_t)sn_config.settings.period_ns,
		seen_ns = atomic_load_explicit(&target->seen_ns, memory_order_relaxed),
		together = (int64_t)atomic_load_explicit(&target->together, memory_order_relaxed);
	return seen_ns >= period_ns * TOGETHER_EXPECTED_LEAST &&
	       together * period_ns < seen_ns / TOGETHER_FROM_OF;
}

static int64_t kept_at_sample(const struct sn_causal *causal, uint64_t word)
{
	int64_t kept = causal->beside >= BESIDE_FROM && !is_by_turns(word)
			       ? one_sample_ns(word) * KEPT_BESIDE_SAMPLES
			       : 0;

	return causal->spun && kept < KEPT_BY_SPINNING_NS ? KEPT_BY_SPINNING_NS : kept;
}

/* Before another thread goes on. What is kept stays owed, whatever the thread waits for afterwards. */
static void pay_to_wake(struct sn_causal *causal, uint64_t word)
{
	int64_t samples = is_by_turns(word)		  ? 0
			  : causal->beside >= BESIDE_FROM ? KEPT_BESIDE_SAMPLES
							  : 1;
	int64_t kept = one_sample_ns(word) * samples, due = due_now();

	pause_for(causal, due - causal->had - kept, PAUSE_LEAST_NS);
	causal->carried = due - causal->had < kept ? due - causal->had : kept;
}

static void pay_now(bool is_all)
{
	struct sn_thread *self = sn_self;
	int saved_errno = errno;

	if (!self || !sn_causal_control || !sn_enter(self))
		return;
	uint64_t word = follow(sn_causal_of(self));
	if (is_all)
		pay(sn_causal_of(self), 0, PAUSE_LEAST_NS);
	else
		pay_to_wake(sn_causal_of(self), word);
	sn_leave(self);
	errno = saved_errno;
}

void sn_causal_pay(void)
{
	pay_now(false);
}

/* The clock is read in baselines, too, as it would be an effect otherwise. */
void sn_causal_meet(void)
{
	struct sn_thread *self = sn_self;

	if (!self || !sn_causal_control)
		return;
	if (sn_causal_is_due())
		pay_now(false);
	sn_causal_of(self)->met_ns = sn_now_ns();
}

/* ---- samples ---- */

static bool is_in(uint32_t range, uint64_t pc)
{
	const struct sn_causal_range *at = &sn_causal_control->ranges[range];
	uint64_t start = load_addrs[range];

	return start && pc - start < at->end_link_addr - at->first_link_addr;
}

static bool is_in_ranges(const struct sn_causal_target *target, uint64_t pc)
{
	for (uint32_t r = 0; r < target->range_count; r++)
		if (is_in(target->first_range + r, pc))
			return true;
	return false;
}

static uint32_t kind_of(uint64_t pc)
{
	for (uint32_t r = sn_causal_control->first_runtime_range;
	     r < sn_causal_control->range_count; r++)
		if (is_in(r, pc))
			return sn_causal_control->ranges[r].kind;
	return SN_CAUSAL_OF_PROGRAM;
}

static bool holds_one_of(const struct sn_causal *causal, const struct sn_causal_target *target)
{
	for (uint32_t h = 0; h < causal->held_count && h < SN_CAUSAL_HELD_MOST; h++)
		if (is_in_ranges(target, causal->held[h]))
			return true;
	return false;
}

/* The stack of who works in a parallel region ends at its body; it goes on with that of the thread that created the
 * region, and cannot leave it before. */
static bool is_region_in(const struct sn_thread *self, const struct sn_causal_target *target)
{
	for (const struct sn_region *region = sn_openmp_of(self)->region; region;
	     region = region->outer) {
		uint32_t is_known = atomic_load_explicit(&region->stack, memory_order_acquire);

		for (uint32_t f = 0; is_known && f < region->pcs_count; f++)
			if (is_in_ranges(target, region->pcs[f] - 1))
				return true;
	}
	return false;
}

/* Frames from the leaf up to the first that decides: in the target, or in a runtime which was called below it
 * and waits. What a runtime calls back is the program's again. Of a lock no frame is in the target. */
static bool is_in_target(const struct sn_thread *self, uint32_t number, uint64_t pc)
{
	const struct sn_causal_target *target = &sn_causal_control->targets[number];
	bool is_lock = target->flags & SN_CAUSAL_HELD, may_wait = true;
	uint32_t frames = target->flags ? self->pcs_count : 0;

	if (is_lock && !holds_one_of(sn_causal_of(self), target))
		return false;
	for (uint32_t f = 0; f == 0 || f < frames; f++) {
		uint64_t at = f ? self->pcs[f] - 1 : pc;
		uint32_t kind = may_wait ? kind_of(at) : SN_CAUSAL_OF_PROGRAM;

		if (f == 0 && kind == SN_CAUSAL_SPINS)
			return false;
		if (!is_lock && is_in_ranges(target, at))
			return true;
		if (kind == SN_CAUSAL_WAITS)
			return false;
		may_wait = kind == SN_CAUSAL_PASSES;
		if (is_lock && !may_wait)
			return true;
	}
	return is_lock || ((target->flags & SN_CAUSAL_WITH_CALLEES) && is_region_in(self, target));
}

/* How much a sum has grown; it begins anew in the child of a fork. */
static int64_t growth(int64_t *known, int64_t now)
{
	int64_t more = now < *known ? now : now - *known;

	*known = now;
	return more;
}

/* Waits for a CPU, by the kernel, so that the launcher can say whether each thread had one. */
static void note_queue(struct sn_thread *self)
{
	struct sn_causal *causal = sn_causal_of(self);
	int64_t queued_ns = sn_thread_wait_cpu_ns(self->tid);

	if (queued_ns < 0)
		return;
	add(&sn_causal_control->queued_ns, growth(&causal->queued_ns, queued_ns));
	add(&sn_causal_control->ran_ns, growth(&causal->ran_ns, sn_thread_cpu_ns(self->tid)));
	causal->unnoted = 0;
}

/* How often the hit before was another thread's, of late, and whether that came while this one worked as well. */
static void note_beside(const struct sn_thread *self, struct sn_causal_target *target)
{
	struct sn_causal *causal = sn_causal_of(self);
	int64_t now_ns = sn_now_ns(), alone_ns = now_ns - causal->met_ns;
	int64_t period_ns = (int64_t)sn_config.settings.period_ns;
	uint32_t at = (uint32_t)(now_ns >> HIT_TIME_SHIFT);
	uint64_t before = atomic_exchange_explicit(&sn_causal_control->last_hit,
						   (uint64_t)(uint32_t)self->tid << 32 | at,
						   memory_order_relaxed);
	bool is_anothers = before && before >> 32 != (uint32_t)self->tid;

	causal->beside += ((is_anothers ? ONE : 0) - causal->beside) / BESIDE_MEMORY_HITS;
	if (!is_anothers)
		return;
	if (alone_ns > period_ns)
		alone_ns = period_ns;
	add(&target->seen_ns, alone_ns);
	if ((int64_t)(at - (uint32_t)before) << HIT_TIME_SHIFT < alone_ns)
		count(&target->together);
}

/* Who waits actively waits all the same: what it was due in that time it need not pay. In calls it is credited at their
 * end. */
static void credit_spinning(struct sn_causal *causal, int64_t cpu_ns)
{
	int64_t owed = due_now() - causal->had - causal->carried;
	int64_t credit = owed < cpu_ns ? owed : cpu_ns;

	if (causal->call)
		return;
	causal->spun = SPUN_LATELY_SAMPLES;
	if (credit < CREDIT_LEAST_NS)
		return;
	add(&sn_causal_control->credited_ns, credit);
	count(&sn_causal_control->credits);
	causal->had += credit;
}

/* Who began the experiment was killed: it ends, and all debts are forgotten. */
static void end_if_alone(uint64_t word)
{
	int64_t alive_ns = atomic_load_explicit(&sn_causal_control->alive_ns, memory_order_relaxed);

	if (sn_causal_target_of(word) == SN_CAUSAL_NO_TARGET ||
	    sn_now_ns() - alive_ns < SN_CAUSAL_GONE_NS)
		return;
	sn_causal_control->start_due_ns = due_now();
	atomic_compare_exchange_strong(
		&sn_causal_control->experiment, &word,
		sn_causal_word(sn_causal_number(word) | SN_CAUSAL_ALONE, SN_CAUSAL_NO_TARGET, 0));
}

static void after_sample(struct sn_thread *self, uint64_t pc, int64_t cpu_ns)
{
	struct sn_causal *causal = sn_causal_of(self);

	if (!sn_causal_control)
		return;
	uint32_t before = causal->experiment;
	uint64_t word = follow(causal);
	uint32_t target = sn_causal_target_of(word);
	if (causal->experiment != before || ++causal->unnoted == NOTED_SAMPLES) {
		note_queue(self); /* a whole run is one experiment */
		end_if_alone(word);
	}
	sn_causal_take_planned(self);
	sn_causal_flush(self);
	if (cpu_ns > 0) {
		causal->spun -= causal->spun ? 1 : 0;
		count(&sn_causal_control->samples);
		if (target < sn_causal_control->target_count && is_in_target(self, target, pc)) {
			count(&sn_causal_control->hits);
			add(&sn_causal_control->hit_ns, cpu_ns);
			spare(causal, cpu_ns * sn_causal_speedup(word) / SN_CAUSAL_WHOLE);
			note_beside(self, &sn_causal_control->targets[target]);
		} else if (target < sn_causal_control->target_count &&
			   kind_of(pc) == SN_CAUSAL_SPINS) {
			credit_spinning(causal, cpu_ns);
		}
	}
	/* a thread that has just been woken may be sampled before it is known whether it need not pay */
	if (causal->call && !causal->is_call_sampled)
		causal->is_call_sampled = true;
	else
		pay(causal, kept_at_sample(causal, word), PAUSE_LEAST_AT_SAMPLE_NS);
}

/* ---- waits for others ---- */

static void wait_begins(struct sn_causal *causal, uint64_t call)
{
	follow(causal);
	causal->call = call;
	causal->is_call_sampled = false;
	causal->call_ns = causal->met_ns = sn_now_ns();
	causal->call_due = due_now();
	causal->call_had = causal->had;
}

/* Who let this thread go on had paid until then. What was due before the wait could have been paid
 * within it, as far as the wait was longer than what others paid meanwhile. */
static void wait_is_over(struct sn_causal *causal, uint64_t call)
{
	uint64_t was = causal->call;

	causal->call = 0;
	if (was != call ||
	    sn_causal_number(atomic_load(&sn_causal_control->experiment)) != causal->experiment)
		return;
	int64_t due = due_now(), during = due - causal->call_due;
	causal->met_ns = sn_now_ns();
	int64_t free_ns = causal->met_ns - causal->call_ns - during;
	int64_t carried = causal->carried < due - causal->had ? causal->carried : due - causal->had;
	int64_t before = causal->call_due - causal->call_had - causal->carried;
	int64_t had = causal->call_had + during +
		      (before < 0	  ? 0
		       : before < free_ns ? before
		       : free_ns > 0	  ? free_ns
					  : 0);
	if (carried < 0)
		carried = 0;
	if (had > due - carried)
		had = due - carried;
	if (had - causal->had < CREDIT_LEAST_NS)
		return;
	add(&sn_causal_control->credited_ns, had - causal->had);
	count(&sn_causal_control->credits);
	causal->had = had;
}

void sn_causal_wait_begins(void)
{
	struct sn_thread *self = sn_self;

	if (!sn_causal_control || !sn_enter(self))
		return;
	wait_begins(sn_causal_of(self), 1);
	sn_leave(self);
}

void sn_causal_wait_is_over(void)
{
	struct sn_thread *self = sn_self;

	if (!sn_causal_control || !sn_enter(self))
		return;
	wait_is_over(sn_causal_of(self), 1);
	sn_leave(self);
}

static bool has_waited(const struct sn_causal *causal, int64_t work_ns)
{
	return sn_now_ns() - causal->call_ns > PAUSE_LEAST_NS + work_ns;
}

void sn_causal_read_is_over(int fd)
{
	struct sn_thread *self = sn_self;

	if (!sn_causal_control || !sn_enter(self))
		return;
	struct sn_causal *causal = sn_causal_of(self);
	if (causal->call == 1 && has_waited(causal, 0) && sn_causal_comes_from_others(fd))
		wait_is_over(causal, 1);
	else if (causal->call == 1)
		causal->call = 0;
	sn_leave(self);
}

#define IS(name) (call->function == (const void *)sn_calls_real.real_##name)

static int futex_operation(const struct sn_call *call)
{
	return call->group == SN_WAIT_OTHER && IS(syscall) && call->words[0] == SYS_futex
		       ? (int)call->words[2] & FUTEX_CMD_MASK
		       : -1;
}

/* What lets another thread or process go on, or may: a barrier's last thread, a lock that a wait for
 * a condition gives back, bytes in a pipe. */
static bool wakes(const struct sn_call *call)
{
	int futex = futex_operation(call);

	if (call->group == SN_WAIT_IO)
		return IS(write) || IS(writev) || IS(send) || IS(sendto) || IS(sendmsg) ||
		       IS(syscall);
	return IS(pthread_barrier_wait) || IS(pthread_cond_wait) || IS(pthread_cond_timedwait) ||
	       IS(pthread_cond_clockwait) || IS(cnd_wait) || IS(cnd_timedwait) ||
	       (futex >= 0 && futex != FUTEX_WAIT && futex != FUTEX_WAIT_BITSET);
}

/* Its time was over, which it would not have been if nobody had been held up, perhaps. */
static bool ran_out_of_time(const struct sn_call *call)
{
	if (IS(poll) || IS(epoll_wait))
		return call->result == 0 && call->words[IS(poll) ? 2 : 3] > 0;
	return call->result == ETIMEDOUT || (IS(sem_timedwait) && call->result != 0);
}

/* What fills a pipe waits until others have made room. The rest of its time is the copying of bytes. */
static bool has_waited_for_room(const struct sn_call *call)
{
	return !IS(syscall) && call->result > 0 &&
	       has_waited(sn_causal_of(sn_self), call->result * COPIED_NS) &&
	       sn_causal_comes_from_others((int)call->words[0]);
}

static bool was_woken(const struct sn_call *call)
{
	const struct sn_causal *causal = sn_causal_of(sn_self);

	switch (call->group) {
	case SN_WAIT_LOCK:
		return call->result == 0;
	case SN_WAIT_CONDITION:
	case SN_WAIT_JOIN: /* not at the end of its time */
		return IS(sem_wait) || IS(sem_timedwait) ? call->result == 0
							 : call->result != ETIMEDOUT;
	case SN_WAIT_CHILD:
		return call->result >= 0;
	case SN_WAIT_OTHER:
		return call->result == 0 && futex_operation(call) >= 0;
	case SN_WAIT_IO:
		if (wakes(call))
			return has_waited_for_room(call);
		return call->result >= 0 && !IS(fsync) && !IS(fdatasync) && has_waited(causal, 0) &&
		       sn_causal_comes_from_others((int)call->words[0]);
	case SN_WAIT_POLL:
		return has_waited(causal, 0) && sn_causal_was_poll_answered(call);
	default:
		return false;
	}
}

static void before_call(struct sn_thread *self, const struct sn_call *call)
{
	struct sn_causal *causal = sn_causal_of(self);

	if (!sn_causal_control || !sn_enter(self))
		return;
	uint64_t word = follow(causal);
	sn_causal_take_planned(self);
	if (wakes(call))
		pay_to_wake(causal, word);
	wait_begins(causal, call->begin);
	sn_leave(self);
}

static void after_call(struct sn_thread *self, const struct sn_call *call)
{
	struct sn_causal *causal = sn_causal_of(self);
	int saved_errno = errno;

	if (!sn_causal_control || !sn_enter(self))
		return;
	if (causal->call == call->begin && was_woken(call))
		wait_is_over(causal, call->begin);
	else if (causal->call == call->begin && due_now() != causal->call_due &&
		 !causal->is_beats_own && ran_out_of_time(call))
		count(&sn_causal_control->timed_waits);
	if (causal->call == call->begin)
		causal->call = 0;
	sn_leave(self);
	errno = saved_errno;
}

/* ---- life ---- */

/* Who made the thread had paid. */
static void begin_thread(struct sn_thread *thread, enum sn_thread_origin origin)
{
	struct sn_causal *causal = sn_causal_of(thread);

	(void)origin;
	if (!sn_causal_control)
		return;
	follow(causal);
	causal->had = due_now();
	causal->is_beats_own = sn_causal_is_beats_own((uint64_t)(uintptr_t)thread->start);
	sn_calls_ask(thread, &sn_causal_collector, ASKED, true);
}

/* Nothing but the page is kept of a run with experiments, and who asks for no callees looks at leaves alone: callers would
 * be unwound for nobody. */
static void leave_callers_out(void)
{
	bool is_asked = !sn_causal_control->target_count;

	for (uint32_t t = 0; t < sn_causal_control->target_count; t++)
		is_asked |= sn_causal_control->targets[t].flags != 0;
	if (!is_asked)
		sn_config.settings.stack_max_frames = 1;
}

/* The control page is found among the image's modules, when its first thread has begun. */
static bool install(enum sn_data_origin origin)
{
	if (sn_causal_control) {
		count(&sn_causal_control->processes);
		sn_causal_watch_locks();
		leave_callers_out();
		if (origin == SN_DATA_ORIGIN_EXEC)
			sn_causal_watch_unpatched();
		begin_thread(sn_self, SN_THREAD_MAIN);
		sn_causal_skip_planned(sn_self);
	}
	return true;
}

static bool is_same(const uint8_t *a, const uint8_t *b, uint32_t bytes)
{
	while (bytes && a[bytes - 1] == b[bytes - 1])
		bytes--;
	return !bytes;
}

static void mapped(const struct sn_map_facts *facts)
{
	struct sn_causal_control *control = sn_causal_control;

	if (!control) {
		sn_causal_attach();
		control = sn_causal_control;
	}
	for (uint32_t m = 0; control && m < control->module_count; m++) {
		const struct sn_causal_module *module = &control->modules[m];

		if (module->id_bytes != facts->build_id_bytes || !module->id_bytes ||
		    !is_same(module->id, facts->build_id, module->id_bytes))
			continue;
		for (uint32_t r = 0; r < control->range_count; r++)
			if (control->ranges[r].module == m)
				load_addrs[r] =
					facts->load_bias + control->ranges[r].first_link_addr;
		sn_causal_watch_places(m, facts->load_bias);
	}
}

static void end_thread(struct sn_thread *self, int64_t now_ns)
{
	(void)now_ns;
	if (!sn_causal_control)
		return;
	sn_causal_take_planned(self);
	sn_causal_flush(self);
	note_queue(self);
	follow(sn_causal_of(self));
	pay(sn_causal_of(self), 0, PAUSE_LEAST_NS); /* it has no later meeting */
	add(&sn_causal_control->excess_ns, sn_causal_of(self)->excess);
	sn_causal_of(self)->excess = 0;
}

/* The image ends: what it has left. */
static void account(struct sn_thread *thread, struct sn_writer *writer, int64_t now_ns,
		    bool is_ending)
{
	(void)writer;
	if (!is_ending && thread == sn_self)
		end_thread(thread, now_ns);
}

static void seal(struct sn_thread *self)
{
	(void)self;
	if (!sn_causal_control)
		return;
	count(&sn_causal_control->sealed_processes);
	sn_warn(SEALED);
}

/* A new thread owes nothing. */
static void share(void)
{
	if (sn_causal_is_due())
		pay_now(true);
}

struct sn_collector sn_causal_collector = {
	.name = "causal",
	.thread_bytes = sizeof(struct sn_causal),
	.load = sn_causal_find_real,
	.install = install,
	.share = share,
	.seal = seal,
	.mapped = mapped,
	.thread_begin = begin_thread,
	.thread_end = end_thread,
	.account = account,
	.after_sample = after_sample,
	.wakes = sn_causal_pay,
	.wait_begins = sn_causal_wait_begins,
	.wait_is_over = sn_causal_wait_is_over,
	.before_call = before_call,
	.after_call = after_call,
};
