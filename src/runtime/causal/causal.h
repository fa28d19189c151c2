/**
 * The collector of causal experiments: holds up all threads but those in the chosen code, and notes
 * visits of progress points. It gathers nothing in the data file; what it counts is in the control page
 * (wire/causal.h). It is in a build of the runtime of its own, which `sonde causal` alone loads: it
 * interposes what wakes other threads.
 *
 * The rules are those of Coz (Curtsinger and Berger, SOSP 2015, section 3): a thread that a sample finds
 * in the chosen code is spared the delay that the sample makes due; every other thread pays it, by a
 * pause, at its next sample, and at once before it lets another thread go on; a thread that waited for
 * one that had paid need not.
 */
#ifndef SN_RUNTIME_CAUSAL_CAUSAL_H
#define SN_RUNTIME_CAUSAL_CAUSAL_H

#include "runtime/calls/calls.h"
#include "wire/causal.h"

enum { SN_CAUSAL_HELD_MOST = 8 };

/** The collector's part of a thread's block. Times in ns. */
struct sn_causal {
	uint32_t experiment; /* whose number the rest is of */
	int64_t had;	     /* of the due delay: paid by pauses, spared, or credited */
	int64_t carried; /* of what it owes: kept when it last woke others, and for no wait to take */
	int64_t excess; /* that pauses took too long: set off against the next */
	/* a call that may wait for another thread */
	uint64_t call; /* its struct sn_call.begin; 0: none */
	int64_t call_ns, call_due, call_had;
	bool is_call_sampled; /* since it began */
	uint32_t spun;	      /* samples until it is forgotten that it waited actively */
	int beside;	      /* of its hits, those behind another thread's: the share, of 256 */
	int64_t met_ns;	      /* when it last let others go on, or had waited for them */
	uint8_t is_beats_own; /* a thread of the heartbeats' library: its waits are no program's, and it owes nothing */
	/* locks that the thread holds, outermost first; more than there is room for are not known */
	uint64_t held[SN_CAUSAL_HELD_MOST];
	uint32_t held_count;
	/* what the control page has of the thread's CPU time, and of its waits for a CPU */
	int64_t ran_ns, queued_ns;
	uint32_t unnoted; /* samples since */
	/* visits that are not in the control page yet, of one point */
	uint32_t pending_point, pending;
	uint64_t planned; /* visits by inserted code, as far as they were taken over */
	uint64_t noted;	  /* the time-stamp counter when they were last brought there */
};
extern struct sn_collector sn_causal_collector;

/** The control page; NULL: none. Set once by the constructor, kept by children of forks. */
extern struct sn_causal_control *sn_causal_control;

static inline struct sn_causal *sn_causal_of(const struct sn_thread *thread)
{
	return sn_thread_part(thread, &sn_causal_collector);
}

/* causal_handler.c */
/** The calling thread is about to let another one go on: pays what is due. */
void sn_causal_pay(void);
/** The same if there is anything to pay, and notes the moment. */
void sn_causal_meet(void);
/** Whether there is anything to pay; cheap. */
static inline bool sn_causal_is_due(void)
{
	struct sn_thread *self = sn_self;

	return self && sn_causal_control &&
	       atomic_load_explicit(&sn_causal_control->due_ns, memory_order_relaxed) !=
		       sn_causal_of(self)->had;
}
/** Around something that may wait for other threads of the program and is no call of calls/. */
void sn_causal_wait_begins(void);
void sn_causal_wait_is_over(void);
/** The same of a read of libc's own: it was a wait for others if it took its time, and the bytes come from them. */
void sn_causal_read_is_over(int fd);

/* visits_handler.c */
/** The calling thread visits a point: `count` times at once. A visit
 *  that a handler makes meanwhile may be noted late. */
void sn_causal_visit(struct sn_thread *self, uint32_t point, uint32_t count);
/** Takes over what inserted code has counted of the calling thread. */
void sn_causal_take_planned(struct sn_thread *self);
/** Leaves that to the parent, of which the calling process is a child by fork. */
void sn_causal_skip_planned(struct sn_thread *self);
/** Brings pending visits to the control page. */
void sn_causal_flush(struct sn_thread *self);
/** Places of a module that was mapped get their breakpoints, but for one that inserted code counts. */
void sn_causal_watch_places(uint32_t module, uint64_t load_bias);
/** That one gets it, too, where the code could not be inserted into this process. After that was tried. */
void sn_causal_watch_unpatched(void);

/* beats_handler.c */
/** Whether pc is in the heartbeats' library. */
bool sn_causal_is_beats_own(uint64_t pc);

/* sources_handler.c */
/** Whether bytes at fd come from another thread or process of this program. Notes the port of an end of TCP. */
bool sn_causal_comes_from_others(int fd);
/** Whether poll, select or epoll_wait ended by something that others sent, or by the end of a child. errno is as the call
 *  left it. */
bool sn_causal_was_poll_answered(const struct sn_call *call);

/* held_handler.c */
/** Locks are watched from now on, if a target is what runs under one. */
void sn_causal_watch_locks(void);
/** The calling thread is about to release a lock. */
void sn_causal_release(const void *lock);

/* setup_causal.c */
void sn_causal_attach(void);
void sn_causal_find_real(void);

#endif
