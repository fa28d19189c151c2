#include "runtime/sync/waits.h"

#include <errno.h>

#include "runtime/core/real.h"

/*
 * Calls that may block, timed. A short one costs two readings of the time-stamp counter; a long one
 * is recorded with its stack. libc's own calls (stdio, the resolver) do not pass here.
 */

/* Result, name, parameters, arguments. */
#define WAITING(kind, type, name, parameters, arguments)                                           \
	SN_EXPORT type name parameters                                                             \
	{                                                                                          \
		uint64_t begin = sn_wait_begin(SN_WAIT_##kind, (void *)sn_real.real_##name);       \
		type result = REAL(name) arguments;                                                \
		sn_wait_end(begin, SN_WAIT_##kind, (void *)sn_real.real_##name);                   \
		return result;                                                                     \
	}

/* clang-format off */
WAITING(IO, ssize_t, read, (int fd, void *bytes, size_t count), (fd, bytes, count))
WAITING(IO, ssize_t, write, (int fd, const void *bytes, size_t count), (fd, bytes, count))
WAITING(IO, ssize_t, readv, (int fd, const struct iovec *parts, int count), (fd, parts, count))
WAITING(IO, ssize_t, writev, (int fd, const struct iovec *parts, int count), (fd, parts, count))
WAITING(IO, ssize_t, pread64, (int fd, void *bytes, size_t count, off64_t offset), (fd, bytes, count, offset))
WAITING(IO, ssize_t, pwrite64, (int fd, const void *bytes, size_t count, off64_t offset), (fd, bytes, count, offset))
WAITING(IO, ssize_t, recv, (int fd, void *bytes, size_t count, int flags), (fd, bytes, count, flags))
WAITING(IO, ssize_t, recvfrom, (int fd, void *bytes, size_t count, int flags, __SOCKADDR_ARG from, socklen_t *from_bytes), (fd, bytes, count, flags, from, from_bytes))
WAITING(IO, ssize_t, recvmsg, (int fd, struct msghdr *message, int flags), (fd, message, flags))
WAITING(IO, ssize_t, send, (int fd, const void *bytes, size_t count, int flags), (fd, bytes, count, flags))
WAITING(IO, ssize_t, sendto, (int fd, const void *bytes, size_t count, int flags, __CONST_SOCKADDR_ARG to, socklen_t to_bytes), (fd, bytes, count, flags, to, to_bytes))
WAITING(IO, ssize_t, sendmsg, (int fd, const struct msghdr *message, int flags), (fd, message, flags))
WAITING(IO, int, accept, (int fd, __SOCKADDR_ARG peer, socklen_t *peer_bytes), (fd, peer, peer_bytes))
WAITING(IO, int, accept4, (int fd, __SOCKADDR_ARG peer, socklen_t *peer_bytes, int flags), (fd, peer, peer_bytes, flags))
WAITING(IO, int, connect, (int fd, __CONST_SOCKADDR_ARG peer, socklen_t peer_bytes), (fd, peer, peer_bytes))
WAITING(IO, int, fsync, (int fd), (fd))
WAITING(IO, int, fdatasync, (int fd), (fd))
WAITING(IO, int, flock, (int fd, int operation), (fd, operation))
WAITING(IO, ssize_t, __read_chk, (int fd, void *bytes, size_t count, size_t room), (fd, bytes, count, room))
WAITING(IO, ssize_t, __pread64_chk, (int fd, void *bytes, size_t count, off64_t offset, size_t room), (fd, bytes, count, offset, room))
WAITING(IO, ssize_t, __recv_chk, (int fd, void *bytes, size_t count, size_t room, int flags), (fd, bytes, count, room, flags))
WAITING(IO, ssize_t, __recvfrom_chk, (int fd, void *bytes, size_t count, size_t room, int flags, __SOCKADDR_ARG from, socklen_t *from_bytes), (fd, bytes, count, room, flags, from, from_bytes))
WAITING(CHILD, pid_t, wait, (int *status), (status))
WAITING(CHILD, pid_t, waitpid, (pid_t child, int *status, int options), (child, status, options))
WAITING(CHILD, pid_t, wait3, (int *status, int options, struct rusage *usage), (status, options, usage))
WAITING(CHILD, pid_t, wait4, (pid_t child, int *status, int options, struct rusage *usage), (child, status, options, usage))
WAITING(CHILD, int, waitid, (idtype_t kind, id_t id, siginfo_t *info, int options), (kind, id, info, options))
WAITING(CONDITION, int, pthread_cond_wait, (pthread_cond_t *condition, pthread_mutex_t *mutex), (condition, mutex))
WAITING(CONDITION, int, pthread_cond_timedwait, (pthread_cond_t *condition, pthread_mutex_t *mutex, const struct timespec *until), (condition, mutex, until))
WAITING(CONDITION, int, pthread_cond_clockwait, (pthread_cond_t *condition, pthread_mutex_t *mutex, clockid_t clock, const struct timespec *until), (condition, mutex, clock, until))
WAITING(CONDITION, int, pthread_join, (pthread_t thread, void **value), (thread, value))
WAITING(CONDITION, int, pthread_timedjoin_np, (pthread_t thread, void **value, const struct timespec *until), (thread, value, until))
WAITING(CONDITION, int, pthread_barrier_wait, (pthread_barrier_t *barrier), (barrier))
WAITING(CONDITION, int, cnd_wait, (cnd_t *condition, mtx_t *mutex), (condition, mutex))
WAITING(CONDITION, int, cnd_timedwait, (cnd_t *restrict condition, mtx_t *restrict mutex, const struct timespec *restrict until), (condition, mutex, until))
WAITING(CONDITION, int, thrd_join, (thrd_t thread, int *value), (thread, value))
/* clang-format on */

/* With 64-bit offsets the headers call pread64 what the program may know as pread. */
ssize_t plain_pread(int fd, void *bytes, size_t count, off64_t offset) __asm__("pread");
ssize_t plain_pwrite(int fd, const void *bytes, size_t count, off64_t offset) __asm__("pwrite");

SN_EXPORT ssize_t plain_pread(int fd, void *bytes, size_t count, off64_t offset)
{
	return pread64(fd, bytes, count, offset);
}

SN_EXPORT ssize_t plain_pwrite(int fd, const void *bytes, size_t count, off64_t offset)
{
	return pwrite64(fd, bytes, count, offset);
}

/*
 * Locks. While there is one thread they are libc's: our functions are one jump, which does not even
 * look at the lock. That would wait for the store of the unlock before, and cost more than it is.
 *
 * With more threads a lock that looks free is left to libc, too, so that it costs next to nothing.
 * Should another thread take it in between, the wait is not seen; it takes two within the same few
 * ns. A lock that is held is tried first: what the thread holds itself already, or is free by now,
 * needs no look at the clock.
 */

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

#define TIMED_LOCK(name, arguments)                                                                \
	uint64_t begin = sn_wait_begin(SN_WAIT_LOCK, (void *)sn_real.real_##name);                 \
	int result = REAL(name) arguments;                                                         \
	sn_wait_end(begin, SN_WAIT_LOCK, (void *)sn_real.real_##name);                             \
	return result

static __attribute__((noinline)) int lock_held_mutex(pthread_mutex_t *mutex)
{
	if (sn_is_active()) {
		int tried = REAL(pthread_mutex_trylock)(mutex);
		if (tried != EBUSY)
			return tried;
	}
	TIMED_LOCK(pthread_mutex_lock, (mutex));
}

static __attribute__((noinline)) int read_held_lock(pthread_rwlock_t *lock)
{
	if (sn_is_active()) {
		int tried = REAL(pthread_rwlock_tryrdlock)(lock);
		if (tried != EBUSY && tried != EAGAIN)
			return tried;
	}
	TIMED_LOCK(pthread_rwlock_rdlock, (lock));
}

static __attribute__((noinline)) int write_held_lock(pthread_rwlock_t *lock)
{
	if (sn_is_active()) {
		int tried = REAL(pthread_rwlock_trywrlock)(lock);
		if (tried != EBUSY)
			return tried;
	}
	TIMED_LOCK(pthread_rwlock_wrlock, (lock));
}

static int lock_watched(pthread_mutex_t *mutex)
{
	return is_free(mutex) && sn_real.real_pthread_mutex_lock
		       ? sn_real.real_pthread_mutex_lock(mutex)
		       : lock_held_mutex(mutex);
}

static int read_lock_watched(pthread_rwlock_t *lock)
{
	return has_no_writer(lock) && sn_real.real_pthread_rwlock_rdlock
		       ? sn_real.real_pthread_rwlock_rdlock(lock)
		       : read_held_lock(lock);
}

static int write_lock_watched(pthread_rwlock_t *lock)
{
	return has_no_writer(lock) && has_no_reader(lock) && sn_real.real_pthread_rwlock_wrlock
		       ? sn_real.real_pthread_rwlock_wrlock(lock)
		       : write_held_lock(lock);
}

static int (*lock_mutex)(pthread_mutex_t *) = lock_watched;
static int (*read_lock)(pthread_rwlock_t *) = read_lock_watched;
static int (*write_lock)(pthread_rwlock_t *) = write_lock_watched;

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

void sn_locks_leave(void)
{
	lock_mutex = sn_real.real_pthread_mutex_lock;
	read_lock = sn_real.real_pthread_rwlock_rdlock;
	write_lock = sn_real.real_pthread_rwlock_wrlock;
}

void sn_locks_watch(void)
{
	if (__atomic_load_n(&lock_mutex, __ATOMIC_RELAXED) == lock_watched)
		return;
	__atomic_store_n(&lock_mutex, lock_watched, __ATOMIC_RELAXED);
	__atomic_store_n(&read_lock, read_lock_watched, __ATOMIC_RELAXED);
	__atomic_store_n(&write_lock, write_lock_watched, __ATOMIC_RELAXED);
}

static __attribute__((noinline)) int wait_for_semaphore(sem_t *semaphore)
{
	uint64_t begin = sn_wait_begin(SN_WAIT_CONDITION, (void *)sn_real.real_sem_wait);
	int result = REAL(sem_wait)(semaphore);
	sn_wait_end(begin, SN_WAIT_CONDITION, (void *)sn_real.real_sem_wait);
	return result;
}

/* Its value is the first word. */
SN_EXPORT int sem_wait(sem_t *semaphore)
{
	bool is_above_zero = __atomic_load_n((unsigned *)(void *)semaphore, __ATOMIC_RELAXED) != 0;

	return is_above_zero && sn_real.real_sem_wait ? sn_real.real_sem_wait(semaphore)
						      : wait_for_semaphore(semaphore);
}

bool sn_locks_hold(uint64_t pc)
{
	const uint64_t functions[] = {
		(uint64_t)(uintptr_t)pthread_mutex_lock,
		(uint64_t)(uintptr_t)lock_watched,
		(uint64_t)(uintptr_t)pthread_rwlock_rdlock,
		(uint64_t)(uintptr_t)read_lock_watched,
		(uint64_t)(uintptr_t)pthread_rwlock_wrlock,
		(uint64_t)(uintptr_t)write_lock_watched,
		(uint64_t)(uintptr_t)sem_wait,
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
	return REAL(pthread_mutexattr_setpshared)(attr, shared);
}

SN_EXPORT int pthread_rwlockattr_setpshared(pthread_rwlockattr_t *attr, int shared)
{
	if (shared == PTHREAD_PROCESS_SHARED)
		sn_locks_watch();
	return REAL(pthread_rwlockattr_setpshared)(attr, shared);
}

SN_EXPORT int pthread_mutex_timedlock(pthread_mutex_t *mutex, const struct timespec *until)
{
	if (is_free(mutex))
		return REAL(pthread_mutex_timedlock)(mutex, until);
	TIMED_LOCK(pthread_mutex_timedlock, (mutex, until));
}

/* ---- calls that a signal ends with EINTR even if its handler says SA_RESTART: where the signal
 * was ours alone, the target must not see that, and the call goes on with the time that is left
 * ---- */

static bool is_interrupted_by_us(bool is_eintr)
{
	struct sn_thread *self = sn_self;

	if (!is_eintr || !self || !self->own_eintr)
		return false;
	self->own_eintr = 0;
	return true;
}

static void forget_interruptions(void)
{
	if (sn_self)
		sn_self->own_eintr = 0;
}

static struct timespec until_ns(int64_t end_ns)
{
	int64_t left_ns = end_ns - sn_now_ns();

	if (left_ns < 0)
		left_ns = 0;
	return (struct timespec){ left_ns / 1000000000, left_ns % 1000000000 };
}

static int64_t end_of(const struct timespec *time)
{
	/* far enough for ever, near enough not to overflow */
	int64_t seconds = time->tv_sec > 1000000000 ? 1000000000 : time->tv_sec;

	return sn_now_ns() + seconds * 1000000000 + time->tv_nsec;
}

#define AGAIN(result, first, again)                                                                \
	forget_interruptions();                                                                    \
	result = first;                                                                            \
	while (is_interrupted_by_us(result == -1 && errno == EINTR))                               \
	result = again

SN_EXPORT int poll(struct pollfd *fds, nfds_t count, int timeout_ms)
{
	uint64_t begin = sn_wait_begin(SN_WAIT_POLL, (void *)sn_real.real_poll);
	int64_t end_ns = begin && timeout_ms > 0 ? sn_now_ns() + timeout_ms * 1000000LL : 0;
	int result;

	AGAIN(result, REAL(poll)(fds, count, timeout_ms),
	      REAL(poll)(fds, count,
			 timeout_ms > 0 ? (int)((end_ns - sn_now_ns()) / 1000000) : timeout_ms));
	sn_wait_end(begin, SN_WAIT_POLL, (void *)sn_real.real_poll);
	return result;
}

SN_EXPORT int epoll_wait(int fd, struct epoll_event *events, int max, int timeout_ms)
{
	uint64_t begin = sn_wait_begin(SN_WAIT_POLL, (void *)sn_real.real_epoll_wait);
	int64_t end_ns = begin && timeout_ms > 0 ? sn_now_ns() + timeout_ms * 1000000LL : 0;
	int result;

	AGAIN(result, REAL(epoll_wait)(fd, events, max, timeout_ms),
	      REAL(epoll_wait)(fd, events, max,
			       timeout_ms > 0 ? (int)((end_ns - sn_now_ns()) / 1000000)
					      : timeout_ms));
	sn_wait_end(begin, SN_WAIT_POLL, (void *)sn_real.real_epoll_wait);
	return result;
}

/* Linux leaves the time that was left in `timeout`, so the call can simply be made again. */
SN_EXPORT int select(int count, fd_set *reads, fd_set *writes, fd_set *errors,
		     struct timeval *timeout)
{
	uint64_t begin = sn_wait_begin(SN_WAIT_POLL, (void *)sn_real.real_select);
	int result;

	AGAIN(result, REAL(select)(count, reads, writes, errors, timeout),
	      REAL(select)(count, reads, writes, errors, timeout));
	sn_wait_end(begin, SN_WAIT_POLL, (void *)sn_real.real_select);
	return result;
}

/* With a mask of the target's: ours is added, so that our signal waits for the call's end. */
static const sigset_t *with_ours_blocked(const sigset_t *mask, sigset_t *copy)
{
	if (!mask || !sn_is_active())
		return mask;
	*copy = *mask;
	sigaddset(copy, SN_SIGNAL);
	sigaddset(copy, SN_SIGNAL_TRAP);
	return copy;
}

SN_EXPORT int ppoll(struct pollfd *fds, nfds_t count, const struct timespec *timeout,
		    const sigset_t *mask)
{
	uint64_t begin = sn_wait_begin(SN_WAIT_POLL, (void *)sn_real.real_ppoll);
	int64_t end_ns = begin && timeout ? end_of(timeout) : 0;
	struct timespec left;
	sigset_t copy;
	const sigset_t *ours = with_ours_blocked(mask, &copy);
	int result;

	AGAIN(result, REAL(ppoll)(fds, count, timeout, ours),
	      (left = until_ns(end_ns), REAL(ppoll)(fds, count, timeout ? &left : NULL, ours)));
	sn_wait_end(begin, SN_WAIT_POLL, (void *)sn_real.real_ppoll);
	return result;
}

SN_EXPORT int pselect(int count, fd_set *reads, fd_set *writes, fd_set *errors,
		      const struct timespec *timeout, const sigset_t *mask)
{
	uint64_t begin = sn_wait_begin(SN_WAIT_POLL, (void *)sn_real.real_pselect);
	int64_t end_ns = begin && timeout ? end_of(timeout) : 0;
	struct timespec left;
	sigset_t copy;
	const sigset_t *ours = with_ours_blocked(mask, &copy);
	int result;

	AGAIN(result, REAL(pselect)(count, reads, writes, errors, timeout, ours),
	      (left = until_ns(end_ns),
	       REAL(pselect)(count, reads, writes, errors, timeout ? &left : NULL, ours)));
	sn_wait_end(begin, SN_WAIT_POLL, (void *)sn_real.real_pselect);
	return result;
}

SN_EXPORT int epoll_pwait(int fd, struct epoll_event *events, int max, int timeout_ms,
			  const sigset_t *mask)
{
	uint64_t begin = sn_wait_begin(SN_WAIT_POLL, (void *)sn_real.real_epoll_pwait);
	int64_t end_ns = begin && timeout_ms > 0 ? sn_now_ns() + timeout_ms * 1000000LL : 0;
	sigset_t copy;
	const sigset_t *ours = with_ours_blocked(mask, &copy);
	int result;

	AGAIN(result, REAL(epoll_pwait)(fd, events, max, timeout_ms, ours),
	      REAL(epoll_pwait)(
		      fd, events, max,
		      timeout_ms > 0 ? (int)((end_ns - sn_now_ns()) / 1000000) : timeout_ms, ours));
	sn_wait_end(begin, SN_WAIT_POLL, (void *)sn_real.real_epoll_pwait);
	return result;
}

SN_EXPORT int nanosleep(const struct timespec *time, struct timespec *left)
{
	uint64_t begin = sn_wait_begin(SN_WAIT_SLEEP, (void *)sn_real.real_nanosleep);
	int64_t end_ns = begin ? end_of(time) : 0;
	struct timespec rest;
	int result;

	AGAIN(result, REAL(nanosleep)(time, left),
	      (rest = until_ns(end_ns), REAL(nanosleep)(&rest, left)));
	sn_wait_end(begin, SN_WAIT_SLEEP, (void *)sn_real.real_nanosleep);
	return result;
}

SN_EXPORT int clock_nanosleep(clockid_t clock, int flags, const struct timespec *time,
			      struct timespec *left)
{
	uint64_t begin = sn_wait_begin(SN_WAIT_SLEEP, (void *)sn_real.real_clock_nanosleep);
	bool is_relative = !(flags & TIMER_ABSTIME);
	int64_t end_ns = begin && is_relative ? end_of(time) : 0;
	struct timespec rest = *time;
	int result;

	forget_interruptions();
	result = REAL(clock_nanosleep)(clock, flags, time, left);
	while (is_interrupted_by_us(result == EINTR)) {
		if (is_relative)
			rest = until_ns(end_ns);
		result = REAL(clock_nanosleep)(clock, flags, &rest, left);
	}
	sn_wait_end(begin, SN_WAIT_SLEEP, (void *)sn_real.real_clock_nanosleep);
	return result;
}

SN_EXPORT int usleep(useconds_t time_us)
{
	uint64_t begin = sn_wait_begin(SN_WAIT_SLEEP, (void *)sn_real.real_usleep);
	int64_t end_ns = begin ? sn_now_ns() + time_us * 1000LL : 0;
	int result;

	AGAIN(result, REAL(usleep)(time_us),
	      REAL(usleep)((useconds_t)(end_ns > sn_now_ns() ? (end_ns - sn_now_ns()) / 1000 : 0)));
	sn_wait_end(begin, SN_WAIT_SLEEP, (void *)sn_real.real_usleep);
	return result;
}

SN_EXPORT unsigned sleep(unsigned seconds)
{
	uint64_t begin = sn_wait_begin(SN_WAIT_SLEEP, (void *)sn_real.real_sleep);
	int64_t end_ns = begin ? sn_now_ns() + seconds * 1000000000LL : 0;
	unsigned left;

	forget_interruptions();
	left = REAL(sleep)(seconds);
	while (left && is_interrupted_by_us(true)) {
		struct timespec rest = until_ns(end_ns);
		left = REAL(nanosleep)(&rest, &rest) == 0 ? 0 : (unsigned)rest.tv_sec + 1;
	}
	sn_wait_end(begin, SN_WAIT_SLEEP, (void *)sn_real.real_sleep);
	return left;
}

SN_EXPORT int sem_timedwait(sem_t *semaphore, const struct timespec *until)
{
	uint64_t begin = sn_wait_begin(SN_WAIT_CONDITION, (void *)sn_real.real_sem_timedwait);
	int result;

	AGAIN(result, REAL(sem_timedwait)(semaphore, until), REAL(sem_timedwait)(semaphore, until));
	sn_wait_end(begin, SN_WAIT_CONDITION, (void *)sn_real.real_sem_timedwait);
	return result;
}
