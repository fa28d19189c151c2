"""How well sonde finds the phases of programs with known ones: adjusted Rand index and planted sites.

    python3 bench/phases/score.py --programs 30 --seed 1000 --folder /tmp/draws              # quiet
    python3 bench/phases/score.py --programs 30 --seed 1000 --folder /tmp/draws --others 1   # half the CPU taken
    ... --reuse   scores experiments that are in the folder already, without running anything

Prints one line per program and a summary. --others N pins the program and N busy processes onto one CPU.
"""
import argparse
import glob
import json
import os
import struct
import subprocess
import sys
from math import comb

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from generate import Program  # noqa: E402

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), '../..')


def adjusted_rand(one, two):
    """Hubert and Arabie 1985; 1 if both sides are one and the same partition."""
    pairs, rows, columns = {}, {}, {}
    for x, y in zip(one, two):
        pairs[x, y] = pairs.get((x, y), 0) + 1
        rows[x] = rows.get(x, 0) + 1
        columns[y] = columns.get(y, 0) + 1
    together = sum(comb(n, 2) for n in pairs.values())
    a, b = sum(comb(n, 2) for n in rows.values()), sum(comb(n, 2) for n in columns.values())
    total = comb(len(one), 2)
    expected, most = a * b / total if total else 0, (a + b) / 2
    return 1.0 if most == expected else (together - expected) / (most - expected)


def time_zero_ns(run):
    """CLOCK_MONOTONIC at time 0 of an experiment of one process: its start, in the data file's header."""
    with open(glob.glob(os.path.join(run, '*.data'))[0], 'rb') as data:
        data.seek(96)  # process_start_ns of struct sn_data_header (src/wire/data.h)
        return struct.unpack('<q', data.read(8))[0]


def truth_of(path, started_ns, intervals):
    """By interval: the phase that took most of it; None where the schedule covers less than half."""
    segments = [tuple(map(int, line.split())) for line in open(path)]
    truth = []
    for row in intervals:
        low, high = started_ns + row['t0_s'] * 1e9, started_ns + row['t1_s'] * 1e9
        times = {}
        for phase, begin, end in segments:
            times[phase] = times.get(phase, 0) + max(0, min(high, end) - max(low, begin))
        best = max(times, key=times.get)
        truth.append(best if sum(times.values()) > (high - low) / 2 else None)
    return truth


def site_is_right(site, planted):
    if site['function'] != planted['function']:
        return False
    if site['type'] == 'body':
        return True
    if not site['loop_label'] or ':' not in site['loop_label']:
        return False
    lines = site['loop_label'].rsplit(':', 1)[1].split('-')
    first, last = int(lines[0]), int(lines[-1])
    return abs(first - planted['first']) <= 1 and last <= planted['last'] and last >= planted['last'] - 1 - (last == first)


def score(found, truth, planted):
    """ARI, planted sites found, planted sites. Intervals in which sonde saw nothing at all (it says so: phase null,
    which happens where the program gets no CPU for so long) are no opinion and left out; main() prints how many."""
    rows = [(t, r['phase']) for t, r in zip(truth, found['intervals']) if t is not None and r['phase'] is not None]
    ari = adjusted_rand([t for t, _ in rows], [p for _, p in rows])
    right = wanted = 0
    for phase, site in enumerate(planted):
        mine = [p for t, p in rows if t == phase]
        if not mine:
            continue
        wanted += 1
        most = max(set(mine), key=lambda p: (mine.count(p), -p))
        right += any(site_is_right(s, site) for s in found['phases'][most]['sites'][:1])
    return ari, right, wanted


class Draw:
    def __init__(self, folder, seed, sonde, **how):
        self.program = Program(seed, **how)
        self.sonde, self.folder = sonde, os.path.join(folder, f'draw{seed}')

    def run(self, others=0):
        os.makedirs(self.folder, exist_ok=True)
        source = os.path.join(self.folder, 'app.c')
        with open(source, 'w') as out:
            out.write(self.program.source)
        subprocess.run(['gcc', '-O2', '-g', 'app.c', '-o', 'app', '-lm'], cwd=self.folder, check=True)
        cpu = str(max(os.sched_getaffinity(0)))
        pin = ['nice', '-n', '-5', 'taskset', '-c', cpu] if others else []
        busy = [subprocess.Popen([*pin, sys.executable, '-c', 'while True: pass']) for _ in range(others)]
        try:
            subprocess.run(['rm', '-rf', 'run'], cwd=self.folder, check=True)
            subprocess.run([*pin, self.sonde, 'record', '-o', 'run', './app', 'truth'], cwd=self.folder, check=True,
                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        finally:
            for process in busy:
                process.kill()
                process.wait()

    def phases(self, *options):
        done = subprocess.run([self.sonde, 'phases', 'run', '--format', 'json', *options], cwd=self.folder,
                              capture_output=True, text=True, check=True)
        return json.loads(done.stdout)

    def score(self, *options):
        found = self.phases(*options)
        zero_ns = time_zero_ns(os.path.join(self.folder, 'run'))
        truth = truth_of(os.path.join(self.folder, 'truth'), zero_ns, found['intervals'])
        return (*score(found, truth, self.program.sites), found)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--programs', type=int, default=20)
    parser.add_argument('--seed', type=int, default=1000)
    parser.add_argument('--folder', default='/tmp/sonde-phases')
    parser.add_argument('--others', type=int, default=0)
    parser.add_argument('--reuse', action='store_true')
    parser.add_argument('--sonde', default=os.path.join(ROOT, 'build/sonde'))
    parser.add_argument('--interval', default='0.1')
    parser.add_argument('options', nargs='*')
    how = parser.parse_args()
    sonde = os.path.abspath(how.sonde)
    aris, right, wanted, counts, ones, unseen = [], 0, 0, 0, [], 0
    for seed in range(how.seed, how.seed + how.programs):
        draw = Draw(how.folder, seed, sonde)
        if not how.reuse:
            draw.run(how.others)
        ari, r, w, found = draw.score('--interval', how.interval, *how.options)
        k, truth = len(found['phases']), draw.program.count
        seen = sum(row['phase'] is not None for row in found['intervals'])
        unseen += len(found['intervals']) - seen
        print(f'{seed} {" ".join(draw.program.kinds):58.58s} phases {k} of {truth}  ARI {ari:.3f}  sites {r} of {w}'
              f'  intervals {seen}', flush=True)
        aris.append(ari)
        right, wanted, counts = right + r, wanted + w, counts + (k == truth)
        if truth == 1:
            ones.append(k == 1)
    print(f'{len(aris)} programs: mean ARI {sum(aris) / len(aris):.3f}, least {min(aris):.3f}, number of phases right '
          f'{counts}, sites {right} of {wanted} ({100 * right / max(wanted, 1):.1f} %), k = 1 recognized '
          f'{sum(ones)} of {len(ones)}, intervals unseen {unseen}')


if __name__ == '__main__':
    main()
