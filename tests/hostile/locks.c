/* Locks that another holds until we are seen to wait: 60 ms more. By a second thread ("threads"),
 * by one that was made past pthread_create ("past"), by another process while we have one thread
 * ("shared"). And a loop of locks that are free ("free", its length in iterations). */
#define _GNU_SOURCE
#include "burn.h"
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MUTEX, READ, WRITE, TIMED, KINDS };

static struct {
	pthread_mutex_t mutex;
	pthread_rwlock_t lock;
	sem_t go, held, done;
	volatile int is_waiting, kind;
} * shared;
static pid_t waiter, waiter_process;

static int take(int kind)
{
	struct timespec far = { .tv_sec = 4000000000 };

	return kind == MUTEX   ? pthread_mutex_lock(&shared->mutex)
	       : kind == TIMED ? pthread_mutex_timedlock(&shared->mutex, &far)
	       : kind == READ  ? pthread_rwlock_rdlock(&shared->lock)
			       : pthread_rwlock_wrlock(&shared->lock);
}

static int give(int kind)
{
	return kind == MUTEX || kind == TIMED ? pthread_mutex_unlock(&shared->mutex)
					      : pthread_rwlock_unlock(&shared->lock);
}

static int is_asleep(void)
{
	char path[64], text[256] = "";
	snprintf(path, sizeof path, "/proc/%d/task/%d/stat", waiter_process, waiter);
	FILE *file = fopen(path, "r");
	if (!file || !fgets(text, sizeof text, file))
		return 0;
	fclose(file);
	char *at = strrchr(text, ')');
	return at && at[2] == 'S';
}

static void *hold(void *unused)
{
	for (int i = 0; i < KINDS; i++) {
		sem_wait(&shared->go);
		int kind = shared->kind == READ ? WRITE : shared->kind;
		take(kind);
		sem_post(&shared->held);
		while (!shared->is_waiting || !is_asleep())
			usleep(1000);
		usleep(60000);
		give(kind);
		sem_post(&shared->done);
	}
	return unused;
}

static void wait_for_each(void)
{
	for (int i = 0; i < KINDS; i++) {
		shared->is_waiting = 0;
		shared->kind = i;
		sem_post(&shared->go);
		sem_wait(&shared->held);
		shared->is_waiting = 1;
		int taken = take(i);
		sem_wait(&shared->done);
		printf("%d: %d %d\n", i, taken, give(i));
	}
}

/* What a thread holds itself already. */
static void relock(int type)
{
	pthread_mutexattr_t attr;
	pthread_mutex_t mutex;

	pthread_mutexattr_init(&attr);
	pthread_mutexattr_settype(&attr, type);
	pthread_mutex_init(&mutex, &attr);
	int first = pthread_mutex_lock(&mutex), second = pthread_mutex_lock(&mutex);
	printf("again: %d %d\n", first, second == EDEADLK ? -1 : second);
}

static void make(int is_shared)
{
	pthread_mutexattr_t attr;
	pthread_rwlockattr_t lock_attr;

	shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		      0);
	pthread_mutexattr_init(&attr);
	pthread_rwlockattr_init(&lock_attr);
	if (is_shared) {
		pthread_mutexattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
		pthread_rwlockattr_setpshared(&lock_attr, PTHREAD_PROCESS_SHARED);
	}
	pthread_mutex_init(&shared->mutex, &attr);
	pthread_rwlock_init(&shared->lock, &lock_attr);
	sem_init(&shared->go, is_shared, 0);
	sem_init(&shared->held, is_shared, 0);
	sem_init(&shared->done, is_shared, 0);
	waiter = gettid();
	waiter_process = getpid();
}

static void lock_free(long count)
{
	for (long i = 0; i < count; i++) {
		pthread_mutex_lock(&shared->mutex);
		burn_sink += 1;
		pthread_mutex_unlock(&shared->mutex);
	}
}

int main(int argc, char **argv)
{
	const char *mode = argv[1];
	pthread_t thread;

	make(!strcmp(mode, "shared"));
	if (!strcmp(mode, "free")) {
		lock_free(atol(argv[2]));
		return 0;
	}
	if (!strcmp(mode, "shared")) {
		pid_t child = fork();
		if (!child) {
			hold(NULL);
			_exit(0);
		}
		wait_for_each();
		waitpid(child, NULL, 0);
		return 0;
	}
	__typeof__(&pthread_create) create = pthread_create;
	if (!strcmp(mode, "past")) {
		create =
			(__typeof__(create))dlsym(dlopen("libc.so.6", RTLD_LAZY), "pthread_create");
		create(&thread, NULL, hold, NULL);
		burn(0.1); /* a sample or two */
	} else {
		create(&thread, NULL, hold, NULL);
	}
	wait_for_each();
	pthread_join(thread, NULL);
	relock(PTHREAD_MUTEX_RECURSIVE);
	relock(PTHREAD_MUTEX_ERRORCHECK);
	(void)argc;
	return 0;
}
