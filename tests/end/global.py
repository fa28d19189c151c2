"""show global: every metric of the run, and speed-ups in elapsed time of programs whose shape is known."""
import os
import re
import subprocess
import sys

from sonde_test import Test

METRICS = ('elapsed cpu loops_share innermost_share user_code_share compile_score flow_complexity array_access_efficiency active_threads '
           'affinity').split()
SPEEDUPS = ['speedup_' + name for name in ('clean fp_vector full_vector dl1 fp_only no_dependence perfect_prefetch perfect_balance '
                                           'perfect_parallel perfect_both').split()]
t = Test()
SOURCE = r'''
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
static double a[2048], b[2048];
__attribute__((noinline)) static void work(double *x, long n) { for (long k = 0; k < n; k++) for (int i = 0; i < 2048; i++) x[i] = x[i] * 0.5 + 1; }
static void *other(void *n) { work(b, *(long *)n); return NULL; }
static double c[2048];
static void *another(void *n) { work(c, *(long *)n); return NULL; }
int main(int argc, char **argv)
{
	long n = atol(argv[1]), m = n;
	pthread_t thread;
	int is_even = argc > 2 && !strcmp(argv[2], "even");
	if (argc > 2 && !strcmp(argv[2], "pool")) { /* two workers, and a first thread that only waits */
		pthread_t one, two;
		pthread_create(&one, NULL, other, &m);
		pthread_create(&two, NULL, another, &n);
		pthread_join(one, NULL);
		pthread_join(two, NULL);
		return 0;
	}
	if (is_even) pthread_create(&thread, NULL, other, &m);
	work(a, n);
	if (is_even) pthread_join(thread, NULL);
	return 0;
}
'''
app = t.compile(SOURCE, '-g', '-O2', '-fno-tree-vectorize', '-pthread', output='./app')
for kind in ('one', 'even'):
    assert t.run('record', '-q', '-o', kind, app, '300000', kind).returncode == 0
arch = ['--arch', 'cascadelake']
for kind in ('one', 'even'):
    shown = t.show('global', *arch, experiment=kind)
    rows = {r['metric']: r for r in shown['rows']}
    t.equal(shown['schema'], 'sonde.global/1', 'schema')
    t.equal([r['metric'] for r in shown['rows']], METRICS + SPEEDUPS, 'all metrics, in order')
    t.check(all(r['reason'] for r in shown['rows'] if r['value'] is None), 'what has no value says why')
    known = [r for r in shown['rows'] if r['value'] is not None]
    t.check(all(r['low'] <= r['value'] <= r['high'] for r in known), 'values lie in their intervals', known)
    t.check(all(r['source'] in ('measured', 'static') and 0 <= r['basis_share'] <= 1 for r in known), 'each with its source', known)
    t.check(all(r['low'] >= 1 for r in shown['rows'] if r['metric'] in SPEEDUPS and r['low'] is not None), 'no speed-up slows down')
    summary = t.show('summary', experiment=kind)
    t.within(rows['elapsed']['value'], summary['elapsed_s'], 1e-9, 'elapsed as in the summary')
    t.within(rows['cpu']['value'], summary['cpu_s'], 1e-9, 'CPU time, too')
    t.check(rows['innermost_share']['value'] > 0.8, 'the time is in one loop', rows['innermost_share'])
    t.within(rows['compile_score']['value'], 0.25, 0.05, '-O2 without -march is a quarter of the score')
    vector = rows['speedup_full_vector']
    t.check(vector['high'] > 1 and vector['loops_for_80_percent'] == 1, 'one loop brings what vectors bring', vector)
    t.check('decan' in rows['speedup_dl1']['reason'], 'what is not measured names its command', rows['speedup_dl1'])
    if kind == 'one':
        t.check(rows['speedup_perfect_balance']['value'] == 1 and rows['speedup_perfect_both']['value'] == 1, 'one thread is balanced', rows)
        by_cpu = next(v for v in t.show('whatif', *arch, experiment=kind)['variants'] if v['variant'] == 'full_vector')
        # of one thread the elapsed time holds its CPU time: waiting for a CPU only lessens the gain
        t.check(vector['high'] <= by_cpu['speedup_high'] + 0.02, 'no more than CPU time has', vector, by_cpu)
# ---- a machine whose CPU others have for half of the time: what the loop needs is waited for as well ----
cpu = str(min(os.sched_getaffinity(0)))
others = [subprocess.Popen(['taskset', '-c', cpu, sys.executable, '-c', 'while True: pass']) for _ in range(2)]
try:
    assert t.run('record', '-q', '-o', 'busy', 'taskset', '-c', cpu, app, '300000', 'one', timeout=120).returncode == 0
finally:
    for other in others:
        other.kill()
        other.wait()
shown = t.show('global', *arch, experiment='busy')
waited = [r['wait_cpu_s'] for r in t.show('threads', experiment='busy')['rows'] if r['cpu_s'] > 0.05]
if None in waited:
    t.skip('a busy machine', 'the kernel does not tell of waiting for CPUs')
else:
    vector = next(r for r in shown['rows'] if r['metric'] == 'speedup_full_vector')
    by_cpu = next(v for v in t.show('whatif', *arch, experiment='busy')['variants'] if v['variant'] == 'full_vector')
    # elapsed time is twice or thrice the CPU time: with waiting as it was, less than half of the part that is saved would be left
    saved, saved_of_cpu = (1 - 1 / x for x in (vector['high'], by_cpu['speedup_high']))
    t.check(saved_of_cpu + 0.02 >= saved >= 0.75 * saved_of_cpu,
            'waiting for a CPU shrinks with the work', vector, by_cpu, waited)
    t.check('had no CPU for' in shown['warning'] and shown['warning'] in ' '.join(t.run('show', 'global', *arch, 'busy').stdout.split()),
            'and that is said', shown['warning'])
# the same work on both: the busier one is above the mean by what their CPU times tell, as one CPU may be slower than the other. With the first
# thread counted it is half as much again
assert t.run('record', '-q', '-o', 'pool', app, '300000', 'pool').returncode == 0
pool = {r['metric']: r for r in t.show('global', *arch, experiment='pool')['rows']}['speedup_perfect_balance']
workers = sorted(r['cpu_s'] for r in t.show('threads', experiment='pool')['rows'])[-2:]
t.check(pool['low'] < 1.1 * workers[1] / (sum(workers) / 2), 'a thread that only waits is no worker out of balance', pool, workers)
# ---- all work of two threads is in one critical section: named, and what shortens it shortens the waiting ----
crit = t.compile(r'''
#include <stdio.h>
static double g;
__attribute__((noinline)) static void crit(void)
{
#pragma omp parallel for schedule(static)
	for (int k = 0; k < 2000; k++) {
#pragma omp critical
		{ double x = k; for (long i = 0; i < 60000; i++) x = x * 0.999999 + 0.5; g += x; }
	}
}
int main(void) { crit(); printf("%d\\n", g > 0); return 0; }
''', '-g', '-O2', '-fopenmp', output='./crit')
if len(os.sched_getaffinity(0)) < 2:
    t.skip('threads that spin for a critical section', 'there is one CPU')
else:
    t.run('record', '-q', '-o', 'crit.e', crit, env={'OMP_NUM_THREADS': '2', 'OMP_WAIT_POLICY': 'active'})
    findings = t.show('summary', experiment='crit.e')['findings']
    spin = [f for f in findings if 'waiting actively' in f['sentence']]
    t.check(spin and re.search(r'for the critical section in crit\S* \(\S+\.c:\d+\)', spin[0]['sentence']) and 'Do less in the critical section' in spin[0]['remedy'],
            'a critical section that threads spin for is named, without a trace', findings)
    row = next(r for r in t.show('global', *arch, experiment='crit.e')['rows'] if r['metric'] == 'speedup_no_dependence')
    by_cpu = next(v for v in t.show('whatif', *arch, experiment='crit.e')['variants'] if v['variant'] == 'no_dependence')
    share = t.show('summary', experiment='crit.e')['loops_share']
    t.check(row['value'] > by_cpu['speedup'], 'who waits for a turn waits the shorter, too', row, by_cpu, share)
text = t.run('show', 'global', *arch, 'pool').stdout
t.check('speedup_dl1, speedup_fp_only, speedup_perfect_prefetch: no such variant of a loop was run; sonde decan' in text, 'reasons stand whole below the table', text)
# ---- loops that have no variants, by why ----
calls = t.compile('''
#include <stdlib.h>
__attribute__((noinline)) static double step(double x) { __asm__ volatile("" ::: "memory"); return x * 1.000001 + 1e-9; }
int main(int argc, char **argv)
{
	double x = 1;
	long n = atol(argv[argc - 1]) * 1000;
	for (long i = 0; i < n; i++)
		x = step(x) / 1.0000001 + 1e-9;
	return x < 0;
}
''', '-g', '-O2', output='./calls')
t.run('record', '-q', '-o', 'calls.e', calls, '200000')
shown = t.show('global', *arch, experiment='calls.e')
lacking = shown['loops_without_variants']
t.check(shown['variants_missing'] is None and any('call' in r['reason'] and .005 <= r['share'] <= 1 and r['loops'] == 1 for r in lacking),
        'a loop that calls is named with its reason and its share', lacking)
t.check(all(x['share'] >= y['share'] for x, y in zip(lacking, lacking[1:])), 'most time first')
text = t.run('show', 'global', *arch, 'calls.e').stdout
t.check('of CPU time in loops without measured variants' in text and lacking[0]['reason'] in text, 'and in the text', text)
t.done()
