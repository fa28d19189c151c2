"""sonde lattice: counts against an independent reference, bottlenecks, budgets, faults, pictures."""
import json
import os
import random
import re
import signal
import subprocess
import sys
import time
import xml.etree.ElementTree as xml
from itertools import product

from sonde_test import HERE, Test

t = Test()


def write(name, events, header=None):
    with open(name, 'w') as out:
        for line in ([header] if header else []) + events:
            out.write(json.dumps(line) + '\n')
    return name


def lattice(*words, **more):
    run = t.command(t.sonde, 'lattice', *words, **more)
    return run


def answer(*words):
    run = lattice('--format', 'json', *words)
    return json.loads(run.stdout) if run.returncode in (0, 5) and run.stdout else None


def matmul(order, where_c, where_a, where_b):
    """The naive scheme: every operand not at home is sent; the assignments are observed."""
    n = nodes = 4
    owners = {'rows': lambda i, j: i, 'cols': lambda i, j: j,
              'blocks': lambda i, j: i // 2 * 2 + j // 2, 'all': lambda i, j: None}
    count, events = [0] * nodes, []

    def add(process, observed, after):
        events.append({'process': process, 'index': count[process], 'observed': observed,
                       'after': after})
        count[process] += 1
        return [process, count[process] - 1]

    for place in product(range(n), repeat=3):
        at = dict(zip(order, place))
        i, j, k = at['i'], at['j'], at['k']
        home = owners[where_c](i, j)
        for owner in owners[where_a](i, k), owners[where_b](k, j):
            if owner is not None and owner != home:
                add(home, False, [add(owner, False, [])])
        add(home, True, [])
    return events


TABLE = [  # order, C, A, B; cuts, arcs, highest level, out-degrees 1 .. 4
    ('ijk', 'rows', 'rows', 'all', 83521, 314432, 3281, [64, 1536, 16384, 65536]),
    ('ijk', 'cols', 'cols', 'cols', 301, 648, 9, [64, 136, 88, 12]),
    ('ijk', 'blocks', 'blocks', 'blocks', 177, 288, 9, [64, 112, 0, 0]),
    ('ijk', 'rows', 'rows', 'rows', 145, 240, 4, [64, 64, 16, 0]),
    ('ijk', 'rows', 'rows', 'cols', 577, 1344, 25, [64, 256, 256, 0]),
    ('kij', 'rows', 'rows', 'rows', 6049, 20160, 217, [64, 672, 2496, 2816]),
    ('kij', 'cols', 'cols', 'cols', 4889, 15760, 136, [64, 672, 2256, 1896]),
    ('kij', 'blocks', 'blocks', 'blocks', 2773, 8808, 155, [64, 468, 1152, 1088]),
    ('kij', 'rows', 'rows', 'cols', 301, 648, 9, [64, 136, 88, 12]),
]
rng = random.Random(4)
for order, c, a, b, cuts, arcs, highest, degrees in TABLE:
    events = matmul(order, c, a, b)
    rng.shuffle(events)
    got = answer(write('m.jsonl', events))
    t.equal((int(got['cuts']), int(got['arcs']), max(map(int, got['levels'])),
             [int(got['out_degrees'].get(str(d), 0)) for d in (1, 2, 3, 4)], got['exact']),
            (cuts, arcs, highest, degrees, True), f'matrix product {order}, C {c}, A {a}, B {b}')


def chance(processes, events, message, **more):
    count, made = [0] * processes, []
    for _ in range(events):
        p, q = rng.randrange(processes), rng.randrange(processes)
        event = {'process': p, 'index': count[p], **more}
        if q != p and count[q] and rng.random() < message:
            event['after'] = [[q, count[q] - 1]]
        count[p] += 1
        made.append(event)
    return made


def brute(events, processes):
    """Cuts by growing a set, straight from the definition."""
    needs = {(e['process'], e['index']): e.get('after', []) for e in events}
    level, levels, level_arcs = {(0,) * processes}, [], []
    while level:
        above, arcs = set(), 0
        for cut in level:
            for p in range(processes):
                need = needs.get((p, cut[p]))
                if need is not None and all(cut[q] > i for q, i in need):
                    above.add(cut[:p] + (cut[p] + 1,) + cut[p + 1:])
                    arcs += 1
        levels.append(str(len(level)))
        level_arcs.append(str(arcs))
        level = above
    return levels, level_arcs


wrong = 0
for _ in range(25):
    processes = rng.randrange(1, 6)
    events = chance(processes, rng.randrange(1, 30), rng.random())
    want = brute(events, processes)
    rng.shuffle(events)
    got = answer(write('r.jsonl', events, {'processes': processes}))
    wrong += (got['levels'], got['level_arcs']) != want
t.equal(wrong, 0, 'random traces agree with a count by definition')

# Durations: one long event, equal lattices, different answers.
for slow, where in ((0, 0), (5, 5)):
    events = [{'process': i % 2, 'index': i // 2, 'after': [[1 - i % 2, i // 2 - 1]] if i > 1 else [],
               'duration_s': 5.0 if i == slow else 1.0} for i in range(6)]
    got = answer(write(f's{slow}.jsonl', events))
    first = got['segments'][0]
    t.check(first['found_by'] == 'time' and abs(first['time_lost_s'] - 4) < 1e-9
            and [(e['process'], e['index']) for e in first['enabled']][0] == (slow % 2, slow // 2),
            f'the long event {slow} is the first bottleneck', first)
    t.within(got['time']['potential_parallelism'], 10 / 7, 1e-9, 'work over critical path')

# One process is slow in the same line, round after round: one bottleneck, and what all its rounds lose.
events = [{'process': p, 'index': k, 'after': [[q, k - 1] for q in range(4) if q != p] if k else [], 'file': 'a.c', 'line': 5 if p == 0 else 7,
           'duration_s': 4 if p == 0 else 1} for k in range(6) for p in range(4)]
write('rounds.jsonl', events)
shown, whole = lattice('rounds.jsonl').stdout, lattice('--all', 'rounds.jsonl').stdout
t.equal((len(re.findall(r'^  #', shown, re.M)), len(re.findall(r'^  #', whole, re.M)), 'and 5 more like it (--all shows them): together they lose 54.0 s of' in shown,
         'like it' in whole), (1, 6, True, False), 'bottlenecks in the same line of the same process are one')

# Where the events began says what was realised: process 1 starts late, and everything ends at 4 s.
events = [{'process': 0, 'index': 0, 'duration_s': 2, 'start_s': 10},
          {'process': 0, 'index': 1, 'duration_s': 2, 'start_s': 12, 'observed': False},
          {'process': 1, 'index': 0, 'duration_s': 2, 'start_s': 12}]
got = answer(write('began.jsonl', events))['time']
t.equal([got[k] for k in ('work_s', 'critical_path_s', 'elapsed_s', 'potential_parallelism',
                          'realised_parallelism', 'unknown_durations')], [6, 4, 4, 1.5, 1.5, 0],
        'work, critical path and what was realised; hidden events count')

# A budget: an answer in time, in windows, labelled.
dense = write('dense.jsonl', chance(24, 3000, 0.9))
started = time.time()
got = answer('--max-states', '2000', '--max-seconds', '1', dense)
t.check(time.time() - started < 15, 'a small budget is kept', time.time() - started)
t.check(got['exact'] is False and got['cuts'] is None and got['levels'] is None
        and len(got['windows']) > 1 and got['stopped_by'] == 'states', 'windows are labelled')
t.check(all(len(w['levels']) == w['level_last'] - w['level_first'] + 1 for w in got['windows']),
        'a window has its levels')

# Faults: a sentence with the line, exit 5, and what is still true.
for text, word in (('{"process":0,"index":0}\n{"process":0,"ind', 'line 2: the last line is cut short'),
                   ('{"process":0,"index":0}\n{"process":1,"index":0,"after":[[0,9]]}\n',
                    'line 2: event 0 of process 1 depends on event 9 of process 0'),
                   ('{"process":0,"index":0}\n{"process":1,"index":0,"after":[[2,0]]}\n'
                    '{"process":2,"index":0,"after":[[1,0]]}\n', 'in a cycle'),
                   ('{"process":0,"index":0}\n{"process":1,"index":1}\n', 'event 0 is missing')):
    run = lattice('--format', 'json', '-', stdin=None, input=text)
    got = json.loads(run.stdout)
    t.check(run.returncode == 5 and word in run.stderr and run.stderr.count('\n') == 1
            and got['exact'] is False and got['fault'] and got['windows'][0]['cuts'] == '2',
            f'fault: {word}', run.stderr, run.stdout)
run = lattice('nowhere.jsonl')
t.check(run.returncode == 5 and 'nowhere.jsonl' in run.stderr, 'a missing file', run.stderr)
t.equal(lattice('--max-states', '0', 'm.jsonl').returncode, 2, 'a budget of nothing is bad usage')

# A trace that is being written: growing counts, each exact for what was there, and then the whole answer.
def follow(path, writer, *words, **more):
    """Lines of sonde lattice --follow as (events, cuts, arcs), the rest of its output, and its end."""
    started = time.time()
    with subprocess.Popen([t.sonde, 'lattice', '--follow', path, '--every', '0.15', *words], text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, **more) as run:
        writer(run)
        try:
            out, err = run.communicate(timeout=60)
        except subprocess.TimeoutExpired:
            run.kill()
            out, err = run.communicate()[0] + 'HUNG', ''
    seen = [tuple(map(int, found)) for found in
            re.findall(r' events (\d+).*?  cuts (\d+)  arcs (\d+)', out)]
    return seen, out, err, run.returncode, time.time() - started


def slowly(path, lines, end=True):
    def write_slowly(_):
        with open(path, 'w') as out:
            for at, line in enumerate(lines + ([{'end': True}] if end else [])):
                text = json.dumps(line) + '\n'
                out.write(text[:7])
                out.flush()
                time.sleep(0.02)
                out.write(text[7:])
                out.flush()
    return write_slowly


product_events = matmul('ijk', 'rows', 'rows', 'rows')
rng.shuffle(product_events)
seen, out, err, code, _ = follow('grows.jsonl', slowly('grows.jsonl', product_events))
t.check(code == 0 and len(seen) >= 5 and seen == sorted(seen) and seen[-1] == (64, 145, 240),
        'a trace is followed while a slow writer writes it', seen, err)
plain = lattice('grows.jsonl').stdout
t.check(out.endswith(plain), 'after the end the whole answer is that of the whole trace', out, plain)
seen, out, err, code, took = follow('silent.jsonl', slowly('silent.jsonl', product_events[:40], end=False), '--idle', '0.7')
t.check(code in (0, 5) and took < 20 and 'HUNG' not in out and 'cuts' in out, 'a writer that falls silent does not hold us',
        code, took, out, err)
seen, out, err, code, took = follow('nowhere.jsonl', lambda run: None, '--idle', '0.4')
t.check(code == 5 and took < 10 and 'nowhere.jsonl' in err, 'a trace that never comes', code, took, err)


def through_a_pipe(run):
    for event in product_events:
        run.stdin.write(json.dumps(event) + '\n')
        run.stdin.flush()
        time.sleep(0.01)
    run.stdin.close()
    run.stdin = None


seen, out, err, code, _ = follow('-', through_a_pipe, stdin=subprocess.PIPE)
t.check(code == 0 and seen[-1] == (64, 145, 240), 'the end of a pipe is the end', seen, err)


def interrupted(run):
    slowly('stopped.jsonl', product_events, end=False)(run)
    time.sleep(0.3)
    run.send_signal(signal.SIGINT)


seen, out, err, code, _ = follow('stopped.jsonl', interrupted, '--idle', '0')
t.check(code == 0 and seen[-1] == (64, 145, 240) and out.endswith(lattice('stopped.jsonl').stdout),
        'Ctrl-C asks for the answer so far', code, seen[-1:], err)


def rewritten(run):
    slowly('again.jsonl', product_events, end=False)(run)
    time.sleep(0.3)
    open('again.jsonl', 'w').close()


seen, out, err, code, _ = follow('again.jsonl', rewritten, '--idle', '0')
t.check(code == 5 and 'became shorter' in err and err.count('\n') == 1, 'a trace that begins again is said', code, err)
t.equal(lattice('--follow', 'm.jsonl', 'r.jsonl').returncode, 2, '--follow takes one trace')

# Pictures.
write('two.jsonl', chance(2, 40, 0.3, label='<x & "y">'))
write('four.jsonl', matmul('ijk', 'rows', 'rows', 'rows'))
for name in ('two', 'four', 'dense'):
    lattice('--max-states', '2000', '--max-seconds', '1', '--svg', f'{name}.svg', f'{name}.jsonl')
    t.check(xml.parse(f'{name}.svg').getroot().tag.endswith('svg'), f'{name}.svg is well-formed')
bars = [e for e in xml.parse('dense.svg').iter() if e.tag.endswith('rect') and e.get('opacity')]
ends = [(e.get('y'), float(e.get('x')), float(e.get('x')) + float(e.get('width'))) for e in bars]
strip = [(a, b) for a, b in zip(ends, ends[1:]) if a[1] < b[1]]
t.check(len(strip) > 20 and all(a[2] <= b[1] + 1e-6 for a, b in strip), 'pale bars do not overlap', len(strip), ends[:3])
circles = [e for e in xml.parse('four.svg').iter() if e.tag.endswith('circle') and len(e)]
t.equal(len(circles), 145, 'a circle for each cut')
lattice('--dot', 'four.dot', 'four.jsonl')
t.equal(open('four.dot').read().count(' -> '), 240, 'an arc for each arc')
run = lattice('--dot', 'dense.dot', '--max-states', '2000', '--max-seconds', '1', 'dense.jsonl')
t.check(run.returncode == 4 and '5000' in run.stderr, 'too many cuts for a graph', run.stderr)

# The manual's pictures are what is drawn now.
manual = os.path.join(HERE, '../../docs/manual')
for name in ('figure2', 'figure2-assignments', 'sweeps', 'steps', 'ijk-rows', 'ijk-cols', 'kij-rows'):
    trace = os.path.join(manual, 'traces', f'{name}.jsonl')
    if not os.path.exists(trace):
        order, by = name.split('-')
        made = t.command(sys.executable, os.path.join(manual, 'traces/matmul.py'), order, by, by, by)
        trace = f'{name}.jsonl'
        with open(trace, 'w') as out:
            out.write(made.stdout)
    lattice('--svg', 'now.svg', trace)
    t.equal(open('now.svg').read() == open(f'{manual}/pictures/lattice-{name}.svg').read(), True,
            f'the picture of {name} in the manual is up to date')

# Durations left out, and ranges that lose no time. The chain 0 -> 1 -> 0 is narrow everywhere, by cuts.
write('chain.jsonl', [{'process': e % 2, 'index': e // 2, 'after': [[1 - e % 2, (e - 1) // 2]] if e else [],
                       'duration_s': 3e-6 if e < 4 else 0} for e in range(8)])
timed, cuts = answer('chain.jsonl'), answer('--no-durations', 'chain.jsonl')
t.check(timed['segments'] and all(s['time_lost_s'] > 0 for s in timed['segments']), 'what loses no time is left out',
        timed['segments'])
t.check(cuts['time'] is None and [(s['found_by'], s['level_last']) for s in cuts['segments']] == [('cuts', 7)],
        '--no-durations judges by cuts', cuts['segments'])
run = lattice('chain.jsonl', 'four.jsonl')
t.check('12.0 µs' in run.stdout and '0.0000' not in run.stdout, 'times have a unit', run.stdout)
run = lattice('--format', 'csv', 'chain.jsonl', 'four.jsonl')
t.check(',1.2e-05,' in run.stdout or ',1.2e-5,' in run.stdout, 'CSV stays in seconds', run.stdout)

# Comparison, and CSV by level.
run = lattice('--format', 'json', 'two.jsonl', 'four.jsonl')
rows = json.loads(run.stdout)['rows']
t.equal([(r['trace'], r['cuts']) for r in rows][1], ('four.jsonl', '145'), 'a row for each trace')
run = lattice('--format', 'csv', 'four.jsonl')
t.equal(len(run.stdout.splitlines()), 66, 'CSV has a row for each level')
t.done()
