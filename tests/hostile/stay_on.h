/* To hold a thread on a CPU, for the programs of this folder; they define _GNU_SOURCE. */
#include <sched.h>

/* The n-th of the CPUs that may be used. */
static int stay_on(int number)
{
	cpu_set_t all, one;

	CPU_ZERO(&one);
	if (sched_getaffinity(0, sizeof all, &all) != 0)
		return -1;
	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
		if (CPU_ISSET(cpu, &all) && number-- == 0) {
			CPU_SET(cpu, &one);
			return sched_setaffinity(0, sizeof one, &one);
		}
	return -1;
}
