"""Bad days of campaigns: a clock that is set back, folders that are moved or removed, a disk that is full, experiments of two
versions of sonde or of two machines in one set.
"""
import glob
import json
import os
import shutil
import subprocess
import time

from sonde_test import Test

t = Test()
app = t.compile(r'''
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
int main(int argc, char **argv)
{
	volatile double x = 1;
	FILE *starts = fopen("starts", "a");

	if (starts) {
		fputs("x", starts);
		fclose(starts);
	}
	for (long i = 0; i < 60000000; i++)
		x *= 1.0000001;
	usleep(argc > 1 ? (unsigned)(atof(argv[1]) * 1e6) : 0);
	printf("%g\n", x);
	return 0;
}
''', '-O1', '-g', output='./app')


def plan(name, head='repeat = 2', seconds='0'):
    with open(name, 'w') as out:
        out.write(f'[campaign]\n{head}\n[default]\nprogram = {os.path.abspath("app")}\narguments = {seconds}\n[sweep]\nenvironment.CASE = a b\n')
    return name


def status(campaign):
    return json.loads(t.run('campaign', 'status', campaign, '--format', 'json').stdout)['runs']


def done_once(campaign, count=4):
    rows = status(campaign)
    done = [(r['configuration'], r['repeat']) for r in rows if r['state'] == 'done']
    return len(done) == len(set(done)) == count and {r['state'] for r in rows} <= {'done', 'cancelled', 'failed'}


def begin(path, folder, **more):
    return subprocess.Popen([t.sonde, 'campaign', 'run', path, '-o', folder, '--progress', 'lines'], stdin=subprocess.DEVNULL,
                            stderr=subprocess.PIPE, text=True, **more)


def wait_for(what, holds, seconds=60):
    until = time.monotonic() + seconds
    while not holds() and time.monotonic() < until:
        time.sleep(0.02)
    return t.check(holds(), what)


# ---- a clock that is set back ----
libraries = glob.glob('/usr/lib/*/faketime/libfaketime.so.1')
if libraries:
    with open('clock', 'w') as out:
        out.write('+0')
    faked = {**os.environ, 'LD_PRELOAD': libraries[0], 'FAKETIME_TIMESTAMP_FILE': os.path.abspath('clock'), 'FAKETIME_NO_CACHE': '1',
             'FAKETIME_DONT_FAKE_MONOTONIC': '1', 'DONT_FAKE_MONOTONIC': '1'}
    one = begin(plan('clock.ini', 'repeat = 3\ntimeout = 100\nbudget = 1000', seconds='0.3'), 'clocked', env=faked)
    wait_for('a run has begun', lambda: glob.glob('clocked/runs/*.out'))
    with open('clock.new', 'w') as out:
        out.write('-400d')
    os.rename('clock.new', 'clock')
    told = one.communicate()[1]
    rows = status('clocked')
    t.check(one.returncode == 0 and done_once('clocked', 6) and all(0 < r['elapsed_s'] < 100 for r in rows),
            'the clock is set back by a year while a run is in progress: all runs are done, and none took a negative time', told, rows)
    run = t.run('diff', 'clocked', '--format', 'json', env=faked)
    got = json.loads(run.stdout)
    # equal runs are called different at a stated rate: then, and only then, the exit status is 1
    differs = any(cell['verdict'] in ('slower', 'faster') for row in got['rows'] for cell in row['cells'])
    t.check(run.returncode == differs and got['design'] == 'blocks', 'and they are compared block by block', run.returncode, run.stderr, run.stdout[:300])
    one = begin('clock.ini', 'clocked2', env=faked)
    wait_for('a run has begun', lambda: glob.glob('clocked2/runs/*.out'))
    one.kill()
    one.communicate()
    run = t.run('campaign', 'resume', 'clocked2')
    t.check(run.returncode == 0 and done_once('clocked2', 6), 'a campaign that began in the past is gone on with in the present', run.stderr, status('clocked2'))
else:
    t.skip('a clock that is set back', 'libfaketime is not there')

# ---- a folder that is removed or moved while runs go on ----
for how in ('removed', 'moved'):
    one = begin(plan('folder.ini', seconds='0.5'), how)
    wait_for(f'{how}: a run has begun', lambda: glob.glob(f'{how}/runs/*.out'))
    if how == 'removed':
        while os.path.exists(how):
            shutil.rmtree(how, ignore_errors=True)
    else:
        os.rename(how, 'elsewhere')
    told = one.communicate()[1]
    t.check(one.returncode == 5 and [line for line in told.splitlines() if 'was moved or removed while the campaign ran' in line] and
            'campaign status' not in told, f'a folder that is {how}: the campaign ends at once, and says why', one.returncode, told)
    t.check(not os.path.exists(how + '/state.jsonl'), f'and no state is begun anew where it was {how}')
run = t.run('campaign', 'resume', 'elsewhere')
t.check(run.returncode == 0 and done_once('elsewhere'), 'a campaign is gone on with where it was moved to', run.stderr, status('elsewhere'))
shutil.rmtree('elsewhere/runs')
rows = status('elsewhere')
t.check(all(r['reason'] == 'its experiment is not there any more' for r in rows if r['state'] == 'done'), 'experiments that were removed are told of', rows)
run = t.run('scalability', 'elsewhere')
t.check(run.returncode == 3 and 'not there any more' in run.stderr, 'and nothing is computed of them', run.returncode, run.stderr)

# ---- a disk that is full ----
if not os.geteuid() and t.command('unshare', '-m', 'mount', '-t', 'tmpfs', 'none', '/mnt').returncode == 0:
    script = f'''
mkdir small && mount -t tmpfs -o size=192k none small || exit 77
{t.sonde} campaign run {plan('full.ini')} -o small/c --retry 0; echo "run $?"
{t.sonde} campaign status small/c --format json; echo "status $?"
mount -o remount,size=64m small
{t.sonde} campaign resume small/c --retry 1; echo "resume $?"
cp -a small/c full
'''
    run = t.command('unshare', '-m', 'sh', '-c', script)
    if os.path.exists('full'):
        t.check('resume 0' in run.stdout and done_once('full'), 'a disk that is full: with room again resume runs what is missing', run.stdout, run.stderr, status('full'))
        bad = [r for r in status('full') if r['state'] != 'done']
        t.check(all(r['reason'] for r in bad) and not [line for line in run.stderr.splitlines() if not line.startswith(('sonde: ', '['))],
                'and what went wrong is told in sentences', bad, run.stderr)
    else:
        t.skip('a disk that is full', 'no small file system can be mounted')
else:
    t.skip('a disk that is full', 'file systems are mounted by root only')

# ---- runs of two versions of sonde, and of two machines, in one set ----
t.run('campaign', 'run', plan('sets.ini', 'repeat = 3'), '-o', 'sets', '-q')
runs = {case: [f"sets/{r['experiment']}" for r in status('sets') if r['configuration'] == f'CASE={case}'] for case in 'ab'}
words = [*runs['a'], ':', *runs['b']]
t.check('versions of sonde' not in t.run('diff', *words).stdout, 'runs of one version are not warned of')


def change(experiment, key, value):
    path, = glob.glob(f'{experiment}/launch.*.json')
    with open(path) as text:
        root = json.load(text)
    t.check(key in root, f'experiments say their {key}')
    root[key] = value
    with open(path, 'w') as out:
        json.dump(root, out)


change(runs['b'][1], 'version', '0.0.1-other')
text = t.run('diff', *words).stdout
t.check('warning: ' in text and 'recorded by different versions of sonde (' in text and '0.0.1-other' in text, 'two versions of sonde in one set are told of', text[:600])
change(runs['b'][1], 'cpu_model', 'Another Processor')
text = t.run('diff', 'sets').stdout
t.check('recorded on different processors (' in text and 'Another Processor' in text, 'two processors in one set are told of', text[:600])
t.check('recorded by different versions of sonde (' in text and text.count('different versions') == 1, 'of a campaign, too, and once', text[:600])
t.done()
