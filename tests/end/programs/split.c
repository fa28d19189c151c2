/* Spends 2/3 of its CPU time in `twice` and 1/3 in `once`; prints what it computed.
 * argv[1]: seconds of CPU time in all (default 1). argv[2]: exit status. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static volatile unsigned sink;

static double cpu_s(void)
{
	struct timespec now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

__attribute__((noinline)) static void work(unsigned n)
{
	unsigned x = n;

	for (unsigned i = 0; i < n; i++)
		x = x * 1664525u + 1013904223u;
	sink = x;
}

__attribute__((noinline)) static void once(void)
{
	work(20000);
	sink++;
}

__attribute__((noinline)) static void twice(void)
{
	work(20000);
	work(20000);
	sink++;
}

int main(int argc, char **argv)
{
	double seconds = argc > 1 ? atof(argv[1]) : 1;

	while (cpu_s() < seconds) {
		once();
		twice();
	}
	puts("done");
	return argc > 2 ? atoi(argv[2]) : 0;
}
