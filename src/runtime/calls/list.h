/*
 * The functions of libc that collectors may ask for, and that need nothing but to be called. Each row
 * becomes a wrapper (calls/calls_handler.c) and a member of struct sn_calls_real. Included where CALL
 * is defined:
 *
 *   CALL(group, result's type, name, parameters, arguments)
 *
 * What may block has its kind of wait for its group. Locks, and calls that a signal interrupts for
 * good, have wrappers of their own beside this.
 */
/* clang-format off */
CALL(SN_WAIT_IO, ssize_t, read, (int fd, void *bytes, size_t count), (fd, bytes, count))
CALL(SN_WAIT_IO, ssize_t, write, (int fd, const void *bytes, size_t count), (fd, bytes, count))
CALL(SN_WAIT_IO, ssize_t, readv, (int fd, const struct iovec *parts, int count), (fd, parts, count))
CALL(SN_WAIT_IO, ssize_t, writev, (int fd, const struct iovec *parts, int count), (fd, parts, count))
CALL(SN_WAIT_IO, ssize_t, pread64, (int fd, void *bytes, size_t count, off64_t offset), (fd, bytes, count, offset))
CALL(SN_WAIT_IO, ssize_t, pwrite64, (int fd, const void *bytes, size_t count, off64_t offset), (fd, bytes, count, offset))
CALL(SN_WAIT_IO, ssize_t, recv, (int fd, void *bytes, size_t count, int flags), (fd, bytes, count, flags))
CALL(SN_WAIT_IO, ssize_t, recvfrom, (int fd, void *bytes, size_t count, int flags, __SOCKADDR_ARG from, socklen_t *from_bytes), (fd, bytes, count, flags, from, from_bytes))
CALL(SN_WAIT_IO, ssize_t, recvmsg, (int fd, struct msghdr *message, int flags), (fd, message, flags))
CALL(SN_WAIT_IO, ssize_t, send, (int fd, const void *bytes, size_t count, int flags), (fd, bytes, count, flags))
CALL(SN_WAIT_IO, ssize_t, sendto, (int fd, const void *bytes, size_t count, int flags, __CONST_SOCKADDR_ARG to, socklen_t to_bytes), (fd, bytes, count, flags, to, to_bytes))
CALL(SN_WAIT_IO, ssize_t, sendmsg, (int fd, const struct msghdr *message, int flags), (fd, message, flags))
CALL(SN_WAIT_IO, int, accept, (int fd, __SOCKADDR_ARG peer, socklen_t *peer_bytes), (fd, peer, peer_bytes))
CALL(SN_WAIT_IO, int, accept4, (int fd, __SOCKADDR_ARG peer, socklen_t *peer_bytes, int flags), (fd, peer, peer_bytes, flags))
CALL(SN_WAIT_IO, int, connect, (int fd, __CONST_SOCKADDR_ARG peer, socklen_t peer_bytes), (fd, peer, peer_bytes))
CALL(SN_WAIT_IO, int, fsync, (int fd), (fd))
CALL(SN_WAIT_IO, int, fdatasync, (int fd), (fd))
CALL(SN_WAIT_IO, int, flock, (int fd, int operation), (fd, operation))
CALL(SN_WAIT_IO, ssize_t, __read_chk, (int fd, void *bytes, size_t count, size_t room), (fd, bytes, count, room))
CALL(SN_WAIT_IO, ssize_t, __pread64_chk, (int fd, void *bytes, size_t count, off64_t offset, size_t room), (fd, bytes, count, offset, room))
CALL(SN_WAIT_IO, ssize_t, __recv_chk, (int fd, void *bytes, size_t count, size_t room, int flags), (fd, bytes, count, room, flags))
CALL(SN_WAIT_IO, ssize_t, __recvfrom_chk, (int fd, void *bytes, size_t count, size_t room, int flags, __SOCKADDR_ARG from, socklen_t *from_bytes), (fd, bytes, count, room, flags, from, from_bytes))
CALL(SN_WAIT_CONDITION, int, pthread_cond_wait, (pthread_cond_t *condition, pthread_mutex_t *mutex), (condition, mutex))
CALL(SN_WAIT_CONDITION, int, pthread_cond_timedwait, (pthread_cond_t *condition, pthread_mutex_t *mutex, const struct timespec *until), (condition, mutex, until))
CALL(SN_WAIT_CONDITION, int, pthread_cond_clockwait, (pthread_cond_t *condition, pthread_mutex_t *mutex, clockid_t clock, const struct timespec *until), (condition, mutex, clock, until))
CALL(SN_WAIT_JOIN, int, pthread_join, (pthread_t thread, void **value), (thread, value))
CALL(SN_WAIT_JOIN, int, pthread_timedjoin_np, (pthread_t thread, void **value, const struct timespec *until), (thread, value, until))
CALL(SN_WAIT_CONDITION, int, pthread_barrier_wait, (pthread_barrier_t *barrier), (barrier))
CALL(SN_WAIT_CONDITION, int, cnd_wait, (cnd_t *condition, mtx_t *mutex), (condition, mutex))
CALL(SN_WAIT_CONDITION, int, cnd_timedwait, (cnd_t *condition, mtx_t *mutex, const struct timespec *until), (condition, mutex, until))
CALL(SN_WAIT_JOIN, int, thrd_join, (thrd_t thread, int *value), (thread, value))
CALL(SN_WAIT_JOIN, int, pthread_clockjoin_np, (pthread_t thread, void **value, clockid_t clock, const struct timespec *until), (thread, value, clock, until))
CALL(SN_WAIT_CONDITION, int, sem_clockwait, (sem_t *semaphore, clockid_t clock, const struct timespec *until), (semaphore, clock, until))
CALL(SN_WAIT_LOCK, int, pthread_mutex_clocklock, (pthread_mutex_t *mutex, clockid_t clock, const struct timespec *until), (mutex, clock, until))
CALL(SN_WAIT_LOCK, int, mtx_timedlock, (mtx_t *mutex, const struct timespec *until), (mutex, until))
CALL(SN_WAIT_LOCK, int, pthread_rwlock_timedrdlock, (pthread_rwlock_t *lock, const struct timespec *until), (lock, until))
CALL(SN_WAIT_LOCK, int, pthread_rwlock_timedwrlock, (pthread_rwlock_t *lock, const struct timespec *until), (lock, until))
CALL(SN_WAIT_LOCK, int, pthread_rwlock_clockrdlock, (pthread_rwlock_t *lock, clockid_t clock, const struct timespec *until), (lock, clock, until))
CALL(SN_WAIT_LOCK, int, pthread_rwlock_clockwrlock, (pthread_rwlock_t *lock, clockid_t clock, const struct timespec *until), (lock, clock, until))
/* clang-format on */
