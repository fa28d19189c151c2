/* The ways a process ends. */
#include "burn.h"
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static void *forever(void *unused)
{
	for (;;)
		burn(1);
	return unused;
}

static void *ender(void *unused)
{
	burn(0.05);
	exit(4);
	return unused;
}

static void close_all(void)
{
	for (int fd = 3; fd < 1024; fd++)
		close(fd);
	burn(0.05);
}

int main(int count, char **words)
{
	const char *how = count > 1 ? words[1] : "";
	pthread_t thread;

	printf("begin\n");
	fflush(stdout);
	burn(0.1);
	if (!strcmp(how, "kill"))
		raise(SIGKILL);
	if (!strcmp(how, "abort"))
		abort();
	if (!strcmp(how, "segv"))
		*(volatile int *)8 = 1;
	if (!strcmp(how, "_exit"))
		_exit(9);
	if (!strcmp(how, "quick"))
		quick_exit(6);
	if (!strcmp(how, "raw"))
		syscall(SYS_exit_group, 8);
	if (!strcmp(how, "close"))
		close_all();
	if (!strcmp(how, "thread")) {
		pthread_create(&thread, NULL, ender, NULL);
		pthread_create(&thread, NULL, forever, NULL);
		pthread_exit(NULL);
	}
	if (!strcmp(how, "fds")) {
		for (int fd = 0; fd < 20; fd++)
			printf("%d:%d ", fd, dup2(fd, fd) == fd);
		printf("%d\n", dup(0));
	}
	if (!strcmp(how, "forever"))
		forever(NULL);
	return 3;
}
