/* Loops whose scaling is known: one in the first thread only, one divided evenly, one of which the first
 * thread has three times what each other has, one in a critical section. Printed: the CPU seconds of each,
 * of all threads and of the busiest, by the threads' own clocks. */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static volatile double sink;
static double cpu(void)
{
	struct timespec t;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return t.tv_sec + 1e-9 * t.tv_nsec;
}
static double took[4][64];

__attribute__((noinline)) static void serial(long n)
{
	double x = 1, begin = cpu();
	for (long i = 0; i < n; i++)
		x = x * 1.0000001 + 1e-9;
	sink = x;
	took[0][omp_get_thread_num()] += cpu() - begin;
}
__attribute__((noinline)) static void balanced(long n)
{
	double x = 1, begin = cpu();
	for (long i = 0; i < n; i++)
		x = x * 1.0000001 + 2e-9;
	sink = x;
	took[1][omp_get_thread_num()] += cpu() - begin;
}
__attribute__((noinline)) static void uneven(long n)
{
	double x = 1, begin = cpu();
	for (long i = 0; i < n; i++)
		x = x * 1.0000001 + 3e-9;
	sink = x;
	took[2][omp_get_thread_num()] += cpu() - begin;
}
__attribute__((noinline)) static void guarded(long n)
{
	double x = 1, begin = cpu();
	for (long i = 0; i < n; i++)
		x = x * 1.0000001 + 4e-9;
	sink = x;
	took[3][omp_get_thread_num()] += cpu() - begin;
}
int main(int argc, char **argv)
{
	long n = argc > 1 ? atol(argv[1]) : 100000000;
	int threads = omp_get_max_threads();

	for (int step = 0; step < 3; step++) {
		serial(n / 6);
#pragma omp parallel
		{
			balanced(n / 3 / threads);
			/* of all work the first thread has three times what each other has */
#pragma omp critical
			guarded(n / 6 / threads);
			uneven(n / 3 * (omp_get_thread_num() ? 1 : 3) /
			       (threads == 1 ? 3 : threads + 2));
		}
	}
	for (int l = 0; l < 4; l++) {
		static const char *const names[] = { "serial", "balanced", "uneven", "guarded" };
		double sum = 0, most = 0;
		for (int t = 0; t < threads; t++) {
			sum += took[l][t];
			most = took[l][t] > most ? took[l][t] : most;
		}
		printf("%s %.6f %.6f\n", names[l], sum, most);
	}
	return 0;
}
