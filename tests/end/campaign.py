"""sonde campaign: plans run in blocks, killed at random moments and gone on with, programs that misbehave.

The argument is how often the campaign is killed.
"""
import collections
import fcntl
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time

from sonde_test import Test

KILLS = int(sys.argv[1]) if len(sys.argv) > 1 else 6
t = Test()

PROGRAM = r'''
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static volatile double sink;

static void *work(void *arg)
{
	double x = 1;

	for (long i = 0; i < 3000000; i++)
		x = x * 1.0000001 + 1e-9;
	sink = x;
	return arg;
}

static void count(void)
{
	FILE *out = fopen("starts", "a");

	fputs("x", out);
	fclose(out);
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "work", *threads = getenv("OMP_NUM_THREADS");
	int n = threads && strcmp(what, "ignore") ? atoi(threads) : 1;
	pthread_t team[16];

	count();
	if (!strcmp(what, "ask")) {
		char line[80];

		printf("your name? ");
		return fgets(line, sizeof(line), stdin) ? 0 : 7;
	}
	if (!strcmp(what, "hang"))
		for (signal(SIGTERM, SIG_IGN);;)
			pause();
	if (!strcmp(what, "sometimes") && access("failed-once", F_OK)) {
		fclose(fopen("failed-once", "w"));
		fprintf(stderr, "cannot open =cmd </script> \033[31m\n\n");
		return 1;
	}
	for (int i = 1; i < n; i++)
		pthread_create(&team[i], NULL, work, NULL);
	work(NULL);
	for (int i = 1; i < n; i++)
		pthread_join(team[i], NULL);
	printf("%s\n", argc > 2 ? argv[2] : "fine");
	return 0;
}
'''
app = t.compile(PROGRAM, '-O1', '-g', '-pthread', output='./app')


def plan(name, text):
    with open(name, 'w') as out:
        out.write(text)
    return name


def status(campaign):
    done = t.run('campaign', 'status', campaign, '--format', 'json')
    return json.loads(done.stdout) if done.returncode == 0 else done


def starts():
    return os.path.getsize('starts') if os.path.exists('starts') else 0


# ---- a plan, run ----
path = plan('a.ini', '''# two threads counts, three times
[campaign]
repeat = 3
[default]
program = ./app
arguments = work "{threads} of them"
environment.COLOUR = {threads}
[sweep]
threads = 1, 2
''')
run = t.run('campaign', 'run', path, '-o', 'first', '--seed', '5')
lines = [line for line in run.stderr.splitlines() if line.startswith('[')]
t.check(run.returncode == 0 and run.stdout == '' and len(lines) == 6 and 'seed 5' in run.stderr,
        'a campaign runs to its end and tells of each run', run.stderr)
t.check(run.stderr.endswith('sonde: first; sonde show scalability first\n'), 'workers that differ may scale', run.stderr[-200:])
got = status('first')
t.equal(list(got), ['schema', 'campaign', 'plan', 'seed', 'level', 'order', 'runs'], 'members of sonde.campaign/1')
t.equal(list(got['runs'][0]), ['configuration', 'repeat', 'attempt', 'block', 'position', 'state', 'exit_status',
                               'experiment', 'job', 'elapsed_s', 'level', 'reason'], 'members of a run')
t.check((got['schema'], got['campaign'], got['seed'], got['level'], got['order']) ==
        ('sonde.campaign/1', 'first', 5, 1, 'blocks') and all(r['state'] == 'done' for r in got['runs']),
        'all runs are done', got)
t.equal(sorted((r['configuration'], r['repeat']) for r in got['runs']),
        sorted((f'threads={n}', b) for n in (1, 2) for b in (1, 2, 3)), 'each configuration ran once a block')
t.check([r['block'] for r in got['runs']] == [1, 1, 2, 2, 3, 3], 'block after block', got)
again = t.run('campaign', 'run', path, '-o', 'second', '--seed', '5')
t.equal([r['configuration'] for r in status('second')['runs']], [r['configuration'] for r in got['runs']],
        'the same seed gives the same order')
experiments = [f"first/{r['experiment']}" for r in got['runs']]
summary = t.show('summary', experiment=experiments[0])
t.check(summary['exit_status'] == 0, 'a run is an experiment as any other', summary)
output = open(experiments[0] + '.out').read()
t.equal(output, f"{got['runs'][0]['configuration'][-1]} of them\n", 'placeholders are filled in; output is kept')
before = starts()
done = t.run('campaign', 'resume', 'first')
t.check(done.returncode == 0 and starts() == before, 'resume of what is done runs nothing', done.stderr)
done = t.run('campaign', 'run', path, '-o', 'first')
t.check(done.returncode == 2 and 'exists already' in done.stderr, 'a campaign is never overwritten', done.stderr)

# ---- killed and gone on with ----
plan('kill.ini', '''[campaign]
repeat = 4
[default]
program = ./app
[sweep]
threads = 1 2
''')
chance = random.Random(14)
subprocess.run([t.sonde, 'campaign', 'run', 'kill.ini', '-o', 'killed', '--seed', '1', '--budget', '0.001', '-q'],
               stdin=subprocess.DEVNULL, check=False)
os.remove('starts')
kills = 0
for round_number in range(KILLS):
    if round_number and all(r['state'] == 'done' for r in status('killed')['runs']):
        break
    victim = subprocess.Popen([t.sonde, 'campaign', 'resume', 'killed', '--budget', '1h', '-q'], stdin=subprocess.DEVNULL)
    time.sleep(chance.uniform(0, 0.5))
    victim.send_signal(signal.SIGKILL)
    victim.wait()
    kills += 1
    state = status('killed')
    t.check(isinstance(state, dict), f'kill {kills}: the state can be read', state)
done = t.run('campaign', 'resume', 'killed', '--budget', '1h')
got = status('killed')
good = collections.Counter((r['configuration'], r['repeat']) for r in got['runs'] if r['state'] == 'done')
t.check(done.returncode == 0 and len(good) == 8 and set(good.values()) == {1},
        f'killed {kills} times, no run is lost and none is doubled', done.stderr, got)
t.check(all(r['state'] in ('done', 'cancelled') for r in got['runs']), 'other attempts are cancelled', got)
t.check(len({r['experiment'] for r in got['runs'] if r['state'] == 'done'}) == 8, 'each has an experiment of its own')
left = subprocess.run(['pgrep', '-f', os.path.join(t.folder, 'killed')], capture_output=True, text=True, check=False)
t.equal(left.stdout, '', 'no process is left')

# ---- programs that misbehave ----
plan('bad.ini', '''[campaign]
timeout = 1s
[default]
program = ./app
threads = 2
[configuration fine]
arguments = work
[configuration "asks; rm -rf /"]
arguments = ask
[configuration hangs]
arguments = hang
[configuration =ignores]
arguments = ignore
[configuration sometimes]
arguments = sometimes
[configuration "</script> $(x) `y` 'z'"]
program = ./nothing-there
''')
run = t.run('campaign', 'run', 'bad.ini', '-o', 'bad', '--retry', '1', '--progress', 'json')
got = status('bad')
by_name = collections.defaultdict(list)
for r in got['runs']:
    by_name[r['configuration']].append(r)
t.check(run.returncode == 3 and '4 runs are not done' in run.stderr, 'missing runs give exit status 3', run.stderr)
t.check("'sonde campaign resume --retry 2 bad' tries failed ones again" in run.stderr,
        'what failed for good needs more retries, and it is said how many', run.stderr)
events = [json.loads(line) for line in run.stderr.splitlines() if line.startswith('{')]
t.check(events and all(e['total'] == 6 for e in events) and {e['event'] for e in events} == {'begin', 'end'},
        'progress as JSON', run.stderr)
t.check([r['state'] for r in by_name['fine']] == ['done'], 'what is well is done', by_name['fine'])
rows = by_name['asks; rm -rf /']
t.check([r['exit_status'] for r in rows] == [7, 7] and 'your name?' in rows[0]['reason'],
        'a program that asks gets no answer; its last words are kept', rows)
rows = by_name['hangs']
t.check(len(rows) == 2 and all(r['state'] == 'failed' and 'longer than 1 s' in r['reason'] for r in rows),
        'a program that hangs and ignores SIGTERM is ended', rows)
rows = by_name['=ignores']
t.check(all(r['state'] == 'failed' and '1 thread ran in a rank where 2 were asked for' in r['reason'] for r in rows),
        'another number of threads than asked for has failed', rows)
rows = by_name['sometimes']
t.check([(r['state'], r['exit_status']) for r in rows] == [('failed', 1), ('done', 0)] and
        '\x1b' not in rows[0]['reason'] and '=cmd </script>' in rows[0]['reason'],
        'a failed run is tried again and stays as a row', rows)
rows = by_name["</script> $(x) `y` 'z'"]
t.check(rows and rows[0]['state'] == 'failed' and rows[0]['experiment'] is None and 'nothing-there' in rows[0]['reason'],
        'a program that is not there', rows)
csv = t.run('campaign', 'status', 'bad', '--format', 'csv').stdout
t.check("'=ignores" in csv and '\n=' not in csv, 'CSV has no formulas')

os.makedirs('lone/sonde.x.campaign.1')
shutil.copy('bad/state.jsonl', 'lone/sonde.x.campaign.1')
told = [t.run('report', cwd='lone').stderr, t.run('show', 'functions', 'bad').stderr]
t.check('but a campaign' in told[0] and 'is a campaign, not an experiment' in told[1],
        'who asks a campaign for an experiment is told of its runs', told)
done = next(r['experiment'] for r in status('bad')['runs'] if r['state'] == 'done' and r['experiment'])
told = [t.run('show', 'functions', 'bad').stderr, t.run('show', 'global', f'bad/{done}.err').stderr]
named = re.search(r"such as '([^']+)'", told[0])
t.check(named and t.run('show', 'functions', named[1]).returncode == 0 and 'is what a run wrote' in told[1],
        'and which one the same command takes; what a run wrote is no experiment', told)
again = t.run('campaign', 'resume', 'bad', '--retry', '2')
t.check(len([r for r in status('bad')['runs'] if r['configuration'] == 'asks; rm -rf /']) == 3 and
        'resume --retry 3 bad' in again.stderr, 'and so they are tried again', again.stderr)

# ---- what launchers say ----
with open('refuses', 'w') as out:
    out.write('''#!/bin/sh
case $1 in
    slots) printf '%s\\n' "$RULE" 'There are not enough slots for the 9' 'that were asked for.' '' 'Ask for fewer to' 'launch.' "$RULE" >&2;;
    fails) printf '%s\\n' 'disk quota exceeded' "$RULE" 'Primary job  ended' 'badly.' "$RULE" "$RULE" \\
        'mpirun detected that one failed.' '' '  Exit code:    1' "$RULE" >&2;;
    rule) printf '%s\\n' 'begins' "$RULE" 'no such file' >&2;;
esac
exit 1
''')
os.chmod('refuses', 0o755)
plan('refused.ini', f'''[default]
program = {os.path.abspath('refuses')}
environment.RULE = {74 * '-'}
[sweep]
arguments = slots fails rule
''')
t.run('campaign', 'run', 'refused.ini', '-o', 'refused', '-q')
t.equal({r['configuration'].split('=')[-1]: r['reason'] for r in status('refused')['runs']},
        {'slots': 'exit status 1: There are not enough slots for the 9 that were asked for.', 'fails': 'exit status 1: disk quota exceeded',
         'rule': 'exit status 1: no such file'}, 'the last words are of what was wrong, not of how launchers end')

# ---- builds ----
os.mkdir('src')
plan('src/x.c', 'int main(void) { volatile double x = 1; for (int i = 0; i < 20000000; i++) x *= 1.01; return 0; }\n')
plan('src/build.ini', '''[default]
program = {build}/x
[configuration O1]
build = gcc -O1 -o {build}/x x.c
[configuration O2]
build = gcc -O2 -o {build}/x x.c
[configuration broken]
build = sh -c 'echo "x.c:3: error: -no-such-option" >&2; echo "make: *** [x] Error 1" >&2; exit 2'
[sweep]
environment.N = 1 2
''')
run = t.run('campaign', 'run', 'src/build.ini', '-o', 'built', '--progress', 'lines')
got = status('built')['runs']
t.check('; sonde diff built' in run.stderr, 'runs of one number of workers are to be compared', run.stderr)
t.check(run.stderr.count(': build\n') == 3, 'a build runs once for all points of its configuration', run.stderr)
t.equal(collections.Counter((r['configuration'].split()[0], r['state']) for r in got),
        {('O1', 'done'): 2, ('O2', 'done'): 2, ('broken', 'failed'): 2}, 'a build that fails fails its runs only')
t.check(all('status 2: x.c:3: error: -no-such-option (builds/' in r['reason'] and '/build.log)' in r['reason']
            for r in got if r['state'] == 'failed'), 'with the first error of the compiler, and where all of them are', got)
t.check(run.stderr.count('broken N=1: the build failed with exit status 2: x.c:3: error') == 1, 'it is told when it happens', run.stderr)

# ---- stopped, cancelled, two at once ----
plan('slow.ini', '[campaign]\nrepeat = 3\n[default]\nprogram = sleep\narguments = 0.6\n')
one = subprocess.Popen([t.sonde, 'campaign', 'run', 'slow.ini', '-o', 'slow'], stdin=subprocess.DEVNULL,
                       stderr=subprocess.PIPE, text=True)
while not os.path.exists('slow/lock'):
    time.sleep(0.01)
time.sleep(0.3)
second = t.run('campaign', 'resume', 'slow')
t.check(second.returncode == 2 and 'runs the campaign' in second.stderr, 'one campaign is run by one', second.stderr)
other = t.run('campaign', 'run', 'slow.ini', '-o', 'beside')
t.check(other.returncode == 0 and 'another campaign runs on this machine' in other.stderr,
        'two campaigns at once both end, and it is said', other.stderr)
one.wait()
one = subprocess.Popen([t.sonde, 'campaign', 'run', 'slow.ini', '-o', 'stopped'], stdin=subprocess.DEVNULL,
                       stderr=subprocess.PIPE, text=True)
while not os.path.exists('stopped/lock'):
    time.sleep(0.01)
time.sleep(0.3)
done = t.run('campaign', 'cancel', 'stopped')
one.wait()
states = [r['state'] for r in status('stopped')['runs']]
t.check(done.returncode == 0 and one.returncode == 3 and 'queued' not in states and 'cancelled' in states,
        'cancel stops a campaign', done.stdout, states, one.stderr.read())
t.check(t.run('campaign', 'resume', 'stopped').returncode == 0 and
        [r['state'] for r in status('stopped')['runs']].count('done') == 3, 'resume goes on with it')

# ---- made by hand ----
t.run('record', '-o', 'hand', '-q', app)
done = t.run('campaign', 'add', 'first', 'hand', '--configuration', 'threads=1')
got = status('first')['runs']
t.check(done.returncode == 0 and len(got) == 7 and got[-1]['configuration'] == 'threads=1' and
        got[-1]['repeat'] == 4, 'an experiment is added to a configuration', done.stderr, got)
done = t.run('campaign', 'add', 'first', 'hand')
t.check(done.returncode == 2 and 'already' in done.stderr, 'and only once', done.stderr)
t.run('record', '-o', 'hand2', '-q', app)
done = t.run('campaign', 'add', 'first', 'hand2')
got = status('first')['runs'][-1]
t.check(done.returncode == 0 and (got['configuration'], got['repeat']) == ('threads=1', 5),
        'without a name it joins those with as many threads', done.stderr, got)

# another program: in no configuration with these, nor in their series, and told
shutil.copy(app, 'stranger')
t.run('record', '-o', 'hand3', '-q', './stranger')
done = t.run('campaign', 'add', 'first', 'hand3', '--configuration', 'threads=1')
t.check(done.returncode == 2 and 'ran stranger' in done.stderr and '--configuration NAME' in done.stderr and len(status('first')['runs']) == 8,
        'a run of another program does not join a configuration', done.stderr)
done = t.run('campaign', 'add', 'first', 'hand3')
got = status('first')['runs'][-1]
t.check(done.returncode == 0 and got['configuration'] == 'stranger threads=1' and 'ran stranger' in done.stderr and 'series of its own' in done.stderr,
        'it has a configuration of its own, with a warning', done.stderr, got)
scaling = json.loads(t.run('scalability', 'first', '-f', 'json').stdout)
t.check(all(r['efficiency'] in (1, None) for r in scaling['rows'] if r['configuration'] == 'stranger threads=1') and not any('two programs' in w for w in scaling['warnings']),
        'and is set against no other', scaling['rows'][:4])
# a campaign of an older version has them mixed
shutil.copytree('first', 'mixed')
with open('mixed/state.jsonl') as old:
    lines = [json.loads(line) for line in old]
with open('mixed/state.jsonl', 'w') as new:
    for line in lines:
        line.pop('program', None)
        new.write(json.dumps(line) + '\n')
mixed = json.loads(t.run('scalability', 'mixed', '-f', 'json').stdout)
t.check(any('two programs' in w and 'stranger' in w for w in mixed['warnings']), 'two programs in one series are warned of', mixed['warnings'])

with open('first/lock', 'a') as own, open(f'/tmp/sonde-campaign.{os.geteuid()}.lock', 'a') as machine: # as one that runs has them
    fcntl.flock(own, fcntl.LOCK_EX)
    try:
        fcntl.flock(machine, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        pass # another test's campaign runs: the same to us
    done = t.run('campaign', 'resume', 'first')
t.check(done.returncode == 2 and 'already' in done.stderr and 'another campaign' not in done.stderr,
        'a campaign that runs is not called another one', done.stderr)

# ---- a program that is not there ----
plan_of = '[campaign]\nrepeat = 1\n[default]\nprogram = ./gone\n[configuration first]\n[configuration second]\n'
for name, text in (('gone.ini', plan_of), ('some.ini', plan_of + 'program = ./here\n'), ('here', '#!/bin/sh\n')):
    with open(name, 'w') as out:
        out.write(text)
os.chmod('here', 0o755)
run = t.run('campaign', 'run', 'gone.ini', '-o', 'gone')
t.check(run.returncode == 127 and run.stderr.startswith("sonde: configuration 'first': cannot run ") and run.stderr.count('\n') == 1
        and not os.path.exists('gone'), 'a plan whose program is missing ends at once, with one sentence and no folder', run)
run = t.run('campaign', 'run', 'some.ini', '-o', 'some')
t.check("1 of 2 configurations cannot run, 'first' for one: cannot run" in run.stderr.splitlines()[0] and os.path.exists('some'),
        'if some are there, those run, and the others are told of at once', run.stderr)
os.mkdir('within')
run = t.run('scale', '--threads', '1', '--repeat', '1', '--directory', 'within', '-o', 'elsewhere', '--', './here')
t.check('cannot run' not in run.stderr.splitlines()[0] and os.path.exists('elsewhere'), 'a program is looked for where runs will look for it', run.stderr)
run = t.run('scale', '--threads', '1,,2', '--', './here')
t.check(run.returncode == 2 and run.stderr == "sonde: the list '1,,2' of threads has a comma too many: write 1, 2, 4\n", 'an empty number of threads is refused', run)

# ---- none is done ----
run = t.run('scale', '--threads', '1', '--repeat', '1', '-o', 'none-done', '--', '/bin/false')
t.check(run.returncode == 3 and run.stderr.rstrip().endswith('sonde campaign status none-done'),
        'where no run is done, advice is to see why', run.stderr)
done = t.run('diff', 'none-done')
t.check(done.returncode == 3 and "no run of 'none-done' is done" in done.stderr, 'which a comparison says, too', done.stderr)

# ---- words ----
run = t.run('campaign')
done = t.run('help', 'campaign')
t.check(done.returncode == 0 and done.stdout == run.stderr and 'sonde campaign add' in done.stdout,
        'help lists the commands of campaigns', done.stdout, done.stderr)
for words in (['campaign', 'bogus'], ['help', 'campaign', 'bogus']):
    done = t.run(*words)
    t.check(done.returncode == 2 and "no command 'campaign bogus'" in done.stderr, ' '.join(words), done.stderr)
run = t.run('scale', '--threads', '1', '--dataset', f"{'1' * 60},{'1' * 59}2", '--repeat', '1', '-o', 'long-names', '--', app, 'work')
for words in (['campaign', 'status'], ['scalability']):
    text = t.run(*words, 'long-names').stdout
    t.check(all(f'dataset={x}' in text for x in ('1' * 60, '1' * 59 + '2')), ' '.join(words) + ': names are whole', text)

# ---- short forms ----
text = t.run('campaign', 'plan', '--threads', '1,2', '--repeat', '2', '--', app, 'work', 'a b')
t.check(text.returncode == 0 and "arguments = work 'a b'" in text.stdout, 'options as a plan', text.stdout)
plan('made.ini', text.stdout)
run = t.run('campaign', 'run', 'made.ini', '-o', 'made')
t.check(run.returncode == 0 and len(status('made')['runs']) == 4, 'which can be run', run.stderr)
run = t.run('scale', '--threads', '1,2', '--repeat', '1', '-o', 'scaled', '--', app)
t.check(run.returncode == 0 and len(status('scaled')['runs']) == 2, 'sonde scale is the same engine', run.stderr)
run = t.run('run', '--repeat', '2', '-o', 'repeated', app)
t.check(run.returncode == 0 and len(status('repeated')['runs']) == 2, 'sonde run --repeat, too', run.stderr)
for words, told in ((['--ranks', '2'], '--repeat'), (['--repeat', '2', '--launcher', 'mpirun -n 2'], '--ranks N')):
    run = t.run('run', *words, app)
    t.check(run.returncode == 125 and told in run.stderr and run.stderr.count('\n') == 1, f'run {words[-2]} alone is told what it lacks', run.stderr)
text = t.run('campaign', 'plan', '--launcher', 'numactl -N 0', '--', app).stdout
t.check('launcher = numactl -N 0 {command}\n' in text, "a launcher's words stand before the command", text)
run = t.run('scale', '--threads', '2', '--repeat', '1', '--helper-threads', 'x', '--', app)
t.check(run.returncode == 2 and '--helper-threads' in run.stderr, '--helper-threads is a number', run.stderr)
text = t.run('campaign', 'plan', '--threads', '2', '--helper-threads', '2', '--', app).stdout
t.check('helper_threads = 2\n' in text, 'and a key of plans', text)
if t.has('mpirun'):
    os.environ.update(OMPI_ALLOW_RUN_AS_ROOT='1', OMPI_ALLOW_RUN_AS_ROOT_CONFIRM='1')
    launcher = 'mpirun --oversubscribe -n '
    for ranks in '2', '1':
        run = t.run('run', '--repeat', '2', '--ranks', '2', '--launcher', launcher + ranks, '-o', 'ranks' + ranks, app)
        got = status('ranks' + ranks)['runs']
        t.check([r['state'] for r in got] == ['done' if ranks == '2' else 'failed'] * 2, f'run --repeat --launcher: {ranks} of 2 ranks', run.stderr, got)
    t.check('1 rank ' in got[0]['reason'], 'a run with other ranks has failed, and says so', got)
else:
    t.skip('run --repeat --launcher', 'mpirun is not here')

# ---- a disk that is full, a folder that is gone ----
limited = f'ulimit -f 1; exec {t.sonde} campaign resume killed2'
subprocess.run([t.sonde, 'campaign', 'run', 'kill.ini', '-o', 'killed2', '--budget', '0.001', '-q'],
               stdin=subprocess.DEVNULL, check=False)
with open('killed2/state.jsonl', 'a') as out:
    out.write(' ' * 1100 + '\n')
run = t.command('sh', '-c', limited)
t.check(run.returncode == 5 and 'state.jsonl' in run.stderr, 'a state that cannot be written ends it in one sentence', run.stderr)
run = t.run('campaign', 'resume', 'killed2', '--budget', '1h')
t.check(run.returncode == 0 and [r['state'] for r in status('killed2')['runs']].count('done') == 8,
        'and it is gone on with when there is room', run.stderr)
for words in (['campaign', 'status', 'nowhere'], ['campaign', 'run', 'nowhere.ini'], ['campaign', 'resume', 'src']):
    run = t.run(*words)
    t.check(run.returncode in (3, 5) and run.stderr.count('\n') == 1, ' '.join(words) + ': one sentence', run.stderr)
# ---- what people read ----
with open('crashes', 'w') as out:
    out.write('#!/bin/sh\necho "a last word" >&2\nkill -SEGV $$\n')
with open('leaves', 'w') as out:
    out.write('#!/bin/sh\nexit 139\n')
os.chmod('crashes', 0o755)
os.chmod('leaves', 0o755)
plan('words.ini', '''[campaign]
repeat = 1
[configuration "a crash of a program, whose name is long enough for nobody to have room for it"]
program = ./crashes
[configuration "a status of its own"]
program = ./leaves
''')
t.run('campaign', 'run', 'words.ini', '-o', 'words')
got = {r['configuration'][:7]: r for r in status('words')['runs']}
t.equal([got['a crash']['reason'], got['a statu']['reason']], ['ended by SIGSEGV: a last word', 'exit status 139'],
        'a crash has the name of its signal, an exit status is none')
text = t.run('campaign', 'status', 'words', env=dict(os.environ, COLUMNS='60')).stdout
t.check(all(r['experiment'] in text and r['reason'] in text for r in got.values()), 'paths and reasons are whole in text', text)
for words in (['scale', '--threads', '1,2', '--', './nope'], ['run', '--repeat', '2', '--', './nope']):
    done = t.run(*words)
    t.check(done.returncode == 127 and "'./nope'" in done.stderr and 'campaign' not in done.stderr,
            f'{words[0]} of a program that is not there begins nothing', done.returncode, done.stderr)
t.equal([f for f in os.listdir('.') if f.startswith('sonde.nope')], [], 'and makes no folder')
for option, value in (('--threads', '0,x'), ('--threads', '1,y'), ('--repeat', '0'), ('--timeout', 'soon'), ('--ranks', '-1')):
    done = t.run('scale', *(['--threads', '1'] if option != '--threads' else []), option, value, '--', './app')
    t.check(done.returncode == 2 and option in done.stderr and 'options' not in done.stderr and ':1' not in done.stderr,
            f'{option} {value} is named as the option that it is', done.returncode, done.stderr)
t.done()
