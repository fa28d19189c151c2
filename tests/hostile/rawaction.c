/*
 * A program that sets what signals do by the system call itself, as chromium does in its children: 20 of them take all
 * signals back to their defaults, and work on.
 */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "burn.h"

struct action { /* the kernel's */
	void (*handler)(int);
	unsigned long flags;
	void (*restorer)(void);
	unsigned long mask;
};

static int child(int number)
{
	struct action wanted = { .handler = SIG_DFL }, old;
	unsigned long seen = 0;

	wanted.mask = number % 2 ? ~0UL : 0;
	for (int s = 1; s <= 64; s++)
		if (!syscall(SYS_rt_sigaction, s, &wanted, &old, 8) && old.handler != SIG_DFL)
			seen |= 1UL << (s - 1);
	burn(0.03);
	wanted.handler = SIG_IGN;
	syscall(SYS_rt_sigaction, SIGSTKFLT, &wanted, NULL, 8);
	syscall(SYS_rt_sigaction, SIGTRAP, &wanted, NULL, 8);
	syscall(SYS_rt_sigaction, SIGSTKFLT, NULL, &old, 8);
	raise(SIGSTKFLT);
	raise(SIGTRAP);
	burn(0.01);
	printf("%d: handlers %#lx, ignored %d, bad %ld\n", number, seen, old.handler == SIG_IGN,
	       syscall(SYS_rt_sigaction, SIGKILL, &wanted, NULL, 8));
	fflush(stdout);
	return number;
}

int main(void)
{
	for (int i = 0; i < 20; i++) {
		int status;
		pid_t pid = fork();

		if (pid == 0)
			_exit(child(i));
		waitpid(pid, &status, 0);
		printf("%d: %#x\n", i, (unsigned)status);
		fflush(stdout);
	}
	return 0;
}
