/* A producer and a consumer: 6 units to make an item, 10 to use it. By construction the consumer gives
 * 0.4 at most, the producer nothing. */
#include "program.h"

PART(produce)
PART(consume)

static struct queue items = QUEUE_EMPTY;

static void *producer(void *unused)
{
	for (int i = 0; i < steps; i++) {
		produce(6);
		queue_change(&items, 1);
	}
	return unused;
}

int main(int count, char **words)
{
	pthread_t thread;

	program_begins(count, words);
	thread = thread_begin(producer);
	for (int i = 0; i < steps; i++) {
		queue_change(&items, -1);
		consume(10);
		rest();
		step_is_done();
	}
	pthread_join(thread, NULL);
	return program_ends();
}
