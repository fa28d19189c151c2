/* Reads by two paths, in a second thread, after a failed exec, and in a child of fork. */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static int zero, ends;

static void get(int fd, int times, size_t count)
{
	char bytes[256];

	for (int i = 0; i < times; i++)
		if (read(fd, bytes, count) < 0)
			exit(1);
}

static __attribute__((noinline)) void by_ten(void)
{
	get(zero, 10, 100);
	__asm__ volatile("");
}

static __attribute__((noinline)) void at_end(void)
{
	get(ends, 5, 7);
	__asm__ volatile("");
}

static void *in_thread(void *unused)
{
	get(zero, 3, 1);
	return unused;
}

int main(void)
{
	char *none[] = { NULL };
	pthread_t thread;

	zero = open("/dev/zero", O_RDONLY);
	ends = open("/dev/null", O_RDONLY);
	by_ten();
	at_end();
	pthread_create(&thread, NULL, in_thread, NULL);
	pthread_join(thread, NULL);
	execv("/nowhere/at/all", none);
	if (fork() == 0) {
		get(zero, 2, 50);
		exit(0);
	}
	wait(NULL);
	puts("done");
	return 0;
}
