/** The functions that wakes_handler.c interposes, as the next library in line defines them. */
#ifndef SN_RUNTIME_CAUSAL_WAKES_H
#define SN_RUNTIME_CAUSAL_WAKES_H

#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <threads.h>

/* libgomp's */
void GOMP_barrier(void);
void GOMP_loop_end(void);
void GOMP_sections_end(void);

/* clang-format off */
/* X(result's type, name, parameters, arguments): they let another thread go on. */
#define SN_CAUSAL_RELEASES(X) \
	X(int, pthread_mutex_unlock, (pthread_mutex_t *lock), (lock)) \
	X(int, pthread_rwlock_unlock, (pthread_rwlock_t *lock), (lock))
#define SN_CAUSAL_WAKES(X) \
	X(int, pthread_spin_unlock, (pthread_spinlock_t *lock), (lock)) \
	X(int, pthread_cond_signal, (pthread_cond_t *condition), (condition)) \
	X(int, pthread_cond_broadcast, (pthread_cond_t *condition), (condition)) \
	X(int, sem_post, (sem_t *semaphore), (semaphore)) \
	X(int, mtx_unlock, (mtx_t *lock), (lock)) \
	X(int, cnd_signal, (cnd_t *condition), (condition)) \
	X(int, cnd_broadcast, (cnd_t *condition), (condition)) \
	X(int, kill, (pid_t process, int number), (process, number)) \
	X(int, pthread_kill, (pthread_t thread, int number), (thread, number)) \
	X(int, eventfd_write, (int fd, eventfd_t value), (fd, value))
/* They take a lock if it is free. */
#define SN_CAUSAL_TRIES(X) \
	X(int, pthread_mutex_trylock, (pthread_mutex_t *lock), (lock)) \
	X(int, pthread_rwlock_tryrdlock, (pthread_rwlock_t *lock), (lock)) \
	X(int, pthread_rwlock_trywrlock, (pthread_rwlock_t *lock), (lock))
/* Barriers of a team that calls/ does not see. */
#define SN_CAUSAL_TEAM_WAITS(X) \
	X(void, GOMP_barrier, (void), ()) \
	X(void, GOMP_loop_end, (void), ()) \
	X(void, GOMP_sections_end, (void), ())
/* clang-format on */

#define SN_CAUSAL_MEMBER(type, name, parameters, arguments) type(*name) parameters;
struct sn_causal_real {
	SN_CAUSAL_RELEASES(SN_CAUSAL_MEMBER)
	SN_CAUSAL_WAKES(SN_CAUSAL_MEMBER)
	SN_CAUSAL_TRIES(SN_CAUSAL_MEMBER)
	SN_CAUSAL_TEAM_WAITS(SN_CAUSAL_MEMBER)
};
extern struct sn_causal_real sn_causal_real;

#endif
