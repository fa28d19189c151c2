/* Ten steps a second with five parts: one thread works 16, 12 and 8 units, another 20 and 8; they meet at
 * a barrier. By construction the first three give their share of 36 units, until 8 are saved; the
 * others, which have 44 % of the CPU time, nothing. */
#include "program.h"

PART(assemble)
PART(factor)
PART(solve)
PART(filter)
PART(store)

static pthread_barrier_t barrier;

static void *second(void *unused)
{
	for (int i = 0; i < steps; i++) {
		filter(20);
		store(8);
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
		assemble(16);
		factor(12);
		solve(8);
		rest();
		pthread_barrier_wait(&barrier);
		step_is_done();
	}
	pthread_join(thread, NULL);
	return program_ends();
}
