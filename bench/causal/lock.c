/* Two threads that hold a lock for half of their iteration: 5 units within, 5 without it. The lock is
 * never free, so that a shorter `outside` gives nothing, and a shorter `inside` half of its share. */
#include "program.h"

PART(inside)
PART(outside)

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *work(void *unused)
{
	for (int is_over = 0; !is_over;) {
		outside(5);
		pthread_mutex_lock(&lock);
		inside(5);
		is_over = steps_done >= steps;
		if (!is_over)
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
