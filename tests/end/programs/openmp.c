/* Regions of OpenMP with known counts, which time themselves: what threads spend in bodies and in calls that wait, as
 * the program sees it from outside of these. Prints "name seconds" lines. Two threads. */
#include <omp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static double body_s[2], barrier_s, critical_s, lock_s, taskwait_s;
static omp_lock_t lock;

static void add(double *sum, double seconds)
{
#pragma omp atomic
	*sum += seconds;
}

/* Thread 1 has twice the work of thread 0. */
__attribute__((noinline)) static void triangle(int ms)
{
#pragma omp parallel num_threads(2)
	{
		double begin = omp_get_wtime();
		usleep(ms * 1000 * (1 + omp_get_thread_num()));
		body_s[omp_get_thread_num()] += omp_get_wtime() - begin;
	}
}

/* Thread 1 comes to the barrier when thread 0 has been there for a while. */
__attribute__((noinline)) static void meet(int ms)
{
	atomic_int arrives = 0;
#pragma omp parallel num_threads(2)
	{
		if (omp_get_thread_num() == 1) {
			while (!arrives)
				usleep(100);
			usleep(ms * 1000);
		}
		double begin = omp_get_wtime();
		arrives = 1;
#pragma omp barrier
		add(&barrier_s, omp_get_wtime() - begin);
	}
}

/* Thread 1 wants the section while thread 0 is in it. */
__attribute__((noinline)) static void in_turn(int ms)
{
	atomic_int is_in = 0, wants = 0;
#pragma omp parallel num_threads(2)
	{
		if (omp_get_thread_num() == 1)
			while (!is_in)
				usleep(100);
		double begin = omp_get_wtime();
		if (omp_get_thread_num() == 1)
			wants = 1;
#pragma omp critical(known)
		{
			add(&critical_s, omp_get_wtime() - begin);
			is_in = 1;
			if (omp_get_thread_num() == 0) {
				while (!wants)
					usleep(100);
				usleep(ms * 1000);
			}
		}
	}
}

__attribute__((noinline)) static void locked(int ms)
{
	atomic_int is_in = 0, wants = 0;
#pragma omp parallel num_threads(2)
	{
		if (omp_get_thread_num() == 1)
			while (!is_in)
				usleep(100);
		double begin = omp_get_wtime();
		if (omp_get_thread_num() == 1)
			wants = 1;
		omp_set_lock(&lock);
		add(&lock_s, omp_get_wtime() - begin);
		is_in = 1;
		if (omp_get_thread_num() == 0) {
			while (!wants)
				usleep(100);
			usleep(ms * 1000);
		}
		omp_unset_lock(&lock);
	}
}

/* Thread 1 runs the task, thread 0 waits for it. */
__attribute__((noinline)) static void tasks(int ms)
{
	atomic_int runs = 0, is_made = 0;
#pragma omp parallel num_threads(2)
	{
		if (omp_get_thread_num() == 0) {
#pragma omp task shared(runs) firstprivate(ms)
			{
				runs = 1 + omp_get_thread_num();
				usleep(ms * 1000);
			}
			is_made = 1;
			while (!runs)
				usleep(100);
			double begin = omp_get_wtime();
#pragma omp taskwait
			add(&taskwait_s, omp_get_wtime() - begin);
		} else {
			while (!is_made)
				usleep(100);
		}
	}
	if (runs != 2)
		abort();
}

static long many(void)
{
	long sum = 0;
	for (int i = 0; i < 1000; i++)
#pragma omp parallel for num_threads(2) reduction(+ : sum)
		for (int k = 0; k < 10; k++)
			sum += k;
	return sum;
}

int main(int count, char **words)
{
	int rounds = count > 1 ? atoi(words[1]) : 3, ms = 40;

	omp_init_lock(&lock);
	for (int i = 0; i < rounds; i++) {
		triangle(ms);
		meet(ms);
		in_turn(ms);
		locked(ms);
		tasks(ms);
	}
	long sum = many();
	printf("body0 %.6f\nbody1 %.6f\nbarrier %.6f\ncritical %.6f\nlock %.6f\ntaskwait %.6f\nsum %ld\n",
	       body_s[0], body_s[1], barrier_s, critical_s, lock_s, taskwait_s, sum);
	fflush(stdout);
	if (count > 2 && !strcmp(words[2], "kill"))
		kill(getpid(), SIGKILL);
	if (count > 2 && !strcmp(words[2], "_exit"))
		_exit(7);
	return 3;
}
