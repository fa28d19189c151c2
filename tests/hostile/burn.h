/* CPU time to be spent, for the programs of this folder. */
#include <time.h>

static volatile double burn_sink;

static double burn_cpu_s(void)
{
	struct timespec time;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
	return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

__attribute__((noinline)) static void burn(double seconds)
{
	double end = burn_cpu_s() + seconds;

	do
		for (int i = 0; i < 5000; i++)
			burn_sink += i * 0.5;
	while (burn_cpu_s() < end);
}
