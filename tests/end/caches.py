"""Simulated caches: a walk by columns against one by rows, planted sharing, by the names of data."""
import os

from report_contents import contents
from sonde_test import Test

t = Test()

PROGRAM = r'''
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#define KEPT __attribute__((noinline, noclone, noipa))
enum { N = 512, ROUNDS = 3, STEPS = 4000000 };
double rows_data[N][N], columns_data[N][N];
struct counter { volatile long value; char rest[120]; };
static volatile long close_counts[2] __attribute__((aligned(64)));
static struct counter apart_counts[2] __attribute__((aligned(128)));
static volatile long same_count __attribute__((aligned(128)));
static int arrived __attribute__((aligned(128)));
KEPT double by_rows(void)
{ double s = 0; for (int i = 0; i < N; i++) for (int j = 0; j < N; j++) s += rows_data[i][j]; return s; }
KEPT double by_columns(void)
{ double s = 0; for (int j = 0; j < N; j++) for (int i = 0; i < N; i++) s += columns_data[i][j]; return s; }
KEPT void add_close(volatile long *at, long n) { for (long i = 0; i < n; i++) *at += i; }
KEPT void add_apart(volatile long *at, long n) { for (long i = 0; i < n; i++) *at += i; }
KEPT void add_same(volatile long *at, long n) { for (long i = 0; i < n; i++) *at += i; }
/* Both go on at once. A system call keeps this loop from being traced. */
KEPT void meet(int turn)
{
	__atomic_fetch_add(&arrived, 1, __ATOMIC_SEQ_CST);
	while (__atomic_load_n(&arrived, __ATOMIC_SEQ_CST) < 2 * turn)
		sched_yield();
}
static void *work(void *number)
{
	long k = (long)number;
	for (int r = 0; r < ROUNDS; r++) {
		meet(3 * r + 1);
		add_close(&close_counts[k], STEPS);
		meet(3 * r + 2);
		add_apart(&apart_counts[k].value, STEPS);
		meet(3 * r + 3);
		add_same(&same_count, STEPS);
	}
	return NULL;
}
int main(int argc, char **argv)
{
	double s = argc;
	(void)argv;
	pthread_t thread;
	for (int i = 0; argc == 1 && i < 60; i++)
		s += by_rows() + by_columns();
	if (argc > 1) {
		pthread_create(&thread, NULL, work, (void *)1);
		work((void *)0);
		pthread_join(thread, NULL);
	}
	printf("%g\n", s);
	return 3;
}
'''
with open('program.c', 'w') as out:
    out.write(PROGRAM)
app = t.compile(os.path.abspath('program.c'), '-g', '-O2', '-fno-tree-vectorize', '-pthread', output='./program')
SMALL = ('--caches', 'L1=32k/8,L2=256k/8,line=64,TLB=64/4')


def caches(*words, view='caches', experiment='x'):
    return t.show(view, '--all', *SMALL, *words, experiment=experiment)


plain = t.command(app)
run = t.run('trace', '--loops', 'all', '--every', '13', '--quiet', '-o', 'x', '--', app)
t.equal((run.returncode, run.stdout), (plain.returncode, plain.stdout), 'output and exit status are the same')

data = caches()
t.equal(data['schema'], 'sonde.caches/1', 'the table has its schema')
rows = {(row['object'], row['level']): row for row in data['rows']}
walks = [rows.get((name, 'L1')) for name in ('rows_data', 'columns_data')]
t.check(all(walks), 'the matrices are there by name', sorted(rows))
if not all(walks):
    raise SystemExit(t.done())
along, across = walks
t.check(abs(along['miss_share'] - 1 / 8) < 0.01, 'along rows an eighth misses', along)
t.check(across['miss_share'] > 0.99, 'down columns every access misses', across)
t.equal((along['stride_bytes'], across['stride_bytes']), (8, 4096), 'strides are those of the walks')
t.check(along['line_used_share'] > 0.99 and across['line_used_share'] < 0.14,
        'lines are used whole, or an eighth of them', along, across)
# of the 512 lines of a column, in 8 sets of 8 ways, L1 had 64 at most when the window began
t.check(0 < across['open_share'] < 0.13 and across['miss_share_low'] > 0.87,
        'what the caches held before can have been as much as there is room for', across)
t.check(rows['columns_data', 'TLB']['miss_share'] > 0.99, 'each row of the matrix is a page')
t.equal(os.path.basename(across['file']), 'program.c', 'an object has the place of its declaration')
t.equal(PROGRAM.splitlines()[across['line'] - 1].split('[')[0], 'double rows_data', 'and its line')
t.equal(across['object_kind'], 'variable', 'it is a variable')
for row in data['rows']:
    causes = sum(row[k] for k in ('cold', 'capacity', 'conflict', 'coherence'))
    if (causes, row['read_misses'] + row['write_misses']) != (row['misses'], row['misses']):
        t.check(False, f'causes add up to misses: {row}')
    if abs(row['miss_share_low'] + row['open_share'] - row['miss_share']) > 1e-6:
        t.check(False, f'the least share is without what is open: {row}')
    told = [float(number) / 100 for number in row['miss_range'].rstrip(' %').split('-')]
    if max(abs(told[0] - row['miss_share_low']), abs(told[-1] - row['miss_share'])) > 6e-4:
        t.check(False, f'the range is from the least to the most: {row}')
    if not -1e-9 <= row['open_share'] <= row['cold'] / row['accesses'] + 1e-9:
        t.check(False, f'open is cold: {row}')
t.check(data['windows'] > 0 and data['recorded_accesses'] >= sum(r['accesses'] for r in data['rows'] if r['level'] == 'L1') * 0.99,
        'the table says what was recorded')
t.check(all(r['seen_share'] is None or 0 < r['seen_share'] <= 1 for r in data['rows']), 'shares seen are shares')

is_tlb = [row['level'] == 'TLB' for row in data['rows']]
t.check(True in is_tlb and is_tlb == sorted(is_tlb), 'rows of the TLB come behind those of caches', is_tlb)
by_loop = caches('--by', 'loop')['rows']
t.equal(sum(r['misses'] for r in by_loop), sum(r['misses'] for r in data['rows']), 'loops together miss as objects do')
t.equal({r['object'] for r in by_loop}, {None}, 'rows of loops have no object')
t.check({'by_rows', 'by_columns'} <= {r['function'] for r in by_loop}, 'loops have the function they are in')
by_thread = caches('--by', 'thread')['rows']
t.equal(sum(r['misses'] for r in by_thread), sum(r['misses'] for r in data['rows']), 'threads together, too')

prefetched = caches('--prefetch', 'stride')['rows']
along_2 = [r for r in prefetched if (r['object'], r['level']) == ('rows_data', 'L1')][0]
t.check(along_2['misses'] < along['misses'] / 2, 'a prefetcher hides half of a stream at least')
plru = caches('--policy', 'plru')
t.check('tree-PLRU' in plru['caches'] and 'L1 32 KiB 8-way, L2 256 KiB 8-way' in plru['caches'], 'the caches are told')


def shared(number):
    """What moved between two threads that count at one time. On a busy machine one may end before the other begins."""
    t.run('trace', '--loops', 'all', '--every', '1', '--quiet', '-o', f's{number}', '--', app, 'threads')
    table = caches(view='sharing', experiment=f's{number}')
    return table


for attempt in range(8):
    sharing = shared(attempt)
    if min([sum(r['transfers'] for r in sharing['rows'] if r['object'] == name) for name in ('close_counts', 'same_count')]) > 100:
        break
t.equal(sharing['schema'], 'sonde.sharing/1', 'sharing has its schema')
kinds = {}
for row in sharing['rows']:
    kinds.setdefault(row['object'], {})[row['kind']] = row
t.check(kinds.get('close_counts', {}).get('false', {}).get('transfers', 0) > 100, "neighbours share a line falsely", sharing['rows'])
t.check('true' not in kinds.get('close_counts', {}), 'and use nothing of each other')
found = kinds['close_counts']['false']
t.equal((found['offset_first'], found['offset_last'], found['threads']), (0, 15, 2), 'its bytes and threads are told')
line = [i + 1 for i, text in enumerate(PROGRAM.splitlines()) if 'void add_close' in text][0]
t.equal(found['sites'], f'program.c:{line}', 'and where it is used')
t.check(kinds.get('same_count', {}).get('true', {}).get('transfers', 0) > 100 and 'false' not in kinds['same_count'],
        'one counter of two threads is truly shared')
t.check(found['seen_share'] and 0 < found['seen_share'] <= 1, 'it says how much of the accesses was seen', found)
t.equal(set(kinds), {'close_counts', 'same_count'}, 'what is apart is not shared, and nothing is invented')

two = caches('--by', 'thread', experiment=f's{attempt}')['rows']
t.equal(len({r['thread'] for r in two if r['function'] == 'add_close'}), 2, 'two threads counted')

text = t.run('show', 'caches', 'x').stdout
t.equal(text.split()[:2], ['object', 'loop'], 'the object and its loop come first')
t.run('report', 'x', '-o', 'x.html')
views = {view['name']: view for view in contents('x.html')[0]['views']}
t.equal([column['key'] for column in views['caches']['columns'][:2]], ['object', 'label'], 'on the page, too')
t.check('all of one thread' in views['sharing']['why_empty'] and 'simulated: L1' in views['sharing']['foot'],
        'the page says why nothing is shared', views['sharing'])
t.check('simulated: L1' in text and 'columns_data' in text, 'text says what was simulated')
for words, what in ((('--caches', 'L1=48'), 'has no ways'), (('--by', 'line'), 'not by \'line\''), (('--policy', 'x'), 'lru')):
    run = t.run('show', 'caches', *words, 'x')
    t.check(run.returncode == 2 and what in run.stderr, f'{words} is refused with a sentence', run.stderr)
run = t.run('show', 'functions', '--caches', 'L1=32k/8', 'x')
t.check(run.returncode == 2 and 'goes with caches' in run.stderr, '--caches is not for other views')
t.run('record', '--quiet', '-o', 'y', '--', app)
t.check('sonde trace' in t.run('show', 'caches', 'y').stderr + t.run('show', 'caches', 'y').stdout, 'without a trace it says what to do')

# blocks of the heap have the names of what holds them and of their allocations, also where a freed block's place is another's, and variables of
# which each thread has its own have theirs
with open('blocks.c', 'w') as out:
    out.write(r"""
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#define KEPT __attribute__((noinline, noclone, noipa))
static __thread double own[500];
static double global[3000];
KEPT double *first_new(long n) { double *p = malloc(n * sizeof(*p)); for (long i = 0; i < n; i++) p[i] = i; return p; }
KEPT double *second_new(long n) { double *p = calloc(n, sizeof(*p)); p[1] = 3; return p; }
KEPT double sum(const double *a, long n) { double s = 0; for (long i = 0; i < n; i++) s += a[i]; return s; }
KEPT double mine(long n) { double s = 0; for (long i = 0; i < n; i++) { own[i % 500] += i; s += own[(i * 7) % 500]; } return s; }
static void *work(void *unused) { (void)unused; double s = mine(20000); double *p = malloc(64); *p = s; return p; }
int main(void)
{
	double s = 0, *at[2] = { 0, 0 };
	int same = 0;
	for (int r = 0; r < 30; r++) {
		double *p = first_new(2000);
		s += sum(p, 2000);
		at[0] = p;
		free(p);
		double *q = second_new(2000);
		s += sum(q, 1000);
		at[1] = q;
		free(q);
		same += at[0] == at[1];
		s += sum(global, 3000) + mine(1000);
	}
	for (int i = 0; i < 2; i++) {
		pthread_t thread;
		void *p;
		pthread_create(&thread, NULL, work, NULL);
		pthread_join(thread, &p);
		s += *(double *)p;
		free(p);
	}
	printf("%.17g\n", s);
	fprintf(stderr, "%d\n", same);
	return 0;
}
""")
blocks = t.compile(os.path.abspath('blocks.c'), '-O1', '-g', '-pthread', output='./blocks')
run = t.run('trace', '--quiet', '--loops', 'all', '--every', '1', '-o', 'blocks-x', '--', blocks)
t.equal(run.stdout, t.command(blocks).stdout, 'the output is the same')
t.check(int(run.stderr.split()[-1]) > 0, 'a place has been two blocks', run.stderr)


def of_function(experiment, function, level='L1'):
    """(object, kind, file's name, line) -> accesses, of the loops of a function."""
    found = {}
    for row in t.show('caches', '--all', '--by', 'object', experiment=experiment)['rows']:
        if row['function'] == function and row['level'] == level:
            key = row['object'], row['object_kind'], os.path.basename(row['file'] or ''), row['line']
            found[key] = found.get(key, 0) + row['accesses']
    return found


lines = open('blocks.c').read().split('\n')
line = {name: next(i for i, text in enumerate(lines, 1) if f'KEPT double *{name}' in text) for name in ('first_new', 'second_new')}
t.equal(of_function('blocks-x', 'sum'), {(f'p (first_new, blocks.c:{line["first_new"]})', 'heap', 'blocks.c', line['first_new']): 60000,
                                         (f'q (second_new, blocks.c:{line["second_new"]})', 'heap', 'blocks.c', line['second_new']): 30000,
                                         ('global', 'variable', 'blocks.c', 7): 90000},
        'accesses to blocks are told by the variable that holds them and the call that allocated them, at their time')
found = of_function('blocks-x', 'mine')
t.equal(list(found), [('own', 'variable', 'blocks.c', 6)], "a thread's own variable has its name, in all threads")
t.check(list(found.values())[0] >= 2 * 70000, 'with all accesses', found)
run = t.run('trace', '--quiet', '--no-heap', '--loops', 'all', '--every', '1', '-o', 'blocks-y', '--', blocks)
t.equal({k[:2] for k in of_function('blocks-y', 'sum')}, {('[heap]', 'heap'), ('global', 'variable')}, 'with --no-heap they are in the heap, and no more is known')
t.check(not any(name.endswith('.trace') for name in os.listdir('blocks-y')) and any(name.endswith('.trace') for name in os.listdir('blocks-x')),
        'and allocations are not traced')
t.done()
