#!/usr/bin/env python3
"""Is the rate of false alarms of `sonde diff` what it says, and what does a comparison find?

    python3 bench/compare/aa.py build [--seconds 120] [--lanes N] [--only xz,gzip] [--kinds quiet,disturbed,more3,more5]

Each comparison is a campaign of two configurations in shuffled blocks, run and judged by the commands that a user has.
`quiet` and `disturbed` compare a program with itself: every finding is a false alarm. In `disturbed` a busy process has half of
the CPU, from the start to somewhere in the middle. `more3` (8 blocks) and `more5` (5 blocks) give the second configuration 3
and 5 % more input, so a finding is right if it says slower. A lane is a CPU of its own with one comparison after the other; the
kinds take turns in it, and so do the programs.
"""
import argparse
import json
import math
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time

KINDS = {  # blocks, more input, disturbed
    'quiet': (5, 0, False),
    'disturbed': (5, 0, True),
    'more3': (8, 0.03, False),
    'more5': (5, 0.05, False),
}
WORDS = [f'{a}{b}{c}' for a in ('re', 'un', 'in', 'com', 'pro') for b in ('ten', 'fer', 'ject', 'port', 'mit', 'sist')
         for c in ('', 's', 'ed', 'ing')]


def text_write(path, count, rng):
    """So many bytes of words, always the same ones."""
    with open(path, 'w') as out:
        left = count
        while left > 0:
            line = ' '.join(rng.choices(WORDS, k=12)) + f' {rng.randrange(10**6)}\n'
            out.write(line[:left])
            left -= len(line)


SQL = ('create table t(a integer, b text); insert into t with recursive n(i) as (select 1 union all select i + 1 from n where '
       "i < {rows}) select i * 7919 % 100003, hex(i * 31) from n; create index x on t(b, a); select count(*), sum(a) from t "
       'where b like "%7%" group by a % 97 order by 2;')
PYTHON = 'import re, zlib\ns = open("{text}").read()\nprint(len(set(re.findall("[a-z]+ing", s))), sum(len(w) for w in s.split()))'


def commands(folder, sizes):
    """Of each program that is there: its words for one size of input."""
    small = sizes == 'a'

    def name(program):
        return f'{folder}/{program}.{"a" if small else "b"}'
    return {
        'xz': ['xz', '-k', '-1', '-c', name('xz')],
        'gzip': ['gzip', '-6', '-c', name('gzip')],
        'bzip2': ['bzip2', '-k', '-c', name('bzip2')],
        'zstd': ['zstd', '-q', '-9', '-c', name('zstd')],
        'sqlite3': ['sqlite3', ':memory:', f'.read {name("sqlite3")}'],
        'python3': ['python3', '-I', name('python3')],
        'sort': ['sort', name('sort')],
    }


BYTES = {'xz': 1_300_000, 'gzip': 3_300_000, 'bzip2': 1_600_000, 'zstd': 4_000_000, 'python3': 6_000_000, 'sort': 4_000_000}
ROWS = 200_000


def inputs_write(folder, more):
    rng = random.Random(7)
    for size, factor in (('a', 1), ('b', 1 + more)):
        for program, count in BYTES.items():
            path = f'{folder}/{program}.{size}'
            if program == 'python3':
                text_write(path + '.txt', int(count * factor), rng)
                open(path, 'w').write(PYTHON.format(text=path + '.txt'))
            else:
                text_write(path, int(count * factor), random.Random(7))
        open(f'{folder}/sqlite3.{size}', 'w').write(SQL.format(rows=int(ROWS * factor)))


class Disturber:
    """A busy process on this CPU until a moment somewhere in the middle of the comparison."""

    def __init__(self, seconds):
        self.process = subprocess.Popen([sys.executable, '-c', f'import time\ne = time.time() + {seconds}\n'
                                         'while time.time() < e: pass'])

    def end(self):
        self.process.kill()
        self.process.wait()


def compare(sonde, folder, program, kind, seed):
    """-> (rows tested, [(name, verdict)] of findings, warnings, verdict of the whole), or None."""
    blocks, more, is_disturbed = KINDS[kind]
    words = [commands(folder, size)[program] for size in ('a', 'b' if more else 'a')]
    plan = f'{folder}/plan.ini'
    campaign = f'{folder}/campaign'
    shutil.rmtree(campaign, ignore_errors=True)
    with open(plan, 'w') as out:
        out.write(f'[campaign]\nrepeat = {blocks}\n')
        for i, w in enumerate(words):
            quoted = ' '.join("'" + x.replace('{', '{{').replace('}', '}}') + "'" for x in w[1:])
            out.write(f'[configuration "c{i}"]\nprogram = {shutil.which(w[0])}\narguments = {quoted}\n')
    disturber = Disturber(random.Random(seed).uniform(1, 6)) if is_disturbed else None
    ran = subprocess.run([sonde, 'campaign', 'run', '-q', '-o', campaign, '--seed', str(seed), plan], stdin=subprocess.DEVNULL,
                         capture_output=True, text=True)
    if disturber:
        disturber.end()
    if ran.returncode:
        print(f'{program} {kind}: {ran.stderr.strip()[-300:]}', file=sys.stderr)
        return None
    runs = [[], []]
    status = json.loads(subprocess.run([sonde, 'campaign', 'status', '--format', 'json', campaign], capture_output=True,
                                       text=True).stdout)
    for run in status['runs']:
        if run['state'] == 'done':
            runs[int(run['configuration'][1])].append(f'{campaign}/{run["experiment"]}')
    got = subprocess.run([sonde, 'diff', '--format', 'json', '--all', *runs[0], ':', *runs[1]], capture_output=True, text=True)
    if got.returncode not in (0, 1):
        print(f'{program} {kind}: {got.stderr.strip()[-300:]}', file=sys.stderr)
        return None
    d = json.loads(got.stdout)
    found = [(r.get('name') or r.get('function'), r['verdict']) for r in d['rows'] if r['verdict'] in ('slower', 'faster', 'different')]
    return {'found': found, 'verdict': d.get('verdict'), 'exit': got.returncode, 'tested': d.get('tested'), 'findings': d.get('findings')}


def upper(k, n):
    """The 95 % upper bound of a share (Clopper and Pearson, 1934, one-sided), by bisection."""
    low, high = k / n, 1.0
    for _ in range(50):
        p = (low + high) / 2
        tail = sum(math.comb(n, i) * p**i * (1 - p)**(n - i) for i in range(k + 1))
        low, high = (p, high) if tail > 0.05 else (low, p)
    return high


def lane(cpu, args, programs, out):
    os.sched_setaffinity(0, {cpu})
    folder = tempfile.mkdtemp(prefix=f'aa{cpu}.')
    made = {}
    end = time.time() + args.seconds
    turn = cpu * 7
    try:
        while time.time() < end:
            kind = args.kinds[turn % len(args.kinds)]
            program = programs[(turn // len(args.kinds)) % len(programs)]
            more = KINDS[kind][1]
            if more not in made:
                made[more] = f'{folder}/{len(made)}'
                os.mkdir(made[more])
                inputs_write(made[more], more)
            got = compare(args.sonde, made[more], program, kind, turn * 64 + cpu)
            if got:
                out.write(json.dumps({'kind': kind, 'program': program, **got}) + '\n')
                out.flush()
            turn += 1
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('build')
    parser.add_argument('--seconds', type=float, default=120)
    parser.add_argument('--lanes', type=int, default=1)
    parser.add_argument('--only', default='')
    parser.add_argument('--kinds', default=','.join(KINDS))
    parser.add_argument('--keep', help='a file for a line of JSON for each comparison')
    args = parser.parse_args()
    args.sonde = os.path.abspath(f'{args.build}/sonde')
    args.kinds = args.kinds.split(',')
    programs = [p for p in commands('', 'a') if shutil.which(p) and (not args.only or p in args.only.split(','))]
    cpus = sorted(os.sched_getaffinity(0))[:args.lanes]
    kept = args.keep or tempfile.mktemp()
    children = []
    for cpu in cpus:
        pid = os.fork()
        if pid == 0:
            with open(f'{kept}.{cpu}', 'w') as out:
                lane(cpu, args, programs, out)
            os._exit(0)
        children.append(pid)
    for pid in children:
        os.waitpid(pid, 0)
    rows = [json.loads(line) for cpu in cpus for line in open(f'{kept}.{cpu}')]
    for cpu in cpus:
        os.unlink(f'{kept}.{cpu}')
    if args.keep:
        open(args.keep, 'w').writelines(json.dumps(r) + '\n' for r in rows)
    print(f'{len(cpus)} lanes, {os.cpu_count()} CPUs, {args.seconds:.0f} s\n')
    print('| comparison | of | | in drift | with a finding | share | 95 % at most |\n| --- | --- | --- | --- | --- | --- | --- |')
    for kind in args.kinds:
        for program in [None] + programs:
            of = [r for r in rows if r['kind'] == kind and (program is None or r['program'] == program)]
            if not of:
                continue
            n = len(of)
            hits = [r for r in of if (any(v == 'slower' for _, v in r['found']) if KINDS[kind][1] else r['found'])]
            drift = sum(r['verdict'] == 'drift' for r in of)
            print(f'| {kind} | {program or "all"} | {n} | {drift} | {len(hits)} | {len(hits) / n:.3f} | {upper(len(hits), n):.3f} |')


main()
