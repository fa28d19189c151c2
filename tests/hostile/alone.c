/* A loop of calls whose wrapper costs as much as they do: a barrier of one never waits. */
#include "burn.h"
#include <pthread.h>

__attribute__((noipa)) static void turn(pthread_barrier_t *barrier, long count)
{
	for (long i = 0; i < count; i++)
		pthread_barrier_wait(barrier);
}

int main(void)
{
	pthread_barrier_t barrier;

	pthread_barrier_init(&barrier, NULL, 1);
	for (double end = burn_cpu_s() + 0.8; burn_cpu_s() < end;)
		turn(&barrier, 10000);
	return 0;
}
