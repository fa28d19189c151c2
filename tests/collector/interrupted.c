/* A poll that signals like our timers' end again and again: it must last as long as it was told to. */
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { TIMEOUT_MS = 300, EVERY_MS = 20 };

static int poller;
static volatile int is_over;

static void *interrupt(void *unused)
{
	siginfo_t info = { .si_signo = SIGSTKFLT, .si_code = SI_TIMER };

	/* the cookie of runtime/clock/clock.h, and the timer that looks for system time */
	info.si_value.sival_ptr = (void *)(0x736f6e6465000000ULL | 2);
	while (!is_over) {
		usleep(EVERY_MS * 1000);
		syscall(SYS_rt_tgsigqueueinfo, getpid(), poller, SIGSTKFLT, &info);
	}
	return unused;
}

static long now_ms(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * 1000 + time.tv_nsec / 1000000;
}

int main(void)
{
	pthread_t thread;
	long begin_ms;
	int result;

	poller = (int)syscall(SYS_gettid);
	pthread_create(&thread, NULL, interrupt, NULL);
	begin_ms = now_ms();
	result = poll(NULL, 0, TIMEOUT_MS);
	printf("%d %s\n", result, now_ms() - begin_ms >= TIMEOUT_MS - 1 ? "in time" : "too soon");
	is_over = 1;
	pthread_join(thread, NULL);
	return 0;
}
