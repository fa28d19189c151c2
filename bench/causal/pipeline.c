/* Three stages, queues of two between them: the second works 10 units, the others 3 and 2. By
 * construction the second gives all of its time, the others nothing. Together 1.5 CPUs. */
#include "program.h"

PART(read_in)
PART(transform)
PART(write_out)

static struct queue first = QUEUE_EMPTY, second = QUEUE_EMPTY;

static void *reader(void *unused)
{
	for (int i = 0; i < steps; i++) {
		read_in(3);
		queue_change(&first, 1);
	}
	return unused;
}

static void *transformer(void *unused)
{
	for (int i = 0; i < steps; i++) {
		queue_change(&first, -1);
		transform(10);
		rest();
		queue_change(&second, 1);
	}
	return unused;
}

int main(int count, char **words)
{
	pthread_t threads[2];

	program_begins(count, words);
	threads[0] = thread_begin(reader);
	threads[1] = thread_begin(transformer);
	for (int i = 0; i < steps; i++) {
		queue_change(&second, -1);
		write_out(2);
		step_is_done();
	}
	pthread_join(threads[0], NULL);
	pthread_join(threads[1], NULL);
	return program_ends();
}
