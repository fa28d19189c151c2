/**
 * Hardware breakpoints: a collector is told when a thread of the process is about to execute the
 * instruction at an address. Nothing is written into the program's code, and no privilege is needed.
 * For what happens seldom: a hit costs two exceptions (25 to 50 us on a virtual machine). The processor
 * has four, for each thread, shared with debuggers.
 *
 * A thread that arrives more often than SN_BREAKPOINT_RATE times a second is told of every second
 * arrival only, then of every fourth, up to SN_BREAKPOINT_EVERY_MAX; one that is faster still is told no
 * more, and the run has a warning.
 */
#ifndef SN_RUNTIME_CORE_BREAKPOINTS_H
#define SN_RUNTIME_CORE_BREAKPOINTS_H

#include "runtime/core/runtime.h"

enum { SN_BREAKPOINT_RATE = 50, SN_BREAKPOINT_EVERY_MAX = 8 };

/** `which` was reached `arrivals` times since the thread was last told. In a signal's handler; the
 *  thread is held busy. */
typedef void (*sn_breakpoint_reached)(struct sn_thread *self, unsigned which, uint32_t arrivals);

/** Sets one, for all threads: each has it from its next sample on, new ones and the caller at once.
 *  Gives its number, or -1: four are set, or a debugger owns SIGTRAP. At install, or in a handler. */
int sn_breakpoint_set(uint64_t load_addr, sn_breakpoint_reached reached);

/** Whether some thread is told of this one no more, since it arrives too often. */
bool sn_breakpoint_is_deaf(unsigned which);

/** Opens and closes what the calling thread lacks or has too many. False: one was refused. */
bool sn_breakpoints_follow(struct sn_thread *self);
void sn_breakpoints_stop(struct sn_thread *thread);
/** In the handler of SIGTRAP. True: it was ours, and the program is not to see it. */
bool sn_breakpoint_take(const siginfo_t *info, const void *context);

#endif
