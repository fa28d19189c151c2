"""sonde campaign with launcher = sbatch, against a batch system of the test's own (slurm_standin): runs in jobs, one or
many in each, and the bad days: refused, cancelled, time limit, node gone, no answer, never started, killed and gone on with.

The argument is how often the campaign is killed.
"""
import collections
import glob
import json
import os
import random
import signal
import subprocess
import sys
import time

from sonde_test import HERE, Test

KILLS = int(sys.argv[1]) if len(sys.argv) > 1 else 5
t = Test()
standin = os.path.join(HERE, 'slurm_standin/standin.py')
root = os.path.abspath('standin')
os.makedirs(root + '/jobs')
os.makedirs('bin')
for name in ('sbatch', 'squeue', 'scancel'):
    with open(f'bin/{name}', 'w') as out:
        out.write(f'#!/bin/sh\nexec {sys.executable} {standin} {name} "$@"\n')
    os.chmod(f'bin/{name}', 0o755)
os.environ.update(STANDIN=root, PATH=f"{os.path.abspath('bin')}:{os.environ['PATH']}")

app = t.compile(r'''
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
int main(int argc, char **argv)
{
	volatile double x = 1;
	FILE *starts = fopen("starts", "a");

	fprintf(starts, "%s %s\n", argv[1], argv[2]);
	fclose(starts);
	for (long i = 0; i < 2000000; i++)
		x *= 1.0000001;
	if (atof(argv[1]) < 0) {
		fprintf(stderr, "a last word\n");
		return 3;
	}
	usleep(atof(argv[1]) * 1e6);
	printf("%g\n", x);
	return 0;
}
''', '-O1', '-g', output='./app')


def say(control, text=''):
    with open(f'{root}/{control}', 'w') as out:
        out.write(text)


def unsay(control):
    os.remove(f'{root}/{control}')


def slurm_end(job, how):
    t.command(sys.executable, standin, 'end', job, how)


def plan(name, head='', seconds='0', cases='a b', repeat=2):
    with open(name + '.ini', 'w') as out:
        out.write(f'[campaign]\nlauncher = sbatch\nrepeat = {repeat}\n{head}\n[default]\nprogram = ./app\narguments = {seconds} {{dataset}}\n'
                  f'[sweep]\ndataset = {cases}\n')
    return name + '.ini'


def status(campaign):
    return json.loads(t.run('campaign', 'status', campaign, '--format', 'json').stdout)['runs']


def begin(path, folder, *words, verb='run'):
    return subprocess.Popen([t.sonde, 'campaign', verb, *([path, '-o', folder] if verb == 'run' else [folder]), '--progress', 'lines', *words],
                            stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)


def wait_for(what, holds, seconds=60):
    until = time.monotonic() + seconds
    while not holds() and time.monotonic() < until:
        time.sleep(0.05)
    return t.check(holds(), what)


def states(campaign):
    return collections.Counter(r['state'] for r in status(campaign))


def once(campaign, name, *facts):
    """Every run is done once, in an experiment of its own."""
    rows = [r for r in status(campaign) if r['state'] == 'done']
    t.check(len(rows) == len({(r['configuration'], r['repeat']) for r in rows}) == len({r['experiment'] for r in rows}) == 4 and
            not [r for r in status(campaign) if r['state'] in ('queued', 'running')], name, status(campaign), *facts)


def script_of(campaign, number=1):
    return open(f'{campaign}/jobs/{number}/script').read()


# ---- one job a run, one a block, one of all ----
for each, count in ((None, 4), ('run', 4), ('block', 2), ('all', 1)):
    folder = f'of-{each}'
    before = len(os.listdir(root + '/jobs'))
    run = t.run('campaign', 'run', plan(folder, f'jobs = {each}' if each else '', cases='a "b c"'), '-o', folder, '--progress', 'json')
    rows = status(folder)
    t.check(run.returncode == 0 and len({r['job'] for r in rows}) == count == len(os.listdir(root + '/jobs')) - before,
            f'{folder}: {count} jobs of four runs', run.stderr, rows)
    once(folder, f'{folder}: each run is done once')
    events = [json.loads(line) for line in run.stderr.splitlines() if line.startswith('{')]
    t.check({e['event'] for e in events} == {'queued', 'begin', 'end'} and all(e['job'] for e in events), f'{folder}: progress has jobs', events)
    order = [(r['block'], r['position']) for r in rows]
    t.equal(order, sorted(order), f'{folder}: blocks come one after the other')
words = open(f'{root}/jobs/1/words').read()
t.check('--no-requeue' in words and '--dependency=singleton' in words and '--parsable' in words, 'as sbatch is called', words)
t.check('b c' in open('starts').read(), 'a data set with a blank stays one word')

# ---- scripts ----
with open('mine.sh', 'w') as out:
    out.write('#!/bin/sh\n#SBATCH -n {ranks} -c {threads} -t {time}\nwho=me\necho "${who} begins"\n{command}\n')
with open('t.ini', 'w') as out:
    out.write('[campaign]\nlauncher = sbatch --partition=debug "--comment=a b"\njobs = all\ntimeout = 5m\ntemplate = mine.sh\nstep = env STEP={threads} {command}\n'
              '[default]\nprogram = ./app\narguments = 0 x\n[sweep]\nenvironment.A = 1 2\n')
run = t.run('campaign', 'run', 't.ini', '-o', 'templated')
text = script_of('templated')
t.check(run.returncode == 0 and '#SBATCH -n 1 -c 1 -t 12\n' in text and 'echo "${who} begins"\n' in text and "campaign job" in text,
        'a template is filled in, and the shell keeps its variables', run.stderr, text)
t.check('me begins' in open('templated/jobs/1/output').read(), 'and it runs')
newest = open(f"{root}/jobs/{len(os.listdir(root + '/jobs'))}/words").read()
t.check('--partition=debug --comment=a b ' in newest, 'options of sbatch are passed on', newest)
os.remove('mine.sh')
t.check(open('templated/template').read().startswith('#!/bin/sh\n#SBATCH -n {ranks}'), 'the template is kept with the campaign')
for text, head, words in (('{comand}\n', '', "bad.sh:1: there is nothing to fill in for {comand}; did you mean {command}?"),
                          ('x\n{nodes} {command}\n', '', 'bad.sh:2: {nodes} has no value: set nodes'),
                          ('{time} {command}\n', '', 'bad.sh:1: {time} has no value: set timeout'),
                          ('echo\n', '', 'there is no {command} in it')):
    with open('bad.sh', 'w') as out:
        out.write(text)
    run = t.run('campaign', 'run', plan('bad', 'template = bad.sh\n' + head), '-o', 'bad')
    t.check(run.returncode and words in run.stderr and run.stderr.count('\n') == 1 and not os.path.exists('bad'), f'{words} is told before anything runs', run.stderr)
for text, words in (('launcher = sbatch --wrap {command}', "'step'"), ('jobs = block', 'it needs launcher = sbatch'),
                    ('launcher = sbatch\njobs = some', 'jobs is run, block or all'), ('launcher = sbatch\nparallel = 0', 'parallel takes a whole number'),
                    ('launcher = sbatch\nstep = sbatch', 'step is local, mpirun, srun'),
                    ('launcher = sbatch\ntemplat = x', "did you mean 'template'?")):
    with open('bad.ini', 'w') as out:
        out.write(f'[campaign]\n{text}\n[default]\nprogram = ./app\n')
    run = t.run('campaign', 'run', 'bad.ini', '-o', 'bad')
    t.check(run.returncode and words in run.stderr and not os.path.exists('bad'), f'{text!r} is refused with {words}', run.stderr)
text = t.run('campaign', 'plan', '--launcher', 'sbatch', '--jobs', 'block', '--parallel', '2', '--step', 'srun {command}', '--threads', '1,2', '--', './app').stdout
t.check(all(f'{line}\n' in text for line in ('launcher = sbatch', 'jobs = block', 'parallel = 2', 'step = srun {command}')), 'options as a plan', text)
run = t.run('scale', '--launcher', 'sbatch', '--threads', '1', '--repeat', '2', '-o', 'scaled', '--', app, '0', 'x')
t.check(run.returncode == 0 and [r['state'] for r in status('scaled')] == ['done', 'done'] and status('scaled')[0]['job'], 'sonde scale submits, too', run.stderr)

# ---- runs that fail, and are tried again ----
run = t.run('campaign', 'run', plan('fails', 'retry = 1\njobs = all', seconds='-1', repeat=1, cases='a'), '-o', 'fails')
t.check(run.returncode == 3 and [(r['state'], r['exit_status'], r['reason']) for r in status('fails')] ==
        2 * [('failed', 3, 'exit status 3: a last word')], 'a run that fails in its job', run.stderr, status('fails'))
run = t.run('campaign', 'run', plan('slow', 'timeout = 1', seconds='30', repeat=1, cases='a'), '-o', 'slow')
t.check([(r['state'], r['reason']) for r in status('slow')] == [('failed', 'it ran longer than 1 s')], 'the time limit of a run', status('slow'))

# ---- refused ----
say('refuse', 'Invalid partition name specified')
run = t.run('campaign', 'run', plan('refused'), '-o', 'refused')
reason = 'sbatch refused its job: sbatch: error: Batch job submission failed: Invalid partition name specified'
t.check(run.returncode == 3 and [(r['state'], r['reason']) for r in status('refused')] == 4 * [('failed', reason)],
        'what sbatch refuses has failed, with its words', run.stderr, status('refused'))
unsay('refuse')
run = t.run('campaign', 'resume', 'refused', '--retry', '1')
once('refused', 'and is run when it is tried again', run.stderr)
say('limit', '2')
run = t.run('campaign', 'run', plan('limited'), '-o', 'limited')
once('limited', 'a limit on the number of jobs: the others come when there is room')
t.check(run.returncode == 0 and {r['attempt'] for r in status('limited')} == {1}, 'and none has failed for it', run.stderr)
unsay('limit')
run = t.run('campaign', 'run', plan('nowhere'), '-o', 'nowhere', env={**os.environ, 'PATH': '/usr/bin:/bin'})
if not t.has('/usr/bin/sbatch'):
    t.check(run.returncode and 'there is no sbatch here' in run.stderr, 'no sbatch at all', run.stderr)

# ---- no answer for a while ----
say('silent')
one = begin(plan('silent', 'jobs = block'), 'silent')
time.sleep(1)
unsay('silent')
told = one.communicate()[1]
t.check(told.count('the batch system gives no answer: sbatch: error: Unable to contact slurm controller (connect failure)') == 1 and
        one.returncode == 0, 'a controller that is being started is waited for', told)
once('silent', 'and nothing is doubled')
say('deaf')
one = begin(plan('deaf', repeat=2), 'deaf')
wait_for('a job is taken and the answer is lost', lambda: os.path.exists('deaf/jobs/1/script'))
time.sleep(1)
unsay('deaf')
told = one.communicate()[1]
once('deaf', 'a job that was taken unheard runs nothing', told)

# ---- cancelled by somebody, time limit, node gone, forgotten ----
for how, each, want, sentence in (('CANCELLED', 'all', 'cancelled', 'was cancelled'), ('TIMEOUT', 'block', 'failed', 'ran into its time limit'),
                                  ('NODE_FAIL', 'run', 'cancelled', 'lost its node'), ('forgotten', 'all', 'failed', 'ran into its time limit')):
    folder = f'ends-{how}'
    if how == 'forgotten':
        say('forget')
    one = begin(plan(folder, f'jobs = {each}', seconds='2'), folder)
    wait_for(f'{how}: a run begins', lambda: os.path.exists(folder) and any(r['state'] == 'running' for r in status(folder)))
    slurm_end(status(folder)[0]['job'], 'TIMEOUT' if how == 'forgotten' else how)
    told = one.communicate()[1]
    hit = status(folder)[0]
    t.check(one.returncode == 3 and hit['state'] == want and sentence in hit['reason'] and f"its job {hit['job']} " in hit['reason'],
            f'{how}: the reason is a sentence', hit, told)
    if how == 'CANCELLED':
        t.check(all(r['state'] in ('cancelled', 'queued') for r in status(folder)) and
                len([r for r in status(folder) if 'before it began' in (r['reason'] or '')]) == 3, 'what somebody cancelled is not submitted again', status(folder))
    else:
        t.check(states(folder)['done'] == 3, f'{how}: the other runs are done', status(folder))
    run = t.run('campaign', 'resume', folder, *(['--retry', '1'] if want == 'failed' else []))
    once(folder, f'{how}: resume runs exactly what is missing', run.stderr)
    if how == 'forgotten':
        unsay('forget')
run = begin(plan('moves', seconds='1', repeat=1, cases='a'), 'moves', '--retry', '1')
wait_for('a run begins', lambda: os.path.exists('moves') and any(r['state'] == 'running' for r in status('moves')))
slurm_end(status('moves')[0]['job'], 'NODE_FAIL')
run.communicate()
t.equal([r['state'] for r in status('moves')], ['cancelled', 'done'], 'a lost node is made good within the retries')
with open('empty.sh', 'w') as out:
    out.write('echo no such module >&2\nexit 1\n{command}\n')
run = t.run('campaign', 'run', plan('ended', 'template = empty.sh', repeat=1), '-o', 'ended')
t.check(all(r['state'] == 'failed' and r['reason'] == f"its job {r['job']} ended before it began: no such module" for r in status('ended')) and
        len(status('ended')) == 2, 'a script that never comes to its command', status('ended'))

say('blind')
run = t.run('campaign', 'run', plan('blind', repeat=1, cases='a'), '-o', 'blind')
unsay('blind')
t.check([(r['state'], r['reason']) for r in status('blind')] == [('failed', f"its job {status('blind')[0]['job']} ended before it began, and left no output: "
        "do the nodes see the campaign's folder?")], 'a node that does not see the folder', status('blind'), run.stderr)
done = t.run('campaign', 'job', os.path.abspath('not-here'), '1')
t.check(done.returncode and 'this node does not see' in done.stderr and done.stderr.count('\n') == 1, 'which the job itself says, too', done.stderr)

# ---- archives ----
for name, head, more, redact in (('packed', 'step = local', '', []), ('hidden', 'step = env X=1 {command}', '', ['--redact', 'arguments']),
                                 ('ranks', 'timeout = 20', 'ranks = 2\n', ['--redact', 'environment,arguments'])):
    with open(plan(name, 'jobs = all\n' + head, repeat=1, cases='a'), 'a') as out:
        out.write(more)
    t.run('campaign', 'run', name + '.ini', '-o', name)
    run = t.run('archive', name, '-o', name + '.sonde', *redact)
    want = [(r['configuration'], r['state'], r['job']) for r in status(name)]
    done = t.run('campaign', 'status', name + '.sonde', '--format', 'json')
    t.check(done.returncode == 0 and [(r['configuration'], r['state'], r['job']) for r in json.loads(done.stdout)['runs']] == want and want[0][2],
            f'{name}: an archive of a campaign in jobs can be read', run.stderr, done.stderr, want)

# ---- never starts; cancelled from elsewhere; the budget ----
say('hold', 'PartitionConfig')
one = begin(plan('held', seconds='0.1'), 'held')
wait_for('four jobs wait', lambda: os.path.exists('held') and [r['reason'] for r in status('held')] == 4 * ['waits in the queue: PartitionConfig'])
rows = status('held')
t.check(all(r['state'] == 'queued' and r['job'] for r in rows) and len({r['job'] for r in rows}) == 4, 'queued jobs have their numbers', rows)
time.sleep(1.5)
done = t.run('campaign', 'cancel', 'held')
told = one.communicate()[1]
t.check('waits in the queue (PartitionConfig), which may never end' in told and one.returncode == 3, 'a job that may never start is told of', told)
numbers = [r['job'] for r in rows]
t.check(all(open(f'{root}/jobs/{n}/state').read() == 'CANCELLED' for n in numbers) and set(states('held')) == {'cancelled'},
        'cancel cancels queued jobs', status('held'))
one = begin(None, 'held', verb='resume')
wait_for('they are submitted again', lambda: [r['state'] for r in status('held') if r['job']].count('queued') == 4)
one.kill()
one.communicate()
rows = [r for r in status('held') if r['state'] == 'queued']
t.check(len(rows) == 4 and all(r['reason'] == 'waits in the queue: PartitionConfig' for r in rows), 'jobs of a killed campaign wait on', status('held'))
done = t.run('campaign', 'cancel', 'held')
t.check(done.returncode == 0 and all(open(f"{root}/jobs/{r['job']}/state").read() == 'CANCELLED' for r in rows), 'and cancel cancels them, too', done.stderr)
run = t.run('campaign', 'resume', 'held', '--budget', '2')
t.check(run.returncode == 3 and 'the budget is used up' in run.stderr and len([r for r in status('held') if r['reason'] == 'the budget was used up while it waited in the queue']) == 4,
        'waiting counts for the budget', run.stderr, status('held'))
unsay('hold')
run = t.run('campaign', 'resume', 'held')
once('held', 'and resume runs them all', run.stderr)

# ---- who hangs up leaves the jobs ----
one = begin(plan('hangs', seconds='0.5'), 'hangs')
wait_for('a run begins', lambda: os.path.exists('hangs') and any(r['state'] == 'running' for r in status('hangs')))
one.send_signal(signal.SIGHUP)
one.communicate()
wait_for('jobs go on when who submitted them hangs up', lambda: len(glob.glob('hangs/runs/*.job/end')) == 4)
t.check(all(r['reason'] == "it has ended; 'sonde campaign resume' takes it in" for r in status('hangs') if r['state'] != 'done'), 'and status says so', status('hangs'))
before = open('starts').read()
run = t.run('campaign', 'resume', 'hangs')
once('hangs', 'resume takes in what ended meanwhile')
t.equal(open('starts').read(), before, 'and runs nothing')

# ---- levels ----


def levels(campaign):
    return collections.Counter((r['configuration'], r['level']) for r in status(campaign) if r['level'] == 2)


run = t.run('campaign', 'run', plan('levels', 'jobs = all\nlevel = 2\ntimeout = 30'), '-o', 'levels')
rows = status('levels')
t.check(run.returncode == 0 and sorted(levels('levels').values()) == [1, 1] and all(r['state'] == 'done' for r in rows),
        'level 2 in jobs: one run of each configuration has it', run.stderr, rows)
scripts = sorted(glob.glob('levels/jobs/*/script'))
t.check(len(scripts) == 3 and '--time=7\n' in open(scripts[-1]).read(), 'in jobs of their own, with time for it', scripts, open(scripts[-1]).read())
folder = next(r['experiment'] for r in rows if r['level'] == 2)
t.check(len(t.show('instances', experiment='levels/' + folder)['rows']) > 0, 'and its loops have instances')
run = t.run('archive', 'levels', '-o', 'levels.sonde')
done = t.run('campaign', 'status', 'levels.sonde', '--format', 'json')
t.check(run.returncode == 0 and [r['level'] for r in json.loads(done.stdout)['runs']] == [r['level'] for r in rows], 'an archive has them', run.stderr, done.stderr)

one = begin(plan('level-ends', 'jobs = block\nlevel = 2', seconds='3', repeat=1, cases='a'), 'level-ends')
wait_for('status says which job adds a level',
         lambda: os.path.exists('level-ends/state.jsonl') and [r['reason'] for r in status('level-ends') if 'adds level 2' in (r['reason'] or '')])
job = status('level-ends')[0]['reason'].split()[1]
wait_for('it begins', lambda: glob.glob('level-ends/runs/*.level*.job'))
slurm_end(job, 'NODE_FAIL')
told = one.communicate()[1]
t.check(one.returncode == 3 and status('level-ends')[0]['reason'] == f'level 2 is missing: its job {job} ended while it was added' and
        status('level-ends')[0]['state'] == 'done', 'a node that fails meanwhile: the run stays, the level is missing', status('level-ends'), told)
one = begin(None, 'level-ends', verb='resume')
wait_for('resume submits it again', lambda: 'adds level 2' in (status('level-ends')[0]['reason'] or ''))
one.kill()
one.communicate()
run = t.run('campaign', 'resume', 'level-ends')
t.check(run.returncode == 0 and status('level-ends')[0]['level'] == 2 and len(glob.glob('level-ends/runs/*.level*.job/end')) == 1,
        'a killed campaign takes in what the job adds, and submits no second one', run.stderr, status('level-ends'), glob.glob('level-ends/runs/*'))
one = begin(plan('level-cancel', 'jobs = block\nlevel = 2', seconds='3', repeat=1, cases='a'), 'level-cancel')
wait_for('it begins', lambda: glob.glob('level-cancel/runs/*.level*.job'))
one.kill()
one.communicate()
job = status('level-cancel')[0]['reason'].split()[1]
done = t.run('campaign', 'cancel', 'level-cancel')
t.check(done.returncode == 0 and open(f'{root}/jobs/{job}/state').read() == 'CANCELLED' and
        status('level-cancel')[0]['reason'].startswith('level 2 is missing: '), 'cancel cancels the job of a killed campaign', status('level-cancel'), done.stderr)
say('refuse', 'no')
refused = t.run('campaign', 'resume', 'level-cancel')
unsay('refuse')
t.check(refused.returncode == 3 and 'sbatch refused its job: ' in status('level-cancel')[0]['reason'], 'what sbatch refuses is told', status('level-cancel'), refused.stderr)

# ---- killed at random, gone on with ----
chance = random.Random(196)
for each in ('run', 'block', 'all', 'levels'):
    folder = f'killed-{each}'
    os.remove('starts')
    path, kills = plan(folder, 'jobs = all\nlevel = 2' if each == 'levels' else f'jobs = {each}', seconds='0.2'), 0
    one = begin(path, folder)
    wait_for('it begins', lambda: os.path.exists(folder + '/state.jsonl') or one.poll() is not None)
    for _ in range(KILLS):
        time.sleep(chance.uniform(0, 0.7))
        one.kill()
        one.communicate()
        kills += 1
        one = begin(None, folder, verb='resume')
    told = one.communicate()[1]
    once(folder, f'killed {kills} times: no run is lost and none is doubled', told)
    if each == 'levels':
        t.check(one.returncode == 0 and sorted(levels(folder).values()) == [1, 1] and not [r for r in status(folder) if r['reason']],
                'nor a level', status(folder), told)
        break
    counts = collections.Counter(open('starts').read().splitlines())
    attempts = collections.Counter(r['configuration'].split('=')[1] for r in status(folder) if r['state'] == 'done' or r['experiment'])
    t.check(one.returncode == 0 and all(counts[f'0.2 {name}'] <= attempts[name] for name in 'ab'), 'nothing ran that the campaign does not know',
            counts, status(folder), told)
t.done()
