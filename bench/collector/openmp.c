/*
 * What one event of OpenMP costs the program: the least of many short stretches of its thread's CPU time (of `region2`, elapsed
 * time).
 *
 *     openmp KIND    prints ns per event
 *
 * region1   an empty parallel region of one thread
 * region2   of two threads
 * critical  a critical section that nobody else wants
 * lock      the same with a lock of OpenMP
 * barrier   a barrier of a team of one
 * task      a task that is made and run
 */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { STRETCHES = 400, EVENTS = 200 };

static volatile long sink;
static omp_lock_t lock;

static double now_ns(clockid_t clock)
{
	struct timespec time;

	clock_gettime(clock, &time);
	return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

static void region1(void)
{
#pragma omp parallel num_threads(1)
	sink++;
}

static void region2(void)
{
#pragma omp parallel num_threads(2)
	__asm__ volatile("" ::: "memory");
}

static void critical(void)
{
#pragma omp critical
	sink++;
}

static void lock_once(void)
{
	omp_set_lock(&lock);
	sink++;
	omp_unset_lock(&lock);
}

static void barrier(void)
{
#pragma omp barrier
	sink++;
}

static void task(void)
{
#pragma omp task
	sink++;
#pragma omp taskwait
}

static double least(void (*event)(void), clockid_t clock)
{
	double best = 1e18;

	for (int s = 0; s < STRETCHES; s++) {
		double begin = now_ns(clock);

		for (int i = 0; i < EVENTS; i++)
			event();
		double ns = (now_ns(clock) - begin) / EVENTS;
		best = ns < best ? ns : best;
	}
	return best;
}

int main(int count, char **words)
{
	const struct {
		const char *name;
		void (*event)(void);
		int in_region;
	} kinds[] = { { "region1", region1, 0 },   { "region2", region2, 0 },
		      { "critical", critical, 1 }, { "lock", lock_once, 1 },
		      { "barrier", barrier, 1 },   { "task", task, 1 } };

	omp_init_lock(&lock);
	for (size_t i = 0; count > 1 && i < sizeof(kinds) / sizeof(*kinds); i++) {
		double ns = 0;

		if (strcmp(words[1], kinds[i].name) != 0)
			continue;
		if (kinds[i].in_region) {
#pragma omp parallel num_threads(1)
			ns = least(kinds[i].event, CLOCK_THREAD_CPUTIME_ID);
		} else {
			ns = least(kinds[i].event,
				   i == 1 ? CLOCK_MONOTONIC : CLOCK_THREAD_CPUTIME_ID);
		}
		printf("%.1f\n", ns);
		return 0;
	}
	return 2;
}
