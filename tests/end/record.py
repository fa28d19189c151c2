"""sonde record: the target runs as without sonde, and what it used is accounted for."""
import glob
import json
import os
import re
import shutil
import signal
import subprocess
import time

from sonde_test import Test, sigma_of_share

t = Test()
split = t.compile('split.c', '-O1', '-g')

run = t.run('record', split, '1', '7')
t.equal(run.stdout, 'done\n', "the target's output is its own")
t.equal(run.returncode, 7, "the exit status is the target's")
t.check(os.path.isdir('sonde.split.1'), 'the experiment is named after the program')
t.equal(t.run('record', 'no-such-program').returncode, 127, 'a program that is not there: 127')
t.equal(t.run('record', '/etc/passwd').returncode, 126, 'a file that is not executable: 126')
t.equal(t.run('record', '--clock', 'fast', split).returncode, 125, 'a clock that is not one: 125')
t.check(not os.path.exists('sonde.passwd.1'), 'nothing is left where nothing ran')

environment = dict(os.environ, MARK='1')
plain = t.command('env', env=environment).stdout
t.equal(t.run('record', 'env', env=environment).stdout, plain, 'the target sees its own environment')
t.equal(t.run('record', 'sh', '-c', 'kill -9 $$').returncode, 128 + 9, 'a signal shows as 128+n')

rows = {row['function']: row for row in t.show('functions', experiment='sonde.split.1')['rows']}
samples = sum(row['samples'] for row in rows.values())
for attempt in range(5):  # on a virtual machine that its host keeps waiting some interrupts come late, and count for several
    summary = t.show('summary', experiment='sonde.split.1')
    if summary['samples'] > 600 * summary['cpu_s']:
        break
    shutil.rmtree('sonde.split.1')
    t.run('record', '-o', 'sonde.split.1', split, '1', '7')
    rows = {row['function']: row for row in t.show('functions', experiment='sonde.split.1')['rows']}
    samples = sum(row['samples'] for row in rows.values())
t.check(1600 * summary['cpu_s'] > summary['samples'] > 600 * summary['cpu_s'] > 100, 'about a thousand samples a CPU second',
        samples, summary['cpu_s'])
for name, share in (('once', 1 / 3), ('twice', 2 / 3)):
    got = rows.get(name, {}).get('inclusive_share')
    t.within(got, share, 4 * sigma_of_share(share, samples) + 0.01, f'{name} has its share')
summary = t.show('summary', experiment='sonde.split.1')
t.within(summary['sampled_cpu_s'], summary['cpu_s'], 0.02 * summary['cpu_s'],
         "the samples' CPU time is the kernel's within 2 %")
t.equal(summary['exit_status'], 7, 'the summary knows the exit status')

started = time.time()
child = subprocess.Popen([t.sonde, 'record', '-o', 'stopped', split, '60'],
                         stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
time.sleep(1)
child.send_signal(signal.SIGTERM)
t.equal(child.wait(20), 128 + signal.SIGTERM, 'SIGTERM reaches the target')
summary = t.show('summary', experiment='stopped')
# How much CPU time a second brings, and how many of its samples come late, is the machine's business.
t.equal(summary['exit_status'], 128 + signal.SIGTERM, 'whose status the experiment has')
t.check(summary['samples'] > 10 and summary['sampled_cpu_s'] > 0.9 * summary['cpu_s'] - 0.02, 'and leaves a whole experiment',
        *(f'{key} {summary[key]}' for key in ('samples', 'cpu_s', 'sampled_cpu_s')))

child = subprocess.Popen([t.sonde, 'record', '-o', 'orphan', split, '1.5'],
                         stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
time.sleep(0.7)
child.kill()
child.wait()
summary = t.show('summary', experiment='orphan')
t.check(summary['samples'] > 20, 'the launcher killed: what the target wrote by then is there', summary)
t.check(any('killed' in w or 'running' in w for w in summary['warnings']), 'and that is said',
        summary['warnings'])
launch = glob.glob('orphan/launch.*.json')[0]
left = json.load(open(launch))['live_folder']
t.check(glob.glob(left + '/*.live'), 'its data lie where the launch file says', left)
listed = t.run('list', 'experiments').stdout
t.check('orphan' in listed and listed == t.run('list').stdout, "'list experiments' lists them", listed)
t.run('list', '--remove', 'orphan')
t.check(not os.path.exists(left) and not os.path.exists('orphan'), 'and go with the experiment', os.listdir('.'))

sleeper = t.compile('''
#include <pthread.h>
#include <signal.h>
#include <unistd.h>
static void *rest(void *unused) { sleep(100); return unused; }
int main(void) {
	pthread_t thread;
	char byte;
	pthread_create(&thread, NULL, rest, NULL);
	for (volatile long i = 0; i < 100000000; i++)
		;
	if (!fork()) { usleep(1300000); kill(getppid(), SIGKILL); _exit(0); }
	return (int)read(0, &byte, 1);
}
''', '-O1', '-pthread', output='./sleeper')
pipe = os.pipe()
run = t.run('record', '-o', 'killed', sleeper, stdin=pipe[0])
t.equal(run.returncode, 128 + 9, 'killed while it sleeps: 137')
rows = [r for r in t.show('threads', '--cols', 'all', experiment='killed')['rows'] if r['process'] == 0]
explained = [abs(r['user_s'] + r['system_s'] + r['wait_cpu_s'] + r['blocked_s'] - r['elapsed_s']) for r in rows
             if None not in (r['user_s'], r['wait_cpu_s'], r['blocked_s'])]
t.check(len(explained) == 2 and max(explained) < 0.02, 'killed: elapsed time is explained in both threads', rows)
t.check(min(r['blocked_s'] or 0 for r in rows) > 1.0, 'killed: until its end', rows)
waits = {r['function']: r['blocked_s'] for r in t.show('waits', experiment='killed')['rows']}
t.check(waits.get('sleep', 0) > 1.3 and waits.get('read', 0) > 1.2, 'killed: waits that had not ended have stacks', waits)

daemon = t.compile('''#include <time.h>
#include <unistd.h>
int main(void)
{
	volatile double x = 0;
	time_t end;
	if (daemon(1, 0))
		return 1;
	for (end = time(NULL) + 2; time(NULL) < end;)
		for (int i = 0; i < 100000; i++)
			x += i;
	return 0;
}
''', '-O1', output='./daemon')
t.run('record', '-o', 'daemon.run', daemon)
notes = t.show('summary', experiment='daemon.run')['warnings']
t.check(any('still ran when it ended' in note for note in notes), 'a daemon that outlives the run is told of', notes)

os.mkdir('mine')
open('mine/data', 'w').write('mine')
for name in ('stopped', 'mine'):
    before = {path: os.path.getsize(path) for path in glob.glob(name + '/**', recursive=True)}
    said = t.run('record', '-o', name, '/bin/true')
    after = {path: os.path.getsize(path) for path in glob.glob(name + '/**', recursive=True)}
    t.check(said.returncode == 125 and 'exists already' in said.stderr and before == after,
            f'-o {name}, which exists: refused, and left as it is', said.stderr, before, after)

said = t.run('record', '-o', "it's a name", '/bin/true').stderr
t.check("sonde show summary 'it'\\''s a name'" in said, 'the next command can be pasted', said)
said = t.run('record', '-o', '/proc/none', '/bin/true')
t.check(said.returncode == 125 and '-o' in said.stderr and said.stderr.count('\n') == 1,
        'no place for the experiment: the remedy', said)

launch = json.load(open([f'sonde.split.1/{n}' for n in os.listdir('sonde.split.1')
                         if n.startswith('launch.')][0]))
t.check(launch['has_ended'] and launch['exit_status'] == 7, 'the launch file is complete')
t.check(t.run('list', '--format', 'json').stdout.count('"experiment"') >= 4, 'list lists them')
t.equal(t.run('list', '--remove', 'stopped').returncode, 0, 'an experiment can be removed')
t.check(not os.path.exists('stopped'), 'and is gone')

# a program behind a link is called as it was executed (redis-server is a link to redis-check-rdb), a script is its interpreter
os.symlink(os.path.abspath(split), 'linked')
os.link(split, 'hard')
with open('script', 'w') as script:
    script.write('#!/bin/sh\nexit 0\n')
os.chmod('script', 0o755)
for words, name in ((['./linked', '0.2'], 'linked'), ([os.path.abspath('hard'), '0.2'], 'hard'), (['./script'], None)):
    t.run('record', '-o', f'as.{name}', '--', *words)
    program = t.show('processes', experiment=f'as.{name}')['rows'][-1]['program']
    if name:
        t.check(program == os.path.join(t.folder, name), f'{name}: the process is called as it was executed', program)
        modules = [row['module'] for row in t.show('modules', '--all', experiment=f'as.{name}')['rows']]
        t.check(name in modules and 'split' not in modules, f'{name}: so is its module', modules)
    else:
        t.check(os.path.basename(program) in ('sh', os.path.basename(os.path.realpath('/bin/sh'))), 'a script: the interpreter', program)

# --clock auto: full rate at first, then what costs little; weights of samples follow, so sums and shares stay
said = t.run('record', '-C', 'auto', '-o', 'auto', split, '1.2')
summary, process = t.show('summary', experiment='auto'), t.show('processes', experiment='auto')['rows'][0]
t.within(summary['sampled_cpu_s'] / process['cpu_s'], 1, 0.02, 'auto: the samples\' CPU time is the kernel\'s')
t.check(summary['rate_hz'] < 1.3 * summary['asked_hz'], 'auto: never faster than 1 kHz', summary['rate_hz'])
if summary['clock_mechanism'] == 'perf-signal' and summary['rate_reason'] and 'a sample costs' in summary['rate_reason']:
    later = float(re.search(r'then ([0-9]+),', summary['rate_reason'])[1])
    at_most = 999.3 * 0.45 + later * (process['cpu_s'] - 0.45)  # the rate changes within 0.2 s of the 0.25
    t.check(summary['samples'] < 1.25 * at_most + 50, 'auto: slower after the beginning', summary['samples'], at_most)
    t.check(not any('asked for' in note for note in summary.get('warnings', [])), 'auto: the rate is no fault', summary.get('warnings'))
else:
    t.skip('auto: slower after the beginning', f'samples are cheap here, or no perf event: {summary["rate_reason"]}')
t.equal(t.run('record', '-C', 'automatic', 'true').returncode, 125, 'auto: no other word')

# all that commands write into experiments by themselves goes with them
for name in ('one', 'two'):
    t.run('record', '-o', name, split)
t.run('report', 'one')
t.run('diff', 'one', 'two', '--format', 'html')
written = {name: sorted(os.listdir(name)) for name in ('one', 'two')}
t.check('report.html' in written['one'] and 'compare.html' in written['two'], 'pages lie in experiments', written)
for name in ('one', 'two'):
    said = t.run('list', '--remove', name)
    t.check(said.returncode == 0 and not os.path.exists(name), f'{written[name]}: removed', said.stderr)
t.done()
