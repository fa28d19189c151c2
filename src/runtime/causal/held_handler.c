/* Which locks a thread holds, where the code that runs under a lock is tried. */
#include "runtime/calls/locks.h"
#include "runtime/causal/causal.h"
#include "runtime/causal/wakes.h"

#include <errno.h>

static bool is_watching;

/* A handler that samples in between sees the address, or does not count it yet. */
static int take(const void *lock, int result)
{
	struct sn_thread *self = sn_self;

	if (self && (!result || result == EOWNERDEAD)) {
		struct sn_causal *causal = sn_causal_of(self);

		if (causal->held_count < SN_CAUSAL_HELD_MOST)
			causal->held[causal->held_count] = (uint64_t)(uintptr_t)lock;
		atomic_signal_fence(memory_order_release);
		causal->held_count++;
	}
	return result;
}

void sn_causal_release(const void *lock)
{
	struct sn_thread *self = sn_self;

	if (!is_watching || !self)
		return;
	struct sn_causal *causal = sn_causal_of(self);
	uint32_t known =
		causal->held_count < SN_CAUSAL_HELD_MOST ? causal->held_count : SN_CAUSAL_HELD_MOST;
	uint32_t at = known;

	while (at > 0 && causal->held[at - 1] != (uint64_t)(uintptr_t)lock)
		at--;
	if (!at && causal->held_count <= SN_CAUSAL_HELD_MOST)
		return; /* taken before it was watched, or by another thread */
	causal->held_count--;
	atomic_signal_fence(memory_order_release);
	for (; at > 0 && at < known; at++)
		causal->held[at - 1] = causal->held[at];
}

static int lock_mutex(pthread_mutex_t *mutex)
{
	return take(mutex, sn_locks_lock_mutex(mutex));
}

static int lock_read(pthread_rwlock_t *lock)
{
	return take(lock, sn_locks_lock_read(lock));
}

static int lock_write(pthread_rwlock_t *lock)
{
	return take(lock, sn_locks_lock_write(lock));
}

static const struct sn_locks_traced held = {
	.lock_mutex = lock_mutex,
	.read_lock = lock_read,
	.write_lock = lock_write,
	.wait_for_semaphore = sn_locks_take_semaphore,
};

void sn_causal_watch_locks(void)
{
	for (uint32_t t = 0; t < sn_causal_control->target_count; t++)
		is_watching |= (sn_causal_control->targets[t].flags & SN_CAUSAL_HELD) != 0;
	if (is_watching)
		sn_locks_trace(&held);
}

#define TRY(type, name, parameters, arguments)                                                     \
	SN_EXPORT type name parameters                                                             \
	{                                                                                          \
		if (__builtin_expect(!sn_causal_real.name, 0))                                     \
			sn_causal_find_real();                                                     \
		type result = sn_causal_real.name arguments;                                       \
		return is_watching ? take(lock, result) : result;                                  \
	}
SN_CAUSAL_TRIES(TRY)
