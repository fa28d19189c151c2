/* What the programs here share: the same job in Pandore C and by hand in C and MPI. Both print a sum of
 * the results' bytes and the seconds that the job took, distributing included. */
#include <stdio.h>
#include <time.h>

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static unsigned long sum_of(const void *bytes, unsigned long count)
{
	const unsigned long *words = bytes;
	unsigned long sum = 0;

	for (unsigned long i = 0; i < count / sizeof(*words); i++)
		sum = sum * 31 + words[i];
	return sum;
}
