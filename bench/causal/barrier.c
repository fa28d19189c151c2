/* Two threads that meet at a barrier: `heavy` works 10 units a step, `light` 7. Arguments: steps, and the
 * factors by which the two are really shortened. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <sonde/heartbeat.h>

enum { UNIT = 1000000 };

static pthread_barrier_t barrier;
static int steps;
static double light_factor = 1;
static volatile double kept;

#define WORK(name)                                                                                 \
	__attribute__((noinline, noclone)) static void name(long n)                                \
	{                                                                                          \
		double x = 1;                                                                      \
		for (long i = 0; i < n; i++)                                                       \
			x = x * 1.0000001 + 1e-9;                                                  \
		kept = x;                                                                          \
	}
WORK(heavy)
WORK(light)

static double now_s(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static void *second(void *unused)
{
	for (int i = 0; i < steps; i++) {
		light((long)(7 * UNIT * light_factor));
		pthread_barrier_wait(&barrier);
	}
	return unused;
}

int main(int count, char **words)
{
	double heavy_factor = count > 2 ? atof(words[2]) : 1, begin_s;
	sonde_heartbeat *step = sonde_heartbeat_register("step", 0);
	pthread_t thread;

	steps = count > 1 ? atoi(words[1]) : 200;
	light_factor = count > 3 ? atof(words[3]) : 1;
	pthread_barrier_init(&barrier, NULL, 2);
	begin_s = now_s();
	pthread_create(&thread, NULL, second, NULL);
	for (int i = 0; i < steps; i++) {
		sonde_heartbeat_begin(step);
		heavy((long)(10 * UNIT * heavy_factor));
		pthread_barrier_wait(&barrier);
		sonde_heartbeat_end(step);
	}
	pthread_join(thread, NULL);
	printf("%.9f\n", (now_s() - begin_s) / steps);
	return 0;
}
