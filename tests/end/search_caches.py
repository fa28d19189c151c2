"""sonde search with traces of loops: planted misses are proven by level and data, what stays in L1 is not; no more time is
said to be lost than the loop takes."""
import json
import os

from sonde_test import Test

# one loop each that misses: a column of a matrix, pages, a table in random order, lines of two threads; and one that does not
PLANTED = r'''
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#define KEPT __attribute__((noinline, noclone, noipa))
enum { N = 1024, PAGES = 8192, TABLE = 1 << 21, PICKS = 1 << 15, SMALL = 1024, ROUNDS = 32, STEPS = 1000000 };
static double matrix[N][N];
static char pages[PAGES * 4096l] __attribute__((aligned(4096)));
static double table[TABLE];
static unsigned picks[PICKS];
static double small[SMALL], copy[SMALL];
static volatile long counts[2] __attribute__((aligned(64)));
static int is_one;
static int arrived __attribute__((aligned(128)));
KEPT double *matrix_new(void)
{ return calloc(N * N + 8, sizeof(double)); }
KEPT double columns_of(const double *m)
{ double s = 0; for (int j = 0; j < N; j++) for (int i = 0; i < N; i++) s += m[i * N + j]; return s; }
KEPT double columns(void)
{ double s = 0; for (int j = 0; j < N; j++) for (int i = 0; i < N; i++) s += matrix[i][j]; return s; }
KEPT long strides(void)
{ long s = 0; for (long i = 0; i < PAGES; i++) s += pages[i * 4096]; return s; }
KEPT double gather(void)
{ double s = 0; for (int i = 0; i < PICKS; i++) s += table[picks[i]]; return s; }
KEPT void resident(void)
{ for (int i = 0; i < SMALL; i++) copy[i] = small[i] * 1.5; }
KEPT void count(volatile long *at, long n)
{ for (long i = 0; i < n; i++) *at += i; }
KEPT void meet(int turn)
{
	__atomic_fetch_add(&arrived, 1, __ATOMIC_SEQ_CST);
	while (__atomic_load_n(&arrived, __ATOMIC_SEQ_CST) < 2 * turn)
		sched_yield();
}
/* Each has a CPU of its own, if there are two: a busy machine may keep both on one, where they never run at once. */
KEPT void keep_apart(long number)
{
	cpu_set_t all, one;
	CPU_ZERO(&one);
	if (sched_getaffinity(0, sizeof all, &all))
		return;
	for (int i = 0; i < CPU_SETSIZE; i++)
		if (CPU_ISSET(i, &all) && number-- == 0)
			CPU_SET(i, &one);
	if (CPU_COUNT(&one))
		sched_setaffinity(0, sizeof one, &one);
}
static void *work(void *number)
{
	keep_apart((long)number);
	for (int r = 0; r < ROUNDS; r++) {
		meet(r + 1);
		count(&counts[is_one ? 0 : (long)number], STEPS);
	}
	return NULL;
}
static void *work_alone(void *nothing)
{
	for (int r = 0; r < 100; r++)
		count(&counts[0], STEPS);
	return nothing;
}
int main(int argc, char **argv)
{
	double s = 0;
	int what = argv[1][0], n = argc > 2 ? atoi(argv[2]) : 0;
	double *heaped = NULL;
	pthread_t thread;
	for (int i = 0; i < PICKS; i++)
		picks[i] = (unsigned)i * 2654435761u % TABLE;
	for (int i = 0; i < SMALL; i++)
		small[i] = argc + i;
	memset(matrix, 1, sizeof matrix);
	memset(pages, 1, sizeof pages);
	memset(table, 1, sizeof table);
	for (int i = 0; i < n; i++) {
		if (what == 'c') s += columns();
		if (what == 'h') s += columns_of(heaped ? heaped : (heaped = matrix_new()));
		if (what == 'p') s += (double)strides();
		if (what == 'g') s += gather();
		if (what == 'r') resident();
	}
	if (what == 'u') {
		pthread_create(&thread, NULL, work_alone, NULL);
		for (int i = 0; i < 20; i++)
			s += columns();
		pthread_join(thread, NULL);
	}
	is_one = what == 't';
	if (what == 's' || what == 't') {
		pthread_create(&thread, NULL, work, (void *)1);
		work((void *)0);
		pthread_join(thread, NULL);
	}
	printf("%g %g\n", s, copy[5]);
	return 0;
}
'''

# L1 of 32 kB, L2 of 256 kB, L3 of 2 MB: smaller than each of the arrays, so that the host's caches do not matter
CACHES = 'L1=32k/8,L2=256k/8,L3=2m/16,line=64,TLB=64/4'
MEMORY = ('LC1', 'LC2', 'LC3', 'DTLB', 'Stride', 'Conflict', 'FalseSharing', 'TrueSharing', 'Unbal')


def is_memory(row):
    return row['property'].startswith(MEMORY)


def rows_of(found, function, data=None):
    return [r for r in found['properties'] if r['function'] == function and (data is None or r['data'] == data)]


def losses_check(t, found, name):
    """Of each loop: what its misses cost is not more than its time, and all are shares."""
    t.check(all(0 <= r['severity'] <= 1 for r in found['properties']), f'{name}: severities are shares')
    for place in {r['region'] for r in found['properties'] if is_memory(r)}:
        here = [r for r in found['properties'] if r['region'] == place]
        hot = [r['severity'] for r in here if r['property'] == 'HotRegion']
        lost = sum(r['severity'] for r in here if is_memory(r) and not r['refined'])
        if hot and here[0]['region_kind'] == 'loop':
            t.check(lost <= max(hot) * 1.02, f'{name}: leaves add up to at most the loop\'s time', lost, hot,
                    [(r['property'], r['data'], r['severity'], r['refined']) for r in here])


def searched(t, app, name, arguments, every):
    t.run('trace', '-q', *every, '-o', name, '--', app, *arguments)
    done = t.run('search', '--experiment', name, '--format', 'json', '--threshold', '0', '--caches', CACHES)
    return json.loads(done.stdout)


def planted(t, app):
    for name, arguments, every, function, data, wanted in (
            ('columns', ('c', '10'), ('--every', '1'), 'columns', 'matrix',
             ('LC1DataMissRate', 'LC2DataMissRate', 'LC3DataMissRate', 'StrideWaste', 'ConflictMisses')),
            ('pages', ('p', '1000'), (), 'strides', 'pages', ('LC1DataMissRate', 'LC2DataMissRate', 'LC3DataMissRate', 'StrideWaste')),
            ('gather', ('g', '60'), ('--every', '1'), 'gather', 'table',
             [f'LC{k}{what}' for k in (1, 2, 3) for what in ('DataMissRate', 'MissesInThreadOfData')])):
        found = searched(t, app, name, arguments, every)
        rows = rows_of(found, function, data)
        names = {r['property'] for r in rows}
        for property in wanted:
            t.check(property in names, f'{name}: {property} is proven for {data}', names, found['not_measurable'])
        t.check(all('caches' in r['sources'] for r in rows), f'{name}: and says by what', [r['sources'] for r in rows])
        t.check(all(r['data_file'].endswith('.c') and r['data_line'] for r in rows), f'{name}: {data} has the place of its declaration')
        tlb = [r for r in rows_of(found, function) if r['property'] == 'DTLBMiss']
        t.check(tlb and tlb[0]['evidence']['page_walks'] > 1000, f'{name}: pages are walked', names)
        losses_check(t, found, name)
        whole = [r for r in rows_of(found, function) if r['property'] == 'LC1MissRate' and r['region_kind'] == 'loop']
        t.check(whole and 0 < whole[0]['severity_low'] <= whole[0]['severity'] <= whole[0]['severity_high'] <= 1,
                f'{name}: what a window leaves open is its interval', whole)
    names = {r['property'] for r in rows_of(found, 'gather')}
    for property in [f'LC{k}{what}' for k in (1, 2, 3) for what in ('MissRate', 'MissesInThread')] + ['LC2DMissRateInSomeThread']:
        t.check(property in names, f'gather: {property} is proven', names)
    pages = [r for r in rows_of(found, 'gather') if r['property'] == 'LC1MissesInThread']
    t.check(pages and all(r['refined'] for r in pages), 'the worst thread of one is the region: one loss, told once', pages)


def ranges(t, app):
    """Each tenth instance alone fills a cache that may have had its lines before: with all of them they are proven misses."""
    found = searched(t, app, 'some', ('g', '60'), ('--every', '10'))
    third = [m for m in found['not_measurable'] if m['property'] == 'LC3MissRate']
    t.check(not any(r['property'] == 'LC3MissRate' for r in rows_of(found, 'gather')) and third and
            'misses(L3)' in third[0]['needs'] and 'a range only: the loss is 0 to 0.' in third[0]['reason'],
            'misses that may be hits are neither proven nor taken for none', found['not_measurable'])
    text = t.run('search', '--experiment', 'some', '--threshold', '0', '--caches', CACHES).stdout
    t.check('known as a range only' in text and 'LC3MissRate (0 to 0.' in text, 'the text has the range', text[-2000:])


def resident(t, app):
    found = searched(t, app, 'resident', ('r', '200000'), ())
    wrong = [(r['property'], r['severity']) for r in found['properties'] if is_memory(r) and not r['property'].startswith('DTLB')]
    t.equal(wrong, [], 'a loop whose data stay in L1 loses nothing to misses')
    t.check(rows_of(found, 'resident') and not any(m['property'].startswith('LC') for m in found['not_measurable']),
            'and that is known, not unmeasurable', found['not_measurable'])


def sharing(t, app):
    """On a busy machine one thread may end before the other begins, in most rounds."""
    for attempt in range(8):
        found = searched(t, app, f's{attempt}', ('s',), ('--every', '1'))
        rows = [r for r in rows_of(found, 'count', 'counts') if r['property'] == 'FalseSharing']
        if rows and rows[0]['evidence']['transfers'] > 100:
            break
    t.check(rows and rows[0]['evidence']['transfers'] > 100, 'lines of two threads go to and fro', found['properties'][:4])
    t.check(not any(r['property'] == 'TrueSharing' for r in found['properties']), 'and they use nothing of each other')
    losses_check(t, found, 'sharing')
    for attempt in range(8):
        found = searched(t, app, f't{attempt}', ('t',), ('--every', '1'))
        rows = [r for r in rows_of(found, 'count', 'counts') if r['property'] == 'TrueSharing']
        if rows and rows[0]['evidence']['transfers'] > 100:
            break
    t.check(rows and rows[0]['evidence']['transfers'] > 100 and not any(r['property'] == 'FalseSharing' for r in found['properties']),
            'one counter of two threads is truly shared', found['properties'][:4])


# loops that are passed once: two that write, and take the time that tracing may, and a chain of indices
CHAIN = r'''
#include <stdio.h>
#include <stdlib.h>
enum { N = 1 << 21 };
static size_t *chain;
__attribute__((noinline, noclone, noipa)) size_t chase(long n)
{ size_t at = 0; while (n--) at = chain[at]; return at; }
int main(int argc, char **argv)
{
	unsigned long long state = 88172645463325252ull;
	chain = malloc(N * sizeof(*chain));
	for (size_t i = 0; i < N; i++) chain[i] = i;
	for (size_t i = N - 1; i > 0; i--) {
		state ^= state << 13; state ^= state >> 7; state ^= state << 17;
		size_t other = state % i, kept = chain[i];
		chain[i] = chain[other]; chain[other] = kept;
	}
	printf("%zu\\n", chase(argc > 1 ? atol(argv[1]) : 0));
	return 0;
}
'''


def chained(t):
    """What is passed once has a window, whatever came before; its misses take the loop's time, and are no matter of strides."""
    app = t.compile(CHAIN, '-g', '-O1', output='./chain')
    t.run('trace', '-q', '-o', 'once', '--', app, '60000000')
    windows = json.loads(t.run('show', 'windows', 'once', '--format', 'json').stdout)['rows']
    t.check(any(w['function'] == 'chase' for w in windows), 'a loop that is passed once has a window', windows)
    found = json.loads(t.run('search', '--experiment', 'once', '--format', 'json', '--threshold', '0.01', '--caches', CACHES).stdout)
    t.check(any(r['property'] in ('PointerChasing', 'LC3MissRate') for r in rows_of(found, 'chase')) or
            any(m['property'] == 'LC3MissRate' and 'a range only' in m['reason'] for m in found['not_measurable']),
            'so that its misses are told, or named with what they may cost', found['not_measurable'])
    t.run('trace', '-q', '--every', '1', '-o', 'chained', '--', app, '6000000')
    found = json.loads(t.run('search', '--experiment', 'chained', '--format', 'json', '--threshold', '0.01', '--caches', CACHES).stdout)
    own = [r['severity'] for r in found['properties'] if r['property'] == 'HotRegion' and r['function'] == 'chase']
    rows = [r for r in rows_of(found, 'chase') if r['property'] == 'PointerChasing' and r['region_kind'] == 'loop']
    t.check(own and rows and not rows[0]['refined'] and 0.3 * own[0] <= rows[0]['severity'] <= 1.02 * own[0],
            'the misses of a chain take most of its time', own, rows, found['not_measurable'])
    t.check(rows and rows[0]['evidence']['share_of_misses'] > 0.9, 'all of them are in chains', rows)
    wrong = [(r['property'], r['function'], r['severity']) for r in found['properties'] if r['property'] == 'StrideWaste' and
             r['function'] in (None, 'chase')]
    t.equal(wrong, [], 'whose order is no stride')
    losses_check(t, found, 'chained')


# each thread has one long loop of its own, in its own part of a vector
LONG = r'''
#include <cstdio>
#include <thread>
#include <vector>
struct counter { volatile long hits; };
static void work(std::vector<counter> &counters, int which, long times)
{
	for (long k = 0; k < times; k++)
		counters[which].hits = counters[which].hits + k % 3;
}
int main()
{
	std::vector<counter> counters(4);
	std::vector<std::thread> threads;
	for (int i = 0; i < 2; i++)
		threads.emplace_back(work, std::ref(counters), i, 110000000L);
	for (auto &thread : threads)
		thread.join();
	printf("%ld\\n", counters[0].hits + counters[1].hits);
}
'''


def long_loops(t):
    """More accesses than are replayed: the same time of both threads is, so that they are seen to meet."""
    if not t.has('g++'):
        t.skip('long loops', 'no g++')
        return
    app = t.compile(LONG, '-g', '-O2', '-pthread', compiler='g++', output='./long')
    for attempt in range(4):
        found = searched(t, app, f'l{attempt}', (), ('--every', '1'))
        rows = [r for r in found['properties'] if r['property'] == 'FalseSharing']
        if rows:
            break
    t.check(rows and rows[0]['evidence']['transfers'] > 1000 and any((r['function'] or '').startswith('work(') for r in rows), 'long loops of two threads go for each other\'s lines', rows,
            [(r['property'], r['function'], r['data'], r['severity']) for r in found['properties']])
    t.check(rows and 0 < rows[0]['evidence']['at_once'] <= 1 and rows[0]['severity_low'] < rows[0]['severity'] < rows[0]['severity_high'],
            'and it is told for how much of their time they run at once, with an interval', rows)
    if t.has('taskset'):
        one_cpu = str(min(os.sched_getaffinity(0)))
        t.run('trace', '-q', '--every', '1', '-o', 'turns', '--', 'taskset', '-c', one_cpu, app)
        done = t.run('search', '--experiment', 'turns', '--format', 'json', '--threshold', '0', '--caches', CACHES)
        rows = [r for r in json.loads(done.stdout)['properties'] if r['property'] in ('FalseSharing', 'LC2MissesInThread')]
        t.check(all(r['severity'] < 0.01 for r in rows), 'two threads that take turns on one CPU lose no lines to each other', rows)


def one_of_two(t, app):
    found = searched(t, app, 'alone', ('u',), ())
    rows = [r for r in rows_of(found, 'columns') if r['property'] == 'UnbalLC2DMissRate' and r['region_kind'] == 'loop']
    t.check(rows and rows[0]['evidence']['ratio'] == 1, 'a loop that one of two threads runs is out of balance by one', rows,
            [(r['property'], r['function']) for r in found['properties']])


def online(t, app):
    done = t.run('search', '--format', 'json', '--threshold', '0.005', '--caches', CACHES, app, 'p', '3000')
    found = json.loads(done.stdout)
    t.check('of 7 at most: caches, of 1 hot loop with' in done.stderr, 'memory that could cost time asks for a start that traces loops', done.stderr)
    t.check('LC3DataMissRate' in {r['property'] for r in rows_of(found, 'strides', 'pages')} and found['phase']['executions'] >= 2,
            'its values are those of the first start\'s places', done.stderr, [(r['property'], r['function']) for r in found['properties']])
    losses_check(t, found, 'online')
    done = t.run('search', '--format', 'json', '--threshold', '0', '--budget', '1', '--caches', CACHES, app, 'h', '60')
    data = {r['data'] for r in rows_of(json.loads(done.stdout), 'columns_of') if r['property'] == 'LC1DataMissRate'}
    t.check(any(' (main, ' in d for d in data if d) and '[heap]' not in data, 'blocks of the heap are told by what holds them and who allocated them', data, done.stderr)
    for strategy in ('property', 'data'):
        done = t.run('search', '--format', 'json', '--threshold', '0.005', '--strategy', strategy, '--start', 'LC3DataMissRate', '--caches', CACHES, app, 'p', '3000')
        found = json.loads(done.stdout)
        t.check([r for r in rows_of(found, 'strides', 'pages') if r['property'] == 'LC3DataMissRate'] and {r['property'] for r in found['properties']} <= {'LC3DataMissRate', 'StrideWaste'},
                f'{strategy}: a property of data to begin with is measured and found', done.stderr, found['steps'], [(r['property'], r['function']) for r in found['properties']])
    done = t.run('search', '--format', 'json', '--restarts', '0', app, 'p', '1000')
    t.check('no start for caches' in done.stderr and any('misses(L1)' in m['needs'] for m in json.loads(done.stdout)['not_measurable']),
            'without further starts it is named as not measurable', done.stderr)
    done = t.run('search', '--caches', 'L1=48', app, 'p')
    t.check(done.returncode == 2 and 'has no ways' in done.stderr, 'caches that are none are a mistake', done.returncode, done.stderr)


def built_anew(t):
    """Variables of a program that is not the one of the run any more are not taken for blocks of the heap."""
    app = t.compile(PLANTED, '-g', '-O2', '-fno-tree-vectorize', '-pthread', output='./anew')
    t.run('trace', '-q', '--every', '1', '-o', 'anew-run', '--', app, 'c', '20')
    words = ('search', '-e', 'anew-run', '--format', 'json', '--threshold', '0', '--caches', CACHES)
    before = t.run(*words)
    data = {r['data'] for r in rows_of(json.loads(before.stdout), 'columns') if r['data']}
    t.check('matrix' in data and 'has changed' not in before.stderr, 'the variable has its name', data, before.stderr)
    t.compile(PLANTED.replace('matrix', 'grid_of'), '-g', '-O2', '-fno-tree-vectorize', '-pthread', output='./anew')
    after = t.run(*words)
    data = {r['data'] for r in json.loads(after.stdout)['properties'] if r['data']}
    t.check('[data or heap]' in data and not data & {'[heap]', 'matrix', 'grid_of'}, 'of another build it has none', data, after.stderr)
    t.check("'anew' has changed since the run: its variables have no names here" in after.stderr, 'and a warning says so', after.stderr)


def main():
    t = Test()
    app = t.compile(PLANTED, '-g', '-O2', '-fno-tree-vectorize', '-pthread', output='./planted')
    planted(t, app)
    ranges(t, app)
    resident(t, app)
    sharing(t, app)
    chained(t)
    long_loops(t)
    one_of_two(t, app)
    built_anew(t)
    online(t, app)
    t.done()


main()
