"""sonde heartbeat: what is imported comes out again, and a slower run is found, others are not."""
import json
import os
import random
import sqlite3
import subprocess
import time

from sonde_test import Test

t = Test()
rng = random.Random(4)


def write(folder, number, slow=1.0, beats=('solve', 'io'), arguments=('x',), noise=0.02, job=None, rows=5):
    """One process's file; durations are log-normal around 1 ms."""
    os.makedirs(folder, exist_ok=True)
    header = {'schema': 'sonde.heartbeat-header/1', 'start_realtime_ns': 10**18 + number * 10**12,
              'start_monotonic_ns': number * 10**9, 'host': 'node', 'pid': 1000 + number, 'rank': None,
              'ranks': None, 'job_id': job, 'program': 'app', 'arguments': list(arguments),
              'interval_s': 1.0}
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
write('slow', 101, slow=1.5)
beat('import', 'slow', '--db', 'h.db')
run = beat('judge', '--db', 'h.db', '--format', 'json')
found = {(r['heartbeat'], r['metric']): r['verdict'] for r in json.loads(run.stdout)['rows']}
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
t.equal(beat('judge', '--db', 'h.db', '--any-group').returncode in (0, 1), True, '--any-group compares')

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
held = sqlite3.connect('h.db', isolation_level=None)
held.execute('BEGIN EXCLUSIVE')
run = beat('import', 'same', '--db', 'h.db')
t.check(run.returncode == 5 and 'locked' in run.stderr and len(run.stderr.splitlines()) == 1,
        'a locked history: one sentence', run.stderr)
held.execute('ROLLBACK')

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
db.executemany("INSERT INTO run SELECT ?1, 'k' || ?1, NULL, 'app', '[\"x\"]', NULL, 1, ?2, 1000000000",
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
