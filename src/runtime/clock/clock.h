/**
 * The clock collector: samples of where threads use CPU time. It has four parts: who sends the
 * signals (events_handler.c), how they become samples (sample_handler.c), calls that are timed as a
 * whole (timed_calls_handler.c), and what core calls (clock_handler.c). docs/method/sampling.md has
 * the method.
 */
#ifndef SN_RUNTIME_CLOCK_CLOCK_H
#define SN_RUNTIME_CLOCK_CLOCK_H

#include "runtime/calls/calls.h"

/* in sigev_value: tells our timers from the target's */
#define SN_TIMER_COOKIE 0x736f6e6465000000ULL
/* OUTSIDE: opened by another thread, for one that began before us */
enum { SN_TIMER_SAMPLE = 1, SN_TIMER_TICK = 2, SN_TIMER_BELL = 3, SN_TIMER_OUTSIDE = 4 };
enum {
	SN_TICK_NS = 4000000, /* period of the timers that look for system time */
};

/** A perf event, kept alive by the mapping of its page. */
struct sn_event {
	void *page; /* NULL: none */
	uint64_t period_ns;
};

/** The clock's part of a thread's block. */
struct sn_clock {
	/* CPU time: see docs/method/time.md */
	uint64_t claimed_user_ns, claimed_system_ns; /* already given to samples */
	int64_t credit_ns;			     /* what user samples should claim more */
	int64_t last_cpu_ns;			     /* its CPU clock at the last user sample */
	int64_t last_sample_ns;			     /* wall time of that sample */
	int64_t clock_ns, clock_read_ns;	     /* its CPU clock when last read, and when */
	int64_t before_user_ns, before_system_ns; /* what the thread had used in earlier images */
	int64_t paused_ns;			  /* used while sampling was paused */
	int64_t unsent_ns; /* claimed, but there was no room for the sample */
	int32_t samples_until_sync;
	uint32_t rng;
	uint8_t was_paused;

	/* who sends its signals */
	uint8_t mechanism; /* enum sn_mechanism of this thread */
	uint8_t is_first_period, has_sample_timer, has_tick_timer;
	uint8_t has_had_event;	   /* the kernel keeps what it set up for it: each switch costs */
	uint8_t has_left_perf;	   /* for a timer, because it switched too often */
	_Atomic(void *) bell;	   /* page of the event by which another thread calls it in */
	struct sn_event events[2]; /* of different periods: no program is in step with both */
	uint32_t samples_until_draw, draws;
	int32_t sample_timer, tick_timer;
	uint64_t first_period_ns;
	uint32_t early_samples;	  /* at the random first period */
	uint32_t signals_counted; /* of events, since the CPU clock was read for it */
	int64_t signals_cpu_ns;
	uint64_t switches_seen, voluntary_seen, faults_seen;
	int64_t booked_user_ns, booked_ns; /* by ticks, at the latest of them that we saw */
	int64_t system_seen_ns;	 /* system time, up to which interrupts in the kernel are counted */
	int64_t stretch_used_ns; /* where the rate of switches was last taken */
	uint64_t stretch_switches, stretch_waits;
	uint64_t handler_count;
	uint32_t registers_count; /* samples whose registers could be kept */

	/* calls that are timed as a whole: clock/timed_calls_handler.c */
	uint64_t call_begin;  /* of the one that is timed; 0: none */
	int64_t call_cpu_ns;  /* the CPU clock when that began */
	int64_t call_cost_ns; /* of reading it */
	uint8_t times_calls;
	uint32_t call_gap[SN_CALL_SLOTS];  /* calls that one stands for, by function */
	uint32_t call_used[SN_CALL_SLOTS]; /* ns of one, on average */
	/* ... and the time between calls */
	int64_t between_ns, calls_ns; /* that no sample has claimed */
	int64_t repay_ns;	      /* by which timed calls should claim more, each */
	double call_mean_ns;	      /* CPU time of any call, where nothing disturbed */
	uint8_t has_looked;	      /* what follows is of the tick before */
	int64_t looked_cpu_ns;
	uint64_t looked; /* the time-stamp counter */
	uint64_t looked_between, looked_long_count, looked_calls, looked_preemptions;
};

extern struct sn_collector sn_clock_collector;

static inline struct sn_clock *sn_clock_of(const struct sn_thread *thread)
{
	return sn_thread_part(thread, &sn_clock_collector);
}

/* ---- clock/events_handler.c ---- */

/** Opens the thread's events; nothing happens if they are open. False: none could be opened. */
bool sn_events_start(struct sn_thread *self);
void sn_events_stop(struct sn_thread *self);
/** Another thread's: it gets a signal of kind SN_TIMER_BELL as soon as it has computed for a moment. */
void sn_events_call_in(struct sn_thread *thread);
/** That signal has come. */
void sn_events_bell(struct sn_thread *self);
/** Goes on with the usual periods, after the first, random one. */
void sn_events_next(struct sn_thread *self);
/** To be called after each sample of the thread's events. Now and then it gives one of them a new
 * random period. */
void sn_events_draw(struct sn_thread *self);
/** To be called for each signal of an event. True: they came at over three times the rate, so the
 * thread has a timer from here on. Whatever the cause, a target must not stall. */
bool sn_events_end_flood(struct sn_thread *self);
/** Changes from perf events to a CPU timer, for threads that switch too often (2 us a switch on
 * Linux 5.0). */
void sn_events_use_timer(struct sn_thread *self);
/** Changes back to perf events, when the thread switches less. */
void sn_events_use_perf(struct sn_thread *self);
/** Makes the last system calls before no more may be made: events that last are begun anew. */
void sn_events_before_seal(struct sn_thread *self);
/** Adds the context switches of the thread so far to the header's counts. */
void sn_events_count_switches(struct sn_thread *self, uint64_t switches);
/** Likewise the interrupts of its events within the kernel, by its system time so far. */
void sn_events_count_kernel(struct sn_thread *self, int64_t system_ns);
/** Notes that a thread has ended that used so much CPU time: new ones may be as short. */
void sn_events_note_ended(uint64_t cpu_ns);
/** CPU time of threads that have ended, behind their last accounts: the kernel takes a thread apart on its own clock,
 *  some 30 us each. 0: none, or too many live to tell. */
int64_t sn_events_after_ends_ns(void);
/** Forgets ended threads, for a new image. */
void sn_events_forget_ended(void);
/** CPU time between samples as asked for, at this point of the thread's life. */
uint64_t sn_events_asked_ns(const struct sn_thread *self);
/** The same of a CPU timer, which is set once for a thread's life. */
uint64_t sn_events_timer_ns(void);
/** CPU time per signal of the events that the thread carries. A sample of theirs stands for it when
 * no clock may be read. */
int64_t sn_events_mean_ns(const struct sn_thread *self);
/** CPU time that can lie between two samples at most. */
int64_t sn_events_longest_ns(const struct sn_thread *self);
/** Period of the timers that look for system time. */
int64_t sn_events_tick_ns(void);

/* ---- clock/sample_handler.c ---- */

/** The handler of our signals. */
void sn_sample_handler(int signal, siginfo_t *info, void *context);
/** Writes a sample that claims `cpu_ns`. */
void sn_sample_emit(struct sn_thread *self, uint32_t stack, int64_t now_ns, int64_t cpu_ns,
		    uint8_t flags);
/** Writes CPU time that no sample has claimed, split as the kernel splits it. `stack` is where it
 * is known to have been used; 0: nowhere. */
void sn_sample_remainder(struct sn_thread *thread, struct sn_writer *writer, int64_t now_ns,
			 uint32_t stack);
/** Writes the samples that waited (sn_thread.late_count), with the stack that they have. */
void sn_sample_late(struct sn_thread *self, uint32_t stack, int64_t now_ns);
/** Whether the calling thread switches too often for an event. */
void sn_sample_look_at_switches(struct sn_thread *self);
/** CPU time of the calling thread that no sample has claimed. */
int64_t sn_sample_unclaimed_ns(const struct sn_thread *self);
/** Makes the last system calls before no more may be made: what was used so far is claimed, and
 * whole periods begin. */
void sn_sample_before_seal(struct sn_thread *self);

/* ---- clock/timed_calls_handler.c ---- */

/** The thread is sampled by a CPU timer from here on: calls that may block are measured by
 *  themselves. */
void sn_clock_time_calls(struct sn_thread *self);
/** It is sampled by a perf event: now and then after a call it is looked how often it switches. The
 *  timer that looks for system time cannot tell, as it misses what switches take. */
void sn_clock_watch_calls(struct sn_thread *self);
/** At a tick of the timer, when `unclaimed_ns` of the thread's CPU time are no sample's and it was
 *  preempted so often: what the tick claims, where `is_call` says that it met a system call.
 *  0: it is no sample. */
int64_t sn_clock_claim_tick(struct sn_thread *self, int64_t unclaimed_ns, uint64_t preemptions,
			    bool is_call);
void sn_clock_before_call(struct sn_thread *self, const struct sn_call *call);
void sn_clock_after_call(struct sn_thread *self, const struct sn_call *call);

/* ---- clock/setup_clock.c ---- */

/** `install` of core/collector.h. */
bool sn_clock_install(enum sn_data_origin origin);

#endif
