/** What the two halves of the clock collector share: who sends the signal, and how it is handled.
 */
#ifndef SN_RUNTIME_CLOCK_CLOCK_H
#define SN_RUNTIME_CLOCK_CLOCK_H

#include "runtime/core/runtime.h"

/* in sigev_value: tells our timers from the target's */
#define SN_TIMER_COOKIE 0x736f6e6465000000ULL
/* OUTSIDE: opened by another thread, for one that began before us */
enum { SN_TIMER_SAMPLE = 1, SN_TIMER_TICK = 2, SN_TIMER_OUTSIDE = 4 };

/** From perf events to a CPU timer: for threads that switch too often (5.0: 2 us a switch). */
void sn_events_use_timer(struct sn_thread *self);
/** For each signal of an event. True: they came at over three times the rate, so the thread has a
 *  timer from here on. Whatever the cause, a target must not stall. */
bool sn_events_end_flood(struct sn_thread *self);
/** And back, when it has calmed down. */
void sn_events_use_perf(struct sn_thread *self);
/** After each sample of the thread's events: now and then one of them gets a new random period. */
void sn_events_draw(struct sn_thread *self);
/** The thread is sampled by a CPU timer from here on, or no more: calls that may block are measured
 *  by themselves. */
void sn_calls_start(struct sn_thread *self);
void sn_calls_stop(struct sn_thread *self);
/** Writes a sample that claims `cpu_ns`. */
void sn_sample_emit(struct sn_thread *self, uint32_t stack, int64_t now_ns, int64_t cpu_ns,
		    uint8_t flags);

/** CPU time per signal of the events that the thread carries: what a sample of theirs stands for
 *  when no clock may be read. */
int64_t sn_events_mean_ns(const struct sn_thread *self);
/** Period of the timers that look for system time. */
int64_t sn_events_tick_ns(void);
/** CPU time that can lie between two samples at most. */
int64_t sn_events_longest_ns(const struct sn_thread *self);

/** The handler for SN_SIGNAL; installed with every signal blocked, on an alternate stack. */
void sn_sample_handler(int signal, siginfo_t *info, void *context);

/** Runs function(a, b) with rsp at `top` (16-byte aligned). */
void sn_call_on_stack(void (*function)(void *, void *), void *a, void *b, void *top);

#endif
