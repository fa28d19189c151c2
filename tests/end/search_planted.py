"""Losses that are planted one by one, and found where they are, on a machine as busy as it may be: locks, active waiting, page
faults, waits in MPI by kind. The table of docs/method/properties.md says which test has which property."""
import json
import os
import subprocess

from sonde_test import Test

# of CPU time
WORK = r'''static void work(double seconds)
{
	struct timespec t;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	double end = (double)t.tv_sec + (double)t.tv_nsec * 1e-9 + seconds;
	do {
		for (int i = 0; i < 10000; i++)
			sink += i;
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	} while ((double)t.tv_sec + (double)t.tv_nsec * 1e-9 < end);
}
'''

THREADS = r'''
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#define KEPT __attribute__((noinline, noclone, noipa))
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t barrier;
static volatile int is_done;
static volatile double sink;
''' + WORK + r'''KEPT void hold(void)
{
	pthread_mutex_lock(&mutex);
	work(.01);
	pthread_mutex_unlock(&mutex);
}
KEPT void wait_actively(void)
{
	while (!is_done)
		__builtin_ia32_pause();
}
KEPT void step(double seconds)
{
	work(seconds);
	pthread_barrier_wait(&barrier);
}
KEPT void touch(void)
{
	char *memory = mmap(NULL, 1 << 22, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	for (int i = 0; i < 1 << 22; i += 4096)
		memory[i] = 1;
	munmap(memory, 1 << 22);
}
static void *other(void *what)
{
	if (*(char *)what == 'l')
		for (int i = 0; i < 20; i++)
			hold();
	else if (*(char *)what == 'b')
		for (int i = 0; i < 20; i++)
			step(.001); /* a twentieth of the other's */
	else
		wait_actively();
	return NULL;
}
int main(int argc, char **argv)
{
	pthread_t thread;
	char what = argv[1][0];
	(void)argc;
	if (what == 'f')
		for (int i = 0; i < 150; i++)
			touch();
	if (what == 'q')
		work(.3);
	if (what == 'f' || what == 'q')
		return 0;
	pthread_barrier_init(&barrier, NULL, 2);
	pthread_create(&thread, NULL, other, &what);
	if (what == 'l')
		for (int i = 0; i < 20; i++)
			hold();
	else if (what == 'b')
		for (int i = 0; i < 20; i++)
			step(.02);
	else
		work(.3);
	is_done = 1;
	pthread_join(thread, NULL);
	return 0;
}
'''

# both threads run all of it, and one of them waits for the other
TURNS = r'''
#include <pthread.h>
#include <time.h>
#define KEPT __attribute__((noinline, noclone, noipa))
static volatile int turn;
static volatile double sink;
''' + WORK + r'''KEPT void take_turn(int lane, int round)
{
	if (lane == 0) {
		work(.01);
		turn++;
	} else {
		while (turn <= round)
			__builtin_ia32_pause();
	}
}
KEPT void rounds(int lane)
{
	for (int i = 0; i < 20; i++) {
		take_turn(lane, i);
		work(.01);
	}
}
static void *other(void *none)
{
	rounds(1);
	return none;
}
int main(void)
{
	pthread_t thread;
	pthread_create(&thread, NULL, other, NULL);
	rounds(0);
	pthread_join(thread, NULL);
	return 0;
}
'''

# what first and second call is the same function; second waits by itself, too, where it is told so
SHARED = r'''
#include <stdlib.h>
#include <unistd.h>
#define KEPT __attribute__((noinline, noclone, noipa))
static int ends[2];
static volatile double sink;
#define TAKE                               \
	char byte;                         \
	if (read(ends[0], &byte, 1) != 1)  \
		_exit(1);                  \
	sink += byte
KEPT void shared(void) { TAKE; }
KEPT void own(void) { TAKE; }
KEPT void first(int n)
{
	for (int i = 0; i < n; i++)
		shared();
}
KEPT void second(int n, int of_its_own)
{
	for (int i = 0; i < n; i++)
		shared();
	for (int i = 0; i < of_its_own; i++)
		own();
}
int main(int argc, char **argv)
{
	int n = atoi(argv[1]), of_its_own = atoi(argv[2]);
	(void)argc;
	if (pipe(ends))
		return 1;
	if (!fork()) {
		for (int i = 0; i < 2 * n + of_its_own; i++) {
			usleep(20000);
			if (write(ends[1], "x", 1) != 1)
				_exit(1);
		}
		_exit(0);
	}
	first(n);
	second(n, of_its_own);
	for (int i = 0; i < 30000000; i++)
		sink += i;
	return 0;
}
'''

# main waits for the other thread in two functions
CONDITIONS = r'''
#include <pthread.h>
#define KEPT __attribute__((noinline, noclone, noipa))
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int turn;
static volatile double sink;
static void work(int times)
{
	for (int i = 0; i < 1000000 * times; i++)
		sink += i;
}
static void pass(int whose)
{
	pthread_mutex_lock(&mutex);
	turn = whose;
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&mutex);
}
#define AWAIT(whose)                                    \
	pthread_mutex_lock(&mutex);                     \
	while (turn != whose)                           \
		pthread_cond_wait(&changed, &mutex);    \
	pthread_mutex_unlock(&mutex)
KEPT void wait_first(void) { AWAIT(0); }
KEPT void wait_second(void) { AWAIT(0); }
KEPT void wait_other(void) { AWAIT(1); }
static void *other(void *argument)
{
	for (int i = 0; i < 20; i++) {
		wait_other();
		work(1);
		pass(0);
	}
	return argument;
}
int main(void)
{
	pthread_t thread;
	pthread_create(&thread, NULL, other, NULL);
	for (int i = 0; i < 20; i++) {
		work(8); /* waits of a thread that hardly works are no loss: a machine may be as busy as it likes */
		pass(1);
		if (i % 2)
			wait_first();
		else
			wait_second();
	}
	pthread_join(thread, NULL);
	return 0;
}
'''

# both calls of a region are its last ones: that of the runtime, and that of the work
TAIL_CALLS = r'''
#include <omp.h>
#include <time.h>
#define KEPT __attribute__((noinline))
static volatile double sink[64 * 16];
KEPT void work(void)
{
	struct timespec t;
	volatile double *own = &sink[16 * omp_get_thread_num()];
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	double end = (double)t.tv_sec + (double)t.tv_nsec * 1e-9 + .3;
	do {
		for (int i = 0; i < 10000; i++)
			*own += i;
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	} while ((double)t.tv_sec + (double)t.tv_nsec * 1e-9 < end);
}
KEPT void both(void)
{
#pragma omp parallel num_threads(2)
	work();
}
KEPT void alone(void) { work(); }
int main(void)
{
	both();
	both();
	alone();
	return 0;
}
'''

# each thread has a loop of its own, the first one's is longer; nothing is shared out
OWN_LOOPS = r'''
#include <omp.h>
static volatile double sink[64 * 16];
static void __attribute__((noinline)) region(void)
{
#pragma omp parallel num_threads(2)
	{
		int own = omp_get_thread_num();
		long n = own ? 10000000 : 40000000;
		for (long i = 0; i < n; i++)
			sink[16 * own] += 1.5 * (double)i;
	}
	sink[1]++;
}
static void __attribute__((noinline)) shared(void)
{
#pragma omp parallel for num_threads(2) schedule(static, 1)
	for (int i = 0; i < 2; i++)
		for (long k = 0; k < (i ? 10000000 : 40000000); k++)
			sink[16 * i] += 1.5 * (double)k;
	sink[1]++;
}
int main(void)
{
	for (int i = 0; i < 3; i++) {
		region();
		shared();
	}
	return 0;
}
'''

# main starts two threads and waits for their end
JOINS = r'''
#include <pthread.h>
static void *work(void *argument)
{
	volatile double sink = 0;
	for (int i = 0; i < 80000000; i++)
		sink += i;
	return argument;
}
int main(void)
{
	pthread_t threads[2];
	for (int i = 0; i < 2; i++)
		pthread_create(&threads[i], NULL, work, NULL);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
'''

MPI = r'''
#include <mpi.h>
#include <time.h>
static volatile double sink;
''' + WORK + r'''int main(int argc, char **argv)
{
	int rank;
	double value = 1, sum;
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	for (int i = 0; i < 8; i++) {
		if (!rank) work(.02);
		MPI_Barrier(MPI_COMM_WORLD);
		if (!rank) work(.02);
		MPI_Bcast(&value, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
		if (!rank) work(.02);
		MPI_Reduce(&value, &sum, 1, MPI_DOUBLE, MPI_SUM, 1, MPI_COMM_WORLD);
	}
	MPI_Finalize();
	return 0;
}
'''


FORTRAN = r'''
module waits
  use mpi
  implicit none
  double precision, volatile :: total = 0
contains
subroutine wait_there
  integer :: error
  call MPI_Barrier(MPI_COMM_WORLD, error)
  total = total + 1
end subroutine
end module
program main
  use waits
  implicit none
  integer :: rank, error, i, k
  call MPI_Init(error)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
  do i = 1, 10
    if (rank == 0) then
      do k = 1, 30000000
        total = total + k
      end do
    end if
    call wait_there
  end do
  call MPI_Finalize(error)
end program
'''

# waits of ranks, one kind a function
KINDS = r'''
#define _GNU_SOURCE
#include <mpi.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
#define KEPT __attribute__((noinline))
static volatile double sink;
static double value = 1;
''' + WORK + r'''static int pids[3];
/* The others wait for this one; a busy machine may give them no CPU meanwhile: so until that rank has had some. */
static void let_wait(int rank)
{
	struct timespec t, begin;
	clockid_t clock;
	if (clock_getcpuclockid(pids[rank], &clock) || clock_gettime(clock, &begin))
		return;
	for (int i = 0; i < 20000; i++) {
		usleep(200);
		if (clock_gettime(clock, &t) || (t.tv_sec - begin.tv_sec) * 1000000000ll + t.tv_nsec - begin.tv_nsec > 30000000)
			return;
	}
}
static void send(int to, int tag) { MPI_Send(&value, 1, MPI_DOUBLE, to, tag, MPI_COMM_WORLD); }
static void receive(int from, int tag) { MPI_Recv(&value, 1, MPI_DOUBLE, from, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE); }
KEPT void late_receiver(int rank)
{
	for (int i = 0; i < 8; i++) {
		if (rank == 0)
			MPI_Ssend(&value, 1, MPI_DOUBLE, 1, 1, MPI_COMM_WORLD);
		if (rank == 1) {
			let_wait(0);
			receive(0, 1);
		}
		sink++;
	}
}
KEPT void early_scan(int rank)
{
	double sum;
	for (int i = 0; i < 8; i++) {
		if (!rank)
			let_wait(1);
		MPI_Scan(&value, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
		sink++;
	}
}
KEPT void small_messages(int rank)
{
	for (int i = 0; i < 200000; i++) {
		if (rank == 0)
			send(1, 2);
		if (rank == 1)
			receive(0, 2);
	}
	sink++;
}
KEPT void polling(int rank)
{
	for (int i = 0, is_there; i < 8; i++) {
		if (rank == 0) {
			let_wait(1);
			send(1, 3);
		}
		if (rank == 1) {
			for (is_there = 0; !is_there;)
				MPI_Iprobe(0, 3, MPI_COMM_WORLD, &is_there, MPI_STATUS_IGNORE);
			receive(0, 3);
		}
	}
	sink++;
}
KEPT void transfer(int ranks)
{
	enum { N = 1 << 20 };
	double *from = calloc(2 * N, 8), *to = calloc(2 * N, 8);
	for (int i = 0; i < 40; i++)
		MPI_Alltoall(from, N / ranks, MPI_DOUBLE, to, N / ranks, MPI_DOUBLE, MPI_COMM_WORLD);
	free(from);
	free(to);
	sink++;
}
KEPT void master(int rank, int ranks)
{
	MPI_Status status;
	for (int i = 0; !rank && i < 6 * (ranks - 1); i++) {
		MPI_Recv(&value, 1, MPI_DOUBLE, MPI_ANY_SOURCE, 4, MPI_COMM_WORLD, &status);
		work(.02);
		send(status.MPI_SOURCE, 5);
	}
	for (int i = 0; rank && i < 6; i++) {
		send(0, 4);
		receive(0, 5);
	}
	sink++;
}
int main(int argc, char **argv)
{
	int rank, ranks, self = getpid();
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	MPI_Allgather(&self, 1, MPI_INT, pids, 1, MPI_INT, MPI_COMM_WORLD);
	late_receiver(rank);
	MPI_Barrier(MPI_COMM_WORLD);
	early_scan(rank);
	MPI_Barrier(MPI_COMM_WORLD);
	small_messages(rank);
	MPI_Barrier(MPI_COMM_WORLD);
	polling(rank);
	transfer(ranks);
	master(rank, ranks);
	MPI_Finalize();
	return 0;
}
'''

# threads off the CPU, one cause a letter
OFF = r'''
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#define KEPT __attribute__((noinline, noclone, noipa))
static volatile double sink[64];
static sem_t mine, theirs;
static void work(int who, int times)
{
	for (int i = 0; i < 1000000 * times; i++)
		sink[16 * who] += i;
}
static void *busy(void *argument) { work(1, 150); return argument; }
static void *once(void *argument) { work(1, 1); return argument; }
static void *poster(void *argument)
{
	for (int i = 0; i < 20; i++) {
		sem_wait(&theirs);
		work(1, 1);
		sem_post(&mine);
	}
	return argument;
}
KEPT void wait_post(void) { sem_wait(&mine); sink[5]++; }
KEPT void wait_end(pthread_t thread) { pthread_join(thread, NULL); sink[5]++; }
static void one_cpu(void)
{
	cpu_set_t set;
	pthread_t thread;
	CPU_ZERO(&set);
	CPU_SET(sched_getcpu(), &set);
	sched_setaffinity(0, sizeof set, &set);
	pthread_create(&thread, NULL, busy, NULL);
	work(2, 150);
	pthread_join(thread, NULL);
}
static void stopped(void)
{
	pid_t self = getpid();
	work(2, 50);
	if (!fork()) {
		kill(self, SIGSTOP);
		usleep(400000);
		kill(self, SIGCONT);
		_exit(0);
	}
	work(2, 50);
}
/* Two threads on one CPU that somebody stops for half of the time. */
static void half(void)
{
	pid_t self = getpid(), other = fork();
	if (!other)
		for (;;) {
			usleep(100000);
			kill(self, SIGSTOP);
			usleep(100000);
			kill(self, SIGCONT);
		}
	one_cpu();
	kill(other, SIGKILL);
	waitpid(other, NULL, 0);
}
static void semaphore(void)
{
	pthread_t thread;
	sem_init(&mine, 0, 0);
	sem_init(&theirs, 0, 0);
	pthread_create(&thread, NULL, poster, NULL);
	for (int i = 0; i < 20; i++) {
		work(2, 8);
		sem_post(&theirs);
		wait_post();
	}
	pthread_join(thread, NULL);
}
static void ends(void)
{
	pthread_t thread;
	for (int i = 0; i < 20; i++) {
		work(2, 8);
		pthread_create(&thread, NULL, once, NULL);
		wait_end(thread);
	}
}
static void device(void)
{
	enum { PAGES = 4096 };
	int file = open("pages", O_RDWR | O_CREAT | O_TRUNC, 0600);
	char *page = calloc(1, 4096);
	for (int i = 0; i < PAGES; i++)
		if (write(file, page, 4096) != 4096)
			exit(2);
	fsync(file);
	for (int round = 0; round < 10; round++) {
		posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED);
		char *memory = mmap(NULL, PAGES * 4096l, PROT_READ, MAP_SHARED, file, 0);
		madvise(memory, PAGES * 4096l, MADV_RANDOM);
		for (long i = 0; i < PAGES; i++)
			sink[0] += memory[i * 4096];
		munmap(memory, PAGES * 4096l);
	}
	unlink("pages");
	sleep(2); /* the host is looked at each second */
}
int main(int argc, char **argv)
{
	(void)argc;
	switch (argv[1][0]) {
	case 'o': one_cpu(); break;
	case 'n': stopped(); break;
	case 'h': half(); break;
	case 's': semaphore(); break;
	case 'j': ends(); break;
	case 'd': device(); break;
	}
	return 0;
}
'''


def properties(t, name, *words):
    done = t.run('search', '--experiment', name, '--format', 'json', '--threshold', '0', *words)
    return json.loads(done.stdout)['properties']


def places(rows, property):
    return {p['name'] for r in rows if r['property'] == property for p in r['path']}


def threads(t):
    app = t.compile(THREADS, '-g', '-O1', '-pthread', output='./planted')
    found = {}
    for what, property, place in (('l', 'LockContention', 'hold'), ('b', 'CondWait', 'step'), ('s', 'SpinWait', 'wait_actively'), ('f', 'MinorFaultStorm', 'touch')):
        t.run('record', '-q', '--clock', '1000', '-o', what, '--', app, what)
        found[what] = properties(t, what)
        t.check(place in places(found[what], property), f'{property} is found in {place}', [(r['property'], r['function']) for r in found[what]])
    t.run('record', '-q', '--clock', '1000', '-o', 'q', '--', app, 'q')
    quiet = [r['property'] for r in properties(t, 'q')]
    wrong = [p for p in quiet if p in ('LockContention', 'SpinWait', 'CondWait', 'SemWait', 'JoinWait', 'HeapArenaContention', 'IOBlocked')]
    t.equal(wrong, [], 'a program that only works waits for nobody')


def turns(t):
    """Where one of two threads waits actively, and the other one works."""
    app = t.compile(TURNS, '-g', '-O1', '-pthread', output='./turns')
    t.run('record', '-q', '--clock', '1000', '-o', 'turns.run', '--', app)
    rows = properties(t, 'turns.run')
    t.equal({r['function'] for r in leaves(rows, 'SpinWait')}, {'take_turn'}, 'an active wait is where it is, also where the other thread works there')


def leaves(rows, property):
    return [r for r in rows if r['property'] == property and not r['refined']]


def told(rows, property):
    return sorted((r['function'], round(r['severity'], 4)) for r in leaves(rows, property))


def shared_callees(t):
    """Leaves add up to the loss, each second once, also where two functions call one; where is the program's line."""
    app = t.compile(SHARED, '-g', '-O1', output='./shares')
    for n, of_its_own, where in ((8, 0, ['shared']), (6, 10, ['own', 'shared'])):
        t.run('record', '-q', '-o', f'shared{of_its_own}', '--', app, str(n), str(of_its_own))
        rows = properties(t, f'shared{of_its_own}')
        all_of_it = [r['severity'] for r in rows if r['property'] == 'IOBlocked' and r['region_kind'] == 'program']
        t.equal(sorted(r['function'] for r in leaves(rows, 'IOBlocked')), where, 'the leaves are in the functions that read')
        t.within(sum(r['severity'] for r in leaves(rows, 'IOBlocked')), (all_of_it or [0])[0], .001, 'and add up to the loss of the program')
    app = t.compile(CONDITIONS, '-g', '-O1', '-pthread', output='./conditions')
    t.run('record', '-q', '-o', 'conditions.run', '--', app)
    rows = properties(t, 'conditions.run')
    t.check({'wait_first', 'wait_second'} <= {r['function'] for r in leaves(rows, 'CondWait')}, 'a condition that two functions wait for is told of each',
            told(rows, 'CondWait'))
    t.check(all(r['file'].endswith('.c') and r['line_first'] for r in leaves(rows, 'CondWait')) and
            not any('nptl' in (r['file'] or '') for r in leaves(rows, 'CondWait')), 'with its lines', told(rows, 'CondWait'))


def tail_calls(t):
    """A team's work is in its region, also where neither the call that starts it nor the compiler's function for it is on a stack."""
    for compiler in ('gcc', 'clang'):
        if not t.has(compiler):
            t.skip(f'tail calls, {compiler}', 'no compiler')
            continue
        app = t.compile(TAIL_CALLS, '-g', '-O2', '-fopenmp', compiler=compiler, output=f'./tail.{compiler}')
        t.run('record', '-q', '--clock', '1000', '-o', f'tail.{compiler}.run', '--', app)
        rows = properties(t, f'tail.{compiler}.run')
        alone = [r['evidence']['seconds'] for r in leaves(rows, 'InsufficientParallelism')]
        t.within(sum(alone), .3, .12, f'{compiler}: one thread works alone for 0.3 s of 0.9 s')
        t.check(not [r for r in rows if r['property'] == 'ImbalanceInParallelRegion' and r['evidence']['seconds'] > .15],
                f'{compiler}: and both work equally in the region', [(r['property'], r['evidence']) for r in rows])


def own_loops(t):
    """An imbalance is a loop's where its iterations are shared out, else the region's."""
    app = t.compile(OWN_LOOPS, '-g', '-O2', '-fopenmp', output='./own_loops')
    t.run('record', '-q', '--clock', '1000', '-o', 'own_loops.run', '--', app)
    rows = properties(t, 'own_loops.run')
    functions = {p: {n for r in rows if r['property'] == p for n in (step['name'] for step in r['path'])} for p in
                 ('ImbalanceInParallelLoop', 'ImbalanceInParallelRegion')}
    t.check('shared' in functions['ImbalanceInParallelLoop'] and 'region' not in functions['ImbalanceInParallelLoop'],
            'a loop that each thread runs whole has no imbalance of its iterations', functions)
    t.check('region' in functions['ImbalanceInParallelRegion'], 'its region has', functions)


def lanes(t):
    """Lanes are threads at work: who only waits for their end is none."""
    app = t.compile(JOINS, '-g', '-O1', '-pthread', output='./joins')
    t.run('record', '-q', '-o', 'joins.run', '--', app)
    found = json.loads(t.run('search', '--experiment', 'joins.run', '--format', 'json', '--threshold', '0').stdout)
    hot = max((r for r in found['properties'] if r['property'] == 'HotRegion'), key=lambda r: r['severity'])
    t.within(hot['severity'], hot['evidence']['seconds'] / (2 * found['phase']['mean_s']), 1e-9, 'two threads at work are two lanes')
    t.equal([r['property'] for r in found['properties'] if r['property'] == 'JoinWait'], [], 'and waiting for them is no loss')


def users_property(t):
    """On the experiment q of a program that only works: what refines a shipped property takes its place."""
    with open('mine.prop', 'w') as out:
        out.write('property Mine(r: region(loop)) refines HotRegion {\n  condition own(r) / (time(phase) * lanes) > 0.01;\n  confidence 0.5;\n'
                  '  severity own(r) / (time(phase) * lanes);\n  evidence t = own(r);\n  explain "mine {t:time}";\n}\n')
    rows = properties(t, 'q', '--properties', 'mine.prop')
    mine = [(r['property'], r['refined']) for r in rows if r['property'] in ('Mine', 'HotRegion') and
            r['region'] in {other['region'] for other in rows if other['property'] == 'Mine'}]
    t.check(('Mine', False) in mine and ('HotRegion', True) in mine and ('Mine', True) not in mine, "a user's property is the leaf of what it refines", mine)


def crash(t):
    with open('crash.c', 'w') as out:
        out.write('#include <signal.h>\nint main(void) { for (volatile long i = 0; i < 100000000; i++) ; raise(SIGSEGV); return 0; }\n')
    app = t.compile('./crash.c', '-g', '-O1', output='./crash')
    done = t.run('search', '-q', '--restarts', '0', app)
    t.check('ended with status 139, as by signal 11' in done.stderr, 'a program that crashed is told as one', done.stderr)


def ranks(t):
    if not t.has('mpicc', 'mpirun'):
        t.skip('waits in MPI', 'no MPI')
        return
    app = t.compile(MPI, '-O1', '-g', compiler='mpicc', output='./waits')
    for launch in ('mpirun --allow-run-as-root --oversubscribe -n 2', 'mpirun -n 2'):
        done = t.run('search', '--format', 'json', '--budget', '1', '--threshold', '0.0001', '--launch', launch, app)
        if done.returncode == 0:
            break
    rows = json.loads(done.stdout)['properties']
    for property in ('WaitAtBarrier', 'LateBroadcast', 'EarlyReduce'):
        here = [r for r in rows if r['property'] == property]
        # a rank that got no CPU lets the other one wait, too
        t.check(here and here[0]['processes'] in ('1', '0-1') and 'mpi' in here[0]['sources'], f'{property}: rank 1 waits for rank 0', done.stderr,
                [(r['property'], r['processes']) for r in rows])
    t.check(not any(r['property'] in ('LateReceiver', 'LateSender', 'ManySmallMessages', 'OverloadedMaster', 'EarlyScan') for r in rows),
            'and for nothing else')


def fortran_ranks(t):
    """What Fortran calls has names of the library's own on stacks: samples alone tell that it is MPI."""
    if not t.has('mpifort', 'mpirun'):
        t.skip('waits in MPI of Fortran', 'no MPI for Fortran')
        return
    with open('waits.f90', 'w') as out:
        out.write(FORTRAN)
    app = t.compile('./waits.f90', '-O1', '-g', compiler='mpifort', output='./fortran')
    for launch in (['mpirun', '--allow-run-as-root', '--oversubscribe', '-n', '2'], ['mpirun', '-n', '2']):
        done = t.run('record', '-q', '--clock', '1000', '-o', 'fortran.run', '--', *launch, app)
        if done.returncode == 0:
            break
        t.command('rm', '-rf', 'fortran.run')
    rows = properties(t, 'fortran.run')
    t.check(any('wait_there' in place for place in places(rows, 'MPIExcessive')), 'a barrier that Fortran waits at is found in wait_there',
            sorted((r['property'], r['function'] or '') for r in rows))


def kinds(t):
    """Three ranks, one of which the others wait for in each function, by another kind of call."""
    if not t.has('mpicc', 'mpirun'):
        t.skip('kinds of waits in MPI', 'no MPI')
        return
    app = t.compile(KINDS, '-O1', '-g', compiler='mpicc', output='./kinds')
    for launch in (['mpirun', '--allow-run-as-root', '--oversubscribe', '-n', '3'], ['mpirun', '-n', '3']):
        done = t.run('record', '-q', '--mpi', '--clock', '1000', '-o', 'kinds.run', '--', *launch, app)
        if done.returncode == 0:
            break
        t.command('rm', '-rf', 'kinds.run')
    rows = properties(t, 'kinds.run')
    for property, place in (('LateReceiver', 'late_receiver'), ('EarlyScan', 'early_scan'), ('PollingWait', 'polling'),
                            ('OverloadedMaster', 'master')):
        t.check(place in places(rows, property), f'{property} is found in {place}', sorted((r['property'], r['function'] or '') for r in rows))
    scans = {r['region_kind']: r['evidence']['seconds'] for r in rows if r['property'] == 'EarlyScan' and r['function'] in (None, 'early_scan')}
    t.within(scans.get('program'), scans.get('function', 9), 1e-9, 'scans take no time of other calls')
    inside = [r['function'] for r in rows if r['property'] in ('MPIExcessive', 'TransferBound') and 'sysdeps' in (r['file'] or '')]
    t.equal(inside, [], 'what MPI calls in the C library is no place of the program')
    small = [r['evidence'] for r in rows if r['property'] == 'ManySmallMessages']
    t.check(small and max(e['per_second'] for e in small) > 1000 and all(abs(e['mean_bytes'] - 8) < 8 for e in small), 'ManySmallMessages', small)
    t.check([r for r in rows if r['property'] == 'MPIExcessive' and r['refined']], 'MPIExcessive is what all of them refine')


def off_cpu(t):
    app = t.compile(OFF, '-g', '-O1', '-pthread', output='./off')
    found = {}
    for what in 'onsjd':
        t.run('record', '-q', '--clock', '1000', '-o', f'off.{what}', '--', app, what)
        found[what] = properties(t, f'off.{what}')
    def seconds(what, property):
        return max([r['evidence']['seconds'] for r in found[what] if r['property'] == property], default=0)
    cpu = sum(r['cpu_s'] for r in t.show('threads', 'off.o')['rows'])
    t.check(seconds('o', 'Oversubscribed') > .8 * cpu, 'two threads on one CPU wait for it as long as they work together', seconds('o', 'Oversubscribed'), cpu)
    t.check(seconds('n', 'NotRunning') > .35, 'a program that somebody stops does not run', seconds('n', 'NotRunning'))
    t.check('wait_post' in places(found['s'], 'SemWait'), 'SemWait is found in wait_post', [(r['property'], r['function']) for r in found['s']])
    t.check('wait_end' in places(found['j'], 'JoinWait'), 'JoinWait is found in wait_end', [(r['property'], r['function']) for r in found['j']])
    packets = t.show('packets', 'off.d')['rows']
    if sum(r['major_faults'] or 0 for r in packets) < 1000 or not sum(r['pressure_io_s'] or 0 for r in packets):
        t.skip('MajorFaults', 'no page faults from a device here, or no account of it')
        return
    faults = [r['evidence'] for r in found['d'] if r['property'] == 'MajorFaults']
    t.check(faults and 0 < faults[0]['seconds'] <= sum((r['pressure_io_s'] or 0) for r in packets) * 1.5 + .2, 'page faults from a device take what it took', faults)


# takes so many seconds of CPU time on one CPU
PINNED = r'''
#define _GNU_SOURCE
#include <sched.h>
#include <stdlib.h>
#include <time.h>
static volatile double sink;
int main(int argc, char **argv)
{
	cpu_set_t set;
	struct timespec t = { 0 };
	CPU_ZERO(&set);
	CPU_SET(atoi(argv[1]), &set);
	sched_setaffinity(0, sizeof set, &set);
	while (t.tv_sec * 1000 + t.tv_nsec / 1000000 < atoi(argv[2])) {
		for (int i = 0; i < 100000; i++)
			sink += i;
		clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	}
	return argc > 3;
}
'''


def others(t):
    """A program of one thread beside three that want its CPU: it does nothing to itself, and its own rows come first."""
    app = t.compile(PINNED, '-g', '-O1', output='./pinned')
    cpu = str(min(os.sched_getaffinity(0)))
    beside = [subprocess.Popen([app, cpu, '600000']) for _ in range(3)]
    try:
        t.run('record', '-q', '--clock', '1000', '-o', 'beside', '--', app, cpu, '1000')
    finally:
        for other in beside:
            other.kill()
            other.wait()
    done = t.run('search', '--experiment', 'beside', '--format', 'json')
    found = json.loads(done.stdout)
    rows = {r['property']: r for r in found['properties']}
    # one of four at most, by a fair scheduler: three seconds
    t.check(rows.get('CpusTakenByOthers', {'evidence': {'seconds': 0}})['evidence']['seconds'] > 1.5, 'others had the CPU', done.stdout[:2000])
    t.check('Oversubscribed' not in rows, 'and not the program\'s own threads', rows.get('Oversubscribed'))
    text = t.run('search', '--experiment', 'beside').stdout
    t.check('What other work on the machine took' in text and text.index('Time lost') < text.index('What other work') < text.index('CpusTakenByOthers'),
            'what it loses itself is told before that', text)


def left_over(t):
    """What a more special property has is taken out of the general one, and the rest stays: leaves add up to the loss."""
    app = t.compile(OFF, '-g', '-O1', '-pthread', output='./off')
    t.run('record', '-q', '-o', 'half.run', '--', app, 'h')
    found = json.loads(t.run('search', '--experiment', 'half.run', '--format', 'json').stdout)
    rows = {r['property']: r for r in found['properties'] if r['property'] in ('NotRunning', 'Oversubscribed', 'CpusTakenByOthers', 'MajorFaults')}
    told = [(p, r['severity'], r['refined'], r['evidence']) for p, r in rows.items()]
    at_work = [r for r in t.show('threads', 'half.run')['rows'] if r['cpu_s'] > .05]
    # by the kernel's account
    lost = sum(r['elapsed_s'] - r['user_s'] - r['system_s'] - r['traced_blocked_s'] for r in at_work) / (len(at_work) * found['phase']['mean_s'])
    t.equal(len(at_work), 2, 'two threads work')
    t.check({'NotRunning', 'Oversubscribed'} <= set(rows), 'they had no CPU, and were stopped', told)
    ends = sum(r['severity'] for r in rows.values() if not r['refined'])
    t.check(.8 <= ends / lost <= 1.1, 'leaves of time without a CPU add up to it', ends, lost, told)
    row = rows.get('NotRunning', {})
    t.within(row['evidence']['seconds'] if row else None, row.get('severity', 0) * found['phase']['mean_s'] * 2, 1e-6, 'seconds are those of the row')


def main():
    t = Test()
    left_over(t)
    others(t)
    off_cpu(t)
    kinds(t)
    threads(t)
    turns(t)
    shared_callees(t)
    tail_calls(t)
    own_loops(t)
    lanes(t)
    users_property(t)
    crash(t)
    ranks(t)
    fortran_ranks(t)
    t.done()


main()
