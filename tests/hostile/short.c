/* Makes many threads at once, each of which computes for less than a period and sleeps by a system
 * call of its own; ends in the last thread, the main one having left by pthread_exit. */
#include "burn.h"
#include <pthread.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

static void *short_life(void *unused)
{
	struct timespec time = { 0, 200000000 };

	burn(0.00035);
	syscall(SYS_nanosleep, &time, NULL);
	return unused;
}

int main(int count, char **words)
{
	int threads = count > 1 ? atoi(words[1]) : 300;
	pthread_attr_t attr;
	pthread_t thread;

	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	pthread_attr_setstacksize(&attr, 64 << 10);
	for (int i = 0; i < threads; i++)
		while (pthread_create(&thread, &attr, short_life, NULL) != 0)
			usleep(1000);
	pthread_exit(NULL);
}
