/** Locks are libc's own until a second thread is about to be made. */
#ifndef SN_RUNTIME_CALLS_LOCKS_H
#define SN_RUNTIME_CALLS_LOCKS_H

#include "runtime/calls/calls.h"

void sn_locks_leave(void);
void sn_locks_watch(void);

/** What takes the place of our wrappers where every lock is traced. */
struct sn_locks_traced {
	int (*lock_mutex)(pthread_mutex_t *mutex);
	int (*read_lock)(pthread_rwlock_t *lock);
	int (*write_lock)(pthread_rwlock_t *lock);
	int (*wait_for_semaphore)(sem_t *semaphore);
};
/** At install, once and for good. `traced` is borrowed. */
void sn_locks_trace(const struct sn_locks_traced *traced);
/* What our wrappers do where nobody traces locks: libc's functions, and who asked for calls is told of waits. */
int sn_locks_lock_mutex(pthread_mutex_t *mutex);
int sn_locks_lock_read(pthread_rwlock_t *lock);
int sn_locks_lock_write(pthread_rwlock_t *lock);
int sn_locks_take_semaphore(sem_t *semaphore);
/* libc's functions, for what is known to wait: who asked for calls is told. */
int sn_locks_wait_mutex(pthread_mutex_t *mutex);
int sn_locks_wait_read(pthread_rwlock_t *lock);
int sn_locks_wait_write(pthread_rwlock_t *lock);
int sn_locks_wait_semaphore(sem_t *semaphore);
/** Whether pc is in a wrapper that reads no clock, of a lock or of syscall(): its cost is not counted call by call, but by the
 *  samples that meet it. */
bool sn_locks_hold(uint64_t pc);
/** In a handler: if libc knows of a second thread that was made past us. */
static inline void sn_locks_follow(void)
{
	if (&__libc_single_threaded && !__libc_single_threaded)
		sn_locks_watch();
}
/** `trim` of core/collector.h. */
void sn_locks_trim(struct sn_thread *self, struct sn_frames *frames);

#endif
