/* Two parts in turn, two thirds and one third of a turn that lasts as long as asked: in step with a
 * clock of that period. Prints the share of CPU time that the first part took. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <x86intrin.h>

static double cpu_s(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static double ticks_per_us(void)
{
	struct timespec a, b;
	uint64_t from = __rdtsc();

	clock_gettime(CLOCK_MONOTONIC, &a);
	do
		clock_gettime(CLOCK_MONOTONIC, &b);
	while ((b.tv_sec - a.tv_sec) * 1000000000 + b.tv_nsec - a.tv_nsec < 5000000);
	return (double)(__rdtsc() - from) /
	       ((double)(b.tv_sec - a.tv_sec) * 1e6 + (double)(b.tv_nsec - a.tv_nsec) * 1e-3);
}

__attribute__((noinline)) void first(uint64_t until)
{
	while (__rdtsc() < until)
		;
}

__attribute__((noinline)) void second(uint64_t until)
{
	while (__rdtsc() < until)
		__asm__ volatile("");
}

int main(int count, char **words)
{
	double turn_us = count > 1 ? atof(words[1]) : 1000.7,
	       length_s = count > 2 ? atof(words[2]) : 0.3;
	double turn = turn_us * ticks_per_us(), in_first = 0, begin = cpu_s(), at = begin;

	while (at - begin < length_s) {
		uint64_t now = __rdtsc();

		first(now + (uint64_t)(turn * 2 / 3));
		in_first += cpu_s() - at;
		second(now + (uint64_t)turn);
		at = cpu_s();
	}
	printf("%.6f\n", in_first / (at - begin));
	return 0;
}
