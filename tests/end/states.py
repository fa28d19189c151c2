"""States of threads by function: time lies where it passed, and adds up to the kernel's account."""
from sonde_test import Test

t = Test()
program = t.compile(r"""
#include <pthread.h>
#include <stdio.h>
#include <sys/wait.h>
#include <poll.h>
#include <time.h>
#include <unistd.h>
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int pipes[2];
static double sums[5];
static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec * 1e-9;
}
#define PART(name, number, ...) \
	__attribute__((noinline)) static void name(void) { double begin = now(); __VA_ARGS__ sums[number] += now() - begin; }
PART(locks, 0, pthread_mutex_lock(&mutex); pthread_mutex_unlock(&mutex);)
PART(reads, 1, char c; if (read(pipes[0], &c, 1) < 0) perror("read");)
PART(polls, 2, poll(0, 0, 80);)
PART(sleeps, 3, usleep(80000);)
PART(awaits, 4, if (!fork()) { usleep(80000); _exit(0); } wait(0);)
__attribute__((noinline)) static void burns(void)
{
	for (volatile long i = 0; i < 100000000; i++)
		;
}
static void *other(void *unused)
{
	for (int i = 0; i < 3; i++) {
		pthread_mutex_lock(&mutex);
		if (write(pipes[1], "x", 1) < 0)
			perror("write");
		usleep(120000);
		pthread_mutex_unlock(&mutex);
		usleep(60000);
	}
	return unused;
}
int main(void)
{
	pthread_t thread;
	if (pipe(pipes))
		return 1;
	pthread_create(&thread, 0, other, 0);
	for (int i = 0; i < 3; i++) {
		reads();
		locks();
		polls();
		sleeps();
	}
	awaits();
	burns();
	pthread_join(thread, 0);
	printf("%f %f %f %f %f\n", sums[0], sums[1], sums[2], sums[3], sums[4]);
	return 0;
}
""", '-O1', '-g', '-pthread', output='./parts')
run = t.run('record', '-q', '-o', 'e', '--follow', 'none', program)
truth = [float(word) for word in run.stdout.split()]
states = t.show('states', '--all', experiment='e')
rows = {row['function']: row for row in states['rows']}
KEYS = ['user_s', 'system_s', 'wait_cpu_s', 'lock_s', 'io_s', 'poll_s', 'sleep_s', 'child_s', 'other_wait_s']
threads = t.show('threads', '--all', experiment='e')['rows']
unplaced = sum(row['wait_cpu_s'] or 0 for row in threads) + 0.05  # waiting for a CPU may lie anywhere in a call
for number, (function, key) in enumerate([('locks', 'lock_s'), ('reads', 'io_s'), ('polls', 'poll_s'), ('sleeps', 'sleep_s'), ('awaits', 'child_s')]):
    got = rows.get(function, {}).get(key) or 0
    t.check(truth[number] - 0.05 * truth[number] - unplaced <= got <= 1.01 * truth[number] + 0.002,
            f'{key} of {function}: what the program measured itself', got, truth[number], unplaced)
    others = sum(row[key] for name, row in rows.items() if name not in (function, 'main', 'other'))
    t.check(others < 0.01 or key == 'lock_s', f'{key}: of no other function', {n: r[key] for n, r in rows.items()})
t.check(rows['burns']['user_s'] > 0.5 * sum(row['user_s'] for row in rows.values()), 'user time is where it is computed', rows)
whole = sum(row[key] for row in states['rows'] for key in KEYS)
account = sum(row['cpu_s'] + (row['wait_cpu_s'] or 0) + (row['blocked_s'] or 0) for row in threads)
t.within(whole, account, 0.05 * account, 'all states add up to the kernel\'s account of the threads')
t.check(all(abs(row['wall_s'] - sum(row[key] for key in KEYS)) < 1e-6 for row in states['rows']), 'a row is the sum of its states')
t.equal(states['threads_unknown'], 0, 'every thread has its account')
t.check(all(row['minor_faults'] is None and row['major_faults'] is None for row in states['rows']), 'faults by function are unknown, not 0')
cut = t.show('states', '--time', '0-0.3', experiment='e')
t.check(cut['threads_unknown'] > 0 and all(row['wait_cpu_s'] == 0 for row in cut['rows']), 'a filter cuts through accounts: said')
t.check('cuts through' in t.run('show', 'states', 'e', '--time', '0-0.3').stdout, 'in text, too')
t.done()
