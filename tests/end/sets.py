"""sonde diff of several sets, diff --self, sonde check: a planted change, equal runs, clones, too few runs."""
import json
import os
import re

from sonde_test import Test

t = Test()
SOURCE = r'''
#include <stdio.h>
#include <stdlib.h>

static volatile double sink;

__attribute__((noinline)) static double steady(long n, int kind)
{
	double x = 1;

	for (long i = 0; i < n; i++)
		x = x * 1.0000001 + kind * 1e-9;
	return x;
}

__attribute__((noinline)) static double changed(long n)
{
	double x = 1;

	for (long i = 0; i < n; i++)
		x = x * 1.0000002 + 1e-9;
	return x;
}

int main(int argc, char **argv)
{
	long n = 20000000;

	sink = steady(n, 3);
	sink = steady(2 * n, 3);
	sink = changed(n * (argc > 1 ? atol(argv[1]) : 1));
	return 0;
}
'''
with open('x.c', 'w') as out:
    out.write(SOURCE)
with open('plan.ini', 'w') as out:
    out.write('''[campaign]
repeat = 6
[default]
program = {build}/x
build = gcc -O2 -g -o {build}/x x.c
[configuration base]
[configuration "again"]
build = gcc -O2 -g -fno-ipa-cp -fno-ipa-sra -o {build}/x x.c
[configuration slower]
arguments = 3
''')
run = t.run('campaign', 'run', 'plan.ini', '-o', 'c', '--seed', '4')
t.check(run.returncode == 0, 'the campaign ran', run.stderr)

done = t.run('diff', 'c', '--format', 'json')
got = json.loads(done.stdout)
t.check(done.returncode == 1 and got['schema'] == 'sonde.compare/1' and got['design'] == 'blocks',
        'a campaign is compared block by block', done.stderr, done.stdout[:300])
t.equal([s['name'] for s in got['sets']], ['base', 'again', 'slower'], 'its configurations are the sets')
t.equal(list(got['rows'][0]['cells'][0]), ['set', 'cpu_s', 'low_s', 'high_s', 'ratio', 'ratio_low', 'ratio_high',
                                           'p_value', 'verdict', 'detectable_ratio'], 'keys of a cell')
rows = {(r['kind'], r['function'] or r['name']): {c['set']: c for c in r['cells']} for r in got['rows']}
cells = rows['function', 'changed']
t.check(cells['base']['verdict'] == 'reference' and cells['slower']['verdict'] == 'slower' and
        cells['slower']['ratio_low'] < 3.6 and cells['slower']['ratio_high'] > 2.4, 'the planted change is found', cells)
t.check(cells['again']['verdict'] == 'same' and cells['again']['detectable_ratio'] > 1, 'what is equal is the same', cells)
t.check(('function', 'steady') in rows and not [k for k in rows if 'constprop' in k[1]] and
        rows['function', 'steady']['again']['verdict'] != 'only_here', 'clones are their function', list(rows))
loops = [r for r in got['rows'] if r['kind'] == 'loop' and r['function'] == 'steady']
t.check(len(loops) == 1 and all(c['cpu_s'] > 0 for c in loops[0]['cells']), 'loops are aligned by their source lines', loops)

experiments = {name: [os.path.join('c/runs', e) for e in
                      next(s['experiments'] for s in got['sets'] if s['name'] == name)] for name in
               ('base', 'again', 'slower')}
words = [*experiments['base'], ':', *experiments['again'], ':', *experiments['slower']]
by_path = json.loads(t.run('diff', *words, '-f', 'json').stdout)
t.check(by_path['design'] == 'blocks' and by_path['rows'] == got['rows'], 'plain paths give the same')
two = json.loads(t.run('diff', *experiments['base'], ':', *experiments['slower'], '-f', 'json').stdout)
t.check(two['schema'].startswith('sonde.diff/') and two['paired'] is True, 'two sets have the schema of diff, and pairs')
other = json.loads(t.run('diff', 'c', '--reference', 'slower', '-f', 'json').stdout)
cells = {r['function']: {c['set']: c for c in r['cells']} for r in other['rows'] if r['kind'] == 'function'}['changed']
t.check(other['reference'] == 'slower' and cells['base']['verdict'] == 'faster', 'another reference')
text = t.run('diff', 'c').stdout
t.check('compared block by block' in text and 'slower' in text, 'text', text)
lines = [line for line in text.splitlines() if line.startswith(('function', 'loop'))]
differing = ['slower ' in ' '.join(lines[i:i + 3]) or 'faster ' in ' '.join(lines[i:i + 3]) for i in range(0, len(lines), 3)]
t.check(differing == sorted(differing, reverse=True) and any(differing) and len(lines) % 3 == 0, 'rows that differ come first, and each whole', text)

done = t.run('diff', '--self', 'c', '--format', 'json')
got = json.loads(done.stdout)
t.check(done.returncode == 0 and 0 <= got['observed_false_alarm_rate'] <= 1 and got['false_alarm_rate'] == 0.05 and
        [s['name'] for s in got['sets']] == ['first half', 'second half'], 'equal runs against each other', done.stderr)
halves = [set(s['experiments']) for s in got['sets']]
t.check(all(len(half) >= 3 for half in halves) and not halves[0] & halves[1], 'each half has runs of its own', got['sets'])
text = t.run('diff', '--self', 'c').stdout
t.check('stated: 5.0 %' in text and f'second half: {len(halves[1])} runs' in text, 'observed stands beside stated', text[:300])

done = t.run('check', *experiments['base'], ':', *experiments['slower'])
t.check(done.returncode == 1 and 'function changed' in done.stdout, 'check fails on a finding', done.stdout)
done = t.run('check', '--fail-above', '500%', *experiments['base'], ':', *experiments['slower'])
t.check(done.returncode in (0, 3) and 'slower:' not in done.stdout, 'below the threshold there is none', done.stdout)
done = t.run('check', *experiments['base'][:2], ':', *experiments['again'][:2])
t.check(done.returncode == 3 and 'could not have been found' in done.stdout, 'check says 3 where nothing could be found', done.stdout)
done = t.run('check', *experiments['base'], ':', *experiments['again'], '--fail-above', '0')
t.check(done.returncode in (1, 3), 'no change at all cannot be shown', done.stdout)
# elapsed times that differ by far more than CPU times: what is not known of them is no pass
naps = t.compile(r'''
#include <stdlib.h>
#include <unistd.h>
int main(int argc, char **argv)
{
	volatile double x = 1;

	for (long i = 0; i < 30000000; i++)
		x = x * 1.0000001 + 1e-9;
	usleep(1000 * atoi(argv[argc - 1]));
	return 0;
}
''', '-O2', '-g', output='./naps')
for i, ms in enumerate((10, 1500, 500, 20, 1400, 600)):
    t.run('record', '-q', '-o', f'nap{i}', naps, str(ms))
sides = ['nap0', 'nap1', 'nap2', ':', 'nap3', 'nap4', 'nap5', '--false-alarms', '0.001']
wide = t.run('check', *sides, '--fail-above', '900%').stdout
found = {kind: float(percent) for kind, percent in re.findall(r'^(elapsed|cpu): .* a change of (\S+) % would be found', wide, re.M)}
done = t.run('check', *sides, '--fail-above', f"{found['cpu'] + 1}%")
t.check(found['elapsed'] > found['cpu'] + 1 and done.returncode == 0 and 'of CPU time nothing is slower' in done.stdout and
        'elapsed time: unknown, a change of' in done.stdout, 'check says which of the times it could not judge', wide, done.stdout)
done = t.run('check', *sides, '--fail-above', f"{max(found.values()) + 1}%")
t.check(('passed: nothing is slower' in done.stdout) == (max(found.values()) < 999), 'and none where it could judge both', done.stdout)

# ---- compilers ----
# gcc names a region of OpenMP after its function, clang 14 does not, and puts the inner loop at other lines
import shutil
if shutil.which('clang') and os.system('echo "int main(void){return 0;}" | clang -fopenmp -x c - -o region 2>region.words') == 0:
    with open('heat.c', 'w') as out:
        out.write(r'''
enum { N = 500 };
static double a[N][N], b[N][N];

static void step(void)
{
#pragma omp parallel for
	for (int i = 1; i < N - 1; i++)
		for (int j = 1; j < N - 1; j++)
			b[i][j] = 0.25 * (a[i - 1][j] + a[i + 1][j] + a[i][j - 1] + a[i][j + 1]);
}

static void back(void)
{
#pragma omp parallel for
	for (int i = 1; i < N - 1; i++)
		for (int j = 1; j < N - 1; j++)
			a[i][j] = 0.5 * (a[i][j] + b[i][j]);
}

/* clang -O2 jumps to the OpenMP library from here: this function is in no stack */
__attribute__((noinline)) void jumps(void)
{
#pragma omp parallel for
	for (int i = 1; i < N - 1; i++)
		for (int j = 1; j < N - 1; j++)
			b[i][j] = a[i][j] / (1 + a[i][j] * a[i][j]);
}

int main(void)
{
	a[0][1] = 1;
	for (int t = 0; t < 700; t++) {
		step();
		back();
		jumps();
	}
	return b[1][1] < 0;
}
''')
    os.environ['OMP_WAIT_POLICY'] = 'passive'  # threads that spin have all the time of a busy machine
    for compiler in ('gcc', 'clang'):
        t.command(compiler, '-g', '-O2', '-fopenmp', 'heat.c', '-o', 'heat')
        done = t.run('record', '-o', compiler + '-heat', '--', './heat')
        t.check(done.returncode == 0, f'heat by {compiler}', done.stderr)
    got = json.loads(t.run('diff', 'gcc-heat', ':', 'clang-heat', '--format', 'json').stdout)
    for name in ('step', 'back', 'jumps'):
        rows = [r for r in got['rows'] if r['function'] == name and max(r['a_cpu_s'] or 0, r['b_cpu_s'] or 0) > 0.02]
        t.check({'function', 'loop'} == {r['kind'] for r in rows} and all((r['a_cpu_s'] or 0) > 0 < (r['b_cpu_s'] or 0) for r in rows),
                f'{name} and its loop are one function and one loop, whatever the compiler',
                [(r['kind'], r['name'], r['a_cpu_s'], r['b_cpu_s']) for r in got['rows'] if 'omp_' in r['name'] or r['function'] in ('step', 'back', 'jumps')])
    t.check(not any('two different programs' in words for words in got['warnings']), 'one program by two compilers is one program', got['warnings'])
    for compiler in ('gcc', 'clang'):
        names = [r['function'] for r in t.show('functions', experiment=compiler + '-heat')['rows'] if 'omp_' in r['function']]
        t.check({'step', 'back', 'jumps'} <= {n.split('.')[0] for n in names} and not any(n.startswith('.') for n in names),
                f'{compiler}: regions are named after the function they are in', names)
    with open('instances.cpp', 'w') as out:
        out.write(r'''
static double a[1000000];
namespace ns {
struct one {
	double by;
	__attribute__((noinline)) void member()
	{
#pragma omp parallel for
		for (int i = 0; i < 1000000; i++)
			a[i] = a[i] / (1 + by * a[i]);
	}
};
template <typename T> __attribute__((noinline)) void instance(T by)
{
#pragma omp parallel for
	for (int i = 0; i < 1000000; i++)
		a[i] = a[i] / (by + a[i]);
}
}
int main()
{
	ns::one one{2};
	for (int r = 0; r < 100; r++) {
		one.member();
		ns::instance(3);
		ns::instance(4.0);
	}
	return a[5] > 1;
}
''')
    if os.system('clang++ -g -O2 -fopenmp instances.cpp -o instances 2>instances.words') == 0:
        t.run('record', '-o', 'instances.x', '--', './instances')
        names = [r['function'] for r in t.show('functions', experiment='instances.x')['rows'] if 'omp_' in r['function']]
        t.check(any('ns::one::member' in n for n in names) and any('instance' in n for n in names) and not any(n.startswith('.') for n in names),
                'methods and templates, too', names)
else:
    t.skip('regions of OpenMP by two compilers', 'no clang with OpenMP here')
for words, code in ((['check', 'a'], 2), (['diff', 'a', ':', 'b', ':'], 5), (['check', '--fail-above', 'x', 'a', ':', 'b'], 2),
                    (['diff', '--self', experiments['base'][0], experiments['slower'][0]], 2),
                    (['diff', 'c', '--reference', 'nobody'], 2)):
    done = t.run(*words)
    t.check(done.returncode in (code, 2, 5) and done.stderr.count('\n') == 1, ' '.join(words[:3]) + ': one sentence', done.stderr)
t.done()
