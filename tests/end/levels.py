"""Levels 2 and 3: further runs in the experiment's folder, seen by every table as if they were of the run itself."""
import glob
import json
import os
import re
import shutil
import subprocess

import browser
from sonde_test import Test

t = Test()
PROGRAM = r'''
#include <stdio.h>
#include <stdlib.h>
#define KEPT __attribute__((noinline, noclone, noipa))
KEPT double inner(const double *a, long n, long m)
{
	double s = 0;
	for (long j = 0; j < m; j++)
		for (long i = 0; i < n; i++)
			s += a[i] / (s + 2);
	return s;
}
KEPT unsigned mix(unsigned x, long n)
{
	for (long i = 0; i < n; i++)
		x = x * 1664525u + 1013904223u;
	return x;
}
int main(int argc, char **argv)
{
	static double a[300];
	long times = atol(argv[1]);
	double s = 0;
	unsigned x = 1;
	int c, sum = 0;
	for (int i = 0; i < 300; i++) a[i] = i;
	while ((c = getchar()) != EOF) sum += c;
	for (long r = 0; r < times; r++) { s += inner(a, 300, 40); x = mix(x, 20000); }
	FILE *log = fopen("runs.log", "a");
	fprintf(log, "%d\n", sum);
	fclose(log);
	printf("%g %u %d\n", s, x, sum);
	return argc > 2 ? atoi(argv[2]) : 0;
}
'''
with open('app.c', 'w') as out:
    out.write(PROGRAM)
app = t.compile(os.path.abspath('app.c'), '-O2', '-g', output='./app')
TIMES = 1000


def runs():
    """What each run of the program read, and how many there were; the list begins anew."""
    with open('runs.log') as log:
        got = log.read().split()
    os.remove('runs.log')
    return got


def rows(view, experiment):
    return {(r['function'], r['line_first']): r for r in t.show(view, '--all', experiment=experiment)['rows'] if r['bucket'] == 'all'}


plain = t.command(app, TIMES, 7, stdin=None, input='abc')
runs()
run = t.run('run', '--level', '3', '-o', 'three', '--loops', 'all', app, TIMES, 7, stdin=None, input='abc')
t.equal((run.returncode, run.stdout), (plain.returncode, plain.stdout), 'output and exit status are those of one run')
t.equal(runs(), ['294'] * 4, 'four runs read the same input')
t.check(all(os.path.isdir(f'three/{name}') for name in ('instances', 'variants', 'accesses')), 'the further runs lie in the folder', os.listdir('three'))
t.check(os.path.exists('three/report.html'), 'the page is made')
counted = rows('instances', 'three')
inner = [r for (f, _), r in counted.items() if f == 'inner']
t.check(len(inner) == 2 and {r['instances'] for r in inner} == {TIMES, TIMES * 40}, 'both loops of a nest are counted exactly', inner)
t.check(max(r['iterations'] or 0 for r in inner) == TIMES * 40 * 300, 'and their iterations', inner)
mix = next((r for (f, _), r in counted.items() if f == 'mix'), {})
t.equal((mix.get('instances'), mix.get('iterations')), (TIMES, TIMES * 20000), 'so are those of another loop')
shares = {r['loop']: r['inclusive_share'] for r in t.show('loops', '--all', experiment='three')['rows']}
t.check(all(abs(r['coverage_share'] - shares[r['loop']]) < 1e-9 for r in rows('variants', 'three').values()),
        'shares beside variants are those of the first run')
varied = next((r for (f, _), r in rows('variants', 'three').items() if f == 'mix'), {})
t.check(varied.get('orig_samples', 0) > 0 and varied.get('arith_samples', 0) > 0, 'all variants ran', varied)
own = t.show('instances', '--all', experiment='three/instances')['rows']
t.check({r['loop']: r['instances'] for r in own if r['bucket'] == 'all'}.items() >= {r['loop']: r['instances'] for r in counted.values()}.items(),
        'a further run is an experiment, too, with the same counts')

# the page of a loop has all kinds side by side, and says what is missing
page = t.show('loop', mix['loop'], experiment='three')
t.equal(page['evidence']['instances']['instances'], TIMES, 'the page of a loop has instances of another run')
t.check(page['evidence']['variants']['orig_cycles'] > 0 and page['evidence']['static'] and page['evidence']['sampled'], 'and variants, samples and the model', page['evidence'])
t.equal(sorted(page['missing']), ['causal', 'change', 'memory', 'scaling'], 'and says what is missing')
t.check(all(m['reason'] and (m['command'] or kind == 'memory') for kind, m in page['missing'].items()),
        'with the command that gets it', page['missing'])
t.check('does not access memory' in page['missing']['memory']['reason'], 'unless none does', page['missing'])
innermost = max(inner, key=lambda r: r['instances'])
memory = t.show('loop', innermost['loop'], experiment='three')['evidence']['memory']
told = [r for r in t.show('caches', experiment='three')['rows'] if r['loop'] == innermost['loop'] and r['level'] == 'L1']
t.equal((memory['levels'][0]['accesses'], memory['levels'][0]['misses']), (sum(r['accesses'] for r in told), sum(r['misses'] for r in told)),
        'the page of a loop has what its accesses miss, as the view of caches has it')
t.check(memory['objects'][0]['object'] == 'a' and 0 < memory['seen_share'] <= 1, 'and of which data', memory)
t.check('miss L1' in t.run('show', 'loop', innermost['loop'], 'three').stdout, 'in words, too')
t.check(page['verdict'] != 'unknown' and page['confidence'] in ('high', 'medium', 'low'), 'and a verdict', page['verdict'], page['confidence'])
for a in page['advice']:
    if a['speedup'] is not None and not (a['speedup_low'] <= a['speedup_high'] and a['program_speedup_low'] <= a['program_speedup_high']):
        t.check(False, 'ranges are ranges', a)
lows = [a['program_speedup_low'] or 0 for a in page['advice']]
t.equal(lows, sorted(lows, reverse=True), 'what the program gains for sure comes first')
text = t.run('show', 'loop', mix['loop'], 'three').stdout
t.check(page['sentence'].split(':')[0][:40] in text and 'evidence:' in text, 'in text, too', text[:800])

# drawn on the page: variants as bars with intervals, buckets of instances, objects of data, the program's gain over loops
varied = next(r for r in t.show('variants', '--all', experiment='three')['rows'] if r['bucket'] == 'all' and r['loop'] == innermost['loop'])
names = [v for v in ('orig', 'ls', 'fp', 'arith', 'dl1', 'fes', 'pf') if varied[v + '_cycles'] is not None]
ranged = [v for v in names if varied[v + '_low'] is not None and varied[v + '_low'] < varied[v + '_high']]
buckets = {r['bucket'] for r in t.show('instances', '--all', experiment='three')['rows'] if r['loop'] == innermost['loop']}
data = {r['object'] for r in t.show('caches', experiment='three')['rows'] if r['loop'] == innermost['loop'] and r['level'] == 'L1'}
curves = {v: t.show('whatif', v, experiment='three') for v in ('dl1', 'ls', 'fp', 'arith', 'pf')}
if not browser.find():
    t.skip('what was measured is drawn on the page', 'there is no browser')
else:
    with browser.Browser() as chromium:
        page = chromium.open('file://' + os.path.abspath('three/report.html') + '#/loop/' + innermost['loop'])
        for width in (1400, 800):
            page.size(width, 1600)
            page.wait("document.querySelector('.measured') && document.querySelector('.data')")
            drawn = page.evaluate("""[...document.querySelectorAll('.measured table')].map((table) => [...table.querySelectorAll('tbody tr')].map((row) =>
                [row.cells[0].textContent, (row.querySelector('.bar i')?.getBoundingClientRect().width ?? 0) > 0, !!row.querySelector('.bar b')]))""")
            bars = {name: (bar, interval) for name, bar, interval in drawn[0]}
            t.check(all(bars[v.upper()][0] for v in names), f'each variant that was timed is a bar at {width} pixels', bars, names)
            t.equal([v for v in names if bars[v.upper()][1]], ranged, 'with its interval where it has one')
            t.check({'static model', 'ORIG', 'LS', 'FP', 'ARITH', 'DL1', 'FES', 'PF'} <= set(bars), 'all variants and the model are there', bars)
            t.check(buckets <= {row[0] for row in drawn[1]}, 'buckets of instances are', drawn[1], buckets)
            t.equal(set(page.evaluate("[...document.querySelectorAll('.data tbody tr')].map((row) => row.cells[0].textContent)")), data, 'the data that it uses are')
            line = page.evaluate("document.querySelector('.measured .legend').textContent")
            t.check(all(word in line for word in ('static', 'sampled', 'differential')), 'three kinds of evidence stand in one line', line)
            t.check(page.evaluate('document.documentElement.scrollWidth <= innerWidth'), 'nothing is wider than the page')
        told = {v['variant']: v for v in page.evaluate("JSON.parse(document.getElementById('toc').textContent).measured")}
        t.equal({v: (told[v]['loops'], told[v]['loops_for_80_percent']) for v in told},
                {v: (c['loops'], c['loops_for_80_percent']) for v, c in curves.items() if c['loops']}, 'the page has the curves of show whatif')
        t.check(all(abs(told[v]['speedup'] - curves[v]['speedup']) < 1e-9 for v in told), 'with the same gain')
        t.equal(page.errors, [], 'the page has no errors')
        t.run('vprof', '-q', '--from', 'three', '--loops', 'all', '-o', 'who', '--', app, TIMES, 7, stdin=None, input='abc')
        t.run('report', '-o', 'who.html', 'who')
        page = chromium.open('file://' + os.path.abspath('who.html') + '#/loop/' + mix['loop'])
        page.wait("document.querySelector('.measured')")
        t.check('‹ main' in page.evaluate("document.querySelector('.measured table').textContent"), 'who came to the loop stands at its bucket')
        t.equal(page.errors, [], 'without errors, too')
        runs()

# what is there is not measured again, and a filter leaves it alone
run = t.run('analyze', '--level', '2', '--from', 'three', '--', app, TIMES, 7)
t.check('there already' in run.stderr and not os.path.exists('runs.log'), 'what is there is not measured again', run.stderr)
t.equal({k: r['instances'] for k, r in rows('instances', 'three').items()}, {k: r['instances'] for k, r in counted.items()}, 'nor changed')

# what further runs print is kept beside them, and a difference is said once
with open('talk.c', 'w') as out:
    out.write(r'''
#include <stdio.h>
#include <unistd.h>
__attribute__((noinline, noclone, noipa)) double sum(double *a, long n) { double s = 0; for (long i = 0; i < n; i++) { a[i] += 1; s += a[i]; } return s; }
int main(int argc, char **argv)
{
	static double a[2000];
	double s = 0;
	for (long r = 0; r < 300000; r++) s += sum(a, 1000 + r % 7);
	fprintf(stderr, "to stderr\n");
	if (argc > 1) printf("process %d\n", getpid());
	printf("%.17g %s\n", s, argc > 1 ? argv[1] : "");
	return 0;
}
''')
talk = t.compile(os.path.abspath('talk.c'), '-O1', '-g', output='./talk')
same = t.command(talk).stdout
for name, command, kept in (('talk-run', ('run', '--level', '3', '--no-page'), ('instances', 'variants', 'accesses')), ('talk-decan', ('decan',), None)):
    run = t.run(*command, '-o', name, '--', talk)
    t.check(run.stdout.startswith(same) and run.stderr.count('to stderr') == 1, f'{command[0]}: the program is heard once', run)
    t.check('note:' not in run.stderr, 'runs that print the same differ in nothing', run.stderr)
    run = t.run(*command, '-o', name + '-2', '--', talk, 'x')
    t.check(run.stdout.startswith('process ') and run.stderr.count('to stderr') == 1, f'{command[0]}: the run that is shown is one', run)
    t.check(run.stderr.count('note:') == 1, 'that others differ is said once', run.stderr)
    t.check('wrote other standard output' in run.stderr, 'and in what', run.stderr)
    folders = [f'{name}-2/{folder}' for folder in kept] if kept else [re.search(r'kept in (\S+)/\.', run.stderr).group(1)]
    for folder in folders:
        with open(folder + '/stdout.txt') as out, open(folder + '/stderr.txt') as errors:
            text = out.read()
            t.check(text.startswith('process ') and text.splitlines()[0] not in run.stdout and errors.read() == 'to stderr\n', f'{folder} has what its run printed', text)
with open('to-file.out', 'wb') as out:
    out.write(b'before\n')
    out.flush()
    run = t.run('decan', '-o', 'talk-file', '--', talk, 'x', stdout=out, stderr=subprocess.PIPE)
with open('to-file.out') as out:
    text = out.read()
t.check(text.startswith('before\nprocess ') and run.stderr.count('note:') == 1, 'what goes into a file is compared, too', text, run.stderr)
t.check('wrote other' not in t.run('decan', '-q', '-o', 'talk-quiet', '--', talk, 'x').stderr, 'with -q nothing is said')

# rows of data of which a part is missing say so, and what is missing
shutil.copytree('talk-run', 'talk-cut')
data = glob.glob('talk-cut/instances/*.data')[0]
os.truncate(data, os.path.getsize(data) * 7 // 10)
run = t.run('show', 'instances', 'talk-cut')
t.check(run.returncode == 0 and 'incomplete: ' in run.stdout and ' pieces of process ' in run.stdout and os.path.basename(data) in run.stdout, 'a cut file is said below its rows', run)
run = t.run('show', 'instances', '-f', 'csv', 'talk-cut')
t.check('incomplete' not in run.stdout and 'incomplete: ' in run.stderr, 'and beside those for tools', run)
t.check('incomplete' not in t.run('show', 'instances', 'talk-run').stdout, 'one that is whole is not')

# what runs is looked at, not what lies where the experiment was recorded
shutil.copy('talk', 'talk-as-it-was')
t.compile(os.path.abspath('talk.c'), '-O0', '-g', output='./talk')
run = t.run('vprof', '-q', '--from', 'talk-run', '-o', 'talk-moved', '--', './talk-as-it-was')
t.check(run.returncode == 0 and run.stdout.startswith(same), 'the same build under another name may run', run)
run = t.run('vprof', '-q', '--from', 'talk-run', '-o', 'talk-rebuilt', '--', './talk')
t.check(run.returncode == 125 and 'is another build' in run.stderr, 'another build under the same name may not', run)

# a list in first-level cache: no arithmetic bounds it
with open('chase.c', 'w') as out:
    out.write(r'''
#include <stdio.h>
__attribute__((noinline, noclone, noipa)) long chase(const long *next, long p, long n) { while (n--) p = next[p]; return p; }
static long next[1024];
int main(void)
{
	long p = 0;
	for (long i = 0; i < 1024; i++) next[i] = (i * 389 + 17) & 1023;
	for (int k = 0; k < 40000; k++) p = chase(next, p, 10000 + k % 3);
	printf("%ld\n", p);
	return 0;
}
''')
chase = t.compile(os.path.abspath('chase.c'), '-O2', '-g', output='./chase-near')
t.run('run', '-q', '--level', '3', '--no-page', '-o', 'near', '--', chase)
row = next((r for r in t.show('variants', experiment='near')['rows'] if r['function'] == 'chase' and r['bucket'] == 'all'), {})
verdict = t.show('summary', experiment='near')['verdict']['sentence']
if row.get('class') == 'data' and row.get('latency_bound') and row.get('dl1_state') == 'measured' and row['dl1_speedup_high'] < 2:
    t.check('Compute-bound' not in verdict and 'CPU-bound' not in verdict, 'what waits for its own loads does not compute', verdict, row)
else:
    t.skip('what waits for its own loads does not compute', f'variants do not tell on this machine: {row}')

# level 2 added to an experiment: one run, the user's
t.run('record', '-q', '-o', 'two', app, TIMES, 7)
missing = t.show('loop', mix['loop'], experiment='two')['missing']
t.check('sonde analyze --level 3 --from two' in missing['variants']['command'], 'what is missing comes with the command that gets it', missing)
runs()
run = t.run('report', '--level', '2', 'two')
t.check(run.returncode == 3 and 'sonde analyze --level 2 --from' in run.stderr, 'a report of a level that is not there says what adds it', run.returncode, run.stderr)
run = t.run('analyze', '--level', '2', '--from', 'two', '--', app, TIMES, 7, stdin=None, input='abc')
t.equal((run.returncode, run.stdout, len(runs())), (plain.returncode, plain.stdout, 1), 'with --from the run that is added is the user\'s')
row = next((r for (f, _), r in rows('variants', 'two').items() if f == 'mix'), {})
t.check(row.get('dl1_samples', 0) > 0 or row.get('dl1_state', '').startswith(('the loop', 'it')), 'level 2 has DL1', row)
t.check(t.run('report', '--level', '2', 'two').returncode == 0, 'then the report is written')
run = t.run('report', '--level', '3', 'two')
t.check(run.returncode == 3 and 'no variants but DL1' in run.stderr and '--level 3 --from two' in run.stderr, 'that of level 3 is not', run)
t.check(t.run('report', '--level', '3', '--format', 'json', '-o', '-', 'three').returncode == 0, 'but of an experiment of level 3 it is')
level_1 = json.loads(t.run('report', '--level', '1', '--format', 'json', '-o', '-', 'two').stdout)
level_2 = json.loads(t.run('report', '--level', '2', '--format', 'json', '-o', '-', 'two').stdout)
t.check('instances' in level_2 and 'instances' not in level_1, 'level 1 leaves it out')

# a run of another binary adds nothing
t.compile(os.path.abspath('app.c'), '-O1', '-g', output='./other')
t.run('record', '-q', '-o', 'foreign', './other', TIMES)
os.rename('two/instances', 'foreign/instances')
run = t.run('show', 'instances', '--format', 'json', 'foreign')
t.equal(json.loads(run.stdout)['rows'], [], 'instances of another binary are nobody\'s')
os.remove('foreign/instances/launch-key')
for name in os.listdir('foreign/instances'):
    if name.startswith('launch'):
        os.remove('foreign/instances/' + name)
run = t.run('show', 'functions', 'foreign')
t.check(run.returncode == 0 and run.stdout, 'a further run that is damaged takes nothing from the first', run.stderr)

# what cannot be had
runs()
for words, says in ((('--budget', '2x', '--level', '2'), 'left out'), (('--level', '2', '--loops', 'share:0'), '--loops takes'),
                    (('--level', '2', '--exclude', 'nowhere.c:1'), 'nowhere.c:1'), (('--budget', '1x',), '--level 2 or 3'),
                    (('--level', '3', '--delay', '1'), '--delay'), (('--level', '2', '--budget', 'much'), '--budget takes')):
    run = t.run('run', '--no-page', *words, app, 20)
    t.check(says in run.stderr, f'{" ".join(words)}: {says}', run.stderr[-800:])
run = t.run('run', '-q', '--level', '3', app, TIMES, env={**os.environ, 'OMPI_COMM_WORLD_RANK': '1', 'PMIX_NAMESPACE': 'x', 'PMIX_RANK': '1'})
t.check(run.returncode == 125 and 'mpirun' in run.stderr, 'a rank cannot start the program several times', run.returncode, run.stderr)
for command in 'vprof', 'decan', 'trace':
    run = t.run(command, '-o', 'rank.1', '--', app, TIMES, env={**os.environ, 'PMI_RANK': '1'})
    t.check((run.returncode, run.stdout, os.path.exists('rank.1')) == (125, '', False) and '--from' in run.stderr and len(run.stderr.splitlines()) == 1,
            f'{command}: a rank that names no experiment starts nothing', run.returncode, run.stderr)
run = t.run('vprof', '-q', '-o', 'batch.1', '--', app, 20, env={**os.environ, 'SLURM_JOB_ID': '7', 'SLURM_PROCID': '0'})
t.check('--from' not in run.stderr and os.path.exists('batch.1') or 'no sample' in run.stderr, 'a batch script of Slurm is no rank', run.returncode, run.stderr)
batch = {**os.environ, 'SLURM_JOB_ID': '7', 'SLURM_PROCID': '0', 'SLURM_NTASKS': '4'}
for name in ('batched.1', 'batched.2'):  # both of one parent, and two launches all the same
    t.run('record', '-q', '-o', name, app, 20, env=batch)
t.equal([[row['rank'] for row in t.show('processes', name)['rows']] for name in ('batched.1', 'batched.2')], [[None], [None]],
        'nor are programs that it starts')
t.equal([row['rank'] for row in t.show('processes', t.run('record', '-q', '-o', 'step.1', app, 20, env={**batch, 'SLURM_STEP_ID': '0'}) and 'step.1')['rows']], [0],
        'those of a step are ranks')
run = t.run('run', '--no-page', '--level', '2', '--loops', 'top:0', app, 20)
t.check(run.returncode == 125 and not run.stdout and '--loops takes' in run.stderr, 'what is wrong with --loops is said before the first run', run)
for words, says in ((('--from', 'two', '--', 'sleep', '0'), 'is of'), (('--from', 'two', '-o', 'else', '--', app, 20), '-o goes without it')):
    run = t.run('analyze', '--level', '2', *words)
    t.check(run.returncode == 125 and not run.stdout and says in run.stderr, f'analyze {says}', run)

if t.has('mpirun.openmpi'):
    os.environ.update(OMPI_ALLOW_RUN_AS_ROOT='1', OMPI_ALLOW_RUN_AS_ROOT_CONFIRM='1')
    launcher = 'mpirun.openmpi --oversubscribe -n 2'
    t.command(*launcher.split(), t.sonde, 'record', '-q', '-o', 'launched', app, TIMES)
    run = t.run('analyze', '-q', '--from', 'launched', '--launcher', launcher, '--', app, TIMES)
    t.check(run.returncode == 0 and sorted(row['rank'] for row in t.show('processes', 'launched/instances')['rows']) == [0, 1] and
            len(t.show('instances', 'launched')['rows']) > 0, 'analyze --launcher: loops of each rank have instances', run.returncode, run.stderr)
else:
    t.skip('analyze --launcher', 'mpirun.openmpi is not here')
for words, says in ((('--launcher', 'x', '--', app), '--from E'), (('--step', 'instances:20', '--', app), 'that --launcher starts')):
    run = t.run('analyze', *words)
    t.check(run.returncode == 125 and says in run.stderr, f'analyze {words[0]}: {says}', run)

# what was measured is on the first screen, in the place of what samples cannot tell
with open('chase.c', 'w') as out:
    out.write(r'''
#include <stdio.h>
#include <stdlib.h>
enum { COUNT = 1 << 22 };
static struct { unsigned next, unused[7]; } *all; /* 128 MB, in an order that nothing foresees */
__attribute__((noinline, noclone, noipa)) static unsigned chase(unsigned at, long steps)
{
	for (long i = 0; i < steps; i++)
		at = all[at].next;
	return at;
}
int main(void)
{
	unsigned at = 0, sum = 0;
	all = malloc(COUNT * sizeof(*all));
	for (unsigned i = 0; i < COUNT; i++)
		all[i].next = (i * 1664525u + 1013904223u) % COUNT;
	for (int r = 0; r < 4000; r++)
		sum += at = chase(at, 1000);
	printf("%u\n", sum);
	return 0;
}
''')
t.run('run', '-q', '--no-page', '--level', '2', '-o', 'chased', t.compile(os.path.abspath('chase.c'), '-O2', '-g', output='./chase'))
chased = next((r for (f, _), r in rows('variants', 'chased').items() if f == 'chase'), None)
told = [f['sentence'] for f in t.show('summary', experiment='chased')['findings'] if 'waits for data' in f['sentence']]
t.check(chased and chased['dl1_speedup_low'] > 2, 'a chain of pointers waits for its data', chased)
t.check(told and f"would be {chased['dl1_speedup']:.2f} times as fast" in told[0] and 'measured' in told[0], 'the first screen says how much, as measured', told)

# ---- in a campaign: of each configuration one run has the level ----
with open('thrice', 'w') as out:
    out.write('#!/bin/sh\necho >> starts\n[ $(wc -l < starts) = 3 ] && { echo "no third time" >&2; exit 7; }\nexec ./app 50\n')
os.chmod('thrice', 0o755)
with open('levels.ini', 'w') as out:
    out.write(f"""[campaign]
level = 2
repeat = 2
[configuration "plain"]
program = ./app
arguments = {TIMES // 4}
[configuration "script"]
program = ./thrice
""")


def levels(campaign):
    got = json.loads(t.run('campaign', 'status', campaign, '--format', 'json').stdout)['runs']
    return {(r['configuration'], r['repeat']): (r['state'], r['level'], r['reason']) for r in got}


run = t.run('campaign', 'run', 'levels.ini', '-o', 'levels')
got, missing = levels('levels'), 'level 2 is missing: exit status 7: no third time'
t.equal((run.returncode, got),
        (3, {('plain', 1): ('done', 2, None), ('plain', 2): ('done', 1, None), ('script', 1): ('done', 1, missing), ('script', 2): ('done', 1, None)}),
        'one run of each configuration has the level, or the reason why not')
t.check('1 configuration has no run of level 2 yet' in run.stderr, 'which is said in the end', run.stderr)
first = {name: next(f'levels/runs/{f}' for f in os.listdir('levels/runs') if f.startswith('r01') and f.endswith(name)) for name in ('plain', 'script')}
t.check(any(r['instances'] == TIMES // 4 for r in rows('instances', first['plain']).values()), 'and the instances of its loops')
# what a try that failed or was killed left is made anew
os.makedirs(f"{first['script']}/instances/left", exist_ok=True)
run = t.run('campaign', 'resume', 'levels')
t.equal((run.returncode, levels('levels')[('script', 1)]), (0, ('done', 2, None)), 'resume adds what is missing')
t.check(not os.path.exists(f"{first['script']}/instances/left") and rows('instances', first['script']), 'and makes it anew')

# ---- and loops are chosen by the plan ----
timed = sorted((r for r in t.show('instances', experiment=first['plain'])['rows'] if r['instances'] and r['module'] == os.path.basename(app)), key=lambda r: r['loop'])
places = [r['loop'] for r in timed][:2]
t.check(len(places) == 2, 'two loops that are timed unless something is said', timed)


def chosen(name, *words):
    """The loops that were timed in the run that has the level."""
    run = t.run(*words, '-o', name, '-q', *(['--level', '2', '--repeat', '1', '--threads', '1', '--', app, TIMES // 4] if words[0] == 'scale' else []))
    at = next((f'{name}/{r["experiment"]}' for r in json.loads(t.run('campaign', 'status', name, '--format', 'json').stdout)['runs'] if r['level'] == 2), None)
    return {r['loop'] for r in t.show('instances', experiment=at)['rows'] if r['instances']} if at else run


t.equal(chosen('scaled', 'scale', '--loops', places[0]), {places[0]}, 'sonde scale --loops')
got = chosen('excluded', 'scale', '--loops', ','.join(places), '--exclude', places[0])
t.equal(got, {places[1]}, '--exclude')
with open('loops.ini', 'w') as out:
    out.write(f'[campaign]\nlevel = 2\nloops = {places[1]}\n[default]\nprogram = ./app\narguments = {TIMES // 4}\n')
t.equal(chosen('planned', 'campaign', 'run', 'loops.ini'), {places[1]}, 'a plan says loops')
run = t.run('run', '--repeat', '1', '--level', '2', '--loops', 'top:1', '-o', 'repeated', '-q', app, TIMES // 4)
t.check(run.returncode == 0 and os.path.exists('repeated/state.jsonl'), 'sonde run --repeat --loops', run.stderr)
text = t.run('campaign', 'plan', '--level', '3', '--loops', 'share:5', '--exclude', 'a.c:3', '--', './app').stdout
t.check('loops = share:5\n' in text and 'exclude = a.c:3\n' in text, 'options as a plan', text)
for words, says in ((('run', '--repeat', '2', '--level', '1', '--loops', 'all'), '--loops'), (('scale', '--threads', '1', '--loops', 'all'), '--loops is said of level 2 or 3'),
                    (('scale', '--threads', '1', '--level', '2', '--loops', 'top:none'), "not 'top:none'"), (('campaign', 'plan', '--level', '2', '--loops', 'share:0'), '--loops takes')):
    run = t.run(*words, '--', app, 1)
    t.check(run.returncode in (2, 125) and says in run.stderr and run.stderr.count('\n') == 1, ' '.join(words) + ' is refused in a sentence', run.returncode, run.stderr)
t.done()
