/**
 * Calls of code that sonde did not write: a crash in it is an error, and not the end of sonde.
 *
 * What the code did to memory before it crashed stays done. So its library is not used again, nor unloaded.
 */
#ifndef SN_SEARCH_ENGINE_GUARD_H
#define SN_SEARCH_ENGINE_GUARD_H

#include <stdbool.h>

/** Calls `function`. False: a signal (SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT) ended it, whose number is in
 *  `signal`; a stack that was used up is such a one. One thread at a time; calls do not nest. */
bool sn_guarded(void (*function)(void *context), void *context, int *signal);

#endif
