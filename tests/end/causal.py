"""Causal experiments: the program stays what it was, whatever it does; the books of delays balance; and
what a faster part brings is known by construction where that does not hang on the machine's load."""
import csv
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time

import browser
from sonde_test import Test

t = Test()
LIBRARY = os.environ['HEARTBEAT_LIBRARY']
FLAGS = ('-O2', '-g', '-fno-ipa-icf', '-pthread', '-I', os.environ['HEARTBEAT_INCLUDE'], '-L' + os.path.dirname(LIBRARY),
         '-Wl,-rpath,' + os.path.dirname(LIBRARY), '-lsonde-heartbeat', '-Wno-unused-result')
os.environ['SONDE_HEARTBEAT_DIR'] = os.path.abspath('beats')
HEAD = r'''
#define _GNU_SOURCE
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <sonde/heartbeat.h>
static volatile double kept;
#define WORK(name) __attribute__((noinline, noclone)) static void name(long n) \
	{ double x = 1; for (long i = 0; i < n; i++) x = x * 1.0000001 + 1e-9; kept = x; }
WORK(hot) WORK(cold)
static sonde_heartbeat *step;
static void nap_ms(long ms) { struct timespec time = { ms / 1000, ms % 1000 * 1000000 }; nanosleep(&time, NULL); }
static double cpu_s(void) { struct timespec t; clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t); return t.tv_sec + t.tv_nsec * 1e-9; }
'''


def program(name, text):
    with open(name + '.c', 'w') as out:
        out.write(HEAD + text)
    return t.compile('./' + name + '.c', *FLAGS)


def trials(experiment):
    """The log's lines by what they are."""
    found = {}
    for row in csv.reader(open(experiment + '/causal.tsv'), delimiter='\t'):
        found.setdefault(row[0], []).append(row[1:])
    return found


def recorded(name, path, *words):
    """A profile of the program, without experiments."""
    run = t.run('record', '-q', '-o', 'x-' + name, '--', path, *words)
    return 'x-' + name, run


def caused(name, path, *words, options=(), seconds='2', runs='1', profiled=None):
    """Experiments with the program, whose output and exit status must be those of a run without. They are made whatever the machine's load.
    `profiled`: words for a shorter run, which says what is hot."""
    experiment, plain = recorded(name, path, *(profiled or words))
    run = t.run('causal', '--force', '--from', experiment, '--max-time', seconds, '--runs', runs, *options, '--', path, *words)
    t.equal((run.returncode, run.stdout), (plain.returncode, plain.stdout), f'{name}: output and exit status are as ever')
    return experiment, run


BEGIN = 'int main(int count, char **words) { (void)count; (void)words; step = sonde_heartbeat_register("step", 0);'
BEATS = 'for (int i = 0; i < %d; i++) { sonde_heartbeat_begin(step); hot(800000); %s sonde_heartbeat_end(step); }'


LONG_DAYS = {
    'alarms': (r'''
static volatile sig_atomic_t alarms;
static void note(int s) { (void)s; alarms++; }
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t never = PTHREAD_COND_INITIALIZER;
static void *watch(void *unused)
{
	for (int i = 0; i < 40; i++) {
		struct timespec until;
		clock_gettime(CLOCK_REALTIME, &until);
		until.tv_nsec += 5000000;
		if (until.tv_nsec >= 1000000000) { until.tv_sec++; until.tv_nsec -= 1000000000; }
		pthread_mutex_lock(&lock);
		pthread_cond_timedwait(&never, &lock, &until);
		pthread_mutex_unlock(&lock);
	}
	return unused;
}''' + BEGIN + r'''
	signal(SIGALRM, note);
	ualarm(3000, 3000);
	pthread_t thread;
	pthread_create(&thread, NULL, watch, NULL);''' + BEATS % (300, '') + r'''
	pthread_join(thread, NULL);
	ualarm(0, 0);
	puts(alarms ? "alarms" : "none");
	return 1;
}'''),
    'posts': (r'''
static sem_t semaphore;
static void post(int s) { (void)s; sem_post(&semaphore); }
static void *second(void *unused) { for (int i = 0; i < 200; i++) while (sem_wait(&semaphore)) ; return unused; }''' + BEGIN + r'''
	sem_init(&semaphore, 0, 0);
	signal(SIGUSR1, post);
	pthread_t thread;
	pthread_create(&thread, NULL, second, NULL);''' + BEATS % (200, 'raise(SIGUSR1);') + r'''
	pthread_join(thread, NULL);
	puts("200 posts");
	return 0;
}'''),
    'forks': (BEGIN + BEATS % (60, '''
	pid_t child = fork(); if (!child) { hot(200000); if (i % 2) execl("/bin/true", "true", NULL); _exit(0); }
	int status; waitpid(child, &status, 0); if (status) return 9;''') + r'''
	puts("60 children");
	return 0;
}'''),
    'threads': (r'''
static void *brief(void *unused) { cold(50000); return unused; }''' + BEGIN + BEATS % (150, '''
	pthread_t threads[4];
	for (int k = 0; k < 4; k++) pthread_create(&threads[k], NULL, brief, NULL);
	for (int k = 0; k < 4; k++) pthread_join(threads[k], NULL);''') + r'''
	puts("600 threads");
	return 0;
}'''),
    'often': (BEGIN + r'''
	for (int i = 0; i < 40; i++) {
		for (int k = 0; k < 20000; k++) { sonde_heartbeat_begin(step); sonde_heartbeat_end(step); }
		hot(2000000);
	}
	puts("often");
	return 0;
}'''),
    # its time is over before the work is, if delays count: then the work is done the other way, with the same output
    'watchdog': (r"""
static atomic_int beat, is_done;
static void *guard(void *unused)
{
	for (int last = -1; !atomic_load(&is_done); last = atomic_load(&beat)) {
		nap_ms(200);
		if (last == atomic_load(&beat) && !atomic_load(&is_done)) nap_ms(1);
	}
	return unused;
}""" + BEGIN + r"""
	pthread_t thread;
	pthread_create(&thread, NULL, guard, NULL);""" + BEATS % (400, 'atomic_fetch_add(&beat, 1);') + r"""
	atomic_store(&is_done, 1);
	pthread_join(thread, NULL);
	puts("guarded");
	return 5;
}"""),
    'clocks': (BEGIN + r"""
	struct timespec a, b;
	long backwards = 0;
	clock_gettime(CLOCK_REALTIME, &a);""" + BEATS % (300, """
	clock_gettime(CLOCK_MONOTONIC, &b);
	static struct timespec before;
	backwards += b.tv_sec < before.tv_sec || (b.tv_sec == before.tv_sec && b.tv_nsec < before.tv_nsec);
	before = b;""") + r"""
	clock_gettime(CLOCK_REALTIME, &b);
	printf("%ld %d\n", backwards, b.tv_sec >= a.tv_sec && cpu_s() > 0);
	return 0;
}"""),
    'coroutines': ("#include <ucontext.h>\n" + r"""
static ucontext_t home, routines[4];
static char stacks[4][65536];
static int turns[4];
static void routine(int which)
{
	for (;;) {
		turns[which]++;
		if (which & 1) hot(200000); else cold(100000);
		swapcontext(&routines[which], &home);
	}
}""" + BEGIN + r"""
	for (int i = 0; i < 4; i++) {
		getcontext(&routines[i]);
		routines[i].uc_stack.ss_sp = stacks[i];
		routines[i].uc_stack.ss_size = sizeof stacks[i];
		routines[i].uc_link = &home;
		makecontext(&routines[i], (void (*)(void))routine, 1, i);
	}""" + BEATS % (300, 'swapcontext(&home, &routines[i % 4]);') + r"""
	printf("%d %d %d %d\n", turns[0], turns[1], turns[2], turns[3]);
	return 6;
}"""),
    'pool': (r"""
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t filled = PTHREAD_COND_INITIALIZER, emptied = PTHREAD_COND_INITIALIZER;
static int queued, is_over;
static long done;
static void *worker(void *unused)
{
	pthread_mutex_lock(&lock);
	for (;;) {
		while (!queued && !is_over) pthread_cond_wait(&filled, &lock);
		if (!queued) break;
		queued--;
		pthread_mutex_unlock(&lock);
		cold(100000);
		pthread_mutex_lock(&lock);
		done++;
		pthread_cond_signal(&emptied);
	}
	pthread_mutex_unlock(&lock);
	return unused;
}""" + BEGIN + r"""
	pthread_t threads[6];
	for (int k = 0; k < 6; k++) pthread_create(&threads[k], NULL, worker, NULL);""" + BEATS % (200, """
	pthread_mutex_lock(&lock);
	queued += 4;
	pthread_cond_broadcast(&filled);
	while (done < 4 * (i + 1)) pthread_cond_wait(&emptied, &lock);
	pthread_mutex_unlock(&lock);""") + r"""
	pthread_mutex_lock(&lock); is_over = 1; pthread_cond_broadcast(&filled); pthread_mutex_unlock(&lock);
	for (int k = 0; k < 6; k++) pthread_join(threads[k], NULL);
	printf("%ld tasks\n", done);
	return 0;
}"""),
    'spin': (r'''
static atomic_int turn;
__attribute__((noinline, noclone)) static void await(int number) { while (atomic_load(&turn) != number) ; }
static void *second(void *unused)
{
	for (int i = 0; i < 150; i++) {
		await(2 * i + 1);
		cold(200000);
		atomic_store(&turn, 2 * i + 2);
	}
	return unused;
}''' + BEGIN + r'''
	pthread_t thread;
	pthread_create(&thread, NULL, second, NULL);''' + BEATS % (150, 'atomic_store(&turn, 2 * i + 1); while (atomic_load(&turn) != 2 * i + 2) ;') + r'''
	pthread_join(thread, NULL);
	printf("%d\n", atomic_load(&turn));
	return 2;
}'''),
    # only the child has a progress point
    'one-process': (r"""
int main(int count, char **words)
{
	(void)count; (void)words;
	pid_t child = fork();
	int status = 0;
	if (!child) {
		step = sonde_heartbeat_register("step", 0);""" + BEATS % (250, '') + r"""
		_exit(3);
	}
	cold(100000000);
	waitpid(child, &status, 0);
	puts("both");
	return WEXITSTATUS(status);
}"""),
}
RANKS = HEAD.replace('#include <sonde', '#include <mpi.h>\n#include <sonde') + r"""
int main(int count, char **words)
{
	int rank, total = 0;
	MPI_Init(&count, &words);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	if (rank == 0) step = sonde_heartbeat_register("step", 0);
	for (int i = 0; i < 60; i++) {
		if (rank == 0) sonde_heartbeat_begin(step);
		if (rank) hot(3000000); else cold(500000);
		int mine = i * (rank + 1), sum;
		MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
		total += sum;
		if (rank == 0) sonde_heartbeat_end(step);
	}
	MPI_Finalize();
	if (rank == 0) printf("%d\n", total);
	return 0;
}
"""


def long_days():
    for name, text in LONG_DAYS.items():
        path = program(name, text)
        experiment, run = caused(name, path, options=('--progress', 'step', '--target', 'hot', '--speedups', '100'), seconds='2')
        if name == 'spin' and sum(int(row[9]) for row in trials(experiment).get('trial', [])) >= 20:
            t.check(sum(int(row[5]) for row in trials(experiment)['run']) > 0, 'who waits actively for who runs the code need not pay for that time',
                    trials(experiment))
        if name == 'alarms' and 'trial' in trials(experiment):
            timed = sum(int(row[8]) for row in trials(experiment)['run'])
            t.equal('Waits with time limits see the delays' in t.run('show', 'causal', experiment).stdout, timed > 0, 'waits that ran out of time are said')
    open('ranks.c', 'w').write(RANKS)
    for mpi, launcher in {'openmpi': ['mpirun.openmpi', '--allow-run-as-root', '--oversubscribe', '-n', '2'],
                          'mpich': ['mpirun.mpich', '-n', '2']}.items():
        if not t.has('mpicc.' + mpi, launcher[0]):
            t.skip(mpi, 'is not here')
            continue
        path = t.compile('./ranks.c', *FLAGS, compiler='mpicc.' + mpi, output='./ranks.' + mpi)
        experiment, run = caused(mpi, *launcher, path, seconds='4',
                                 options=('--progress', 'step', '--target', 'hot', '--speedups', '100'))
        last = [int(value) for value in trials(experiment)['run'][-1]]
        t.check(last[6] >= 3, f'{mpi}: both ranks have the page of the launch', last)
        made = [[float(value) for value in row] for row in trials(experiment).get('trial', [])]
        # the rank with the progress point never runs the code: what became due came from the other one
        t.check(all(abs(row[10] - row[11]) < 20e6 for row in made if row[2] >= 0),
                f'{mpi}: what became due is what the other rank\'s samples found', *made)


if sys.argv[1:] == ['long']:
    long_days()
    t.done()
    sys.exit()

# ---- one thread: virtual time is the clock less what the thread was spared, whatever the load ----
alone = program('alone', r'''
int main(int count, char **words)
{
	step = sonde_heartbeat_register("step", 0);
	for (int i = 0; i < atoi(words[count - 1]); i++) {
		sonde_heartbeat_begin(step);
		hot(1500000);
		cold(500000);
		sonde_heartbeat_end(step);
	}
	puts("as ever");
	return 7;
}
''')
run = t.run('causal', '--force', '--target', 'hot,cold', '--speedups', '100', '--max-time', '5', '--runs', '1', '-o', 'x-alone',
            '--', alone, '150')
t.equal((run.returncode, run.stdout), (7, 'as ever\n'), 'a program of one thread: one output, its own exit status')
t.check('one thread is at work' in run.stderr, 'it is told that its profile says it all', run.stderr)
answer = t.show('causal', experiment='x-alone')
t.equal(list(answer)[:1], ['schema'], 'the JSON is one object')
t.equal(answer['schema'], 'sonde.causal/1', 'of this schema')
t.equal((answer['progress']['kind'], answer['progress']['name']), ('heartbeat', 'step'), 'progress is the heartbeat')
t.equal(set(answer) - {'experiment', 'sampled_cpu_s'},
        {'schema', 'progress', 'rows', 'observed_false_alarm_rate', 'delay_error_share', 'overhead_share',
         'cpu_wait_share', 'settle_s', 'carried_share', 'runs'},
        'its members')
t.equal({tuple(row) for row in answer['rows']},
        {('kind', 'name', 'loop', 'function', 'file', 'line_first', 'line_last', 'cpu_share', 'verdict', 'slope',
          'slope_low', 'slope_high', 'points', 'reason')}, "a row's members")
t.check(all((row['verdict'] == 'unknown') == (row['reason'] is not None) for row in answer['rows']), 'which say why nothing is known', answer)
# a machine that is so busy that no effect is told has no answers
t.equal(all(f'sonde:  {row["name"]} (' in run.stderr for row in answer['rows']), not {row['reason'] for row in answer['rows']} & {'cpu-waits', 'late-pauses'},
        'the command says its answers')
shares = {row['name']: row['cpu_share'] for row in answer['rows']}
t.within(shares.get('hot'), 0.75, 0.1, 'three quarters of the CPU time are in one of two')
log = trials('x-alone')
made = [[float(value) for value in row] for row in log['trial']]
t.check(made, 'experiments were made')
baselines = [row for row in made if row[2] < 0]
t.check(all(row[11] == 0 and row[8:11] == [row[8], 0, 0] for row in baselines), 'baselines have neither delays nor hits')
# a sample may fall between two readings of the page: it stands for a few periods at most
t.check(all(abs(row[10] - row[11]) < 20e6 for row in made if row[2] >= 0),
        'what became due is what samples found in the chosen code', *made)
t.check(all(abs(row[6] - row[7] - row[11]) < 20e6 for row in made),
        'virtual time is the clock less what was spared', *made)
t.check(all(row[9] <= row[8] for row in made), 'hits are samples')
for row in log['run']:
    asked, slept, excess = (int(value) for value in row[1:4])
    t.check(abs(slept - asked - excess) < 1000, 'pauses took what was asked and the excess that is told', row)
for view in ('loops', 'functions'):
    t.check(t.run('show', view, 'x-alone').returncode == 0, f'the experiment has its {view}, too')
t.run('causal', '--force', '--from', 'x-alone', '--target', 'hot,#1', '--max-time', '0.3', '--runs', '1', '--', alone, '40')
t.equal(t.show('causal', experiment='x-alone')['runs'], answer['runs'] + 1, 'later runs add to it')
text = t.run('show', 'causal', 'x-alone').stdout
t.check("progress by heartbeat 'step'" in text, 'the text says what a step is', text)
t.check("Amdahl's law" in text and re.search(r'\d experiments? in \d', text), 'the text says what was done', text)
summary = t.show('summary', experiment='x-alone')
t.check('sonde show causal' in summary.get('causal', ''), 'the summary has a sentence', summary.get('causal'))
loop, other = (t.show('loop', rank, experiment='x-alone') for rank in ('#1', '#2'))
t.equal(len(loop['causal']), 1, 'the page of a loop has its answers')
t.check(loop['evidence']['causal']['sentence'].startswith(loop['label']) and other['evidence']['causal'] is None and 'sonde causal --from' in other['missing']['causal']['command'],
        'which are evidence, or it says how to get it', loop['evidence'], other['missing'])
if browser.find():
    t.run('report', 'x-alone', '-o', 'alone.html')
    with browser.Browser() as chromium:
        page = chromium.open('file://' + os.path.abspath('alone.html') + '#/causal')
        t.check(page.wait("document.querySelectorAll('.curves figure').length"), 'the page has each piece of code', page.errors)
        drawn = page.evaluate('''[...document.querySelectorAll('figure')].map((f) => [f.querySelector('b').textContent,
            f.querySelectorAll('circle').length, f.querySelector('polyline')?.getAttribute('points').split(' ').length ?? 0,
            f.querySelectorAll('p').length])''')
        told = page.evaluate("[...document.querySelectorAll('figure p')].map((p) => p.textContent)")
        rows = t.show('causal', experiment='x-alone')['rows']  # without points where the machine is so busy that no effect is told
        want = [[row['name'], len(row['points']), len(row['points']) + 1 if row['points'] else 0, 1] for row in rows]
        t.equal(sorted(drawn), sorted(want), 'its curve, through the origin, where there is one, and a sentence')
        t.check(all(sentence in text for sentence in told), 'which is that of the text', told, text)
        t.check(page.evaluate("document.querySelector('main').textContent.includes(\"progress by heartbeat 'step'\")"), 'and what holds of all experiments', page.errors)
        page = chromium.open('file://' + os.path.abspath('alone.html') + '#/loop')
        t.check(page.wait("document.querySelector('main')?.textContent.includes('what a faster piece of code would bring')"), 'as has the page of a loop', page.errors)
        t.check(not page.evaluate("document.querySelector('main').textContent.includes('{\"speedup\"')"), 'in words')
        t.check(not page.errors, 'without an error', page.errors)
# made up: behind the first piece of code at 0.5 a baseline is too short by 0.2, at first, or also of what goes on for longer
for settles, want in (((5, 1000), (1.0, 0)), ((5, 1000, 4000), (4.0, 0.2))):
    with open('x-alone/causal.tsv', 'w') as out:
        out.write('sonde.causal-log\t1\nprogress\theartbeat\tstep\nprogram\t2\t1\t0\n')
        out.write(''.join(f'candidate\tfunction\t{name}\t{name}\t{name}\t\t0\t0\t0.4\n' for name in ('feed', 'eat')))
        out.write('run\t100000000000\t9\t9\t0\t1\t0\t1\t0\t0\t100000000000\t0\n')  # a run that ended: nobody waited for a CPU
        for settle in settles:
            left = 0
            for block in range(16):
                for code in (0, 1):
                    speedup, effect = (0.25, 0.5)[block // 2 % 2], (0.25, 0.5)[block // 2 % 2] * (code == 0)
                    jitter = 1 + 0.001 * (block % 3)
                    out.write(f'trial\t0\t{block}\t-1\t0\t{1e7 * jitter * (1 - left)}\t100\t1000000000\t1000000000\t1000\t0\t0\t0\t{settle}000000\n')
                    out.write(f'trial\t0\t{block}\t{code}\t{speedup}\t{1e7 * jitter * (1 - effect)}\t100\t1000000000\t1000000000\t1000\t9\t9\t9\t{settle}000000\n')
                    left = 0.2 * (code == 0 and speedup == 0.5 and (settle == 5 or len(settles) == 3))
    answer = t.show('causal', experiment='x-alone')
    text = t.run('show', 'causal', 'x-alone').stdout
    feed, eat = sorted(answer['rows'], key=lambda row: row['name'] != 'feed')
    t.equal(answer['settle_s'], want[0], 'experiments count that settled')
    t.within(answer['carried_share'], want[1], 0.1, 'what is carried over all the same')
    if want[1]:
        t.check('carry over from one experiment to the next' in text and '--progress end' in text, 'is said, and what helps', text)
        t.check(eat['verdict'] == 'unknown' and eat['reason'] == 'carried-over', 'and leaves open what might bring something', eat)
    else:
        t.check('those count that first went on for 1 s' in text, 'is said', text)
        t.check((feed['verdict'], eat['verdict']) == ('helps', 'nothing') and abs(feed['points'][1]['effect'] - 0.5) < 0.01, 'effects are theirs', answer)
        found = [row['sentence'] for row in t.show('summary', experiment='x-alone')['findings'] if row['kind'] == 'causal']
        t.check([sentence.split()[0] for sentence in found] == ['feed', 'eat'] and 'not what others wait for' in found[1], 'findings are what helps, and what does not', found)
        with open('x-alone/causal.tsv') as log:
            changed = log.read().replace('eat\t\t0\t0\t0.4', 'eat\t\t0\t0\t0.002')
        with open('x-alone/causal.tsv', 'w') as out:
            out.write(changed)
        found = [row['sentence'] for row in t.show('summary', experiment='x-alone')['findings'] if row['kind'] == 'causal']
        t.equal([sentence.split()[0] for sentence in found], ['feed'], 'but not that a part of no CPU time to speak of brings no more')
        t.check('less for a step at most' in t.run('show', 'causal', 'x-alone').stdout, 'which the answer says', t.run('show', 'causal', 'x-alone').stdout)
t.equal(t.run('list', '--remove', 'x-alone').returncode, 0, 'it can be removed')

# ---- what the first run says: it costs no other one ----
run = t.run('causal', '--target', 'hot,cold', '-o', 'x-amdahl', '--', alone, '40')
t.equal((run.returncode, run.stdout), (7, 'as ever\n'), 'one thread: the first run is the user\'s')
t.check('by Amdahl' in run.stderr and '(hot has ' in run.stderr and 'No experiments are made' in run.stderr, 'and is all', run.stderr)
answer = t.show('causal', experiment='x-amdahl')
t.equal((answer['runs'], {row['reason'] for row in answer['rows']}), (0, {'one-thread'}), 'which the answer tells')
t.check('--force' in t.run('show', 'causal', 'x-amdahl').stdout, 'and what makes experiments all the same')
run = t.run('causal', '--from', 'x-amdahl', '--', alone, '40')
t.check(run.returncode == 125 and not run.stdout and 'by Amdahl' in run.stderr, 'a profile that says it all costs no run', run)
run = t.run('causal', '--force', '--from', 'x-amdahl', '--target', 'lines:2,#1', '--max-time', '1', '--runs', '1', '--', alone, '20')
answer = t.show('causal', experiment='x-amdahl')
t.equal((run.returncode, run.stdout, answer['runs'], answer['progress']['name']), (7, 'as ever\n', 1, 'step'),
        '--force makes what was refused before, with the progress point that was found then')
t.check('one-thread' not in {row['reason'] for row in answer['rows']}, 'and it is refused no more', answer)
tried = {row['kind']: row for row in answer['rows']}
t.equal(set(tried), {'function', 'loop', 'line'}, "lines are code, too, and a loop's rank names it")
t.equal(tried['line']['name'], tried['loop']['name'], 'also where all of a function is one line')
t.check(tried['line']['cpu_share'] > 0.9, 'a line is all that was made of it, in each function', tried['line'])

run = t.run('causal', '-o', 'x-failing', '--', 'sh', '-c', 'exit 5')
t.check(run.returncode == 5 and 'and ended with status 5, too little' in run.stderr, 'a program that only fails has too little to try', run.stderr)
t.equal({row['reason'] for row in t.show('causal', experiment='x-failing')['rows']} - {'too-short'}, set(), 'which the answer tells, too')

beside = program('beside', r'''
static volatile long sink;
void visited(void), twice(void), longer(void), apart(void);
void work(long);
__asm__(".text\n.p2align 6\n.globl work\n.type work,@function\nwork: 1: sub $1, %rdi\njnz 1b\nret\n.size work, .-work\n"
	".globl visited\n.type visited,@function\nvisited: ret\n.size visited, .-visited\n"
	".globl twice\n.type twice,@function\ntwice: ret\n.size twice, .-twice\n"
	".globl longer\n.type longer,@function\nlonger: .fill 60, 1, 0x90\nret\n.size longer, .-longer\n"
	".p2align 6\n.globl apart\n.type apart,@function\napart: ret\n.size apart, .-apart\n.p2align 6\n");
static void *other(void *n) { for (int i = 0; i < 20; i++) work(20000000); return n; }
int main(void)
{
	pthread_t thread;
	pthread_create(&thread, NULL, other, NULL);
	for (int i = 0; i < 20; i++) { work(20000000); twice(); visited(); longer(); apart(); twice(); longer(); }
	pthread_join(thread, NULL);
	return 0;
}
''')
run = t.run('causal', '-o', 'x-beside', '--progress', 'twice', '--target', 'work', '--max-time', '1', '--', beside)
t.check(run.returncode == 0 and 'shares a line of the instruction cache with' in run.stderr and 'No experiments' in run.stderr,
        'a breakpoint that would slow hot code is refused', run.stderr)
t.equal({row['reason'] for row in t.show('causal', experiment='x-beside')['rows']}, {'slowed-code'}, 'which the answer tells')
run = t.run('causal', '--force', '-o', 'x-call', '--latency', 'visited..longer', '--target', 'work', '--max-time', '3', '--runs', '2', '--', beside)
t.check("at 'visited' would slow work+0x0, so it is watched at beside.c:" in run.stderr and ' in main' in run.stderr, 'unless its only call can be watched', run.stderr)
t.check("at 'longer' would slow work+0x0, so it is watched at longer+0x37" in run.stderr, 'or its own code further on', run.stderr)
if t.breakpoints_fire():
    t.check('was never reached' not in run.stderr, 'which counts', run.stderr)
else:
    t.skip('which counts', 'this machine never hits hardware breakpoints')
run = t.run('causal', '-o', 'x-apart', '--progress', 'apart', '--target', 'work', '--max-time', '1', '--', beside)
t.check('shares a line' not in run.stderr, 'in a line of its own it is not', run.stderr)

# ---- who waits actively below the code does not work there ----
BELOW = r"""
__attribute__((noinline, noclone)) static void exchange(int who) { if (!who) hot(400000); MEET; kept = kept + 1; }
static void steps(int who, int count)
{
	for (int i = 0; i < count; i++) {
		sonde_heartbeat_begin(step);
		if (!who) cold(3600000);
		exchange(who);
		if (!who) sonde_heartbeat_end(step);
	}
}
int main(int count, char **words)
{
	step = sonde_heartbeat_register("step", 0);
	BEGIN
	return 0;
}
"""
launcher = ['mpirun.openmpi', '--allow-run-as-root', '--oversubscribe', '-n', '2']
TEAM = """#define MEET _Pragma("omp barrier")
#define BEGIN _Pragma("omp parallel num_threads(2)") steps(omp_get_thread_num(), atoi(words[count - 1]));
#include <omp.h>
"""
RANKS = """#define MEET MPI_Barrier(MPI_COMM_WORLD)
#define BEGIN int rank; MPI_Init(&count, &words); MPI_Comm_rank(MPI_COMM_WORLD, &rank); steps(rank, atoi(words[count - 1])); MPI_Finalize();
#include <mpi.h>
"""
for name, head, compiler, flags, before in (('team', TEAM, 'gcc', ('-fopenmp',), ()), ('ranks', RANKS, 'mpicc.openmpi', (), launcher)):
    if not t.has(compiler, *before[:1]):
        t.skip(f'{name} that wait below the code', f'there is no {compiler}')
        continue
    with open(f'below-{name}.c', 'w') as out:
        out.write(HEAD + head + BELOW)
    below = t.compile(f'./below-{name}.c', *FLAGS, *flags, compiler=compiler, output=f'./below-{name}')
    os.environ['OMP_WAIT_POLICY'] = 'active'
    experiment, _ = recorded('below-' + name, *before, below, '25')
    for attempt in range(12):  # one run has room for both codes; on a loaded machine it has few samples
        run = t.run('causal', '--force', '-q', '--from', experiment, '--progress', 'step', '--target', 'exchange', '--target', 'main', '--with-callees',
                    '--speedups', '50', '--clock', '2000', '--max-time', '30', '--runs', '1', '--', *before, below, '120')
        made = trials(experiment).get('trial', [])
        (steps, samples, hits, hit_ns), (main_steps, main_samples, main_hits, main_ns) = (
            [sum(int(row[column]) for row in made if row[2] == code) for column in (5, 8, 9, 10)] for code in '01')
        # a thread that yields often is sampled by kernel ticks: a hit of it weighs as much as eight of another
        even, main_even = (of_ns / max([int(row[10]) / int(row[9]) for row in made if row[2] == code and int(row[9])] + [1])
                           for code, of_ns in (('0', hit_ns), ('1', main_ns)))
        if samples >= 200 and main_samples >= 200 and even >= 30 and main_even >= 30:
            break
    os.environ.pop('OMP_WAIT_POLICY')
    t.equal(run.returncode, 0, f'{name}: the program is what it was')
    t.check(0 < hits < 0.25 * samples, f'{name}: a tenth of one of two is in the code that the other one waits in', (hits, samples), run.stderr)
    # How long the other one waits is up to the machine's load. What a step takes of CPU time is not: of that exchange is a tenth, and main all.
    # The ratio of two sums of 30 hits of one weight and more leaves a factor of 3.3 once in a million times.
    times = (main_ns / main_steps) / (hit_ns / steps) if hits and steps and main_steps else 0
    t.check(3 < times < 33, f'{name}: what the threads of a region do is called by who created it',
            (times, main_ns, main_hits, main_samples, main_steps, hit_ns, hits, samples, steps))
    if name == 'team':
        t.check(main_hits > 0.25 * main_samples, 'team: which is a quarter of all its samples at least', (main_hits, main_samples))
    share = {row['name']: row['cpu_share'] for row in t.show('causal', experiment=experiment)['rows']}
    t.check(0 < share['exchange'] < 0.25, f'{name}: and its share of CPU time has no waiting', share)
    t.check('main' in share, f'{name}: a second --target counts, too', share)

# ---- threads that run the code by turns, each shorter than the time between samples ----
turns = program('turns', r'''
static pthread_barrier_t meeting;
static long rounds;
static void turn(int is_mine) { if (is_mine) hot(200000); else cold(300000); pthread_barrier_wait(&meeting); }
static void *second(void *unused) { for (long i = 0; i < rounds; i++) { turn(0); turn(1); } return unused; }
int main(int count, char **words)
{
	pthread_t thread;
	step = sonde_heartbeat_register("step", 0);
	rounds = 10 * atol(words[count - 1]);
	pthread_barrier_init(&meeting, NULL, 2);
	pthread_create(&thread, NULL, second, NULL);
	for (long i = 0; i < rounds; i++) {
		if (i % 10 == 0) sonde_heartbeat_begin(step);
		turn(1);
		turn(0);
		if (i % 10 == 9) sonde_heartbeat_end(step);
	}
	pthread_join(thread, NULL);
	return 6;
}
''')
for attempt in range(6):  # on a loaded machine a run has few samples
    experiment, run = caused(f'turns-{attempt + 1}', turns, str(200 * (attempt + 1)), options=('--target', 'hot', '--speedups', '100', '--progress', 'step'),
                             seconds=str(4 * (attempt + 1)), profiled=('40',))
    made = [row for row in trials(experiment).get('trial', []) if row[2] == '0']
    hit_ns, due_ns = (sum(float(row[column]) for row in made) for column in (10, 11))
    if hit_ns >= 0.5e9:
        break
# A barrier lies between any two turns, so that no thread's hit is another one's time as well. It was half on a quiet machine: nobody paid the rest.
t.check(due_ns > 0.9 * hit_ns > 0, 'by turns all time in the code is due', due_ns, hit_ns, len(made))

# ---- what runs under a lock, however it was taken ----
guarded = program('guarded', r'''
static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER, other = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t shared = PTHREAD_RWLOCK_INITIALIZER;
int main(int count, char **words)
{
	step = sonde_heartbeat_register("step", 0);
	for (int i = 0; i < atoi(words[count - 1]); i++) {
		sonde_heartbeat_begin(step);
		if (i % 2) pthread_mutex_lock(&guard); else while (pthread_mutex_trylock(&guard)) ;
		pthread_mutex_lock(&other);
		hot(750000);
		pthread_mutex_unlock(&guard); /* not the last one taken */
		cold(750000);
		pthread_mutex_unlock(&other);
		pthread_rwlock_wrlock(&shared); pthread_rwlock_unlock(&shared);
		pthread_rwlock_rdlock(&shared);
		cold(500000);
		pthread_rwlock_unlock(&shared);
		cold(1000000);
		sonde_heartbeat_end(step);
	}
	return 0;
}
''')
GUARDED = ('--progress', 'step', '--target', 'lock:guard,lock:other,lock:shared', '--speedups', '50')
experiment, run = caused('guarded', guarded, '200', options=GUARDED, seconds='6', profiled=('30',))
rows = t.show('causal', experiment=experiment)['rows']
t.equal({(row['kind'], row['name'], row['cpu_share']) for row in rows}, {('lock', name, None) for name in ('guard', 'other', 'shared')},
        'locks are rows, whose share of CPU time nobody knows')
for again in range(20):
    found = {}
    for row in trials(experiment)['trial']:
        samples, hits = found.get(int(row[2]), (0, 0))
        found[int(row[2])] = samples + int(row[8]), hits + int(row[9])
    if all(found.get(number, (0, 0))[0] >= 20 for number in range(3)):
        break
    # on a busy machine the program may end before each lock's turn has come
    t.run('causal', '--force', '--from', experiment, '--max-time', '6', '--runs', '1', *GUARDED, '--', guarded, '200')
for number, (name, share) in enumerate((('guard', 0.25), ('other', 0.5), ('shared', 0.17))):
    samples, hits = found.get(number, (0, 0))
    # independent samples of a share: five standard deviations, and 0.03 for what a step has beside its parts
    t.check(samples and abs(hits / samples - share) < 0.03 + 5 * (share / samples) ** 0.5, f'so much of the time runs under {name}', hits, samples)
t.check('what runs under ' in t.run('show', 'causal', experiment).stdout, 'and is so called')
done = t.run('causal', '--from', experiment, '--target', 'lock:nowhere', '--', guarded, '9')
t.check(done.returncode == 125 and "has a variable 'nowhere'" in done.stderr, 'an unknown lock is named', done.stderr)

# ---- two threads: who pays, who is spared ----
pair = program('pair', r'''
static pthread_barrier_t barrier;
static int steps;
static void *second(void *unused)
{
	for (int i = 0; i < steps; i++) {
		cold(200000);
		pthread_barrier_wait(&barrier);
	}
	return unused;
}
int main(int count, char **words)
{
	pthread_t thread;
	(void)count;
	steps = atoi(words[1]);
	step = sonde_heartbeat_register("step", 0);
	pthread_barrier_init(&barrier, NULL, 2);
	pthread_create(&thread, NULL, second, NULL);
	for (int i = 0; i < steps; i++) {
		sonde_heartbeat_begin(step);
		hot(4000000);
		pthread_barrier_wait(&barrier);
		sonde_heartbeat_end(step);
	}
	pthread_join(thread, NULL);
	puts("done");
	return 3;
}
''')
experiment, run = caused('pair', pair, '100', options=('--progress', 'step', '--target', 'hot,hot', '--speedups', '100'), seconds='4', profiled=('20',))
log = trials(experiment)
t.equal(len(log['candidate']), 1, 'a candidate that is named twice is one')
last = [int(value) for value in log['run'][-1]]
t.check(last[4] + last[5] > 0, 'the thread that waits at the barrier is credited, or pays', last)
t.check(run.stderr.count('sonde:') >= 2 and 'heartbeat' in run.stderr, 'it says what it does', run.stderr)
effects = [point['effect'] for row in t.show('causal', experiment=experiment)['rows'] for point in row['points']]
# where threads wait for CPUs effects come out too small (docs/method/causal.md): a loaded machine cannot judge
waited = sum(row['wait_cpu_s'] for row in t.show('threads', experiment=experiment)['rows'])
name = 'a step is faster without the code that everybody waits for'
if not effects or os.getloadavg()[0] > os.cpu_count() / 2 or waited > 0.1 * t.show('summary', experiment=experiment)['elapsed_s']:
    t.skip(name, 'other programs have the CPUs')
else:
    t.check(sum(effects) / len(effects) > 0.05, name, effects)

# ---- progress points ----
site = program('site', r'''
__attribute__((noinline, noclone)) static void turn(int i) { __asm__ volatile("" : : "r"(i)); }
__attribute__((noinline, noclone)) static void leave(int i) { __asm__ volatile("" : : "r"(i)); }
int main(int count, char **words)
{
	(void)count;
	for (int i = 0; i < atoi(words[1]); i++) {
		turn(i);
		hot(10000000);
		leave(i);
	}
	puts("done");
	return 0;
}
''')
t.run('record', '-q', '-o', 'x-site', '--', site, '10')
place = t.run('causal', '--force', '--from', 'x-site', '--progress', 'turn', '--target', 'hot', '--speedups', '50', '--max-time', '3', '--runs', '1', '--', site, '40')
if 'never reached' in place.stderr:
    t.skip('a place as progress point', 'this machine gives no hardware breakpoints')
else:
    t.equal((place.returncode, place.stdout), (0, 'done\n'), 'a place as progress point: output and exit status')
    progress = t.show('causal', experiment='x-site')['progress']
    t.equal((progress['kind'], progress['name']), ('site', 'turn'), 'progress is the place')
    visits = [int(row[5]) for row in trials('x-site')['trial']]
    t.check(visits and sum(visits) <= 40, 'every arrival counts once', visits)
    between = t.run('causal', '--from', 'x-site', '--force', '--latency', 'turn..leave', '--', site, '60')
    t.check('another progress point' in between.stderr, 'an experiment has one progress point', between.stderr)
    t.run('record', '-q', '-o', 'x-between', '--', site, '10')
    t.run('causal', '--force', '--from', 'x-between', '--latency', 'turn..leave', '--target', 'hot', '--speedups', '50', '--max-time', '3',
          '--runs', '1', '--', site, '30')
    t.equal(t.show('causal', experiment='x-between')['progress']['kind'], 'latency', 'the time between two places')
whole, run = caused('whole', site, '4', options=('--progress', 'end', '--target', 'hot', '--speedups', '100'), seconds='20', runs='4')
t.equal([len(trials(whole)[kind]) for kind in ('run', 'trial')], [4, 4], 'with whole runs each is an experiment')
t.equal(t.show('causal', experiment=whole)['progress']['kind'], 'end', 'and progress is the end')

# a thread that waits for the others to end is woken by who has paid, and has nothing to pay itself: nor has the first of all
joining = program('joining', '''#include <pthread.h>
static void *works(void *unused) { for (int i = 0; i < 25; i++) hot(2000000); return unused; }
int main(void) { pthread_t one; pthread_create(&one, 0, works, 0); pthread_join(one, 0); return puts("joined") < 0; }
''')
joined, run = caused('joined', joining, options=('--progress', 'end', '--target', 'hot', '--speedups', '100'), seconds='20', runs='4')
owed = {row[0]: int(row[11]) for row in trials(joined)['trial'] if float(row[3]) > 0}
paid = {str(number): int(row[1]) for number, row in enumerate(trials(joined)['run']) if str(number) in owed}
t.check(owed and all(owed.values()) and all(paid[number] < 0.2 * owed[number] for number in owed), 'who joins the one that is made faster pays nothing',
        owed, paid)

# nor has the thread that writes heartbeats to their files, for which the program waits as it ends
beating = program('beating', BEGIN + BEATS % (60, '') + 'nap_ms(1400); return puts("beaten") < 0; }')
beaten, run = caused('beaten', beating, options=('--progress', 'end', '--target', 'hot', '--speedups', '100'), seconds='20', runs='2')
t.check(any(int(row[11]) > 0 for row in trials(beaten)['trial']), 'there was something to pay', trials(beaten)['trial'])
t.equal([int(row[1]) for row in trials(beaten)['run']], [0, 0], 'whole runs have no pauses of the thread that writes heartbeats')

# nor has who reads from a pipe by a stream, or waits for room in one
pipes = program('pipes', r'''
static char bytes[65536];
static void feed(int fd, int count, size_t size, int works)
{
	for (int i = 0; i < count; i++) { if (works) hot(2000000); if (write(fd, bytes, size) != (ssize_t)size) exit(2); }
}
static void eat(int fd, int works)
{
	static char line[8192];
	FILE *in = fdopen(fd, "r");
	if (works) setvbuf(in, NULL, _IOFBF, sizeof bytes);
	for (size_t read = 0; fgets(line, sizeof line, in);)
		if ((read += strlen(line)) >= sizeof bytes && works) { hot(2000000); read = 0; }
	if (!feof(in)) exit(3);
}
int main(int count, char **words)
{
	int ends[2], is_slow_reader = *words[count - 1] == 'r', status;
	memset(bytes, '\\n', sizeof bytes);
	for (size_t i = 0; is_slow_reader && i < sizeof bytes; i++) if (i % 1024 != 1023) bytes[i] = 'x';
	if (pipe(ends)) return 1;
	pid_t child = fork();
	if (!child) {
		close(ends[!is_slow_reader]);
		if (is_slow_reader) feed(ends[1], 20, sizeof bytes, 0); else eat(ends[0], 0);
		_exit(0);
	}
	close(ends[is_slow_reader]);
	if (is_slow_reader) eat(ends[0], 1); else { feed(ends[1], 20, 2, 1); close(ends[1]); }
	return waitpid(child, &status, 0) != child || status;
}
''')
for word, what in (('w', 'who reads lines from one that is made faster'), ('r', 'who waits for room in a pipe to one that is made faster')):
    piped, run = caused('piped-' + word, pipes, word, options=('--progress', 'end', '--target', 'hot', '--speedups', '100'), seconds='20', runs='4')
    owed = {row[0]: int(row[11]) for row in trials(piped)['trial'] if float(row[3]) > 0}
    paid = {str(number): int(row[1]) for number, row in enumerate(trials(piped)['run']) if str(number) in owed}
    t.check(owed and all(owed.values()) and all(paid[number] < 0.2 * owed[number] for number in owed), f'{what} pays nothing', owed, paid)

# ---- bad input ----
for words, says in [(('--speedups', '120'), 'percentages'), (('--speedups', '0'), 'above 0'), (('--max-time', '0'), 'above 0'),
                    (('--sync',), 'leave --sync away'), (('--io',), 'leave --io away'), (('--openmp',), 'leave --openmp away'), (('--collect', 'all'), 'leave --collect away'),
                    (('--delay', '1'), 'leave --delay away'), (('--duration', '1'), 'leave --duration away'), (('--pause-signal', 'USR1'), 'leave --pause-signal away'),
                    (('--progress', 'step', '--latency', 'step'), 'take one'), (('--pid', '1'), 'starts the program itself'), (('--heap',), 'no heap'), (('--runs', 'x'), '--runs'),
                    (('--runs', '0'), '1 or more, not 0'), (('--target', 'loops:0'), "from 1 to 1024, and not '0'"),
                    (('--target', 'functions:many'), "and not 'many'"), (('--target', 'lock:'), "behind 'lock:'"), (('--target', ','), 'names no code'), (('--target', ''), 'names no code'),
                    (('--target', 'hott'), "did you mean 'hot'"), (('--target', 'loop:2'), "did you mean 'loops'"),
                    (('--target', 'lock:barier'), "did you mean 'barrier'"), (('--target', 'piar.c:40'), 'did you mean pair.c:40'),
                    (('--target', 'pair.c:9999'), 'nearest line with code is pair.c:'), (('--latency', 'hot..nowhere'), "--latency: './pair' and its libraries")]:
    done = t.run('causal', *words, '--', pair, '2')
    t.check(done.returncode == 125 and says in done.stderr, f'{" ".join(words)} is refused', done.stderr)
done = t.run('causal', '-o', 'x-nowhere', '--progress', 'nowhere', '--', site, '4')
t.check(done.returncode == 125 and not done.stdout and "no heartbeat, function, line or loop 'nowhere'" in done.stderr, 'an unknown progress point costs no run', done)
done = t.run('causal', '--progress', 'trun', '--', site, '4')
t.check("did you mean 'turn'?" in done.stderr, 'and what may be meant is said', done.stderr)
done = t.run('causal', '--from', 'x-site', '--progress', 'trun', '--', site, '4')
t.check(done.returncode == 125 and not done.stdout and "did you mean 'turn'?" in done.stderr, 'nor does it with --from', done)
done = t.run('causal', '-o', 'x-later', '--progress', 'nowhere', '--', 'sh', '-c', f'{site} 4')
t.check((done.returncode, done.stdout) == (0, 'done\n') and 'A run may find it' in done.stderr, 'unless it starts others, which may have it', done)
done = t.run('causal', '--force', '--from', 'x-whole', '--target', 'nowhere', '--', site, '4')
t.check("'nowhere'" in done.stderr, 'and an unknown target', done.stderr)
t.check('sonde causal' in t.run('show', 'causal', recorded('bare', site, '2')[0]).stderr,
        'an experiment without says what makes them')
bare = json.loads(t.run('show', 'causal', 'x-bare', '--format', 'json').stdout)
t.equal([bare[key] for key in ('progress', 'observed_false_alarm_rate', 'delay_error_share', 'overhead_share', 'cpu_wait_share', 'runs', 'rows')],
        [None] * 5 + [0, []], 'and has the members of an answer all the same')
with open('site.c', 'a') as out:
    out.write('int other_build;\n')
t.compile('./site.c', *FLAGS)
done = t.run('causal', '--from', 'x-bare', '--', site, '2')
t.check(done.returncode == 125 and not done.stdout and 'is another build' in done.stderr, 'another build is refused', done)
with open('x-bare/causal.tsv', 'w') as out:
    out.write('sonde.causal-log\t1\ntrial\t0\t0\n')
done = t.run('show', 'causal', 'x-bare')
t.check(done.returncode == 5 and 'line 2' in done.stderr, 'a damaged log is told', done.stderr)

# ---- bad days: each has a heartbeat, and code that is chosen ----
DAYS = {
    'pinned': (r'''
static void *second(void *unused) { for (int i = 0; i < 140; i++) { cold(800000); sched_yield(); } return unused; }''' + BEGIN + r'''
	cpu_set_t set;
	CPU_ZERO(&set);
	CPU_SET(sched_getcpu(), &set);
	sched_setaffinity(0, sizeof(set), &set);
	pthread_t thread;
	pthread_create(&thread, NULL, second, NULL);''' + BEATS % (140, '') + r'''
	pthread_join(thread, NULL);
	puts("one CPU");
	return 0;
}'''),
    'sealed': (BEGIN + BEATS % (100, '') + r'''
	struct sock_filter all[] = { BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW) };
	struct sock_fprog filter = { 1, all };
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter);''' + (BEATS % (100, '')).replace('int i', 'int j').replace('i <', 'j <').replace('i++', 'j++') + r'''
	puts("sealed");
	return 0;
}'''),
    'killed': (BEGIN + BEATS % (150, 'if (i == 140) { puts("out"); fflush(stdout); raise(SIGKILL); }') + r'return 0; }'),
    'short': (BEGIN + BEATS % (3, '') + r'puts("short"); return 4; }'),
}
for name, text in DAYS.items():
    path = program(name, text)
    experiment, run = caused(name, path, options=('--progress', 'step', '--target', 'hot', '--speedups', '100'), seconds='1.5')
    if name == 'sealed' and 'trial' in trials(experiment):
        t.check('seccomp' in t.run('show', 'causal', experiment).stdout, 'a filter of system calls is said')
    if name == 'pinned':
        share, text = t.show('causal', experiment=experiment)['cpu_wait_share'], t.run('show', 'causal', experiment).stdout
        t.check(share and share > 0.01, 'threads that share a CPU wait for it', share)
        t.equal('waited for CPUs' in text, share > 0.05, 'and where that is much the answer says so')
        row = t.show('causal', experiment=experiment)['rows'][0]
        t.equal(row['reason'] == 'cpu-waits', share > 0.25, 'as does the row')
        done = t.run('causal', '--from', experiment, '--', path)
        t.check(done.returncode == 125 and not done.stdout and 'No experiments are made' in done.stderr, 'a profile in which threads queue costs no run', done)
        t.check(share <= 0.25 or (row['verdict'], row['slope'], row['points']) == ('unknown', None, []) and 'no effect is told' in text,
                'or tells none', share, row)
    if name == 'short':
        t.check('ends within its first experiment' in run.stderr, 'a program that ends too soon is told', run.stderr)

# what comes by a pipe is for all runs, the first among them
run = t.command('sh', '-c', 'printf "2\\n1\\n" | exec "$0" causal --force -q --max-time 1 --runs 1 --progress end -o piped -- sort', t.sonde)
t.equal(run.stdout, '1\n2\n', 'the first run reads what comes by a pipe')
run = t.run('causal', '--from', 'piped', '--', 'uniq')
t.check(run.returncode and 'is of sort, and not of uniq' in run.stderr, 'an experiment of another program is refused', run)

# a whole run is one experiment, and its threads need not end: their account is whole all the same
worker = program('worker', r'''
static int ends[2];
__attribute__((noinline)) static void spun(long n) { double x = 1; for (long i = 0; i < n; i++) x = x * 1.0000001 + 1e-9; kept = x; } /* gcc: spun.constprop.0 */
static void *work(void *unused) { spun(100000000); if (write(ends[1], "x", 1)) for (;;) pause(); return unused; }
int main(void)
{
	pthread_t thread;
	char end;
	if (pipe(ends) || pthread_create(&thread, 0, work, 0)) return 1;
	return read(ends[0], &end, 1) != 1;
}''')
t.run('causal', '--force', '-q', '--max-time', '5', '--runs', '1', '--progress', 'end', '--target', 'spun', '-o', 'worker.1', '--', worker)
ran_s = int(trials('worker.1')['run'][0][9]) / 1e9
cpu_s = t.show('summary', experiment='worker.1')['cpu_s']
t.check(ran_s > 0.5 * cpu_s, 'CPU time of threads that never end is known', ran_s, cpu_s)

# later runs that fail are no faster ones
fails = program('fails', BEGIN + r'''
	for (int i = 0; i < 40; i++) hot(800000);
	return access("was-there", F_OK) ? creat("was-there", 0600) < 0 : 9; }''')
run = t.run('causal', '--force', '--max-time', '2', '--progress', 'end', '--target', 'hot', '-o', 'fails.1', '--', fails)
t.check(run.returncode == 0 and 'ended with status 9' in run.stderr and 'nothing can be said' in run.stderr,
        'a run that ended otherwise has no experiments', run)
answer = t.show('causal', experiment='fails.1')
t.equal([(row['verdict'], row['slope'], row['points']) for row in answer['rows']], [('unknown', None, [])], 'and there is no answer')
t.check('no experiment was made' in t.run('show', 'causal', 'fails.1').stdout, 'which says why')

for rate in 'off', 'auto':
    run = t.run('causal', '--clock', rate, '--', worker)
    t.check(run.returncode == 125 and f'--clock {rate} has none' in run.stderr, f'--clock {rate} is refused', run)

never = program('never', BEGIN + r'''for (int i = 0; i < 100; i++) hot(800000); puts("never"); return 0; }''')
_, run = caused('never', never, options=('--progress', 'step', '--target', 'hot'), seconds='1')
t.check('never reached' in run.stderr, 'a progress point that is never reached is told', run.stderr)
t.run('causal', '--force', '--from', 'x-never', '--progress', 'end', '--target', 'hot', '--max-time', '5', '--runs', '1', '--', never)
t.equal(t.show('causal', experiment='x-never')['progress']['kind'], 'end', 'and does not keep another one from being named')

# the time for experiments bounds the wait for an answer, and not the program
tail = program('tail', r'''
static void *second(void *unused) { for (int i = 0; i < 60; i++) cold(800000); return unused; }
int main(int count, char **words)
{
	(void)count;
	step = sonde_heartbeat_register("step", 0);
	pthread_t thread;
	pthread_create(&thread, NULL, second, NULL);''' + BEATS % (120, '') + r'''
	pthread_join(thread, NULL);
	nap_ms(atoi(words[1]));
	puts("to the end");
	return 6;
}''')
recorded('tail', tail, '0')
run = t.run('causal', '--force', '--from', 'x-tail', '--progress', 'step', '--target', 'hot', '--max-time', '0.2', '--', tail, '3000')
t.equal((run.returncode, run.stdout), (6, 'to the end\n'), 'a program goes on to its end')
said = run.stderr.find('the program goes on to its end, without delays')
t.check(0 <= said < run.stderr.find('run 1:'), 'and it is said when the time for experiments is over', run.stderr)
t.check("was recorded of other arguments ('./tail 0')" in run.stderr, 'as is that its arguments were others', run.stderr)
t.equal(t.show('causal', experiment='x-tail')['runs'], 1, 'no other run begins')

# a heartbeat's name that is none: the others are told while the program runs, and no experiments are made
misnamed = program('misnamed', BEGIN + r'''
	sonde_heartbeat *save = sonde_heartbeat_register("save", 0);
	for (int i = 0; i < atoi(words[1]); i++) { sonde_heartbeat_begin(step); hot(200000); nap_ms(19); sonde_heartbeat_end(step); sonde_heartbeat_begin(save); sonde_heartbeat_end(save); }
	puts("as ever");
	return 4;
}''')
run = t.run('causal', '-o', 'x-misnamed', '--force', '--target', 'hot', '--progress', 'stpe', '--', misnamed, '80')
t.equal((run.returncode, run.stdout), (4, 'as ever\n'), "a heartbeat's name that is none: the first run is the user's")
said = run.stderr.find("no heartbeat 'stpe' so far, but 'step', 'save'; Ctrl-C ends it")
t.check(said >= 0, 'which heartbeats there are is said while it runs', run.stderr)
recorded('misnamed-2', misnamed, '40')
run = t.run('causal', '--force', '--from', 'x-misnamed-2', '--target', 'hot', '--progress', 'stpe', '--', misnamed, '300')
t.check("no heartbeat 'stpe', but 'step', 'save'; no experiments were made" in run.stderr, 'and ends experiments', run.stderr)

# a place that is reached a hundred thousand times a second: inserted code counts it; and one where there is no room for a jump
often = program('often', r'''
void tight(int); __asm__(".text\n.type tight, @function\ntight: ret\n.size tight, 1\n.type beside, @function\nbeside: ret\n.size beside, 1\n");
static volatile long ticks;
__attribute__((noinline, noclone)) static void turn(long i) { ticks += i; }
int main(int count, char **words)
{
	long rounds = atoi(words[count - 1]);
	for (long i = 0; i < rounds; i++) { for (int k = 0; k < 200; k++) { turn(k); tight(k); } hot(800000); }
	puts("as ever");
	return 3;
}''')
recorded('often', often, '100')
run = t.run('causal', '--force', '--from', 'x-often', '--progress', 'turn', '--target', 'hot', '--speedups', '100', '--max-time', '3', '--runs', '1', '--', often, '800')
t.equal((run.returncode, run.stdout), (3, 'as ever\n'), 'inserted code leaves output and exit status')
answer = t.show('causal', experiment='x-often')
made = [[float(value) for value in row] for row in trials('x-often')['trial']]
t.check(len(made) >= 2 and answer['progress']['kind'] == 'site', 'a place that is reached very often is a progress point', run.stderr)
t.check(all(row[5] > 400 * row[6] * 1e-9 for row in made), 'whose arrivals are counted', *made)
recorded('tight', often, '100')
run = t.run('causal', '--force', '--from', 'x-tight', '--progress', 'tight', '--target', 'hot', '--max-time', '5', '--', often, '300')
if 'never reached' in run.stderr:
    t.skip('a place that is reached too often', 'this machine gives no hardware breakpoints')
else:
    t.check('over 400 times a second' in run.stderr, 'a place that is reached too often is so called', run.stderr)
    t.equal({row['reason'] for row in t.show('causal', experiment='x-tight')['rows']}, {'too-often'}, 'also in the answer')

# the place's code is not in each process what it was in the file that was looked at: such a process has a breakpoint there
one_of_two = program('one_of_two', r'''
void turn(void); __asm__(".text\n.type turn, @function\nturn: movl $0x11223344, %eax\nret\n.size turn, .-turn\n");
int main(int count, char **words)
{
	for (int i = 0; i < atoi(words[count - 1]); i++) { hot(4000000); if (words[1][0] == 't') turn(); }
	return 3;
}''')
code = open(one_of_two, 'rb').read()
open('changed', 'wb').write(code.replace(b'\xb8\x44\x33\x22\x11', b'\xb8\x45\x33\x22\x11'))
os.chmod('changed', 0o755)
BOTH = ('sh', '-c', f'./changed turn $0 & {one_of_two} other $0; wait')
recorded('one-of-two', 'sh', '-c', f'{one_of_two} turn $0', '20')
run = t.run('causal', '--force', '--from', 'x-one-of-two', '--progress', 'turn', '--target', 'hot', '--speedups', '100', '--max-time', '20', '--runs', '1', '--', *BOTH, '100')
t.equal(code.count(b'\xb8\x44\x33\x22\x11'), 1, 'the place is changed once')
if 'hardware' in run.stderr or not t.breakpoints_fire():
    t.skip('a process whose place is other code', 'this machine gives no hardware breakpoints')
else:
    t.check(sum(int(row[5]) for row in trials('x-one-of-two').get('trial', [])) > 0, 'a process whose place is other code counts arrivals by a breakpoint', run.stderr)

# two processes are held up alike: the page is one
experiment, run = caused('both', 'sh', '-c', f'{pair} 20 & {pair} 20; wait', options=('--progress', 'step', '--target', 'hot', '--speedups', '100'))
t.check(int(trials(experiment)['run'][-1][6]) >= 3, 'all processes of the run have the page', trials(experiment)['run'])

# a parallel region with what it calls
open('region.c', 'w').write(HEAD + BEGIN + r'''
	for (int i = 0; i < 60; i++) {
		sonde_heartbeat_begin(step);
#pragma omp parallel num_threads(2)
		{ hot(1000000); __asm__ volatile(""); }
		cold(500000);
		sonde_heartbeat_end(step);
	}
	puts("regions");
	return 0;
}''')
path = t.compile('./region.c', *FLAGS, '-fopenmp')
experiment, run = caused('region', path, options=('--progress', 'step', '--target', 'regions,hot', '--speedups', '50'))
found = {row[0]: row[2] for row in trials(experiment)['candidate']}
t.check(set(found) == {'region', 'function'} and '_omp_fn' in found['region'], 'regions and functions are candidates', found)
t.run('causal', '--force', '--from', experiment, '--target', 'hot', '--with-callees', '--max-time', '0.3', '--runs', '1', '--', path)
t.equal([row[0] for row in trials(experiment)['candidate']], ['region', 'function', 'function with callees'],
        'code with what it calls is a candidate of its own')

# two commands at once do not see each other
at_once = [subprocess.Popen([t.sonde, 'causal', '--force', '-q', '--target', 'hot', '--speedups', '100', '--max-time', '1', '--runs', '1', '-o', f'x-once{i}',
                             '--', pair, '20'], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for i in range(2)]
search = subprocess.Popen([t.sonde, 'search', '-q', '--restarts', '0', '-o', 'x-once-search', '--', pair, '20'], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
t.equal([(p.communicate(timeout=120)[0], p.returncode) for p in at_once], [('done\n', 3)] * 2, 'two causal runs at once, and a search')
found, said = search.communicate(timeout=120)
t.check((search.returncode, found) == (0, 'done\n') and 'Search of x-once-search' in said, 'nor does a search beside them', found, said)
t.equal([t.show('causal', experiment=f'x-once{i}')['runs'] for i in range(2)], [1, 1], 'each has its own experiments')

# ---- an end from outside: in the first run, in an experiment, once or again and again, by what cannot be caught ----
deaf = program('deaf', r"""
static void leave(int s) { (void)s; write(1, "bye\n", 4); _exit(0); }
""" + BEGIN + r"""
	signal(SIGINT, leave);
	signal(SIGTERM, leave);
	for (int i = 0; i < 100000; i++) { sonde_heartbeat_begin(step); hot(800000); cold(100000); sonde_heartbeat_end(step); }
	return 0;
}""")


signal.signal(signal.SIGHUP, signal.SIG_DFL)  # nohup has it ignored, by what is started, too, which sonde leaves so


def started(*words):
    return subprocess.Popen([t.sonde, 'causal', '--force', '--speedups', '100', '--max-time', '300', *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                            env=dict(os.environ, TMPDIR=os.path.abspath('.')))


def wait_for_trials(process, experiment, count):
    """Until so many experiments are in the file, while the command runs."""
    for _ in range(1200):
        if process.poll() is not None or os.path.exists(experiment + '/causal.tsv') and len(trials(experiment).get('trial', [])) >= count:
            break
        time.sleep(0.05)
    t.check(process.poll() is None, 'experiments are kept as they are made', process.poll())


process = started('-o', 'x-stopped', '--', pair, '100000')
time.sleep(1.5)
process.send_signal(signal.SIGINT)
said = process.communicate(timeout=60)[1]
t.equal(process.returncode, 130, 'an interrupt ends the program and the experiments')
t.check('interrupted before the first experiment' in said, 'which says that there is none', said)
t.equal(t.show('causal', experiment='x-stopped')['progress']['name'], 'step', 'later ones have the progress point that was found')
t.run('record', '-q', '--duration', '1', '-o', 'x-long', '--', pair, '40')
for path, signals in ((pair, (signal.SIGINT,)), (pair, (signal.SIGTERM, signal.SIGTERM)), (pair, (signal.SIGHUP,)), (deaf, (signal.SIGINT, signal.SIGINT))):
    name = ' and '.join(number.name for number in signals) + (', which the program takes for its end' if path == deaf else '')
    if path == deaf:
        first = subprocess.Popen([t.sonde, 'record', '-q', '-o', 'x-deaf', '--', deaf], stdout=subprocess.PIPE)
        time.sleep(1.5)
        first.send_signal(signal.SIGTERM)
        first.communicate(timeout=60)
    experiment = 'x-deaf' if path == deaf else 'x-long'
    before = len(trials(experiment).get('trial', [])) if os.path.exists(experiment + '/causal.tsv') else 0
    process = started('--from', experiment, '--progress', 'step', '--target', 'hot', '--', path, '100000')
    wait_for_trials(process, experiment, before + 2)
    for number in signals:
        process.send_signal(number)
    out, said = process.communicate(timeout=60)
    t.equal((process.returncode, out), (0, 'bye\n') if path == deaf else (128 + signals[0], ''), f'{name}: the program ends, and its status is told')
    after = len(trials(experiment)['trial'])
    t.check(after >= before + 2 and f'the answers rest on {after} experiments' in said, f'{name}: what there is counts', said)
    t.equal(t.show('causal', experiment=experiment)['rows'][0]['name'], 'hot', f'{name}: and is shown')
t.check(not [name for name in os.listdir('.') if name.startswith('sonde-')], 'nothing is left in the temporary folder')
process = started('--from', 'x-long', '--progress', 'step', '--target', 'hot', '--', pair, '100000')
wait_for_trials(process, 'x-long', after_kill := len(trials('x-long')['trial']) + 2)
runs = t.show('causal', experiment='x-long')['runs']
child = open(f'/proc/{process.pid}/task/{process.pid}/children').read().split()
folders = [name for name in os.listdir('.') if name.startswith('sonde-')]
process.kill()
os.kill(int(child[-1]), signal.SIGKILL)  # the program; before it there is what removes the scratch
process.communicate(timeout=60)
for _ in range(200):
    if not [name for name in os.listdir('.') if name.startswith('sonde-scratch.')]:
        break
    time.sleep(0.05)
t.equal([name for name in os.listdir('.') if name.startswith('sonde-')], [], f'its scratch goes with it: {folders}')
t.check(len(trials('x-long')['trial']) >= after_kill, 'a command that is killed leaves its experiments')
with open('x-long/causal.tsv', 'a') as out:
    out.write('trial\t9\t9\t0\t0.5')
t.equal((t.show('causal', experiment='x-long')['runs'], t.show('causal', experiment='x-long')['rows'][0]['name']), (runs, 'hot'),
        'which are shown, without a record that was begun')
with open('x-long/causal.tsv') as records:
    lines = records.read().split('\n')
shutil.copytree('x-long', 'x-cut')
with open('x-cut/causal.tsv', 'w') as records:  # a killed run alone, with experiments enough
    records.write('\n'.join(line for line in lines[:-1] if line.split('\t')[0] not in ('run', 'trial')) + '\n')
    for block in range(8):
        for candidate, speedup, step in ((-1, 0, 10000000), (0, 0.5, 8000000)):
            records.write(f'trial\t0\t{block}\t{candidate}\t{speedup}\t{step + 1000 * block}\t9\t250000000\t1\t9\t9\t9\t9\t5000000\n')
cut = t.show('causal', experiment='x-cut')['rows'][0]
t.equal((cut['verdict'], cut['reason'], cut['slope'], cut['points']), ('unknown', 'cut-off', None, []), 'waits for CPUs of the killed run are unknown: alone it tells no effect')
t.check('cut off before it told' in t.run('show', 'causal', 'x-cut').stdout, 'and a sentence says so')
t.run('causal', '--force', '--from', 'x-long', '--progress', 'step', '--target', 'hot', '--speedups', '100', '--max-time', '0.5', '--runs', '1', '--', pair, '50')
t.check(t.show('causal', experiment='x-long')['runs'] == runs + 1, 'and later runs add to them', t.show('causal', experiment='x-long')['runs'], runs)
t.done()
