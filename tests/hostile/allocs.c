/* Allocates all the time, in two threads; with an argument, also with every signal blocked. */
#include "burn.h"
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

static void *allocate(void *unused)
{
	double end = burn_cpu_s() + 0.6;

	while (burn_cpu_s() < end)
		for (int i = 0; i < 50; i++) {
			void *volatile memory = malloc((size_t)i + 1);
			free(memory);
		}
	return unused;
}

int main(int count, char **words)
{
	pthread_t thread;
	sigset_t all;

	pthread_create(&thread, NULL, allocate, NULL);
	allocate(NULL);
	pthread_join(thread, NULL);
	if (count > 1) {
		sigfillset(&all);
		sigprocmask(SIG_SETMASK, &all, NULL);
		void *volatile memory = malloc(10);
		free(memory);
	}
	printf("done %s\n", words[0]);
	return 0;
}
