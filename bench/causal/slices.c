/* Two threads that work side by side in slices shorter than the time between samples, and meet behind each: ten of 0.3
 * units a step, then 2 units of one thread alone. By construction the slices give 0.6 at most. */
#include "program.h"

PART(slice)
PART(serial)

static pthread_barrier_t barrier;

static void slices(void)
{
	for (int k = 0; k < 10; k++) {
		slice(0.3);
		pthread_barrier_wait(&barrier);
	}
}

static void *second(void *unused)
{
	for (int i = 0; i < steps; i++) {
		slices();
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
		slices();
		serial(2);
		rest();
		pthread_barrier_wait(&barrier);
		step_is_done();
	}
	pthread_join(thread, NULL);
	return program_ends();
}
