/**
 * The functions that calls/ interposes, as the next library in line defines them. Resolved together
 * by the constructor; a wrapper that is called before that resolves them itself.
 */
#ifndef SN_RUNTIME_CALLS_REAL_H
#define SN_RUNTIME_CALLS_REAL_H

#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <sys/epoll.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

/* Fortified builds call these instead; no header declares them. */
ssize_t __read_chk(int fd, void *bytes, size_t count, size_t room);
ssize_t __pread64_chk(int fd, void *bytes, size_t count, off64_t offset, size_t room);
ssize_t __recv_chk(int fd, void *bytes, size_t count, size_t room, int flags);
ssize_t __recvfrom_chk(int fd, void *bytes, size_t count, size_t room, int flags,
		       __SOCKADDR_ARG from, socklen_t *from_bytes);

/* clang-format off */
/* Wrappers written by hand. */
#define SN_CALLS_BY_HAND(X) \
	X(pthread_mutex_lock) X(pthread_mutex_trylock) X(pthread_mutex_timedlock) \
	X(pthread_rwlock_rdlock) X(pthread_rwlock_tryrdlock) X(pthread_rwlock_wrlock) \
	X(pthread_rwlock_trywrlock) X(pthread_mutexattr_setpshared) X(pthread_rwlockattr_setpshared) \
	X(sem_wait) X(sem_timedwait) X(poll) X(ppoll) X(select) X(pselect) X(epoll_wait) \
	X(epoll_pwait) X(nanosleep) X(clock_nanosleep) X(usleep) X(sleep) X(syscall) \
	X(wait) X(waitpid) X(wait3) X(wait4) X(waitid)
/* Symbols whose oldest version differs from what programs mean. */
#define SN_CALLS_OF_VERSION(V) \
	V(pthread_cond_wait, "GLIBC_2.3.2") V(pthread_cond_timedwait, "GLIBC_2.3.2")
/* clang-format on */

#define SN_CALLS_DECLARE(name)			       __typeof__(name) *real_##name;
#define CALL(group, type, name, parameters, arguments) SN_CALLS_DECLARE(name)
struct sn_calls_real {
	SN_CALLS_BY_HAND(SN_CALLS_DECLARE)
#include "runtime/calls/list.h"
};
#undef CALL
extern struct sn_calls_real sn_calls_real;

void sn_calls_resolve(void);

/** REAL_CALL(read)(fd, bytes, count) */
#define REAL_CALL(name)                                                                            \
	(__builtin_expect(!sn_calls_real.real_##name, 0) ? sn_calls_resolve() : (void)0,           \
	 sn_calls_real.real_##name)

#endif
