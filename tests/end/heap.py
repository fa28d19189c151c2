"""The heap's trace: counts and bytes equal those of programs that count for themselves."""
import glob
import os
import signal
import re
import struct
import subprocess
import sys
import time

from report_contents import contents
from sonde_test import Test

t = Test()
SITES = ['by_malloc', 'by_calloc', 'by_realloc', 'by_aligned', 'by_posix', 'by_strdup', 'by_new', 'by_new_array',
         'by_new_aligned', 'by_new_nothrow']
chosen = sys.argv[1:]


def told(output):
    """What the program counted: {function: [allocations, bytes, frees]}, of all its processes."""
    sums = {site: [0, 0, 0] for site in SITES}
    for line in output.splitlines():
        words = line.split()
        if words and words[0] in sums:
            sums[words[0]] = [a + int(b) for a, b in zip(sums[words[0]], words[1:])]
    return sums


def seen(experiment):
    """The same from the trace, and the whole object."""
    heap = t.show('heap', experiment, '--all')
    sums = {site: [0, 0, 0] for site in SITES}
    for row in heap['rows']:
        name = (row['function'] or '').split('(')[0]
        if name in sums:
            more = [row['allocations'], row['bytes'], row['frees']]
            sums[name] = [a + b for a, b in zip(sums[name], more)]
    return sums, heap


def is_sound(heap, name):
    """What holds in every experiment."""
    rows = heap['rows']
    for key in ('allocations', 'frees', 'bytes', 'peak_bytes'):
        t.equal(sum(row[key] for row in rows), heap[key], f'{name}: rows of {key} sum to the whole')
    t.check(all(row['allocations'] == row['frees'] + row['leaked_count'] for row in rows),
            f'{name}: what was allocated was released or is left')
    t.equal(sum(row['leaked_bytes'] for row in rows), heap['live_end_bytes'], f'{name}: what is left at the end')


def random_programs(mode='trace', seeds=range(1, 21)):
    program = t.compile('heap.cc', '-O2', '-g', '-pthread', compiler='g++')
    for seed in seeds:
        threads, forks = seed % 4, seed % 3
        words = [program, seed, threads, 3000, forks] + (['kill'] if seed % 5 == 4 else [])
        plain = t.command(*words)
        run = t.run('record', '-q', f'--heap={mode}', '-o', f'{mode}{seed}', *words)
        name = f'{mode}, seed {seed}, {threads} threads, {forks} forks'
        t.equal((run.returncode, run.stderr), (128 - plain.returncode if plain.returncode < 0 else plain.returncode, ''),
                f'{name}: status and standard error are the program\'s')
        t.equal(sorted(run.stdout.splitlines()), sorted(plain.stdout.splitlines()), f'{name}: so is its output')
        counts, heap = seen(f'{mode}{seed}')
        t.equal(counts, told(run.stdout), f'{name}: counts and bytes are exact')
        t.equal((heap['lost'], heap['unknown_frees']), ({'heap': 0}, 0), f'{name}: nothing lost, nothing unknown')
        is_sound(heap, name)


REALIGNED = r'''
#include <stdlib.h>
#include <string.h>
static char text[64] = "a text that is doubled again and again";
__attribute__((noipa)) static void *doubles(void) { void *p = strdup(text); __asm__ volatile(""); return p; }
/* Its frame is aligned anew, so that its CFA is a word in memory: each walk is the unwinder's. */
__attribute__((noipa)) static void *aligned(size_t n)
{
	_Alignas(64) char room[64];
	char *more = __builtin_alloca(n);

	more[0] = room[0] = 1;
	__asm__ volatile("" : : "r"(room), "r"(more) : "memory");
	void *p = doubles();
	__asm__ volatile("");
	return p;
}
int main(void)
{
	for (int i = 0; i < 200000; i++)
		free(aligned(16 + i % 64));
	return 0;
}
'''


def samples_between():
    """Samples fall into walks of events: the frames that an event has are its own all the same."""
    program = t.compile(REALIGNED, '-O1', '-g', output='./realigned')
    t.run('record', '-q', '--heap=trace', '--clock', '10000', '-o', 'realigned.1', program)
    rows = {row['function']: row['allocations'] for row in t.show('heap', 'realigned.1', '--all')['rows']}
    t.equal(rows, {'doubles': 200000}, 'samples between: every event has its own caller')


def known_program():
    program = t.compile('''
#include <stdlib.h>
#include <stdio.h>
static __attribute__((noipa)) void *keep(size_t n) { void *p = malloc(n); __asm__ volatile(""); return p; }
static __attribute__((noipa)) void *drop(size_t n) { void *p = malloc(n); __asm__ volatile(""); return p; }
/* What is inlined into outer allocates: a site of its own, and outer is its caller. */
static inline __attribute__((always_inline)) void *inner(size_t n) { void *p = malloc(n); __asm__ volatile(""); return p; }
static inline __attribute__((always_inline)) void *between(size_t n) { void *p = inner(n); __asm__ volatile(""); return p; }
static __attribute__((noipa)) void *outer(size_t n) { void *p = between(n); __asm__ volatile(""); return p; }
int main(void)
{
	void *kept[10], *big;
	free(outer(20));
	for (int i = 0; i < 10; i++)
		kept[i] = keep(1000);
	big = drop(1 << 20);
	free(big);
	for (int i = 0; i < 100; i++)
		free(drop(10));
	for (int i = 0; i < 7; i++)
		free(kept[i]);
	fputs("done\\n", stderr);
	return 3;
}
''', '-O2', '-g', output='./known')
    run = t.run('record', '-q', '--heap=trace', '-o', 'known.1', program)
    t.equal((run.returncode, run.stderr), (3, 'done\n'), 'known: status and standard error')
    heap = t.show('heap', 'known.1', '--all')
    rows = {row['function']: row for row in heap['rows']}
    want = {'allocations': 10, 'bytes': 10000, 'frees': 7, 'leaked_count': 3, 'leaked_bytes': 3000, 'peak_bytes': 10000,
            'temporary': 0}
    t.equal({key: rows['keep'][key] for key in want}, want, 'known: what keep did')
    want = {'allocations': 101, 'bytes': 1000 + (1 << 20), 'frees': 101, 'leaked_count': 0, 'leaked_bytes': 0,
            'peak_bytes': 1 << 20, 'temporary': 101}
    t.equal({key: rows['drop'][key] for key in want}, want, 'known: what drop did')
    t.equal(rows['inner']['allocations'], 1, 'known: an inlined function is a site')
    t.check(not {'between', 'outer'} & set(rows), 'known: what it is inlined into is no further site', sorted(rows))
    t.check(0 < heap['peak_t_s'] < 60 and heap['mode'] == 'trace', 'known: the peak has a time', heap['peak_t_s'])
    is_sound(heap, 'known')
    leaks = t.show('leaks', 'known.1')['rows']
    t.equal([row['function'] for row in leaks if row['module'] == 'known'], ['keep'], 'known: show leaks has the leak alone')
    peak = t.show('peak', 'known.1')['rows']
    t.equal(peak[0]['function'], 'drop', 'known: show peak begins with the largest')
    tree = t.show('peak', 'known.1', '--paths', '--all')
    roots = [row for row in tree['rows'] if row['depth'] == 0]
    t.equal(sum(row['peak_bytes'] for row in roots), tree['peak_bytes'], 'known: trees of callers sum to the peak')
    nodes = {row['node']: row for row in tree['rows']}
    t.check(all(nodes[row['parent']]['depth'] == row['depth'] - 1 for row in tree['rows'] if row['parent']),
            'known: each caller hangs on a row one less deep')
    below = [row for row in tree['rows'] if row['parent'] and nodes[row['parent']]['function'] == 'drop']
    t.equal([row['function'] for row in below], ['main'], 'known: at the peak drop was called by main')
    t.run('report', 'known.1', '-o', 'known.html')
    views = {view['name']: view for view in contents('known.html')[0]['views']}
    t.equal(views['heap']['foot'], t.run('show', 'heap', 'known.1').stdout.splitlines()[-1] + '\n', 'known: the page has its totals')
    summary = t.show('summary', 'known.1')
    t.equal(summary['heap']['peak_bytes'], heap['peak_bytes'], 'known: the summary has the peak')
    t.check('drop' in summary['heap']['sentence'], 'known: and its largest site', summary['heap'])
    refused = t.run('show', 'functions', 'known.1', '--paths')
    t.check(refused.returncode != 0 and '--paths' in refused.stderr, 'known: --paths goes with the heap alone', refused.stderr)
    text = t.run('show', 'leaks', 'known.1').stdout
    t.check('keep (' in text and 'never released' in text, 'known: the text names the leak', text)
    csv = t.run('show', 'heap', 'known.1', '--format', 'csv').stdout.splitlines()
    t.equal(csv[0].split(',')[:4], ['site', 'function', 'file', 'line'], 'known: CSV has the keys')


STORM = '''
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
enum { PAIRS = 2000000 };
static void *storm(void *unused)
{
	for (int i = 0; i < PAIRS; i++) {
		void *volatile p = malloc(32);
		free(p);
	}
	return unused;
}
int main(void)
{
	pthread_t other;
	pthread_create(&other, NULL, storm, NULL);
	storm(NULL);
	pthread_join(other, NULL);
	puts("survived");
	return 0;
}
'''


def lost_are_counted():
    """Eight million events: each is there or counted, on a slow disk, without a launcher, beyond --max-size."""
    program = t.compile(STORM, '-O2', '-g', '-pthread', output='./storm')
    run = t.run('record', '-q', '--heap=trace', '--clock', 'off', '-o', 'storm.1', program)
    t.equal((run.stdout, run.returncode), ('survived\n', 0), 'storm: it runs as ever')
    heap = t.show('heap', 'storm.1')
    rows = {row['function']: row for row in heap['rows']}
    if heap['lost']['heap'] == 0:
        t.equal((rows['storm']['allocations'], rows['storm']['frees']), (4000000, 4000000), 'storm: nothing is missing')
    else:
        t.check(heap['allocations'] + heap['frees'] <= 8000100, 'storm: no event is there twice')
    live = t.run('record', '-q', '--heap=trace', '--clock', 'off', '--max-size', '2', '-o', 'storm.2', program)
    t.equal((live.stdout, live.returncode), ('survived\n', 0), 'storm: beyond --max-size it runs as ever')
    heap = t.show('heap', 'storm.2')
    t.check(heap['lost']['heap'] > 1000000, 'storm: what --max-size left out is counted', heap['lost'])
    size = os.path.getsize(glob.glob('storm.2/*.trace')[0])
    t.check(size <= 2e6, 'storm: the trace is as small as asked for', size)
    summary = t.run('show', 'summary', 'storm.2').stdout
    t.check('--max-size' in summary, 'storm: and the summary says so', summary)


COUNTED = r'''
#include <stdio.h>
#include <stdlib.h>
int main(void)
{
	void *volatile block;
	setvbuf(stdout, NULL, _IONBF, 0);
	for (long i = 0; i < 200000; i++) {
		block = malloc((size_t)(16 + i % 977));
		if (i % 3)
			free(block);
	}
	puts("done");
	return 3;
}
'''


def all_events(heap):
    return heap['allocations'] + heap['frees'] + heap['unknown_frees'] + heap['lost']['heap']


def full_disk():
    """A trace that ends where the disk is full (here: a limit on file sizes): each event is there or counted as lost."""
    program = t.compile(COUNTED, '-O1', '-g', output='./counted')
    t.run('record', '-q', '--heap=trace', '--clock', 'off', '-o', 'whole.1', program)
    whole = t.show('heap', 'whole.1')
    t.equal((whole['lost']['heap'], whole['is_complete']), (0, True), 'enough room: nothing is lost, and that is said')
    for kilobytes in (101, 250, 600):
        run = t.command('bash', '-c', f'ulimit -f {kilobytes}; exec "$@"', 'bash', t.sonde, 'record', '-q', '--heap=trace', '--clock', 'off',
                        '-o', f'full{kilobytes}.1', program)
        t.equal((run.returncode, run.stdout), (3, 'done\n'), f'{kilobytes} kB: the program runs as ever')
        t.check('the trace could not be written on' in run.stderr, f'{kilobytes} kB: record says so', run.stderr)
        heap = t.show('heap', f'full{kilobytes}.1')
        t.check(heap['lost']['heap'] > 0, f'{kilobytes} kB: some are lost', heap['lost'])
        t.equal(all_events(heap), all_events(whole),
                f'{kilobytes} kB: each event is there or counted as lost')
        t.equal((heap['live_end_bytes'], heap['is_complete']), (None, False), f'{kilobytes} kB: what was left at the end is not known')
        foot = t.run('show', 'leaks', f'full{kilobytes}.1').stdout
        t.check('were lost' in foot and 'damaged' not in foot, f'{kilobytes} kB: show leaks warns', foot)
    limited = t.run('record', '-q', '--heap=trace', '--clock', 'off', '--max-size', '0.3', '-o', 'limited.1', program)
    heap = t.show('heap', 'limited.1')
    t.equal(limited.returncode, 3, '--max-size: the program runs as ever')
    t.equal(all_events(heap), all_events(whole),
            '--max-size: each event is there or counted as lost')


def without_launcher():
    program = t.compile(STORM.replace('PAIRS = 2000000', 'PAIRS = 20000000'), '-O2', '-g', '-pthread', output='./long')
    launcher = subprocess.Popen([t.sonde, 'record', '-q', '--heap=trace', '--clock', 'off', '-o', 'alone.1', program],
                                stdout=subprocess.PIPE, text=True)
    deadline = time.time() + 60
    while not (glob.glob('alone.1/*.trace') and os.path.getsize(glob.glob('alone.1/*.trace')[0])):
        if time.time() > deadline:
            break
        time.sleep(0.01)
    launcher.send_signal(signal.SIGKILL)
    output, _ = launcher.communicate(timeout=120)
    t.equal(output, 'survived\n', 'launcher killed: the program goes on to its end')
    heap = t.show('heap', 'alone.1')
    t.check(0 < heap['allocations'] <= 40000100, 'launcher killed: what was written is read', heap)
    t.check(heap['lost']['heap'] > 0, 'launcher killed: what had no room is counted', heap['lost'])
    storm = [row for row in heap['rows'] if row['function'] == 'storm'][0]
    t.check(storm['frees'] <= storm['allocations'] <= 40000000, 'launcher killed: no event counts twice', storm)
    launch = open(glob.glob('alone.1/launch.*.json')[0]).read()
    folder = re.search(r'"live_folder":\s*"([^"]+)"', launch)
    if folder:
        t.command('rm', '-rf', folder[1])


def cut_short():
    """A trace that was cut anywhere is read as far as it goes."""
    program = t.compile(STORM.replace('PAIRS = 2000000', 'PAIRS = 20000'), '-O2', '-g', '-pthread', output='./small')
    t.run('record', '-q', '--heap=trace', '--clock', 'off', '-o', 'cut.1', program)
    path = glob.glob('cut.1/*.trace')[0]
    whole = open(path, 'rb').read()
    full = t.show('heap', 'cut.1')['allocations']
    for length in (0, 1, 47, 48, 49, 5000, len(whole) // 2, len(whole) - 8):
        with open(path, 'wb') as out:
            out.write(whole[:length])
        heap = t.show('heap', 'cut.1')
        t.check(heap['allocations'] <= full, f'cut at byte {length} of {len(whole)}', heap['allocations'])
    for at in range(0, len(whole), max(1, len(whole) // 40)):
        damaged = bytearray(whole)
        damaged[at] ^= 0x55
        with open(path, 'wb') as out:
            out.write(damaged)
        run = t.run('show', 'heap', 'cut.1')
        t.equal(run.returncode, 3 if 'has no row' in run.stderr else 0, f'byte {at} changed')


ALLOCATORS = {'jemalloc': 'libjemalloc.so.2', 'tcmalloc': 'libtcmalloc_minimal.so.4', 'mimalloc': 'libmimalloc.so.2'}


def library_of(name):
    found = glob.glob(f'/usr/lib/*/{name}') + glob.glob(f'/usr/lib/{name}')
    return found[0] if found else None


def other_allocators(mode='trace'):
    program = t.compile('heap.cc', '-O2', '-g', '-pthread', compiler='g++', output='./others')
    for name, file in ALLOCATORS.items():
        library = library_of(file)
        if not library:
            t.skip(f'{name}: exact', f'{file} is not installed')
            continue
        words = [program, 7, 2, 3000, 1]
        name = f'{name}, {mode}'
        run = t.run('record', '-q', f'--heap={mode}', '-o', f'{name}.1', *words, env={**os.environ, 'LD_PRELOAD': library})
        counts, heap = seen(f'{name}.1')
        t.equal((run.returncode, run.stderr), (0, ''), f'{name}: status and standard error')
        t.equal(counts, told(run.stdout), f'{name}: counts and bytes are exact')
        t.equal((heap['lost'], heap['unknown_frees']), ({'heap': 0}, 0), f'{name}: nothing lost, nothing unknown')


# Safe in signal handlers, which the C library's malloc is not.
BUMP = '''
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
static _Atomic(char *) next;
void *malloc(size_t n)
{
	char *at = atomic_load(&next), *none = NULL;
	if (!at) {
		at = mmap(NULL, 1UL << 36, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
		if (!atomic_compare_exchange_strong(&next, &none, at))
			munmap(at, 1UL << 36);
	}
	at = atomic_fetch_add(&next, (n + 31) & ~15UL);
	*(size_t *)at = n;
	return at + 16;
}
void free(void *p) { (void)p; }
void *calloc(size_t a, size_t b) { return malloc(a * b); }
void *realloc(void *old, size_t n)
{
	void *p = malloc(n);
	if (old)
		memcpy(p, old, ((size_t *)old)[-2] < n ? ((size_t *)old)[-2] : n);
	return p;
}
'''
HANDLER = '''
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>
static volatile long handled, jumps, done;
static sigjmp_buf back;
static void on_alarm(int s)
{
	(void)s;
	free(malloc(33));
	handled++;
#ifdef JUMPS
	if (handled % 8 == 0) {
		jumps++;
		siglongjmp(back, 1);
	}
#endif
}
int main(void)
{
	struct sigaction action = { .sa_handler = on_alarm };
	struct itimerval timer = { { 0, 200 }, { 0, 200 } };
	sigaction(SIGALRM, &action, NULL);
	sigsetjmp(back, 1);
	setitimer(ITIMER_REAL, &timer, NULL);
	while (done < 400000) {
		free(malloc(50));
		done++;
	}
	timer = (struct itimerval){ 0 };
	setitimer(ITIMER_REAL, &timer, NULL);
	fprintf(stderr, "%ld %ld %ld\\n", done, handled, jumps);
	return 0;
}
'''


def signal_handlers(mode='trace'):
    """A handler allocates wherever it interrupts, in our own code, too; and may never return there."""
    bump = t.compile(BUMP, '-O2', '-fno-builtin', '-shared', '-fPIC', output='./libbump.so')
    for jumps in (False, True):
        program = t.compile(HANDLER, '-O2', '-g', '-fno-builtin', *(['-DJUMPS'] if jumps else []), output=f'./handler{jumps}')
        name = f'{mode}, handlers that jump away' if jumps else f'{mode}, handlers'
        run = t.run('record', '-q', f'--heap={mode}', '-o', f'handler{jumps}{mode}.1', program,
                    env={**os.environ, 'LD_PRELOAD': os.path.abspath(bump)})
        done, handled, jumped = (int(word) for word in run.stderr.split())
        heap = t.show('heap', f'handler{jumps}{mode}.1', '--all')
        mains = sum(r['allocations'] for r in heap['rows'] if r['bytes'] == 50 * r['allocations'])
        all_of_program = heap['allocations'] - sum(r['allocations'] for r in heap['rows']
                                                   if r['bytes'] > 60 * r['allocations'])
        if not jumps:
            t.equal((all_of_program, heap['unknown_frees'], heap['lost']['heap']), (done + handled, 0, 0),
                    f'{name}: every allocation counts')
        else:  # what was jumped out of was begun, or not: one for each jump
            t.check(done + handled <= all_of_program + heap['lost']['heap'] <= done + handled + jumped,
                    f'{name}: every allocation counts', done, handled, jumped, all_of_program, heap['lost'])
        t.check(mains > done * 0.9 or jumps, f'{name}: and nearly all have their call path', mains)


ODD = '''
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <pthread.h>
#include <thread>
#include <unistd.h>
#define SITE __attribute__((noipa)) static void *
SITE before_main(size_t n) { void *p = malloc(n); asm volatile(""); return p; }
SITE in_thread(size_t n) { void *p = malloc(n); asm volatile(""); return p; }
SITE in_tls_end(size_t n) { void *p = malloc(n); asm volatile(""); return p; }
SITE in_key_end(size_t n) { void *p = malloc(n); asm volatile(""); return p; }
SITE at_exit(size_t n) { void *p = malloc(n); asm volatile(""); return p; }
SITE in_destructor(size_t n) { void *p = malloc(n); asm volatile(""); return p; }
static void *early = before_main(11);
struct Local { void *p = in_thread(12); ~Local() { free(p); free(in_tls_end(13)); } };
static thread_local Local local;
static pthread_key_t key;
static void key_end(void *p) { free(p); free(in_key_end(14)); }
struct Global { ~Global() { free(in_destructor(16)); } } global;
int main(int, char **argv)
{
	pthread_key_create(&key, key_end);
	atexit([] { free(at_exit(15)); });
	for (int i = 0; i < 10; i++)
		std::thread([] { pthread_setspecific(key, in_thread(12)); (void)*(volatile char *)local.p; }).join();
	free(early);
	if (argv[1] && !strcmp(argv[1], "_exit")) _exit(4);
	if (argv[1] && !strcmp(argv[1], "close")) { for (int fd = 3; fd < 1024; fd++) close(fd); return 5; }
	if (argv[1] && !strcmp(argv[1], "exec")) execl("/bin/sh", "sh", "-c", "exit 6", nullptr);
	if (argv[1] && !strcmp(argv[1], "twice")) { void *p = malloc(2000); free(p); free(p); }
	return 3;
}
'''


def odd_moments(mode='trace'):
    """Before main, in destructors of threads, after exit; _exit, exec, all descriptors closed, a double free."""
    with open('odd.cc', 'w') as out:
        out.write(ODD)
    program = t.compile('./odd.cc', '-O2', '-g', '-pthread', '-fno-builtin', compiler='g++', output='./odd')
    end = {'': 3, '_exit': 4, 'close': 5, 'exec': 6, 'twice': -signal.SIGABRT}
    for how, status in end.items():
        words = [program] + ([how] if how else [])
        name = f'{mode}, ' + (how or 'to the end')
        plain = t.command(*words)
        run = t.run('record', '-q', f'--heap={mode}', '-o', f'odd{how}{mode}.1', *words)
        t.equal(plain.returncode, status, f'{name}: what the program does without us')
        t.equal((run.returncode, run.stdout), (128 - status if status < 0 else status, plain.stdout), f'{name}: and with us')
        t.check(plain.stderr in run.stderr, f'{name}: its words are there', run.stderr)
        heap = t.show('heap', f'odd{how}{mode}.1', '--all')
        rows = {(r['function'] or '').split('(')[0]: (r['allocations'], r['frees']) for r in heap['rows']}
        want = {'before_main': (1, 1), 'in_thread': (20, 20), 'in_tls_end': (10, 10), 'in_key_end': (10, 10)}
        if how in ('', 'close'):
            want.update({'at_exit': (1, 1), 'in_destructor': (1, 1)})
        t.equal({site: rows.get(site) for site in want}, want, f'{name}: every moment counts')


def own_malloc():
    """A malloc in the program itself comes before ours: nothing is traced, and that is said."""
    program = t.compile(BUMP + '''
#include <stdio.h>
int main(void) { char *p = malloc(100); snprintf(p, 100, "mine"); puts(p); return 2; }
''', '-O2', '-fno-builtin', '-rdynamic', output='./mine')
    run = t.run('record', '-q', '--heap=trace', '-o', 'mine.1', program)
    t.equal((run.returncode, run.stdout), (2, 'mine\n'), 'own malloc: the program runs as ever')
    heap = t.show('heap', 'mine.1')
    t.equal((heap['mode'], heap['rows']), (None, []), 'own malloc: nothing is claimed')
    text = t.run('show', 'summary', 'mine.1').stdout
    t.check('malloc of its own' in ' '.join(text.split()), 'own malloc: the summary says why', text)
    static = t.compile(STORM.replace('PAIRS = 2000000', 'PAIRS = 2000'), '-O2', '-static', '-pthread', output='./static')
    run = t.run('record', '-q', '--heap=trace', '-o', 'static.1', static)
    t.equal((run.returncode, run.stdout), (0, 'survived\n'), 'static: the program runs as ever')
    text = t.run('show', 'summary', 'static.1').stdout
    t.check('static program cannot be traced' in ' '.join(text.split()), 'static: the summary says why', text)


def killed_at_any_moment(mode='trace', rounds=range(5)):
    """What was begun and what was done are counted in shared memory; the trace lies between."""
    program = t.compile('''
#include <stdatomic.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
static _Atomic long *counts;
static void *work(void *argument)
{
	_Atomic long *mine = counts + 16 * (long)argument;
	for (;;) {
		mine[0]++;
		void *volatile p = malloc(64);
		mine[1]++;
		mine[2]++;
		free(p);
		mine[3]++;
	}
}
int main(int count, char **words)
{
	int fd = open(words[count - 1], O_RDWR | O_CREAT, 0600);
	pthread_t thread;
	if (ftruncate(fd, 4096)) return 1;
	counts = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	pthread_create(&thread, NULL, work, (void *)1);
	work(0);
}
''', '-O2', '-g', '-pthread', '-fno-builtin', output='./endless')
    for round_ in rounds:
        shared = os.path.abspath(f'counts{round_}{mode}')
        run = subprocess.Popen([t.sonde, 'record', '-q', f'--heap={mode}', '--clock', 'off', '-o', f'killed{round_}{mode}.1', program,
                                shared], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        deadline = time.time() + 60
        while not (os.path.exists(shared) and os.path.getsize(shared) and any(open(shared, 'rb').read())):
            if time.time() > deadline:
                break
            time.sleep(0.002)
        time.sleep(0.01 + 0.013 * round_)
        target = t.command('pgrep', '-P', run.pid).stdout.split()
        os.kill(int(target[0]), signal.SIGKILL)
        run.wait(timeout=120)
        values = struct.unpack('32q', open(shared, 'rb').read(256))
        begun, done, freeing, freed = (values[i] + values[16 + i] for i in range(4))
        heap = t.show('heap', f'killed{round_}{mode}.1', '--all')
        row = [r for r in heap['rows'] if r['function'] == 'work'][0]
        if heap['lost']['heap']:
            t.skip(f'killed {round_}: all is there', 'the disk did not keep up')
            continue
        t.check(done <= row['allocations'] <= begun and freed <= row['frees'] <= freeing, f'killed {round_}: all is there',
                begun, done, freeing, freed, row)


def samples_in_walks():
    """Samples that fall into walks of deep stacks are kept, with the event's stack below the row of sonde."""
    program = t.compile("""
#include <stdlib.h>
#define NOT_INLINED __attribute__((noipa))
NOT_INLINED void *leaf(size_t n) { void *p = malloc(n); __asm__ volatile(""); return p; }
NOT_INLINED void deep(int depth)
{
	if (depth)
		deep(depth - 1);
	else
		for (int i = 0; i < 10000; i++)
			free(leaf(24));
	__asm__ volatile("");
}
int main(void) { deep(700); return 0; }
""", '-O1', '-g', output='./walks')
    t.run('record', '-q', '--heap=trace', '--clock', '5000', '-o', 'walks.1', program)
    summary = t.show('summary', 'walks.1')
    if summary['clock_mechanism'] != 'perf-signal':
        return
    # before, four fifths were lost; a half is far from both
    t.check(summary['samples'] > summary['lost'], 'samples in walks: few are lost', summary['samples'], summary['lost'])
    rows = {row['function']: row for row in t.show('functions', 'walks.1', '--all')['rows']}
    t.check(rows['leaf']['inclusive_share'] > 0.5 and rows['sonde']['exclusive_share'] > 0.5,
            'samples in walks: they stand below the caller of malloc', rows.get('leaf'), rows.get('sonde'))
    bounds = [summary[k] for k in ('overhead_share_low', 'overhead_share', 'overhead_share_high')]
    t.check(bounds[0] > 0.3 and (bounds[2] is None or bounds[1] > 1), 'what tracing cost is overhead, most of the CPU time', bounds)


def plugins():
    """Libraries that come and go, of C and C++, in a program of C: their sites have names, and every block counts."""
    with open('plug.c', 'w') as out:
        out.write("""
#include <stdlib.h>
__attribute__((noipa)) void *plug_make(size_t n) { void *p = malloc(n); __asm__ volatile(""); return p; }
void plug_drop(void *p) { free(p); }
""")
    with open('plugxx.cc', 'w') as out:
        out.write("""
#include <new>
#include <cstddef>
#include <string>
extern "C" __attribute__((noipa)) void *plug_make(size_t n) { void *p = operator new(n); asm volatile(""); return p; }
extern "C" void plug_drop(void *p) { operator delete(p); }
""")
    t.compile('./plug.c', '-O2', '-g', '-shared', '-fPIC', '-fno-builtin', output='./plug.so')
    t.compile('./plugxx.cc', '-O2', '-g', '-shared', '-fPIC', '-fno-builtin', compiler='g++', output='./plugxx.so')
    program = t.compile("""
#include <dlfcn.h>
#include <stddef.h>
#include <stdio.h>
int main(int count, char **words)
{
	for (int turn = 0; turn < 10; turn++) {
		void *library = dlopen(words[count - 1], RTLD_NOW | RTLD_LOCAL);
		void *(*make)(size_t) = (void *(*)(size_t))dlsym(library, "plug_make");
		void (*drop)(void *) = (void (*)(void *))dlsym(library, "plug_drop");
		for (int i = 0; i < 300; i++) {
			void *p = make(i);
			if (i % 3)
				drop(p);
		}
		dlclose(library);
	}
	puts("done");
	return 0;
}
""", '-O2', '-g', output='./host')
    for plugin, kind in (('./plug.so', 'malloc'), ('./plugxx.so', 'new')):
        run = t.run('record', '-q', '--heap', '-o', f'{kind}.1', program, plugin)
        t.equal((run.returncode, run.stdout, run.stderr), (0, 'done\n', ''), f'plugin of {kind}: the program runs as ever')
        # that we look operator new up may cost the loader a block, once
        rows = [r for r in t.show('heap', f'{kind}.1', '--all')['rows'] if (r['function'], r['kind']) == ('plug_make', kind)]
        got = [(r['kind'], r['allocations'], r['bytes'], r['frees']) for r in rows]
        t.equal(got, [(kind, 3000, 10 * sum(range(300)), 2000)], f'plugin of {kind}: every block counts, at its site')


def deep_binding():
    """Libraries that look for malloc among their own first: every block counts all the same, and none of one that has
    an allocator of its own."""
    with open('deep.c', 'w') as out:
        out.write("""
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#ifdef OWN
static char room[1 << 20];
static size_t used;
void *malloc(size_t n) { void *p = room + used; used += (n + 31) & ~15ul; return p; }
void free(void *p) { (void)p; }
#endif
__attribute__((noipa)) void deep_work(void)
{
	for (int i = 0; i < 1000; i++) {
		char *p = malloc(100);
		memset(p, i, 100);
		free(p);
	}
	__asm__ volatile("");
}
""")
    with open('deepxx.cc', 'w') as out:
        out.write("""
extern "C" __attribute__((noipa)) void deep_work(void)
{
	for (int i = 0; i < 1000; i++)
		operator delete[](operator new[](100));
	asm volatile("");
}
""")
    t.compile('./deep.c', '-O2', '-g', '-shared', '-fPIC', '-fno-builtin', '-Wl,-z,lazy', output='./lazy.so')
    t.compile('./deep.c', '-O2', '-g', '-shared', '-fPIC', '-fno-builtin', '-fno-plt', '-Wl,-z,relro,-z,now', output='./now.so')
    t.compile('./deep.c', '-O2', '-g', '-shared', '-fPIC', '-fno-builtin', '-DOWN', output='./own.so')
    t.compile('./deepxx.cc', '-O2', '-g', '-shared', '-fPIC', '-fno-builtin', compiler='g++', output='./xx.so')
    program = t.compile("""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
__attribute__((noipa)) static void host_work(void)
{
	for (int i = 0; i < 13; i++)
		free(malloc(10));
	__asm__ volatile("");
}
int main(int count, char **words)
{
	for (int turn = 0; turn < 3; turn++)
		for (int i = 1; i < count; i++) {
			void *library = dlopen(words[i], RTLD_LAZY | RTLD_LOCAL | RTLD_DEEPBIND);
			void (*work)(void) = (void (*)(void))dlsym(library, "deep_work");
			if (!work || dlsym(library, "nothing") || !dlerror() || dlerror())
				return 1;
			work();
			if (count == 2)
				dlclose(library);
		}
	host_work();
	puts("done");
	return 0;
}
""", '-O2', '-g', '-fno-builtin', output='./deep')
    for libraries, blocks in ((['lazy.so'], 3000), (['now.so'], 3000), (['xx.so'], 3000), (['own.so'], 0),
                              (['lazy.so', 'own.so', 'now.so', 'xx.so'], 9000)):
        name = 'deep ' + ' '.join(libraries)
        run = t.run('record', '-q', '--heap', '-o', name.replace(' ', '_') + '.1', program, *['./' + l for l in libraries])
        t.equal((run.returncode, run.stdout, run.stderr), (0, 'done\n', ''), f'{name}: the program runs as ever')
        rows = t.show('heap', name.replace(' ', '_') + '.1', '--all')['rows']
        for function, count, size in (('deep_work', blocks, 100), ('host_work', 13, 10)):
            # that we look operator new up may cost the loader a block: its size is another
            mine = [r for r in rows if r['function'] == function and r['bytes'] == size * r['allocations']]
            got = [sum(r[key] for r in mine) for key in ('allocations', 'frees', 'bytes')]
            t.equal(got, [count, count, count * size], f'{name}: every block of {function} counts')


PEAK = r'''
#include <stdlib.h>
#include <string.h>
#define SITE __attribute__((noipa)) static void *
SITE kept(void) { void *p = malloc(1000000); __asm__ volatile(""); return p; }
SITE at_peak(void) { void *p = calloc(3, 1000000); __asm__ volatile(""); return p; }
SITE after(void) { void *p = malloc(2000000); __asm__ volatile(""); return p; }
SITE grown(void *old) { void *p = realloc(old, 500000); __asm__ volatile(""); return p; }
SITE too_large(void *old) { void *p = realloc(old, (size_t)1 << 62); __asm__ volatile(""); return p; }
SITE small(void) { void *p = malloc(100); __asm__ volatile(""); return p; }
int main(void)
{
	void *a = kept(), *b = at_peak(), *c;
	free(b);
	c = after();
	for (int i = 0; i < 1000; i++)
		free(small());
	if (too_large(c))
		return 1;
	free(grown(grown(NULL)));
	free(c);
	return a ? 7 : 0;
}
'''


def aggregate():
    """The runtime's own sums are those of a trace, whatever happens, and do not grow with the events."""
    random_programs('aggregate', (1, 3, 4, 5, 11, 14))
    other_allocators('aggregate')
    signal_handlers('aggregate')
    odd_moments('aggregate')
    killed_at_any_moment('aggregate', range(2))
    program = t.compile(PEAK, '-O2', '-g', '-fno-builtin', '-w', output='./peak')
    run = t.run('record', '-q', '--heap=aggregate', '-o', 'peak.1', program)
    heap = t.show('heap', 'peak.1', '--all')
    rows = {r['function']: r for r in heap['rows']}
    columns = ('allocations', 'frees', 'bytes', 'peak_bytes', 'leaked_bytes', 'temporary')
    t.equal((run.returncode, heap['mode']), (7, 'aggregate'), 'a known program in aggregate mode')
    t.equal({name: tuple(rows[name][c] for c in columns) for name in ('kept', 'at_peak', 'after', 'grown', 'small')},
            {'kept': (1, 0, 1000000, 1000000, 1000000, 0), 'at_peak': (1, 1, 3000000, 3000000, 0, 1),
             'after': (1, 1, 2000000, 0, 0, 0), 'grown': (2, 2, 1000000, 0, 0, 2), 'small': (1000, 1000, 100000, 0, 0, 1000)},
            'each site has its sums, and its part of the peak')
    t.equal((heap['peak_bytes'], 'too_large' in rows), (4000000, False), 'what failed is no allocation')
    sizes = []
    for rounds in (1000, 100000):
        t.run('record', '-q', '--heap=aggregate', '--clock', 'off', '-o', f'rounds{rounds}.1', t.compile('''
#include <stdlib.h>
int main(int count, char **words) { for (int i = 0; i < atoi(words[1]); i++) free(malloc(40)); return 0; }
''', '-O2', '-g', '-fno-builtin', '-w', output='./rounds'), rounds)
        sizes.append(sum(os.path.getsize(path) for path in glob.glob(f'rounds{rounds}.1/*.trace')))
    t.equal(sizes[0], sizes[1], 'a hundred times the events need no byte more')


def sample():
    """A sample's estimates hold the truth within six standard errors, in all threads and allocators."""
    program = t.compile('heap.cc', '-O2', '-g', '-pthread', compiler='g++')
    jemalloc = library_of(ALLOCATORS['jemalloc'])
    for name, preload in (('malloc', None), ('jemalloc', jemalloc)):
        if name != 'malloc' and not preload:
            t.skip(f'sample of {name}', 'it is not installed')
            continue
        words = [program, 5, 2, 20000, 1]
        env = {**os.environ, 'LD_PRELOAD': preload} if preload else None
        run = t.run('record', '-q', '--heap=sample:16k', '-o', f'sample{name}.1', *words, env=env)
        counts, heap = seen(f'sample{name}.1')
        true = told(run.stdout)
        t.equal((run.returncode, run.stderr, heap['mode'], heap['interval_bytes'], heap['lost'], heap['unknown_frees']),
                (0, '', 'sample', 16384, {'heap': 0}, 0), f'sample of {name}: the program runs as ever')
        t.check(heap['samples'] > 1000 and all(r['temporary'] is None and r['samples'] > 0 for r in heap['rows']),
                f'sample of {name}: each row has blocks that were met', heap['samples'])
        for row in heap['rows']:
            site = (row['function'] or '').split('(')[0]
            if site in true and row['samples'] > 50:
                error = (row['bytes_high'] - row['bytes_low']) / 2 / 1.96
                t.check(abs(row['bytes'] - true[site][1]) < 6 * error, f'sample of {name}: {site}', row, true[site])
        t.check(all(r['allocations'] == r['frees'] + r['leaked_count'] for r in heap['rows']),
                f'sample of {name}: what was allocated was released or is left')
        small = true['by_new_aligned']  # blocks of one size, so what is left has a known error
        left = sum(r['leaked_bytes'] for r in heap['rows'] if (r['function'] or '').startswith('by_new_aligned'))
        error = 128 * (small[0] * 16384 / 128) ** 0.5
        t.check(abs(left - 128 * (small[0] - small[2])) < 6 * error, f'sample of {name}: what is left', left, small)
    for words, is_good in (('sample:1', False), ('sample:2G', False), ('sample:x', False), ('sampled', False), ('sample:64k', True)):
        run = t.run('record', '--dry-run', f'--heap={words}', 'true')
        t.check(run.returncode == (0 if is_good else 125) and
                ('sample' in run.stdout if is_good else '--heap takes' in run.stderr), f'--heap={words}', run.stdout, run.stderr)


def refused():
    run = t.run('record', '-q', '--heap', '-o', 'short.1', 'true')
    t.equal((run.returncode, t.show('heap', 'short.1')['mode']), (0, 'trace'), '--heap alone is --heap=trace')
    for kilobytes in (40, 200, 3000):
        run = t.command('bash', '-c', f'ulimit -f {kilobytes}; exec "$@"', 'bash', t.sonde, 'record', '-q', '--heap', '-o',
                        f'limit{kilobytes}.1', 'sh', '-c', 'echo fine; exit 7')
        t.equal((run.returncode, run.stdout), (7, 'fine\n'), f'files of at most {kilobytes} kB: the program runs as ever')
    run = t.run('record', '--heap=nothing', 'true')
    t.check(run.returncode == 125 and '--heap takes' in run.stderr, 'an unknown mode is refused', run.stderr)
    run = t.run('record', '--heap=trace', '--pid', os.getpid())
    t.check(run.returncode == 125 and '--pid' in run.stderr, 'with --pid it is refused', run.stderr)
    t.run('record', '-q', '-o', 'none.1', 'true')
    run = t.run('show', 'heap', 'none.1')
    t.check(run.returncode == 3 and '--heap' in run.stderr, 'without a trace show heap says how to get one', run.stderr)


for part in (aggregate, sample, known_program, samples_between, samples_in_walks, random_programs, plugins, deep_binding, other_allocators, signal_handlers, odd_moments, own_malloc, killed_at_any_moment,
             lost_are_counted, full_disk, without_launcher, cut_short, refused):
    if not chosen or part.__name__ in chosen:
        part()
t.done()
