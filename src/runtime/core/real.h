/**
 * The functions that we interpose, as the next library in line defines them.
 *
 * Resolved together by the constructor; a wrapper that is called before that resolves them itself.
 */
#ifndef SN_RUNTIME_CORE_REAL_H
#define SN_RUNTIME_CORE_REAL_H

#include <dlfcn.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>
#include <wordexp.h>

/* Fortified builds call these instead; no header declares them. */
ssize_t __read_chk(int fd, void *bytes, size_t count, size_t room);
ssize_t __pread64_chk(int fd, void *bytes, size_t count, off64_t offset, size_t room);
ssize_t __recv_chk(int fd, void *bytes, size_t count, size_t room, int flags);
ssize_t __recvfrom_chk(int fd, void *bytes, size_t count, size_t room, int flags,
		       __SOCKADDR_ARG from, socklen_t *from_bytes);

/* X(name): resolved by dlsym. V(name, version): a symbol whose oldest version differs. */
/* clang-format off */
#define SN_REAL_LIST(X, V) \
	X(sigaction) X(signal) X(sigprocmask) X(pthread_sigmask) X(sigpending) X(sigsuspend) \
	X(sigwait) X(sigwaitinfo) X(sigtimedwait) X(signalfd) X(sigaltstack) X(pthread_create) \
	X(execve) X(execvpe) X(fexecve) X(execveat) X(posix_spawn) X(posix_spawnp) X(popen) \
	X(wordexp) X(fork) X(_exit) X(dlclose) X(prctl) X(syscall) X(pthread_mutex_lock) \
	X(pthread_mutex_trylock) X(pthread_mutex_timedlock) X(pthread_rwlock_rdlock) \
	X(pthread_rwlock_tryrdlock) X(pthread_rwlock_wrlock) X(pthread_rwlock_trywrlock) \
	V(pthread_cond_wait, "GLIBC_2.3.2") V(pthread_cond_timedwait, "GLIBC_2.3.2") \
	X(sem_timedwait) X(poll) X(ppoll) X(select) X(pselect) X(epoll_wait) X(epoll_pwait) \
	X(nanosleep) X(clock_nanosleep) X(usleep) X(sleep) X(read) X(write) X(readv) X(writev) \
	X(pread64) X(pwrite64) X(recv) X(recvfrom) X(recvmsg) X(send) \
	X(sendto) X(sendmsg) X(accept) X(accept4) X(connect) X(fsync) X(fdatasync) X(flock) \
	X(__read_chk) X(__pread64_chk) X(__recv_chk) X(__recvfrom_chk) X(wait) X(waitpid) \
	X(wait3) X(wait4) X(waitid) X(pthread_cond_clockwait) X(pthread_join) \
	X(pthread_mutexattr_setpshared) X(pthread_rwlockattr_setpshared) \
	X(pthread_timedjoin_np) X(pthread_barrier_wait) X(sem_wait) X(cnd_wait) \
	X(cnd_timedwait) X(thrd_join)
/* clang-format on */

#define SN_REAL_DECLARE(name)		       __typeof__(name) *real_##name;
#define SN_REAL_DECLARE_VERSION(name, version) SN_REAL_DECLARE(name)
struct sn_real {
	SN_REAL_LIST(SN_REAL_DECLARE, SN_REAL_DECLARE_VERSION)
};
extern struct sn_real sn_real;

void sn_real_resolve(void);

/** libc's own, for our handlers: our constructor comes before those of libraries that interpose it
 * (liblsan), which are not ready then. NULL before sn_real_resolve. */
extern int (*sn_libc_sigaction)(int, const struct sigaction *, struct sigaction *);

/** REAL(read)(fd, bytes, count) */
#define REAL(name)                                                                                 \
	(__builtin_expect(!sn_real.real_##name, 0) ? sn_real_resolve() : (void)0,                  \
	 sn_real.real_##name)

#endif
