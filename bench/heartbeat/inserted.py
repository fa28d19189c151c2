"""What an inserted beat costs beside one in the source.

    python3 bench/heartbeat/inserted.py BUILD_FOLDER [ROUNDS]

inserted.c without heartbeats, with them in the source, and with the same ones inserted by `sonde heartbeat run`, in turns.
Medians of ns a beat (a begin and an end), less the loop without them, and the ratio of inserted to source (goal: at most
1.5), with the cost when one in many is timed (SONDE_HEARTBEAT_COST=1) beside.
"""
import json
import os
import statistics
import subprocess
import sys
import tempfile

here = os.path.dirname(os.path.abspath(__file__))
build = os.path.abspath(sys.argv[1])
rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 11
library = build + '/src/runtime/heartbeat/libsonde-heartbeat.so.0'
sonde = build + '/sonde'
folder = tempfile.TemporaryDirectory(prefix='sonde-inserted-')
os.chdir(folder.name)
source = here + '/inserted.c'
line = next(i for i, text in enumerate(open(source), 1) if 'BEGIN(in_loop)' in text) - 1
subprocess.run(['gcc', '-O2', '-g', source, '-o', 'plain'], check=True)
subprocess.run(['gcc', '-O2', '-g', '-DSOURCE', '-I', here + '/../../include', source, '-o', 'source', library,
                '-Wl,-rpath,' + os.path.dirname(library)], check=True)
json.dump({'schema': 'sonde.heartbeat-plan/1', 'heartbeats': [
    {'name': 'loop', 'type': 'loop', 'function': 'loop', 'loop': {'line_first': line, 'line_last': line + 4}},
    {'name': 'body', 'type': 'body', 'function': 'body'}]}, open('plan.json', 'w'))
ways = {'without': ['./plain'], 'source': ['./source'],
        'inserted': [sonde, 'heartbeat', 'run', '--plan', 'plan.json', '--', './plain']}


def measure(**environment):
    taken = {way: [] for way in ways}
    for _ in range(rounds):
        for way, words in ways.items():
            done = subprocess.run(words, capture_output=True, text=True, check=True,
                                  env=dict(os.environ, SONDE_HEARTBEAT_DIR='beats', **environment))
            assert not done.stderr, done.stderr
            taken[way].append([float(x) for x in done.stdout.split()])
    return {way: [statistics.median(column) for column in zip(*rows)] for way, rows in taken.items()}


for what, environment in ('every beat timed', {}), ('SONDE_HEARTBEAT_COST=1', {'SONDE_HEARTBEAT_COST': '1',
                                                                              'SONDE_HEARTBEAT_INTERVAL': '0.01'}):
    result = measure(**environment)
    for i, place in enumerate(('loop', 'function')):
        without, written, inserted = (result[way][i] for way in ways)
        print(f'{what}, {place}: source {written - without:.1f} ns, inserted {inserted - without:.1f} ns, '
              f'ratio {(inserted - without) / (written - without):.2f}')
os.chdir('/')
folder.cleanup()
