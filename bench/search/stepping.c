/*
 * Steps of some 10 ms CPU time in each of two threads, with what a step loses planted five calls below it: the second thread
 * waits for a lock that the first one holds. Writes into a file, for each step, when it ended (seconds since the first one began), and
 * at the end the CPU time of the process in a step.
 *
 *     stepping STEPS FILE
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define KEPT __attribute__((noinline, noclone))

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t begins, ends;
static volatile int is_over;
static volatile double sink;

static double now_s(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

KEPT static void work(int units)
{
	for (int i = 0; i < units * 1000; i++)
		sink += i * .5;
}

KEPT static void held(void)
{
	pthread_mutex_lock(&mutex);
	work(2000);
	pthread_mutex_unlock(&mutex);
}

KEPT static void forces(void)
{
	held(), sink++;
}
KEPT static void assemble(void)
{
	work(200), forces(), sink++;
}
KEPT static void solve(void)
{
	work(200), assemble(), sink++;
}
KEPT static void advance(void)
{
	work(200), solve(), sink++;
}

KEPT void step(void)
{
	pthread_barrier_wait(&begins);
	advance();
	pthread_barrier_wait(&ends);
}

static void *other(void *unused)
{
	for (;;) {
		pthread_barrier_wait(&begins);
		if (is_over)
			return unused;
		advance();
		pthread_barrier_wait(&ends);
	}
}

int main(int argc, char **argv)
{
	int steps = argc > 1 ? atoi(argv[1]) : 100;
	FILE *out = fopen(argc > 2 ? argv[2] : "steps", "w");
	double begin = now_s(CLOCK_MONOTONIC);
	pthread_t thread;

	if (!out)
		return 1;
	setlinebuf(out);
	pthread_barrier_init(&begins, NULL, 2);
	pthread_barrier_init(&ends, NULL, 2);
	pthread_create(&thread, NULL, other, NULL);
	for (int i = 0; i < steps; i++) {
		step();
		fprintf(out, "%.6f\n", now_s(CLOCK_MONOTONIC) - begin);
	}
	is_over = 1;
	pthread_barrier_wait(&begins);
	pthread_join(thread, NULL);
	fprintf(out, "cpu %.9f\n", now_s(CLOCK_PROCESS_CPUTIME_ID) / steps);
	return fclose(out) != 0;
}
