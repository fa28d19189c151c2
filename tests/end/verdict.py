"""The first screen on programs of one kind each: the verdict is the one that an expert gives.

Beside other programs the verdict may be that these had the CPUs; the program's own kind then stands among the
findings, and goes on in the same line. So what is judged is the largest cause that is the program's own.
"""
import json
import os
import re
import shutil
import subprocess
import sys
import threading
import time

from sonde_test import Test

ONE = r'''
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_spinlock_t spin;
static volatile double x = 1;

/* CPU time, not elapsed time: the same work beside other programs. */
static double used(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

__attribute__((noinline)) static void work(double seconds)
{
	for (double end = used() + seconds; used() < end;)
		for (int i = 0; i < 100000; i++)
			x = x * 0.9999 + 0.1;
}

static void *locks(void *unused)
{
	for (int i = 0; i < 5; i++) {
		pthread_mutex_lock(&mutex);
		work(0.01);
		usleep(20000);
		pthread_mutex_unlock(&mutex);
		usleep(10); /* another one's turn */
	}
	return unused;
}

static void *spins(void *unused)
{
	pthread_spin_lock(&spin);
	for (double end = used() + 0.4; used() < end;)
		sched_yield();
	pthread_spin_unlock(&spin);
	return unused;
}

static int turn;

static void *flags(void *unused)
{
	while (!__atomic_load_n(&turn, __ATOMIC_SEQ_CST))
		;
	return unused;
}

/* The other thread looks at the flag all the while. */
static void flag(void)
{
	pthread_t other;

	pthread_create(&other, NULL, flags, NULL);
	usleep(500000);
	__atomic_store_n(&turn, 1, __ATOMIC_SEQ_CST);
	pthread_join(other, NULL);
}

static void *works(void *unused)
{
	work(0.3);
	return unused;
}

/* As runtimes of languages park their threads: by a system call of its own. */
static void *parks(void *unused)
{
	struct timespec pause = { 0, 5000000 };
	long result;

	for (int i = 0; i < 100; i++) {
		work(0.004);
		__asm__ volatile("syscall"
				 : "=a"(result)
				 : "a"(35L), "D"(&pause), "S"(0L) /* nanosleep */
				 : "rcx", "r11", "memory");
	}
	return unused;
}

static void threads(void *(*run)(void *), int count)
{
	pthread_t all[8];

	for (int i = 0; i < count; i++)
		pthread_create(&all[i], NULL, run, NULL);
	for (int i = 0; i < count; i++)
		pthread_join(all[i], NULL);
}

static void faults(void)
{
	for (double end = used() + 0.5; used() < end;) {
		char *bytes = mmap(NULL, 16 << 20, PROT_READ | PROT_WRITE,
				   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		for (int i = 0; i < 16 << 20; i += 4096)
			bytes[i] = 1;
		munmap(bytes, 16 << 20);
	}
}

static void generated(void)
{
	/* mov ecx, 0x20000000; loop: dec ecx; jnz loop; ret */
	static const unsigned char code[] = { 0xb9, 0, 0, 0, 0x20, 0xff, 0xc9, 0x75, 0xfc, 0xc3 };
	void *at = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
			MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	memcpy(at, code, sizeof(code));
	((void (*)(void))at)();
}

static void child(void)
{
	if (!fork()) {
		work(0.5);
		_exit(0);
	}
	wait(NULL);
}

int main(int argc, char **argv)
{
	const char *kind = argc > 1 ? argv[1] : "";
	char byte;

	pthread_spin_init(&spin, 0);
	if (!strcmp(kind, "work"))
		work(0.5);
	else if (!strcmp(kind, "locks"))
		threads(locks, 4);
	else if (!strcmp(kind, "spins"))
		threads(spins, 2);
	else if (!strcmp(kind, "flags"))
		flag();
	else if (!strcmp(kind, "workers"))
		threads(works, 2);
	else if (!strcmp(kind, "parked"))
		threads(parks, 4);
	else if (!strcmp(kind, "over"))
		threads(works, 6);
	else if (!strcmp(kind, "faults"))
		faults();
	else if (!strcmp(kind, "generated"))
		generated();
	else if (!strcmp(kind, "child"))
		child();
	else if (!strcmp(kind, "sleep"))
		usleep(500000);
	else if (!strcmp(kind, "read"))
		return read(0, &byte, 1) < 0;
	return 0;
}
'''
# No function and no loop takes 5 % of this: a hundred alike.
FLAT = '#include <stdio.h>\nstatic volatile double x = 1;\n' + ''.join(
    f'__attribute__((noinline)) static void f{i}(void) {{ ' + f'x = x * 0.99{i} + 0.{i + 1}; ' * 40 + '}\n'
    for i in range(100)) + 'int main(void) { for (int k = 0; k < 60000; k++) { ' + ''.join(
        f'f{i}(); ' for i in range(100)) + '} return printf("%g\\n", x) < 0; }\n'

# A script that looks now and then whether its child has ended.
POLLING = 'import subprocess, time\nchild = subprocess.Popen(["./one", "workers"])\nwhile child.poll() is None:\n    time.sleep(0.1)\n'

# program, its argument, options of record, kind, words of its evidence
CASES = [
    ('one', 'work', (), 'compute_loops', r'in one loop, \S+:\d+'),
    ('flat', '', (), 'compute_flat', 'spread over many places'),
    ('one', 'over', (), 'oversubscribed', '7 threads on 1 CPU'),
    ('one', 'spins', (), 'spin', 'for locks or flags in (sched_yield|pthread_spin_lock)'),
    ('one', 'flags', (), 'spin', 'for locks or flags in flags'),
    ('one', 'locks', (), 'lock_wait', 'in pthread_mutex_lock, called by locks'),
    ('one', 'read', (), 'io_wait', 'in read, called by main'),
    ('one', 'child', ('--follow', 'none'), 'child_wait', 'not measured'),
    ('one', 'sleep', (), 'sleep', 'in usleep, called by main'),
    ('one', 'faults', (), 'memory', 'page faults'),
    ('one', 'generated', (), 'unknown_code', 'generated at run time'),
    ('/bin/true', '', (), 'too_short', 'Too short to tell'),
]

t = Test()
programs = {'one': t.compile(ONE, '-O1', '-g', '-pthread', output='./one'),
            'flat': t.compile(FLAT, '-O1', output='./flat'), '/bin/true': '/bin/true'}
one_cpu = min(os.sched_getaffinity(0))


def record(name, program, argument, options):
    """Recorded; the reader is told something only after half a second."""
    words = [t.sonde, 'record', '-o', name, *options, '--', programs[program], *([argument] if argument else [])]
    more = {'preexec_fn': lambda: os.sched_setaffinity(0, {one_cpu})} if argument in ('over', 'parked') else {}
    if argument == 'read':
        end, begin = os.pipe()
        threading.Thread(target=lambda: (time.sleep(0.5), os.write(begin, b'x'), os.close(begin))).start()
        more['stdin'] = end
    return t.command(*words, **more).returncode


def own(summary):
    """The largest cause of the program's own: others may have had the CPUs, and a working child is told apart."""
    return next((f for f in summary['findings'] if f['kind'] != 'waiting_for_cpu'), summary['findings'][0])


def is_harmless(finding):
    """Nothing is lost by it: waiting for a child that works, a queue of threads that do not wait for each other."""
    return bool(re.match('Nothing is lost|Harmless', finding['remedy']))


def is_squeezed(finding):
    """Two threads that got one CPU all the while: then spinning is part of that cause."""
    return finding['kind'] == 'oversubscribed' and 'on 1 CPU' in finding['sentence'] and 'spin' in finding['sentence']


for program, argument, options, kind, words in CASES:
    name = f'{kind}.{argument}'
    status = record(name, program, argument, options)
    summary = t.show('summary', experiment=name)
    verdict, findings = summary['verdict'], summary['findings']
    finding = own(summary)
    t.check(status == 0 and verdict['kind'] in (finding['kind'], 'waiting_for_cpu') and
            (finding['kind'] == kind and re.search(words, finding['sentence']) or kind == 'spin' and is_squeezed(finding)),
            f'{kind}: the verdict, or what comes first behind waiting for CPUs', verdict, findings)
    t.check(verdict['sentence'] and verdict['confidence'] in ('high', 'medium', 'low') and len(findings) <= 6 and
            all(list(f) == ['kind', 'seconds', 'share', 'sentence', 'remedy', 'confidence'] and f['remedy'] for f in findings) and
            findings == sorted(findings, key=lambda f: (is_harmless(f), -f['seconds'])),
            f'{kind}: keys of the contract, most seconds first, what is harmless last', verdict, findings)
    text = ' '.join(t.run('show', 'summary', name).stdout.split())
    places = [text.find(' '.join(f['sentence'].split())) for f in findings]
    t.check(text.find('Verdict: ' + verdict['sentence']) < min(places) and -1 not in places and places == sorted(places),
            f'{kind}: the terminal has the same in the same order', text, places)
    report = json.loads(t.run('report', name, '--format', 'json', '-o', '-').stdout)['summary']
    t.equal((report['verdict'], report['findings']), (verdict, findings), f'{kind}: so has the report')

# own workers are no blocking: not among findings, apart in the bar
for argument in ('workers', 'child'):
    record(argument, 'one', argument, ())
    summary = t.show('summary', experiment=argument)
    t.check(summary['verdict']['kind'] in ('compute_loops', 'waiting_for_cpu', 'oversubscribed') and
            not any(f['kind'] in ('lock_wait', 'sleep', 'io_wait') for f in summary['findings']),
            f'{argument}: waiting for them is not what limits it', summary['verdict'], summary['findings'])
    page = t.run('show', 'summary', argument).stdout
    bar = {name: re.search(rf'^   {name} .*? ([0-9.]+) %', page, re.M) for name in ('own workers', 'blocked')}
    t.check(bar['own workers'] and bar['blocked'] and float(bar['own workers'][1]) > float(bar['blocked'][1]),
            f'{argument}: the bar has them apart', page)
t.check(any(f['kind'] == 'child_wait' for f in summary['findings'][1:]) and
        any(f['kind'] == 'compute_loops' for f in summary['findings']),
        'a working child is told beside what it does', summary['findings'])
# what merely waits for its children leads no list, however it waits for them
with open(os.path.join(t.folder, 'Makefile'), 'w') as makefile:
    makefile.write('all: a b\na b:\n\t./one workers\n.PHONY: all a b\n')
LAUNCHERS = [['sh', '-c', './one workers; true'], ['sh', '-c', 'text=$(./one workers); true'], ['timeout', '100', './one', 'workers'],
             ['env', 'A=B', './one', 'workers'], ['nice', './one', 'workers']]
LAUNCHERS += [['make', '-s'], ['make', '-s', '-j2']] if shutil.which('make') else []
LAUNCHERS += [[sys.executable, '-c', POLLING]]
for number, launcher in enumerate(LAUNCHERS):
    t.run('record', '-o', f'launched.{number}', '--', *launcher)
    summary = t.show('summary', experiment=f'launched.{number}')
    worth = [f for f in summary['findings'] if f['kind'] != 'child_wait']
    t.check(summary['verdict']['kind'] in ('compute_loops', 'compute_flat', 'waiting_for_cpu', 'oversubscribed') and
            not any(f['kind'] in ('sleep', 'io_wait', 'lock_wait') and f['share'] > 0.1 for f in worth),
            f'{" ".join(" ".join(launcher).split())[:40]}: what waits for its children does not lead',
            summary['verdict'], *[(f['kind'], f['seconds'], f['sentence']) for f in summary['findings']])
# threads that a runtime parks while others have the CPUs lose nothing
record('parked', 'one', 'parked', ())
summary = t.show('summary', experiment='parked')
parked = sum(f['seconds'] for f in summary['findings'] if f['kind'] in ('lock_wait', 'io_wait', 'sleep'))
t.check(own(summary)['kind'] in ('compute_loops', 'oversubscribed') and parked < 0.5 * summary['cpu_s'],
        'parked: blocked in calls of its own, while others work, is no loss', summary['verdict'], summary['findings'])
# what spins is nothing hot
hot = re.search(r'hottest functions.*?\n\n', t.run('show', 'summary', 'spin.spins').stdout, re.S)
t.check(hot and 'sched_yield' not in hot[0] and 'pthread_spin_lock' not in hot[0], 'spin is no hot function', hot and hot[0])

# a rank that works while the other waits for it
RANKS = '''#include <mpi.h>
#include <time.h>
static double cpu_s(void)
{
	struct timespec now;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}
int main(int argc, char **argv)
{
	int rank;
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	for (double end = cpu_s() + (rank ? 1.0 : 0.1); cpu_s() < end;)
		;
	MPI_Barrier(MPI_COMM_WORLD);
	return MPI_Finalize();
}
'''
if shutil.which('mpicc.openmpi') and shutil.which('mpirun.openmpi'):
    with open(os.path.join(t.folder, 'ranks.c'), 'w') as source:
        source.write(RANKS)
    subprocess.run(['mpicc.openmpi', '-O1', '-g', 'ranks.c', '-o', 'ranks'], cwd=t.folder, check=True)
    env = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT='1', OMPI_ALLOW_RUN_AS_ROOT_CONFIRM='1')
    # a run in which other programs have the CPUs for most of the time says that and no more: it is made again
    for _ in range(5):
        shutil.rmtree(os.path.join(t.folder, 'ranked'), ignore_errors=True)
        ran = subprocess.run(['mpirun.openmpi', '--oversubscribe', '-n', '2', t.sonde, 'record', '-o', 'ranked', './ranks'], cwd=t.folder, env=env,
                             stdin=subprocess.DEVNULL, capture_output=True, timeout=200)
        t.equal(ran.returncode, 0, f'ranks are recorded: {ran.stderr[-2000:]}')
        summary = t.show('summary', experiment='ranked')
        if summary['verdict']['kind'] != 'waiting_for_cpu':
            break
    waiting = [f for f in summary['findings'] if f['kind'] in ('mpi_wait', 'oversubscribed')]
    t.check(waiting and (re.search('PMPI_(Init|Barrier|Finalize)', waiting[0]['sentence']) or waiting[0]['kind'] == 'oversubscribed'),
            'a rank that waits for the other: by the call it waits in, or they shared one CPU', summary['verdict'], summary['findings'])

    def most_of(name, ranks):
        """Seconds that ranks may have blocked by kind of finding: their own waits, and a little of their CPU time."""
        own = dict.fromkeys(('sleep', 'io_wait', 'lock_wait', 'child_wait'), 0.1 * sum(row['cpu_s'] for row in ranks))
        for row in t.show('waits', name, '-p', ','.join(str(row['process']) for row in ranks), '--all')['rows']:
            if row['kind'] != 'poll':  # threads of the library's own that idle are no loss
                own[{'sleep': 'sleep', 'io': 'io_wait', 'child': 'child_wait'}.get(row['kind'], 'lock_wait')] += row['blocked_s']
        numbers = {row['process'] for row in ranks}
        own['lock_wait'] += sum(max(0, row['blocked_s'] - row['traced_blocked_s']) for row in t.show('threads', name, '--all')['rows']
                                if row['process'] in numbers and row['blocked_s'] is not None)
        return own

    # the launcher in the experiment: what it waits for is no rank's loss, while a rank that shares its CPU waits, too
    for launcher in (['mpirun.openmpi'], ['sh', '-c', 'mpirun.openmpi "$@"; exit $?', 'sh']):
        name = f'launched.{launcher[0]}'
        t.run('record', '-o', name, '--', *launcher, '--oversubscribe', '-n', '2', './ranks', env=env)
        summary = t.show('summary', experiment=name)
        rows = t.show('processes', experiment=name)['rows']
        ranks = [row for row in rows if row['rank'] is not None]
        ranks_s, most = sum(row['elapsed_s'] for row in ranks), most_of(name, ranks)
        own_s = dict.fromkeys(most, 0)
        for f in summary['findings']:
            own_s[f['kind']] = own_s.get(f['kind'], 0) + f['seconds']
        t.check(all(own_s[kind] <= most[kind] for kind in most) and
                not any('orte_submit_init' in f['sentence'] or f['seconds'] > 1.01 * ranks_s for f in summary['findings']),
                f'{launcher[0]}: the findings are of the ranks', *[(f['kind'], f['seconds'], f['sentence']) for f in summary['findings']],
                ranks_s, most)
        above = t.run('show', 'summary', name).stdout.split('hottest')[0]
        t.check(not re.search('orte_submit_init|event_base_loop|epoll_wait|waitpid', above), f'{launcher[0]}: no table of its waits', above)
else:
    t.skip('a rank that waits for the other', 'Open MPI is not installed')
t.done()
