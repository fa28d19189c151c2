/*
 * Locks. While there is one thread they are libc's: our functions are one jump, which does not even
 * look at the lock. That would wait for the store of the unlock before, and cost more than it is.
 *
 * With more threads a lock that looks free is left to libc, too, so that it costs next to nothing.
 * Should another thread take it in between, the wait is not seen; it takes two within the same few
 * ns. A lock that is held is tried first: what the thread holds itself already, or is free by now,
 * needs no look at the clock.
 */
#include "runtime/calls/locks.h"

#include <errno.h>

#include "runtime/calls/real.h"

/* The word is 0 in a free mutex of every kind. */
static inline bool is_free(const pthread_mutex_t *mutex)
{
	return __atomic_load_n(&mutex->__data.__lock, __ATOMIC_RELAXED) == 0;
}

/* Neither held by a writer nor wanted by one. */
static inline bool has_no_writer(const pthread_rwlock_t *lock)
{
	return !(__atomic_load_n(&lock->__data.__writers, __ATOMIC_RELAXED) |
		 (unsigned)__atomic_load_n(&lock->__data.__cur_writer, __ATOMIC_RELAXED));
}

/* Below the number of readers lie three bits that a free lock may have set. */
static inline bool has_no_reader(const pthread_rwlock_t *lock)
{
	return __atomic_load_n(&lock->__data.__readers, __ATOMIC_RELAXED) < 8;
}

#define TIMED_LOCK(name, ...)                                                                      \
	struct sn_call call;                                                                       \
	SN_CALL_BEGIN(call, SN_WAIT_LOCK, name, __VA_ARGS__);                                      \
	int result = REAL_CALL(name)(__VA_ARGS__);                                                 \
	sn_call_end(&call, result);                                                                \
	return result

__attribute__((noinline)) int sn_locks_wait_mutex(pthread_mutex_t *mutex)
{
	TIMED_LOCK(pthread_mutex_lock, mutex);
}

__attribute__((noinline)) int sn_locks_wait_read(pthread_rwlock_t *lock)
{
	TIMED_LOCK(pthread_rwlock_rdlock, lock);
}

__attribute__((noinline)) int sn_locks_wait_write(pthread_rwlock_t *lock)
{
	TIMED_LOCK(pthread_rwlock_wrlock, lock);
}

static __attribute__((noinline)) int lock_held_mutex(pthread_mutex_t *mutex)
{
	if (sn_is_active()) {
		int tried = REAL_CALL(pthread_mutex_trylock)(mutex);
		if (tried != EBUSY)
			return tried;
	}
	return sn_locks_wait_mutex(mutex);
}

static __attribute__((noinline)) int read_held_lock(pthread_rwlock_t *lock)
{
	if (sn_is_active()) {
		int tried = REAL_CALL(pthread_rwlock_tryrdlock)(lock);
		if (tried != EBUSY && tried != EAGAIN)
			return tried;
	}
	return sn_locks_wait_read(lock);
}

static __attribute__((noinline)) int write_held_lock(pthread_rwlock_t *lock)
{
	if (sn_is_active()) {
		int tried = REAL_CALL(pthread_rwlock_trywrlock)(lock);
		if (tried != EBUSY)
			return tried;
	}
	return sn_locks_wait_write(lock);
}

int sn_locks_lock_mutex(pthread_mutex_t *mutex)
{
	return is_free(mutex) && sn_calls_real.real_pthread_mutex_lock
		       ? sn_calls_real.real_pthread_mutex_lock(mutex)
		       : lock_held_mutex(mutex);
}

int sn_locks_lock_read(pthread_rwlock_t *lock)
{
	return has_no_writer(lock) && sn_calls_real.real_pthread_rwlock_rdlock
		       ? sn_calls_real.real_pthread_rwlock_rdlock(lock)
		       : read_held_lock(lock);
}

int sn_locks_lock_write(pthread_rwlock_t *lock)
{
	return has_no_writer(lock) && has_no_reader(lock) &&
			       sn_calls_real.real_pthread_rwlock_wrlock
		       ? sn_calls_real.real_pthread_rwlock_wrlock(lock)
		       : write_held_lock(lock);
}

static int (*lock_mutex)(pthread_mutex_t *) = sn_locks_lock_mutex;
static int (*read_lock)(pthread_rwlock_t *) = sn_locks_lock_read;
static int (*write_lock)(pthread_rwlock_t *) = sn_locks_lock_write;

SN_EXPORT int pthread_mutex_lock(pthread_mutex_t *mutex)
{
	return __atomic_load_n(&lock_mutex, __ATOMIC_RELAXED)(mutex);
}

SN_EXPORT int pthread_rwlock_rdlock(pthread_rwlock_t *lock)
{
	return __atomic_load_n(&read_lock, __ATOMIC_RELAXED)(lock);
}

SN_EXPORT int pthread_rwlock_wrlock(pthread_rwlock_t *lock)
{
	return __atomic_load_n(&write_lock, __ATOMIC_RELAXED)(lock);
}

/* Who traces every lock; NULL: nobody. */
static const struct sn_locks_traced *traced;

void sn_locks_trace(const struct sn_locks_traced *functions)
{
	traced = functions;
	__atomic_store_n(&lock_mutex, traced->lock_mutex, __ATOMIC_RELAXED);
	__atomic_store_n(&read_lock, traced->read_lock, __ATOMIC_RELAXED);
	__atomic_store_n(&write_lock, traced->write_lock, __ATOMIC_RELAXED);
}

void sn_locks_leave(void)
{
	lock_mutex = sn_calls_real.real_pthread_mutex_lock;
	read_lock = sn_calls_real.real_pthread_rwlock_rdlock;
	write_lock = sn_calls_real.real_pthread_rwlock_wrlock;
}

void sn_locks_watch(void)
{
	if (traced || __atomic_load_n(&lock_mutex, __ATOMIC_RELAXED) == sn_locks_lock_mutex)
		return;
	__atomic_store_n(&lock_mutex, sn_locks_lock_mutex, __ATOMIC_RELAXED);
	__atomic_store_n(&read_lock, sn_locks_lock_read, __ATOMIC_RELAXED);
	__atomic_store_n(&write_lock, sn_locks_lock_write, __ATOMIC_RELAXED);
}

__attribute__((noinline)) int sn_locks_wait_semaphore(sem_t *semaphore)
{
	struct sn_call call;
	SN_CALL_BEGIN(call, SN_WAIT_CONDITION, sem_wait, semaphore);
	int result = REAL_CALL(sem_wait)(semaphore);

	sn_call_end(&call, result);
	return result;
}

/* Its value is the first word. */
int sn_locks_take_semaphore(sem_t *semaphore)
{
	bool is_above_zero = __atomic_load_n((unsigned *)(void *)semaphore, __ATOMIC_RELAXED) != 0;

	return is_above_zero && sn_calls_real.real_sem_wait ? sn_calls_real.real_sem_wait(semaphore)
							    : sn_locks_wait_semaphore(semaphore);
}

SN_EXPORT int sem_wait(sem_t *semaphore)
{
	return __builtin_expect(traced != NULL, 0) ? traced->wait_for_semaphore(semaphore)
						   : sn_locks_take_semaphore(semaphore);
}

bool sn_locks_hold(uint64_t pc)
{
	const uint64_t functions[] = {
		(uint64_t)(uintptr_t)pthread_mutex_lock,
		(uint64_t)(uintptr_t)sn_locks_lock_mutex,
		(uint64_t)(uintptr_t)pthread_rwlock_rdlock,
		(uint64_t)(uintptr_t)sn_locks_lock_read,
		(uint64_t)(uintptr_t)pthread_rwlock_wrlock,
		(uint64_t)(uintptr_t)sn_locks_lock_write,
		(uint64_t)(uintptr_t)sem_wait,
		(uint64_t)(uintptr_t)syscall,
	};
	enum { LONGEST = 64 }; /* a test or two, and a jump */

	for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
		if (pc - functions[i] < LONGEST)
			return true;
	return false;
}

/* What is shared with other processes can block a process of one thread. */
SN_EXPORT int pthread_mutexattr_setpshared(pthread_mutexattr_t *attr, int shared)
{
	if (shared == PTHREAD_PROCESS_SHARED)
		sn_locks_watch();
	return REAL_CALL(pthread_mutexattr_setpshared)(attr, shared);
}

SN_EXPORT int pthread_rwlockattr_setpshared(pthread_rwlockattr_t *attr, int shared)
{
	if (shared == PTHREAD_PROCESS_SHARED)
		sn_locks_watch();
	return REAL_CALL(pthread_rwlockattr_setpshared)(attr, shared);
}

SN_EXPORT int pthread_mutex_timedlock(pthread_mutex_t *mutex, const struct timespec *until)
{
	if (is_free(mutex) && !traced)
		return REAL_CALL(pthread_mutex_timedlock)(mutex, until);
	TIMED_LOCK(pthread_mutex_timedlock, mutex, until);
}

/* Our wrappers of locks try first: the program's call was another, at whose entry the leaf is put. */
static uint64_t leaf_as_called(uint64_t pc)
{
	const uint64_t calls[][2] = {
		{ (uint64_t)(uintptr_t)sn_calls_real.real_pthread_mutex_trylock,
		  (uint64_t)(uintptr_t)sn_calls_real.real_pthread_mutex_lock },
		{ (uint64_t)(uintptr_t)sn_calls_real.real_pthread_rwlock_tryrdlock,
		  (uint64_t)(uintptr_t)sn_calls_real.real_pthread_rwlock_rdlock },
		{ (uint64_t)(uintptr_t)sn_calls_real.real_pthread_rwlock_trywrlock,
		  (uint64_t)(uintptr_t)sn_calls_real.real_pthread_rwlock_wrlock },
	};
	uint64_t nearest = 2048, as_called = pc; /* longer than any of the three */

	for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
		for (size_t is_call = 0; is_call < 2; is_call++)
			if (pc - calls[i][is_call] < nearest) {
				nearest = pc - calls[i][is_call];
				as_called = is_call ? pc : calls[i][1];
			}
	return as_called;
}

void sn_locks_trim(struct sn_thread *self, struct sn_frames *frames)
{
	uint64_t *pcs = frames->pcs;

	(void)self;
	if (frames->count > 1 && !sn_is_own_code(pcs[0]) && sn_is_own_code(pcs[1]))
		pcs[0] = leaf_as_called(pcs[0]);
}
