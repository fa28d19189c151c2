"""How long a history of many runs takes to answer: history.py SONDE [RUNS] [ROWS a heartbeat and run].

The runs are made by one import of one run, multiplied in SQL, all of one configuration (the worst case for
judge, which must find the newest 64 of them) with 4 heartbeats each.
"""
import json
import os
import sqlite3
import subprocess
import sys
import tempfile
import time

sonde = os.path.abspath(sys.argv[1])
runs = int(sys.argv[2]) if len(sys.argv) > 2 else 10000
rows = int(sys.argv[3]) if len(sys.argv) > 3 else 60
os.chdir(tempfile.mkdtemp())


def write(folder, pid, start):
    os.makedirs(folder, exist_ok=True)
    lines = [json.dumps({'schema': 'sonde.heartbeat-header/1', 'start_realtime_ns': start, 'start_monotonic_ns': pid,
                         'host': 'node', 'pid': pid, 'rank': None, 'ranks': None, 'job_id': str(pid), 'program': 'app',
                         'arguments': ['x'], 'interval_s': 1.0})]
    for k in range(rows):
        for b in 'solve', 'exchange', 'io', 'step':
            lines.append(json.dumps({
                'schema': 'sonde.heartbeat/1', 't_s': k + 1.0, 'interval_s': 1.0, 'thread': 7, 'heartbeat': b,
                'count': 100, 'sum_ns': 10**8, 'min_ns': 10**6, 'max_ns': 10**6, 'open': 0, 'open_ns': 0, 'work': 0,
                'every': 1, 'misuse': 0, 'dropped': 0, 'histogram': [0] * 19 + [100] + [0] * 12}))
    with open(f'{folder}/heartbeat.node.{pid}.jsonl', 'w') as out:
        out.write('\n'.join(lines) + '\n')


def timed(*words):
    best = None
    for _ in range(3):
        began = time.perf_counter()
        run = subprocess.run([sonde, 'heartbeat', *words, '--db', 'h.db'], capture_output=True, text=True)
        took = time.perf_counter() - began
        best = took if best is None else min(best, took)
        if run.returncode > 1:
            raise SystemExit(run.stderr)
    print(f'{" ".join(words):32} {best:8.3f} s')


write('first', 1, 10**18)
subprocess.run([sonde, 'heartbeat', 'import', 'first', '--db', 'h.db'], check=True, capture_output=True)
db = sqlite3.connect('h.db')
for table, first in (('run', ['id', 'start_ns']), ('process', ['id', 'run', 'pid', 'start_ns', 'start_monotonic_ns']),
                     ('beat', ['process']), ('summary', ['run'])):
    names = [c[1] for c in db.execute(f'PRAGMA table_info({table})')]
    values = ', '.join({'sum_ns': 'sum_ns + (n * 7919 + abs(random() % 1000)) % 9000000'}.get(
        c, f'{c} + n' if c in first else c) for c in names)
    db.execute(f'INSERT INTO {table} SELECT {values} FROM {table},'
               f' (WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < {runs - 1}) SELECT n FROM c)')
db.commit()
counts = [db.execute(f'SELECT count(*) FROM {t}').fetchone()[0] for t in ('run', 'beat')]
db.close()
print(f'{counts[0]:,} runs, {counts[1]:,} rows, {os.path.getsize("h.db") / 1e6:.0f} MB; best of 3:')
for words in (['judge'], ['judge', str(runs // 2)], ['compare', '--group', 'program'], ['report', '--format', 'csv'],
              ['report', '-o', 'page.html']):
    timed(*words)
write('new', 2 + runs, 10**18 + 10**15)
began = time.perf_counter()
subprocess.run([sonde, 'heartbeat', 'import', 'new', '--db', 'h.db'], check=True, capture_output=True)
print(f'{"import of one more run":32} {time.perf_counter() - began:8.3f} s')
for n in range(200):
    write('many', 10**6 + n, 2 * 10**18 + n * 10**10)
began = time.perf_counter()
subprocess.run([sonde, 'heartbeat', 'import', 'many', '--db', 'h.db'], check=True, capture_output=True)
print(f'{"import of 200 more runs":32} {time.perf_counter() - began:8.3f} s')
timed('judge')
