/* Half of its CPU time goes into short calls that block: computes, writes to a process on another
 * CPU and reads its answer. Prints which parts of its CPU time, by its own clock, were used in
 * read(), write() and computing; of the calls every 16th was timed. */
#define _GNU_SOURCE
#include <stdio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "stay_on.h"

static volatile unsigned sink;

static double cpu_s(void)
{
	struct timespec time;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
	return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

__attribute__((noinline)) static void compute(void)
{
	for (unsigned i = 0; i < 8000; i++)
		sink = sink * 1664525u + i;
}

static void answer(int in, int out)
{
	char byte;

	while (read(in, &byte, 1) == 1)
		if (write(out, &byte, 1) != 1)
			break;
	_exit(0);
}

int main(void)
{
	int there[2], back[2];
	double in_compute = 0, in_write = 0, in_read = 0, clock_s = 1;
	char byte = 0;

	if (pipe(there) || pipe(back))
		return 1;
	if (fork() == 0) {
		close(there[1]);
		close(back[0]);
		stay_on(1);
		answer(there[0], back[1]);
	}
	close(there[0]);
	close(back[1]);
	stay_on(0);
	for (int i = 0; i < 100; i++) {
		double start = cpu_s(), end = cpu_s();
		clock_s = end - start < clock_s ? end - start : clock_s;
	}
	double begin = cpu_s(), now = begin;
	while (now - begin < 1) {
		double start = cpu_s();
		compute();
		double computed = cpu_s();
		if (write(there[1], &byte, 1) != 1)
			return 1;
		double written = cpu_s();
		if (read(back[0], &byte, 1) != 1)
			return 1;
		now = cpu_s();
		in_compute += computed - start - clock_s;
		in_write += written - computed - clock_s;
		in_read += now - written - clock_s;
	}
	double all = now - begin;
	printf("%.4f %.4f %.4f\n", in_read / all, in_write / all, in_compute / all);
	close(there[1]);
	wait(NULL);
	return 0;
}
