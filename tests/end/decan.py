"""Variants of loops run in their place: nothing of the program changes, and what bounds a loop is found."""
import json
import math
import os
import shutil
import signal
import subprocess

from sonde_test import PROGRAMS, Test

t = Test()
ALL = ('--loops', 'all', '--every', '1', '--quiet')
NAMES = ('orig', 'ls', 'fp', 'arith', 'dl1', 'fes', 'pf')


def loops(experiment):
    """Rows of whole loops, by function; of a nest the innermost with the most instances."""
    found = {}
    for row in t.show('variants', '--all', experiment=experiment)['rows']:
        if row['bucket'] == 'all' and row['instances'] > found.get(row['function'], {'instances': -1})['instances']:
            found[row['function']] = row
    return found


def same(name, program, *words, options=ALL):
    """Runs a program plainly and with variants: output and exit status must be the same."""
    plain = t.command(program, *words)
    run = t.run('decan', *options, '-o', 'x-' + name, '--', program, *words, timeout=300)
    plain_code = 128 - plain.returncode if plain.returncode < 0 else plain.returncode
    t.equal((run.returncode, run.stdout), (plain_code, plain.stdout), f'{name}: output and exit status are the same')
    return loops('x-' + name)


def states(row):
    return {v: row[v + '_state'] for v in NAMES}


variants = os.path.join(PROGRAMS, 'variants.c')
for compiler, flags in (('gcc', ['-O2']), ('gcc', ['-O3', '-mavx2', '-mfma']), ('clang', ['-O2']), ('gcc', ['-O0'])):
    if not shutil.which(compiler):
        t.skip(f'{compiler} {flags}', 'no ' + compiler)
        continue
    name = compiler + ''.join(flags)
    app = t.compile(variants, '-g', *flags, *(['-Dnoclone=noinline'] if compiler == 'clang' else []), compiler=compiler, output='./v' + name)
    rows = same(name, app, '1000', '150')
    if flags == ['-O0']:
        t.check(all(r['orig_samples'] == 0 for r in rows.values() if r['function'] == 'chain'),
                'without optimization what a loop stores decides where it goes on: no variant runs', rows.get('chain'))
    if name == 'gcc-O2':
        told = {f: states(r) for f, r in rows.items()}
        for function, want in {'chain': 'fp', 'divide': 'fp', 'list': 'ls', 'triad': 'dl1', 'hash': 'arith', 'prefix': 'dl1',
                               'histogram': 'dl1', 'widths': 'ls', 'gather': 'pf', 'find': 'ls'}.items():
            t.check(told.get(function, {}).get(want) in ('measured', 'weak'), f'{function} has {want.upper()}', told.get(function))
        # each of these would break, were it not refused, or caught
        t.check('what it stores' in told['histogram']['ls'], 'LS of a loop whose stores may be its indices is refused', told['histogram'])
        t.check('what it stores' in told['compress']['dl1'] or told['compress']['dl1'] in ('measured', 'weak'), 'compress is judged', told['compress'])
        t.check('fault' in told['walk']['fes'], 'a variant that goes where no memory is, is ended', told['walk'])
        t.check('many times' in told['round_and_round']['fes'], 'so is one that does not end', told['round_and_round'])
        t.check('floating-point' in told['list']['fp'], 'a loop without floating-point arithmetic has no FP', told['list'])
        safe = {v: rows['triad'][v + '_safety'] for v in NAMES}
        t.equal(safe, {'orig': 'same', 'ls': 'silent', 'fp': 'none', 'arith': 'none', 'dl1': 'none', 'fes': 'none', 'pf': 'same'},
                'what each variant writes is said')

# ratios that hold on any processor, of medians of 100 and more: a wrong variant is off by far more than this
run = t.run('decan', *ALL, '-o', 'far', '--', './vgcc-O2', '20000', '60')
rows = loops('far')
for function, v, least, why in (('chain', 'fp', 0.5, 'additions that wait for each other take as long without loads'),
                                ('divide', 'fp', 0.5, 'so do divisions'),
                                ('prefix', 'dl1', 0.5, 'a chain through memory stays in DL1'),
                                ('list', 'ls', 0.5, 'a list takes as long without arithmetic'),
                                ('hash', 'arith', 0.5, 'multiplications that wait for each other take as long without loads')):
    row = rows.get(function, {})
    t.check(row.get(v + '_samples', 0) >= 3 and row[v + '_cycles'] > least * row['orig_cycles'], why, {k: row.get(k) for k in ('orig_cycles', v + '_cycles', v + '_samples')})
for function, v, why in (('divide', 'ls', 'loads and stores alone take less than divisions'), ('list', 'dl1', 'a list in cache is no slower than one in memory')):
    row = rows.get(function, {})
    t.check(row.get(v + '_samples', 0) >= 3 and row[v + '_cycles'] < 1.3 * row['orig_cycles'], why, row.get(v + '_cycles'), row.get('orig_cycles'))
for row in rows.values():
    for v in NAMES:
        low, mid, high = (row[f'{v}_{k}'] for k in ('low', 'cycles', 'high'))
        if mid is not None and not low <= mid <= high:
            t.check(False, 'the interval holds the median', row['function'], v, low, mid, high)

timed = [r for r in rows.values() if r['orig_samples'] > 2]
t.check(timed and all(r['frequency_impact'] is not None and 0.25 <= r['frequency_impact'] <= 4 for r in timed),
        "the core's clock is known by that of the counter", [(r['function'], r['frequency_impact']) for r in timed])
t.check(all(r['pf_lines'] in (4, 16, 64) if r['pf_cycles'] is not None else r['pf_lines'] is None for r in rows.values()),
        'PF is that of one distance', [(r['function'], r['pf_lines']) for r in rows.values()])
# additions and divisions are what these loops wait for, with and without loads
t.check(all(rows.get(f, {}).get('fp_per_cqa') is None or 0.5 < rows[f]['fp_per_cqa'] < 2 for f in ('chain', 'divide')),
        'FP takes what the static model says of the loop without loads and stores', {f: rows.get(f, {}).get('fp_per_cqa') for f in ('chain', 'divide')})

t.check(all(r['level'] in (None, 'L1', 'L2', 'L3', 'RAM') and (r['class'] == 'data' or r['level'] is None and r['latency_bound'] is None) for r in rows.values()),
        'levels are told of loops bound by data', [(r['function'], r['class'], r['level']) for r in rows.values()])
t.check(all(r['latency_bound'] == (f == 'list') for f, r in rows.items() if f in ('list', 'triad') and r['latency_bound'] is not None),
        'a list waits for each load, a stream does not', {f: r['latency_bound'] for f, r in rows.items()})

THREADS = r'''
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>
#define KEPT __attribute__((noinline, noclone, noipa))
KEPT double scale(double *a, const double *b, long n) { double s = 0; for (long i = 0; i < n; i++) { a[i] = b[i] * 1.5; s += a[i]; } return s; }
static double data[4000];
static __thread double out[4000];
static volatile long handled;
static void handler(int s) { double mine[20]; (void)s; handled += scale(mine, data, 20) > 0; }
static void *work(void *x) { double s = 0; for (int r = 0; r < 400; r++) s += scale(out, data, 4000); *(double *)x = s; return x; }
static void died(int s) { (void)s; write(1, "caught\n", 7); signal(SIGSEGV, SIG_DFL); }
int main(int argc, char **argv)
{
	pthread_t threads[8];
	double sums[8], total = 0;
	struct sigaction action = { .sa_handler = handler, .sa_flags = SA_RESTART }, old;
	struct itimerval often = { { 0, 1000 }, { 0, 1000 } };
	for (int i = 0; i < 4000; i++) data[i] = i;
	sigaction(SIGPROF, &action, NULL);
	setitimer(ITIMER_PROF, &often, NULL);
	for (int i = 0; i < 8; i++) pthread_create(&threads[i], NULL, work, &sums[i]);
	for (int i = 0; i < 8; i++) { pthread_join(threads[i], NULL); total += sums[i]; }
	memset(&often, 0, sizeof often);
	setitimer(ITIMER_PROF, &often, NULL);
	printf("%.17g\n", total);
	fflush(stdout);
	sigset_t none;
	sigprocmask(SIG_SETMASK, NULL, &none);
	for (int s = 1; s < 32; s++) if (sigismember(&none, s)) printf("blocked %d\n", s);
	if (!fork()) { double s = 0; for (int r = 0; r < 100; r++) s += scale(out, data, 4000); printf("child %.17g\n", s); fflush(stdout); _exit(3); }
	int status;
	wait(&status);
	if (!vfork()) execl("/bin/true", "true", (char *)0);
	wait(NULL);
	/* handlers of faults are the program's, and it is told what it has set */
	sigaction(SIGSEGV, NULL, &old);
	printf("%d", old.sa_handler == SIG_DFL);
	signal(SIGSEGV, died);
	sigaction(SIGSEGV, NULL, &old);
	printf(" %d\n", old.sa_handler == died);
	fflush(stdout);
	if (argc > 1) *(volatile int *)8 = 1;
	return WEXITSTATUS(status);
}
'''
with open('threads.c', 'w') as out:
    out.write(THREADS)
app = t.compile(os.path.abspath('threads.c'), '-O2', '-g', '-pthread', output='./threads')
for rate in ('1000', '20000'):
    rows = same('threads' + rate, app, options=(*ALL, '--clock', rate))
    t.check(rows.get('scale', {}).get('ls_samples', 0) > 100, f'variants ran in 8 threads at {rate} Hz', rows.get('scale'))
    stacks = t.show('samples', '--all', experiment='x-threads' + rate)['rows']
    user = [r for r in stacks if r['observation'] and not r['in_kernel']]
    t.check(not any('unknown' in r['module'] for r in user), f'every sample is in code that is known at {rate} Hz',
            [r for r in user if 'unknown' in r['module']][:2])
    in_scale = [r for r in user if r['function'] == 'scale']
    cut = [r for r in in_scale if not r['complete']]
    t.check(len(cut) <= len(in_scale) / 20, f'and stacks are whole at {rate} Hz', len(cut), len(in_scale), cut[:2])
same('fault', app, 'now')
rows = same('budget', app, options=('--quiet', '--loops', 'all'))
t.check(rows['scale']['instances'] > 0, 'with a budget, too', rows.get('scale'))

for which in ('one', 'all'):
    rows = same('of-' + which, app, options=(*ALL, '--threads', which))
    t.check(rows.get('scale', {}).get('ls_samples', 0) > 10, f'variants in threads: {which}', rows.get('scale'))

# loops that call functions: variants are over where a call comes, and no call is made more often or less
if t.has('g++'):
    app = t.compile('called.cc', '-O2', '-g', compiler='g++', output='./called')
    rows = same('called', app, '2000')
    for function in ('never', 'rarely', 'first_only', 'nest', 'pushed', 'by_pointer', 'itself', 'throws', 'until'):
        row = rows.get(function, {})
        t.check(row.get('orig_samples', 0) > 20 and row['fp_samples'] > 20 and row['dl1_samples'] > 20,
                f'{function}: a loop that seldom calls has variants', row)
    told = {f: states(r) for f, r in rows.items()}
    t.check('each_time' not in rows or 'each iteration' in told['each_time']['orig'], 'one that calls in each iteration has none', told.get('each_time'))
    t.check(rows['each_instance']['orig_samples'] == 0 and all('called a function' in told['each_instance'][v] for v in ('orig', 'fp', 'fes')),
            'one that calls in each instance has no timing, and says why', told['each_instance'])
    t.check(rows['never']['orig_samples'] > rows['rarely']['orig_samples'], 'instances that call are left out', rows['never'], rows['rarely'])
    t.check(rows['never']['called_share'] == 0 and 0.05 < rows['rarely']['called_share'] < 0.5 and rows['each_instance']['called_share'] == 1,
            'their share is told', rows['rarely']['called_share'])
    t.check('of the instances that were chosen called a function' in t.run('show', 'variants', 'x-called').stdout, 'in text, too')
    counts = {r['function']: (r['instances'], r['iterations']) for r in t.show('instances', '--all', experiment='x-called')['rows'] if r['bucket'] == 'all'}
    t.equal({f: counts[f] for f in ('never', 'rarely', 'each_time', 'each_instance', 'first_only', 'pushed', 'by_pointer')},
            {'never': (2000, 4000000), 'rarely': (2000, 400000), 'each_time': (2000, 400000), 'each_instance': (2000, 400000),
             'first_only': (2000, 800000), 'pushed': (2000, 400000), 'by_pointer': (2000, 400000)}, 'all instances and iterations are counted')
    t.run('vprof', *ALL, '-o', 'v-called', '--', app, '2000', timeout=300)
    counted = {r['function']: (r['instances'], r['iterations']) for r in t.show('instances', '--all', experiment='v-called')['rows'] if r['bucket'] == 'all'}
    mine = ('never', 'rarely', 'until', 'each_time', 'each_instance', 'first_only', 'pushed', 'by_pointer', 'itself')
    t.equal({f: counts[f] for f in mine}, {f: counted.get(f) for f in mine}, 'as many as without variants')
    for which in ('one', 'all'):
        same('called-' + which, app, '500', options=(*ALL, '--threads', which))
    same('called-often', app, '3000', options=(*ALL, '--clock', '20000'))
    listed = {r['function']: r for r in json.loads(t.run('structure', '-l', 'rewritable', '--format', 'json', app).stdout)['rows'] if r['innermost']}
    t.check(listed['never']['fes'] and listed['pushed']['fes'] and not listed['each_time']['fes'] and 'each iteration' in listed['each_time']['why_not_fes'],
            'structure says which loops that call can have variants', listed['each_time'])
else:
    t.skip('loops that call functions', 'no g++')

# SIGKILL while variants run: what was measured until then is there
with open('endless.c', 'w') as out:
    out.write(r'''
#include <unistd.h>
__attribute__((noinline)) double sum(const double *a, long n) { double s = 0; for (long i = 0; i < n; i++) s += a[i]; return s; }
static double a[2000];
int main(void) { volatile double s = 0; for (long r = 0;; r++) { s += sum(a, 2000); if (r == 60000) write(1, "x", 1); } }
''')
app = t.compile(os.path.abspath('endless.c'), '-O2', '-g', output='./endless')


def killed(*words):
    process = subprocess.Popen([t.sonde, *words], stdout=subprocess.PIPE)
    process.stdout.read(1)
    for child in open(f'/proc/{process.pid}/task/{process.pid}/children').read().split():
        os.kill(int(child), signal.SIGKILL)
    process.wait(timeout=60)


killed('record', '-q', '-o', 'first', app)
killed('decan', '-q', '--from', 'first', '--every', '1', '-o', 'killed', '--', app)
row = loops('killed').get('sum', {})
t.check(row.get('orig_samples', 0) > 100 and row['ls_samples'] > 100, 'after SIGKILL the timings are there', row)

lines = [line.split('\t') for line in open('killed/untouched.tsv').read().splitlines()]
hz, before = float(lines[0][1]), {line[0]: (int(line[1]), int(line[2])) for line in lines[2:]}
ns, samples = before.get(row['loop'], (0, 0))
want = ns / 1e9 * hz / row['iterations'] if samples >= 100 else None
t.check(row['ref_cycles'] == want if want is None else abs(row['ref_cycles'] / want - 1) < 1e-6 and abs(row['orig_cycles'] / want / row['copy_bias'] - 1) < 1e-6,
        'the loop as it was stands beside its copy', row['ref_cycles'], row['copy_bias'], ns, samples)

# where they are shown
page = t.show('loop', row['loop'], experiment='killed')
t.equal([r['class'] for r in page['variants'] if r['bucket'] == 'all'], [row['class']], 'the page of a loop has its variants')
t.check('variants, cycles an iteration:' in t.run('show', 'loop', row['loop'], 'killed').stdout, 'in text, too')
listed = [r for r in json.loads(t.run('structure', '-l', 'rewritable', '--format', 'json', './vgcc-O2').stdout)['rows'] if r['function'] == 'histogram']
t.check(listed and listed[0]['dl1'] and not listed[0]['ls'] and 'what it stores' in listed[0]['why_not_ls'],
        'structure says without a run what a loop can have', listed)

# the gains of loops add up to that of the program
for v, experiment in (('ls', 'killed'), ('dl1', 'killed'), ('pf', 'killed'), ('fp', 'killed'), ('arith', 'x-gcc-O2')):
    curve = t.show('whatif', v, '--all', experiment=experiment)
    t.equal((curve['schema'], curve['variant']), ('sonde.whatif-measured/1', v), f'the curve of {v}')
    ranked = [r for r in curve['rows'] if r[v + '_rank']]
    saved, factors = 0, []
    for row in ranked:
        saved += row['coverage_share'] * (1 - 1 / row[v + '_speedup'])
        factors.append(row[v + '_cumulative_speedup'] * (1 - saved))
    t.check(curve['rows'] and all(abs(f - 1) < 1e-6 for f in factors), f'{v}: each step is by the savings so far', factors)
    t.equal([r[v + '_rank'] for r in ranked], list(range(1, curve['loops'] + 1)), f'{v}: the curve comes first, in its order')
    t.check(not ranked or ranked[-1][v + '_cumulative_speedup'] == curve['speedup'], f'{v}: its end is the program', curve['speedup'])
    if experiment == 'killed':
        # the samples themselves are few and uneven on a busy machine: most meet a variant
        t.check(curve['measured_share'] > 0 and abs(curve['measured_share'] - curve['rows'][0]['coverage_share']) < 1e-9,
                f'{v}: the loop that takes the time is in it', curve)
    t.check(all(r[v + '_saved_share'] <= 0 or r['counted_with'] for r in curve['rows'] if not r[v + '_rank']),
            f'{v}: what is left out would lose, or is in a loop that counts', curve['rows'])
run = t.run('show', 'whatif', 'dl1', 'first')
t.check(run.returncode == 3 and 'sonde decan' in run.stderr, 'a run without variants has no curve, and says what would give one', run.stderr)
run = t.run('show', 'whatif', 'dl2', 'first')
t.check(run.returncode == 2 and 'dl1' in run.stderr, 'a variant that does not exist is refused, with those that do', run.stderr)

# an instance in which other threads come between has its CPU time; a nest that runs once leaves its instances to the loops in it
with open('lasting.c', 'w') as out:
    out.write(r'''
#include <sched.h>
#include <stdio.h>
#define KEPT __attribute__((noinline, noclone, noipa))
static double a[20000];
KEPT double nest(int times) { double s = 0; for (int r = 0; r < times; r++) { for (long i = 0; i < 2000000; i++) s += a[i % 20000] * r; sched_yield(); } return s; }
KEPT double quiet(int times) { double s = 0; for (int r = 0; r < times; r++) for (long i = 0; i < 20000; i++) s += a[i] * r; return s; }
int main(void) { for (int i = 0; i < 20000; i++) a[i] = i; printf("%g\n", nest(30) + quiet(9)); return 7; }
''')
app = t.compile(os.path.abspath('lasting.c'), '-O1', '-g', output='./lasting')
t.equal(t.run('decan', '-q', '--loops', 'all', '--every', '1', '--variants', 'fes', '-o', 'long', '--', app, timeout=300).returncode, 7, 'long instances: the exit status is the same')
rows = [r for r in t.show('variants', '--all', '--by', 'loop', experiment='long')['rows'] if r['function'] == 'nest']
inner = max(rows, key=lambda r: r['iterations'], default={})
t.equal((inner.get('instances'), inner.get('iterations')), (30, 60000000), 'loops in a nest that runs once have all their instances')
t.check(inner.get('orig_samples', 0) + inner.get('fes_samples', 0) > 0, 'and cycles, whatever came between', inner)
outer = [r for r in t.show('instances', '--all', experiment='long')['rows'] if r['function'] == 'quiet' and r['instances'] == 1]
t.check(outer and outer[0]['cycles_median'] is None and 'sonde vprof' in outer[0]['cycles_state'] and outer[0]['share'] is not None,
        'the nest says why it has none', outer)
t.check('has no cycles: ' in t.run('show', 'instances', 'long').stdout, 'in text, too')
by = {b: t.show('instances', '--all', '--by', b, experiment='long')['rows'] for b in ('bucket', 'thread', 'instance')}
t.check(all(r['bucket'] not in ('all', None) for r in by['bucket']) and all(r['thread'] and r['process'] == 0 for r in by['thread'] + by['instance'])
        and sum(r['instances'] for r in by['thread'] if r['loop'] == inner['loop']) == 30, 'instances by bucket, thread and instance', by)
t.check(all(r['bucket'] != 'all' for r in t.show('variants', '--all', '--by', 'bucket', experiment='long')['rows']), 'variants by bucket')
for view, word, sign in (('instances', 'caller', 'bucket, path, thread or instance'), ('variants', 'thread', 'loop or bucket'), ('loops', 'thread', 'not with'),
                         ('sharing', 'x', 'not with'), ('windows', 'x', 'not with')):
    run = t.run('show', view, '--by', word, 'long')
    t.check(run.returncode == 2 and sign in run.stderr, f'{view} by {word} is refused', run.stderr)

# programs and libraries that others wrote, with every variant in every instance
with open('words.txt', 'w') as out:
    out.write(''.join(f'{i * 7919 % 10007:05d} {"abcdefghij"[i % 10] * (i % 23)}\n' for i in range(20000)))
SQL = ('create table t(a, b); with recursive c(x) as (select 1 union all select x + 1 from c where x < 20000) insert into t select x, (x * 7919) % 10007 from c; '
       'select sum(a * b), max(b), count(distinct b) from t; select b, count(*) from t group by b order by 2 desc, 1 limit 5;')
for words in (['sqlite3', ':memory:', SQL], ['lz4', '-9', '-c', 'words.txt'], ['sort', '-k', '2', 'words.txt'],
              ['awk', '{ s += $1; n[length($2)]++ } END { print s; for (i = 0; i < 23; i++) print i, n[i] }', 'words.txt'],
              ['perl', '-e', '$h{$_ % 997} .= chr(65 + $_ % 26) for 1..60000; print unpack("%32C*", join "", map { $h{$_} } sort keys %h), "\\n"']):
    if not shutil.which(words[0]):
        t.skip(f'{words[0]}: output and exit status are the same with all variants', f'no {words[0]} here')
        continue
    plain = subprocess.run(words, capture_output=True, timeout=100)
    run = subprocess.run([t.sonde, 'decan', *ALL, '-o', 'real-' + words[0], '--', *words], capture_output=True, timeout=300)
    t.check((run.returncode, run.stdout) == (plain.returncode, plain.stdout), f'{words[0]}: output and exit status are the same with all variants', run.stderr)

# few and long instances are shared: ORIG has its own, LS is the first on one, the others run behind it
with open('few.c', 'w') as out:
    out.write(r'''
#include <stdio.h>
#include <stdlib.h>
__attribute__((noinline)) double triad(double *a, const double *b, const double *c, long n)
{ double s = 0; for (long i = 0; i < n; i++) { a[i] = b[i] + 2 * c[i]; s += a[i]; } return s; }
int main(void)
{
	long n = 4000000;
	double *a = malloc(n * 8), *b = malloc(n * 8), *c = malloc(n * 8), s = 0;
	for (long i = 0; i < n; i++) a[i] = 0, b[i] = i, c[i] = i * .5;
	for (long k = 0; k < 8; k++) s += triad(a, b, c, n);
	printf("%.17g\n", s);
	return 5;
}
''')
few = same('few', t.compile(os.path.abspath('few.c'), '-O2', '-g', output='./few')).get('triad', {})
disturbed = 'came between'
t.check(all(few[v + '_state'] in ('weak', 'measured') or disturbed in few[v + '_state'] for v in ('orig', 'ls')),
        'where instances are few ORIG and LS have them first', states(few))
t.check(all(few[v + '_state'] == 'warm' and 0 < few[v + '_samples'] <= 4 or disturbed in few[v + '_state'] for v in ('fp', 'dl1', 'fes')),
        'the others share them, and are said to be warm', states(few), {v: few[v + '_samples'] for v in NAMES})

# lists: there is no arithmetic to take away, and each load waits for the one before
with open('chase.c', 'w') as f:
    f.write(r'''
#include <stdio.h>
#include <stdlib.h>
struct node { struct node *next; long rest[7]; };
__attribute__((noinline, noclone, noipa)) struct node *by_count(struct node *p, long n) { for (long i = 0; i < n; i++) p = p->next; return p; }
int main(void)
{
	enum { COUNT = 400 };
	struct node *all = calloc(COUNT, sizeof(*all)), *p = all;
	long order[COUNT];
	for (long i = 0; i < COUNT; i++) order[i] = i;
	for (long i = COUNT - 1; i; i--) { long k = i * 7919 % (i + 1), t = order[i]; order[i] = order[k]; order[k] = t; }
	for (long i = 0; i < COUNT; i++) all[order[i]].next = &all[order[(i + 1) % COUNT]];
	for (long k = 0; k < 300000; k++) p = by_count(p, COUNT);
	printf("%td\n", p - all);
}
''')
row = same('chase', t.compile(os.path.abspath('chase.c'), '-O2', '-g', output='./chase')).get('by_count', {})


def ratio(v):
    """What a variant takes of what ORIG takes, and the factor that its interval leaves open."""
    half = [(row[u + '_high'] - row[u + '_low']) / 2 / row[u + '_cycles'] for u in ('orig', v)]
    return row[v + '_cycles'] / row['orig_cycles'], math.exp(math.hypot(*half))


t.check('no arithmetic' in row['arith_state'] and row['ls_samples'] and row['fes_samples'] and row['dl1_samples'], 'a list by count has LS, DL1 and FES', states(row))
ls, ls_open = ratio('ls')
fes, fes_open = ratio('fes')
# what timings on a busy machine leave open decides nothing
is_clear = ls / ls_open >= 0.9 and fes * fes_open < 0.9
withheld = 'is not that loop' in row['orig_state']
t.check(row['class'] == 'data' and row['latency_bound'] is not False if is_clear and not withheld else row['class'] in ('data', 'unknown'),
        'where LS takes as long and what is left without loads does not, a list is bound by its data', row['class'], row['latency_bound'], ls, ls_open, fes, fes_open)
t.check(row['dl1_speedup'] is None or row['dl1_speedup_high'] >= 1, 'data in first-level cache make no loop slower', row['dl1_speedup'], row['dl1_speedup_high'])
# all who speak of a loop go by one rule
for experiment in ('x-chase', 'far', 'x-few'):
    top = t.show('loop', '#1', experiment=experiment)
    by_id = {r['loop']: r for r in t.show('variants', '--all', experiment=experiment)['rows'] if r['bucket'] == 'all'}
    found = [f for f in t.show('summary', experiment=experiment)['findings'] if top['label'] + ' ' in f['sentence'] and 'measured)' in f['sentence']]
    gain = by_id.get(top['loop'], {}).get('dl1_speedup')
    t.check(all((top['verdict'] == 'memory_bound' or 'gain little' in f['sentence']) and gain for f in found) and (top['confidence'] == 'high' or not any(f['confidence'] == 'high' for f in found)),
            f'{experiment}: the summary has no gain that the loop has not, and is no surer', found, top['verdict'], top['confidence'], gain)

# nothing is written into a program's code, or a launcher starts it
run = t.run('decan', '--keep-text', '-o', 'kept', '--', app)
t.check(run.stdout == t.command(app).stdout and 'there are no variants' in run.stderr, '--keep-text says that there are no variants', run.stderr)
t.check(not t.show('variants', experiment='kept')['rows'] and t.show('loops', experiment='kept')['rows'], 'loops have their samples')
run = t.run('decan', '--launcher', 'env', '--budget', '300', '-o', 'by-launcher', '--loops', 'all', '--', app)
t.check(run.stdout == t.command(app).stdout and t.show('variants', experiment='by-launcher')['rows'], 'a launcher starts both runs', run.stderr)

# bad input
for words, sign in ((['--variants', 'ls,xx'], "not 'xx'"), (['--budget', '0'], 'from 1 to 1000'), (['--every', '0'], 'from 1 on'), (['--threads', 'two'], 'each|one|all'),
                    (['--loops', 'nowhere.c:1'], 'nowhere.c:1')):
    run = t.run('decan', *words, '--from', 'killed', '--', './endless')
    t.check(run.returncode == 125 and sign in run.stderr and not run.stdout, f'{words} is refused', run.stderr)
run = t.run('show', 'variants', 'first')
t.check('sonde decan' in run.stdout + run.stderr, 'a run without variants says what would give some', run.stdout, run.stderr)
t.done()
