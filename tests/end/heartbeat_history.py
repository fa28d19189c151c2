"""sonde heartbeat: what is imported comes out again, and a slower run is found, others are not."""
import json
import os
import random
import re
import sqlite3
import subprocess
import time
import xml.dom.minidom

from sonde_test import Test

t = Test()
rng = random.Random(4)


def write(folder, number, slow=1.0, beats=('solve', 'io'), arguments=('x',), noise=0.02, job=None, rows=5,
          **more):
    """One process's file; durations are log-normal around 1 ms."""
    os.makedirs(folder, exist_ok=True)
    header = {'schema': 'sonde.heartbeat-header/1', 'start_realtime_ns': 10**18 + number * 10**12,
              'start_monotonic_ns': number * 10**9, 'host': 'node', 'pid': 1000 + number, 'rank': None,
              'ranks': None, 'job_id': job, 'program': 'app', 'arguments': list(arguments),
              'interval_s': 1.0, **more}
    lines = [json.dumps(header)]
    run_noise = {b: rng.lognormvariate(0, noise) for b in beats}
    for k in range(rows):
        for b in beats:
            ns = int(1e6 * run_noise[b] * (slow if b == 'solve' else 1))
            histogram = [0] * 32
            histogram[ns.bit_length() - 1] = 100
            lines.append(json.dumps({
                'schema': 'sonde.heartbeat/1', 't_s': (k + 1) * run_noise[b], 'interval_s': run_noise[b],
                'thread': 7, 'heartbeat': b, 'count': 100, 'sum_ns': 100 * ns, 'min_ns': ns, 'max_ns': ns,
                'open': 0, 'open_ns': 0, 'work': 3, 'every': 1, 'misuse': 0, 'dropped': 0,
                'histogram': histogram}))
    path = os.path.join(folder, f'heartbeat.node.{1000 + number}.jsonl')
    with open(path, 'w') as out:
        out.write('\n'.join(lines) + '\n')
    return path


def beat(*words):
    return t.command(t.sonde, 'heartbeat', *words)


for n in range(20):
    write('past', n)
run = beat('import', 'past', '--db', 'h.db')
t.equal((run.returncode, run.stdout), (0, '200 rows of 20 files\n'), 'import counts rows and files')
beat('import', 'past', '--db', 'h.db')
count = sqlite3.connect('h.db').execute('SELECT count(*), sum(count) FROM beat').fetchone()
t.equal(count, (200, 20000), 'importing again adds nothing')
rows = json.loads(beat('report', '--db', 'h.db', '--format', 'json').stdout)['rows']
t.equal((len(rows), sum(r['count'] for r in rows), {r['thread'] for r in rows}), (10, 1000, {7}),
        'report: the rows of the newest run')
t.check(all(abs(r['rate_hz'] - 100 / r['interval_s']) < 1e-3 for r in rows), 'rates by the interval')

write('same', 100)
beat('import', 'same', '--db', 'h.db')
run = beat('judge', '--db', 'h.db', '--format', 'json')
t.equal((run.returncode, json.loads(run.stdout)['history_runs']), (0, 20), 'a run like the others: no finding')
made = json.loads(run.stdout)
together = [r['heartbeat'] for r in made['rows'] if r['same_as'] and r['metric'] == 'period']
t.equal((len(together), made['tests'], made['verdict']), (1, 3, 'same'),
        'two periods with the same counts are one comparison, and the run has a verdict')
write('slow', 101, slow=1.5)
beat('import', 'slow', '--db', 'h.db')
run = beat('judge', '--db', 'h.db', '--format', 'json')
found = {(r['heartbeat'], r['metric']): r['verdict'] for r in json.loads(run.stdout)['rows']}
t.equal(json.loads(run.stdout)['verdict'], 'slower', 'the run is slower')
t.check('the run: slower (solve: duration 1.' in beat('compare', '--db', 'h.db').stdout, 'and text says why')
t.check(run.returncode == 1 and found[('solve', 'duration')] == 'slower' and
        found[('io', 'duration')] == 'same', 'one heartbeat half slower: found, the other is not', found)
t.equal(beat('compare', '--db', 'h.db').returncode, 0, 'compare: the same table, no verdict')
write('gone', 102, beats=('io',))
beat('import', 'gone', '--db', 'h.db')
run = beat('judge', '--db', 'h.db', '--format', 'csv')
t.check(run.returncode == 1 and 'missing' in run.stdout, 'a heartbeat that never beats: missing', run.stdout)
write('other', 103, arguments=('y',))
beat('import', 'other', '--db', 'h.db')
t.equal(beat('judge', '--db', 'h.db').returncode, 3, 'other arguments: too little history')
for group, code in ('program', 0), ('program,ranks,threads', 0), ('arguments', 3), ('program,args', 2):
    t.equal(beat('judge', '--db', 'h.db', '--group', group).returncode, code, f'--group {group}')

whole = open(write('cut', 104, rows=1), 'rb').read()
faults = []
for length in range(0, len(whole), 7):
    open('cut/heartbeat.node.1104.jsonl', 'wb').write(whole[:length])
    if os.path.exists('c.db'):
        os.unlink('c.db')
    run = beat('import', 'cut', '--db', 'c.db')
    if run.returncode not in (0, 5) or len(run.stderr.splitlines()) > 1:
        faults.append((length, run.returncode, run.stderr))
t.equal(faults, [], 'files cut short anywhere: one sentence, nothing else')
with open('cut/heartbeat.node.1104.jsonl', 'wb') as out:
    out.write(whole + b'garbage\n' + open(write('mixed', 105, rows=1), 'rb').read())
os.unlink('c.db')
run = beat('import', 'cut', '--db', 'c.db')
made = sqlite3.connect('c.db').execute('SELECT count(DISTINCT process), count(*) FROM beat').fetchone()
t.equal((run.returncode, made), (5, (2, 4)), 'two runs and a bad line in one file: all rows kept')

open('bad.db', 'wb').write(b'no database at all' * 100)
sqlite3.connect('new.db').executescript('PRAGMA user_version = 99; CREATE TABLE t(x);')
for name, code in ('bad.db', 5), ('new.db', 4), ('none.db', 5):
    run = beat('report', '--db', name)
    t.check(run.returncode == code and len(run.stderr.splitlines()) == 1, f'{name}: one sentence',
            run.returncode, run.stderr)
# a history of version 1, as the first sonde wrote it
old = sqlite3.connect('old.db')
old.executescript('''
CREATE TABLE run(id INTEGER PRIMARY KEY, key TEXT UNIQUE, job TEXT, program TEXT, arguments TEXT, ranks INTEGER,
 threads INTEGER, start_ns INTEGER, elapsed_ns INTEGER);
CREATE INDEX run_group ON run(program, start_ns);
CREATE TABLE process(id INTEGER PRIMARY KEY, run INTEGER, host TEXT, pid INTEGER, rank INTEGER,
 start_monotonic_ns INTEGER, UNIQUE(host, pid, start_monotonic_ns));
CREATE INDEX process_run ON process(run);
CREATE TABLE beat(process INTEGER, heartbeat TEXT, thread INTEGER, t_ns INTEGER, interval_ns INTEGER, threads INTEGER,
 count INTEGER, timed INTEGER, sum_ns INTEGER, min_ns INTEGER, max_ns INTEGER, open INTEGER, open_ns INTEGER,
 work INTEGER, misuse INTEGER, dropped INTEGER, PRIMARY KEY(process, heartbeat, thread, t_ns)) WITHOUT ROWID;
CREATE TABLE summary(run INTEGER, heartbeat TEXT, count INTEGER, timed INTEGER, sum_ns INTEGER,
 PRIMARY KEY(run, heartbeat)) WITHOUT ROWID;
INSERT INTO run VALUES(1, 'k', NULL, 'app', '["x"]', NULL, 1, 5, 5);
INSERT INTO process VALUES(1, 1, 'node', 1, NULL, 1);
INSERT INTO summary VALUES(1, 'solve', 10, 10, 10);
PRAGMA user_version = 1;''')
old.close()
run = beat('report', '--db', 'old.db')
t.check(run.returncode == 4 and 'import' in run.stderr, 'a history of an older version: what to do', run.stderr)
run = beat('import', 'past', '--db', 'old.db')
t.equal((run.returncode, sqlite3.connect('old.db').execute('SELECT count(*) FROM run').fetchone()), (0, (21,)),
        'an import brings it up to date and keeps its runs')

held = sqlite3.connect('h.db', isolation_level=None)
held.execute('BEGIN EXCLUSIVE')
run = beat('import', 'same', '--db', 'h.db')
t.check(run.returncode == 5 and 'locked' in run.stderr and len(run.stderr.splitlines()) == 1,
        'a locked history: one sentence', run.stderr)
held.execute('ROLLBACK')

# plots
hostile = '<script>alert(1)</script>&"\x01'
for r in range(12):
    write('plots', 8000 + r, beats=('solve', hostile), rows=40, rank=r, ranks=12, launch_id='mpi:8',
          start_realtime_ns=10**18 + r * 10**7)
write('plots', 8100, beats=('solve',), rows=1)
beat('import', 'plots', '--db', 'plots.db')
runs = [r[0] for r in sqlite3.connect('plots.db').execute('SELECT id FROM run ORDER BY process_count DESC')]
for name, words in (('p.html', []), ('q.html', ['--by', 'thread']), ('p.svg', []), ('one.html', []), ('one.svg', [])):
    run = beat('report', str(runs[1 if 'one' in name else 0]), '--db', 'plots.db', '-o', name, *words)
    text = open(name, encoding='utf-8').read()
    pictures = re.findall(r'<svg.*</svg>', text, re.S) if name.endswith('svg') else re.findall(r'<svg.*?</svg>', text, re.S)
    for picture in pictures:
        xml.dom.minidom.parseString(picture)
    t.check(run.returncode == 0 and len(pictures) >= 1 and '<script' not in text and
            not re.search(r'(src|href|url|import)\s*[=(]?\s*["\']?(http|//)', text.replace('http://www.w3.org/2000/svg', '')),
            f'{name}: well-formed plots that load nothing and run nothing', run.stderr, text[:200])
text = open('p.html', encoding='utf-8').read()
t.check('median and range of 12' in text and '&lt;script&gt;' in text and text.count('<section>') == 3,
        'the page: a section for each heartbeat, many ranks as a band', text[:500])
beat('report', str(runs[0]), '--db', 'plots.db', '-o', 'again.html')
t.check(open('again.html', encoding='utf-8').read() == text, 'same history, same bytes')
t.equal([beat('report', '--db', 'plots.db', '-o', f).returncode for f in ('x.png', 'nowhere/x.html')], [2, 5],
        'another ending, a folder that is not there')

# which processes make up a run
T = 10**18


def placed(name, *processes):
    """Imports processes of (host, rank, start in s, more) and gives the sets of their numbers by run."""
    for n, (host, rank, start, more) in enumerate(processes):
        write(name, 5000 + n, rows=1, host=host, rank=rank, ranks=2 if rank is not None else None,
              start_realtime_ns=T + int(start * 1e9), **more)
    beat('import', name, '--db', name + '.db')
    runs = {}
    for run_id, pid in sqlite3.connect(name + '.db').execute('SELECT run, pid FROM process'):
        runs.setdefault(run_id, set()).add(pid - 6000)
    return sorted(sorted(r) for r in runs.values())


mpi = {'launch_id': 'mpi:1'}
t.equal(placed('launch', ('a', 0, 0, mpi), ('b', 1, 1, mpi), ('a', 0, 30, mpi), ('b', 1, 31, mpi),
               ('a', 0, 31.5, {'launch_id': 'mpi:2'})), [[0, 1], [2, 3], [4]],
        'a launch is a run; a program started twice within it is two')
t.equal(placed('nodes', ('a', 0, 0, {'launch_id': 'node:a/1/1'}), ('b', 1, 2, {'launch_id': 'node:b/7/1'}),
               ('a', 1, 3, {'launch_id': 'node:a/2/1'}), ('a', 0, 3.5, {'launch_id': 'node:a/2/1'}),
               ('a', 0, 90, {}), ('a', 1, 91, {}), ('a', 1, 400, {})), [[0, 1], [2, 3], [4, 5], [6]],
        'ranks without a job id: by launcher and node, number of ranks and start')
t.equal(placed('forks', ('a', None, 0, {}), ('a', None, 5, {'forked_from': 6000}), ('a', None, 5, {})),
        [[0, 1], [2]], 'a forked child belongs to its parent\'s run')
job = {'job_id': '77', 'launch_id': 'slurm:77.0'}
t.equal(placed('steps', ('a', 0, 0, job), ('a', 1, 0, job), ('a', 0, 0, {**job, 'launch_id': 'slurm:77.1'})),
        [[0, 1], [2]], 'two steps of a batch job are two runs')
write('late', 5001, rows=1, host='b', rank=1, ranks=2, start_realtime_ns=T + 10**9, **mpi)
beat('import', 'late', '--db', 'late.db')
write('later', 5000, rows=1, host='a', rank=0, ranks=2, start_realtime_ns=T, **mpi)
beat('import', 'later', '--db', 'late.db')
t.equal(sqlite3.connect('late.db').execute('SELECT count(*), max(process_count), min(start_ns) FROM run').fetchall(),
        [(1, 2, T)], 'ranks that are imported later join')
run = beat('import', 'later', '--db', 'late.db')
t.equal(run.stdout, '0 rows of 0 files; 1 file has not changed since the last import\n',
        'files that have not changed are not read again')

# CSV says the same as JSON lines; real programs
LIBRARY, INCLUDE = os.environ['HEARTBEAT_LIBRARY'], os.environ['HEARTBEAT_INCLUDE']
app = os.path.abspath(t.compile('beats.c', '-O2', '-I', INCLUDE, LIBRARY,
                                '-Wl,-rpath,' + os.path.dirname(LIBRARY), '-lpthread'))


def live(folder, *words, launcher=(), **settings):
    return t.command(*launcher, app, *words, env=dict(os.environ, SONDE_HEARTBEAT_DIR=os.path.abspath(folder),
                                                      SONDE_HEARTBEAT_FORMAT='jsonl,csv', **settings))


def dump(db):
    return sqlite3.connect(db).execute(
        'SELECT heartbeat, thread, t_ns, interval_ns, threads, count, timed, sum_ns, min_ns, max_ns, open, open_ns,'
        ' work, misuse, dropped, host, pid, rank, job FROM beat JOIN process ON process = id ORDER BY 1, 2, 3').fetchall()


names = ['a "quote"', 'two\nlines', 'é漢', '=1+1', "'=1", "''", "'", 'comma, and; more', '']
live('both', 'names', *names)
live('both', 'every', '1000')
live('both', 'long', '0.3', SONDE_HEARTBEAT_INTERVAL='0.1')
live('both', 'threads', '100', '4', SONDE_HEARTBEAT_JOBWIDE='1', SLURM_JOB_ID='9', SLURM_PROCID='0', SLURM_NTASKS='1')
beat('import', 'both', '--db', 'json.db')
os.mkdir('csv')
for name in os.listdir('both'):
    if name.endswith('.csv'):
        os.rename(os.path.join('both', name), os.path.join('csv', name))
run = beat('import', 'csv', '--db', 'csv.db')
t.check(run.returncode == 0 and dump('csv.db') == dump('json.db') and len(dump('csv.db')) >= 12,
        'CSV files give the same history as JSON lines', run.stderr,
        set(dump('csv.db')) ^ set(dump('json.db')))
t.check(set(names) <= {r[0] for r in dump('csv.db')}, 'names come back from CSV as they were')
whole = b''.join(open(os.path.join('csv', n), 'rb').read() for n in sorted(os.listdir('csv')))
faults = []
os.mkdir('cutcsv')
for length in range(0, len(whole), 97):
    open('cutcsv/heartbeat.x.1.csv', 'wb').write(whole[:length])
    run = beat('import', 'cutcsv', '--db', 'cutcsv.db')
    if run.returncode not in (0, 5) or len(run.stderr.splitlines()) > 1:
        faults.append((length, run.returncode, run.stderr))
t.equal(faults, [], 'CSV files cut short anywhere: one sentence, nothing else')

for mpi, words in (('openmpi', ('--allow-run-as-root', '--oversubscribe')), ('mpich', ())):
    if not t.has('mpirun.' + mpi):
        t.skip(f'{mpi}: ranks become one run', f'mpirun.{mpi} is not here')
        continue
    for _ in range(2):
        run = live(mpi, 'threads', '100', '1', launcher=('mpirun.' + mpi, *words, '-n', '3'))
    beat('import', mpi, '--db', mpi + '.db')
    rows = sqlite3.connect(mpi + '.db').execute('SELECT process_count, ranks, threads FROM run').fetchall()
    t.equal(rows, [(3, 3, 1), (3, 3, 1)], f'{mpi}, two launches without a batch system: two runs of three ranks')
run = live('forked', 'fork', '100')
beat('import', 'forked', '--db', 'forked.db')
t.equal(sqlite3.connect('forked.db').execute('SELECT process_count FROM run').fetchall(), [(2,)],
        'a real forked child is in its parent\'s run')

# lost rows, lone outliers, hardly any timed beats, no history
def verdicts(*words):
    made = json.loads(beat('judge', *words, '--format', 'json').stdout)
    return made, {(r['heartbeat'], r['metric']): r['verdict'] for r in made['rows']}


def change(path, edit):
    lines = [json.loads(line) for line in open(path)]
    edit(lines)
    open(path, 'w').write(''.join(json.dumps(line) + '\n' for line in lines))


for n in range(20):
    write('steady', 7000 + n)
beat('import', 'steady', '--db', 'lost.db')
write('cut9', 7100, part=9)
run = beat('import', 'cut9', '--db', 'lost.db')
t.check(run.returncode == 0 and len(run.stderr.splitlines()) == 1 and 'rotation' in run.stderr,
        'import: parts that are gone are told', run.stderr)
made, found = verdicts('--db', 'lost.db')
t.check(made['processes_with_lost_rows'] == 1 and not any(m == 'period' for _, m in found) and
        found[('io', 'duration')] == 'same', 'no period where parts are gone', made)
for words in ('judge',), ('compare',), ('report',):
    run = beat(*words, '--db', 'lost.db')
    t.check('rotation' in run.stderr and len(run.stderr.splitlines()) == 1, f'{words[0]} tells lost rows', run.stderr)
beat('report', '--db', 'lost.db', '-o', 'lost.html')
t.check('lost by rotation' in open('lost.html', encoding='utf-8').read(), 'so does the page')
for n in range(9):
    write('cut9/earlier', 7100, part=n)
    beat('import', 'cut9/earlier', '--db', 'lost.db')
t.equal(verdicts('--db', 'lost.db')[0]['processes_with_lost_rows'], 0, 'all parts imported one after the other: none lost')


def drop(lines):
    for line in lines[1:]:
        if line['t_s'] > lines[1]['t_s'] * 3.5:
            line.update(count=0, sum_ns=0, min_ns=0, max_ns=0, histogram=[0] * 32, dropped=100)


change(write('full', 7200), drop)
beat('import', 'full', '--db', 'lost.db')
t.equal(verdicts('--db', 'lost.db')[1][('solve', 'period')], 'same', 'dropped beats are beats for the period')


def interrupt(lines):
    lines[1]['sum_ns'] += 10**9
    lines[1]['max_ns'] += 10**9
    lines[1]['histogram'][19] -= 1
    lines[1]['histogram'][29] += 1


change(write('preempted', 7300), interrupt)
beat('import', 'preempted', '--db', 'lost.db')
t.equal(verdicts('--db', 'lost.db')[1][('solve', 'duration')], 'outlier', 'one interrupted beat is no slower run')


def sample(lines):
    for line in lines[1:]:
        line.update(every=50, sum_ns=line['sum_ns'] // 50 * 3, histogram=[2 if h else 0 for h in line['histogram']])


change(write('sampled', 7400), sample)
beat('import', 'sampled', '--db', 'lost.db')
t.equal(verdicts('--db', 'lost.db')[1][('solve', 'duration')], 'few', 'ten timed beats of 500: no verdict')
write('alone', 7500)
beat('import', 'alone', '--db', 'alone.db')
run = beat('compare', '--db', 'alone.db')
t.check('chance' not in run.stdout and 'against 0 runs' in run.stdout, 'no history: no rate', run.stdout)
t.check('log-normal noise' in beat('compare', '--db', 'lost.db').stdout, 'the rate has its condition')

# a page of the database is lost
whole = open('lost.db', 'rb').read()
answers = set()
for page in range(1, len(whole) // 4096):
    open('torn.db', 'wb').write(whole[:page * 4096] + bytes(4096) + whole[(page + 1) * 4096:])
    for words in ('judge',), ('compare',), ('report',), ('import', 'alone'):
        run = beat(*words, '--db', 'torn.db')
        answers.add((run.returncode, len(run.stderr.splitlines()), 'is damaged' in run.stderr, run.stdout))
t.equal(answers, {(5, 1, True, '')}, 'any page of the history lost: refused in one sentence')

alarms = 0
tries = 200
for n in range(tries):
    write('fresh', 1000 + n, rows=1)
beat('import', 'fresh', '--db', 'many.db')
runs = [r[0] for r in sqlite3.connect('many.db').execute('SELECT id FROM run ORDER BY start_ns')]
judged = runs[30:]
for run_id in judged[::3]:
    alarms += beat('judge', str(run_id), '--db', 'many.db', '--false-alarms', '0.05').returncode == 1
n = len(judged[::3])
# 4 sigma above 0.05 of n
t.check(alarms <= 0.05 * n + 4 * (0.05 * 0.95 * n) ** 0.5, 'false alarms are as rare as stated', alarms, n)

db = sqlite3.connect('many.db')
base = db.execute('SELECT max(id), max(start_ns) FROM run').fetchone()
db.executemany("INSERT INTO run(id, program, arguments, threads, start_ns, elapsed_ns)"
               " SELECT ?1, 'app', '[\"x\"]', 1, ?2, 1000000000",
               [(base[0] + i, base[1] + i) for i in range(1, 10001)])
db.executemany('INSERT INTO summary VALUES(?, ?, 100, 100, ?)',
               [(base[0] + i, b, rng.randrange(99000000, 101000000)) for i in range(1, 10001)
                for b in ('solve', 'io')])
db.commit()
began = time.time()
run = beat('judge', '--db', 'many.db')
took = time.time() - began
t.check(run.returncode in (0, 1) and took < 1, '10,000 runs of history: answered within a second', took,
        run.stderr)
t.done()
