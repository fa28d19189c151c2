/**
 * The collector of locks: every acquisition is counted, by object and call; every wait is an entry of a
 * trace with its call path (wire/sync.h). It is in builds of the runtime that only tracing loads, as it
 * interposes what others leave to libc.
 *
 * Who held a lock is learned from both sides. The waiter reads the holder's tid, and says that the object
 * is wanted before it waits. A thread that releases what is wanted leaves its call path first. So does one
 * that signals a condition or posts a semaphore that is waited for.
 */
#ifndef SN_RUNTIME_SYNC_SYNC_H
#define SN_RUNTIME_SYNC_SYNC_H

#include "runtime/calls/calls.h"
#include "runtime/core/collector.h"
#include "runtime/core/paths.h"
#include "runtime/core/trace.h"
#include "wire/sync.h"

enum {
	SN_SYNC_INDEX = 1024, /* places of entries in a piece, which has 255: a power of two */
	SN_SYNC_HELD = 32,    /* locks that a thread holds; more are not known */
	SN_SYNC_PENDING = 4,  /* waits within waits, by signals' handlers */
};

struct sn_sync_stream {
	struct sn_trace_writer writer;
	uint64_t holder; /* frame of the function that writes at the moment; 0: none */
	uint64_t time_tsc;
	uint32_t unmeasured;	       /* notes until one is measured */
	uint16_t index[SN_SYNC_INDEX]; /* number of an entry in the piece; 0: none */
};

struct sn_sync_held {
	uint64_t object, pc;  /* object 0: a place that is being filled or emptied */
	uint64_t is_signaled; /* a condition was, meanwhile: its waiters need this object next */
};

/** A call that waits, on its own stack. */
struct sn_sync_wait {
	struct sn_sync_entry entry;  /* as it was written; NONE: it was not */
	struct sn_sync_entry *place; /* where */
	const struct sn_trace_piece *piece;
	uint64_t piece_number;
	const uint64_t *frame;
};

/** A wait that a collector's function was told of. */
struct sn_sync_pending {
	uint64_t begin; /* of its struct sn_call */
	struct sn_sync_wait wait;
	struct sn_sync_held mutex; /* of a condition: held again afterwards; object 0: none */
};

/** What the collector knows of a thread; in scratch. */
struct sn_sync_thread {
	/* the second is for a signal's handler that interrupts the first */
	struct sn_sync_stream streams[2];
	uint32_t held_count, pending_count;
	struct sn_sync_held held[SN_SYNC_HELD];
	struct sn_sync_pending pending[SN_SYNC_PENDING];
	struct sn_path_cache paths;
};
extern struct sn_collector sn_sync_collector;

static inline struct sn_sync_thread *sn_sync_of(const struct sn_thread *thread)
{
	return sn_thread_scratch(thread, &sn_sync_collector);
}

/** Of the process image; cleared at install. */
struct sn_sync_state {
	_Atomic uint32_t is_on;
	uint64_t min_ticks; /* shorter waits are none; 0: all are */
	/* for threads that are none of ours */
	_Atomic uint32_t stray_lock;
	struct sn_sync_stream stray;
};
extern struct sn_sync_state sn_sync_state;

static inline bool sn_sync_is_on(void)
{
	return atomic_load_explicit(&sn_sync_state.is_on, memory_order_relaxed) && sn_is_active();
}

/* sync/notes_handler.c. `frame` is that of the wrapper: its return address is the program's. */

/** The object is the caller's, without a wait. */
void sn_sync_took(const uint64_t *frame, enum sn_sync_kind kind, const volatile void *object,
		  bool by_trying);
/** The caller is about to release it. */
void sn_sync_leaves(const uint64_t *frame, enum sn_sync_kind kind, const volatile void *object);
/** The caller lets those go on who wait for the object, if there are any. */
void sn_sync_wakes(const uint64_t *frame, enum sn_sync_kind kind, const volatile void *object);
/** A wait begins. `holder`: tid, 0 for unknown. `mutex`: of a condition; 0: none. */
void sn_sync_begin(struct sn_sync_wait *wait, const uint64_t *frame, enum sn_sync_kind kind,
		   const volatile void *object, uint32_t holder, uint64_t mutex);
void sn_sync_end(struct sn_sync_wait *wait, bool is_acquired);
void sn_sync_end_thread(struct sn_thread *self, int64_t now_ns);
void sn_sync_account(struct sn_thread *thread, struct sn_writer *writer, int64_t now_ns,
		     bool is_ending);

/* sync/joins_handler.c */

/** The calling thread ends. */
void sn_sync_note_ended(uint32_t tid);
/** The kernel's number of a thread that was not joined yet, alive or not; 0: unknown. `thread`: pthread_t. */
uint32_t sn_sync_tid_of(uint64_t thread);

/* sync/notes_handler.c: calls that calls/ wraps */
void sn_sync_before_call(struct sn_thread *self, const struct sn_call *call);
void sn_sync_after_call(struct sn_thread *self, const struct sn_call *call);

/* sync/setup_sync.c: libc's functions that no other part interposes */
#define SN_SYNC_REAL(X)                                                                            \
	X(mutex_unlock, (pthread_mutex_t *), "pthread_mutex_unlock")                               \
	X(rwlock_unlock, (pthread_rwlock_t *), "pthread_rwlock_unlock")                            \
	X(spin_lock, (pthread_spinlock_t *), "pthread_spin_lock")                                  \
	X(spin_trylock, (pthread_spinlock_t *), "pthread_spin_trylock")                            \
	X(spin_unlock, (pthread_spinlock_t *), "pthread_spin_unlock")                              \
	X(sem_trywait, (sem_t *), "sem_trywait")                                                   \
	X(sem_post, (sem_t *), "sem_post")                                                         \
	X(cond_signal, (pthread_cond_t *), "pthread_cond_signal")                                  \
	X(cond_broadcast, (pthread_cond_t *), "pthread_cond_broadcast")                            \
	X(tryjoin, (pthread_t, void **), "pthread_tryjoin_np")                                     \
	X(once, (pthread_once_t *, void (*)(void)), "pthread_once")
#define SN_SYNC_MEMBER(name, parameters, symbol) int(*name) parameters;
struct sn_sync_real {
	SN_SYNC_REAL(SN_SYNC_MEMBER)
};
extern struct sn_sync_real sn_sync_real;
void sn_sync_resolve(void);
extern const struct sn_locks_traced sn_sync_locks; /* sync/locks_handler.c */

#endif
