"""Traces of memory accesses: every address is known by construction, and the program stays what it was."""
import json
import os
import shutil
import signal
import subprocess
import time

from sonde_test import Test

t = Test()
N, ROUNDS = 60, 40
CODE = r'''
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>
#define KEPT __attribute__((noinline))
enum { N = 60, ROUNDS = 40 };
static double a[2][N], b[2][N];
static int x[N];
static long table[N], next[N], matrix[N * N];
static char text[N];
static volatile long one;
static __thread volatile long own;
KEPT void stride(double *to, const double *from) { for (long i = 0; i < N; i++) to[i] = from[i] * 2; }
KEPT long down(const long *from) { long s = 0; for (long i = N - 1; i >= 2; i -= 3) s += from[i]; return s; }
KEPT long gather(const long *from) { long s = 0; for (long i = 0; i < N; i++) s += from[x[i]]; return s; }
KEPT long chase(long p, int n) { while (n--) p = next[p]; return p; }
KEPT void chosen(long *to) { for (long i = 0; i < N; i++) { if (x[i] & 1) to[x[i]] += 3; else to[0] ^= i; } }
KEPT long columns(const long *m) { long s = 0; for (long j = 0; j < 20; j++)
	for (long i = 0; i < 20; i++) s += m[i * 20 + j] * j; return s; }
KEPT int find(const char *s, char c) { int i = 0; while (s[i] && s[i] != c) i++; return i; }
KEPT void counts(int n) { for (int i = 0; i < n; i++) { one += i; own ^= i; } }
KEPT long step(long v) { return v * 3 + 1; }
KEPT long calls(long n) { long s = 0; for (long i = 0; i < n; i++) s += step(s ^ i); return s; }
static long sum;
static void work(int k)
{
	stride(b[k], a[k]);
	if (k)
		return;
	sum += down(table) + gather(table) + chase(sum & 1, 30) + columns(matrix) + find(text, 'q') + calls(9);
	chosen(table);
	counts(11);
}
static void *other(void *p) { for (int r = 0; r < ROUNDS; r++) work(1); return p; }
static void tick(int s) { (void)s; sum += 0 * gather(table); }
int main(int argc, char **argv)
{
	FILE *out = fopen(argv[1], "w");
	int how = argc > 2 ? argv[2][0] : 0;
	pthread_t thread;
	fprintf(out, "{\"a\":%lu,\"b\":%lu,\"x\":%lu,\"table\":%lu,\"next\":%lu,\"matrix\":%lu,\"text\":%lu,\"one\":%lu,\"own\":%lu}",
		(long)a, (long)b, (long)x, (long)table, (long)next, (long)matrix, (long)text, (long)&one, (long)&own);
	fclose(out);
	for (int i = 0; i < N; i++) { a[0][i] = a[1][i] = i; x[i] = i * 7 % N; table[i] = i; next[i] = (i * 11 + 1) % N; text[i] = 'a' + i % 26; }
	if (how == 't') {
		struct itimerval often = { { 0, 50 }, { 0, 50 } };
		signal(SIGALRM, tick);
		setitimer(ITIMER_REAL, &often, NULL);
		for (int r = 0; r < 3 * ROUNDS; r++) work(0);
		signal(SIGALRM, SIG_IGN);
		return 0;
	}
	if (how == 'k')
		for (;;) work(0);
	pthread_create(&thread, NULL, other, NULL);
	for (int r = 0; r < ROUNDS; r++) work(0);
	pthread_join(thread, NULL);
	if (how == 'f') {
		pid_t child = fork();
		if (!child) { for (int r = 0; r < 5; r++) work(0); printf("%ld\n", sum); fflush(stdout); _exit(0); }
		waitpid(child, NULL, 0);
	}
	printf("%ld %ld %.17g %ld\n", sum, one, b[1][N - 1], own);
	return 5;
}
'''
X = [i * 7 % N for i in range(N)]
NEXT = [(i * 11 + 1) % N for i in range(N)]


def expected(at):
    """By function: what one call does to the arrays, as (address, bytes, r or w)."""
    def stride(k):
        return [e for i in range(N) for e in ((at['a'] + 480 * k + 8 * i, 8, 'r'), (at['b'] + 480 * k + 8 * i, 8, 'w'))]

    def chosen(i):
        return at['table'] + 8 * (X[i] if X[i] & 1 else 0)
    chases = []
    for first in (0, 1):
        p, chase = first, []
        for _ in range(30):
            chase.append((at['next'] + 8 * p, 8, 'r'))
            p = NEXT[p]
        chases.append(chase)
    found = [(at['text'] + i, 1, 'r') for i in range(17)]
    return {
        'stride': [stride(0), stride(1)],
        'down': [[(at['table'] + 8 * i, 8, 'r') for i in range(N - 1, 1, -3)]],
        'gather': [[e for i in range(N) for e in ((at['x'] + 4 * i, 4, 'r'), (at['table'] + 8 * X[i], 8, 'r'))]],
        'chase': chases,
        'chosen': [[e for i in range(N) for e in ((at['x'] + 4 * i, 4, 'r'), (chosen(i), 8, 'r'), (chosen(i), 8, 'w'))]],
        'columns': [[(at['matrix'] + 8 * (i * 20 + j), 8, 'r') for j in range(20) for i in range(20)]],
        # the first byte may be looked at before the loop
        'find': [found, found[1:]],
        'counts': [[e for _ in range(11) for e in ((at['one'], 8, 'r'), (at['one'], 8, 'w'), (at['own'], 8, 'r'), (at['own'], 8, 'w'))]],
    }


def in_arrays(at, address):
    sizes = {'a': 16 * N, 'b': 16 * N, 'x': 4 * N, 'table': 8 * N, 'next': 8 * N, 'matrix': 8 * N * N, 'text': N, 'one': 8, 'own': 8}
    return any(at[name] <= address < at[name] + bytes_ for name, bytes_ in sizes.items())


def walk(records):
    """The accesses of a window in their order: records of a group take turns."""
    group = []
    for record in records + [None]:
        if group and (record is None or record['group'] != group[0]['group']):
            for turn in range(max(r['count'] for r in group)):
                for r in group:
                    if turn < r['count']:
                        address = int(r['address'], 16) + turn * r['stride_bytes']
                        for kind in {'read': 'r', 'write': 'w', 'both': 'rw'}[r['kind']]:
                            yield (address, r['size_bytes'], kind)
            group = []
        if record:
            group.append(record)


def windows(experiment):
    """(process, thread, function, instance) -> its accesses."""
    functions = {}
    for row in t.show('windows', '--all', experiment=experiment)['rows']:
        functions[row['label']] = row['function']
    found = {}
    for record in t.show('accesses', '--all', experiment=experiment)['rows']:
        key = (record['process'], record['thread'], functions[record['label']], record['instance'])
        found.setdefault(key, []).append(record)
    return {key: list(walk(records)) for key, records in found.items()}


def check_windows(experiment, at, name, parts=False):
    """Every window is what its function does; the numbers of instances by (function, thread)."""
    want, wrong, seen, numbers = expected(at), [], {}, {}
    for (process, thread, function, instance), accesses in windows(experiment).items():
        if function not in want:
            continue
        got = [a for a in accesses if in_arrays(at, a[0])]
        if function == 'find':  # a byte may be read again, to be compared with the letter
            got = sorted(set(got))
        if function == 'chosen':  # so may an index, in its iteration
            got = [a for i, a in enumerate(got) if a[1] != 4 or a not in got[max(0, i - 3):i]]
        numbers.setdefault((function, process, thread), []).append(instance)
        fits = [w for w in want[function] if got == w or parts and function == 'columns' and set(got) <= set(w) and len(got) == 20]
        if not fits:
            wrong.append((function, instance, got[:8], want[function][0][:8]))
        seen[function] = seen.get(function, 0) + 1
    t.check(seen and not wrong, f'{name}: each address of {sum(seen.values())} windows is the one expected', *wrong[:3])
    return numbers


def run(name, app, *words, options=(), loops='all'):
    """A plain run and a traced one: both the same; where the arrays of the traced one are."""
    plain = t.command(app, 'plain.json', *words)
    traced = t.run('trace', '--quiet', '--loops', loops, *options, '-o', name, '--', app, 'at.json', *words)
    t.equal((traced.returncode, traced.stdout), (plain.returncode, plain.stdout), f'{name}: output and exit status are the same')
    return json.load(open('at.json'))


compilers = [c for c in ('gcc', 'clang') if shutil.which(c)]
SCALAR = {'gcc': ['-fno-tree-vectorize', '-fno-unroll-loops'], 'clang': ['-fno-vectorize', '-fno-slp-vectorize', '-fno-unroll-loops']}
for compiler in compilers:
    for flags in (['-O0'], ['-O1'], ['-O2', '-no-pie', '-fno-pie']) if compiler == 'gcc' else (['-O0'],):
        name = compiler + ''.join(flags)
        app = t.compile(CODE, '-g', '-pthread', *flags, *SCALAR[compiler], compiler=compiler, output='./' + name)
        at = run('x-' + name, app, options=('--every', '1'))
        numbers = check_windows('x-' + name, at, name, parts=True)
        # the inner loop of `columns` has 20 instances a call; what a compiler turns into no loop is none
        want = {'stride': 2 * ROUNDS, 'gather': ROUNDS, 'chase': ROUNDS, 'chosen': ROUNDS, 'columns': 20 * ROUNDS}
        got = {f: sum(len(n) for (function, _, _), n in numbers.items() if function == f) for f in want}
        t.equal(got, want, f'{name}: every instance is a window')
        threads = {key for key in numbers if key[0] == 'stride'}
        t.check(len(threads) == 2 and all(sorted(numbers[key]) == list(range(ROUNDS)) for key in threads),
                f'{name}: instances of two threads are numbered from 0', numbers)

app = './gcc-O1'
if os.path.exists(app):
    rows = t.show('windows', '--all', experiment='x-gcc-O1')['rows']
    stride = [r for r in rows if r['function'] == 'stride']
    t.check(stride and all((r['accesses'], r['access_records'], r['is_cut']) == (2 * N, 2, False) for r in stride),
            'accesses that move by a constant are one record an instance', stride[:2])
    counted = {r['function']: r['instances'] for r in t.show('instances', '--all', experiment='x-gcc-O1')['rows'] if r['bucket'] == 'all'}
    t.equal((counted['stride'], counted['gather']), (2 * ROUNDS, ROUNDS), 'instances are counted beside')

    at = run('every', app, options=('--every', '7', '--from', 'x-gcc-O1'))
    numbers = check_windows('every', at, 'one of seven', parts=True)
    t.check(all(sorted(n) == list(range(0, ROUNDS, 7)) for (f, _, _), n in numbers.items() if f == 'gather'), 'one of seven: those it should be', numbers)

    at = run('budget', app, options=('--from', 'x-gcc-O1'))
    check_windows('budget', at, 'within the budget', parts=True)

    at = run('forked', app, 'f', options=('--every', '1', '--from', 'x-gcc-O1'))
    numbers = check_windows('forked', at, 'fork', parts=True)
    t.equal(sorted(len(n) for (f, _, _), n in numbers.items() if f == 'gather'), [5, ROUNDS], 'a child of a fork has windows of its own')

    at = run('ticks', app, 't', options=('--every', '1', '--from', 'x-gcc-O1'))
    check_windows('ticks', at, 'handlers that run traced loops', parts=True)

    # a nest, by its outer loop
    line = next(i for i, text in enumerate(CODE.split('\n'), 1) if 'KEPT long columns' in text)
    outer = min((r for r in json.loads(t.run('structure', '-l', 'loops', '--format', 'json', app).stdout)['rows'] if r['function'] == 'columns'),
                key=lambda r: r['depth'])
    at = run('nest', app, options=('--every', '1', '--from', 'x-gcc-O1'), loops=outer['loop'])
    nest = windows('nest')
    want = expected(at)['columns'][0]
    t.check(len(nest) == ROUNDS and all(got == want for got in nest.values()), 'a nest is recorded by its outer loop, inner loops included',
            len(nest), [got[:4] for got in nest.values()][:2])

    # what cannot be is said
    refused = t.run('trace', '--from', 'x-gcc-O1', '--loops', next(r['loop'] for r in json.loads(
        t.run('structure', '-l', 'loops', '--format', 'json', app).stdout)['rows'] if r['function'] == 'calls'), '--', app, 'at.json')
    t.check(refused.returncode == 125 and 'no loop can be traced' in refused.stderr and 'it calls functions' in refused.stderr,
            'a loop with calls is refused, with the reason', refused.returncode, refused.stderr)
    listed = {r['function']: r['why_not_trace'] for r in json.loads(t.run('structure', '-l', 'rewritable', '--format', 'json', app).stdout)['rows']}
    t.check(not listed['stride'] and 'it calls functions' in listed['calls'], 'the list of what can be rewritten says so, too', listed)
    bad = t.run('trace', '--budget', '0', '--', app, 'at.json')
    t.check(bad.returncode == 125 and '--budget takes' in bad.stderr, 'a wrong budget is refused', bad.stderr)
    none = t.run('record', '--quiet', '-o', 'plain', '--', app, 'at.json')
    said = t.run('show', 'windows', 'plain')
    t.check('sonde trace' in said.stdout + said.stderr, 'without a trace the view says how to get one', said.stdout, said.stderr)

    # killed in the middle: what was written is whole
    os.remove('at.json')
    process = subprocess.Popen([t.sonde, 'trace', '--quiet', '--from', 'x-gcc-O1', '--loops', 'all', '--every', '50', '--max-size', '20', '-o', 'killed',
                                '--', app, 'at.json', 'k'], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    deadline = time.time() + 120
    while not os.path.exists('at.json') and time.time() < deadline:
        time.sleep(.05)
    time.sleep(.5)
    for child in open(f'/proc/{process.pid}/task/{process.pid}/children').read().split():
        os.kill(int(child), signal.SIGKILL)
    process.wait(timeout=120)
    want = expected(json.load(open('at.json')))
    cut = {(r['process'], r['thread'], r['function'], r['instance']) for r in t.show('windows', '--all', experiment='killed')['rows'] if r['is_cut']}
    killed = {key: got for key, got in windows('killed').items() if key[2] == 'gather'}
    t.check(killed and all(got in want['gather'] for key, got in killed.items() if key not in cut),
            'after SIGKILL windows are whole, or said to be cut', len(killed), len(cut))

# vectors: the bytes that are read and written are all of the arrays', once
for compiler in compilers:
    app = t.compile(CODE, '-g', '-O3', '-mavx2' if 'avx2' in open('/proc/cpuinfo').read() else '-msse2', '-pthread', compiler=compiler, output='./v' + compiler)
    at = run('x-v' + compiler, app, options=('--every', '1'))
    touched = {}
    for (_, _, function, _), accesses in windows('x-v' + compiler).items():
        if function == 'stride':
            touched.setdefault(len(touched), accesses)
    whole = True
    for accesses in touched.values():
        for kind, array in (('r', 'a'), ('w', 'b')):
            span = [byte for address, size, k in accesses if k == kind for byte in range(address, address + size)
                    if at[array] <= address < at[array] + 16 * N]
            whole &= len(span) == len(set(span)) and len(span) % 8 == 0 and len(span) > 0
    t.check(not touched or whole, f'{compiler} -O3: vectors touch no byte twice', len(touched))
t.done()
