/**
 * The locks of an experiment, from its traces (wire/sync.h): who took what how often, who waited for it
 * and whom for, and what can or did deadlock. docs/method/locks.md has the definitions.
 */
#ifndef SN_LOCKS_LOCKS_H
#define SN_LOCKS_LOCKS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/span.h"
#include "base/vec.h"
#include "profile/program.h"
#include "profile/site.h"
#include "wire/sync.h"

/** An object that threads wait for. Global ones of one name are one object in all processes. */
struct sn_lock_object {
	const char *name; /* of the variable, or its address */
	uint64_t address; /* in the first process that used it */
};

/** One object as one line of the program uses it. */
struct sn_lock_use {
	uint32_t object;
	uint8_t kind; /* enum sn_sync_kind */
	struct sn_site site;
	uint64_t acquisitions; /* exact but for what `lost` says */
	uint64_t contended;    /* calls that waited, with or without success */
	uint64_t wait_ns;
};

/** What a line of the program waited while another held the object. */
struct sn_lock_blame {
	uint32_t object;
	struct sn_site holder; /* who released it; SN_NONE: unknown */
	struct sn_site waiter;
	uint64_t waits, wait_ns;
	size_t latest; /* of the reader: number of the wait that was counted last, + 1 */
};

/** What one thread has to do with one object. */
struct sn_lock_part {
	uint32_t process;
	int32_t tid; /* 0: threads that were not measured */
	uint32_t object;
	uint8_t kind; /* enum sn_sync_kind */
	uint64_t acquisitions, contended, wait_ns;
	uint64_t
		held_up_ns; /* that others waited while it held the object: its part of their waits */
};

/** A wait, and who ended it. */
struct sn_lock_wait {
	int64_t t0_ns, t1_ns; /* of the experiment */
	/* since when the thread has waited for it: where its time ran out before, and it waited again for
	 * nothing else meanwhile, the first begin; else t0_ns */
	int64_t asked_ns;
	/* when what it waited for was there: the object released, signaled, posted; the last one come, the
	 * thread ended; the time from then on is what it took to run again. t1_ns: not known */
	int64_t released_ns;
	uint32_t thread; /* of the experiment; SN_NONE: none that was measured */
	uint32_t by;	 /* the thread that did so; SN_NONE: not known */
	uint32_t holder; /* the thread that held it as the wait began; SN_NONE: not known */
	uint32_t object;
	struct sn_site site, by_site;
	uint32_t stack;	  /* of the program, of the call that waits; SN_NONE: not known */
	uint32_t meeting; /* of a barrier: a number that those have who met, + 1; 0: not known */
	uint8_t kind;	  /* enum sn_sync_kind */
	bool is_open;	  /* it never ended */
	bool has_failed;  /* its time ran out, or it was left */
};

/** One thread's part in a circle of threads that wait for each other, or may do so. */
struct sn_lock_cycle_part {
	uint32_t cycle; /* from 1 */
	uint32_t object;
	uint32_t process;
	int32_t tid;
	struct sn_site site; /* where it takes the object while it holds the one before */
	bool is_hung;	     /* the circle was closed when the process ended */
};

struct sn_locks {
	struct sn_arena arena;
	bool is_traced; /* else all is empty: nobody asked for it */
	SN_VEC(struct sn_lock_object) objects;
	SN_VEC(struct sn_lock_use) uses;
	SN_VEC(struct sn_lock_blame) blames;
	SN_VEC(struct sn_lock_part)
	parts; /* sums are those of `uses`, and of `blames` with a holder */
	SN_VEC(struct sn_lock_cycle_part) cycles; /* part by part, hung ones first */
	SN_VEC(struct sn_lock_wait) waits;	  /* by thread, then begin */
	uint64_t acquisitions, contended, wait_ns;
	uint64_t lost;	     /* entries that were counted and not kept */
	int64_t overhead_ns; /* what tracing took in the target */
	uint64_t damaged;    /* pieces or entries that make no sense */
};

/** Reads the traces. Damage is counted, no error; SN_ERR_IO: a file cannot be read. The caller frees. */
sn_status sn_locks_read(const struct sn_program *program, struct sn_locks **out,
			struct sn_error *err);
/** The same, and of waits only those that lie in windows of an agent's (wire/monitor.h), some perhaps in part. Counts of
 *  acquisitions and `overhead_ns` stay those of all. */
sn_status sn_locks_read_within(const struct sn_program *program, const struct sn_spans *windows,
			       struct sn_locks **out, struct sn_error *err);
void sn_locks_free(struct sn_locks *locks);

/** "mutex", "rwlock_read" ... */
const char *sn_lock_kind_name(enum sn_sync_kind kind);

#endif
