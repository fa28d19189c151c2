"""sonde search on locks and counted events: contention that a program plants, and times itself, with the lock and who held it."""
import json
import os
import re

from sonde_test import Test

# "hot": thread b wants what thread a holds; "own": each has a lock of its own. Prints the seconds waited.
LOCKS = r'''
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
enum { ROUNDS = 20, HELD_US = 20000 };
static pthread_mutex_t hot = PTHREAD_MUTEX_INITIALIZER, own[2] = { PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER };
static atomic_int is_held, turn;
static int is_hot;
static double waited_s;
static volatile double sink;
static double now_s(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}
static void work(void)
{
	for (int i = 1; i < 1000000; i++)
		sink += 1.0 / i;
}
static void __attribute__((noinline)) hold(void)
{
	pthread_mutex_lock(is_hot ? &hot : &own[0]);
	is_held = 1;
	usleep(HELD_US);
	pthread_mutex_unlock(is_hot ? &hot : &own[0]);
}
static void __attribute__((noinline)) want(void)
{
	double begin = now_s();
	pthread_mutex_lock(is_hot ? &hot : &own[1]);
	waited_s += now_s() - begin;
	pthread_mutex_unlock(is_hot ? &hot : &own[1]);
}
static void *run(void *second)
{
	for (int round = 1; round <= ROUNDS; round++) {
		work();
		if (!second) {
			hold();
			while (turn < round)
				usleep(100);
		} else {
			while (!is_held)
				usleep(100);
			is_held = 0;
			want();
			turn = round;
		}
	}
	return NULL;
}
int main(int argc, char **argv)
{
	pthread_t a, b;
	is_hot = argc > 1 && !strcmp(argv[1], "hot");
	pthread_create(&a, NULL, run, NULL);
	pthread_create(&b, NULL, run, &b);
	pthread_join(a, NULL);
	pthread_join(b, NULL);
	printf("%.6f\n", waited_s);
	return 0;
}
'''

# touches so many pages that are new
TOUCH = r'''
#include <stdlib.h>
#include <sys/mman.h>
static void __attribute__((noinline)) touch(long pages)
{
	char *memory = mmap(NULL, (size_t)pages * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	madvise(memory, (size_t)pages * 4096, MADV_NOHUGEPAGE);
	for (long i = 0; i < pages; i++)
		memory[i * 4096] = 1;
	munmap(memory, (size_t)pages * 4096);
}
int main(int argc, char **argv)
{
	volatile double sink = 0;
	touch(atol(argv[1]));
	for (int i = 0; i < 50000000; i++)
		sink += i;
	return argc < 1;
}
'''

COUNTED = '''
property Counted(r: region) {
  condition page_faults(r) > 0; confidence confidence(page_faults); severity least(page_faults(r) / 1000000, 1);
  evidence faults = page_faults(r); explain "{faults:.0f} page faults";
}
'''
t = Test()


def rows(found, name):
    return [r for r in found['properties'] if r['property'] == name]


def told(found):
    return [(r['property'], round(r['severity'], 3), r['function'], r['evidence']) for r in found['properties']]


def locks(app):
    done = t.run('record', '-q', '--sync', '-o', 'hot.run', app, 'hot')
    found = json.loads(t.run('search', '-e', 'hot.run', '--threshold', '0.01', '--format', 'json').stdout)
    ends = [r for r in rows(found, 'ContendedLock') if not r['refined']]
    lanes = [r['severity'] for r in ends]
    seconds = float(done.stdout)
    t.check(len(ends) == 1 and any(p['name'] == 'want' for p in ends[0]['path']) and 'locks' in ends[0]['sources'],
            'a lock that threads wait for is found where they wait', told(found))
    evidence = ends[0]['evidence'] if ends else {}
    t.within(evidence.get('seconds'), seconds, max(.2 * seconds, .02), 'with what the program says that it waited')
    t.check(evidence.get('lock') == 'hot' and evidence.get('share_of_lock') == 1, 'it has its name', evidence)
    text = t.run('search', '-e', 'hot.run', '--threshold', '0.01').stdout
    t.check('of it for hot, held in hold (' in text, 'and who held it, where', text)
    holders = {r['thread']: r['held_up_s'] for r in t.show('contention', experiment='hot.run')['rows'] if r['held_up_s']}
    t.equal(str(evidence.get('holder')), str(max(holders, key=holders.get)), 'the thread is that of show contention')
    t.check(all(r['refined'] for r in rows(found, 'LockContention')) and lanes and lanes[0] <= 1, 'the general property is refined by it')
    done = t.run('record', '-q', '--sync', '-o', 'own.run', app, 'own')
    found = json.loads(t.run('search', '-e', 'own.run', '--threshold', '0.01', '--format', 'json').stdout)
    t.check(not rows(found, 'ContendedLock') and not rows(found, 'LockContention'), 'locks that nobody else wants are none', told(found))


def tail(app):
    """A function that releases a lock as the last thing it does is on no stack by then. It is named all the same, as it took the lock."""
    t.run('record', '-q', '--sync', '-o', 'tail.run', app, 'hot')
    text = t.run('search', '-e', 'tail.run', '--threshold', '0.01').stdout
    t.check('of it for hot, held in hold (' in text, 'a release by a tail call is of who took the lock', text)


def starts(app):
    done = t.run('search', '--format', 'json', '--threshold', '0.01', '--budget', '1', app, 'hot')
    found = json.loads(done.stdout)
    t.check('of 7 at most: locks' in done.stderr and rows(found, 'ContendedLock') and
            rows(found, 'ContendedLock')[0]['evidence']['lock'] == 'hot', 'waits for locks ask for a start that traces them', done.stderr,
            told(found))
    t.check(all(r['refined'] for r in rows(found, 'LockContention')), 'also where blocked calls see them: in the C library', told(found))
    done = t.run('search', '--format', 'json', '--threshold', '0.01', '--budget', '1', app, 'own')
    t.check('most: locks' not in done.stderr, 'a program whose threads do not wait for locks is not started for them', done.stderr)


def again(app):
    """A search of what an online search has left takes the starts that it made; without them it leaves the better result."""
    os.mkdir('left')
    os.chdir('left')
    done = t.run('search', '--threshold', '0.01', '--budget', '1', '--format', 'json', app, 'hot')
    first = next((w for w in re.findall(r'sonde\.locks\.\d+', json.loads(done.stdout)['experiment'])), None)
    starts = sorted(f for f in os.listdir('.') if f != first)
    done = t.run('search', '-e', first, '--threshold', '0.01', '--budget', '1', '--format', 'json')
    found = json.loads(done.stdout)
    t.check(rows(found, 'ContendedLock') and rows(found, 'ContendedLock')[0]['evidence']['lock'] == 'hot', 'further starts are taken', done.stderr, told(found))
    t.check(re.search(r"sonde: values of locks are those of '.*" + starts[-1] + "'", done.stderr) and found['phase']['executions'] > 1, 'and named', done.stderr)
    os.mkdir('away')
    for start in starts:
        os.rename(start, 'away/' + start)
    done = t.run('search', '-e', first, '--threshold', '0.01', '--format', 'json')
    shown = [r['property'] for r in t.show('searched', first)['rows'] if r['kind'] == 'lost']
    t.check(not rows(json.loads(done.stdout), 'ContendedLock') and 'ContendedLock' in shown and 'more was measurable there' in done.stderr,
            'a search that can measure less leaves the better result', done.stderr, shown)
    os.chdir('..')


def counters():
    app = t.compile(TOUCH, '-O1', '-g', output='./touch')
    with open('counted.prop', 'w') as out:
        out.write(COUNTED)
    done = t.run('record', '-q', '-e', 'page-faults:1', '-o', 'touch.run', app, '5000')
    if done.returncode == 125:
        t.skip('page faults', 'they cannot be counted here')
        return
    found = json.loads(t.run('search', '-e', 'touch.run', '-P', 'counted.prop', '--threshold', '0.001', '--format', 'json').stdout)
    counted = [r for r in rows(found, 'Counted') if r['function'] == 'touch' and r['region_kind'] == 'function']
    t.check(counted and 5000 <= counted[0]['evidence']['faults'] < 5100 and counted[0]['sources'] == ['counters'],
            'page faults are counted where pages are touched', told(found))
    missing = {m['property']: m['reason'] for m in found['not_measurable']}
    t.check("'counters', which needs a run that was recorded with -e" in missing.get('StallCycles', ''),
            'what the processor does not count here is not measurable, and says what it needs', missing.get('StallCycles'))


def main():
    app = t.compile(LOCKS, '-O1', '-g', '-pthread', output='./locks')
    locks(app)
    starts(app)
    again(os.path.abspath(app))
    tail(t.compile(LOCKS, '-O1', '-foptimize-sibling-calls', '-g', '-pthread', output='./tail'))
    counters()
    t.done()


main()
