"""What-if over an experiment: coverage times the model's speed-ups, cumulated; one ranking of loops; CQA in show loop."""
import html
import json
import os
import pathlib
import re

from report_contents import contents
from sonde_test import Test

MACHINES = pathlib.Path(__file__).resolve().parents[2] / 'data' / 'machines'
t = Test()
SOURCE = r"""
#include <stdio.h>
#include <stdlib.h>
#define N 4000
static double a[N], b[N], c[N];
static int ix[N], bits[N];
#define PART __attribute__((noinline, noclone))
PART double dot(int n) { double s = 0; for (int i = 0; i < n; i++) s += a[i] * b[i]; return s; }
PART void triad(int n) { for (int i = 0; i < n; i++) a[i] = b[i] * 1.0001 + c[i]; }
PART void rare(int n)
{
	for (int i = 0; i < n; i++)
		if (__builtin_expect(bits[i] == 1, 0))
			a[i] = c[i] * b[i] * 1.5 * c[i];
		else
			b[i] += c[i] * 0.25;
}
PART void often(int n)
{
	for (int i = 0; i < n; i++)
		if (__builtin_expect(bits[i] != 1, 0))
			a[i] = c[i] * b[i] * 1.5 * c[i];
		else
			b[i] += c[i] * 0.25;
}
/* thirty-two paths, as each condition is its own; the numbers take one */
PART void cold(int n)
{
	for (int i = 0; i < n; i++) {
		double x = b[i] * 2;
		if (__builtin_expect(bits[i] & 16, 0)) { a[i] = x * c[i] * x + 3; x = a[i] * c[i]; a[i] = x * x; }
		if (__builtin_expect(bits[i] & 32, 0)) { a[i] = x * c[i] * x + 4; x = a[i] * c[i]; b[i] = x * x; }
		if (__builtin_expect(bits[i] & 64, 0)) { a[i] = x * c[i] * x + 5; x = a[i] * c[i]; a[i] = x + x; }
		if (__builtin_expect(bits[i] & 128, 0)) { a[i] = x * c[i] * x + 6; x = a[i] * c[i]; b[i] = x - 5; }
		if (__builtin_expect(bits[i] & 256, 0)) { a[i] = x * c[i] * x + 7; x = a[i] * c[i]; a[i] = x - 6; }
		c[i] = x * 0.25;
	}
}
int main(int argc, char **argv)
{
	int rounds = argc > 1 ? atoi(argv[1]) : 1;
	double s = 0;
	for (int i = 0; i < N; i++) {
		a[i] = i; b[i] = 1.0 / (i + 1); c[i] = i % 10 / 10.0; bits[i] = i < N / 8; /* predictable */
	}
	for (int k = 0; k < rounds; k++) {
		s += dot(N); s += dot(N - 1);
		triad(N); rare(N);
		if (k % 2) cold(N);
		if (k % 4 == 0) often(N);
	}
	printf("%g\n", s);
}
"""
app = t.compile(SOURCE, '-g', '-O2', '-fno-tree-vectorize', output='./app')
assert t.run('record', app, '60000').returncode == 0
arch = ['--arch', 'cascadelake']
whatif = t.show('whatif', *arch)
rows = {r['function']: r for r in whatif['rows']}
loops = t.show('loops')['rows']

t.equal(whatif['schema'], 'sonde.whatif/2', 'schema')
t.check({'dot', 'triad', 'rare', 'often'} <= set(rows), 'every loop with time has a row', sorted(rows))
names = ['clean', 'fp_vector', 'full_vector', 'no_dependence', 'next_bottleneck']
t.equal([v['variant'] for v in whatif['variants']], names, 'variants in their order')


def saved(row, variant):
    """Amdahl: the part of the run that a loop's speed-up saves."""
    speedup = row[variant + '_speedup']
    return row['user_share'] * (1 - 1 / speedup) if speedup and speedup > 1 else 0


# cascadelake has no measurements of its own: the row of all such cores
ERROR = next(float(line.split('\t')[1]) for line in open(MACHINES / 'errors.tsv') if line.startswith('*'))


def reach(rows, name, level, share, factor):
    """One end of the interval: by the loops' shares and by the model's error, half widths as squares."""
    total = squares = 0
    for row in rows:
        speedup = row[name + level]
        if not (row[name + '_speedup'] or 0) > 1:
            continue
        by_error = max(1, speedup * factor) if speedup > 1 else speedup
        share_there = row['user_share'] * row[share] / row['coverage_share']
        total += row['user_share'] * (1 - 1 / speedup)
        squares += ((share_there - row['user_share']) * (1 - 1 / speedup)) ** 2 + (row['user_share'] * (1 / speedup - 1 / by_error)) ** 2
    return total, squares ** .5


wide = json.loads(t.run('show', 'whatif', *arch, '--format', 'json', '--all', '--cols', 'all').stdout)['rows']
for variant in whatif['variants']:
    name = variant['variant']
    total, width = reach(wide, name, '_speedup', 'coverage_share_high', ERROR)
    t.within(variant['speedup_high'], 1 / (1 - min(.9999, total + width)), 1e-6, f'{name}: the high end has the model\'s error')
    total, width = reach(wide, name, '_ram_speedup', 'coverage_share_low', 1 / ERROR)
    t.within(variant['speedup_low'], 1 / (1 - max(0, total - width)), 1e-6, f'{name}: and so has the low end')
    total = sum(saved(r, name) for r in whatif['rows'])
    t.within(variant['speedup'], 1 / (1 - total), 1e-6, f'{name}: the program gains what its loops save')
    t.check(variant['speedup_low'] <= variant['speedup'] <= variant['speedup_high'], f'{name}: interval', variant)
    t.check(variant['reliable_speedup'] <= variant['speedup'] + 1e-9, f'{name}: doubtful loops apart', variant)
    t.check(variant['ram_speedup'] <= variant['speedup'] + 1e-9, f'{name}: RAM gives no more', variant)
    steps = variant['cumulative']
    t.check(all(x['saved_share'] >= y['saved_share'] for x, y in zip(steps, steps[1:])),
            f'{name}: loops by gain', steps)
    sums = [1 / (1 - sum(s['saved_share'] for s in steps[:i + 1])) for i in range(len(steps))]
    t.check(all(abs(s['cumulative_speedup'] - x) < 1e-6 for s, x in zip(steps, sums)), f'{name}: cumulated', steps)
    least = next((i + 1 for i, x in enumerate(sums) if x - 1 >= .8 * (variant['speedup'] - 1)), 0)
    t.equal(variant['loops_for_80_percent'], least, f'{name}: so many loops bring 80 % of it')
full = [r for r in whatif['rows'] if r['full_vector_rank']]
t.equal([r['full_vector_rank'] for r in full], list(range(1, len(full) + 1)), 'rows stand by gain')
few = [r for r in whatif['rows'] if r['samples'] < 20]
t.check(all(not r['reliable'] and 'few samples' in r['doubts'] for r in few), 'few samples are a doubt', few)
t.check(all(r['reliable'] for r in whatif['rows'] if r['function'] in ('dot', 'triad') and r['samples'] >= 20),
        'plain hot loops are reliable')
clean = t.show('whatif', 'clean', *arch)['rows']
gains = [saved(r, 'clean') for r in clean]
t.check(gains == sorted(gains, reverse=True), 'another variant orders the rows', gains)
run = t.run('show', 'whatif', 'best')
t.check(run.returncode in (2, 5) and run.stderr.count('\n') <= 2, 'an unknown variant is refused', run.stderr)
run = t.run('show', 'whatif', '--arch', 'z80')
t.check(run.returncode == 2 and 'cascadelake' in run.stderr, 'an unknown machine is refused', run.stderr)
text = t.run('show', 'whatif', *arch).stdout
t.check('full vectors' in text and '80 %' in text and 'wi' not in text[:2], 'text has the program and its loops', text)
table = t.run('show', 'whatif', *arch, '--format', 'csv', '--cols', 'function,coverage_share,memory').stdout
t.check('loaded_bytes' in table.splitlines()[0] and 'stride_1_accesses' in table.splitlines()[0],
        'groups of columns of sonde cqa can be asked for', table.splitlines()[0])

# paths weighed by samples; how near the weights come hangs on the processor: bench/cqa/paths.py measures it,
# tests/unit/cqa/test_weights.c has samples that are known
for function in ('rare', 'often'):
    row = rows[function]
    page = t.show('loop', *arch, '--', row['loop'])['quality']
    t.equal(len(page['paths']), 2, f'{function}: two paths')
    if row['samples'] >= 100:
        t.check(page['is_weighed'], f'{function}: weighed by samples')
    t.within(sum(p['passes_share'] for p in page['paths']), 1, 1e-6, f'{function}: weights sum to one')
    mean = sum(p['passes_share'] * p['l1_cycles'] for p in page['paths'])
    t.within(page['l1_cycles'], mean, 1e-6, f'{function}: cycles are the weighted mean')

# of too many paths those are kept that samples fell on
row = rows['cold']
page = t.show('loop', *arch, '--', row['loop'])['quality']
if row['samples'] >= 100:
    t.check(page['is_pruned'] and not page['is_union'] and len(page['paths']) <= 8,
            'cold: paths through blocks without samples are left out',
            (row['samples'], page['is_pruned'], page['is_union'], len(page['paths'])))

# the loop's page
page = t.run('show', 'loop', '#1', *arch).stdout
t.check('static model of' in page and 'advice, what the program gains' in page and 'the program' in page and 'latency' in page,
        'show loop has bounds, variants and advice', page)
data = t.show('loop', '#1', *arch)
t.check(data['quality']['arch'] == 'cascadelake' and data['quality']['advice'][0]['program_speedup'] is not None,
        'and so has its JSON', data['quality']['advice'])

# one ranking
summary = t.run('show', 'summary').stdout
first = re.search(r'hottest source loops.*\n +(\d+) \S+ +[\d.]+ %.*?(\S+:\d+\S*) ', summary)
t.check(first and first[1] == '1' and first[2] == loops[0]['label'] == data['label'],
        "'#1' is row 1 of show loops and of the summary", first and first.groups(), loops[0]['label'], data['label'])
t.check('→ ' + data['label'] + ' (loop #1): ' in summary or '> ' + data['label'] + ' (loop #1): ' in summary,
        'the summary has the advice on it, as a remedy', summary)

# peel, main and tail count as one loop: the parts stand together, and the summary's numbers fit
parts = t.compile(SOURCE.replace('N 4000', 'N 40'), '-g', '-O3', '-mavx2', '-ffast-math',
                  output='./parts')
assert t.run('record', parts, '3000000').returncode == 0
rows = json.loads(t.run('show', 'loops', '--format', 'json', '--cols', 'all').stdout)['rows']
groups = [r['source_loop'] for r in rows]
t.check(all(g not in groups[:i] or groups[i - 1] == g for i, g in enumerate(groups)), 'parts stand side by side', groups)
sums = {g: sum(r['exclusive_cpu_s'] for r in rows if r['source_loop'] == g) for g in groups}
order = list(dict.fromkeys(groups))
t.check(all(sums[x] >= sums[y] - 1e-9 for x, y in zip(order, order[1:])), 'source loops by their sums', sums, order)
for match in re.finditer(r'^ +(\d+) \S+ +[\d.]+ %  [\d.]+-[\d.]+ +[\d.]+ +(\S+:\d+\S*) ',
                         t.run('show', 'summary').stdout.split('hottest functions')[0], re.M):
    row = rows[int(match[1]) - 1]
    t.check(row['label'] == match[2] and row['rank'] == int(match[1]),
            f"the summary's loop {match[1]} is that row of show loops", row['label'], match[2])

# the report has the same numbers
report = json.loads(t.run('report', '--format', 'json', '-o', '-').stdout)
native = t.show('whatif')
t.equal([v['speedup'] for v in report['whatif']['variants']], [v['speedup'] for v in native['variants']],
        'the report repeats them')
t.run('report', '-o', 'numbers.html')
toc, chunk = contents('numbers.html')
page, experts = chunk('loops'), chunk('experts')
places = {  # the same figure of each loop, wherever it stands
    'show loops': {r['loop']: r['exclusive_share'] for r in t.show('loops')['rows']},
    'show whatif': {r['loop']: r['coverage_share'] for r in native['rows']},
    'loops of the JSON': {r['loop']: r['exclusive_share'] for r in report['loops']['rows']},
    'what-if of the JSON': {r['loop']: r['coverage_share'] for r in report['whatif']['rows']},
    'Global': {i: ns / toc['sampled_ns'] for i, ns in zip(page['id'], page['exclusive_ns'])},
    'Loop experts': {page['id'][n]: s for n, s in zip(experts['loop_number'], experts['coverage_share'])},
}
hot = [i for i, share in places['show loops'].items() if share > 0.01]
# what is known of a loop is what `show loop` says of it
verdicts, kinds, advice = chunk('verdicts'), chunk('evidence'), chunk('advice')
told = t.show('loop', '--', hot[0])
number = page['id'].index(hot[0])
said = [n for n, loop in enumerate(verdicts['loop_number']) if loop == number]
t.equal([(verdicts['sentence'][n], verdicts['confidence'][n]) for n in said], [(told['sentence'], told['confidence'])], "the page's verdict")
rows = [n for n, loop in enumerate(kinds['loop_number']) if loop == number]
t.equal({kinds['kind'][n]: (kinds['words'][n], kinds['command'][n]) for n in rows if kinds['missing'][n]},
        {k: (m['reason'], m['command'] or '') for k, m in told['missing'].items()}, 'what is missing, and how to get it')
t.equal(sorted(kinds['kind'][n] for n in rows), sorted(told['evidence']), 'each kind of evidence')
rows = [n for n, loop in enumerate(advice['loop_number']) if loop == number]
t.equal([(advice['sentence'][n], advice['for'][n], advice['against'][n]) for n in rows],
        [(a['sentence'], a['for'] or '', a['against'] or '') for a in told['advice']], 'advice in its order, for and against')
known = [(n, a) for n, a in zip(rows, told['advice']) if a['program_speedup_high'] is not None]
t.check(all(abs(advice['program_low'][n] - a['program_speedup_low']) < 1e-9 and abs(advice['high'][n] - a['speedup_high']) < 1e-9 for n, a in known),
        'with the same gains', known)
for place, shares in places.items():
    t.check(hot and all(abs(shares[i] - places['show loops'][i]) < 1e-9 for i in hot), f'{place}: a loop has one figure',
            [(i, shares.get(i), places['show loops'][i]) for i in hot])
t.within(native['analysed_share'], sum(r['coverage_share'] for r in native['rows'] if r['l1_cycles'] is not None), 1e-9,
         'loops with figures: the sum of their coverage')
t.check(all(r['user_share'] <= r['coverage_share'] for r in native['rows']), 'the part of user code is no more')
t.equal((toc['loops_share'], toc['samples'], toc['overhead_share']),
        tuple(report['summary'][k] for k in ('loops_share', 'samples', 'overhead_share')), 'and the run has one')
t.within(toc['cpu_ns'] / 1e9, report['summary']['cpu_s'], 1e-8, 'CPU time of page and JSON')
t.check('If every loop were' in t.run('report', '--level', '1', '--format', 'text', '-o', '-').stdout,
        'the text report of level one has the table')
# a run on another processor is said to be one
changed = 0
folder = json.loads(t.run('show', 'summary', '--format', 'json').stdout)['experiment']
for path, _, names in os.walk(folder):
    for name in names:
        text = open(os.path.join(path, name), 'rb').read()
        if b'"cpu_model":"' in text:
            changed += 1
            open(os.path.join(path, name), 'wb').write(re.sub(rb'"cpu_model":"[^"]*"', b'"cpu_model":"Z80"', text))
run = t.run('show', 'whatif', folder)
t.check(changed and "was on 'Z80'" in run.stderr, 'an experiment of another processor is said to be one', run.stderr)
t.check("was on 'Z80'" not in t.run('show', 'whatif', *arch, '--', folder).stderr, 'unless the machine is named')
for view in ('summary', 'loop #1'):
    run = t.run('show', *view.split(), folder)
    t.check("was on 'Z80'" in run.stdout + run.stderr, f'show {view} says so, too')
t.check("was on 'Z80'" in t.run('report', '--format', 'text', '-o', '-', folder).stdout, 'the report as text says so')
elsewhere = json.loads(t.run('report', '--format', 'json', '-o', '-', folder).stdout)
t.check("was on 'Z80'" in elsewhere['machine_warning'] and elsewhere['machine_warning'] in elsewhere['summary']['warnings'],
        'as JSON', elsewhere['machine_warning'], elsewhere['summary']['warnings'])
t.run('report', '-o', 'elsewhere.html', folder)
toc, _ = contents('elsewhere.html')
t.check(elsewhere['machine_warning'] in toc['warnings'], 'the page says so', toc['warnings'])
static = html.unescape(open('elsewhere.html', encoding='utf-8').read().partition('<script type="application/x-sonde"')[0])
t.check(elsewhere['machine_warning'] in static, 'and without JavaScript')
# --arch names the machine of the whole report
named = json.loads(t.run('report', '--arch', 'zen4', '--format', 'json', '-o', '-', folder).stdout)
t.equal((named['machine'], named['machine_warning'], named['whatif']['arch']), ('zen4', None, 'zen4'), 'report --arch')
t.run('report', '--arch', 'zen4', '-o', 'named.html', folder)
toc, _ = contents('named.html')
t.equal((toc['machine'], toc['whatif']['arch']), ('zen4', 'zen4'), 'and the page')
run = t.run('report', '--arch', 'z80', '-o', 'none.html', folder)
t.check(run.returncode == 2 and 'z80' in run.stderr and not os.path.exists('none.html'), 'an unknown machine', run.stderr)

# where the data come from is not known: gains are intervals, and a list that is walked leads nobody
walked = r"""
#include <stdio.h>
#include <stdlib.h>
struct node { struct node *next; long v[7]; };
static double a[8000], b[8000];
__attribute__((noinline, noclone)) long walk(struct node *p) { long s = 0; while (p) { s += p->v[0]; p = p->next; } return s; }
__attribute__((noinline, noclone)) void copy(int n) { for (int i = 0; i < n; i++) a[i] = b[i] * 1.5; }
int main(int argc, char **argv)
{
	struct node *pool = calloc(4000, sizeof *pool);
	long s = 0;
	for (int i = 0; i < 3999; i++) pool[i * 1009 % 4000].next = &pool[(i + 1) * 1009 % 4000];
	for (int k = 0; k < atoi(argv[1]); k++) { s += walk(pool); s += walk(pool); copy(8000); }
	printf("%ld %g\n", s, a[3]);
}
"""
app = t.compile(walked, '-g', '-O2', '-fno-tree-vectorize', output='./walked')
assert t.run('record', app, '15000').returncode == 0
data = t.show('whatif', *arch)
rows = {r['function']: r for r in data['rows']}
v = data['variants'][3]
t.check(v['speedup'] > 1.3 and v['speedup_low'] <= v['ram_speedup'] < 1.02, 'without dependences: nothing in RAM, much in L1', v)
advice = t.show('loop', *arch, '--', rows['walk']['loop'])['quality']['advice']
chain = [x for x in advice if x['subject'] == 'dependence']
t.check(chain and chain[0]['speedup'] > 2 and chain[0]['sure_speedup'] < 1.02 and chain[0]['sure_program_speedup'] < 1.02,
        "a list's gain is an interval down to none", advice)
page = t.run('show', 'loop', *arch, '--', rows['walk']['loop']).stdout
t.check(re.search(r'this loop 1\.0\d to [2-9]\.\d\dx', page), 'as text, too', page)
hint = t.run('show', 'summary').stdout.partition('Hint: ')[2]
t.check('dependence' not in hint, 'the hint is another', hint)

# on a processor without a model all but the model's figures is there
os.environ['SONDE_NATIVE_ARCH'], before = 'none', os.environ['SONDE_NATIVE_ARCH']
run = t.run('run', app, '1000')
t.check(run.returncode == 0 and 'hottest functions' in run.stdout + run.stderr, 'no model: the answer is printed', run.stderr)
run = t.run('run', '--arch', 'zen4', app, '1000')
toc, _ = contents(run.stderr.partition('page: ')[2].strip())
t.equal((run.returncode, toc['machine']), (0, 'zen4'), 'no model: but one that is named')
run = t.run('show', 'whatif')
t.check(run.returncode == 4 and '--arch' in run.stderr and run.stderr.count('\n') == 1, 'no model: show whatif says so', run.stderr)
t.equal(t.run('report', '-o', 'without.html').returncode, 0, 'no model: a page without the model')
os.environ['SONDE_NATIVE_ARCH'] = before

run = t.run('run', '--arch', 'z80', 'touch', 'was_run')
t.check(run.returncode == 125 and 'z80' in run.stderr and not os.path.exists('was_run'), 'an unknown machine: nothing runs',
        run.returncode, run.stderr)

# trip counts that are short for the vectors show in the time of the remainder
if t.has('clang'):
    short = r"""
#include <stdio.h>
#include <stdlib.h>
static double a[64], b[64];
__attribute__((noinline)) void scale(int n) { for (int i = 0; i < n; i++) a[i] += b[i] * 0.5; }
int main(int argc, char **argv)
{
	for (long k = 0; k < 30000000; k++) { b[k & 63] = k; scale(atoi(argv[1])); }
	printf("%g\n", a[1]);
}
"""
    app = t.compile(short.replace('scale(atoi(argv[1]))', 'scale(n)').replace('for (long', 'int n = atoi(argv[1]); for (long'),
                    '-g', '-O3', '-mavx2', compiler='clang', output='./short')
    # 16 passes in vectors and 15 one by one, or 64 in vectors: it is told at the hottest of the loop's parts
    for trips, expected in (('31', True), ('64', False)):
        assert t.run('record', app, trips).returncode == 0
        parts = [r for r in t.show('loops', '--cols', 'all')['rows'] if r['function'] == 'scale']
        said = any('short trips' in [x['subject'] for x in t.show('loop', '--', r['loop'])['quality']['advice']]
                   for r in parts)
        t.equal(said, expected, f'{trips} passes of a loop in vectors: short trips {"are" if expected else "are not"} said')
else:
    t.skip('short trips', 'no clang')

# the page's advice is written when the instructions' memory has gone back
rooted = r"""
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
static double a[4000];
static int bits[4000];
__attribute__((noinline)) static double half(double x) { return x * 0.5; }
__attribute__((noinline, noclone)) void each(int n, double (*f)(double))
{
	for (int i = 0; i < n; i++)
		if (bits[i]) a[i] = f(a[i]) + 1;
		else a[i] = __builtin_sqrt(a[i] + i) * 0.25;
}
int main(int argc, char **argv)
{
	for (int i = 0; i < 4000; i++) bits[i] = i % 4 == 0;
	for (int k = 0; k < atoi(argv[argc - 1]); k++) each(4000, half);
	printf("%g\n", a[1]);
}
"""
app = t.compile(rooted, '-g', '-O2', '-fno-math-errno', output='./rooted')
assert t.run('record', app, '40000').returncode == 0
row = [r for r in t.show('whatif', *arch)['rows'] if r['function'] == 'each'][0]
page = t.show('loop', *arch, '--', row['loop'])['quality']
t.check(page['path_count'] > 1, 'a loop of several paths and a call without a name', page)
t.equal(t.run('report', '-o', 'rooted.html').returncode, 0, 'a page of it')

# where loops have no FP arithmetic nothing is known, not that nothing would gain
integers = r"""
#include <stdio.h>
#include <stdlib.h>
#define N 2000
static int a[N], b[N];
static double s[N];
__attribute__((noinline, noclone)) void squares(int n) { for (int i = 0; i < n; i++) a[b[i]] = b[i] * b[i] + 7; }
__attribute__((noinline, noclone)) void scale(int n) { for (int i = 0; i < n; i++) s[i] = s[i] * 0.5 + 1; }
int main(int argc, char **argv)
{
	for (int i = 0; i < N; i++) b[i] = i;
	for (int k = 0; k < atoi(argv[1]); k++) { squares(N); if (argc > 2) scale(N); }
	printf("%d %g\n", a[5], s[5]);
}
"""
app = t.compile(integers, '-g', '-O2', '-fno-tree-vectorize', output='./integers')
assert t.run('record', app, '200000').returncode == 0
data = t.show('whatif', *arch)
for v in data['variants'][:3]:
    t.check(v['speedup'] is None and v['speedup_high'] is None and v['ram_speedup'] is None and v['estimated_share'] < .01 and
            v['not_estimated_share'] > .9, f"{v['variant']} of integer loops is unknown, never 1", v)
t.check(data['variants'][4]['speedup'] is not None, 'the next bottleneck is known', data['variants'][4])
row = [r for r in data['rows'] if r['function'] == 'squares'][0]
t.check(row['full_vector_program_speedup'] is None and row['full_vector_speedup'] is None, 'and so in its row', row)
lines = [x for x in t.run('show', 'whatif', *arch).stdout.splitlines() if 'full vectors' in x]
t.check('unknown' in lines[0] and '1.00' not in lines[0], 'text says so', lines)
t.equal(t.run('report', '-o', 'integers.html').returncode, 0, 'a page of it')
assert t.run('record', app, '200000', 'too').returncode == 0
v = t.show('whatif', *arch)['variants'][2]
t.check(v['speedup'] > 1.05 and v['estimated_share'] > .1 and v['not_estimated_share'] > .1, 'of a part of the time: both', v)
lines = [x for x in t.run('show', 'whatif', *arch).stdout.splitlines() if 'full vectors' in x]
t.check(f"{100 * v['not_estimated_share']:.1f} % not estimated" in lines[0], 'text has both', lines)

# samples in what a call for errno shares with the rest are none of its path; few passes are a doubt
roots = r"""
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
static float a[2000], b[2000];
static double x[64], y[64];
__attribute__((noinline, noclone)) void root(int n) { for (int i = 0; i < n; i++) a[i] = sqrtf(b[i]) * 0.5f + 1; }
__attribute__((noinline, noclone)) void three(double *restrict p, const double *restrict q)
{
	for (int i = 0; i < 3; i++) p[i] = p[i] * 0.5 + q[i];
}
int main(int argc, char **argv)
{
	for (int i = 0; i < 2000; i++) b[i] = i;
	for (int k = 0; k < atoi(argv[1]); k++) { root(2000); for (int j = 0; j < 2000; j++) three(x + j % 60, y + j % 50); }
	printf("%g %g\n", a[5], x[5]);
}
"""
app = t.compile(roots, '-g', '-O2', '-fno-tree-vectorize', '-lm', output='./roots')
assert t.run('record', app, '60000').returncode == 0
rows = {r['function']: r for r in t.show('whatif', '--arch', 'zen5')['rows']}
page = t.show('loop', '--arch', 'zen5', '--', rows['root']['loop'])['quality']
t.check(rows['root']['samples'] < 20 or page['is_weighed'] and max(p['passes_share'] for p in page['paths']) > .98,
        'no pass calls for errno', page['paths'])
t.check(rows['root']['full_vector_speedup'] > 10, 'and vectors do not', rows['root']['full_vector_speedup'])
t.check('short trips' in rows['three']['doubts'] and rows['three']['full_vector_speedup'] <= 3, 'three passes: a doubt, and no more than three',
        rows['three']['doubts'], rows['three']['full_vector_speedup'])

t.done()
