/**
 * The functions that core interposes, as the next library in line defines them. Those that
 * collectors are told of are in calls/real.h.
 *
 * Resolved together by the constructor; a wrapper that is called before that resolves them itself.
 */
#ifndef SN_RUNTIME_CORE_REAL_H
#define SN_RUNTIME_CORE_REAL_H

#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>
#include <wordexp.h>

/* clang-format off */
#define SN_REAL_LIST(X) \
	X(sigaction) X(signal) X(sigprocmask) X(pthread_sigmask) X(sigpending) X(sigsuspend) \
	X(sigwait) X(sigwaitinfo) X(sigtimedwait) X(signalfd) X(sigaltstack) X(pthread_create) \
	X(execve) X(execvpe) X(fexecve) X(execveat) X(posix_spawn) X(posix_spawnp) X(popen) \
	X(wordexp) X(fork) X(_exit) X(dlclose) X(prctl)
/* clang-format on */

#define SN_REAL_DECLARE(name) __typeof__(name) *real_##name;
struct sn_real {
	SN_REAL_LIST(SN_REAL_DECLARE)
};
extern struct sn_real sn_real;

void sn_real_resolve(void);

/** libc's own, for our handlers: our constructor comes before those of libraries that interpose it
 * (liblsan), which are not ready then. NULL before sn_real_resolve. */
extern int (*sn_libc_sigaction)(int, const struct sigaction *, struct sigaction *);

/** REAL(signal)(number, handler) */
#define REAL(name)                                                                                 \
	(__builtin_expect(!sn_real.real_##name, 0) ? sn_real_resolve() : (void)0,                  \
	 sn_real.real_##name)

#endif
