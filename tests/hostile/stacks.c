/* Alternate stacks, coroutines on 4 kB, threads of 16 kB, longjmp out of handlers, deep recursion.
 */
#include "burn.h"
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>
#include <unistd.h>

static sigjmp_buf out;
static char alternate[65536];
static ucontext_t main_context, coroutine[8];

static void overflow_handler(int signal)
{
	burn(0.01);
	siglongjmp(out, signal);
}

__attribute__((noinline)) static int recurse(volatile int depth)
{
	char room[512];

	memset(room, depth, sizeof room);
	return depth == 0 ? room[3] : recurse(depth + 1) + room[7];
}

static void on_stack_handler(int signal)
{
	char here;

	printf("on alternate stack: %d\n",
	       &here >= alternate && &here < alternate + sizeof alternate);
	burn(0.05);
	(void)signal;
}

static void print_altstack(const char *name)
{
	stack_t stack;

	sigaltstack(NULL, &stack);
	printf("%s: flags %d size %zu\n", name, stack.ss_flags, stack.ss_flags ? 0 : stack.ss_size);
}

static void alternate_stacks(void)
{
	stack_t stack = { .ss_sp = alternate, .ss_size = sizeof alternate };
	struct sigaction action = { .sa_handler = on_stack_handler, .sa_flags = SA_ONSTACK };

	print_altstack("at start");
	sigaction(SIGUSR1, &action, NULL);
	raise(SIGUSR1); /* there is none yet: on the normal stack */
	sigaltstack(&stack, NULL);
	print_altstack("set");
	raise(SIGUSR1);
	action.sa_handler = overflow_handler;
	sigaction(SIGSEGV, &action, NULL);
	for (int i = 0; i < 3; i++)
		if (sigsetjmp(out, 1) == 0)
			recurse(1);
		else
			printf("overflow caught\n");
	burn(0.05);
	stack.ss_flags = SS_DISABLE;
	sigaltstack(&stack, NULL);
	print_altstack("off");
	stack = (stack_t){ .ss_sp = alternate, .ss_size = 2048 };
	printf("small: %d\n", sigaltstack(&stack, NULL));
	print_altstack("small");
	burn(0.02);
	stack.ss_flags = SS_DISABLE;
	sigaltstack(&stack, NULL);
	burn(0.02);
}

static void co_body(int number)
{
	for (int i = 0; i < 40; i++) {
		for (int k = 0; k < 100000; k++)
			burn_sink += k;
		swapcontext(&coroutine[number], &main_context);
	}
}

static void coroutines(void)
{
	for (int i = 0; i < 8; i++) {
		getcontext(&coroutine[i]);
		coroutine[i].uc_stack.ss_sp = malloc(4096);
		coroutine[i].uc_stack.ss_size = 4096;
		coroutine[i].uc_link = &main_context;
		makecontext(&coroutine[i], (void (*)(void))co_body, 1, i);
	}
	for (int turn = 0; turn < 40; turn++)
		for (int i = 0; i < 8; i++)
			swapcontext(&main_context, &coroutine[i]);
	printf("coroutines done\n");
}

static void *small_thread(void *unused)
{
	burn(0.02);
	usleep(1000);
	return unused;
}

static void small_threads(void)
{
	pthread_attr_t attr;
	pthread_t threads[16];

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 16384);
	for (int i = 0; i < 16; i++)
		if (pthread_create(&threads[i], &attr, small_thread, NULL))
			printf("cannot make a thread\n");
	for (int i = 0; i < 16; i++)
		pthread_join(threads[i], NULL);
	printf("small threads done\n");
}

__attribute__((noinline)) static double deep(int depth)
{
	if (depth == 0) {
		burn(0.3);
		return 1;
	}
	return deep(depth - 1) + 1;
}

int main(void)
{
	setvbuf(stdout, NULL, _IOLBF, 0);
	printf("deep %g\n", deep(203));
	printf("very deep %g\n", deep(20000));
	alternate_stacks();
	coroutines();
	small_threads();
	return 0;
}
