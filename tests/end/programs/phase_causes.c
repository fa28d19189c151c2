/* Three causes of lost time in each execution of a phase, step(), which the program times itself: a team that waits for a late
 * thread, a thread that waits for a lock, one that waits for input. They grow from the first execution to the last, so that no
 * two windows of executions have the same shares. Prints for each execution its begin and end (ns of CLOCK_MONOTONIC) and the
 * thread-seconds lost in it by cause. Two threads, late because they sleep, so that the loss is the same on a busy machine. */
#include <omp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#define KEPT __attribute__((noinline, noclone, noipa))

struct lost {
	long long begin_ns, end_ns;
	double team_s, lock_s, input_s;
};
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static volatile int is_held;
static volatile unsigned sink;
static double arrived[2];
static struct lost lost;
static int timer;
static unsigned late_us;

static long long now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000LL + t.tv_nsec;
}

/* Some CPU time, so that a thread is at work; each round needs the one before. */
KEPT static void work(void)
{
	unsigned x = sink;

	for (int i = 0; i < 1000000; i++)
		x = x * 1664525u + 1013904223u;
	sink = x;
}

static double apart(void)
{
	return arrived[0] > arrived[1] ? arrived[0] - arrived[1] : arrived[1] - arrived[0];
}

KEPT static void team(void)
{
#pragma omp parallel num_threads(2)
	{
		work();
		if (omp_get_thread_num())
			usleep(late_us);
		arrived[omp_get_thread_num()] = omp_get_wtime();
	}
	lost.team_s = apart();
}

KEPT static void want(void)
{
	double begin = omp_get_wtime();

	pthread_mutex_lock(&mutex);
	lost.lock_s = omp_get_wtime() - begin;
	pthread_mutex_unlock(&mutex);
}

KEPT static void hold(void)
{
	pthread_mutex_lock(&mutex);
	is_held = 1;
	usleep(late_us);
	pthread_mutex_unlock(&mutex);
}

KEPT static void locked(void)
{
#pragma omp parallel num_threads(2)
	{
		if (omp_get_thread_num()) {
			hold();
		} else {
			while (!is_held)
				usleep(50);
			is_held = 0;
			want();
		}
		work();
		arrived[omp_get_thread_num()] = omp_get_wtime();
	}
	lost.team_s += apart();
}

KEPT static void input(void)
{
	const struct itimerspec once = { .it_value = { .tv_nsec = late_us * 1000L } };
	double begin = omp_get_wtime();
	unsigned long long times;

	timerfd_settime(timer, 0, &once, NULL);
	if (read(timer, &times, sizeof(times)) < 0)
		exit(1);
	lost.input_s = omp_get_wtime() - begin;
}

KEPT void step(void)
{
	team();
	locked();
	input();
}

int main(int argc, char **argv)
{
	int rounds = argc > 1 ? atoi(argv[1]) : 100;
	struct lost *all = calloc((size_t)rounds, sizeof(*all));

	timer = timerfd_create(CLOCK_MONOTONIC, 0);
	for (int i = 0; i < rounds; i++) {
		late_us = (unsigned)(3000 + 6000L * i / rounds);
		lost.begin_ns = now_ns();
		step();
		lost.end_ns = now_ns();
		all[i] = lost;
	}
	for (int i = 0; i < rounds; i++)
		printf("execution %lld %lld %.9f %.9f %.9f\n", all[i].begin_ns, all[i].end_ns,
		       all[i].team_s, all[i].lock_s, all[i].input_s);
	return 0;
}
