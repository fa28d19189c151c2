"""sonde campaign with launcher = sbatch under a Slurm of the test's own: munged, slurmctld and slurmd by hand, in a folder
that is removed. Jobs of runs, blocks and all, ranks by srun, cancelled, Slurm started again; "long": a time limit, too.
"""
import atexit
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

from sonde_test import Test

LONG = 'long' in sys.argv[1:]
t = Test()
NEEDED = ('munged', 'slurmctld', 'slurmd', 'sbatch', 'squeue', 'scancel', 'srun')
folder = tempfile.mkdtemp(prefix='sonde-slurm-')
host = socket.gethostname().split('.')[0]
running = {}
os.environ['PATH'] += ':/usr/sbin'


def free_port():
    with socket.socket() as probe:
        probe.bind(('127.0.0.1', 0))
        return probe.getsockname()[1]


def start(name, *words):
    """A daemon in the foreground; its words in a file."""
    with open(f'{folder}/{name}.words', 'a') as out:
        running[name] = subprocess.Popen([name, *words], stdin=subprocess.DEVNULL, stdout=out, stderr=out)


def stop(name):
    daemon = running.pop(name, None)
    if daemon:
        daemon.terminate()
        try:
            daemon.wait(20)
        except subprocess.TimeoutExpired:
            daemon.kill()
            daemon.wait()


@atexit.register
def all_stop():
    for name in ('slurmd', 'slurmctld', 'munged'):
        stop(name)
    shutil.rmtree(folder, ignore_errors=True)


def end(reason=None):
    if reason:
        t.skip('campaigns under Slurm', reason)
    t.done()


def node_state():
    done = t.command('sinfo', '--noheader', '--format=%T')
    return done.stdout.strip()


def node_is_ready(seconds=40):
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        if node_state() in ('idle', 'mixed', 'allocated'):
            return True
        time.sleep(0.2)
    return False


missing = [name for name in NEEDED if not shutil.which(name)]
if missing:
    end(f'{", ".join(missing)} not there (Debian: slurm-wlm, munge)')
if os.geteuid():
    end('slurmd by hand needs root')
os.makedirs(folder + '/state')
os.makedirs(folder + '/spool')
with open(folder + '/munge.key', 'wb') as out:
    out.write(os.urandom(1024))
os.chmod(folder + '/munge.key', 0o400)
with open(folder + '/slurm.conf', 'w') as out:
    out.write(f'''ClusterName=hand
SlurmctldHost={host}(127.0.0.1)
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
CredType=cred/munge
AuthInfo=socket={folder}/munge.socket
SlurmctldPort={free_port()}
SlurmdPort={free_port()}
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
AccountingStorageType=accounting_storage/none
JobCompType=jobcomp/none
JobAcctGatherType=jobacct_gather/none
ReturnToService=2
SlurmdParameters=config_overrides
KillWait=2
SchedulerParameters=sched_interval=1,batch_sched_delay=0,sched_min_interval=0
NodeName={host} NodeAddr=127.0.0.1 CPUs=4 State=UNKNOWN
PartitionName=hand Nodes={host} Default=YES MaxTime=INFINITE State=UP
''')
os.environ['SLURM_CONF'] = folder + '/slurm.conf'
start('munged', '--foreground', '--force', f'--key-file={folder}/munge.key', f'--socket={folder}/munge.socket',
      f'--pid-file={folder}/munged.pid', f'--log-file={folder}/munged.log', f'--seed-file={folder}/munged.seed')
time.sleep(0.5)
start('slurmctld', '-D')
start('slurmd', '-D')
if not node_is_ready():
    words = ''.join(open(f'{folder}/{name}.words').read()[-300:] for name in ('slurmctld', 'slurmd'))
    end(f'Slurm does not start here ({" ".join(words.split())[-200:]})')

app = t.compile(r'''
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
int main(int argc, char **argv)
{
	volatile double x = 1;

	for (long i = 0; i < 3000000; i++)
		x *= 1.0000001;
	usleep(argc > 1 ? (unsigned)(atof(argv[1]) * 1e6) : 0);
	printf("%g job %s step %s\n", x, getenv("SLURM_JOB_ID"), getenv("SLURM_STEP_ID") ? getenv("SLURM_STEP_ID") : "none");
	return 0;
}
''', '-O1', '-g', output='./app')


def plan(name, head='', seconds='0', more='[sweep]\nenvironment.CASE = a b\n', repeat=2):
    with open(name + '.ini', 'w') as out:
        out.write(f'[campaign]\nlauncher = sbatch\nrepeat = {repeat}\n{head}\n[default]\nprogram = ./app\narguments = {seconds}\n{more}')
    return name + '.ini'


def status(campaign):
    return json.loads(t.run('campaign', 'status', campaign, '--format', 'json').stdout)['runs']


def begin(path, name):
    return subprocess.Popen([t.sonde, 'campaign', 'run', path, '-o', name, '--progress', 'lines'], stdin=subprocess.DEVNULL,
                            stderr=subprocess.PIPE, text=True)


def wait_for(what, holds, seconds=90):
    until = time.monotonic() + seconds
    while not holds() and time.monotonic() < until:
        time.sleep(0.1)
    return t.check(holds(), what)


def is_running(name):
    return os.path.exists(name + '/state.jsonl') and any(r['state'] == 'running' for r in status(name))


def once(name, what, *facts):
    rows = [r for r in status(name) if r['state'] == 'done']
    t.check(len(rows) == 4 == len({(r['configuration'], r['repeat']) for r in rows}) and
            not [r for r in status(name) if r['state'] in ('queued', 'running')], what, status(name), *facts)


for each, count in (('run', 4), ('block', 2), ('all', 1)):
    run = t.run('campaign', 'run', plan(each, f'jobs = {each}'), '-o', each)
    rows = status(each)
    t.check(run.returncode == 0 and len({r['job'] for r in rows}) == count, f'jobs = {each}: {count} jobs', run.stderr, rows)
    once(each, f'jobs = {each}: each run is done once')
    for r in rows:
        words = open(f"{each}/{r['experiment']}.out").read()
        t.check(f"job {r['job']} step" in words, f"jobs = {each}: run {r['block']}.{r['position']} ran in the job that it is said to be of", words, r)
run = t.run('campaign', 'run', plan('ranks', 'jobs = all', more='[sweep]\nranks = 1 2\n', repeat=1), '-o', 'ranks')
rows = {r['configuration']: r for r in status('ranks')}
text = open('ranks/jobs/1/script').read()
t.check(run.returncode == 0 and '#SBATCH --ntasks=2\n' in text, 'ranks by srun inside one allocation, which has room for the most', run.stderr, rows, text)
t.equal([len(t.show('processes', experiment=f"ranks/{rows[f'ranks={n}']['experiment']}")['rows']) for n in (1, 2) if run.returncode == 0], [1, 2],
        'and each run has its ranks')

for name, more in (('levels', '[sweep]\nenvironment.CASE = a b\n'), ('level-ranks', 'ranks = 2\n')):
    run = t.run('campaign', 'run', plan(name, 'jobs = all\nlevel = 2', more=more), '-o', name)
    rows = status(name)
    t.check(run.returncode == 0 and [r['level'] for r in rows].count(2) == len({r['configuration'] for r in rows}),
            f'{name}: level 2 of one run of each configuration, in a job', run.stderr, rows)
    got = t.show('instances', experiment=f"{name}/{next((r['experiment'] for r in rows if r['level'] == 2), '')}") or {'rows': []}
    t.check(len(got['rows']) > 0, f'{name}: and its loops have instances', got)
got = t.show('processes', experiment='level-ranks/' + next(r['experiment'] for r in rows if r['level'] == 2) + '/instances')['rows']
t.equal(sorted(r['rank'] for r in got), [0, 1], 'of both ranks, which srun started')

# ---- bad days ----
run = t.run('campaign', 'run', plan('refused', repeat=1, more=''), '-o', 'refused',
            env={**os.environ, 'SBATCH_PARTITION': 'nowhere'})
t.check(run.returncode == 3 and status('refused')[0]['state'] == 'failed' and 'sbatch refused its job: ' in status('refused')[0]['reason'] and
        'nvalid partition' in status('refused')[0]['reason'], 'a partition that is not there', status('refused'), run.stderr)

one = begin(plan('cancelled', 'jobs = block', seconds='20'), 'cancelled')
wait_for('a run begins', lambda: is_running('cancelled'))
t.command('scancel', '--me')
told = one.communicate(timeout=120)[1]
rows = status('cancelled')
t.check(one.returncode == 3 and all('was cancelled' in r['reason'] for r in rows if r['state'] == 'cancelled') and
        [r['state'] for r in rows].count('cancelled') == 4, 'scancel by somebody: nothing is submitted again, and why is said', rows, told)

one = begin(plan('restarted', 'jobs = run', seconds='3'), 'restarted')
wait_for('a run begins', lambda: is_running('restarted'))
stop('slurmctld')
time.sleep(2)
start('slurmctld', '-D')
told = one.communicate(timeout=180)[1]
once('restarted', 'Slurm is started again while jobs run and wait: each run is done once', told)
t.check(one.returncode == 0, 'and the campaign goes on', told)

one = begin(plan('killed', 'jobs = block', seconds='2'), 'killed')
wait_for('a run begins', lambda: is_running('killed'))
one.send_signal(signal.SIGKILL)
one.communicate()
rows = status('killed')
t.check(all(r['job'] for r in rows) and {r['state'] for r in rows} <= {'queued', 'running'}, 'a killed campaign: its jobs have their numbers', rows)
run = t.run('campaign', 'resume', 'killed')
once('killed', 'resume takes in what the jobs did', run.stderr)
t.check(run.returncode == 0 and len(status('killed')) == 4, 'and runs nothing twice', status('killed'))

one = begin(plan('stopped', 'jobs = run', seconds='20'), 'stopped')
wait_for('a run begins', lambda: is_running('stopped'))
done = t.run('campaign', 'cancel', 'stopped')
told = one.communicate(timeout=120)[1]
wait_for('cancel: no job is left', lambda: not t.command('squeue', '--me', '--noheader').stdout.strip())
t.check(done.returncode == 0 and {r['state'] for r in status('stopped')} == {'cancelled'}, 'and all runs are cancelled', status('stopped'), told)

# the least time limit is a minute
if LONG:
    with open('minute.sh', 'w') as out:
        out.write('#!/bin/sh\n#SBATCH --time=1\nexec {command}\n')
    one = begin(plan('limit', 'template = minute.sh', seconds='200', more='', repeat=1), 'limit')
    told = one.communicate(timeout=240)[1]
    rows = status('limit')
    t.check(one.returncode == 3 and [r['state'] for r in rows] == ['failed'] and f"its job {rows[0]['job']} ran into its time limit" in rows[0]['reason'],
            'the time limit of a job is the reason that is told', rows, told)
end()
