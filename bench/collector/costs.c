/*
 * What one event costs the program, as its own CPU clock says: the least of many short stretches, which
 * a busy machine disturbs least.
 *
 *     costs KIND     prints ns per event
 *
 * read     a byte of /dev/zero
 * lock     and unlock, a mutex that nobody else wants, with one thread
 * shared   the same, with a second thread
 * held     a recursive mutex that the thread holds already
 * timed    a mutex that another holds, until a time that is over: the whole path of a wait
 * wanted   a mutex that two threads take in turns: a lock of each
 * turn     a byte handed to a thread and back: two context switches of each
 * sample   a signal that looks as the sampling timer's do, queued to itself below 32 calls
 * work     a stretch of 5 ms of arithmetic below 32 calls: what samples add to it
 * thread   made and joined
 */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { STRETCHES = 200 };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER, recursive, taken;
static int zero, to[2], fro[2];
static volatile int is_over;
static volatile uint64_t sink;

static int64_t now_ns(clockid_t clock)
{
	struct timespec time;

	clock_gettime(clock, &time);
	return time.tv_sec * 1000000000LL + time.tv_nsec;
}

static void lock_once(void)
{
	pthread_mutex_lock(&mutex);
	pthread_mutex_unlock(&mutex);
}

static void read_once(void)
{
	char byte;

	if (read(zero, &byte, 1) != 1)
		exit(1);
}

static void hold_again(void)
{
	pthread_mutex_lock(&recursive);
	pthread_mutex_unlock(&recursive);
}

static void wait_in_vain(void)
{
	struct timespec past = { 1, 0 };

	pthread_mutex_timedlock(&taken, &past);
}

static void turn(void)
{
	char byte = 'x';

	if (write(to[1], &byte, 1) != 1 || read(fro[0], &byte, 1) != 1)
		exit(1);
}

static __attribute__((noinline)) void work_below(int depth)
{
	if (depth > 0) {
		work_below(depth - 1);
		sink++;
		return;
	}
	for (int i = 0; i < 2000000; i++)
		sink += (uint64_t)i;
}

static void work(void)
{
	work_below(32);
}

/* The signal and the cookie of runtime/clock/clock.h. */
static void queue_sample(void)
{
	siginfo_t info = { .si_signo = SIGSTKFLT, .si_code = SI_TIMER };

	info.si_value.sival_ptr = (void *)(0x736f6e6465000000ULL | 1);
	for (volatile int i = 0; i < 100; i++)
		sink++;
	syscall(SYS_rt_tgsigqueueinfo, getpid(), syscall(SYS_gettid), SIGSTKFLT, &info);
}

static __attribute__((noinline)) void sample_below(int depth)
{
	if (depth > 0) {
		sample_below(depth - 1);
		sink++;
		return;
	}
	for (int i = 0; i < 100; i++)
		queue_sample();
}

static void sample(void)
{
	sample_below(32);
}

static void *nothing(void *unused)
{
	return unused;
}

static void make_thread(void)
{
	pthread_t thread;

	pthread_create(&thread, NULL, nothing, NULL);
	pthread_join(thread, NULL);
}

static void *answer(void *unused)
{
	char byte;

	while (read(to[0], &byte, 1) == 1 && write(fro[1], &byte, 1) == 1)
		;
	return unused;
}

static void *lock_too(void *unused)
{
	while (!is_over)
		lock_once();
	return unused;
}

static void *take(void *unused)
{
	pthread_mutex_lock(&taken);
	for (;;)
		pause();
	return unused;
}

static const struct kind {
	const char *name;
	void (*once)(void);
	int per_stretch;
	void *(*beside)(void *);
} kinds[] = {
	{ "read", read_once, 2000, NULL },    { "lock", lock_once, 20000, NULL },
	{ "shared", lock_once, 20000, take }, { "held", hold_again, 20000, take },
	{ "timed", wait_in_vain, 100, take }, { "wanted", lock_once, 20000, lock_too },
	{ "turn", turn, 100, answer },	      { "work", work, 1, NULL },
	{ "sample", sample, 10, NULL },	      { "thread", make_thread, 20, NULL },
};

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

int main(int count, char **words)
{
	const struct kind *kind = kinds;
	double costs[STRETCHES];
	pthread_mutexattr_t attr;
	pthread_t thread;
	/* the other's share of a turn is CPU time of the process */
	clockid_t clock = CLOCK_PROCESS_CPUTIME_ID;

	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
		if (count > 1 && !strcmp(words[1], kinds[i].name))
			kind = &kinds[i];
	pthread_mutexattr_init(&attr);
	pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_RECURSIVE);
	pthread_mutex_init(&recursive, &attr);
	pthread_mutex_init(&taken, NULL);
	zero = open("/dev/zero", O_RDONLY);
	if (pipe(to) || pipe(fro))
		return 1;
	if (kind->beside)
		pthread_create(&thread, NULL, kind->beside, NULL);
	usleep(10000);
	if (kind->once == hold_again)
		pthread_mutex_lock(&recursive);
	for (int i = 0; i < STRETCHES; i++) {
		int64_t begin_ns = now_ns(clock);
		for (int k = 0; k < kind->per_stretch; k++)
			kind->once();
		costs[i] = (double)(now_ns(clock) - begin_ns) / kind->per_stretch;
	}
	is_over = 1;
	qsort(costs, STRETCHES, sizeof *costs, compare);
	/* the least is luck where stretches differ by what they meet */
	printf("%.1f\n", costs[STRETCHES / 20]);
	fflush(stdout);
	_exit(0);
}
