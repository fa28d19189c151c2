/*
 * Faults of code that a collector runs between the program's: they come to us first. The program's own
 * handlers get all others, with the flags, mask and stack that it asked for, as the handler that
 * the kernel knows is ours in every action that it sets. What it asks for is what it is told.
 */
#include "runtime/core/collector.h"
#include "runtime/core/real.h"
#include "runtime/core/signals.h"

#define DEFAULT ((sn_signal_handler)(uintptr_t)SIG_DFL)
#define IGNORED ((sn_signal_handler)(uintptr_t)SIG_IGN)

static struct target_handler {
	sn_signal_handler _Atomic function;
	_Atomic bool has_info; /* SA_SIGINFO */
	_Atomic bool is_once;  /* SA_RESETHAND */
} handlers[65];
static bool is_guarded;

static const int faults[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL };
enum { FAULTS = sizeof(faults) / sizeof(*faults) };

static bool is_fault(int signal)
{
	for (int i = 0; i < FAULTS; i++)
		if (faults[i] == signal)
			return true;
	return false;
}

/* As the kernel would do; a fault comes again when we return. */
static void do_default(int signal, bool is_forced)
{
	struct sigaction action = { .sa_handler = SIG_DFL };

	REAL(sigaction)(signal, &action, NULL);
	if (!is_forced)
		SYS(tgkill, SYS(getpid), SYS(gettid), signal);
}

static void on_fault(int signal, siginfo_t *info, void *context)
{
	bool is_forced = info->si_code > 0;
	sn_signal_handler function = atomic_load(&handlers[signal].function);

	if (is_forced && sn_self && sn_is_active() &&
	    sn_collect_interrupted(sn_self, true, context))
		return;
	if (function == IGNORED && !is_forced)
		return;
	if (atomic_load(&handlers[signal].is_once))
		atomic_store(&handlers[signal].function, DEFAULT);
	if (function == DEFAULT || function == IGNORED)
		do_default(signal, is_forced);
	else if (atomic_load(&handlers[signal].has_info))
		function(signal, info, context);
	else
		((sighandler_t)(void *)function)(signal);
}

void sn_faults_wrap(int signal, struct sigaction *action)
{
	if (!is_guarded || !is_fault(signal) || action->sa_sigaction == on_fault)
		return;
	atomic_store(&handlers[signal].has_info, (action->sa_flags & SA_SIGINFO) != 0);
	atomic_store(&handlers[signal].function, action->sa_sigaction);
	atomic_store(&handlers[signal].is_once, (action->sa_flags & SA_RESETHAND) != 0);
	action->sa_sigaction = on_fault;
	action->sa_flags = (action->sa_flags | SA_SIGINFO) & ~(int)SA_RESETHAND;
}

void sn_faults_describe(int signal, struct sigaction *action)
{
	if (action->sa_sigaction != on_fault || !(action->sa_flags & SA_SIGINFO))
		return;
	action->sa_sigaction = atomic_load(&handlers[signal].function);
	if (!atomic_load(&handlers[signal].has_info))
		action->sa_flags &= ~SA_SIGINFO;
	if (atomic_load(&handlers[signal].is_once))
		action->sa_flags |= (int)SA_RESETHAND;
}

bool sn_faults_are_wrapped(int signal)
{
	return is_guarded && is_fault(signal);
}

void sn_faults_before_exec(void)
{
	struct sigaction action = { .sa_handler = SIG_IGN };

	for (int i = 0; is_guarded && i < FAULTS; i++)
		if (atomic_load(&handlers[faults[i]].function) == IGNORED)
			REAL(sigaction)(faults[i], &action, NULL);
}

void *sn_faults_guard(void)
{
	is_guarded = true;
	for (int i = 0; i < FAULTS; i++) {
		struct sigaction action;

		if (REAL(sigaction)(faults[i], NULL, &action) != 0)
			return NULL;
		sn_faults_wrap(faults[i], &action);
		if (REAL(sigaction)(faults[i], &action, NULL) != 0)
			return NULL;
	}
	return (void *)on_fault;
}
