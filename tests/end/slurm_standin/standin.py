"""sbatch, squeue and scancel for tests: standin.py NAME WORDS... Jobs are processes here; what the batch
system does wrong is what a test wrote below the folder STANDIN:

    refuse   sbatch refuses, with these words          limit    so many jobs are taken at a time
    blind    a job ends at once, as on a node that does not see its folder
    silent   no command gets an answer                  hold     no job starts; the reason that squeue tells
    forget   squeue knows no job that is over           deaf     sbatch takes the job, but its answer is lost

    standin end ID STATE    ends a job as the batch system would: TIMEOUT, NODE_FAIL, CANCELLED
"""
import os
import signal
import subprocess
import sys
import time

ROOT = os.environ['STANDIN']
LIVING = ('PENDING', 'RUNNING')


def read(*path):
    try:
        with open(os.path.join(ROOT, *path)) as text:
            return text.read().strip()
    except OSError:
        return None


def write(text, *path):
    name = os.path.join(ROOT, *path)
    with open(name + f'.{os.getpid()}', 'w') as out:
        out.write(str(text))
    os.rename(name + f'.{os.getpid()}', name)


def jobs():
    return sorted(int(name) for name in os.listdir(f'{ROOT}/jobs'))


def state(number):
    return read('jobs', str(number), 'state') or 'PENDING'


def fail(words):
    print(words, file=sys.stderr)
    sys.exit(1)


def sbatch(words):
    options = dict(word[2:].split('=', 1) for word in words if word.startswith('--') and '=' in word)
    refused, limit = read('refuse'), read('limit')
    if refused is not None:
        fail(f'sbatch: error: Batch job submission failed: {refused}')
    if limit and sum(state(n) in LIVING for n in jobs()) >= int(limit):
        fail('sbatch: error: Batch job submission failed: Job violates accounting/QOS policy (job submit limit)')
    number = len(jobs()) + 1
    os.mkdir(f'{ROOT}/jobs/{number}')
    for key in ('job-name', 'output'):
        write(options[key], 'jobs', str(number), key)
    write(words[-1], 'jobs', str(number), 'script')
    write(' '.join(words), 'jobs', str(number), 'words')
    subprocess.Popen([sys.executable, __file__, 'runner', str(number)], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                     stderr=subprocess.DEVNULL, start_new_session=True)
    if read('deaf') is not None:
        fail('sbatch: error: Batch job submission failed: Socket timed out on send/recv operation')
    print(number)


def may_start(number):
    mine = read('jobs', str(number), 'job-name')
    return read('hold') is None and not any(
        state(n) in LIVING and read('jobs', str(n), 'job-name') == mine for n in jobs() if n < number)


def runner(number):
    while not may_start(number):
        if state(number) != 'PENDING' or not os.path.exists(ROOT):
            return
        time.sleep(0.05)
    if read('blind') is not None:
        return write('FAILED', 'jobs', str(number), 'state')
    write('RUNNING', 'jobs', str(number), 'state')
    with open(read('jobs', str(number), 'output'), 'a') as out:
        script = subprocess.Popen(['sh', read('jobs', str(number), 'script')], stdin=subprocess.DEVNULL, stdout=out, stderr=out,
                                  start_new_session=True, env={**os.environ, 'SLURM_JOB_ID': str(number)})
    write(script.pid, 'jobs', str(number), 'pid')
    code = script.wait()
    if state(number) == 'RUNNING':
        write('FAILED' if code else 'COMPLETED', 'jobs', str(number), 'state')


def end(number, how):
    if state(number) not in LIVING:
        return
    write(how, 'jobs', str(number), 'state')
    words = {'TIMEOUT': ' DUE TO TIME LIMIT', 'NODE_FAIL': ' DUE TO NODE FAILURE'}.get(how, '')
    with open(read('jobs', str(number), 'output'), 'a') as out:
        out.write(f'slurmstepd: error: *** JOB {number} ON n1 CANCELLED AT 2026-01-01T00:00:00{words} ***\n')
    pid = read('jobs', str(number), 'pid')
    for sent in (signal.SIGKILL,) if how == 'NODE_FAIL' else (signal.SIGTERM, signal.SIGKILL):
        try:
            if pid:
                os.killpg(int(pid), sent)
        except OSError:
            return
        time.sleep(0.5 if sent == signal.SIGTERM else 0)


def squeue(_):
    for number in jobs():
        if state(number) in LIVING or read('forget') is None:
            reason = (read('hold') or 'Priority') if state(number) == 'PENDING' else 'None'
            print(f'{number}|{state(number)}|{reason}|{read("jobs", str(number), "script")}')


def main(called, words):
    if called == 'runner':
        return runner(int(words[0]))
    if called == 'end':
        return end(int(words[0]), words[1])
    if read('silent') is not None:
        fail(f'{called}: error: Unable to contact slurm controller (connect failure)')
    if called == 'scancel':
        return end(int(words[0]), 'CANCELLED')
    return {'sbatch': sbatch, 'squeue': squeue}[called](words)


main(sys.argv[1], sys.argv[2:])
