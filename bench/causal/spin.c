/* As barrier.c, but the two spin until the other is there. Waiting takes CPU time, which a profile
 * shows as `await`: 3 units in 20, and nothing that a faster one would bring. */
#include <stdatomic.h>

#include "program.h"

PART(heavy)
PART(light)

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
		light(7);
		rest();
		await(2 * i + 2);
	}
	return unused;
}

int main(int count, char **words)
{
	pthread_t thread;

	program_begins(count, words);
	thread = thread_begin(second);
	for (int i = 0; i < steps; i++) {
		heavy(10);
		rest();
		await(2 * i + 2);
		step_is_done();
	}
	pthread_join(thread, NULL);
	return program_ends();
}
