/*
 * A loop that reads the time-stamp counter shows each interruption as a gap; two threads on one
 * CPU that hand a byte to and fro show what an event adds to a context switch.
 */
#include "record/cost.h"

#include <fcntl.h>
#include <linux/perf_event.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <x86intrin.h>

#include "base/progress.h"

enum {
	SIGNALS = 5,
	INTERRUPTS = 9,
	SIGNAL_PERIOD_NS = 200000,     /* a twentieth less than 0.5 ms apart, in 1.5 ms less time */
	INTERRUPT_STRETCH_NS = 100000, /* longer ones have interrupts of others in them */
	CARRIED_PERIOD_NS = 1000700, /* as targets have it: what comes before the kernel's tick has
				      * its timer set anew at each switch */
	WAIT_MOST_NS = 50000000,     /* for all signals together */
	TURNS = 100,
	ROUNDS = 9,
	READS = 600,
};

static volatile sig_atomic_t signals_seen;

static void signal_note(int signal)
{
	(void)signal;
	signals_seen++;
}

/* As the runtime opens it: the event's own SIGTRAP, else a signal through the descriptor. */
static int event_open(uint64_t period_ns)
{
	struct perf_event_attr attr = { .type = PERF_TYPE_SOFTWARE,
					.size = sizeof(attr),
					.config = PERF_COUNT_SW_TASK_CLOCK,
					.sample_period = period_ns,
					.exclude_kernel = 1,
					.exclude_hv = 1,
					.sigtrap = 1,
					.remove_on_exec = 1 };
	struct f_owner_ex owner = { .type = F_OWNER_TID, .pid = (pid_t)syscall(SYS_gettid) };
	int fd = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);

	if (fd >= 0)
		return fd;
	attr.sigtrap = attr.remove_on_exec = 0;
	fd = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
	if (fd >= 0) {
		fcntl(fd, F_SETSIG, SIGSTKFLT);
		fcntl(fd, F_SETOWN_EX, &owner);
		fcntl(fd, F_SETFL, O_ASYNC);
	}
	return fd;
}

static int by_size(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* The mean of the middle half. */
static uint64_t middle_of(uint64_t *values, int count)
{
	int first = count / 4, end = count - count / 4;
	uint64_t sum = 0;

	qsort(values, (size_t)count, sizeof(*values), by_size);
	for (int i = first; i < end; i++)
		sum += values[i];
	return sum / (uint64_t)(end - first);
}

/* Gaps in ticks around each signal; with `fd` below 0 signals are sent from here. */
static int gaps_collect(int fd, uint64_t *gaps, uint64_t give_up_tsc)
{
	int count = 0, seen = signals_seen;
	uint64_t last = __rdtsc(), begin = last, now;

	while (count < SIGNALS && last - begin < give_up_tsc) {
		if (fd < 0)
			raise(SIGSTKFLT);
		if (signals_seen != seen) {
			now = __rdtsc();
			seen = signals_seen;
			gaps[count++] = now - last;
		}
		last = __rdtsc();
	}
	return count;
}

static double ticks_per_ns(void)
{
	static double measured;
	uint64_t tsc = __rdtsc();
	int64_t begin_ns = sn_clock_ns(CLOCK_MONOTONIC), now_ns;

	do
		now_ns = sn_clock_ns(CLOCK_MONOTONIC);
	while (measured <= 0 && now_ns - begin_ns < 200000);
	if (measured <= 0)
		measured = (double)(__rdtsc() - tsc) / (double)(now_ns - begin_ns);
	return measured;
}

double sn_cost_ticks_per_ns(struct sn_cost *cost)
{
	if (cost->ticks_per_ns <= 0)
		cost->ticks_per_ns = ticks_per_ns();
	return cost->ticks_per_ns;
}

struct handlers {
	struct sigaction trap, fault;
};

static void handlers_set(struct handlers *before)
{
	struct sigaction ours = { .sa_handler = signal_note, .sa_flags = SA_RESTART };

	sigaction(SIGTRAP, &ours, &before->trap);
	sigaction(SIGSTKFLT, &ours, &before->fault);
}

static void handlers_restore(const struct handlers *before)
{
	sigaction(SIGTRAP, &before->trap, NULL);
	sigaction(SIGSTKFLT, &before->fault, NULL);
}

uint64_t sn_cost_of_signal(void)
{
	struct handlers before;
	double rate = ticks_per_ns();
	uint64_t gaps[SIGNALS];
	int count, fd;

	handlers_set(&before);
	fd = event_open(SIGNAL_PERIOD_NS);
	count = gaps_collect(fd, gaps, (uint64_t)(WAIT_MOST_NS * rate));
	if (fd >= 0)
		close(fd);
	handlers_restore(&before);
	if (!count)
		return 0;
	return (uint64_t)((double)middle_of(gaps, count) / rate);
}

int64_t sn_cost_of_us_ns(bool with_children)
{
	static int64_t told_ns, told_children_ns;
	int64_t now_ns = sn_clock_ns(CLOCK_PROCESS_CPUTIME_ID), used_ns = now_ns - told_ns,
		children_ns;
	struct rusage children;

	getrusage(RUSAGE_CHILDREN, &children);
	children_ns = ((int64_t)children.ru_utime.tv_sec + children.ru_stime.tv_sec) * 1000000000 +
		      ((int64_t)children.ru_utime.tv_usec + children.ru_stime.tv_usec) * 1000;
	if (with_children)
		used_ns += children_ns - told_children_ns;
	told_ns = now_ns;
	told_children_ns = children_ns;
	return used_ns;
}

/* The longest gap of each stretch of a period: shorter ones have no interrupt of the event's in them. */
uint64_t sn_cost_of_interrupt(void)
{
	struct perf_event_attr attr = { .type = PERF_TYPE_SOFTWARE,
					.size = sizeof(attr),
					.config = PERF_COUNT_SW_TASK_CLOCK,
					.sample_period = INTERRUPT_STRETCH_NS / 2,
					.exclude_kernel = 1,
					.exclude_hv = 1 };
	int fd = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
	double rate = ticks_per_ns();
	uint64_t gaps[INTERRUPTS] = { 0 };

	if (fd < 0)
		return 0;
	for (int i = 0; i < INTERRUPTS; i++) {
		uint64_t begin = __rdtsc(), last = begin, now;
		while (last - begin < (uint64_t)(INTERRUPT_STRETCH_NS * rate)) {
			now = __rdtsc();
			gaps[i] = now - last > gaps[i] ? now - last : gaps[i];
			last = now;
		}
	}
	close(fd);
	return (uint64_t)((double)middle_of(gaps, INTERRUPTS) / rate);
}

/* As a wrapper of the runtime counts (runtime/calls/calls.h). */
struct counts {
	uint64_t calls, between, last_end, longest;
	uint32_t left;
};

static __attribute__((noinline)) ssize_t read_plainly(struct counts *counts, int fd, void *bytes)
{
	(void)counts;
	return read(fd, bytes, 1);
}

static __attribute__((noinline)) ssize_t read_timed(struct counts *counts, int fd, void *bytes)
{
	uint64_t begin, end;
	ssize_t got;

	counts->calls++;
	if (--counts->left == 0)
		counts->left = TURNS;
	begin = __rdtsc();
	counts->between += begin - counts->last_end;
	got = read(fd, bytes, 1);
	end = __rdtsc();
	counts->last_end = end;
	if (end - begin > counts->longest)
		counts->longest = end - begin;
	return got;
}

static uint64_t reads_ticks(ssize_t (*one)(struct counts *, int, void *), struct counts *counts,
			    int fd)
{
	uint64_t begin = __rdtsc();
	char byte;

	for (int i = 0; i < READS; i++)
		if (one(counts, fd, &byte) < 0)
			break;
	return __rdtsc() - begin;
}

uint64_t sn_cost_of_timing(void)
{
	double rate = ticks_per_ns();
	uint64_t least[2] = { UINT64_MAX, UINT64_MAX };
	struct counts counts = { .left = TURNS };
	int fd = open("/dev/zero", O_RDONLY | O_CLOEXEC);

	for (int round = 0; round < ROUNDS && fd >= 0; round++) {
		uint64_t plain = reads_ticks(read_plainly, &counts, fd);
		uint64_t timed = reads_ticks(read_timed, &counts, fd);

		least[0] = plain < least[0] ? plain : least[0];
		least[1] = timed < least[1] ? timed : least[1];
	}
	if (fd < 0 || least[1] <= least[0])
		return 0;
	close(fd);
	return (uint64_t)((double)(least[1] - least[0]) / rate / READS);
}

/* ---- switches ---- */

/* What the kernel set up for a thread's first event stays with the thread. */
enum carried { NO_EVENT, CLOSED_EVENT, OPEN_EVENT, CARRIED_KINDS };

struct pair {
	int to[2], fro[2];
	enum carried carried;
	atomic_bool is_broken;
	int64_t used_ns;
};

static int event_carry(struct pair *pair)
{
	int fd = pair->carried == NO_EVENT ? -1 : event_open(CARRIED_PERIOD_NS);

	if (pair->carried != NO_EVENT && fd < 0)
		pair->is_broken = true;
	if (pair->carried == CLOSED_EVENT && fd >= 0)
		close(fd);
	return pair->carried == OPEN_EVENT ? fd : -1;
}

static void *pair_answer(void *argument)
{
	struct pair *pair = argument;
	int fd = event_carry(pair);
	char byte;

	for (int i = 0; i <= TURNS; i++)
		if (read(pair->to[0], &byte, 1) != 1 || write(pair->fro[1], &byte, 1) != 1)
			break;
	if (fd >= 0)
		close(fd);
	return NULL;
}

/* The first turn is not timed: after it the other thread has its event. */
static void *pair_ask(void *argument)
{
	struct pair *pair = argument;
	int fd = event_carry(pair);
	int64_t begin_ns = 0;
	char byte = 0;

	for (int i = 0; i <= TURNS; i++) {
		if (write(pair->to[1], &byte, 1) != 1 || read(pair->fro[0], &byte, 1) != 1)
			pair->is_broken = true;
		if (i == 0)
			begin_ns = sn_clock_ns(CLOCK_PROCESS_CPUTIME_ID);
	}
	pair->used_ns = sn_clock_ns(CLOCK_PROCESS_CPUTIME_ID) - begin_ns;
	if (fd >= 0)
		close(fd);
	return NULL;
}

/* CPU time of the process for all turns of two new threads. */
static int64_t turns_ns(struct pair *pair, enum carried carried)
{
	pthread_t ask, answer;

	pair->carried = carried;
	if (pthread_create(&answer, NULL, pair_answer, pair)) {
		pair->is_broken = true;
		return 0;
	}
	if (pthread_create(&ask, NULL, pair_ask, pair)) {
		pair->is_broken = true;
		close(pair->to[1]); /* the other's read ends */
		pair->to[1] = -1;
	} else {
		pthread_join(ask, NULL);
	}
	pthread_join(answer, NULL);
	return pair->used_ns;
}

/* By rounds: what disturbs one with events disturbs that without, which is beside it. */
static uint64_t per_switch_ns(const uint64_t *with_ns, const uint64_t *without_ns)
{
	uint64_t more[ROUNDS];

	for (int i = 0; i < ROUNDS; i++)
		more[i] = with_ns[i] > without_ns[i] ? with_ns[i] - without_ns[i] : 0;
	return middle_of(more, ROUNDS) / (2 * TURNS);
}

void sn_cost_of_switch(struct sn_cost *cost)
{
	struct pair pair = { .to = { -1, -1 }, .fro = { -1, -1 } };
	uint64_t rounds_ns[CARRIED_KINDS][ROUNDS] = { 0 };
	struct handlers handlers;
	cpu_set_t before, one;

	CPU_ZERO(&one);
	CPU_SET((unsigned)sched_getcpu(), &one);
	if (sched_getaffinity(0, sizeof(before), &before))
		return;
	pair.is_broken = pipe2(pair.to, O_CLOEXEC) || pipe2(pair.fro, O_CLOEXEC);
	sched_setaffinity(0, sizeof(one), &one);
	handlers_set(&handlers);
	for (int i = 0; i < ROUNDS * CARRIED_KINDS && !pair.is_broken; i++) {
		enum carried carried = (enum carried)(i % CARRIED_KINDS);

		rounds_ns[carried][i / CARRIED_KINDS] = (uint64_t)turns_ns(&pair, carried);
	}
	handlers_restore(&handlers);
	sched_setaffinity(0, sizeof(before), &before);
	for (int i = 0; i < 2; i++) {
		if (pair.to[i] >= 0)
			close(pair.to[i]);
		if (pair.fro[i] >= 0)
			close(pair.fro[i]);
	}
	if (pair.is_broken)
		return;
	/* not the least: an event that is not the CPU's next timer for a moment costs a tenth */
	cost->switch_ns = per_switch_ns(rounds_ns[OPEN_EVENT], rounds_ns[NO_EVENT]);
	cost->switch_after_ns = per_switch_ns(rounds_ns[CLOSED_EVENT], rounds_ns[NO_EVENT]);
}
