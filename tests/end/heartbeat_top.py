"""sonde heartbeat top: a running job seen through its files."""
import fcntl
import json
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios
import time

from sonde_test import Test

t = Test()
LIBRARY, INCLUDE = os.environ['HEARTBEAT_LIBRARY'], os.environ['HEARTBEAT_INCLUDE']
app = os.path.abspath(t.compile('beats.c', '-O2', '-I', INCLUDE, LIBRARY,
                                '-Wl,-rpath,' + os.path.dirname(LIBRARY), '-lpthread'))


def start(folder, *words, interval='0.1', **settings):
    return subprocess.Popen([app, *words], stdout=subprocess.DEVNULL,
                            env=dict(os.environ, SONDE_HEARTBEAT_DIR=os.path.abspath(folder),
                                     SONDE_HEARTBEAT_INTERVAL=interval, **settings))


def top(folder, *words, code=0):
    run = t.run('heartbeat', 'top', folder, '--format', 'json', *words)
    if run.returncode != code:
        t.check(False, f'top {folder} {words} ends with {code}', run.returncode, run.stderr)
    return json.loads(run.stdout) if run.returncode == 0 else run


def stop(*processes):
    for process in processes:
        process.kill()
        process.wait()


# two ranks of unequal speed, two threads of a third
ranks = [start('job', 'pace', str(us), PMI_RANK=str(rank), PMI_SIZE='2') for rank, us in enumerate((2000, 4000))]
time.sleep(3)
answer = top('job', '--window', '2')
row = answer['rows'][0]
t.equal((len(answer['rows']), answer['processes'], answer['running'], answer['hosts'], row['processes'],
         row['threads']), (1, 2, 2, 1, 2, 2), 'one heartbeat of two running ranks')
by_rank = {r['rank']: r for r in top('job', '--by', 'rank', '--window', '2')['rows']}
for rank, us in enumerate((2000, 4000)):
    t.check(us * 1e-6 <= by_rank[rank]['mean_s'] < us * 1.6e-6, f'rank {rank}: its mean', by_rank)
    t.check(0.6e6 / us < by_rank[rank]['rate_hz'] <= 1.05e6 / us, f'rank {rank}: its rate', by_rank)
t.equal(row['slowest_rank'], 1, 'the slowest rank')
t.within(row['slowest_ratio'], 4 / 3, 0.25, 'by how much it is slower than the mean of all')
first = row['total']
time.sleep(0.5)
t.check(top('job')['rows'][0]['total'] > first, 'totals grow')
run = t.run('heartbeat', 'top', 'job')
t.check(run.returncode == 0 and 'running for' in run.stdout and '\x1b' not in run.stdout and
        run.stdout.count('work') == 1, 'into a pipe: one snapshot without escapes', run.stdout)
stop(ranks[0])
t.equal((top('job')['processes'], [r['rank'] for r in top('job', '--by', 'rank')['rows']]), (1, [1]),
        'a process that ended is not shown beside one that runs')
stop(ranks[1])
answer = top('job')
t.equal((answer['processes'], answer['running']), (2, 0), 'when all have ended, those that wrote last are shown')

run = start('long', 'long', '60')
time.sleep(1)
row = top('long', '--window', '0.5')['rows'][0]
t.equal((row['open'], row['total']), (1, 0), 'a beat that does not end is seen open')
t.within(row['open_s'], 0.5, 0.15, 'with its time in the window')
stop(run)

# a generation holds some twelve rows: whenever it is looked at, rates must not be those of a part of the window
run = start('csv', 'pace', '1000', SONDE_HEARTBEAT_FORMAT='csv', SONDE_HEARTBEAT_MAX_SIZE='5k')
busy = []
for look in range(12):
    time.sleep(0.25)
    busy += [(r['rate_hz'] * r['mean_s'], r['total']) for r in top('csv', '--window', '0.8')['rows']]
t.check(len(os.listdir('csv')) == 2 and len(busy) == 12 and all(0.85 < share < 1.1 for share, _ in busy),
        'rotated meanwhile: beats without pause fill the window', busy)
stop(run)

ranks = [start('jobwide', 'threads', '1000', '4', SONDE_HEARTBEAT_JOBWIDE='1', SLURM_JOB_ID='7', SLURM_PROCID=str(r))
         for r in range(3)]
for process in ranks:
    process.wait()
answer = top('jobwide', '--by', 'rank')
t.equal(sorted((r['rank'], r['threads'], r['total']) for r in answer['rows']), [(r, 4, 4000) for r in range(3)],
        'a jobwide file: a row for each rank')

# damage: cut anywhere, foreign bytes
whole = b''.join(open(os.path.join('job', n), 'rb').read()[:3000] for n in sorted(os.listdir('job')))
os.mkdir('cut')
faults = []
for length in range(0, len(whole), 53):
    open('cut/heartbeat.x.1.jsonl', 'wb').write(whole[:length])
    run = t.run('heartbeat', 'top', 'cut')
    if run.returncode not in (0, 3) or len(run.stderr.splitlines()) > 1:
        faults.append((length, run.returncode, run.stderr))
t.equal(faults, [], 'files cut short anywhere')
open('cut/heartbeat.x.1.jsonl', 'wb').write(os.urandom(100000) + b'\n' + whole + b'{"schema":' * 1000)
t.check(t.run('heartbeat', 'top', 'cut').returncode == 0, 'rows between rubbish are found')
os.mkdir('empty')
t.equal([t.run('heartbeat', 'top', f).returncode for f in ('empty', 'nowhere')], [3, 5], 'nothing there: 3; no folder: 5')
t.equal([t.run('heartbeat', 'top', 'job', *w).returncode for w in (('--window', '0'), ('--by', 'x'), ('job',))],
        [2, 2, 2], 'bad options')

# on a terminal
app_run = start('live', 'pace', '1000')
time.sleep(0.5)
pid, terminal = pty.fork()
if pid == 0:
    os.execv(t.sonde, [t.sonde, 'heartbeat', 'top', 'live', '--interval', '0.1'])
fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack('HHHH', 24, 100, 0, 0))


def screen(seconds):
    text, until = b'', time.time() + seconds
    while time.time() < until and select.select([terminal], [], [], 0.1)[0] or time.time() < until:
        if select.select([terminal], [], [], 0.05)[0]:
            try:
                text += os.read(terminal, 65536)
            except OSError:
                break
    return text.decode(errors='replace')


text = screen(1)
totals = [int(n.replace(',', '')) for n in re.findall(r'work\s+\d+\s+([\d,]+)', text)]
t.check(text.startswith('\x1b[?1049h') and len(totals) > 3 and totals == sorted(totals) and totals[-1] > totals[0],
        'on a terminal the view is renewed', totals, text[:300])
os.write(terminal, b't')
text = screen(0.5)
t.check('Thread ' in text and str(app_run.pid) in text, 'a key changes the rows', text[-300:])
os.write(terminal, b'q')
text = screen(1)
ended = os.waitpid(pid, 0)[1]
t.check(os.waitstatus_to_exitcode(ended) == 0 and '\x1b[?1049l' in text and '\x1b[?25h' in text,
        'q ends and gives the screen back', ended, text[-100:])
stop(app_run)
t.done()
