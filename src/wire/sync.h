/**
 * Entries of locks in a piece of a trace (wire/trace.h, SN_TRACE_SYNC): fixed in size, so that one can be
 * counted up where it lies. A process that is killed loses none.
 *
 *   TIME     the first: the time-stamp counter and CLOCK_MONOTONIC, now and then; `holder` is the thread's
 *            tid, `gate` the index of the thread that made it
 *   COUNT    acquisitions by one call of one object that waited for nothing
 *   WAIT     a call that waited; `ticks` is SN_SYNC_OPEN until it returns
 *   RELEASE  a thread is about to release what others wait for, signals a condition, posts a semaphore, wakes
 *            a futex, or has done what is done once; `path` is who did
 *   ORDER    acquisitions of `object` while the thread held `held`
 *
 * A COUNT, ORDER or WAIT is found again by nobody: a thread that cannot find its entry begins another, and
 * readers add them up. A WAIT that ends after its piece was given back is written again, whole; it has
 * the thread and begin_tsc of the open one.
 */
#ifndef SN_WIRE_SYNC_H
#define SN_WIRE_SYNC_H

#include "wire/trace.h"

enum sn_sync_type {
	SN_SYNC_NONE, /* was taken back */
	SN_SYNC_TIME,
	SN_SYNC_COUNT,
	SN_SYNC_WAIT,
	SN_SYNC_RELEASE,
	SN_SYNC_ORDER,
	SN_SYNC_TYPES,
};

/** Stored: none may be renumbered. */
enum sn_sync_kind {
	SN_SYNC_MUTEX,
	SN_SYNC_RWLOCK_READ,
	SN_SYNC_RWLOCK_WRITE,
	SN_SYNC_SPIN,
	SN_SYNC_SEMAPHORE,
	SN_SYNC_CONDITION,
	SN_SYNC_BARRIER,
	SN_SYNC_JOIN,
	SN_SYNC_ONCE,
	SN_SYNC_FUTEX,
	SN_SYNC_KINDS,
};

enum sn_sync_flags {
	SN_SYNC_ACQUIRED = 1, /* a WAIT that ended with what it waited for */
	SN_SYNC_LEFT = 2,     /* a WAIT that never returned: cancelled, or left by longjmp */
	SN_SYNC_BRIEF = 4,    /* a WAIT below the threshold, which counts as none: a join */
};

#define SN_SYNC_OPEN UINT64_MAX

struct sn_sync_entry {
	_Atomic uint8_t type; /* enum sn_sync_type */
	uint8_t kind;	      /* enum sn_sync_kind */
	uint8_t flags;	      /* enum sn_sync_flags */
	uint8_t unused;
	uint32_t path;	 /* call path, as everywhere in traces; 0: none. COUNT: the first one */
	uint64_t object; /* its address */
	uint64_t
		pc; /* COUNT, ORDER, WAIT: where the call returns to; RELEASE: the one that took it; 0: unknown */
	uint64_t count;	    /* COUNT, ORDER */
	uint64_t begin_tsc; /* TIME, WAIT, RELEASE; ORDER: of the first */
	uint64_t ticks;	    /* WAIT: how long; ORDER: from the first to the last; TIME: ns */
	uint64_t held;	    /* ORDER; WAIT for a condition: its mutex; 0: not known */
	uint32_t holder;    /* WAIT: tid of who held it when the wait began; 0: unknown */
	uint32_t gate;	    /* ORDER: a hash of what else was held, outermost; 0: nothing */
};

enum { SN_SYNC_ENTRY_BYTES = 64 };
_Static_assert(sizeof(struct sn_sync_entry) == SN_SYNC_ENTRY_BYTES,
	       "an entry is a line of the cache");

#endif
