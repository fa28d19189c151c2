/* A library whose constructor makes threads, and a program that uses it (-DMAIN). Linked with
 * -z initfirst the library comes before any other. */
#define _GNU_SOURCE
#include <stdio.h>

void run_early(void);

#ifdef MAIN
int main(void)
{
	run_early();
	puts("done");
	return 0;
}
#else
#include "burn.h"
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MAKER, SLEEPER, STACKED, PLAIN, BLOCKER, DEEP, WORKERS };

static pthread_t threads[WORKERS];
static char results[WORKERS][64];
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t start = PTHREAD_COND_INITIALIZER;
static int has_started, event, poll_fd;
static char own_stack[65536];
static volatile int was_on_own;

static void *child(void *unused)
{
	burn(0.1);
	return unused;
}

static void make(char *result)
{
	pthread_t thread;
	burn(0.2);
	int made = pthread_create(&thread, NULL, child, NULL);
	sprintf(result, "made %d joined %d", made, pthread_join(thread, NULL));
}

/* Asleep in a call that no SA_RESTART restarts; the first that it does after it is to fork. */
static void sleep_in_poll(char *result)
{
	struct epoll_event got;
	int count = epoll_wait(poll_fd, &got, 1, -1);
	int error = count < 0 ? errno : 0, status = 0;
	pid_t child = fork();
	if (!child) {
		burn(0.1);
		_exit(3);
	}
	waitpid(child, &status, 0);
	sprintf(result, "%d events, errno %d, child %d", count, error, WEXITSTATUS(status));
	burn(0.1);
}

static void handler(int signal)
{
	char here;
	was_on_own = &here >= own_stack && &here < own_stack + sizeof own_stack;
	(void)signal;
}

static void use_own_stack(char *result)
{
	struct sigaction action = { .sa_handler = handler, .sa_flags = SA_ONSTACK };
	stack_t now;
	sigaction(SIGUSR1, &action, NULL);
	burn(0.2);
	pthread_kill(pthread_self(), SIGUSR1);
	sigaltstack(NULL, &now);
	sprintf(result, "on own %d, own still %d", was_on_own,
		now.ss_sp == own_stack && !now.ss_flags);
}

static void use_no_stack(char *result)
{
	stack_t now;
	burn(0.2);
	sigaltstack(NULL, &now);
	sprintf(result, "none %d", now.ss_flags == SS_DISABLE);
}

static void block_all(char *result)
{
	sigset_t now;
	usleep(1000);
	burn(0.2);
	pthread_sigmask(SIG_BLOCK, NULL, &now);
	sprintf(result, "blocked %d %d %d", sigismember(&now, SIGTRAP),
		sigismember(&now, SIGSTKFLT), sigismember(&now, SIGUSR2));
}

__attribute__((noinline)) static long descend(int depth)
{
	char room[4096];
	memset(room, depth, sizeof room);
	if (depth == 0)
		burn(0.2);
	return (depth ? descend(depth - 1) : 0) + room[depth % 4096];
}

static void *work(void *argument)
{
	int which = (int)(long)argument;
	stack_t own = { .ss_sp = own_stack, .ss_size = sizeof own_stack };
	void (*const jobs[])(char *) = { make, sleep_in_poll, use_own_stack, use_no_stack,
					 block_all };

	if (which == STACKED)
		sigaltstack(&own, NULL);
	pthread_mutex_lock(&mutex);
	while (which != SLEEPER && !has_started)
		pthread_cond_wait(&start, &mutex);
	pthread_mutex_unlock(&mutex);
	if (which == DEEP)
		sprintf(results[which], "sum %ld", descend(100));
	else
		jobs[which](results[which]);
	return NULL;
}

__attribute__((constructor)) static void before_main(void)
{
	struct epoll_event interest = { .events = EPOLLIN };
	sigset_t all, before;

	event = eventfd(0, 0);
	poll_fd = epoll_create1(0);
	epoll_ctl(poll_fd, EPOLL_CTL_ADD, event, &interest);
	for (long i = 0; i < WORKERS; i++) {
		sigfillset(&all);
		if (i == BLOCKER)
			pthread_sigmask(SIG_SETMASK, &all, &before);
		pthread_create(&threads[i], NULL, work, (void *)i);
		if (i == BLOCKER)
			pthread_sigmask(SIG_SETMASK, &before, NULL);
	}
	usleep(20000); /* all are asleep now */
}

void run_early(void)
{
	pthread_mutex_lock(&mutex);
	has_started = 1;
	pthread_cond_broadcast(&start);
	pthread_mutex_unlock(&mutex);
	burn(0.1);
	if (write(event, &(uint64_t){ 1 }, 8) != 8)
		abort();
	for (int i = 0; i < WORKERS; i++) {
		pthread_join(threads[i], NULL);
		puts(results[i]);
	}
}
#endif
