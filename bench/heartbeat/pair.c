#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <pthread.h>
#include "sonde/heartbeat.h"

/* Median CPU time of three ways to bracket nothing, interleaved: two clock reads, a pair inline, a
 * pair through the functions of the shared library. Argument: threads. */
enum { PAIRS = 2000000, ROUNDS = 15 };
static sonde_heartbeat *beat;
static volatile uint64_t sink;

static double cpu_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static double reads(void)
{
	double begin = cpu_s();

	for (int i = 0; i < PAIRS; i++) {
		uint64_t a = sonde_heartbeat_ticks();

		sink = sonde_heartbeat_ticks() - a;
	}
	return cpu_s() - begin;
}

static double pairs(void)
{
	double begin = cpu_s();

	for (int i = 0; i < PAIRS; i++) {
		sonde_heartbeat_begin(beat);
		sonde_heartbeat_end(beat);
	}
	return cpu_s() - begin;
}

static double calls(void)
{
	double begin = cpu_s();

	for (int i = 0; i < PAIRS; i++) {
		sonde_heartbeat_begin_call(beat);
		sonde_heartbeat_end_call(beat);
	}
	return cpu_s() - begin;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void *measure(void *unused)
{
	double times[3][ROUNDS], ns[3];

	for (int i = 0; i < ROUNDS; i++) {
		times[0][i] = reads();
		times[1][i] = pairs();
		times[2][i] = calls();
	}
	for (int k = 0; k < 3; k++) {
		qsort(times[k], ROUNDS, sizeof(double), compare);
		ns[k] = times[k][ROUNDS / 2] / PAIRS * 1e9;
	}
	printf("two rdtsc %.1f ns, inline %.1f ns (%.2f x), calls %.1f ns (%.2f x)\n", ns[0], ns[1],
	       ns[1] / ns[0], ns[2], ns[2] / ns[0]);
	return unused;
}

int main(int argc, char **argv)
{
	int count = argc > 1 ? atoi(argv[1]) : 1;
	pthread_t threads[64];

	beat = sonde_heartbeat_register("pair", 0);
	for (int i = 0; i < count && i < 64; i++)
		pthread_create(&threads[i], NULL, measure, NULL);
	for (int i = 0; i < count && i < 64; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
