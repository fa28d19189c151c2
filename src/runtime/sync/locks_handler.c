/*
 * Locks, each call told. One that is free is taken by libc's trylock, which is as fast as its lock: so
 * what had to wait is known for certain. One that is busy is written before the wait begins, so that a
 * process that never comes back shows where each thread stands.
 */
#include "runtime/sync/sync.h"

#include <errno.h>

#include "runtime/calls/locks.h"
#include "runtime/calls/real.h"

#define FRAME()	   ((const uint64_t *)__builtin_frame_address(0))
#define NAME(name) __asm__(name)
#define REAL_SYNC(name)                                                                            \
	(__builtin_expect(!sn_sync_real.name, 0) ? sn_sync_resolve() : (void)0, sn_sync_real.name)

static inline bool is_taken(int result)
{
	return result == 0 || result == EOWNERDEAD;
}

static inline uint32_t owner_of(const pthread_mutex_t *mutex)
{
	return (uint32_t)__atomic_load_n(&mutex->__data.__owner, __ATOMIC_RELAXED);
}

static inline uint32_t writer_of(const pthread_rwlock_t *lock)
{
	return (uint32_t)__atomic_load_n(&lock->__data.__cur_writer, __ATOMIC_RELAXED);
}

/* Waits by `call`, with an entry from before it. Gives what it gives. */
#define WAIT(kind, object, holder, call)                                                           \
	struct sn_sync_wait wait;                                                                  \
	sn_sync_begin(&wait, frame, kind, object, holder, 0);                                      \
	int result = call;                                                                         \
	sn_sync_end(&wait, is_taken(result));                                                      \
	return result

static __attribute__((noinline)) int wait_for_mutex(const uint64_t *frame, pthread_mutex_t *mutex)
{
	WAIT(SN_SYNC_MUTEX, mutex, owner_of(mutex), sn_locks_wait_mutex(mutex));
}

static __attribute__((noinline)) int wait_to_read(const uint64_t *frame, pthread_rwlock_t *lock)
{
	WAIT(SN_SYNC_RWLOCK_READ, lock, writer_of(lock), sn_locks_wait_read(lock));
}

static __attribute__((noinline)) int wait_to_write(const uint64_t *frame, pthread_rwlock_t *lock)
{
	WAIT(SN_SYNC_RWLOCK_WRITE, lock, writer_of(lock), sn_locks_wait_write(lock));
}

static __attribute__((noinline)) int wait_to_spin(const uint64_t *frame, pthread_spinlock_t *lock)
{
	WAIT(SN_SYNC_SPIN, lock, 0, REAL_SYNC(spin_lock)(lock));
}

/* A failed wait has its errno. */
static __attribute__((noinline)) int wait_for_semaphore(const uint64_t *frame, sem_t *semaphore)
{
	struct sn_sync_wait wait;

	sn_sync_begin(&wait, frame, SN_SYNC_SEMAPHORE, semaphore, 0, 0);
	int result = sn_locks_wait_semaphore(semaphore), error = errno;
	sn_sync_end(&wait, result == 0);
	errno = error;
	return result;
}

/* ---- what calls/ has wrappers for ---- */

static int lock_mutex(pthread_mutex_t *mutex)
{
	const uint64_t *frame = FRAME();

	if (sn_trace_is_off(SN_TRACE_SYNC))
		return sn_locks_lock_mutex(mutex);
	if (!sn_sync_is_on())
		return REAL_CALL(pthread_mutex_lock)(mutex);
	int tried = REAL_CALL(pthread_mutex_trylock)(mutex);
	if (__builtin_expect(tried == EBUSY, 0))
		return wait_for_mutex(frame, mutex);
	if (is_taken(tried))
		sn_sync_took(frame, SN_SYNC_MUTEX, mutex, false);
	return tried;
}

static int read_lock(pthread_rwlock_t *lock)
{
	const uint64_t *frame = FRAME();

	if (sn_trace_is_off(SN_TRACE_SYNC))
		return sn_locks_lock_read(lock);
	if (!sn_sync_is_on())
		return REAL_CALL(pthread_rwlock_rdlock)(lock);
	int tried = REAL_CALL(pthread_rwlock_tryrdlock)(lock);
	if (tried == EBUSY || tried == EAGAIN)
		return wait_to_read(frame, lock);
	if (!tried)
		sn_sync_took(frame, SN_SYNC_RWLOCK_READ, lock, false);
	return tried;
}

static int write_lock(pthread_rwlock_t *lock)
{
	const uint64_t *frame = FRAME();

	if (sn_trace_is_off(SN_TRACE_SYNC))
		return sn_locks_lock_write(lock);
	if (!sn_sync_is_on())
		return REAL_CALL(pthread_rwlock_wrlock)(lock);
	int tried = REAL_CALL(pthread_rwlock_trywrlock)(lock);
	if (tried == EBUSY)
		return wait_to_write(frame, lock);
	if (!tried)
		sn_sync_took(frame, SN_SYNC_RWLOCK_WRITE, lock, false);
	return tried;
}

static int semaphore_wait(sem_t *semaphore)
{
	const uint64_t *frame = FRAME();
	int error = errno;

	if (sn_trace_is_off(SN_TRACE_SYNC))
		return sn_locks_take_semaphore(semaphore);
	if (!sn_sync_is_on())
		return REAL_CALL(sem_wait)(semaphore);
	if (REAL_SYNC(sem_trywait)(semaphore) != 0) {
		errno = error;
		return wait_for_semaphore(frame, semaphore);
	}
	sn_sync_took(frame, SN_SYNC_SEMAPHORE, semaphore, false);
	return 0;
}

const struct sn_locks_traced sn_sync_locks = {
	.lock_mutex = lock_mutex,
	.read_lock = read_lock,
	.write_lock = write_lock,
	.wait_for_semaphore = semaphore_wait,
};

/* ---- what nobody else asks for ---- */

SN_EXPORT int pthread_mutex_trylock(pthread_mutex_t *mutex)
{
	const uint64_t *frame = FRAME();
	int result = REAL_CALL(pthread_mutex_trylock)(mutex);

	if (is_taken(result) && sn_sync_is_on())
		sn_sync_took(frame, SN_SYNC_MUTEX, mutex, true);
	return result;
}

SN_EXPORT int pthread_mutex_unlock(pthread_mutex_t *mutex)
{
	const uint64_t *frame = FRAME();

	if (sn_sync_is_on())
		sn_sync_leaves(frame, SN_SYNC_MUTEX, mutex);
	return REAL_SYNC(mutex_unlock)(mutex);
}

SN_EXPORT int pthread_rwlock_tryrdlock(pthread_rwlock_t *lock)
{
	const uint64_t *frame = FRAME();
	int result = REAL_CALL(pthread_rwlock_tryrdlock)(lock);

	if (!result && sn_sync_is_on())
		sn_sync_took(frame, SN_SYNC_RWLOCK_READ, lock, true);
	return result;
}

SN_EXPORT int pthread_rwlock_trywrlock(pthread_rwlock_t *lock)
{
	const uint64_t *frame = FRAME();
	int result = REAL_CALL(pthread_rwlock_trywrlock)(lock);

	if (!result && sn_sync_is_on())
		sn_sync_took(frame, SN_SYNC_RWLOCK_WRITE, lock, true);
	return result;
}

SN_EXPORT int pthread_rwlock_unlock(pthread_rwlock_t *lock)
{
	const uint64_t *frame = FRAME();

	if (sn_sync_is_on())
		sn_sync_leaves(frame, writer_of(lock) ? SN_SYNC_RWLOCK_WRITE : SN_SYNC_RWLOCK_READ,
			       lock);
	return REAL_SYNC(rwlock_unlock)(lock);
}

SN_EXPORT int pthread_spin_lock(pthread_spinlock_t *lock)
{
	const uint64_t *frame = FRAME();

	if (!sn_sync_is_on())
		return REAL_SYNC(spin_lock)(lock);
	if (REAL_SYNC(spin_trylock)(lock) != 0)
		return wait_to_spin(frame, lock);
	sn_sync_took(frame, SN_SYNC_SPIN, lock, false);
	return 0;
}

SN_EXPORT int pthread_spin_trylock(pthread_spinlock_t *lock)
{
	const uint64_t *frame = FRAME();
	int result = REAL_SYNC(spin_trylock)(lock);

	if (!result && sn_sync_is_on())
		sn_sync_took(frame, SN_SYNC_SPIN, lock, true);
	return result;
}

SN_EXPORT int pthread_spin_unlock(pthread_spinlock_t *lock)
{
	const uint64_t *frame = FRAME();

	if (sn_sync_is_on())
		sn_sync_leaves(frame, SN_SYNC_SPIN, lock);
	return REAL_SYNC(spin_unlock)(lock);
}

SN_EXPORT int sem_trywait(sem_t *semaphore)
{
	const uint64_t *frame = FRAME();
	int result = REAL_SYNC(sem_trywait)(semaphore), error = errno;

	if (!result && sn_sync_is_on())
		sn_sync_took(frame, SN_SYNC_SEMAPHORE, semaphore, true);
	errno = error;
	return result;
}

/* May be called by a signal's handler. */
SN_EXPORT int sem_post(sem_t *semaphore)
{
	const uint64_t *frame = FRAME();

	if (sn_sync_is_on())
		sn_sync_wakes(frame, SN_SYNC_SEMAPHORE, semaphore);
	return REAL_SYNC(sem_post)(semaphore);
}

SN_EXPORT int pthread_cond_signal(pthread_cond_t *condition)
{
	const uint64_t *frame = FRAME();

	if (sn_sync_is_on())
		sn_sync_wakes(frame, SN_SYNC_CONDITION, condition);
	return REAL_SYNC(cond_signal)(condition);
}

SN_EXPORT int pthread_cond_broadcast(pthread_cond_t *condition)
{
	const uint64_t *frame = FRAME();

	if (sn_sync_is_on())
		sn_sync_wakes(frame, SN_SYNC_CONDITION, condition);
	return REAL_SYNC(cond_broadcast)(condition);
}

SN_EXPORT int pthread_tryjoin_np(pthread_t thread, void **value)
{
	const uint64_t *frame = FRAME();
	uint32_t tid = sn_sync_is_on() ? sn_sync_tid_of((uint64_t)thread) : 0;
	int result = REAL_SYNC(tryjoin)(thread, value);

	if (!result && sn_sync_is_on()) {
		struct sn_sync_wait wait;

		sn_sync_begin(&wait, frame, SN_SYNC_JOIN, (void *)thread, tid, 0);
		sn_sync_end(&wait, true);
	}
	return result;
}

/* Words of a pthread_once_t in glibc: 0 before, 2 when it is done, in between it is at work. The one
 * that does it waits for nobody. */
static int once(const uint64_t *frame, pthread_once_t *control, void (*routine)(void))
{
	int word = __atomic_load_n((int *)control, __ATOMIC_ACQUIRE);

	if (!sn_sync_is_on())
		return REAL_SYNC(once)(control, routine);
	if (word == 0 || word & 2) {
		sn_sync_took(frame, SN_SYNC_ONCE, control, true);
		int result = REAL_SYNC(once)(control, routine);
		if (word == 0)
			sn_sync_wakes(frame, SN_SYNC_ONCE, control);
		return result;
	}
	WAIT(SN_SYNC_ONCE, control, 0, REAL_SYNC(once)(control, routine));
}

int plain_pthread_once(pthread_once_t *control, void (*routine)(void)) NAME("pthread_once");

SN_EXPORT int plain_pthread_once(pthread_once_t *control, void (*routine)(void))
{
	return once(FRAME(), control, routine);
}

/* ---- C11: in glibc these are the same objects and words ---- */

SN_EXPORT void call_once(once_flag *flag, void (*routine)(void))
{
	once(FRAME(), (pthread_once_t *)(void *)flag, routine);
}

static int thrd_result(int result)
{
	return result == 0	     ? thrd_success
	       : result == EBUSY     ? thrd_busy
	       : result == ENOMEM    ? thrd_nomem
	       : result == ETIMEDOUT ? thrd_timedout
				     : thrd_error;
}

SN_EXPORT int mtx_lock(mtx_t *mutex)
{
	const uint64_t *frame = FRAME();
	pthread_mutex_t *same = (void *)mutex;

	if (!sn_sync_is_on())
		return thrd_result(REAL_CALL(pthread_mutex_lock)(same));
	int tried = REAL_CALL(pthread_mutex_trylock)(same);
	if (tried == EBUSY)
		return thrd_result(wait_for_mutex(frame, same));
	if (is_taken(tried))
		sn_sync_took(frame, SN_SYNC_MUTEX, same, false);
	return thrd_result(tried);
}

SN_EXPORT int mtx_trylock(mtx_t *mutex)
{
	const uint64_t *frame = FRAME();
	int result = REAL_CALL(pthread_mutex_trylock)((void *)mutex);

	if (is_taken(result) && sn_sync_is_on())
		sn_sync_took(frame, SN_SYNC_MUTEX, mutex, true);
	return thrd_result(result);
}

SN_EXPORT int mtx_unlock(mtx_t *mutex)
{
	const uint64_t *frame = FRAME();

	if (sn_sync_is_on())
		sn_sync_leaves(frame, SN_SYNC_MUTEX, mutex);
	return thrd_result(REAL_SYNC(mutex_unlock)((void *)mutex));
}

SN_EXPORT int cnd_signal(cnd_t *condition)
{
	const uint64_t *frame = FRAME();

	if (sn_sync_is_on())
		sn_sync_wakes(frame, SN_SYNC_CONDITION, condition);
	return thrd_result(REAL_SYNC(cond_signal)((void *)condition));
}

SN_EXPORT int cnd_broadcast(cnd_t *condition)
{
	const uint64_t *frame = FRAME();

	if (sn_sync_is_on())
		sn_sync_wakes(frame, SN_SYNC_CONDITION, condition);
	return thrd_result(REAL_SYNC(cond_broadcast)((void *)condition));
}
