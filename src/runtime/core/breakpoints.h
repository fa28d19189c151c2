/**
 * Breakpoints: a collector is told when a thread of the process is about to execute the
 * instruction at an address. No privilege is needed.
 * For what happens seldom: a hit costs two exceptions (25 to 50 us on a virtual machine). The processor
 * has four, for each thread, shared with debuggers.
 *
 * Where a plan (wire/plan.h) has put code at the address, that tells of arrivals, by a signal of some 3 us, up to
 * SN_BREAKPOINT_CODE_RATE a second in a thread; where it is passed more often, the code counts, and tells of every second
 * arrival, of every fourth, up to SN_BREAKPOINT_CODE_EVERY_MAX. Else the processor does, and nothing is written into the program's code.
 *
 * A thread that arrives more often than SN_BREAKPOINT_RATE times a second is told of every second
 * arrival only, then of every fourth, up to SN_BREAKPOINT_EVERY_MAX; one that is faster still is told no
 * more, and the run has a warning.
 */
#ifndef SN_RUNTIME_CORE_BREAKPOINTS_H
#define SN_RUNTIME_CORE_BREAKPOINTS_H

#include "runtime/core/runtime.h"

enum {
	SN_BREAKPOINT_RATE = 50,
	SN_BREAKPOINT_EVERY_MAX = 8,
	SN_BREAKPOINT_CODE_RATE = 1000,
	SN_BREAKPOINT_CODE_EVERY_MAX = 1 << 16
};

/** In sig_data, or a queued signal's value: tells them from the clock's. The lowest bits are the breakpoint's number. */
#define SN_BREAKPOINT_COOKIE 0x736f6e6562000000ULL

/** `which` was reached `arrivals` times since the thread was last told. In a signal's handler; the
 *  thread is held busy. */
typedef void (*sn_breakpoint_reached)(struct sn_thread *self, unsigned which, uint32_t arrivals);

/** Sets one, for all threads: each has it from its next sample on, new ones and the caller at once.
 *  Gives its number, or -1: four are set, or a debugger owns SIGTRAP. At install, or in a handler. */
int sn_breakpoint_set(uint64_t load_addr, sn_breakpoint_reached reached);

/** Code that stands at an address calls sn_breakpoint_by_code with `number` when a thread arrives there: a breakpoint that is
 * set there later needs none of the processor's. Numbers from 0 to SN_BREAKPOINTS_MAX - 1. In the constructor. */
void sn_breakpoint_has_code(uint64_t load_addr, uint32_t number);
/** In that code: tells the thread by a signal, in whose handler all registers are kept. Uses general registers only. */
void sn_breakpoint_by_code(uint32_t number);
/** By that number: the breakpoint + 1; 0: none listens. */
extern _Atomic uint32_t sn_breakpoint_of_code[SN_BREAKPOINTS_MAX];

/** By that number: of which arrivals a thread is told, every one (1 or 0), every second one ... */
extern _Atomic uint32_t sn_breakpoint_code_every[SN_BREAKPOINTS_MAX];
/** Of which arrivals at this one threads are told. */
uint32_t sn_breakpoint_every(unsigned which);

/** Whether some thread is told of this one no more, since it arrives too often. */
bool sn_breakpoint_is_deaf(unsigned which);

/** Opens and closes what the calling thread lacks or has too many. False: one was refused. */
bool sn_breakpoints_follow(struct sn_thread *self);
void sn_breakpoints_stop(struct sn_thread *thread);
/** In the handler of SIGTRAP. True: it was ours, and the program is not to see it. */
bool sn_breakpoint_take(const siginfo_t *info, const void *context);

#endif
