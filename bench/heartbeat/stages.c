/* A solver in small: three stages one after the other, with heartbeats at the sites that `sonde
 * phases` names in it (bodies of the three functions). With -DSONDE_HEARTBEAT_DISABLE they compile
 * to nothing. Prints its CPU time. Argument: rounds. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "sonde/heartbeat.h"

enum { N = 6000 };
static double a[N], b[N], x[N];
static sonde_heartbeat *beats[3];

__attribute__((noinline)) static void assemble(int round)
{
	sonde_heartbeat_begin(beats[0]);
	for (int i = 0; i < N; i++)
		a[i] = sqrt((double)(i + round)) + 1;
	sonde_heartbeat_end(beats[0]);
}

__attribute__((noinline)) static void relax(void)
{
	sonde_heartbeat_begin(beats[1]);
	for (int i = 1; i + 1 < N; i++)
		x[i] = (x[i - 1] + x[i + 1] + b[i]) / (a[i] + 2);
	sonde_heartbeat_end(beats[1]);
}

__attribute__((noinline)) static double residual(int round)
{
	double sum = 0;

	sonde_heartbeat_begin(beats[2]);
	x[round % N] += 1e-12; /* or the compiler calls it once for all rounds */
	for (int i = 1; i + 1 < N; i++) {
		double r = b[i] - x[i] * a[i];

		sum += r * r / (1 + fabs(r));
	}
	sonde_heartbeat_end(beats[2]);
	return sum;
}

int main(int argc, char **argv)
{
	int rounds = argc > 1 ? atoi(argv[1]) : 60000;
	double sum = 0;
	struct timespec t;

	beats[0] = sonde_heartbeat_register("assemble", 0);
	beats[1] = sonde_heartbeat_register("relax", 0);
	beats[2] = sonde_heartbeat_register("residual", 0);
	for (int i = 0; i < N; i++)
		b[i] = i % 17;
	for (int i = 0; i < rounds; i++)
		assemble(i);
	for (int i = 0; i < rounds; i++)
		relax();
	for (int i = 0; i < rounds; i++)
		sum += residual(i);
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	printf("%.6f\n", (double)t.tv_sec + 1e-9 * (double)t.tv_nsec);
	return sum < 0;
}
