/*
 * Loops and functions for heartbeats, with the heartbeats in the source where -DSOURCE says so. A line that has LOOP(name) or
 * BODY(name) is in the plan that the test writes.
 */
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#ifdef SOURCE
#include <sonde/heartbeat.h>
static inline sonde_heartbeat *begun(const char *name)
{
	sonde_heartbeat *beat = sonde_heartbeat_register(name, 0);

	sonde_heartbeat_begin(beat);
	return beat;
}
static inline void ended(sonde_heartbeat **beat)
{
	sonde_heartbeat_end(*beat);
}
#define BEAT(name)                                                                                 \
	__attribute__((cleanup(ended), unused)) sonde_heartbeat *beat_##name = begun(#name)
#else
#define BEAT(name)
#endif
#define LOOP BEAT
#define BODY BEAT

/* its calls stay calls of it */
#ifdef __clang__
#define APART __attribute__((noinline))
#else
#define APART __attribute__((noipa))
#endif
#define KEEP(x) __asm__ volatile("" : "+r"(x)::"memory")

static volatile int sink;
static __thread double in_vector = 1.5;

APART static int step(int x)
{
	KEEP(x);
	return x * 3 + 1;
}

/* several exits, continue, calls, an inner loop */
APART static long several(int n, int stop)
{
	BODY(several);
	long sum = 0;

	for (int i = 0; i < n; i++) {
		LOOP(outer);
		int j = 0;

		KEEP(i); /* else the compiler makes one test of this and the loop's */
		if (i == stop)
			break;
		if (step(i) % 5 == 0)
			continue;
		while (j < i % 7) {
			LOOP(inner);
			sum += step(j++);
			if (sum % 1000 == 999)
				return sum;
		}
		sum += step(i) - i;
		if (sum < 0)
			goto out;
	}
	sum++;
out:
	return sum + step(n);
}

/* the test at the end; a vector register lives across iterations */
APART static double scaled(int n)
{
	double sum = in_vector, factor = in_vector;
	long double on_stack = in_vector; /* in a register of the x87 */
	int i = 0;

	do {
		LOOP(repeated);
		sum = sum * factor + (double)i;
		on_stack = on_stack * 0.5L + (long double)i;
		__asm__ volatile("" : "+x"(sum), "+x"(factor));
	} while (++i < n);
	return sum + (double)on_stack;
}

APART static int fib(int n)
{
	BODY(fib);
	int one, other;

	if (n < 2)
		return step(n) / 3;
	one = fib(n - 1);
	KEEP(one);
	other = fib(n - 2);
	KEEP(other);
	return one + other;
}

/* by a switch of many cases, each with an end of its own */
APART static int cases(int x)
{
	BODY(cases);
	switch (step(x) % 9) {
	case 0:
		return step(1);
	case 1:
		return step(x) + 7;
	case 2:
		sink = x;
		return 4;
	case 3:
		return x * 5;
	case 4:
		sink = step(x);
		break;
	case 5:
		return step(step(x));
	case 6:
		return 1000;
	case 7:
		sink++;
		return x;
	default:
		return -1;
	}
	return step(sink);
}

APART static int deep(int n)
{
	int below;

	BODY(deep);
	if (n == sink)
		return step(n);
	below = deep(n - 1);
	KEEP(below);
	return below + 1;
}

static jmp_buf away;

APART static int jumps(int n)
{
	BODY(jumps);
	int below;

	if (n == sink)
		longjmp(away, 1);
	below = jumps(n - 1);
	KEEP(below);
	return below + step(n);
}

static void handler(int number)
{
	(void)number;
	sink += (int)several(20, 15);
}

static void *thread(void *argument)
{
	long *sum = argument;

	for (int i = 0; i < 200; i++) {
		LOOP(threads);
		*sum += several(30, 40) + cases(i);
	}
	return NULL;
}

static long run(const char *what)
{
	long sum = 0;

	if (!strcmp(what, "threads")) {
		pthread_t threads[8];
		long sums[8] = { 0 };

		for (int i = 0; i < 8; i++)
			pthread_create(&threads[i], NULL, thread, &sums[i]);
		for (int i = 0; i < 8; i++) {
			pthread_join(threads[i], NULL);
			sum += sums[i];
		}
	} else if (!strcmp(what, "jumps")) {
		for (volatile int i = 0; i < 50; i++)
			if (!setjmp(away))
				sum += jumps(3);
	} else if (!strcmp(what, "deep")) {
		sum = deep(20000);
	} else if (!strcmp(what, "signal")) {
		signal(SIGUSR1, handler);
		for (int i = 0; i < 100; i++) {
			raise(SIGUSR1);
			sum += several(10, 20);
		}
	} else if (!strcmp(what, "fork")) {
		int status;

		sum = several(40, 50);
		if (!fork()) {
			sum += several(10, 20);
			exit((int)sum & 1);
		}
		wait(&status);
		sum += status;
	} else {
		for (int i = 0; i < 100; i++)
			sum += several(i, i % 3 ? 100 : 50) + cases(i);
		sum += fib(12);
		printf("%.17g\n", scaled(1000));
	}
	return sum;
}

int main(int argc, char **argv)
{
	BODY(main);
	const char *what = argc > 1 ? argv[1] : "";

	printf("%ld\n", run(what));
	fflush(stdout);
	if (!strcmp(what, "_exit"))
		_exit(5);
	if (!strcmp(what, "kill"))
		kill(getpid(), SIGTERM);
	return 3;
}
