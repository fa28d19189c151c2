/* An OpenMP team: thread 0 works four times as long as thread 1, by CPU time; then both alike; then a critical
 * section that both want; then thread 0 alone. */
#include <stdio.h>
#include <time.h>

static volatile double sink;

static double cpu_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void compute(double seconds)
{
	double end = cpu_s() + seconds, sum = 0;

	while (cpu_s() < end)
		for (int i = 1; i < 2000; i++)
			sum += 1.0 / i;
	sink = sum;
}

static void unbalanced(void)
{
#pragma omp parallel num_threads(2)
	{
		int first = 0;
#pragma omp master
		first = 1;
		compute(first ? 0.08 : 0.02);
	}
}

static void balanced(void)
{
#pragma omp parallel num_threads(2)
	compute(0.02);
}

static void contended(void)
{
#pragma omp parallel num_threads(2)
	for (int i = 0; i < 10; i++) {
#pragma omp critical
		compute(0.02);
	}
}

int main(void)
{
	for (int i = 0; i < 10; i++)
		unbalanced();
	for (int i = 0; i < 10; i++)
		balanced();
	contended();
	compute(0.2);
	puts("done");
	return 0;
}
