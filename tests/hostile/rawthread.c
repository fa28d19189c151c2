/* A thread made by clone() itself, without libc. */
#define _GNU_SOURCE
#include "burn.h"
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

static volatile int may_end, is_over;

static int body(void *unused)
{
	while (!may_end)
		burn_sink += 1;
	is_over = 1;
	(void)unused;
	syscall(SYS_exit, 0);
	return 0;
}

int main(void)
{
	char *stack = malloc(1 << 16);

	clone(body, stack + (1 << 16),
	      CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM,
	      NULL);
	burn(1.5); /* threads are counted once a second */
	may_end = 1;
	while (!is_over)
		burn(0.01);
	usleep(1000);
	printf("done\n");
	return 0;
}
