/**
 * Calls of code that sonde did not write: a crash in it is an error, and not the end of sonde, and so is a call that does not
 * come back.
 *
 * What the code did to memory before it crashed stays done. So its library is not used again, nor unloaded.
 */
#ifndef SN_SEARCH_ENGINE_GUARD_H
#define SN_SEARCH_ENGINE_GUARD_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

/** Where the code lies. */
struct sn_guard_code {
	uintptr_t begin, end;
};

/** What was loaded around a function. */
struct sn_guard_code sn_guard_code_of(uintptr_t function);

/** (chosen) A call of a strategy takes milliseconds; whatever the machine does beside, one that works for so long does not end. */
enum { SN_GUARD_CPU_S = 10, SN_GUARD_ELAPSED_S = 60 };
/** The signal that stands for such a call. */
#define SN_GUARD_LATE SIGVTALRM

/** Calls `function`. False: a signal (SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT) ended it, whose number is in
 *  `signal`; a stack that was used up is such a one. SN_GUARD_LATE: it had SN_GUARD_CPU_S of CPU time, or took SN_GUARD_ELAPSED_S, and was
 *  left in `code`, so that nothing of sonde's was at work; only if it is never seen there, wherever it is then. One thread at a
 *  time; calls do not nest. */
bool sn_guarded(void (*function)(void *context), void *context, const struct sn_guard_code *code,
		int *signal);

#endif
