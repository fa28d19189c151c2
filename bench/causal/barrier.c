/* Two threads that meet at a barrier: `heavy` works 10 units a step, `light` 7. By construction the
 * first gives 0.3 at most, the second nothing. */
#include "program.h"

PART(heavy)
PART(light)

static pthread_barrier_t barrier;

static void *second(void *unused)
{
	for (int i = 0; i < steps; i++) {
		light(7);
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
		heavy(10);
		rest();
		pthread_barrier_wait(&barrier);
		step_is_done();
	}
	pthread_join(thread, NULL);
	return program_ends();
}
