/*
 * What a beat costs in a loop and around a function: in the source (-DSOURCE), or inserted into the same code. The least of some rounds, in ns
 * of CPU time a beat.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#ifdef SOURCE
#include "sonde/heartbeat.h"
#define BEGIN(beat) sonde_heartbeat_begin(beat)
#define END(beat)   sonde_heartbeat_end(beat)
static sonde_heartbeat *in_loop, *in_body;
#else
#define BEGIN(beat) (void)0
#define END(beat)   (void)0
#endif

enum { BEATS = 1000000, ROUNDS = 15 };

static double cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return 1e9 * (double)t.tv_sec + (double)t.tv_nsec;
}

__attribute__((noinline)) static void body(void)
{
	BEGIN(in_body);
	__asm__ volatile("nop\n\tnop\n\tnop\n\tnop\n\tnop\n\tnop" ::: "memory");
	END(in_body);
}

__attribute__((noinline)) static void loop(void)
{
	for (int i = 0; i < BEATS; i++) {
		BEGIN(in_loop);
		__asm__ volatile("nop\n\tnop\n\tnop\n\tnop\n\tnop" ::: "memory");
		END(in_loop);
	}
}

__attribute__((noinline)) static void bodies(void)
{
	for (int i = 0; i < BEATS; i++)
		body();
}

static double least(void (*function)(void))
{
	double best = 1e30;

	for (int i = 0; i < ROUNDS; i++) {
		double begin = cpu_ns(), took;

		function();
		took = (cpu_ns() - begin) / BEATS;
		best = took < best ? took : best;
	}
	return best;
}

int main(void)
{
#ifdef SOURCE
	in_loop = sonde_heartbeat_register("loop", 0);
	in_body = sonde_heartbeat_register("body", 0);
#endif
	printf("%.3f %.3f\n", least(loop), least(bodies));
	return 0;
}
