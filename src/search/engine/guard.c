/* Faults of strategies come back to where the strategy was called, and so do calls that do not end. */
#include "search/engine/guard.h"

#include <link.h>
#include <setjmp.h>
#include <signal.h>
#include <stddef.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

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

/* ---- calls that do not end ---- */

/* (chosen) how often one is looked at until it is left wherever it is: a minute, as it sleeps, or computes in a library */
enum { LOOKS_MOST = 6000, LOOK_NS = 10000000, CLOCKS = 2 };

static struct {
	struct sn_guard_code code;
	timer_t timers[CLOCKS];
	bool has[CLOCKS];
	int looks;
	struct sigaction before;
} watch;

static void late(int number, siginfo_t *info, void *context)
{
	const ucontext_t *at = context;
	uintptr_t pc = (uintptr_t)at->uc_mcontext.gregs[REG_RIP];

	(void)info;
	if (!guard)
		return;
	if ((pc >= watch.code.begin && pc < watch.code.end) || ++watch.looks > LOOKS_MOST)
		siglongjmp(*guard, number);
}

static void watch_begin(const struct sn_guard_code *code)
{
	static const clockid_t clocks[CLOCKS] = { CLOCK_THREAD_CPUTIME_ID, CLOCK_MONOTONIC };
	static const time_t most_s[CLOCKS] = { SN_GUARD_CPU_S, SN_GUARD_ELAPSED_S };
	const struct sigaction action = { .sa_sigaction = late,
					  .sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK };
	struct sigevent event = { .sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SN_GUARD_LATE };

	event._sigev_un._tid = gettid();
	watch.code = *code;
	watch.looks = 0;
	sigaction(SN_GUARD_LATE, &action, &watch.before);
	for (int i = 0; i < CLOCKS; i++) {
		const struct itimerspec times = { .it_value = { .tv_sec = most_s[i] },
						  .it_interval = { .tv_nsec = LOOK_NS } };

		watch.has[i] = !timer_create(clocks[i], &event, &watch.timers[i]);
		if (watch.has[i])
			timer_settime(watch.timers[i], 0, &times, NULL);
	}
}

static void watch_end(void)
{
	for (int i = 0; i < CLOCKS; i++)
		if (watch.has[i])
			timer_delete(watch.timers[i]);
	sigaction(SN_GUARD_LATE, &watch.before, NULL);
}

struct looking {
	uintptr_t function;
	struct sn_guard_code code;
};

static int object_see(struct dl_phdr_info *info, size_t size, void *context)
{
	struct looking *looking = context;

	(void)size;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
		uintptr_t begin = info->dlpi_addr + segment->p_vaddr;

		if (segment->p_type != PT_LOAD || looking->function < begin ||
		    looking->function - begin >= segment->p_memsz)
			continue;
		looking->code = (struct sn_guard_code){ begin, begin + segment->p_memsz };
		return 1;
	}
	return 0;
}

struct sn_guard_code sn_guard_code_of(uintptr_t function)
{
	struct looking looking = { .function = function };

	dl_iterate_phdr(object_see, &looking);
	return looking.code;
}

/* ---- all ---- */

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

bool sn_guarded(void (*function)(void *context), void *context, const struct sn_guard_code *code,
		int *signal)
{
	struct sigaction before[FAULTS];
	stack_t stack_before;
	sigjmp_buf here;

	handlers_set(before, &stack_before);
	*signal = sigsetjmp(here, 1);
	if (!*signal) {
		guard = &here;
		watch_begin(code);
		function(context);
	}
	guard = NULL;
	watch_end();
	handlers_restore(before, &stack_before);
	return !*signal;
}
