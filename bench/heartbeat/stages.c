/* A solver in small: three stages one after the other. overhead.py puts heartbeats at the sites
 * that `sonde phases` names in it. Argument: rounds. */
#include <math.h>
#include <stdlib.h>

enum { N = 6000 };
static double a[N], b[N], x[N];
volatile double sink;

__attribute__((noinline)) void assemble(int round)
{
	for (int i = 0; i < N; i++)
		a[i] = sqrt((double)(i + round)) + 1;
}

__attribute__((noinline)) void relax(void)
{
	for (int i = 1; i + 1 < N; i++)
		x[i] = (x[i - 1] + x[i + 1] + b[i]) / (a[i] + 2);
}

__attribute__((noinline)) double residual(int round)
{
	double sum = 0;

	x[round % N] += 1e-12; /* or the compiler calls it once for all rounds */
	for (int i = 1; i + 1 < N; i++) {
		double r = b[i] - x[i] * a[i];

		sum += r * r / (1 + fabs(r));
	}
	return sum;
}

int main(int argc, char **argv)
{
	int rounds = argc > 1 ? atoi(argv[1]) : 12000;
	double sum = 0;

	for (int i = 0; i < N; i++)
		b[i] = i % 17;
	for (int i = 0; i < rounds; i++)
		assemble(i);
	for (int i = 0; i < rounds; i++)
		relax();
	for (int i = 0; i < rounds; i++)
		sum += residual(i);
	sink = sum;
	return 0;
}
