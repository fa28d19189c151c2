/* Two threads that hold a lock by turns shorter than the time between samples: ten of 0.4 units within and 0.25 without it a
 * step. The lock is never free, so that a shorter `outside` gives nothing, and a shorter `inside` its share until the
 * other part is as long: at most 0.375. */
#include "program.h"

PART(inside)
PART(outside)

enum { TURNS = 10 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static long turns;

static void *work(void *unused)
{
	for (int is_over = 0; !is_over;) {
		outside(0.25);
		pthread_mutex_lock(&lock);
		inside(0.4);
		is_over = steps_done >= steps;
		if (!is_over && ++turns % TURNS == 0)
			step_is_done();
		pthread_mutex_unlock(&lock);
	}
	return unused;
}

int main(int count, char **words)
{
	pthread_t thread;

	program_begins(count, words);
	thread = thread_begin(work);
	work(NULL);
	pthread_join(thread, NULL);
	return program_ends();
}
