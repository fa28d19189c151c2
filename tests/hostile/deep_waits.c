/*
 * Sleeps often, under a deep stack, and computes in between: the walks of the collector's wrapper take some
 * percent of the CPU time, so that its samples fall into them.
 *   deep_waits SLEEPS
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static volatile unsigned long sum;

static double cpu_s(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* On any machine so long that the thread waits less than 3000 times a CPU second. */
static void __attribute__((noinline)) compute(void)
{
	double end_s = cpu_s() + 0.0004;

	do
		for (unsigned long i = 0; i < 20000; i++)
			sum += i;
	while (cpu_s() < end_s);
}

static int __attribute__((noinline)) descend(int depth)
{
	if (depth == 0)
		return usleep(100);
	return descend(depth - 1) + 1; /* not a tail call */
}

int main(int argc, char **argv)
{
	int sleeps = argc > 1 ? atoi(argv[1]) : 1000;

	for (int i = 0; i < sleeps; i++) {
		compute();
		descend(240);
	}
	printf("%d sleeps\n", sleeps);
	return 0;
}
