"""sonde scalability: a program whose loops scale as they were made to, judged by its own thread clocks;
a first thread that does what its pool does; a worker without work; a reference that waited for CPUs."""
import html
import json
import os
import re
import shutil
import subprocess
import sys

from report_contents import contents
from sonde_test import Test

t = Test()
app = t.compile('scaling.c', '-O2', '-g', '-fopenmp', output='./scaling')
run = t.run('scale', '--threads', '1,2,3,4', '--repeat', '3', '--seed', '2', '-o', 'c', '--', app, '160000000', timeout=600)
t.check(run.returncode == 0, 'the campaign ran', run.stderr)


def campaign_read(folder):
    """The runs of a campaign, and what the program says of itself: sums over the repeats of CPU seconds of all threads
    and of the busiest, by function and number of threads, with how many repeats."""
    runs = json.loads(t.run('campaign', 'status', folder, '-f', 'json').stdout)['runs']
    truth = {}
    for r in runs:
        if r['state'] != 'done':
            continue
        n = int(r['configuration'].split('=')[1])
        for line in open(f"{folder}/{r['experiment']}.out"):
            name, total, busiest = line.split()
            sums = truth.setdefault((name, n), [0, 0, 0])
            for i, value in enumerate((float(total), float(busiest), 1)):
                sums[i] += value
    return runs, truth


runs, truth = campaign_read('c')


def efficiency(name, n):
    return (truth[name, 1][1] / truth[name, 1][2]) / (truth[name, n][1] / truth[name, n][2]) / n


def tolerance(name, n):
    """0.05, or 4.5 sigma: at each change from one loop to the next a period (1.5 ms with what comes late) may be
    claimed by the wrong one; three steps, three repeats."""
    error = 0.0015 * (2 * 3 / 3) ** 0.5
    relative = sum((error / (truth[name, k][1] / truth[name, k][2])) ** 2 for k in (1, n)) ** 0.5
    return round(max(0.05, 4.5 * relative * efficiency(name, n)), 3)


done = t.run('show', 'scalability', 'c', '--format', 'json')
got = json.loads(done.stdout)
t.check((got['schema'], got['mode'], got['reference']) == ('sonde.scalability/1', 'strong', 'threads=1'),
        'schema, mode and reference', done.stderr)
keys = '''kind name loop configuration ranks threads workers repeats time_s cpu_s speedup ideal_speedup efficiency
efficiency_low efficiency_high work_efficiency balance_efficiency share load_balance communication_efficiency
computation_scaling spin_share blocked_share wait_cpu_share'''.split()
t.equal(list(got['rows'][0])[:len(keys)], keys, 'keys of a row')
rows = {(r['kind'], r['function'] or r['name'], r['workers']): r for r in got['rows']}
for name in ('serial', 'balanced', 'uneven', 'guarded'):
    for kind in ('function', 'loop'):
        off = {n: (round(rows[kind, name, n]['efficiency'] - efficiency(name, n), 3), tolerance(name, n))
               for n in (2, 3, 4)}
        t.check(all(abs(x) <= most for x, most in off.values()), f'efficiency of the {kind} of {name} is as made', off)
t.check(all(0.4 < rows['loop', 'serial', n]['efficiency'] * n / 2 < 0.6 for n in (2, 3, 4)), 'a serial loop has one n-th')
# the page of a loop has its rows of the campaign, whichever run it is asked of, and what became of it since the reference
done = {r['configuration']: f"c/{r['experiment']}" for r in runs if r['state'] == 'done'}
of_loop = {r['configuration']: r for r in got['rows'] if r['kind'] == 'loop' and r['function'] == 'serial'}
first, last = (t.show('loop', of_loop['threads=4']['loop'], experiment=done[name]) for name in ('threads=1', 'threads=4'))
keys = 'workers speedup ideal_speedup efficiency efficiency_low efficiency_high work_efficiency balance_efficiency'.split()
t.equal([[r[k] for k in keys] for r in last['evidence']['scaling']['rows']], [[of_loop[f'threads={n}'][k] for k in keys] for n in (1, 2, 3, 4)],
        'the page of a loop has how it scales')
t.equal(first['evidence']['scaling'], last['evidence']['scaling'], 'whichever run it is asked of')
compared = {r['name']: r['cells'] for r in json.loads(t.run('diff', 'c', '--format', 'json').stdout)['rows'] if r['kind'] == 'loop' and r['function'] == 'serial'}
cell = next(c for c in list(compared.values())[0] if c['set'] == 'threads=4')
t.equal([last['evidence']['change'][k] for k in ('set', 'reference', 'ratio', 'p_value', 'verdict')],
        ['threads=4', 'threads=1'] + [cell[k] for k in ('ratio', 'p_value', 'verdict')], 'and its change since the reference')
t.check(first['evidence']['change'] is None and 'reference' in first['missing']['change']['reason'], 'which the reference has not', first['missing'])
shutil.copytree(done['threads=4'], 'apart')
apart = t.show('loop', of_loop['threads=4']['loop'], experiment='apart')
t.check(all('not around it' in apart['missing'][k]['reason'] and not apart['missing'][k]['command'] for k in ('scaling', 'change')),
        'a run apart from its campaign says that the others are not there, and no command that would not help', apart['missing'])
words = t.run('show', 'loop', of_loop['threads=4']['loop'], done['threads=4']).stdout
fit = next(f for f in got['fits'] if f['kind'] == 'loop' and f['loop'] == of_loop['threads=4']['loop'])
law_keys = 'model workers_80 workers_50 predicted reason'.split()
t.equal(last['evidence']['scaling']['law'], {k: fit[k] for k in law_keys}, 'with the law of the loop')
# the page of a run has all of it, too
t.run('report', done['threads=4'], '-o', 'run.html')
_, chunk = contents('run.html')
number = chunk('loops')['id'].index(of_loop['threads=4']['loop'])
scaling, kinds = chunk('scaling'), chunk('evidence')
on_page = [[scaling[k][i] for k in keys[:6]] for i in range(len(scaling['loop_number'])) if scaling['loop_number'][i] == number]
t.equal(on_page, [[r[k] for k in keys[:6]] for r in last['evidence']['scaling']['rows']], 'the page of a run has how its loops scale')
told = {kinds['kind'][i]: (kinds['missing'][i], kinds['words'][i]) for i in range(len(kinds['kind'])) if kinds['loop_number'][i] == number}
t.check(not told['scaling'][0] and (fit['model'] or fit['reason']) in told['scaling'][1], 'and by which law', told['scaling'])
t.check(not told['change'][0] and f"{cell['ratio']:.2f} times the CPU time that it has in threads=1" in told['change'][1], 'and its change', told['change'])
t.check('with 4 workers (threads=4)' in words and 'times the CPU time that it has in threads=1' in ' '.join(words.split()), 'in words, too', words)
bad = [r for r in got['rows'] if r['efficiency'] is not None and
       abs(r['work_efficiency'] * r['balance_efficiency'] - r['efficiency']) > 1e-9]
t.equal(bad, [], 'efficiency is work x balance to 1e-9')
bad = [r for r in got['rows'] if r['kind'] == 'application' and
       abs(r['load_balance'] * r['communication_efficiency'] * r['computation_scaling'] - r['efficiency']) > 1e-9]
t.equal(bad, [], 'and load balance x communication x computation')
fits = {(f['kind'], f['name']): f for f in got['fits']}
serial = rows['loop', 'serial', 1]['name']
fit = fits['loop', serial]
t.check(fit['model'] is None or fit['workers_50'] <= 3, 'a law knows that the serial loop does not scale', fit)
t.check(len({f['kind'] for f in got['fits']}) == 4 and all(f['model'] or f['reason'] for f in got['fits']),
        'every fit says what it is or why there is none', got['fits'][:3])
t.check(all(len(f['predicted']) == (2 if f['model'] else 0) and
            all(p['low_s'] <= p['time_s'] <= p['high_s'] for p in f['predicted']) for f in got['fits']),
        'predictions lie in their intervals')
text = t.run('scalability', 'c').stdout
t.check('strong scaling' in text and 'one worker does nearly all' in t.run('scalability', 'c', '--all', '--cols', 'name,reason').stdout,
        'text says why', text)
other = json.loads(t.run('scalability', 'c', '--reference', 'threads=2', '-f', 'json').stdout)
t.check(other['reference'] == 'threads=2' and
        any(r['workers'] == 2 and r['efficiency'] == 1 for r in other['rows']), 'another reference')
most = json.loads(t.run('scalability', 'c', '--reference', 'threads=4', '-f', 'json').stdout)
t.check(len(most['answers']) == 1 and most['answers'][0].startswith('From 1 to 4 workers'),
        'a reference with the most workers: how it grows to it is told', most['answers'])
done = t.run('scalability', 'c', '--reference', 'threads=9')
t.check(done.returncode == 2 and "called 'threads=9'" in done.stderr, 'a reference that is not there', done.stderr)
weak = json.loads(t.run('scalability', 'c', '--weak', '-f', 'json').stdout)
t.check(weak['mode'] == 'weak' and all(r['ideal_speedup'] == 1 for r in weak['rows']), 'weak scaling')

# ---- one of 16 threads stands out, each seen in a few samples ----
t.run('scale', '--threads', '1,16', '--repeat', '3', '--seed', '2', '-o', 'm', '--', app, '80000000', timeout=300)
_, truth = campaign_read('m')
got = json.loads(t.run('scalability', 'm', '-f', 'json').stdout)
row = next(r for r in got['rows'] if r['kind'] == 'loop' and r['function'] == 'uneven' and r['workers'] == 16)
t.within(row['efficiency'], efficiency('uneven', 16), tolerance('uneven', 16),
         'a thread of 16 that has three times the work of each other is not drawn to them')

# ---- a first thread that does what its pool does, and a pool of which one does nothing ----
POOL = r'''
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
static long each;
static int idle;
static double took[64];
__attribute__((noinline)) static double work(long n)
{
	double x = 1;
	for (long i = 0; i < n; i++)
		x += 1 / (x + i);
	return x;
}
static double cpu(void)
{
	struct timespec now;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return now.tv_sec + now.tv_nsec * 1e-9;
}
static void *member(void *number)
{
	long t = (long)number;
	double begin = cpu();
	if (!idle || !t)
		took[t] = work(idle ? each * idle : each) < 0 ? 0 : cpu() - begin;
	return NULL;
}
int main(int argc, char **argv)
{
	int n = atoi(argv[1]);
	pthread_t pool[64];
	double busiest = 0, begin = cpu(), first = 0;

	idle = argc > 2 ? n : 0;
	each = 60000000 / n;
	if (!idle)
		first = work(30000000) < 0 ? 0 : cpu() - begin;
	for (long t = 0; t < n; t++)
		pthread_create(&pool[t], NULL, member, (void *)t);
	for (int t = 0; t < n; t++)
		pthread_join(pool[t], NULL);
	for (int t = 0; t < n; t++)
		busiest = took[t] > busiest ? took[t] : busiest;
	printf("%.6f\n", first + busiest);
	return 0;
}
'''
pool = t.compile(POOL, '-O2', '-g', '-pthread', output='./pool')
run = t.run('scale', '--threads', '1,2', '--repeat', '2', '-o', 'p', '--', pool, '{threads}', timeout=300)
got = json.loads(t.run('scalability', 'p', '-f', 'json').stdout)
runs = json.loads(t.run('campaign', 'status', 'p', '-f', 'json').stdout)['runs']
wanted = {n: [float(open(f"p/{r['experiment']}.out").read()) for r in runs if r['configuration'] == f'threads={n}']
          for n in (1, 2)}
for r in got['rows']:
    if r['kind'] == 'function' and r['function'] == 'work':
        mean = sum(wanted[r['workers']]) / 2
        t.within(r['time_s'], mean, max(0.05 * mean, 0.02),
                 f"a first thread takes turns with its pool (n {r['workers']}): never a speed-up of more than is ideal")
t.check(all(r['speedup'] < 1.7 for r in got['rows'] if r['function'] == 'work' and r['workers'] == 2) and run.returncode == 0,
        'three parts of which one is serial get 1.5 times faster', run.stderr, got['rows'])
t.run('scale', '--threads', '1,2', '--repeat', '1', '-o', 'i', '--', pool, '{threads}', 'idle', timeout=300)
got = json.loads(t.run('scalability', 'i', '-f', 'json').stdout)
app = [r for r in got['rows'] if r['kind'] == 'application']
t.check('1 of 2 workers had next to no work' in (app[1]['reason'] or ''), 'who had no work did not wait for a CPU', app)
t.check(app[1]['reason'] in got['answers'][0] and got['answers'][0].startswith('From 1 to 2 workers'), 'the answer says so', got['answers'])
t.equal({r['confidence'] for r in got['rows'] if r['configuration'] == 'threads=2'}, {'low'}, 'single runs are no evidence')

# ---- a reference that waited for a CPU: others have it most of the time ----
cpu = str(min(os.sched_getaffinity(0)))
others = [subprocess.Popen(['taskset', '-c', cpu, sys.executable, '-c', 'while True: pass']) for _ in range(3)]
try:
    t.run('scale', '--threads', '1,2', '--repeat', '2', '--pin', cpu, '-o', 'w', '--', pool, '{threads}', 'idle', timeout=300)
finally:
    for other in others:
        other.kill()
        other.wait()
got = json.loads(t.run('scalability', 'w', '-f', 'json').stdout)
share = next(r['wait_cpu_share'] for r in got['rows'] if r['kind'] == 'application' and r['workers'] == 1)
if share is None:
    t.skip('a busy reference', 'the kernel does not tell of waiting for CPUs')
    t.done()
t.check(share > 0.2 and len(got['warnings']) == 1 and "'threads=1' itself waited for a CPU" in got['warnings'][0],
        'a reference that waited for a CPU is warned of', share, got['warnings'])
t.equal({r['confidence'] for r in got['rows'] if r['kind'] == 'application'}, {'low'}, 'and nothing against it is sure')
t.check(got['warnings'][0] in t.run('scalability', 'w').stdout, 'the terminal has it')
t.run('report', 'w', '-o', 'w.html')
page = html.unescape(re.sub(r'<[^>]+>', ' ', open('w.html').read()))
t.check(got['warnings'][0] in page and all(a in page for a in got['answers']), 'and the page, with the answer')
t.done()
