/* Two threads that compute alike and spin until both are done, again and again. Beside others that
 * want the CPUs, the work stands at the begin of a time slice and the rest of it is spinning. Prints
 * the share of CPU time that the work took. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <time.h>

enum { TURNS = 150 };

static atomic_int arrived, turn;
static double work_s[2], wait_s[2];

static double cpu_s(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

__attribute__((noinline)) void first(void)
{
	for (volatile int i = 0; i < 1000000; i++)
		;
}

__attribute__((noinline)) void second(void)
{
	int mine = atomic_load(&turn);

	if (atomic_fetch_add(&arrived, 1) == 1) {
		atomic_store(&arrived, 0);
		atomic_fetch_add(&turn, 1);
		return;
	}
	while (atomic_load(&turn) == mine)
		__builtin_ia32_pause();
}

static void *compute(void *argument)
{
	int id = argument != NULL;

	for (int i = 0; i < TURNS; i++) {
		double begin = cpu_s(), done;

		first();
		done = cpu_s();
		second();
		work_s[id] += done - begin;
		wait_s[id] += cpu_s() - done;
	}
	return NULL;
}

int main(void)
{
	pthread_t other;
	double work, wait;

	if (pthread_create(&other, NULL, compute, &arrived))
		return 1;
	compute(NULL);
	pthread_join(other, NULL);
	work = work_s[0] + work_s[1];
	wait = wait_s[0] + wait_s[1];
	printf("%.6f\n", work / (work + wait));
	return 0;
}
