#include "record/cost.h"

#include <fcntl.h>
#include <linux/perf_event.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <x86intrin.h>

#include "base/progress.h"

enum {
	GAPS = 15,
	PERIOD_NS = 500000,
	WAIT_MOST_NS = 50000000, /* for all signals together */
	TURNS = 200,
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

/* Gaps in ticks around each signal; with `fd` below 0 signals are sent from here. */
static int gaps_collect(int fd, uint64_t *gaps, uint64_t give_up_tsc)
{
	int count = 0, seen = signals_seen;
	uint64_t last = __rdtsc(), begin = last, now;

	while (count < GAPS && last - begin < give_up_tsc) {
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
	uint64_t tsc = __rdtsc();
	int64_t begin_ns = sn_clock_ns(CLOCK_MONOTONIC), now_ns;

	do
		now_ns = sn_clock_ns(CLOCK_MONOTONIC);
	while (now_ns - begin_ns < 200000);
	return (double)(__rdtsc() - tsc) / (double)(now_ns - begin_ns);
}

uint64_t sn_cost_of_signal(void)
{
	struct sigaction ours = { .sa_handler = signal_note, .sa_flags = SA_RESTART }, trap, fault;
	double rate = ticks_per_ns();
	uint64_t gaps[GAPS];
	int count, fd;

	sigaction(SIGTRAP, &ours, &trap);
	sigaction(SIGSTKFLT, &ours, &fault);
	fd = event_open(PERIOD_NS);
	count = gaps_collect(fd, gaps, (uint64_t)(WAIT_MOST_NS * rate));
	if (fd >= 0)
		close(fd);
	sigaction(SIGTRAP, &trap, NULL);
	sigaction(SIGSTKFLT, &fault, NULL);
	if (!count)
		return 0;
	qsort(gaps, (size_t)count, sizeof(*gaps), by_size);
	return (uint64_t)((double)gaps[count / 2] / rate);
}

/* ---- switches ---- */

struct pair {
	int to[2], fro[2];
	bool has_events, is_broken;
};

static int pair_event(const struct pair *pair)
{
	return pair->has_events ? event_open(1000000000) : -1;
}

static void *pair_answer(void *argument)
{
	struct pair *pair = argument;
	int fd = pair_event(pair);
	char byte;

	for (int i = 0; i < TURNS; i++)
		if (read(pair->to[0], &byte, 1) != 1 || write(pair->fro[1], &byte, 1) != 1)
			break;
	if (fd >= 0)
		close(fd);
	return NULL;
}

/* CPU time of the process for all turns, start and end of the thread included. */
static int64_t turns_ns(struct pair *pair, bool has_events)
{
	int64_t begin_ns;
	pthread_t thread;
	char byte = 0;
	int fd;

	pair->has_events = has_events;
	if (pthread_create(&thread, NULL, pair_answer, pair)) {
		pair->is_broken = true;
		return 0;
	}
	fd = pair_event(pair);
	begin_ns = sn_clock_ns(CLOCK_PROCESS_CPUTIME_ID);
	for (int i = 0; i < TURNS; i++)
		if (write(pair->to[1], &byte, 1) != 1 || read(pair->fro[0], &byte, 1) != 1)
			pair->is_broken = true;
	begin_ns = sn_clock_ns(CLOCK_PROCESS_CPUTIME_ID) - begin_ns;
	pair->is_broken |= has_events && fd < 0;
	if (fd >= 0)
		close(fd);
	pthread_join(thread, NULL);
	return begin_ns;
}

uint64_t sn_cost_of_switch(void)
{
	struct pair pair = { { -1, -1 }, { -1, -1 }, false, false };
	cpu_set_t before, one;
	int64_t plain_ns = 0, with_ns = 0;

	CPU_ZERO(&one);
	CPU_SET((unsigned)sched_getcpu(), &one);
	if (sched_getaffinity(0, sizeof(before), &before) || pipe2(pair.to, O_CLOEXEC))
		return 0;
	if (pipe2(pair.fro, O_CLOEXEC)) {
		pair.is_broken = true;
	} else {
		sched_setaffinity(0, sizeof(one), &one);
		plain_ns = turns_ns(&pair, false);
		with_ns = turns_ns(&pair, true);
		sched_setaffinity(0, sizeof(before), &before);
		close(pair.fro[0]);
		close(pair.fro[1]);
	}
	close(pair.to[0]);
	close(pair.to[1]);
	return pair.is_broken || with_ns < plain_ns ? 0
						    : (uint64_t)(with_ns - plain_ns) / (2 * TURNS);
}
