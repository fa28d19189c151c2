/* Reaches a watched place some times in two threads and in a child, and has traps of its own. With an
 * argument: very often. */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static volatile int traps;

__attribute__((visibility("default"))) int watched_step(int at)
{
	__asm__ volatile("" : "+r"(at));
	return at + 1;
}

/* slow enough for a breakpoint: 25 a second at most */
static int step_slowly(int times)
{
	struct timespec pause = { .tv_nsec = 40000000 };
	int at = 0;

	for (int i = 0; i < times; i++) {
		at = watched_step(at);
		nanosleep(&pause, NULL);
	}
	return at;
}

static void note(int signal)
{
	(void)signal;
	traps++;
}

static void *in_thread(void *unused)
{
	step_slowly(5);
	return unused;
}

int main(int count, char **words)
{
	pthread_t thread;
	int many = 0;

	signal(SIGTRAP, note);
	if (count > 1)
		for (int i = 0; i < atoi(words[1]); i++)
			many = watched_step(many);
	raise(SIGTRAP);
	__asm__ volatile("int3");
	step_slowly(7);
	pthread_create(&thread, NULL, in_thread, NULL);
	pthread_join(thread, NULL);
	if (fork() == 0) {
		step_slowly(3);
		exit(0);
	}
	wait(NULL);
	printf("%d traps, %d steps\n", traps, many);
	return 0;
}
