"""The trace of locks: counts equal those of programs that count for themselves, waits are shared out among who held
what was waited for, and deadlocks are found whether or not they happened."""
import os
import re
import shutil
import signal
import subprocess
import sys
import time

from sonde_test import Test

t = Test()
SITES = ['by_mutex', 'by_trying', 'by_recursive', 'by_reading', 'by_writing', 'by_spinning', 'by_semaphore', 'by_c11',
         'by_robust']
chosen = sys.argv[1:]


def told(output):
    """What the program counted, of all its processes."""
    sums = dict.fromkeys(SITES, 0)
    for line in output.splitlines():
        words = line.split()
        if words and words[0] in sums:
            sums[words[0]] += int(words[1])
    return sums


def seen(experiment):
    locks = t.show('locks', experiment, '--all')
    sums = dict.fromkeys(SITES, 0)
    for row in locks['rows']:
        name = (row['function'] or '').split('(')[0]
        if name in sums:
            sums[name] += row['acquisitions']
    return sums, locks


def is_sound(locks, name):
    """What holds in every experiment."""
    for key in ('acquisitions', 'contended'):
        t.equal(sum(row[key] for row in locks['rows']), locks[key], f'{name}: rows of {key} sum to the whole')
    t.check(abs(sum(row['wait_s'] for row in locks['rows']) - locks['wait_s']) < 1e-6, f'{name}: so do waits')
    t.check(all(row['wait_s'] == 0 or row['contended'] for row in locks['rows']), f'{name}: who waited was contended')


def parts_are_sound(locks, experiment, name):
    """Threads sum to the whole, too; and what they held up is no more than all waits."""
    parts = t.show('contention', experiment, '--all')['rows']
    for key in ('acquisitions', 'contended'):
        t.equal(sum(row[key] for row in parts), locks[key], f'{name}: threads of {key} sum to the whole')
    t.check(sum(row['held_up_s'] for row in parts) <= locks['wait_s'] + 1e-6, f'{name}: what is held up is waited')


def random_programs():
    program = t.compile('locks.cc', '-O2', '-g', '-pthread', compiler='g++')
    for seed in range(1, 21):
        threads, forks = seed % 4, seed % 3
        words = [program, seed, threads, 3000, forks] + (['kill'] if seed % 5 == 4 else [])
        how = ['--collect', 'all'] if seed % 7 == 6 else ['--sync']
        run = t.run('record', '-q', *how, '-o', f'e{seed}', *words)
        name = f'seed {seed}, {threads} threads, {forks} forks'
        t.equal((run.returncode, run.stderr), (137 if len(words) > 5 else 0, ''),
                f'{name}: status and standard error are the program\'s')
        counts, locks = seen(f'e{seed}')
        t.equal(counts, told(run.stdout), f'{name}: acquisitions are exact')
        t.equal(locks['lost'], {'sync': 0}, f'{name}: nothing is lost')
        is_sound(locks, name)
        parts_are_sound(locks, f'e{seed}', name)
    # seed 8 has one thread a process
    text, whole = t.run('show', 'contention', 'e8').stdout, t.run('show', 'contention', 'e8', '--all').stdout
    t.equal(('without a wait' in text, 'without a wait' in whole), (True, False), 'seed 8: rows of zeros are left out, and told of')


CHAIN = '''
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
static pthread_mutex_t outer = PTHREAD_MUTEX_INITIALIZER, inner = PTHREAD_MUTEX_INITIALIZER;
static _Atomic int tids[2], has_outer;
static double now(void) { struct timespec t; clock_gettime(CLOCK_MONOTONIC, &t); return t.tv_sec + t.tv_nsec / 1e9; }
static int sleeps(int tid)
{
	char path[64], text[256], *end;
	snprintf(path, sizeof path, "/proc/self/task/%d/stat", tid);
	int fd = open(path, O_RDONLY);
	ssize_t length = read(fd, text, sizeof text - 1);
	close(fd);
	text[length > 0 ? length : 0] = 0;
	end = strrchr(text, ')');
	return end && end[2] == 'S';
}
__attribute__((noipa)) static void inner_user(void) { pthread_mutex_lock(&inner); pthread_mutex_unlock(&inner); __asm__ volatile(""); }
__attribute__((noipa)) static void outer_holder(void)
{
	pthread_mutex_lock(&outer);
	has_outer = 1;
	inner_user();
	pthread_mutex_unlock(&outer);
	__asm__ volatile("");
}
__attribute__((noipa)) static void outer_user(void) { pthread_mutex_lock(&outer); pthread_mutex_unlock(&outer); __asm__ volatile(""); }
static void *middle(void *unused) { tids[0] = (int)syscall(SYS_gettid); outer_holder(); return unused; }
static void *first(void *unused)
{
	while (!has_outer)
		usleep(100);
	tids[1] = (int)syscall(SYS_gettid);
	outer_user();
	return unused;
}
int main(void)
{
	pthread_t a, b;
	pthread_mutex_lock(&inner);
	pthread_create(&a, NULL, middle, NULL);
	pthread_create(&b, NULL, first, NULL);
	/* both wait, and go on to do so for a while */
	while (!has_outer || !tids[1] || !sleeps(tids[0]) || !sleeps(tids[1]))
		usleep(100);
	double begin = now();
	usleep(100000);
	printf("%.9f\\n", now() - begin);
	pthread_mutex_unlock(&inner);
	pthread_join(a, NULL);
	pthread_join(b, NULL);
	return 0;
}
'''


def chain():
    """One waits for a lock whose holder waits for another one."""
    run = t.run('record', '-q', '--sync', '-o', 'chain.1', t.compile(CHAIN, '-O1', '-g', '-w', '-pthread', output='./chain'))
    t.equal(run.returncode, 0, 'chain: recorded')
    least_s = float(run.stdout)
    shown = t.show('chains', 'chain.1', '--all')
    found = [row for row in shown['rows'] if row['waiter'] == 'outer_user' and row['holder'] == 'main']
    if t.equal(len(found), 1, 'chain: who waits for the outer lock waits for who holds the inner one'):
        row, waited = found[0], [w for w in t.show('locks', 'chain.1', '--all')['rows'] if w['function'] == 'outer_user']
        t.equal([(link['function'], link['object'], link['kind']) for link in row['links']],
                [('outer_user', 'outer', 'mutex'), ('inner_user', 'inner', 'mutex')], 'chain: its links')
        t.check(least_s - 0.005 <= row['wait_s'] <= waited[0]['wait_s'] + 1e-6, 'chain: as long as both waited', least_s, row, waited)
        t.check(row['length'] == 2 and row['waits'] == 1, 'chain: two links, one wait', row)
    t.check(sum(row['wait_s'] for row in shown['rows']) <= shown['wait_s'] + 1e-6, 'chain: no more than all waits', shown)
    for view in ('chains', 'critical', 'contention', 'locks', 'blame', 'deadlocks'):
        whole, part = t.show(view, 'chain.1', '--all'), t.show(view, 'chain.1', '--all', '--time', '0-0.001', '--function', 'main')
        t.equal((part.get('unfiltered'), part['rows'], 'unfiltered' in whole), (['time', 'function'], whole['rows'], False),
                f'chain: {view} is of the whole run, and says so')
        text = t.run('show', view, 'chain.1', '--time', '0-0.001', '--function', 'main')
        t.check('of the whole run: --time and --function do not restrict this view\n' in text.stdout, f'chain: {view} in words', text.stdout)
        csv = t.run('show', view, 'chain.1', '--time', '0-0.001', '--format', 'csv')
        t.check('of the whole run: --time does not restrict this view' in csv.stderr and 'whole run' not in csv.stdout,
                f'chain: {view}, beside the CSV', csv.stderr)
    t.check('unfiltered' not in t.show('functions', 'chain.1', '--all', '--time', '0-'), 'chain: views of samples are restricted')
    every = t.show('contention', 'chain.1', '--all')['rows']
    order = [(row['held_up_s'], row['wait_s']) for row in every]
    t.equal(order, sorted(order, reverse=True), 'chain: contention by what was held up, then by what was waited')
    text = t.run('show', 'chains', 'chain.1').stdout
    t.check(re.search(r'outer_user .*: mutex outer -> inner_user .*: mutex inner -> main', text), 'chain: text names all of it', text)


CONVOY = '''
#include <pthread.h>
#include <stdio.h>
#include <time.h>
static pthread_mutex_t shared = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t meet;
static double waited;
static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}
__attribute__((noipa)) static void hold_long(void)
{
	pthread_mutex_lock(&shared);
	pthread_barrier_wait(&meet);
	nanosleep(&(struct timespec){ 0, 5000000 }, NULL);
	pthread_mutex_unlock(&shared);
	__asm__ volatile("");
}
__attribute__((noipa)) static void want_it(void)
{
	pthread_barrier_wait(&meet);
	double begin = now();
	pthread_mutex_lock(&shared);
	waited += now() - begin;
	pthread_mutex_unlock(&shared);
	__asm__ volatile("");
}
static void *holder(void *unused)
{
	for (int i = 0; i < 40; i++) {
		hold_long();
		pthread_barrier_wait(&meet);
	}
	return unused;
}
static void *waiter(void *unused)
{
	for (int i = 0; i < 40; i++) {
		want_it();
		pthread_barrier_wait(&meet);
	}
	return unused;
}
int main(void)
{
	pthread_t a, b;
	pthread_barrier_init(&meet, NULL, 2);
	pthread_create(&a, NULL, holder, NULL);
	pthread_create(&b, NULL, waiter, NULL);
	pthread_join(a, NULL);
	pthread_join(b, NULL);
	printf("%.9f\\n", waited);
	return 0;
}
'''


def planted_convoy():
    """One thread holds the lock for 5 ms while another wants it, forty times. The program measures the same waits
    from outside of the call, so that both clocks see the same load."""
    program = t.compile(CONVOY, '-O2', '-g', '-pthread', output='./convoy')
    for _ in range(3):  # between the program's two readings of the clock the machine may stand still
        shutil.rmtree('convoy.1', ignore_errors=True)
        run = t.run('record', '-q', '--sync', '-o', 'convoy.1', program)
        planted_s = float(run.stdout)
        rows = {row['function']: row for row in t.show('locks', 'convoy.1', '--all')['rows'] if row['object'] == 'shared'}
        if rows['want_it']['wait_s'] >= 0.95 * planted_s:
            break
    t.equal((rows['hold_long']['acquisitions'], rows['want_it']['acquisitions']), (40, 40), 'convoy: both took it 40 times')
    t.equal((rows['hold_long']['kind'], rows['want_it']['contended']), ('mutex', 40), 'convoy: one waited each time')
    wait_s = rows['want_it']['wait_s']
    t.check(wait_s <= planted_s, 'convoy: no more than the program saw from outside', wait_s, planted_s)
    # what the program sees besides is what each call costs: it may lose its CPU there, but not every time
    t.check(wait_s >= 0.95 * planted_s, 'convoy: and at most 5 % less', wait_s, planted_s)
    blame = [row for row in t.show('blame', 'convoy.1', '--all')['rows'] if row['object'] == 'shared']
    t.equal([(row['holder'], row['waiter'], row['waits']) for row in blame], [('hold_long', 'want_it', 40)],
            'convoy: each wait has its holder')
    t.check(abs(blame[0]['wait_s'] - wait_s) < 1e-6, 'convoy: and all of its time', blame)
    # an unlock at the very end is a jump: who took the lock is named all the same, and not its caller
    program = t.compile(CONVOY.replace('__asm__ volatile("");', ''), '-O2', '-g', '-pthread', output='./jumps')
    t.run('record', '-q', '--sync', '-o', 'jumps.1', program)
    jumps = [row for row in t.show('blame', 'jumps.1', '--all')['rows'] if row['object'] == 'shared']
    t.equal([(row['holder'], row['waiter']) for row in jumps], [('hold_long', 'want_it')], 'convoy: a release by a jump has its holder')
    threads = [row for row in t.show('contention', 'convoy.1', '--all')['rows'] if row['object'] == 'shared']
    t.equal(sorted((row['acquisitions'], row['contended']) for row in threads), [(40, 0), (40, 40)],
            'convoy: each thread has its part in the lock')
    t.check(all(abs(row['held_up_s'] - (0 if row['contended'] else wait_s)) < 1e-6 and
                abs(row['wait_s'] - (wait_s if row['contended'] else 0)) < 1e-6 for row in threads),
            'convoy: one waits as long as the other holds it up', threads)
    barrier = [row for row in t.show('locks', 'convoy.1', '--all')['rows'] if row['kind'] == 'barrier']
    t.equal(sum(row['acquisitions'] for row in barrier), 160, 'convoy: barriers are counted, too')
    joins = [row for row in t.show('locks', 'convoy.1', '--all')['rows'] if row['kind'] == 'join']
    t.equal(sum(row['acquisitions'] for row in joins), 2, 'convoy: so are joins')
    lock = [f for f in t.show('summary', 'convoy.1')['findings'] if ' for shared: ' in f['sentence']]
    t.check(len(lock) == 1 and re.search(r'want_it \(.*\) waits while hold_long \(.*\) has it$', lock[0]['sentence']) and
            'Hold shared for less in hold_long' in lock[0]['remedy'], 'convoy: the first screen names who waits and who holds', lock)


ORDERS = '''
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
static _Atomic int forward_tid;
static pthread_mutex_t first = PTHREAD_MUTEX_INITIALIZER, second = PTHREAD_MUTEX_INITIALIZER,
		       gate = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t meet;
static const char *how;
static void in_order(pthread_mutex_t *a, pthread_mutex_t *b)
{
	if (!strcmp(how, "gate"))
		pthread_mutex_lock(&gate);
	pthread_mutex_lock(a);
	if (!strcmp(how, "hang")) {
		pthread_barrier_wait(&meet);
		puts("hangs");
		fflush(stdout);
	}
	pthread_mutex_lock(b);
	pthread_mutex_unlock(b);
	pthread_mutex_unlock(a);
	if (!strcmp(how, "gate"))
		pthread_mutex_unlock(&gate);
}
__attribute__((noipa)) static void forward(void)
{
	in_order(&first, &second);
	__asm__ volatile("");
}
__attribute__((noipa)) static void backward(void)
{
	in_order(&second, &first);
	__asm__ volatile("");
}
static void *go_forward(void *unused)
{
	forward_tid = (int)syscall(SYS_gettid);
	forward();
	if (!strcmp(how, "overlap") || !strcmp(how, "gate"))
		pthread_barrier_wait(&meet);
	return unused;
}
static void *go_backward(void *unused)
{
	if (!strcmp(how, "overlap") || !strcmp(how, "gate"))
		pthread_barrier_wait(&meet);
	backward();
	return unused;
}
int main(int count, char **arguments)
{
	pthread_t a, b;
	how = arguments[count - 1];
	pthread_barrier_init(&meet, NULL, 2);
	pthread_create(&a, NULL, go_forward, NULL);
	if (!strcmp(how, "apart"))
		pthread_join(a, NULL);
	/* it has gone, which main knows by no call that puts them in order: in another run it may be slower */
	while (!strcmp(how, "luck") && (!forward_tid || syscall(SYS_tgkill, getpid(), forward_tid, 0) == 0))
		usleep(100);
	pthread_create(&b, NULL, go_backward, NULL);
	if (strcmp(how, "apart") != 0)
		pthread_join(a, NULL);
	pthread_join(b, NULL);
	return 0;
}
'''


def deadlocks():
    program = t.compile(ORDERS, '-O1', '-fno-inline', '-g', '-pthread', output='./orders')
    for how, cycles in (('overlap', 1), ('luck', 1), ('apart', 0), ('gate', 0)):
        t.run('record', '-q', '--sync', '-o', how, program, how)
        rows = t.show('deadlocks', how)['rows']
        t.equal(len({row['cycle'] for row in rows}), cycles, f'orders, {how}: circles')
        t.check(not any(row['hung'] for row in rows), f'orders, {how}: none hung')
    rows = t.show('deadlocks', 'overlap')['rows']
    t.equal(sorted(row['object'] for row in rows), ['first', 'second'], 'orders: each lock is in the circle')
    t.equal(len({row['thread'] for row in rows}), 2, 'orders: by two threads')
    for how, is_told in (('overlap', True), ('apart', False)):
        t.equal('opposite orders' in t.run('show', 'summary', how).stdout, is_told,
                f'orders, {how}: the summary warns of what may deadlock')
    for name, number in (('SIGTERM', signal.SIGTERM), ('SIGKILL', signal.SIGKILL)):
        started = subprocess.Popen([t.sonde, 'record', '-q', '--sync', '-o', name, program, 'hang'], stdout=subprocess.PIPE,
                                   text=True, cwd=t.folder)
        started.stdout.readline()
        started.stdout.readline()
        deadline = time.time() + 60
        while time.time() < deadline:
            # both threads sleep in the second lock
            target = subprocess.run(['pgrep', '-P', str(started.pid)], capture_output=True, text=True).stdout.split()
            tasks = target and os.listdir(f'/proc/{target[0]}/task')
            if tasks and len(tasks) == 3 and all('futex' in open(f'/proc/{target[0]}/task/{task}/wchan').read() or
                                                 open(f'/proc/{target[0]}/task/{task}/stat').read().rsplit(')')[1].split()[0] == 'S'
                                                 for task in tasks):
                break
            time.sleep(0.05)
        time.sleep(0.3)
        os.kill(int(target[0]), number)
        t.equal(started.wait(), 128 + number, f'{name}: the status of the deadlocked program')
        rows = [row for row in t.show('deadlocks', name)['rows'] if row['hung']]
        t.equal(sorted((row['object'], row['cycle']) for row in rows), [('first', 1), ('second', 1)],
                f'{name}: the deadlock is found')
        t.equal(len({row['cycle'] for row in t.show('deadlocks', name)['rows']}), 1, f'{name}: it is one circle')
        chains = [row['chain'] for row in t.show('chains', name, '--all')['rows']]
        t.check(any(re.search(r'again: a deadlock$', chain) for chain in chains), f'{name}: the chain closes', chains)
        path = t.show('critical', name, '--all')['rows']
        longest = max(path, key=lambda row: row['time_s'])
        # other waits, as for a thread to start, have ended
        never = [row for row in path if row['kind'] == 'sync' and row['function'] == 'in_order']
        t.check(not any(row['saved_s'] for row in never), f'{name}: nothing is saved of what never ended',
                [row for row in path if row['saved_s'] is not None])
        t.check(longest['kind'] != 'sync' or 'they never ended' in t.run('show', 'critical', name).stdout, f'{name}: that is said', longest)
        verdict = t.show('summary', name)['verdict']
        t.check(verdict['kind'] == 'lock_wait' and verdict['confidence'] == 'high' and
                re.search('^Deadlock: .* wants (first|second), .* wants (first|second)$', verdict['sentence']),
                f'{name}: it is the verdict', verdict)


BAD_DAYS = '''
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t never = PTHREAD_COND_INITIALIZER;
static void release(void *at)
{
	pthread_mutex_unlock(at);
}
static void *cancelled(void *unused)
{
	pthread_mutex_lock(&mutex);
	pthread_cleanup_push(release, &mutex);
	for (;;)
		pthread_cond_wait(&never, &mutex);
	pthread_cleanup_pop(1);
	return unused;
}
static void *die_holding(void *at)
{
	pthread_mutex_lock(at);
	return NULL;
}
static void before(void)
{
	pthread_mutex_lock(&mutex);
}
static void after(void)
{
	pthread_mutex_unlock(&mutex);
}
int main(void)
{
	pthread_mutexattr_t robust, checked;
	pthread_mutex_t *shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0), own;
	pthread_t thread;
	pthread_mutexattr_init(&robust);
	pthread_mutexattr_setrobust(&robust, PTHREAD_MUTEX_ROBUST);
	pthread_mutexattr_setpshared(&robust, PTHREAD_PROCESS_SHARED);
	pthread_mutex_init(shared, &robust);
	pthread_create(&thread, NULL, die_holding, shared);
	pthread_join(thread, NULL);
	printf("robust: %s\\n", pthread_mutex_lock(shared) == EOWNERDEAD ? "owner died" : "?");
	pthread_mutex_consistent(shared);
	pthread_mutex_unlock(shared);
	if (fork() == 0) {
		pthread_mutex_lock(shared);
		usleep(50000);
		pthread_mutex_unlock(shared);
		_exit(0);
	}
	usleep(20000);
	pthread_mutex_lock(shared);
	pthread_mutex_unlock(shared);
	wait(NULL);
	pthread_mutexattr_init(&checked);
	pthread_mutexattr_settype(&checked, PTHREAD_MUTEX_ERRORCHECK);
	pthread_mutex_init(&own, &checked);
	pthread_mutex_lock(&own);
	printf("again: %s\\n", strerror(pthread_mutex_lock(&own)));
	printf("held: %d\\n", pthread_mutex_destroy(&own));
	pthread_mutex_unlock(&own);
	printf("not held: %s\\n", strerror(pthread_mutex_unlock(&own)));
	pthread_create(&thread, NULL, cancelled, NULL);
	usleep(20000);
	pthread_cancel(thread);
	pthread_join(thread, NULL);
	pthread_atfork(before, after, after);
	if (fork() == 0) {
		pthread_mutex_lock(&mutex);
		pthread_mutex_unlock(&mutex);
		puts("child");
		fflush(stdout);
		_exit(0);
	}
	wait(NULL);
	for (int fd = 3; fd < 1024; fd++)
		close(fd);
	pthread_mutex_lock(&mutex);
	pthread_mutex_unlock(&mutex);
	errno = 17;
	pthread_mutex_lock(&mutex);
	pthread_mutex_unlock(&mutex);
	printf("errno %d\\n", errno);
	fflush(stdout);
	pthread_mutex_lock(&mutex);
	execlp("true", "true", (char *)NULL);
	return 1;
}
'''


def bad_days():
    program = t.compile(BAD_DAYS, '-O1', '-g', '-pthread', output='./bad')
    plain = t.command(program)
    run = t.run('record', '-q', '--sync', '-o', 'bad.1', program)
    t.equal((run.returncode, run.stdout, run.stderr), (plain.returncode, plain.stdout, plain.stderr),
            'bad days: output and status are the program\'s')
    locks = t.show('locks', 'bad.1', '--all')
    taken = sum(row['acquisitions'] for row in locks['rows'] if row['object'] == 'mutex')
    # cancelled() 1; atfork's before 1; in the child 1; after the closes 3
    t.equal(taken, 6, 'bad days: acquisitions past fork, close and exec')
    condition = [row for row in locks['rows'] if row['object'] == 'never']
    t.equal([(row['kind'], row['acquisitions'], row['contended']) for row in condition], [('condition', 0, 1)],
            'bad days: a cancelled wait is a wait')
    t.check(0.01 < condition[0]['wait_s'] < 30, 'bad days: it ended when the thread did', condition)
    t.equal(locks['lost'], {'sync': 0}, 'bad days: nothing is lost')
    is_sound(locks, 'bad days')


def front_door():
    program = t.compile('\nint main(void)\n{\n\treturn 0;\n}\n', output='./nothing')
    for words, what in ((['--collect', 'lokcs,sync'], "no 'lokcs'"), (['--collect', 'snyc'], "did you mean 'sync'"),
                        (['--sync=often'], "not 'often'"), (['--collect', 'heap,,io'], "not ''")):
        run = t.run('record', *words, program)
        t.equal(run.returncode, 125, f'{words}: refused before it starts')
        t.check(what in run.stderr or "not 'lokcs'" in run.stderr, f'{words}: and says why', run.stderr)
    t.run('record', '-q', '-o', 'none', program)
    shown = t.run('show', 'locks', 'none')
    t.check('--sync' in shown.stderr, 'without a trace the view says how to make one', shown.stderr)
    convoy = t.compile(CONVOY, '-O2', '-g', '-pthread', output='./convoy')
    t.run('record', '-q', '--sync=1000000', '-o', 'least', convoy)
    locks = t.show('locks', 'least', '--all')
    t.equal(locks['contended'], 0, 'waits below the threshold count as none')
    rows = [row for row in locks['rows'] if row['object'] == 'shared']
    t.equal(sum(row['acquisitions'] for row in rows), 80, 'and their acquisitions are counted all the same')
    t.run('record', '-q', '--sync=on', '-o', 'on', convoy)
    rows = {row['function']: row for row in t.show('locks', 'on', '--all')['rows'] if row['object'] == 'shared'}
    t.equal(rows['want_it']['contended'], 40, 'waits of 5 ms are above the calibrated threshold')


for check in (random_programs, planted_convoy, chain, deadlocks, bad_days, front_door):
    if not chosen or check.__name__ in chosen:
        check()
t.done()
