"""sonde reduce: tables of sums are the same from reductions as from all data, whoever made them; what data a reduction
does not match is left alone."""
import glob
import json
import os
import shutil

import ranks
from sonde_test import Test

t = Test()

PROGRAM = """
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
static __attribute__((noinline)) double dense(long n) { double s = 0; for (long i = 1; i < n; i++) s += 1.0 / i; return s; }
static __attribute__((noinline)) double waves(long n) { double s = 0; for (long i = 0; i < n; i++) s += sin(i * 0.1); return s; }
static void *work(void *out)
{
	double *sum = out;
	for (int i = 0; i < 60; i++)
		*sum += dense(2000000) + waves(200000);
	usleep(30000);
	return NULL;
}
int main(int argc, char **argv)
{
	double sums[3] = { 0 };
	pthread_t others[2];
	char name[64];
	for (int i = 0; i < 2; i++)
		pthread_create(&others[i], NULL, work, &sums[i]);
	work(&sums[2]);
	for (int i = 0; i < 3000; i++) {
		snprintf(name, sizeof name, "/proc/self/fd/%d", i);
		access(name, F_OK);
	}
	for (int i = 0; i < 2; i++)
		pthread_join(others[i], NULL);
	return printf("%g\\n", sums[0] + sums[1] + sums[2] * argc) < 0;
}
"""

# Views that read reductions (sums_suffice), and options with which they do.
VIEWS = [('functions',), ('functions', '--wall'), ('loops',), ('lines',), ('modules',), ('calls', 'work'),
         ('categories',), ('threads',), ('processes',)]
# ... and some that read all data, as they ask for times or parts
OTHERS = [('functions', '--time', '0-0.1'), ('functions', '--process', '3'), ('tree',), ('waits',), ('summary',), ('packets',)]


def alike(a, b):
    """Equal, numbers to the rounding of sums in another order."""
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(alike(a[k], b[k]) for k in a)
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(alike, a, b))
    if isinstance(a, float) or isinstance(b, float):
        return a is not None and b is not None and abs(a - b) <= 1e-9 * max(abs(a), abs(b))
    return a == b


def shown(view, experiment, form):
    options = ['--format', 'json'] if form == 'json' else []
    run = t.run('show', *view, experiment, '--all', *options)
    return json.loads(run.stdout) if form == 'json' and run.stdout else (run.returncode, run.stdout, run.stderr)


def reductions(experiment):
    return {os.path.basename(f): open(f, 'rb').read() for f in glob.glob(experiment + '/*.reduced')}


program = t.compile(PROGRAM, '-O1', '-g', '-lm', '-pthread', output='./app')
for name in ('one', 'two'):
    t.run('record', '-q', '-o', name, program)
# two different ranks, in turn, on four hosts
shutil.copytree('one', 'pair')
for f in glob.glob('two/*.data') + glob.glob('two/launch.*') + glob.glob('two/extracts/*'):
    shutil.copy(f, f.replace('two', 'pair', 1))
ranks.make('pair', 'many', 26, 8)
before = {(view, form): shown(view, 'many', form) for view in VIEWS + OTHERS for form in ('text', 'json')}

run = t.run('reduce', 'many')
t.equal((run.returncode, run.stdout.split()), (0, [f'many/node{i:04}.reduced' for i in range(4)]), 'a file for each node')
alone = reductions('many')
data = sum(os.path.getsize(f) for f in glob.glob('many/*.data'))
t.check(sum(map(len, alone.values())) < data / 20, 'they are small beside the data', sum(map(len, alone.values())), data)
for (view, form), want in before.items():
    got = shown(view, 'many', form)
    t.check(alike(want, got), f'show {" ".join(view)} ({form}) is what it was', *[str(x)[:2000] for x in (want, got)])

# what is shown does come from the reductions: without the data it is still there
shutil.copytree('many', 'hollow')
for f in glob.glob('hollow/*.data'):
    size = os.path.getsize(f)
    os.truncate(f, 0)
    os.truncate(f, size)
t.check(alike(before[('functions',), 'json']['rows'], shown(('functions',), 'hollow', 'json')['rows']),
        'functions are read from the reductions alone')

# by several processes
for name in reductions('many'):
    os.remove('many/' + name)
started = False
for mpirun in ('mpirun.openmpi --allow-run-as-root --oversubscribe', 'mpirun.mpich'):
    words = mpirun.split()
    if not t.has(words[0]):
        t.skip(words[0], 'not installed')
        continue
    started = True
    run = t.command(*words, '-n', '3', t.sonde, 'reduce', 'many')
    t.equal(sorted(run.stdout.split()), [f'many/node{i:04}.reduced' for i in range(4)], f'{words[0]}: each node once')
    t.check(reductions('many') == alone, f'{words[0]}: the files are the same bytes')
if not started:
    t.run('reduce', 'many')

# a launch of many ranks is reduced as it ends, by the last of the node
for rank in range(3):
    t.run('record', '-q', '-o', 'large', program, env=dict(os.environ, PMI_RANK=str(rank), PMI_SIZE='64', PMIX_NAMESPACE='large'))
made = reductions('large')
t.equal((len(made), len(glob.glob('large/*.data'))), (1, 3), 'a launch of 64 ranks is reduced as it ends')
t.run('reduce', 'large')
t.check(reductions('large') == made, 'of all that have ended')
t.run('record', '-q', '-o', 'small', program, env=dict(os.environ, PMI_RANK='0', PMI_SIZE='2', PMIX_NAMESPACE='small'))
t.equal(reductions('small'), {}, 'one of two ranks is not')

# data that were changed, and files that were damaged
first = sorted(glob.glob('many/*.data'))[0]
whole = open(first, 'rb').read()
open(first, 'ab').write(bytes(4096))
t.check(alike(before[('functions',), 'json'], shown(('functions',), 'many', 'json')), 'other data are read themselves')
open(first, 'wb').write(whole)
name = 'many/node0001.reduced'
for what, damaged in (('a changed byte', alone['node0001.reduced'][:3000] + b'\xff\xfe' + alone['node0001.reduced'][3002:]),
                      ('a cut file', alone['node0001.reduced'][:-7]), ('an empty file', b'')):
    open(name, 'wb').write(damaged)
    t.check(alike(before[('functions',), 'json'], shown(('functions',), 'many', 'json')), f'{what}: the data are read')
open(name, 'wb').write(alone['node0001.reduced'])

launch = sorted(glob.glob('many/launch.*'))[5]
kept = json.load(open(launch))
json.dump(dict(kept, has_ended=False), open(launch, 'w'))
run = t.run('reduce', 'many')
t.check(run.returncode == 3 and 'cannot be reduced' in run.stderr, 'a run that goes on is refused', run.stderr)
json.dump(kept, open(launch, 'w'))
t.equal(t.run('list', '--remove', 'many').returncode, 0, 'reductions go with their experiment')
t.check(not os.path.exists('many'), 'nothing stays')
t.done()
