/* Real-time signals by the thousand: handled as they come, then queued while blocked up to the
 * limit. */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

static volatile sig_atomic_t taken;

static void take(int signal, siginfo_t *info, void *context)
{
	(void)signal, (void)info, (void)context;
	taken++;
}

int main(void)
{
	struct sigaction action = { .sa_sigaction = take, .sa_flags = SA_SIGINFO };
	struct rlimit limit = { 200, 200 };
	union sigval value = { 0 };
	sigset_t all, before;
	int sent = 0, failed = 0;

	for (int s = SIGRTMIN; s <= SIGRTMAX; s++)
		sigaction(s, &action, NULL);
	for (int i = 0; i < 20000; i++)
		sent += !sigqueue(getpid(), SIGRTMIN + i % 20, value);
	printf("sent %d taken %d\n", sent, (int)taken);
	setrlimit(RLIMIT_SIGPENDING, &limit);
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &before);
	taken = 0;
	for (int i = 0; i < 1000; i++)
		failed += sigqueue(getpid(), SIGRTMIN + i % 20, value) != 0;
	for (volatile long i = 0; i < 100000000; i++)
		;
	sigprocmask(SIG_SETMASK, &before, NULL);
	printf("queued %d of 1000, taken all: %d\n", failed < 1000, taken == 1000 - failed);
	return 3;
}
