/* Code between short system calls: waits in epoll_wait, reads, computes, writes, in turns with a
 * process that answers. Prints which part of its CPU time was computing, by the time-stamp counter
 * around it: a time over three times the median counts as the median, as something else had the CPU.
 *
 *     shortcalls MULTIPLICATIONS CPU_SECONDS CPUS     CPUS 1: both on one CPU
 */
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "stay_on.h"

enum { TURNS_MOST = 4000000 };
static volatile unsigned sink;
static uint32_t ticks[TURNS_MOST];

static double now_s(clockid_t clock)
{
	struct timespec time;

	clock_gettime(clock, &time);
	return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

__attribute__((noinline)) static void compute(unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		sink = sink * 1664525u + i;
}

static void answer(int fd)
{
	char byte;

	while (read(fd, &byte, 1) == 1)
		if (write(fd, &byte, 1) != 1)
			break;
	_exit(0);
}

static int by_size(const void *a, const void *b)
{
	const uint32_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

int main(int count, char **words)
{
	unsigned work = count > 1 ? (unsigned)atoi(words[1]) : 300;
	double seconds = count > 2 ? atof(words[2]) : 1, sum = 0;
	struct epoll_event event = { .events = EPOLLIN }, got;
	int pair[2], epoll = epoll_create1(0), turns = 0;
	char byte = 0;

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair))
		return 1;
	if (fork() == 0) {
		close(pair[0]);
		stay_on(count > 3 ? atoi(words[3]) - 1 : 0);
		answer(pair[1]);
	}
	close(pair[1]);
	stay_on(0);
	epoll_ctl(epoll, EPOLL_CTL_ADD, pair[0], &event);
	double wall_s = now_s(CLOCK_MONOTONIC), cpu_s = now_s(CLOCK_THREAD_CPUTIME_ID), used_s = 0;
	uint64_t start = __builtin_ia32_rdtsc();
	if (write(pair[0], &byte, 1) != 1)
		return 1;
	while (turns < TURNS_MOST && used_s < seconds) {
		if (epoll_wait(epoll, &got, 1, -1) != 1 || read(pair[0], &byte, 1) != 1)
			return 1;
		uint64_t begin = __builtin_ia32_rdtsc();
		compute(work);
		uint64_t end = __builtin_ia32_rdtsc();
		if (write(pair[0], &byte, 1) != 1)
			return 1;
		ticks[turns++] = end - begin > UINT32_MAX ? UINT32_MAX : (uint32_t)(end - begin);
		if (turns % 64 == 0)
			used_s = now_s(CLOCK_THREAD_CPUTIME_ID) - cpu_s;
	}
	used_s = now_s(CLOCK_THREAD_CPUTIME_ID) - cpu_s;
	double hz = (double)(__builtin_ia32_rdtsc() - start) / (now_s(CLOCK_MONOTONIC) - wall_s);
	close(pair[0]);
	wait(NULL);
	qsort(ticks, (size_t)turns, sizeof *ticks, by_size);
	for (int i = 0; i < turns; i++)
		sum += ticks[i] > 3.0 * ticks[turns / 2] ? ticks[turns / 2] : ticks[i];
	printf("%.4f %.4f\n", sum / hz / used_s, used_s);
	return 0;
}
