/* Faults of strategies come back to where the strategy was called. */
#include "search/engine/guard.h"

#include <setjmp.h>
#include <signal.h>
#include <stddef.h>

enum { FAULTS = 5, STACK = 64 * 1024 };
static const int faults[FAULTS] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT };

static _Thread_local sigjmp_buf *guard; /* NULL: no guarded code runs in this thread */
static char stack[STACK];		/* for a handler whose thread has none left */

/* Another thread's fault is no guarded code's, and ends the process as ever. */
static void fault(int number)
{
	const struct sigaction usual = { .sa_handler = SIG_DFL };

	if (guard)
		siglongjmp(*guard, number);
	sigaction(number, &usual, NULL);
	raise(number);
}

static void handlers_set(struct sigaction before[FAULTS], stack_t *stack_before)
{
	const struct sigaction action = { .sa_handler = fault, .sa_flags = SA_ONSTACK };
	const stack_t own = { .ss_sp = stack, .ss_size = sizeof(stack) };

	sigaltstack(&own, stack_before);
	for (int i = 0; i < FAULTS; i++)
		sigaction(faults[i], &action, &before[i]);
}

static void handlers_restore(const struct sigaction before[FAULTS], const stack_t *stack_before)
{
	for (int i = 0; i < FAULTS; i++)
		sigaction(faults[i], &before[i], NULL);
	sigaltstack(stack_before, NULL);
}

bool sn_guarded(void (*function)(void *context), void *context, int *signal)
{
	struct sigaction before[FAULTS];
	stack_t stack_before;
	sigjmp_buf here;

	handlers_set(before, &stack_before);
	*signal = sigsetjmp(here, 1);
	if (!*signal) {
		guard = &here;
		function(context);
	}
	guard = NULL;
	handlers_restore(before, &stack_before);
	return !*signal;
}
