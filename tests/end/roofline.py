"""show roofline: loops whose operations and bytes are known by construction, beside roofs that the test writes itself."""
import os
from sonde_test import Test

t = Test()
SOURCE = r'''
#include <stdio.h>
#include <stdlib.h>
enum { N = 1024 };
static double a[N], b[N], c[N];
__attribute__((noinline)) void triad(double *x, const double *y, const double *z, long n) { for (long i = 0; i < n; i++) x[i] = y[i] + 2 * z[i]; }
__attribute__((noinline)) double sum(const double *x, long n) { double s = 0; for (long i = 0; i < n; i++) s += x[i]; return s; }
__attribute__((noinline)) double chain(double x, long n) { for (long i = 0; i < n; i++) x = x * 0.999 + 1e-3; return x; }
__attribute__((noinline)) long count(const long *x, long n) { long s = 0; for (long i = 0; i < n; i++) s += x[i] ^ s >> 3; return s; }
static long numbers[N];
int main(int argc, char **argv)
{
	long turns = atol(argv[1]);
	double s = argc;
	for (long k = 0; k < turns; k++) {
		triad(a, b, c, N);
		s += sum(a, N) + count(numbers, N);
	}
	printf("%g\n", chain(s, turns * N / 4));
	return 0;
}
'''
# scalar code: a pass is an iteration
app = t.compile(SOURCE, '-g', '-O2', '-fno-tree-vectorize', '-fno-unroll-loops', '-mno-fma', '-mno-avx', output='./app')
config = os.path.abspath('config')
os.makedirs(config + '/sonde')
os.environ['XDG_CONFIG_HOME'] = config
TURNS = 120000


def show(view, *options, experiment='run'):
    return t.show(view, '--arch', 'cascadelake', *options, experiment=experiment)


assert t.run('record', '-q', '-o', 'run', app, str(TURNS)).returncode == 0
shown = show('roofline')
rows = {r['function']: r for r in shown['rows']}
t.equal(shown['schema'], 'sonde.roofline/1', 'schema')
t.equal(set(rows) - {'main'}, {'triad', 'sum', 'chain'}, 'loops with floating-point arithmetic, and no others')
t.within(rows['triad']['flop_per_byte'], 2 / 24, 1e-6, 'the triad: two operations for 24 bytes')
t.within(rows['sum']['flop_per_byte'], 1 / 8, 1e-6, 'a sum: one for eight')
t.equal((rows['triad']['flop_per_pass'], rows['triad']['bytes_per_pass']), (2, 24), 'counts of a pass')
t.check(rows['chain']['flop_per_byte'] is None and rows['chain']['points'] == [] and rows['chain']['flop_per_pass'] == 2, 'no bytes: no intensity', rows['chain'])
t.equal([p['level'] for p in rows['triad']['points']], ['L1'], 'where the data come from beyond L1 is not guessed')
t.equal(rows['triad']['arithmetic'], 'scalar_double', 'scalar arithmetic')
t.check(shown['ceilings'] == [] and 'sonde calibrate' in shown['ceilings_missing'], 'without roofs: why, and what gives them', shown['ceilings_missing'])
t.check(all(r['roof_flop_per_second'] is None and r['bound_by'] is None for r in rows.values()), 'and nothing is bound')
t.check(not os.path.exists('run/roofs.tsv'), 'nothing was kept with the run')

# Roofs that the test chooses: loops of some hundred million operations a second meet those of a snail and of a giant.
host = next(line.split(':', 1)[1].strip() for line in open('/proc/cpuinfo') if line.startswith('model name'))


def roofs(name, factor, file=config + '/sonde/roofs.tsv'):
    lines = ['roofs\t1', 'host\t' + name, 'date\t2026-05-31']
    for threads in (1, 2):
        for level, rate in (('L1', 100), ('L2', 50), ('L3', 30), ('RAM', 10)):
            lines += [f'roof\t{kind}\t{level}\t{threads}\t{rate * factor * threads:g}\t{rate * factor * threads:g}\t{rate * factor * threads:g}\tmeasured' for kind in ('read', 'triad')]
        lines += [f'roof\t{kind}\t-\t{threads}\t{8 * factor * threads:g}\t{8 * factor * threads:g}\t{8 * factor * threads:g}\tmeasured'
                  for kind in ('scalar_double', 'scalar_single', 'vector_double', 'vector_single', 'fma_double', 'fma_single')]
    open(file, 'w').write('\n'.join(lines) + '\n')


roofs(host, 1e9)
rows = {r['function']: r for r in show('roofline')['rows']}
t.within(rows['triad']['roof_flop_per_second'], 8e9, 1, 'at 1/12 L1 would let 8.33 G pass, arithmetic lets 8')
t.within(rows['triad']['ram_roof_flop_per_second'], 10e9 * 0.75 * 2 / 24, 1e3, 'from RAM the stored line moves twice')
t.within(rows['sum']['ram_roof_flop_per_second'], 10e9 / 8, 1e3, 'loads alone move once')
t.within(rows['chain']['roof_flop_per_second'], 8e9, 1, 'no bytes: arithmetic alone')
t.equal(len(show('roofline')['ceilings']), 28, 'ceilings')
t.equal(len(show('roofs')['rows']), 28, 'which are a table, too')
roofs(host, 1e3)
rows = {r['function']: r for r in show('roofline')['rows']}
paced = [r for r in rows.values() if r['flop_per_second']]
t.check(all(r['is_above_roof'] and r['bound_by'] is None and 'above its roof' in r['reason'] for r in paced), 'faster than the roof is a fault of a number', paced)
t.check(all(r['flop_per_second_low'] <= r['flop_per_second'] <= r['flop_per_second_high'] for r in paced), 'rates lie in their intervals', paced)
roofs(host, 1e12)
rows = {r['function']: r for r in show('roofline')['rows']}
t.check(all(r['bound_by'] is None for r in rows.values()), 'far below all roofs nothing is bound by them', rows)
roofs('Another Processor', 1e9)
shown = show('roofline')
t.check(shown['ceilings'] == [] and 'another processor' in shown['ceilings_missing'], 'roofs of another machine are not taken', shown['ceilings_missing'])
open(config + '/sonde/roofs.tsv', 'w').write('roofs\t1\nhost\tx\nroof\tread\tL9\n')
t.check('line 3' in show('roofline')['ceilings_missing'], 'a damaged file is told by its line')

# Roofs are kept with the run, and hold wherever it is read. Instances are counted: then a rate is exact.
roofs(host, 1e9)
assert t.run('vprof', '-q', '-o', 'counted', '--', app, str(TURNS // 4)).returncode == 0
t.check(os.path.exists('counted/roofs.tsv') or t.run('record', '-q', '-o', 'again', app, '1000').returncode == 0 and os.path.exists('again/roofs.tsv'), 'record keeps the roofs')
rows = {r['function']: r for r in show('roofline', experiment='counted')['rows']}
loops = {r['function']: r for r in show('loops', '--cols', 'function,exclusive_cpu_s,exclusive_system_s', experiment='counted')['rows']}
for name, flops in (('triad', 2), ('sum', 1)):
    row = rows[name]
    t.equal(row['rate_source'], 'counted', name + ': passes were counted')
    user_s = loops[name]['exclusive_cpu_s'] - loops[name]['exclusive_system_s']
    t.within(row['flop_per_second'] * user_s / (flops * 1024 * (TURNS // 4)), 1, 1e-3, name + ': operations a second times seconds are the operations')

text = t.run('show', 'roofline', '--arch', 'cascadelake', 'run').stdout
t.check('not known without hardware counters' in text, 'text says what is not known', text)
t.equal(t.run('calibrate', '--roofs', '--forms', 'add').returncode, 2, 'two ways at once are refused')
t.done()
