/* Two threads hand a byte to and fro through pipes: two context switches a turn. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static int to[2], fro[2];
static long turns;

static void *answer(void *unused)
{
	char byte;

	for (long i = 0; i < turns; i++)
		if (read(to[0], &byte, 1) != 1 || write(fro[1], &byte, 1) != 1)
			exit(1);
	return unused;
}

int main(int count, char **words)
{
	pthread_t thread;
	char byte = 'x';

	turns = count > 1 ? atol(words[1]) : 100000;
	if (pipe(to) || pipe(fro))
		return 1;
	pthread_create(&thread, NULL, answer, NULL);
	for (long i = 0; i < turns; i++)
		if (write(to[1], &byte, 1) != 1 || read(fro[0], &byte, 1) != 1)
			return 1;
	pthread_join(thread, NULL);
	printf("%ld turns\n", turns);
	return 0;
}
