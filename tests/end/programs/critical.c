/*
 * Runs whose critical path is known by construction, whatever else the machine does: who is to come last goes
 * on until the other one sleeps. Prints how long each function took, in all its calls.
 */
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { ROUNDS = 15, UNIT = 6000000 /* ns of CPU time: a process starts in some ms */ };

static pthread_barrier_t meet;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t ready = PTHREAD_COND_INITIALIZER;
static sem_t posted;
static _Atomic int tids[2], turns, entered;
static int items, lap;

/* Of the functions that work: no other function is to have a part of their time. */
#define NOW(clock)                                                                                 \
	({                                                                                         \
		struct timespec now_;                                                              \
		clock_gettime(clock, &now_);                                                       \
		(double)now_.tv_sec * 1e9 + (double)now_.tv_nsec;                                  \
	})

/* Whether the thread sleeps, or has ended. */
#define SLEEPS(tid)                                                                                \
	({                                                                                         \
		char path_[64], text_[256], *end_ = text_;                                         \
		ssize_t length_ = 0;                                                               \
		snprintf(path_, sizeof(path_), "/proc/self/task/%d/stat", tid);                    \
		int fd_ = open(path_, O_RDONLY);                                                   \
		if (fd_ >= 0) {                                                                    \
			length_ = read(fd_, text_, sizeof(text_) - 1);                             \
			close(fd_);                                                                \
		}                                                                                  \
		text_[length_ > 0 ? length_ : 0] = 0;                                              \
		end_ = strrchr(text_, ')');                                                        \
		!end_ || end_[2] == 'S' || end_[2] == 'Z';                                         \
	})

/* Computes for some units of CPU time, and on until the other thread has begun its turn and sleeps. */
#define WORK(name)                                                                                 \
	static double name##_ns, name##_last_ns;                                                   \
	__attribute__((noipa)) static void name(int units, int other, int turn)                    \
	{                                                                                          \
		double began = NOW(CLOCK_MONOTONIC), ns;                                           \
		double until = NOW(CLOCK_THREAD_CPUTIME_ID) + (double)units * UNIT;                \
		while (NOW(CLOCK_THREAD_CPUTIME_ID) < until ||                                     \
		       (other >= 0 && (turns < turn || !SLEEPS(tids[other]))))                     \
			for (volatile int i = 0; i < 20000; i++)                                   \
				;                                                                  \
		name##_last_ns = ns = NOW(CLOCK_MONOTONIC) - began;                                \
		name##_ns += ns;                                                                   \
	}
#define WORKS(X) X(ten) X(seven) X(first_stage) X(second_stage) X(inside) X(serial) X(slow) X(quick)
WORKS(WORK)

/* Without the lock, until the other thread has it. */
static double outside_ns, outside_last_ns;
__attribute__((noipa)) static void outside(int turn)
{
	double began = NOW(CLOCK_MONOTONIC);

	while (entered < turn)
		for (volatile int i = 0; i < 20000; i++)
			;
	outside_last_ns = NOW(CLOCK_MONOTONIC) - began;
	outside_ns += outside_last_ns;
}

/* Sleeps, and does nothing else. */
static double rests_ns, rests_last_ns;
__attribute__((noipa)) static void rests(int units)
{
	double began = NOW(CLOCK_MONOTONIC);

	usleep((useconds_t)units * 1000);
	rests_last_ns = NOW(CLOCK_MONOTONIC) - began;
	rests_ns += rests_last_ns;
}

/* All calls of each, and the last one. */
static void tell(void)
{
#define TELL(name) printf(#name " %.9f %.9f\n", name##_ns / 1e9, name##_last_ns / 1e9);
	WORKS(TELL)
	TELL(outside)
	TELL(rests)
	fflush(stdout);
}

static void hello(long which)
{
	tids[which] = (int)syscall(SYS_gettid);
}

/* The other one's work is done, and it is about to wait. */
static void turn_over(void)
{
	turns++;
}

static void *barrier(void *which)
{
	hello((long)which);
	for (int i = 0; i < ROUNDS; i++) {
		if (which) {
			seven(7, -1, 0);
			turn_over();
		} else {
			ten(10, 1, i + 1);
		}
		pthread_barrier_wait(&meet);
	}
	return NULL;
}

static void *pipeline(void *which)
{
	hello((long)which);
	for (int i = 0; i < ROUNDS; i++) {
		if (which) {
			turn_over();
			pthread_mutex_lock(&mutex);
			while (!items)
				pthread_cond_wait(&ready, &mutex);
			items--;
			pthread_mutex_unlock(&mutex);
			second_stage(1, -1, 0);
		} else {
			first_stage(3, 1, i + 1);
			pthread_mutex_lock(&mutex);
			items++;
			pthread_cond_signal(&ready);
			pthread_mutex_unlock(&mutex);
		}
	}
	return NULL;
}

static void *semaphore(void *which)
{
	hello((long)which);
	for (int i = 0; i < ROUNDS; i++) {
		if (which) {
			turn_over();
			while (sem_wait(&posted) != 0)
				;
			second_stage(1, -1, 0);
		} else {
			first_stage(3, 1, i + 1);
			sem_post(&posted);
		}
	}
	return NULL;
}

/* They have the lock in turn, each half of the time; what they do without it lies beside the path. */
static void *lock(void *which)
{
	long me = (long)which;

	hello(me);
	if (me)
		while (turns == 0)
			usleep(1000);
	for (int i = 0; i < ROUNDS; i++) {
		turn_over();
		pthread_mutex_lock(&mutex);
		entered++;
		/* until the other one wants it, too */
		inside(4, i + 1 == ROUNDS && me ? -1 : (int)!me, 2 * i + (int)me + 2);
		pthread_mutex_unlock(&mutex);
		if (i + 1 < ROUNDS || !me)
			outside(2 * i + (int)me + 2);
	}
	return NULL;
}

static void *side(void *which)
{
	hello((long)which);
	if (which) {
		turn_over();
		quick(2, -1, 0);
	} else {
		slow(6, 1, lap);
	}
	return NULL;
}

static void two(void *(*begin)(void *))
{
	pthread_t threads[2];

	for (long i = 1; i >= 0; i--)
		pthread_create(&threads[i], NULL, begin, (void *)i);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
}

int main(int count, char **words)
{
	const char *what = count > 1 ? words[1] : "";

	pthread_barrier_init(&meet, NULL, 2);
	sem_init(&posted, 0, 0);
	if (strcmp(what, "barrier") == 0)
		two(barrier);
	else if (strcmp(what, "pipeline") == 0)
		two(pipeline);
	else if (strcmp(what, "semaphore") == 0)
		two(semaphore);
	else if (strcmp(what, "lock") == 0)
		two(lock);
	else if (strcmp(what, "fork_join") == 0)
		for (lap = 1; lap <= 8; lap++) {
			serial(5, -1, 0);
			two(side);
		}
	else if (strcmp(what, "sleep") == 0)
		for (lap = 1; lap <= 4; lap++) {
			rests(60);
			two(side);
		}
	else if (strcmp(what, "children") == 0)
		for (int i = 0; i < 5; i++) {
			serial(5, -1, 0);
			pid_t child = fork();
			if (child == 0) {
				slow_ns = serial_ns = 0;
				slow(10, -1, 0);
				tell();
				_exit(0);
			}
			waitpid(child, NULL, 0);
		}
	else
		return 2;
	tell();
	return 0;
}
