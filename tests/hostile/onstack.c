/* Handlers with SA_ONSTACK on a stack of 16 kB that do most of the work; what the program can ask
 * about its stack and its handler meanwhile; a handler that is left by siglongjmp,
 * with a sample before the next one. */
#include "burn.h"
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>
#include <unistd.h>

static char stack[16384];
static volatile int turns, asked;
static sigjmp_buf back;

static int is_here(const void *address)
{
	return (const char *)address >= stack && (const char *)address < stack + sizeof stack;
}

__attribute__((noinline)) static void heavy_part(void)
{
	burn(0.008);
}

static void alarmed(int signal)
{
	stack_t other = { .ss_sp = stack, .ss_size = sizeof stack }, old = { 0 };

	heavy_part();
	if (turns++ == 3) {
		int result = sigaltstack(&other, NULL), error = errno;
		sigaltstack(NULL, &old);
		asked = result == -1 && error == EPERM && old.ss_flags == SS_ONSTACK &&
			old.ss_sp == stack && is_here(&old);
		raise(SIGUSR1);
	}
	(void)signal;
}

static void nested(int signal, siginfo_t *info, void *context)
{
	burn(0.001);
	asked += signal == SIGUSR1 && info->si_pid == getpid() && context != NULL;
}

static void leaving(int signal)
{
	asked += is_here(&signal);
	siglongjmp(back, 1);
}

__attribute__((noinline)) static void light_part(void)
{
	burn(0.002);
}

int main(void)
{
	stack_t own = { .ss_sp = stack, .ss_size = sizeof stack }, old;
	struct sigaction action = { .sa_handler = alarmed, .sa_flags = SA_ONSTACK | SA_RESTART };
	struct sigaction with_info = { .sa_sigaction = nested,
				       .sa_flags = SA_ONSTACK | SA_SIGINFO };
	struct sigaction before;

	sigaltstack(&own, NULL);
	sigaction(SIGUSR1, &with_info, NULL);
	sigaction(SIGALRM, &action, NULL);
	sigaction(SIGALRM, NULL, &before);
	printf("as installed: %d, flags %x\n", before.sa_handler == alarmed, before.sa_flags);
	while (turns < 60) {
		light_part();
		raise(SIGALRM);
	}
	action.sa_handler = leaving;
	sigaction(SIGUSR2, &action, NULL);
	for (volatile int i = 0; i < 5; i++) {
		if (sigsetjmp(back, 1) == 0)
			raise(SIGUSR2);
		burn(0.02);
	}
	sigaltstack(NULL, &old);
	printf("asked %d, flags %x, own %d\n", asked, old.ss_flags, old.ss_sp == stack);
	printf("by signal(): %d\n", signal(SIGUSR2, SIG_DFL) == leaving);
	return 0;
}
