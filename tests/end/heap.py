"""The heap's trace: counts and bytes equal those of programs that count for themselves."""
import glob
import os
import signal
import subprocess
import sys
import time
import re

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


def random_programs():
    program = t.compile('heap.cc', '-O2', '-g', '-pthread', compiler='g++')
    for seed in range(1, 21):
        threads, forks = seed % 4, seed % 3
        words = [program, seed, threads, 3000, forks] + (['kill'] if seed % 5 == 4 else [])
        plain = t.command(*words)
        run = t.run('record', '-q', '--heap=trace', '-o', f'e{seed}', *words)
        name = f'seed {seed}, {threads} threads, {forks} forks'
        t.equal((run.returncode, run.stderr), (128 - plain.returncode if plain.returncode < 0 else plain.returncode, ''),
                f'{name}: status and standard error are the program\'s')
        t.equal(sorted(run.stdout.splitlines()), sorted(plain.stdout.splitlines()), f'{name}: so is its output')
        counts, heap = seen(f'e{seed}')
        t.equal(counts, told(run.stdout), f'{name}: counts and bytes are exact')
        t.equal((heap['lost'], heap['unknown_frees']), ({'heap': 0}, 0), f'{name}: nothing lost, nothing unknown')
        is_sound(heap, name)


def known_program():
    program = t.compile('''
#include <stdlib.h>
#include <stdio.h>
static __attribute__((noipa)) void *keep(size_t n) { void *p = malloc(n); __asm__ volatile(""); return p; }
static __attribute__((noipa)) void *drop(size_t n) { void *p = malloc(n); __asm__ volatile(""); return p; }
int main(void)
{
	void *kept[10], *big;
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
    t.check(0 < heap['peak_t_s'] < 60 and heap['mode'] == 'trace', 'known: the peak has a time', heap['peak_t_s'])
    is_sound(heap, 'known')
    leaks = t.show('leaks', 'known.1')['rows']
    t.equal([row['function'] for row in leaks if row['module'] == 'known'], ['keep'], 'known: show leaks has the leak alone')
    peak = t.show('peak', 'known.1')['rows']
    t.equal(peak[0]['function'], 'drop', 'known: show peak begins with the largest')
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
        t.check(run.returncode == 0, f'byte {at} changed', run.stderr)


def refused():
    run = t.run('record', '--heap=nothing', 'true')
    t.check(run.returncode == 125 and '--heap takes' in run.stderr, 'an unknown mode is refused', run.stderr)
    run = t.run('record', '--heap=trace', '--pid', os.getpid())
    t.check(run.returncode == 125 and '--pid' in run.stderr, 'with --pid it is refused', run.stderr)
    t.run('record', '-q', '-o', 'none.1', 'true')
    run = t.run('show', 'heap', 'none.1')
    t.check(run.returncode == 0 and '--heap' in run.stderr, 'without a trace show heap says how to get one', run.stderr)


for part in (known_program, random_programs, lost_are_counted, without_launcher, cut_short, refused):
    if not chosen or part.__name__ in chosen:
        part()
t.done()
