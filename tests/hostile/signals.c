/* A target that blocks, handles, waits for and sends every signal there is, and counts EINTR. */
#include "burn.h"
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/signalfd.h>
#include <sys/time.h>
#include <unistd.h>

static volatile int counts[65];

static void count(int signal)
{
	counts[signal]++;
}

static void print_mask(const char *name)
{
	sigset_t mask;
	int blocked = 0;

	sigprocmask(SIG_BLOCK, NULL, &mask);
	for (int i = 1; i < 65; i++)
		blocked += sigismember(&mask, i) == 1;
	printf("%s: %d blocked, SIGSTKFLT %d SIGTRAP %d\n", name, blocked,
	       sigismember(&mask, SIGSTKFLT), sigismember(&mask, SIGTRAP));
}

static void *blocked_thread(void *unused)
{
	print_mask("thread");
	burn(0.05);
	return unused;
}

static void block_all(void)
{
	sigset_t all, old, pending;
	pthread_t thread;

	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &old);
	print_mask("all");
	burn(0.05);
	pthread_create(&thread, NULL, blocked_thread, NULL);
	pthread_join(thread, NULL);
	raise(SIGUSR1);
	raise(SIGSTKFLT);
	sigpending(&pending);
	printf("pending %d %d\n", sigismember(&pending, SIGUSR1), sigismember(&pending, SIGSTKFLT));
	sigprocmask(SIG_SETMASK, &old, NULL);
	printf("after %d %d\n", counts[SIGUSR1], counts[SIGSTKFLT]);
	print_mask("old");
}

static void handle_all(void)
{
	struct sigaction action = { .sa_handler = count }, back;

	sigfillset(&action.sa_mask);
	for (int i = 1; i < 65; i++) {
		int result = sigaction(i, &action, NULL);
		if (result == 0) {
			sigaction(i, NULL, &back);
			printf("%d: %d %d %#x\n", i, back.sa_handler == count,
			       sigismember(&back.sa_mask, SIGSTKFLT), back.sa_flags & ~0x4000000);
		} else {
			printf("%d: %s\n", i, strerror(errno));
		}
	}
	raise(SIGSTKFLT);
	raise(SIGTRAP);
	printf("raised %d %d\n", counts[SIGSTKFLT], counts[SIGTRAP]);
	__asm__ volatile("int3");
	printf("breakpoint %d\n", counts[SIGTRAP]);
}

static void own_timer(void)
{
	struct itimerval timer = { { 0, 10000 }, { 0, 10000 } };

	printf("setitimer %d\n", setitimer(ITIMER_PROF, &timer, NULL));
	burn(0.3);
	memset(&timer, 0, sizeof timer);
	setitimer(ITIMER_PROF, &timer, NULL);
	printf("SIGPROF %s\n", counts[SIGPROF] >= 10 ? "many" : "few");
}

static void wait_for_signals(void)
{
	struct timespec brief = { 0, 1000000 };
	sigset_t all, one;
	siginfo_t info;
	int got;

	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, NULL);
	raise(SIGUSR2);
	sigwait(&all, &got);
	printf("sigwait %d\n", got);
	int result = sigtimedwait(&all, &info, &brief);
	printf("sigtimedwait %d %s\n", result, strerror(errno));
	int fd = signalfd(-1, &all, SFD_NONBLOCK);
	burn(0.02);
	struct signalfd_siginfo read_info;
	ssize_t bytes = read(fd, &read_info, sizeof read_info);
	printf("signalfd %zd %s\n", bytes, strerror(errno));
	close(fd);
	sigemptyset(&one);
	sigprocmask(SIG_SETMASK, &one, NULL);
}

static void count_eintr(void)
{
	struct timespec brief = { 0, 50000 };
	struct timeval brief_us = { 0, 50 };
	struct epoll_event event;
	int eintr = 0, epoll = epoll_create1(0);

	for (int i = 0; i < 400; i++) {
		burn(0.0005);
		eintr += nanosleep(&brief, NULL) != 0;
		eintr += poll(NULL, 0, 0) != 0;
		eintr += usleep(20) != 0;
		brief_us = (struct timeval){ 0, 20 };
		eintr += select(0, NULL, NULL, NULL, &brief_us) != 0;
		eintr += epoll_wait(epoll, &event, 1, 0) != 0;
		eintr += clock_nanosleep(CLOCK_MONOTONIC, 0, &brief, NULL) != 0;
	}
	printf("EINTR %d\n", eintr);
}

int main(int count_words, char **words)
{
	struct sigaction action = { .sa_handler = count };

	(void)words;
	print_mask("start");
	sigaction(SIGUSR1, &action, NULL);
	sigaction(SIGSTKFLT, &action, NULL);
	block_all();
	handle_all();
	own_timer();
	wait_for_signals();
	count_eintr();
	signal(SIGSTKFLT, SIG_DFL);
	signal(SIGTRAP, SIG_DFL);
	fflush(stdout);
	if (count_words > 1)
		__asm__ volatile("int3");
	raise(SIGSTKFLT);
	return 0;
}
