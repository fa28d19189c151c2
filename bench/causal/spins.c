/* Two threads that meet every 1.3 ms, ten times a step, and wait actively there: 1 and 0.4 units each time. By
 * construction the longer one gives 0.6 at most. */
#include <stdatomic.h>

#include "program.h"

PART(heavy)
PART(light)

enum { MEETINGS = 10 };

static atomic_int arrived;

__attribute__((noinline)) static void await(int all)
{
	atomic_fetch_add(&arrived, 1);
	while (atomic_load(&arrived) < all)
		__builtin_ia32_pause();
}

static void *second(void *unused)
{
	for (int i = 0; i < steps; i++) {
		for (int k = 1; k <= MEETINGS; k++) {
			light(0.4);
			await(2 * (MEETINGS * i + k));
		}
		rest();
	}
	return unused;
}

int main(int count, char **words)
{
	pthread_t thread;

	program_begins(count, words);
	thread = thread_begin(second);
	for (int i = 0; i < steps; i++) {
		for (int k = 1; k <= MEETINGS; k++) {
			heavy(1);
			await(2 * (MEETINGS * i + k));
		}
		rest();
		step_is_done();
	}
	pthread_join(thread, NULL);
	return program_ends();
}
