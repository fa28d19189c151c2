/* An alternate stack as large as one signal's frame can be, as Rust makes it, and a fault on it. */
#include "burn.h"
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/auxv.h>

static sigjmp_buf out;

static void caught(int signal)
{
	siglongjmp(out, signal);
}

int main(void)
{
	size_t bytes = getauxval(51 /* AT_MINSIGSTKSZ */) > 8192 ? getauxval(51) : 8192;
	stack_t stack = { .ss_sp = malloc(bytes), .ss_size = bytes }, told = { 0 };
	struct sigaction action = { .sa_handler = caught, .sa_flags = SA_ONSTACK };

	sigaction(SIGSEGV, &action, NULL);
	if (sigaltstack(&stack, NULL) || sigaltstack(NULL, &told))
		return 1;
	printf("as told: %d\n",
	       told.ss_sp == stack.ss_sp && told.ss_size == bytes && !told.ss_flags);
	burn(0.1);
	for (int i = 0; i < 3; i++)
		if (sigsetjmp(out, 1) == 0)
			*(volatile int *)0 = 1;
		else
			burn(0.05);
	stack.ss_flags = SS_DISABLE;
	sigaltstack(&stack, &told);
	printf("as told: %d\n", told.ss_sp == stack.ss_sp && told.ss_size == bytes);
	sigaltstack(NULL, &told);
	printf("off: %d\n", told.ss_flags == SS_DISABLE);
	burn(0.05);
	return 0;
}
