/* Amdahl: one thread works 4 units alone, then two work 6 units each. By construction the serial part
 * gives 0.4 of its time, though it has a quarter of the CPU time, and the parallel part 0.6. */
#include "program.h"

PART(serial)
PART(parallel)

static pthread_barrier_t barrier;

static void *second(void *unused)
{
	for (int i = 0; i < steps; i++) {
		pthread_barrier_wait(&barrier);
		parallel(6);
		rest();
		pthread_barrier_wait(&barrier);
	}
	return unused;
}

int main(int count, char **words)
{
	pthread_t thread;

	program_begins(count, words);
	pthread_barrier_init(&barrier, NULL, 2);
	thread = thread_begin(second);
	for (int i = 0; i < steps; i++) {
		serial(4);
		pthread_barrier_wait(&barrier);
		parallel(6);
		rest();
		pthread_barrier_wait(&barrier);
		step_is_done();
	}
	pthread_join(thread, NULL);
	return program_ends();
}
